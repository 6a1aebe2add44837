"""Models of other libraries: taken apart exactly, and held against optima that were found another way."""

import numpy as np
import pytest
from brute_force import all_stumps
from estimator_samples import assert_optimal, three_classes, two_classes
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import Booster, LGBMClassifier
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import ExtraTreeClassifier
from sklearn.utils import compute_sample_weight

from cvxens.colgen import Formulation, column_generation, formulations
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.estimators import certify_model, reweight
from cvxens.estimators.foreign import LIBRARIES, ForeignVote, Library
from cvxens.problems import LPBoost, SoftMarginBoosting, SVMDual, SVMPrimal
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1
from cvxens.proofs import checker

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


def stumps_of_lightgbm(**parameters):
    return LGBMClassifier(n_estimators=6, num_leaves=2, min_child_samples=2, verbose=-1, n_jobs=1, **parameters)


def gapped(X):
    X = X.copy()
    X[::7, 0] = np.nan
    return X


# fitted models, by how they differ from the plain ones; all of them are votes of stumps
VARIANTS = {
    "lightgbm, dart": lambda: stumps_of_lightgbm(boosting_type="dart", drop_rate=0.5).fit(X, Y),
    "lightgbm, rf": lambda: stumps_of_lightgbm(boosting_type="rf", bagging_fraction=0.5, bagging_freq=1).fit(X, Y),
    "lightgbm, goss": lambda: stumps_of_lightgbm(data_sample_strategy="goss").fit(X, Y),
    "lightgbm, sigmoid": lambda: stumps_of_lightgbm(sigmoid=2.5, is_unbalance=True).fit(X, Y),
    "lightgbm, from 0": lambda: stumps_of_lightgbm(boost_from_average=False, learning_rate=0.7).fit(X, Y),
    "lightgbm, init scores": lambda: stumps_of_lightgbm().fit(X, Y, init_score=np.linspace(-1, 1, len(X))),
    "lightgbm, cross-entropy": lambda: stumps_of_lightgbm(objective="cross_entropy").fit(X, (Y == "yes").astype(int)),
    "lightgbm, gaps in the fit": lambda: stumps_of_lightgbm().fit(gapped(X), Y),
    "lightgbm, no gaps": lambda: stumps_of_lightgbm(use_missing=False).fit(gapped(X), Y),
    "lightgbm, early stop": lambda: stumps_of_lightgbm(early_stopping_round=1, learning_rate=2.0).fit(
        X, SIGNS, eval_X=X[::3], eval_y=SIGNS[::3]
    ),
    "lightgbm, sparse fit": lambda: stumps_of_lightgbm().fit(csr_array(np.maximum(X, 0)), Y),
    "lightgbm, weights": lambda: stumps_of_lightgbm().fit(X, Y, sample_weight=np.linspace(0.1, 3, len(X))),
    "lightgbm, monotone": lambda: stumps_of_lightgbm(monotone_constraints=[1] * X.shape[1]).fit(X, Y),
    "gradient boosting, weights": lambda: GradientBoostingClassifier(n_estimators=5, max_depth=1).fit(
        X, Y, sample_weight=np.where(Y == "yes", 1.0, 1e-20)
    ),
    "gradient boosting, subsample": lambda: GradientBoostingClassifier(
        n_estimators=5, max_depth=1, subsample=0.5, n_iter_no_change=1, max_features=1, random_state=0
    ).fit(X, Y),
    "adaboost, extra trees": lambda: AdaBoostClassifier(
        ExtraTreeClassifier(max_depth=1), n_estimators=7, learning_rate=0.3, random_state=0
    ).fit(X, Y, sample_weight=np.linspace(0.1, 3, len(X))),
    "adaboost, one is enough": lambda: AdaBoostClassifier(n_estimators=7).fit(SIGNS[:, None] * [[1.0, 0.1]], Y),
}


def library_of(model):
    return LIBRARIES[f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"]


def vote_of(model):
    return ForeignVote.of(library_of(model).parts(model))


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


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_read_right(name):
    model = VARIANTS[name]()
    new = two_classes(200, random_state=9)[0][:, : model.n_features_in_]
    new[::5] = 0.0
    vote = ForeignVote.read(library_of(model), model, new)
    np.testing.assert_allclose(vote(new), raw_scores(model, new), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new) == model.classes_[1], vote(new) > 0)


class Bent(AdaBoostClassifier):
    """Its scores are more than its votes."""

    def decision_function(self, X):
        return super().decision_function(X) + 0.01 * X[:, 0]


def test_a_model_that_is_more_than_what_was_read_is_refused(monkeypatch):
    for read in (certify_model, reweight):
        with pytest.raises(InvalidInput, match="model: found raw scores that differ by"):
            read(Bent(n_estimators=3, random_state=0).fit(X, Y), X, Y, SOFT)
    parts, scores = LIBRARIES["lightgbm.LGBMClassifier"]
    for wrong in (
        lambda model: list(parts(model))[:-1],
        lambda model: [(j, t + 0.3, a, b) for j, t, a, b in parts(model)],
        lambda model: [(j, t, np.nan, b) for j, t, a, b in parts(model)],
    ):
        with pytest.raises(InvalidInput, match="model: found raw scores that differ by"):
            ForeignVote.read(Library(wrong, scores), LIGHTGBM.fit(X, Y), X)


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
    new = np.concatenate([around, halves, np.nextafter(halves, 9), np.nextafter(halves, -9)]).astype(float)[:, None]
    np.testing.assert_allclose(scores_of(vote_of(model), new), model.decision_function(new), atol=1e-9)


FORMULATIONS = {
    "soft margin": (SOFT, lambda H: SoftMarginBoosting(np.hstack([H, -H]), SIGNS, 0.2), 1),
    "lpboost": (formulations.lpboost(0.05), lambda H: LPBoost(np.hstack([H, -H]), SIGNS, 0.05), -1),
    "svm": (formulations.svm(0.01), lambda H: SVMPrimal(H[:, :-1], SIGNS, 0.01), 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_how_far_a_vote_is_from_soft_margins(name):
    model = MODELS[name].fit(X, Y)
    certificate = certify_model(model, X, Y, SOFT)
    vote = vote_of(model)
    scales = np.exp(np.linspace(-9, 9, 20_001)) / vote.weights.sum()
    # that of the scaled votes, by the formula
    slack = np.maximum(0, 1 - np.outer(scales, SIGNS * scores_of(vote, X))).sum(axis=1)
    assert certificate.primal == pytest.approx((scales * vote.weights.sum() + 0.2 * slack).min(), rel=1e-4)
    optimum = FORMULATIONS["soft margin"][1](all_stumps(X)).solve().objective
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
    optimum = FORMULATIONS["soft margin"][1](H).solve().objective
    assert_optimal(run.certificate, optimum, tol=1e-6, rel=1e-6)
    assert run.certificate.primal <= certify_model(model, X, Y, SOFT).primal
    assert {str(c.hypothesis).strip("-()") for c in run.columns} <= {str(h) for h in vote_of(model).hypotheses}


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
    "linear leaves": (stumps_of_lightgbm(linear_tree=True), (X, Y), SOFT, "model: found leaves with linear models"),
    "zeros as gaps": (stumps_of_lightgbm(zero_as_missing=True), (X, Y), SOFT, "model: found that it takes 0 as"),
    "its own objective": (
        stumps_of_lightgbm(objective=lambda y, f: (1 / (1 + np.exp(-f)) - y, np.full(len(y), 0.25))),
        (X, Y),
        SOFT,
        "model: found the objective 'that of a function'",
    ),
    "a nu-SVC": (NuSVC(nu=0.2), (X, Y), None, "model: found a NuSVC"),
}


@pytest.mark.parametrize("kind", [LinearSVC, SVC, AdaBoostClassifier])
def test_a_class_in_the_place_of_a_model_is_named(kind):
    for call in (lambda: certify_model(kind, X, Y), lambda: reweight(kind, X, Y, SOFT)):
        with pytest.raises(InvalidInput, match=f"^model: found the class {kind.__name__}; give an object of it"):
            call()


def test_splits_by_categories_are_refused():
    codes = np.random.default_rng(0).integers(0, 4, size=(80, 1)).astype(float)
    y = np.where(np.isin(codes[:, 0], [0, 3]), "yes", "no")
    model = stumps_of_lightgbm(min_data_per_group=1, cat_smooth=1, max_cat_to_onehot=1)
    with pytest.raises(InvalidInput, match="model: found a split by categories"):
        certify_model(model.fit(codes, y, categorical_feature=[0]), codes, y, SOFT)


def test_a_booster_by_itself():
    booster = stumps_of_lightgbm().fit(X, SIGNS).booster_
    again = Booster(model_str=booster.model_to_string())
    assert certify_model(again, X, SIGNS, SOFT) == certify_model(booster, X, SIGNS, SOFT)


# fitted SVCs with prices of their own, and the weights that they were fitted with
WEIGHTS = np.random.default_rng(3).uniform(0.1, 3.0, len(X)) * (np.arange(len(X)) % 5 > 0)
PRICED = {
    "weights of classes": ({"class_weight": "balanced"}, None),
    "a dict of classes": ({"class_weight": {"no": 0.1, "yes": 3.0}, "kernel": "linear"}, None),
    "weights": ({}, WEIGHTS),
    "weights and classes": ({"class_weight": {"no": 0.5}, "kernel": "poly", "degree": 2}, WEIGHTS),
    "less than 1 for all": ({"gamma": "auto"}, np.full(len(X), 0.3)),
    "weights, precomputed": ({"kernel": "precomputed"}, WEIGHTS),
}


@pytest.mark.parametrize("case", PRICED)
def test_prices_of_samples_and_classes_are_those_of_the_fit(case):
    parameters, weights = PRICED[case]
    sample = X @ X.T if parameters.get("kernel") == "precomputed" else X
    model = SVC(C=2.0, tol=1e-8, **parameters).fit(sample, Y, sample_weight=weights)
    certificate = certify_model(model, sample, Y, sample_weight=weights)
    assert certificate.holds(1e-5)
    factors = compute_sample_weight(model.class_weight, Y) * (1.0 if weights is None else weights)
    of_all = SVMDual(gram_matrix(model, sample), SIGNS, 2.0 * np.maximum(factors, 1e-9))
    assert certificate.primal == pytest.approx(of_all.solve().objective, rel=1e-5)


def gram_matrix(model, sample):
    if model.kernel == "precomputed":
        return sample
    constants = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
    return pairwise_kernels(sample, metric=model.kernel, filter_params=True, **constants)


@pytest.mark.parametrize("case", [case for case, (_, weights) in PRICED.items() if weights is not None])
def test_wrong_prices_of_an_svc_are_refused(case):
    parameters, weights = PRICED[case]
    sample = X @ X.T if parameters.get("kernel") == "precomputed" else X
    model = SVC(C=2.0, **parameters).fit(sample, Y, sample_weight=weights)
    for wrong in (None, weights * np.where(np.arange(len(X)) % 3, 1.0, 0.9), 2 * weights):
        with pytest.raises(InvalidInput, match=r"found multipliers that|the multiplier|another sample|other classes"):
            certify_model(model, sample, Y, sample_weight=wrong)
    with pytest.raises(InvalidInput, match="sample_weight: found -1"):
        certify_model(model, sample, Y, sample_weight=np.where(np.arange(len(X)), weights, -1.0))
    with pytest.raises(InvalidInput, match=r"found multipliers that violate|found the multiplier"):
        certify_model(model.set_params(C=1.0), sample, Y, sample_weight=weights)


@pytest.mark.product(weights=[None, WEIGHTS], tol=[1e-2, 1e-3, 1e-6])
def test_prices_that_are_right_are_never_refused(tol, weights):
    for seed in range(5):
        x, y = two_classes(50, random_state=seed)
        for C in (0.01, 1.0, 1000.0):
            w = None if weights is None else weights[:50]
            model = SVC(C=C, tol=tol).fit(x, y, sample_weight=w)
            assert certify_model(model, x, y, sample_weight=w).proven


def test_an_svc_that_max_iter_ended_says_what_it_was_held_against():
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=2.0, max_iter=3).fit(X, Y)
    certificate = certify_model(model, X, Y)
    assert certificate.relative_gap > 0.01
    assert certificate.note == "of LL08 P2 with C = 2 and samples that weigh the same"
    assert "the given weights" in certify_model(model, X, Y, sample_weight=np.ones(len(X))).note
    with pytest.warns(ConvergenceWarning):
        weighted = SVC(C=0.01, max_iter=3).fit(X, Y, sample_weight=np.full(len(X), 200.0))
    with pytest.raises(InvalidInput, match="sample_weight: found the multiplier"):
        certify_model(weighted, X, Y)


def test_other_samples_and_scores_of_an_svc():
    model = SVC().fit(X, Y)
    with pytest.raises(InvalidInput, match="y: found other classes than those of the fit"):
        certify_model(model, X, np.where(Y == "yes", "no", "yes"))
    with pytest.raises(InvalidInput, match="X: found another sample"):
        certify_model(model, np.vstack([X, X[:1]]), np.append(Y, Y[0]))
    model._gamma *= 1.001
    model.intercept_ = model.intercept_ + 0.1
    with pytest.raises(InvalidInput, match="model: found scores that differ by"):
        certify_model(model, X, Y)
    with pytest.raises(InvalidInput, match="sample_weight: found weights beside a formulation"):
        certify_model(ADABOOST.fit(X, Y), X, Y, SOFT, sample_weight=np.ones(len(X)))


def test_the_gaussian_kernel_of_an_svc_far_from_the_origin():
    # LIBSVM itself loses digits there; that is a gap, and not another price
    model = SVC(C=2.0, gamma=0.5, tol=1e-8).fit(X + 2.0**20, Y)
    far, near = certify_model(model, X + 2.0**20, Y), certify_model(SVC(C=2.0, gamma=0.5, tol=1e-8).fit(X, Y), X, Y)
    assert far.dual <= near.primal <= far.primal + 1e-9
    assert far.relative_gap < 0.01


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


@pytest.mark.parametrize("intercept", [False, True])
def test_a_foreign_vote_has_its_exact_distance_from_the_exact_optimum(intercept, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:60, :4], y[:60]
    model = AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y)
    formulation = Formulation(Hinge(0.25), L1(), intercept=intercept, nonnegative=True)
    # one sample less than it was fitted to, so that stumps may lie elsewhere
    certificate = certify_model(model, X[1:], y[1:], formulation)
    proof = certificate.exact()
    best = column_generation(formulation, Stumps(X[1:]), 2.0 * y[1:] - 1, tol=1e-9, exact=True).proof
    assert best.gap == 0
    assert proof.bound == best.objective < proof.objective
    assert float(proof.objective) == pytest.approx(certificate.primal, rel=1e-9)
    assert proof.relative_gap == pytest.approx(certificate.relative_gap, abs=2e-3)
    proof.save(tmp_path / "proof.json", tmp_path / "data.csv")
    assert checker.check(proof.document, tmp_path / "data.csv") == proof.claim
