"""Fits as scikit-learn's callbacks follow them, and estimators where scikit-learn has none."""

import pickle
import sys

import numpy as np
import pytest
from estimator_samples import EVERY, FEW, IN_ROUNDS, Interrupting, called, three_classes, two_classes
from joblib import parallel_config
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.metrics import accuracy_score

from cvxens import AdaBoostClassifier, InfiniteEnsembleSVC, LPBoostClassifier, RegAdaBoostClassifier, RhoSVC, load_model
from cvxens.estimators import base

pytestmark = FEW

X, Y = two_classes()

ITERATING = [*EVERY, *IN_ROUNDS]


class Following:
    """A callback that puts down what it is told, and says to stop after some rounds."""

    def __init__(self, stop_after=np.inf):
        self.stop_after = stop_after
        self.begun, self.ended, self.scores, self.life = [], [], [], []

    def setup(self, estimator, context):
        self.life.append("setup")

    def teardown(self, estimator, context):
        self.life.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(path(context))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append(path(context))
        self.scores.append(fitted_estimator.score(X, y) if fitted_estimator is not None else None)
        return context.task_name == "round" and context.task_id + 1 >= self.stop_after


class FollowingParts(Following):
    """One that follows what an estimator is made of, too."""

    max_propagation_depth = None


class Failing(Following):
    """One that breaks in the second round."""

    def on_fit_task_begin(self, estimator, context):
        if context.task_id == 1:
            raise ZeroDivisionError
        super().on_fit_task_begin(estimator, context)


def path(context):
    own = f"{context.task_name} {context.task_id}"
    return own if context.parent is None else f"{path(context.parent)}, {own}"


def rounds(n, of="fit 0"):
    return [f"{of}, round {k}" for k in range(n)]


@pytest.mark.parametrize("estimator", ITERATING, ids=called)
def test_every_round_is_followed(estimator):
    follower = Following()
    model = clone(estimator).set_callbacks(follower).fit(X, Y)
    n_begun = len(follower.begun) - 1
    assert follower.begun == ["fit 0", *rounds(n_begun)]
    assert follower.ended == [*rounds(n_begun), "fit 0"]
    assert follower.life == ["setup", "teardown"]
    scores = [score for score in follower.scores[:-1] if score is not None]
    assert len(scores) == len(getattr(model, "history_", scores)) > 1
    assert n_begun <= len(scores) + 1
    assert follower.scores[-1] == scores[-1] == model.score(X, Y)
    plain = clone(estimator).set_callbacks().fit(X, Y)
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("estimator", ITERATING, ids=called)
def test_a_callback_stops_a_fit_and_nothing_is_lost(estimator):
    model = clone(estimator).set_callbacks(follower := Following(stop_after=2)).fit(X, Y)
    assert follower.ended == [*rounds(2), "fit 0"]
    assert len(getattr(model, "history_", range(2))) == 2
    assert model.certificate_.gap >= 0
    assert follower.scores[1] == model.score(X, Y)


@pytest.mark.parametrize("estimator", [RhoSVC(), RegAdaBoostClassifier(), InfiniteEnsembleSVC()], ids=called)
def test_fits_without_rounds_are_one_task(estimator):
    model = clone(estimator).set_callbacks(follower := Following()).fit(X, Y)
    assert follower.begun == follower.ended == ["fit 0"]
    assert follower.scores == [model.score(X, Y)]


@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_sub_problems_are_tasks_of_the_fit(backend):
    follower, own = FollowingParts(), Following()
    model = LPBoostClassifier(n_jobs=2)
    with parallel_config(backend=backend):
        model.set_callbacks(follower, own).fit(*three_classes())
    lengths = sorted(len(history) for history in model.history_)
    parts = {k: [p for p in follower.ended if p.startswith(f"fit 0, sub-problem {k}, round")] for k in range(3)}
    assert sorted(len(part) for part in parts.values()) == lengths
    assert sorted(follower.ended) == sorted(own.ended) == sorted(follower.begun)
    assert follower.life == own.life == ["setup", "teardown"]
    plain = LPBoostClassifier().fit(*three_classes())
    assert vars(model).keys() == vars(plain).keys() | {"_skl_callbacks"}
    for part, alone in zip(model.estimators_, plain.estimators_, strict=True):
        assert vars(part).keys() == vars(alone).keys()


def test_a_stop_is_one_of_the_sub_problem():
    follower = FollowingParts(stop_after=2)
    model = AdaBoostClassifier(n_rounds=9).set_callbacks(follower).fit(*three_classes())
    assert [len(history) for history in model.history_] == [2, 2, 2]


def test_sub_problems_in_other_processes_are_followed(capsys):
    """Two numbers of sub-problems are hardly ever the same, wherever these are solved."""
    monitor = ScoringMonitor(scoring="accuracy")
    model = AdaBoostClassifier(n_rounds=3, n_jobs=2).set_callbacks(ProgressBar(), monitor)
    with parallel_config(backend="loky"):
        model.fit(*three_classes())
    paths = [row["task_id_path"] for row in monitor.get_logs().data]
    assert len({p[1] for p in paths if len(p) == 2}) == 3
    assert sum(len(p) == 3 for p in paths) == 9
    assert "AdaBoostClassifier" in capsys.readouterr().out


def test_scores_on_the_way_are_logged_with_weights():
    monitor = ScoringMonitor(scoring="accuracy")
    weights = np.where(Y == "yes", 3.0, 1.0)
    model = AdaBoostClassifier(n_rounds=5).set_callbacks(monitor).fit(X, Y, sample_weight=weights)
    logged = {row["task_id_path"]: row["accuracy"] for row in monitor.get_logs().data}
    staged = [np.where(f > 0, "yes", "no") for f in model.staged_decision_function(X)]
    expected = [accuracy_score(Y, predicted, sample_weight=weights) for predicted in staged]
    assert [logged[0, k] for k in range(5)] == pytest.approx(expected)
    assert logged[0,] == pytest.approx(expected[-1])


def test_a_callback_that_fails_leaves_the_estimator_as_it_was():
    model = LPBoostClassifier().fit(X, Y)
    before = set(vars(model))
    model.set_callbacks(follower := Failing())
    with pytest.raises(ZeroDivisionError):
        model.fit(X[:20], Y[:20])
    assert follower.life == ["setup", "teardown"]
    assert set(vars(model)) == before | {"_skl_callbacks"}
    assert len(model.dual_weights_) == len(X)


@pytest.mark.parametrize("sample", [(X, Y), three_classes()], ids=["two", "three"])
def test_callbacks_are_cloned_and_pickled_but_not_saved(tmp_path, sample):
    monitor = ScoringMonitor(scoring="accuracy")
    model = AdaBoostClassifier(n_rounds=3).set_callbacks(monitor).fit(*sample)
    assert clone(model)._skl_callbacks == [monitor]
    restored = pickle.loads(pickle.dumps(model))
    assert len(restored.fit(*sample)._skl_callbacks) == 1
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert not hasattr(loaded, "_skl_callbacks")
    np.testing.assert_array_equal(loaded.decision_function(sample[0]), model.decision_function(sample[0]))
    assert model._skl_callbacks == [monitor]


def test_a_round_that_is_interrupted_ends_without_a_fit():
    model = AdaBoostClassifier(Interrupting).set_callbacks(follower := Following())
    with pytest.warns(UserWarning, match="interrupted after 2 of 200 rounds: fit again"):
        model.fit(X, Y)
    assert follower.ended == [*rounds(3), "fit 0"]
    assert follower.scores[2] is None
    assert len(model.history_) == 2


def test_without_callbacks_of_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    support, decorate = base._find_support()
    assert support is base.WithoutCallbacks
    assert decorate(path) is path
    assert not hasattr(support(), "set_callbacks")
