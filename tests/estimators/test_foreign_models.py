"""Models of other libraries: taken apart exactly, and held against optima that were found another way."""

from itertools import pairwise

import numpy as np
import pytest
from estimator_samples import three_classes, two_classes
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from cvxens.colgen import formulations
from cvxens.errors import InvalidInput
from cvxens.estimators import certify_model, reweight
from cvxens.estimators.voting.foreign_votes import VOTES, ForeignVote
from cvxens.problems import LPBoost, SoftMarginBoosting, SVMPrimal

X, Y = two_classes(80)
SIGNS = np.where(Y == "yes", 1.0, -1.0)
SOFT = formulations.soft_margin(0.2)

ADABOOST = AdaBoostClassifier(n_estimators=15, random_state=0)
BOOSTING = GradientBoostingClassifier(n_estimators=15, max_depth=1, random_state=0)
LIGHTGBM = LGBMClassifier(n_estimators=15, num_leaves=2, min_child_samples=2, verbose=-1, n_jobs=1)
MODELS = {
    "adaboost": ADABOOST,
    "gradient boosting": BOOSTING,
    "gradient boosting from 0": GradientBoostingClassifier(n_estimators=5, max_depth=1, init="zero", random_state=0),
    "exponential loss": GradientBoostingClassifier(n_estimators=5, max_depth=1, loss="exponential", random_state=0),
    "lightgbm": LIGHTGBM,
}


def all_stumps(X):
    """Every middle stump of sign +1 and, last, the constant, (n_samples, n_stumps)."""
    values = [np.unique(x) for x in X.T]
    middles = [(j, (a + b) / 2) for j, v in enumerate(values) for a, b in pairwise(v)]
    return np.stack([*(np.where(X[:, j] > t, 1.0, -1.0) for j, t in middles), np.ones(len(X))], axis=1)


def vote_of(model):
    name = f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    return ForeignVote.of(VOTES[name](model), constant=True)


def scores_of(vote, X):
    return sum(w * h(X) for h, w in zip(vote.hypotheses, vote.weights, strict=True))


def raw_scores(model, X):
    """The scores before scikit-learn's AdaBoost divides them by half the sum of the weights."""
    if hasattr(model, "booster_"):
        return model.booster_.predict(X, raw_score=True)
    return model.decision_function(X) * (getattr(model, "estimator_weights_", np.array([2.0])).sum() / 2)


@pytest.mark.parametrize("name", MODELS)
def test_the_vote_has_the_scores_of_the_model(name):
    model = MODELS[name].fit(X, Y)
    vote = vote_of(model)
    new = np.vstack([X, X + 0.05, two_classes(200, random_state=9)[0]])
    np.testing.assert_allclose(scores_of(vote, new), raw_scores(model, new), atol=1e-9)
    assert (vote.weights > 0).all()
    assert len(set(vote.hypotheses)) == len(vote.hypotheses)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_thresholds_are_kept_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=30)
    y = (x + rng.normal(size=30) > 0).astype(int)
    y[:2] = 0, 1
    model = GradientBoostingClassifier(n_estimators=4, max_depth=1, random_state=0).fit(x[:, None], y)
    thresholds = np.array([tree.tree_.threshold[0] for tree in model.estimators_[:, 0]])
    around = np.concatenate([thresholds, np.float32(thresholds), np.nextafter(np.float32(thresholds), np.float32(9))])
    halves = (np.float64(np.float32(thresholds)) + np.nextafter(np.float32(thresholds), np.float32(9))) / 2
    new = np.concatenate([around, halves, np.nextafter(halves, 9), np.nextafter(halves, -9)]).astype(np.float64)[
        :, None
    ]
    np.testing.assert_allclose(scores_of(vote_of(model), new), model.decision_function(new), atol=1e-9)


FORMULATIONS = {
    "soft margin": (SOFT, lambda H: SoftMarginBoosting(np.hstack([H, -H]), SIGNS, 0.2), 1),
    "lpboost": (formulations.lpboost(0.05), lambda H: LPBoost(np.hstack([H, -H]), SIGNS, 0.05), -1),
    "svm": (formulations.svm(0.01), lambda H: SVMPrimal(H[:, :-1], SIGNS, 0.01), 1),
}


def objective(case, vote, scale):
    """That of the scaled vote, by the formula."""
    margins = SIGNS * scale * scores_of(vote, X)
    return scale * vote.weights.sum() + 0.2 * np.maximum(0, 1 - margins).sum()


@pytest.mark.parametrize("name", MODELS)
def test_how_far_a_vote_is_from_soft_margins(name):
    model = MODELS[name].fit(X, Y)
    certificate = certify_model(model, X, Y, SOFT)
    vote = vote_of(model)
    scales = np.exp(np.linspace(-9, 9, 20_001)) / vote.weights.sum()
    assert certificate.primal == pytest.approx(min(objective(name, vote, scale) for scale in scales), rel=1e-4)
    optimum = SoftMarginBoosting(np.hstack([all_stumps(X), -all_stumps(X)]), SIGNS, 0.2).solve().objective
    assert certificate.proven
    assert optimum * (1 - 2e-3) <= certificate.dual <= optimum + 1e-9
    assert certificate.primal >= optimum


@pytest.mark.parametrize("case", FORMULATIONS)
def test_the_bound_is_the_optimum_over_all_stumps(case):
    formulation, reference, sense = FORMULATIONS[case]
    certificate = certify_model(ADABOOST.fit(X, Y), X, Y, formulation, tol=1e-6)
    optimum = reference(all_stumps(X)).solve().objective
    assert certificate.dual == pytest.approx(optimum, rel=1e-5)
    assert sense * (certificate.primal - optimum) >= 0


@pytest.mark.parametrize("name", MODELS)
def test_the_best_weights_of_a_models_stumps(name):
    model = MODELS[name].fit(X, Y)
    run = reweight(model, X, Y, SOFT)
    H = np.stack([h(X) for h in vote_of(model).hypotheses], axis=1)
    optimum = SoftMarginBoosting(np.hstack([H, -H]), SIGNS, 0.2).solve().objective
    assert run.certificate.holds(1e-6)
    assert run.certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert run.certificate.primal <= certify_model(model, X, Y, SOFT).primal
    assert {str(column.hypothesis).strip("-()") for column in run.columns} <= {
        str(h) for h in vote_of(model).hypotheses
    }


def test_an_optimal_vote_is_certified():
    run = reweight(ADABOOST.fit(X, Y), X, Y, formulations.lpboost(0.05))
    assert run.certificate.holds(1e-6)
    assert certify_model(ADABOOST, X, Y, formulations.lpboost(0.05)).primal <= run.certificate.primal + 1e-9


@pytest.mark.parametrize("parameters", [{}, {"kernel": "linear"}, {"kernel": "poly", "degree": 2}, {"gamma": 0.3}])
def test_a_support_vector_machine_is_near_its_own_optimum(parameters):
    certificate = certify_model(SVC(C=2.0, tol=1e-8, **parameters).fit(X, Y), X, Y)
    assert certificate.holds(1e-5)
    loose = certify_model(SVC(C=2.0, tol=0.5, **parameters).fit(X, Y), X, Y)
    assert loose.relative_gap > certificate.relative_gap


def test_kernels_of_ones_own():
    model = SVC(C=2.0, tol=1e-8, kernel=lambda A, B: A @ B.T).fit(X, Y)
    precomputed = SVC(C=2.0, tol=1e-8, kernel="precomputed").fit(X @ X.T, Y)
    assert certify_model(model, X, Y).holds(1e-5)
    assert certify_model(precomputed, X @ X.T, Y).holds(1e-5)


THREE = three_classes(60)

REFUSED = {
    "another model": (LogisticRegression(), (X, Y), SOFT, "model: found a LogisticRegression"),
    "a forest": (RandomForestClassifier(n_estimators=2), (X, Y), SOFT, "model: found a RandomForestClassifier"),
    "deeper trees": (GradientBoostingClassifier(n_estimators=2), (X, Y), SOFT, "model: found a tree of depth 3"),
    "more leaves": (
        LGBMClassifier(n_estimators=2, num_leaves=4, min_child_samples=2, verbose=-1),
        (X, Y),
        SOFT,
        "stump",
    ),
    "no trees": (AdaBoostClassifier(LogisticRegression(), n_estimators=2), (X, Y), SOFT, "model: found an AdaBoost of"),
    "another start": (
        GradientBoostingClassifier(n_estimators=2, max_depth=1, init=LogisticRegression()),
        (X, Y),
        SOFT,
        "found one with init=",
    ),
    "three classes": (AdaBoostClassifier(n_estimators=2), THREE, SOFT, "y: found the classes"),
    "no formulation": (ADABOOST, (X, Y), None, "formulation: found none"),
    "a formulation for an SVC": (SVC(), (X, Y), SOFT, "formulation: found one for an SVC"),
    "an SVC of three classes": (SVC(), THREE, None, "y: found the classes"),
    "weights of classes": (SVC(class_weight="balanced"), (X, Y), None, "model: found an SVC with weights"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_taken_apart(case):
    model, sample, formulation, message = REFUSED[case]
    with pytest.raises(InvalidInput, match=message):
        certify_model(model.fit(*sample), *sample, formulation)


def test_samples_of_other_classes_or_another_fit():
    with pytest.raises(InvalidInput, match="y: found the classes"):
        certify_model(ADABOOST.fit(X, Y), X, SIGNS, SOFT)
    with pytest.raises(InvalidInput, match="X: found another sample"):
        certify_model(SVC().fit(X, Y), X + 1, Y)
    with pytest.raises(InvalidInput, match="X: found another sample"):
        certify_model(SVC().fit(X, Y), X[:5], Y[:5])


@pytest.mark.parametrize("model", [AdaBoostClassifier(), GradientBoostingClassifier(), SVC()])
def test_unfitted_models(model):
    with pytest.raises(NotFittedError):
        certify_model(model, X, Y, None if isinstance(model, SVC) else SOFT)
