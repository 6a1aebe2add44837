"""Prices that are chosen from the sample: what was tried, which is best, and what cannot be chosen by."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, mean_absolute_error, mean_squared_error
from sklearn.model_selection import KFold

from cvxens import AdditiveClassifier, AdditiveRegressor, CGEnsClassifier, LPBoostClassifier, load_model
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.estimators import selection
from cvxens.estimators.selection import Trial, Trials

RNG = np.random.default_rng(4)
X = RNG.integers(0, 2, (60, 6)).astype(float)
Y = np.where(X[:, 0] + X[:, 1] + 1.2 * RNG.normal(size=60) > 1, "yes", "no")
MODELS = [AdditiveClassifier(oracle="stumps"), LPBoostClassifier(C="auto"), CGEnsClassifier(C="auto")]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_scores_are_those_of_fits_to_each_fold_at_each_price(model, monkeypatch):
    monkeypatch.setattr(selection, "FOLD_TOL", 1e-4)
    # features of two values have one threshold, in every fold
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    chosen = model.set_params(cv=folds).fit(X, Y)
    table = chosen.cv_results_
    assert table["max_relative_gap"].max() <= 1e-4
    for row in (0, len(table["params"]) // 2):
        for k, (train, test) in enumerate(folds):
            price = table["param_C"][row] * len(X) / len(train)
            fold = type(model)(C=price, oracle=model.oracle, tol=1e-6).fit(X[train], Y[train])
            if hasattr(fold, "predict_proba"):
                expected = -log_loss(Y[test], fold.predict_proba(X[test]))
                assert_allclose(table[f"split{k}_test_score"][row], expected, atol=0.02)
            else:
                z = np.where(Y[test] == "yes", 1, -1) * fold.decision_function(X[test])
                assert_allclose(table[f"split{k}_test_score"][row], -np.maximum(0, 1 - z).mean(), atol=0.05)
    at_that_price = type(model)(C=chosen.C_, oracle=model.oracle).fit(X, Y)
    assert_allclose(chosen.certificate_.primal, at_that_price.certificate_.primal, rtol=2e-3)
    assert chosen.certificate_.holds(1e-3)
    assert chosen.certificate_.proven


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_scores_of_a_regression_are_those_of_fits_to_each_fold(loss):
    t = 2 * X[:, 0] - X[:, 1] + RNG.normal(size=60)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    chosen = AdditiveRegressor(loss, oracle="stumps", cv=folds).fit(X, t)
    table = chosen.cv_results_
    row = len(table["params"]) // 2
    error = mean_squared_error if loss == "squared" else mean_absolute_error
    for k, (train, test) in enumerate(folds):
        price = table["param_C"][row] * len(X) / len(train)
        fold = AdditiveRegressor(loss, C=price, oracle="stumps", tol=1e-6).fit(X[train], t[train])
        assert_allclose(table[f"split{k}_test_score"][row], -error(t[test], fold.predict(X[test])), atol=0.03)
    best = int(table["mean_test_score"].argmax())
    assert table["param_C"][best] == chosen.C_
    assert chosen.certificate_.holds(1e-3)


def test_pairs_are_taken_where_they_score_better(tmp_path):
    A = np.random.default_rng(0).normal(size=(60, 2)).round(1)
    product = AdditiveClassifier(cv=2).fit(A, A[:, 0] * A[:, 1] > 0)
    line = AdditiveClassifier(cv=2).fit(A, A[:, 0] + 0.7 * np.random.default_rng(1).normal(size=60) > 0)
    assert (product.pairs_, line.pairs_) == (True, False)
    assert set(product.cv_results_["param_pairs"]) == {True, False}
    assert product.score(A, A[:, 0] * A[:, 1] > 0) > 0.9
    product.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.C_ == product.C_
    assert_array_equal(again.predict_proba(A), product.predict_proba(A))


def test_folds_are_of_samples_as_they_were_given():
    # 40 samples of two kinds, each with both classes: folds of samples that are merged would have one class of a kind
    A = np.repeat([[0.0], [1.0]], 20, axis=0)
    labels = np.r_[np.arange(20) < 6, np.arange(20) < 14]
    first, second = (AdditiveClassifier(cv=4).fit(A, labels) for _ in range(2))
    assert first.C_ == second.C_
    assert first.score(A, labels) == 0.7
    assert first.cv_results_["mean_test_score"].max() > -0.67
    weighted = AdditiveClassifier(cv=4).fit(np.vstack([A, A]), np.r_[labels, ~labels], np.r_[np.ones(40), np.zeros(40)])
    assert_allclose(weighted.decision_function(A), first.decision_function(A))


def test_every_sub_problem_has_its_price_and_pairs():
    A, labels = load_iris(return_X_y=True)
    model = AdditiveClassifier(cv=2, oracle="quantile_stumps").fit(A[::4, :2], labels[::4])
    assert len(set(model.C_)) > 1
    assert model.pairs_ == [False] * 3
    assert len(model.cv_results_) == 3
    certificates = model.certify(A[::4, :2], labels[::4])
    assert all(certificate.holds(2e-3) for certificate in certificates)


def test_within_a_standard_error_the_simplest_is_taken():
    def trial(price, *scores):
        return Trial(None, price, list(scores), 0.0, None, (), 0.0)

    trials = Trials()
    trials.extend([trial(1.0, 0.5, 0.6), trial(2.0, 0.75, 0.8), trial(3.0, 0.7, 0.9), trial(4.0, 0.75, 0.85)], {})
    assert trials.best(one_standard_error=False) == 2
    assert trials.best(one_standard_error=True) == 1
    # the default stays unless another one is better by more than a standard error of the difference
    assert trials.best(one_standard_error=False, usual=2.0) == 1
    assert trials.best(one_standard_error=False, usual=1.0) == 2


@pytest.mark.parametrize("several", [False, True], ids=["two classes", "targets"])
def test_the_mean_of_ensembles_is_certified_at_the_chosen_price(several):
    random = np.random.default_rng(5)
    A = X + 0.3 * random.normal(size=X.shape).round(1)
    t = A[:, 0] + A[:, 1] + random.normal(size=60)
    kind, y = (AdditiveRegressor, t) if several else (AdditiveClassifier, Y)
    mean = kind(cv=3, average=True).fit(A[:, :3], y)
    table = mean.cv_results_
    scores = np.array([table[f"split{k}_test_score"] for k in range(3)])
    fallen = scores[:, [table["mean_test_score"].argmax()]] - scores
    near = (fallen.mean(axis=0) <= fallen.std(axis=0, ddof=1) / 3**0.5) & (table["n_weak_learners"] > 0)
    near[table["mean_test_score"].argmax()] = True
    members = [
        kind(C=C, pairs=pairs).fit(A[:, :3], y)
        for C, pairs in zip(table["param_C"][near], table["param_pairs"][near], strict=True)
    ]
    assert len(members) > 1
    score = "predict" if several else "decision_function"
    expected = np.mean([getattr(member, score)(A[:, :3]) for member in members], axis=0)
    assert_allclose(getattr(mean, score)(A[:, :3]), expected, atol=0.1)
    assert mean.pairs_ == table["param_pairs"][near].any()
    # the objective at C_ is that of the formulation, and the bound that of its optimum over the same set
    best = kind(C=mean.C_, pairs=bool(mean.pairs_), tol=1e-6).fit(A[:, :3], y)
    certificate = mean.certificate_
    assert certificate.proven
    assert certificate.dual <= best.certificate_.primal < certificate.primal
    assert_allclose(certificate.dual, best.certificate_.primal, rtol=2e-3)
    if not several:
        loss = mean.C_ * np.logaddexp(0, np.where(y == "yes", -1, 1) * mean.decision_function(A[:, :3])).sum()
        assert_allclose(certificate.primal, np.abs(mean.weights_).sum() + loss)
    # loss and penalty are convex
    apart = [m.set_params(C=mean.C_).certify(A[:, :3], y).primal for m in members]
    assert certificate.primal <= (1 + 2e-3) * np.mean(apart)


def test_what_is_given_is_not_chosen():
    model = LPBoostClassifier().fit(X, Y)
    assert model.C_ == 100 / 60
    assert model.cv_results_ is None
    assert LPBoostClassifier(nu=0.8).fit(X, Y).C_ is None
    assert AdditiveClassifier(C=0.3).fit(X[:, :2], Y).pairs_


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"C": "best"}, "C"),
        ({"cv": 1}, "cv"),
        ({"cv": "five"}, "cv"),
        ({"cv": [([0, 1], [2])]}, "cv"),
        ({"scoring": "beauty"}, "scoring"),
        ({"scoring": ["accuracy"]}, "scoring"),
        ({"one_standard_error": 2}, "one_standard_error"),
        ({"pairs": "few"}, "pairs"),
        ({"average": 3}, "average"),
    ],
)
def test_what_cannot_be_chosen_by_is_refused(wrong, named):
    labels = np.sort(Y) if "cv" in wrong else Y
    with pytest.raises(InvalidInput, match=f"^{named}: "):
        AdditiveClassifier(**{"oracle": "stumps", **wrong}).fit(X, labels)


NOISY = RNG.normal(size=(300, 4))
MIXED = NOISY[:, 0] + NOISY[:, 1] ** 2 + RNG.normal(size=300) > 1


@pytest.mark.parametrize("model", [LPBoostClassifier(C="auto"), CGEnsClassifier(C="auto")], ids=["lpboost", "cgens"])
def test_the_default_price_is_tried_and_stays_unless_another_one_is_clearly_better(model):
    usual = model.fit(NOISY, MIXED).__class__().fit(NOISY, MIXED).C_
    table = model.cv_results_
    assert usual in table["param_C"]
    assert len(table["params"]) > 1
    scores = np.array([table[f"split{k}_test_score"] for k in range(3)])
    gain = scores - scores[:, [table["param_C"].tolist().index(usual)]]
    clear = gain.mean(axis=0) > gain.std(axis=0, ddof=1) / 3**0.5
    best = table["mean_test_score"].argmax()
    assert (table["param_C"][best] if clear[best] else usual) == model.C_
    assert model.certificate_.holds(1e-3)


class Slow(Stumps):
    """Stumps that press Ctrl-C, or let time pass, in a round."""

    def price(self, s, exclude=(), **options):
        Slow.rounds += 1
        if Slow.rounds == Slow.last:
            if Slow.seconds:
                time.sleep(Slow.seconds)
            else:
                raise KeyboardInterrupt
        return super().price(s, exclude, **options)


@pytest.mark.parametrize("ended", ["interrupted", "max_time reached"])
@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("search", [{"C": "auto"}, {"nu": "auto"}, {}], ids=["C", "nu", "additive"])
def test_a_search_that_is_cut_keeps_the_best_ensemble_so_far(ended, share, search):
    Slow.rounds, Slow.last, Slow.seconds = 0, 0, 0.0
    model = (LPBoostClassifier if search else AdditiveClassifier)(**search, oracle=Slow, max_time=1e3)
    model.fit(NOISY, MIXED)
    whole = model.score(NOISY, MIXED)
    Slow.last, Slow.rounds, Slow.seconds = max(4, int(share * Slow.rounds)), 0, 2.0 if "time" in ended else 0.0
    if Slow.seconds:
        model.set_params(max_time=2.0)
    with pytest.warns(ConvergenceWarning, match=ended):
        model.fit(NOISY, MIXED)
    assert model.score(NOISY, MIXED) > 0.5 + 0.7 * (whole - 0.5)
    assert np.isfinite(model.C_)
    assert model.certificate_.relative_gap < 0.3
