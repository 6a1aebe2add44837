"""Ensembles with the kernel of a forest, by brute force, and inside scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from estimator_samples import called, three_classes, two_classes
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

from cvxens import SupervisedKernelRLSClassifier, SupervisedKernelRLSRegressor, load_model
from cvxens.errors import InvalidInput, SolverFailed, SolverFallbackWarning
from cvxens.estimators import forests
from cvxens.estimators.forests import vote
from cvxens.solvers import conjugate_gradients

X, Y = two_classes()
X3, Y3 = three_classes()
NEW = np.random.default_rng(5).normal(size=(25, 3))
TARGET = X[:, 0] ** 2 + X[:, 1] + 100
FEW = {"n_experts": 7, "random_state": 0}
BOTH = [SupervisedKernelRLSClassifier(**FEW), SupervisedKernelRLSRegressor(**FEW)]


def targets_of(estimator):
    return Y if hasattr(estimator, "decision_function") else TARGET


def same_leaf(model, X, Z):
    left, right = (model.kernel_.forest.apply(sample) for sample in (X, Z))
    return (left[:, None] == right[None]).mean(axis=2)


def brute_scores(model, kernel, X_train, targets, X_new):
    """One list of scores per expert, from numpy's solutions of the stated systems."""
    K, rows = kernel(model, X_train, X_train), kernel(model, X_new, X_train)
    for member in model.experts_.members.T:
        m = member.sum()
        c = np.linalg.solve(m * model.gamma * np.eye(m) + K[np.ix_(member, member)], targets[member])
        yield rows[:, member] @ c


@pytest.mark.parametrize("gamma", [1e-3, 0.1])
def test_votes_of_two_classes_by_brute_force(gamma):
    model = SupervisedKernelRLSClassifier(kernel="leaf", gamma=gamma, **FEW).fit(X, Y)
    scores = np.array(list(brute_scores(model, same_leaf, X, np.where(Y == "yes", 1.0, -1.0), NEW)))
    votes = (scores > 0).sum(axis=0)
    assert_array_equal(model.predict(NEW), np.where(votes > 3, "yes", "no"))
    shares = (2 * votes - 7) / 7
    decision = model.decision_function(NEW)
    assert np.abs(decision - shares).max() < 1 / 7
    assert_array_equal(np.sign(decision - shares), np.sign(scores.mean(axis=0)))


def test_votes_of_three_classes_by_one_against_the_rest():
    model = SupervisedKernelRLSClassifier(kernel="leaf", **FEW).fit(X3, Y3)
    targets = np.where(Y3[:, None] == np.arange(3), 1.0, -1.0)
    scores = np.array(list(brute_scores(model, same_leaf, X3, targets, NEW[:, :2])))
    votes = (scores.argmax(axis=2)[:, :, None] == np.arange(3)).sum(axis=0)
    ranked = [max(range(3), key=lambda k: (votes[i, k], scores[:, i, k].mean())) for i in range(len(NEW))]
    assert_array_equal(model.predict(NEW[:, :2]), ranked)
    assert_allclose(model.decision_function(NEW[:, :2]), votes / 7, atol=1 / 21)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 4))
def test_more_votes_win_and_the_mean_score_where_votes_are_equal(seed, n_experts, n_classes):
    scores = np.random.default_rng(seed).integers(-3, 4, (n_experts, n_classes)).astype(float)
    votes = np.zeros(n_classes)
    for row in scores:
        votes += row == row.max()
    keys = [(round(v, 9), round(s, 9)) for v, s in zip(votes, scores.mean(axis=0), strict=True)]
    shares = vote(scores[None])[0]
    for i, j in np.ndindex(n_classes, n_classes):
        assert (keys[i] > keys[j]) <= (shares[i] > shares[j] - 1e-9)
    assert keys[int(shares.argmax())] == max(keys)


def test_the_mean_of_a_regressor_by_brute_force():
    model = SupervisedKernelRLSRegressor(kernel="leaf", **FEW).fit(X, TARGET)
    scores = list(brute_scores(model, same_leaf, X, TARGET - TARGET.mean(), NEW))
    assert_allclose(model.predict(NEW), TARGET.mean() + np.mean(scores, axis=0), rtol=1e-9)
    assert model.intercept_ == pytest.approx(TARGET.mean())


@pytest.mark.parametrize("kernel", ["leaf", "depth"])
def test_one_expert_on_all_samples_is_kernel_ridge_regression(kernel):
    whole = {"kernel": kernel, "n_experts": 1, "sample_share": 1.0, "random_state": 0, "gamma": 0.01}
    regressor = SupervisedKernelRLSRegressor(**whole).fit(X, TARGET)
    ridge = KernelRidge(alpha=len(X) * 0.01, kernel="precomputed").fit(regressor.kernel_(X), TARGET - TARGET.mean())
    assert_allclose(regressor.predict(NEW), ridge.predict(regressor.kernel_(NEW, X)) + TARGET.mean(), rtol=1e-9)
    classifier = SupervisedKernelRLSClassifier(**whole).fit(X, Y)
    ridge.fit(classifier.kernel_(X), np.where(Y == "yes", 1.0, -1.0))
    assert_array_equal(classifier.predict(NEW) == "yes", ridge.predict(classifier.kernel_(NEW, X)) > 0)


@pytest.mark.product(kernel=["leaf", "depth"], estimator=BOTH)
def test_fitted_attributes(estimator, kernel):
    model = clone(estimator).set_params(kernel=kernel).fit(X, targets_of(estimator))
    assert model.certificate_.holds(1e-9)
    assert model.certificate_ == model.experts_.certificate
    assert (model.kernel_.kind, len(model.experts_), model.n_features_in_) == (kernel, 7, 3)
    sizes = model.experts_.members.sum(axis=0)
    assert 20 <= sizes.min() <= sizes.max() <= 36


@pytest.mark.parametrize("estimator", BOTH, ids=called)
def test_a_seed_gives_one_model_whatever_the_threads(estimator):
    y = targets_of(estimator)
    first, second = (clone(estimator).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2))
    assert_array_equal(first.experts_.coefficients, second.experts_.coefficients)
    assert_array_equal(first.predict(NEW), second.predict(NEW))
    other = clone(estimator).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(first.experts_.members, other.experts_.members)


def test_a_forest_that_is_given_is_cloned_and_seeded():
    forest = ExtraTreesClassifier(n_estimators=9)
    models = [SupervisedKernelRLSClassifier(forest, **FEW).fit(X, Y) for _ in range(2)]
    assert not hasattr(forest, "estimators_")
    assert forest.random_state is None
    assert len(models[0].kernel_.forest.estimators_) == 9
    assert_array_equal(*(model.decision_function(NEW) for model in models))
    seeded = SupervisedKernelRLSClassifier(RandomForestClassifier(5, random_state=3), **FEW).fit(X, Y)
    assert seeded.kernel_.forest.random_state == 3


def test_a_frozen_forest_is_taken_as_it_is():
    forest = RandomForestClassifier(5, random_state=3).fit(X[:20], Y[:20])
    model = SupervisedKernelRLSClassifier(FrozenEstimator(forest), **FEW).fit(X, Y)
    assert model.kernel_.forest.estimator is forest
    assert_array_equal(model.kernel_.forest.apply(X), forest.apply(X))
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize(
    "forest", [GradientBoostingClassifier(n_estimators=5), DecisionTreeRegressor(max_leaf_nodes=6)]
)
def test_other_ensembles_of_trees(forest):
    model = SupervisedKernelRLSClassifier(forest, **FEW).fit(X3, Y3)
    assert model.score(X3, Y3) > 0.7
    assert model.certificate_.holds(1e-9)


def test_missing_values_go_where_the_forest_sends_them():
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    model = SupervisedKernelRLSClassifier(kernel="leaf", **FEW).fit(holes, Y)
    assert_allclose(model.kernel_(holes), same_leaf(model, holes, holes))
    assert model.score(holes, Y) > 0.8
    regressor = SupervisedKernelRLSRegressor(**FEW).fit(holes, TARGET)
    assert regressor.score(holes, TARGET) > 0.5


def test_the_forest_decides_whether_values_may_be_missing():
    assert get_tags(SupervisedKernelRLSClassifier()).input_tags.allow_nan
    boosting = SupervisedKernelRLSClassifier(GradientBoostingClassifier())
    assert not get_tags(boosting).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        boosting.fit(np.where(X > 1, np.nan, X), Y)


def make_mixed(n, random_state):
    """A frame with nominal columns and gaps, the sign and the value of a function of it."""
    rng = np.random.default_rng(random_state)
    sky = rng.choice(["clear", "grey", "red"], n)
    frame = pd.DataFrame({"sky": pd.Categorical(sky), "heat": rng.normal(size=n), "wet": rng.random(n) < 0.5})
    value = frame["heat"] * np.where(sky == "grey", -1.0, 1.0) + np.where(frame["wet"], 0.5, -0.5)
    holed = frame.astype({"wet": object})
    holed.loc[::11, "heat"], holed.loc[5::13, "sky"], holed.loc[3::17, "wet"] = np.nan, None, None
    return holed, value.to_numpy()


@pytest.mark.parametrize("estimator", BOTH, ids=called)
def test_mixed_tables_with_gaps(estimator, tmp_path):
    (frame, value), (new, other) = make_mixed(90, 0), make_mixed(60, 1)
    y, expected = (np.sign(value), np.sign(other)) if estimator is BOTH[0] else (value, other)
    model = clone(estimator).set_params(n_experts=15).fit(frame, y)
    assert [feature.categories is None for feature in model.features_] == [False, True, False]
    assert model.certificate_.holds(1e-8)
    assert model.certify(frame, y).proven
    assert model.score(new, expected) > (0.8 if estimator is BOTH[0] else 0.5)
    # what was never seen counts as missing
    unknown, missing = new.astype({"sky": object}), new.astype({"sky": object})
    unknown["sky"], missing["sky"] = "violet", None
    assert_array_equal(model.predict(unknown), model.predict(missing))
    again = load_model(model.save(tmp_path / "model") or tmp_path / "model")
    assert_array_equal(again.predict(new), model.predict(new))
    refitted = clone(again).fit(frame, y)
    assert_array_equal(refitted.predict(new), model.predict(new))
    with pytest.raises(InvalidInput, match="found no data frame"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match="found no numbers in the columns sky"):
        clone(estimator).set_params(forest=DecisionTreeRegressor()).fit(frame, y)


@pytest.mark.parametrize("estimator", BOTH, ids=called)
def test_features_that_tell_nothing(estimator):
    y = targets_of(estimator)
    model = clone(estimator).fit(np.ones_like(X), y)
    assert len(set(model.predict(NEW))) == 1
    assert model.certificate_.holds(1e-9)


@pytest.mark.thinned(1, kernel=["leaf", "depth"])
@pytest.mark.parametrize(
    ("estimator", "Z", "y"), [(BOTH[0], X, Y), (BOTH[0], X3, Y3), (BOTH[1], X, TARGET)], ids=["two", "three", "real"]
)
def test_conjugate_gradients_find_what_the_closed_form_does(estimator, Z, y, kernel, monkeypatch):
    model = clone(estimator).set_params(kernel=kernel, gamma=1e-3)
    closed = clone(model).fit(Z, y)
    monkeypatch.setattr(forests, "WRITTEN_OUT", 0)
    monkeypatch.setattr(forests, "SHARE", 0.1)
    iterated = clone(model).set_params(tol=1e-11).fit(Z, y)
    assert_array_equal(iterated.experts_.members, closed.experts_.members)
    size = np.abs(closed.experts_.coefficients).max()
    assert_allclose(iterated.experts_.coefficients, closed.experts_.coefficients, atol=1e-6 * size)
    assert iterated.certificate_.holds(1e-11)
    new = np.random.default_rng(6).normal(size=(25, Z.shape[1]))
    scores = [np.concatenate(list(it._expert_scores(new, it.experts_.coefficients))) for it in (iterated, closed)]
    assert_allclose(*scores, atol=1e-6 * np.abs(scores[1]).max())


@pytest.mark.parametrize("estimator", BOTH, ids=called)
def test_the_closed_form_answers_where_conjugate_gradients_fail(estimator, monkeypatch):
    y = targets_of(estimator)
    closed = clone(estimator).fit(X, y)
    monkeypatch.setattr(forests, "WRITTEN_OUT", 0)
    monkeypatch.setattr(conjugate_gradients, "MAX_STEPS", 0)
    with pytest.warns(SolverFallbackWarning, match=r"after 0 steps: give a larger gamma; solved in closed form"):
        model = clone(estimator).fit(X, y)
    assert_array_equal(model.experts_.coefficients, closed.experts_.coefficients)
    monkeypatch.setattr(forests, "MOST_WRITTEN_OUT", 0)
    with pytest.raises(SolverFailed, match="conjugate gradients"):
        clone(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", BOTH, ids=called)
def test_parts_are_scored_as_the_whole(estimator, monkeypatch):
    model = clone(estimator).fit(X, targets_of(estimator))
    whole = model.predict(NEW)
    monkeypatch.setattr(forests, "BLOCK", 1)
    assert_array_equal(model.predict(NEW), whole)


@pytest.mark.product(estimator=BOTH, written_out=[0, 1000])
def test_samples_that_do_not_fit_into_memory(estimator, written_out, monkeypatch):
    monkeypatch.setattr(forests, "WRITTEN_OUT", written_out)
    monkeypatch.setattr("cvxens.limits.SMALL_ALLOCATION", 0)
    monkeypatch.setattr("cvxens.limits.available_memory", lambda: 1000)
    with pytest.raises(InvalidInput, match=r"^X: found 40 samples, whose 7 experts take"):
        clone(estimator).fit(X, targets_of(estimator))


def brute_values(model, targets, X_new, coefficients):
    """1/m |f - y|^2 + gamma c'K c of every expert, with scikit-learn's leaves as the kernel."""
    K, rows = same_leaf(model, X, X), same_leaf(model, X_new, X)
    for c in coefficients.transpose(1, 0, 2):
        yield ((rows @ c - targets) ** 2).sum() / len(X_new) + model.gamma * (c * (K @ c)).sum()


def brute_optimum(model, targets, X_new):
    """The least value of any function of the kernel on a sample, from the stated system."""
    K, m = same_leaf(model, X_new, X_new), len(X_new)
    c = np.linalg.solve(m * model.gamma * np.eye(m) + K, targets)
    return ((K @ c - targets) ** 2).sum() / m + model.gamma * (c * (K @ c)).sum()


def coded(model, targets):
    """The targets of the experts, (n_samples, n_outputs)."""
    if hasattr(model, "codes_"):
        return model.codes_[np.searchsorted(model.classes_, targets)]
    return (targets - model.intercept_)[:, None]


@pytest.mark.thinned(1, gamma=[1e-2, 1.0], estimator=BOTH)
def test_certify_is_the_worst_value_beside_the_optimum_on_any_sample(estimator, gamma):
    model = clone(estimator).set_params(kernel="leaf", gamma=gamma).fit(X, targets_of(estimator))
    targets = targets_of(estimator)[::-1][:25]
    certificate, codes = model.certify(NEW, targets), coded(model, targets)
    values = list(brute_values(model, codes, NEW, model.experts_.coefficients))
    assert certificate.primal == pytest.approx(max(values))
    assert certificate.dual == pytest.approx(brute_optimum(model, codes, NEW))
    assert certificate.gap > 0
    weights = np.random.default_rng(0).normal(size=model.experts_.coefficients.shape)
    other = model.certify(NEW, targets, weights=weights)
    assert other.primal == pytest.approx(max(brute_values(model, codes, NEW, weights)))
    assert other.dual == pytest.approx(certificate.dual)


@pytest.mark.parametrize("estimator", BOTH, ids=called)
def test_certify_of_experts_that_have_all_samples_agrees_with_the_fit(estimator):
    y = targets_of(estimator)
    model = clone(estimator).set_params(sample_share=1.0, n_experts=2).fit(X, y)
    again = model.certify(X, y)
    assert again.holds(1e-9)
    assert again.primal == pytest.approx(model.certificate_.primal)
    worse = model.certify(X, y, weights=0 * model.experts_.coefficients)
    assert worse.primal == pytest.approx((coded(model, y) ** 2).sum() / len(X))
    assert worse.gap > 0.1 * worse.primal


def test_certify_of_three_classes_and_of_a_model_from_a_file(tmp_path):
    model = SupervisedKernelRLSClassifier(**FEW).fit(X3, Y3)
    expected = model.certify(X3, Y3)
    assert 0 < expected.dual < expected.primal
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").certify(X3, Y3) == expected


def test_certify_of_many_samples_is_that_of_few(monkeypatch):
    """By products without a matrix, and in blocks, as by the matrix at once."""
    model = SupervisedKernelRLSClassifier(gamma=0.1, **FEW).fit(X, Y)
    expected = model.certify(X, Y)
    monkeypatch.setattr(forests, "WRITTEN_OUT", 10)
    monkeypatch.setattr(forests, "BLOCK", 50 * model.experts_.coefficients[0].size)
    found = model.certify(X, Y)
    assert found.primal == pytest.approx(expected.primal)
    assert found.dual == pytest.approx(expected.dual)
