"""What is read off a sample: the same in any unit, merged or not, sparse or dense, weighted or repeated."""

import numpy as np
import pytest
from estimator_samples import FEW, three_classes, two_classes
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from public_estimators import CLASSIFIERS, PUBLIC
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import linear_kernel
from sklearn.utils import compute_sample_weight

from cvxens import (
    AdaBoostClassifier,
    AdaBoostMHClassifier,
    CGEnsClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    MultiBoostClassifier,
    PartialSVMEnsembleClassifier,
    PriceSearchCV,
    RegAdaBoostClassifier,
    RhoSVC,
)
from cvxens.colgen.oracles import Fourier, Perceptrons
from cvxens.errors import InvalidInput
from cvxens.estimators import machines
from cvxens.estimators.infinite_ensembles import PRICE
from cvxens.estimators.machines import TrainingKernel
from cvxens.estimators.samples import Accepts, Sample, class_factors
from cvxens.kernels import (
    DecisionTree,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Perceptron,
    Stump,
    StumpRegion,
)
from cvxens.problems.maps import doubly_centred

pytestmark = FEW

X, Y = two_classes(60)
# off the thresholds, on which rounding decides
NEW = two_classes(200, random_state=5)[0] + 0.0137

# what an SVM makes of them depends neither on the unit of the features nor on where they begin
KERNELS = {
    **{name: name for name in ("stump", "middle-stump", "decision-stump", "perceptron", "histogram-intersection")},
    "linear": Linear(np.eye(X.shape[1])),
    "sum": Stump() + 0.3 * Stump(),
    "regions": StumpRegion(2),
    "product": Stump() * Stump(),
    **{name: name for name in ("decision-tree", "laplacian", "gaussian")},
}


@pytest.mark.product(name=KERNELS, factor=[1e-12, 2.0**-30, 1e12])
def test_the_default_machine_is_the_same_in_any_unit(name, factor):
    kernel = KERNELS[name]
    sample, new = X - X.min(axis=0), np.maximum(NEW - X.min(axis=0), 0)
    before = InfiniteEnsembleSVC(kernel, tol=1e-7).fit(sample, Y)
    after = InfiniteEnsembleSVC(kernel, tol=1e-7).fit(factor * sample, Y)
    assert 0 < np.mean(before.predict(new) == "yes") < 1
    assert_allclose(after.decision_function(factor * new), before.decision_function(new), atol=1e-3)


@pytest.mark.thinned(1, name=CLASSIFIERS, factor=[2.0**-240, 2.0**-40, 2.0**40, 2.0**240])
def test_every_default_is_the_same_whatever_the_unit_of_each_feature(name, factor):
    # powers of 2, so that forests and trees that round to single precision round alike; those of scikit-learn take
    # a feature of a range below 1e-7 for a constant
    units = (np.clip(factor, 2**-5, 2**40) if name.startswith("SupervisedKernel") else factor) ** np.arange(X.shape[1])
    model = clone(PUBLIC[name]).set_params(**({"prices": None} if name == "PriceSearchCV" else {}))
    model.set_params(**({"random_state": 0} if "random_state" in model.get_params() else {}))
    before, after = clone(model).fit(X, Y), clone(model).fit(units * X, Y)
    assert_array_equal(after.predict(units * NEW), before.predict(NEW))


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
def test_cross_validation_chooses_the_same_in_any_unit(kernel):
    models = [PriceSearchCV(InfiniteEnsembleSVC(kernel), cv=2).fit(a * X, Y) for a in (1.0, 2.0**20)]
    assert models[0].best_index_ == models[1].best_index_
    assert_array_equal(models[1].predict(2.0**20 * NEW), models[0].predict(NEW))


def variance(kernel, sample, counts):
    """The mean diagonal of the centred kernel matrix on a sample that is written out."""
    rows = np.repeat(np.arange(len(sample)), counts)
    K = TrainingKernel.from_sample(kernel, None, sample[rows]).function(sample[rows], sample[rows])
    return doubly_centred(np.asarray(K, float)).diagonal().mean()


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in {"laplacian", "gaussian"}])
def test_the_default_price_is_that_of_a_sample_of_variance_one(name):
    kernel = KERNELS[name]
    sample, counts = X - X.min(axis=0), np.arange(len(X)) % 4
    for weights, times in ((None, np.ones(len(X), int)), (counts, counts)):
        model = InfiniteEnsembleSVC(kernel).fit(sample, Y, sample_weight=weights)
        assert pytest.approx(PRICE / variance(kernel, sample, times), rel=1e-9) == model.C_
        balanced = InfiniteEnsembleSVC(kernel, class_weight="balanced").fit(sample, Y, sample_weight=weights)
        assert pytest.approx(model.C_, rel=1e-12) == balanced.C_


def test_the_price_of_a_large_sample_is_taken_from_a_part_of_it(monkeypatch):
    sample, y = two_classes(400)
    whole = InfiniteEnsembleSVC("perceptron").fit(sample, y).C_
    monkeypatch.setattr(machines, "MANY", 150)
    part = InfiniteEnsembleSVC("perceptron").fit(sample, y).C_
    assert part == pytest.approx(whole, rel=0.1)
    assert part != whole
    additive = InfiniteEnsembleSVC("stump").fit(sample, y).C_
    assert additive == pytest.approx(PRICE / variance("stump", sample, 1), rel=1e-9)


def test_a_price_is_a_number_or_scale():
    for wrong in ("auto", -1.0, None):
        with pytest.raises(InvalidInput, match="C: found"):
            InfiniteEnsembleSVC(C=wrong).fit(X, Y)
    assert InfiniteEnsembleSVC(C=0.25).fit(X, Y).C_ == 0.25
    constant = InfiniteEnsembleSVC(lambda A, B: np.ones((len(A), len(B))))
    assert constant.fit(X, Y).C_ == PRICE


def test_prices_of_sub_problems_and_certificates_on_other_samples():
    sample, y = three_classes(45)
    model = InfiniteEnsembleSVC("perceptron", tol=1e-6).fit(sample, y)
    assert pytest.approx([PRICE / variance("perceptron", sample, 1)] * 3, rel=1e-9) == model.C_
    assert all(certificate.holds(1e-4) for certificate in model.certify(sample, y))


REPEATED = np.repeat(np.arange(60), np.where(np.arange(60) == 0, 90, 1))
"""60 rows, of which one stands 90 times."""

GAMMAS = {
    "gaussian": lambda sample: 1 / (sample.shape[1] * sample.var()),
    "laplacian": lambda sample: 1 / (sample.shape[1] * sample.std()),
}


@pytest.mark.thinned(1, kernel=GAMMAS)
@pytest.mark.parametrize(
    "estimator", [InfiniteEnsembleSVC, RhoSVC, RegAdaBoostClassifier, PartialSVMEnsembleClassifier]
)
def test_the_default_gamma_is_the_documented_one(kernel, estimator):
    sample, y = X[REPEATED] * [5.0, 1.0, 0.1][: X.shape[1]], Y[REPEATED]

    def gamma(model):
        return getattr(model.kernel_, "function", model.kernel_).gamma

    expected = GAMMAS[kernel](sample)
    assert gamma(estimator(kernel).fit(sample, y)) == pytest.approx(expected, rel=1e-12)
    balanced = estimator(kernel, class_weight="balanced").fit(sample, y)
    assert gamma(balanced) == pytest.approx(expected, rel=1e-12)
    weights = np.arange(len(y)) % 3
    weighted = estimator(kernel).fit(sample, y, sample_weight=weights)
    assert gamma(weighted) == pytest.approx(GAMMAS[kernel](np.repeat(sample, weights, axis=0)), rel=1e-12)
    of_three, classes = three_classes(45)
    of_three, classes = of_three[REPEATED % 45], classes[REPEATED % 45]
    for part in estimator(kernel, class_weight="balanced").fit(of_three, classes).estimators_:
        assert gamma(part) == pytest.approx(GAMMAS[kernel](of_three), rel=1e-12)


def fitted_to(model, merged, monkeypatch, *sample):
    with monkeypatch.context() as patch:
        if not merged:
            patch.setattr(Sample, "merge", lambda self: self)
        return clone(model).fit(*sample)


MERGING = {
    "stump": InfiniteEnsembleSVC(tol=1e-8),
    "gaussian": InfiniteEnsembleSVC("gaussian", tol=1e-8),
    "decision-tree": InfiniteEnsembleSVC("decision-tree", tol=1e-8),
    "middle stumps": InfiniteEnsembleSVC("middle-stump", tol=1e-8),
    "rho, linear": RhoSVC(linear_kernel, tol=1e-8),
    "rho, laplacian": RhoSVC("laplacian", tol=1e-8),
    "exponential, linear": RegAdaBoostClassifier(linear_kernel, tol=1e-10),
    "exponential, gaussian": RegAdaBoostClassifier("gaussian", tol=1e-10),
    "quantiles": CGEnsClassifier(C=0.1, tol=1e-8),
    "trees": AdaBoostClassifier("trees", n_rounds=3),
    "trees of all classes": MultiBoostClassifier(oracle="trees", max_columns=3),
    "coded": AdaBoostMHClassifier(n_rounds=3),
}


@pytest.mark.thinned(1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.product(classes=[2, 3], name=MERGING)
def test_merging_rows_that_are_alike_changes_nothing(name, classes, monkeypatch):
    sample, y = (X, Y) if classes == 2 else three_classes(60)
    sample, y = np.round(2 * sample[REPEATED]) / 2, y[REPEATED]
    models = [fitted_to(MERGING[name], merged, monkeypatch, sample, y) for merged in (True, False)]
    scores = [model.decision_function(NEW[:, : sample.shape[1]]) for model in models]
    assert_allclose(scores[0], scores[1], atol=1e-3 * np.abs(scores[1]).max())


def test_the_bandwidth_of_fourier_features_is_that_of_the_given_sample():
    repeated = Fourier(X[REPEATED]).sigma
    assert Fourier(X, sample_weight=np.bincount(REPEATED)).sigma == pytest.approx(repeated, rel=1e-12)
    assert repeated != pytest.approx(Fourier(X).sigma, rel=1e-3)
    model = LPBoostClassifier(oracle=noted, tol=0.5, max_columns=5)
    with pytest.warns():
        model.fit(X[REPEATED], Y[REPEATED])
    assert_array_equal(np.sort(SEEN["weights"]), np.sort(np.bincount(REPEATED)))


SEEN = {}


COUNTED = {
    "lpboost": LPBoostClassifier(),
    **{
        f"svm, {solver}": InfiniteEnsembleSVC(C=0.3, tol=1e-8, solver=solver)
        for solver in ("additive", "blockwise", "reference")
    },
    "exponential": RegAdaBoostClassifier(Gaussian(0.3), lam=0.01, tol=1e-8),
    "rho": RhoSVC(Gaussian(0.3), tol=1e-9),
    "rho, reference": RhoSVC(Gaussian(0.3), C=5.0, tol=1e-9, solver="reference"),
    "partial": PartialSVMEnsembleClassifier(Gaussian(0.3), C=5.0),
}


@pytest.mark.parametrize("name", COUNTED)
@settings(max_examples=10)
@given(weights=st.lists(st.integers(0, 3), min_size=40, max_size=40), seed=st.integers(0, 2**32 - 1))
def test_weights_count_samples(name, weights, seed):
    sample, y, weights = X[:40], Y[:40], np.array(weights)
    weights[[np.argmax(y == "no"), np.argmax(y == "yes")]] = 1
    rows = np.random.default_rng(seed).permutation(np.arange(40).repeat(weights))
    repeated = clone(COUNTED[name]).fit(sample[rows], y[rows])
    weighted = clone(COUNTED[name]).fit(sample, y, sample_weight=weights)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal)
    atol = 0 if name == "lpboost" else 2e-3 if "svm" in name else 1e-6
    assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), rtol=0, atol=atol)
    assert not weighted.dual_weights_[weights == 0].any()
    if name == "lpboost":
        u = np.zeros(40)
        np.add.at(u, rows, repeated.dual_weights_)
        assert_allclose(weighted.dual_weights_, u, atol=1e-12)
    else:
        assert_array_equal(weighted.support_vectors_, sample[weighted.support_])


def noted(sample, sample_weight):
    SEEN["weights"] = sample_weight
    return Perceptrons(sample, random_state=0)


@pytest.mark.parametrize("seed", range(31))
def test_rows_are_in_one_order_sparse_or_dense(seed):
    rng = np.random.default_rng(seed)
    n, d = 30, int(rng.integers(1, 6))
    dense = rng.choice([-2.0, -1.0, -0.0, 0.0, 0.0, 0.0, 0.5, 3.0], size=(n, d))
    dtype = rng.choice([np.float64, np.float32, np.int16])
    dense = dense.astype(dtype) * (seed < 30)
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    model = LPBoostClassifier()
    unsorted = csr_array(dense)
    unsorted = csr_array((unsorted.data, unsorted.indices, unsorted.indptr), shape=dense.shape)
    stored = csc_array((dense.T.ravel(), np.tile(np.arange(n), d), np.arange(0, n * d + 1, n)), shape=(n, d))
    merged = [Sample.read(model, kind, y, Accepts(sparse=("csc",))).merge() for kind in (dense, unsorted, stored)]
    for other in merged[1:]:
        assert_array_equal(other.X.toarray(), merged[0].X)
        assert_array_equal(other.places, merged[0].places)
        assert_array_equal(other.labels, merged[0].labels)
        assert_array_equal(other.weights, merged[0].weights)
    kept = merged[0].X + 0.0
    assert_array_equal(np.lexsort((merged[0].labels, *kept.T[::-1])), np.arange(len(kept)))


SPARSE = {
    "lpboost": LPBoostClassifier(),
    "lpboost nu": LPBoostClassifier(nu=0.3),
    "cgens": CGEnsClassifier(C=0.1),
    "adaboost": AdaBoostClassifier(n_rounds=10),
    "coded": AdaBoostMHClassifier(n_rounds=10),
    "multiboost": MultiBoostClassifier(),
}


@pytest.mark.thinned(1, classes=[2, 3], name=SPARSE)
def test_sparse_and_dense_samples_make_one_model(name, classes):
    rng = np.random.default_rng(7)
    sample = np.where(rng.random((120, 8)) < 0.4, rng.normal(size=(120, 8)).round(1), 0.0)
    y = np.digitize(sample[:, 0] + sample[:, 1] + rng.normal(size=120) / 2, [0.0, 0.7][: classes - 1])
    dense = clone(SPARSE[name]).fit(sample, y)
    sparse = clone(SPARSE[name]).fit(csr_array(sample), y)
    assert_allclose(sparse.decision_function(csr_array(sample)), dense.decision_function(sample), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_balanced_classes_have_one_sum_of_weights(seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], size=30, p=[0.6, 0.3, 0.1])
    masses = rng.uniform(0, 3, size=30)
    total = class_factors("balanced", y, masses) * masses
    sums = [total[y == k].sum() for k in np.unique(y)]
    assert_allclose(sums, masses.sum() / len(sums))
    assert_allclose(class_factors("balanced", y, np.ones(30)), compute_sample_weight("balanced", y))
    masses[y == "a"] = 0
    assert_allclose((class_factors("balanced", y, masses) * masses).sum(), masses.sum())


WITH_CLASS_WEIGHT = [name for name in CLASSIFIERS if "class_weight" in PUBLIC[name].get_params()]


@pytest.mark.thinned(1, name=WITH_CLASS_WEIGHT, classes=[2, 3])
def test_balanced_means_the_same_of_weights_and_of_repeated_rows(name, classes):
    sample, y = (X[:40], Y[:40]) if classes == 2 else three_classes(40)
    counts = 1 + np.arange(40) % 3 * (y == y[0])
    model = clone(PUBLIC[name]).set_params(class_weight="balanced")
    if "tol" in model.get_params():
        model.set_params(tol=1e-6)
    weighted = clone(model).fit(sample, y, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(sample, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.decision_function(sample), repeated.decision_function(sample), atol=1e-2)
    factors = class_factors("balanced", y, counts)
    explicit = clone(model).set_params(class_weight=None).fit(sample, y, sample_weight=counts * factors)
    # widths of kernels and the places of additive terms are of the samples as they are weighed, whatever their classes
    by_sample = ("gaussian", "laplacian", "additive")
    if not any(word in str(getattr(model, "kernel", getattr(model, "oracle", ""))) for word in by_sample):
        assert_allclose(weighted.decision_function(sample), explicit.decision_function(sample), atol=0.1)


OPEN = {
    "regions": StumpRegion(2),
    "regions, half open": StumpRegion(2, low=(-50.0,) * X.shape[1]),
    "trees, half open": DecisionTree(0.001, high=(50.0,) * X.shape[1]),
    "stumps, half open": Stump(low=(-50.0,) * X.shape[1]) + 0.5 * Laplacian(1.0),
    "product": Stump() * Stump(),
    "product with a perceptron": Stump() * Perceptron(),
    "sum with a product": Stump() * Stump() + HistogramIntersection(),
}


@pytest.mark.parametrize("name", OPEN)
def test_ranges_that_are_left_open_do_not_matter_to_new_samples(name):
    sample = np.abs(X)
    model = InfiniteEnsembleSVC(OPEN[name], C=0.1).fit(sample, Y)
    low, high = sample.min(axis=0), sample.max(axis=0)
    far = np.vstack([sample * 3, sample + 0.1])
    assert np.isfinite(model.decision_function(far)).all()
    if name in {"regions", "product"}:
        # hypotheses say beyond the last threshold what they say at the end of the range
        assert_allclose(model.decision_function(far), model.decision_function(np.clip(far, low, high)))
    if "half open" in name:
        with pytest.raises(InvalidInput, match="range"):
            model.decision_function(sample + (100.0 if "trees" in name else -100.0))
    inner = InfiniteEnsembleSVC(OPEN[name], C=0.1, solver="blockwise", tol=1e-6).fit(sample, Y)
    assert_allclose(inner.decision_function(far), model.decision_function(far), atol=0.02)


def test_the_mean_of_a_kernel_is_over_samples_and_not_over_their_prices():
    sample, weights = 3.0 * X + 1.0, {"yes": 5.0, "no": 0.2}
    mean = (sample**2).sum(axis=1).mean()
    for estimator in (RhoSVC, PartialSVMEnsembleClassifier):
        default = estimator(linear_kernel, class_weight=weights, C=None).fit(sample, Y)
        explicit = estimator(linear_kernel, class_weight=weights, C=10 / mean).fit(sample, Y)
        assert_allclose(default.decision_function(NEW), explicit.decision_function(NEW), rtol=1e-2, atol=1e-3)
    default = RegAdaBoostClassifier(linear_kernel, class_weight=weights).fit(sample, Y)
    explicit = RegAdaBoostClassifier(linear_kernel, class_weight=weights, lam=3e-4 * mean).fit(sample, Y)
    assert_allclose(default.decision_function(NEW), explicit.decision_function(NEW), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("kernel", ["stump", "perceptron"])
def test_a_machine_has_the_value_of_its_formula_on_any_sample(kernel):
    model = InfiniteEnsembleSVC(kernel, C=0.7, tol=1e-6).fit(X, Y)
    other, y = two_classes(50, random_state=3)
    signs, v = np.where(y == "yes", 1.0, -1.0), model.dual_coef_
    norm = v @ model._kernel.function(model.support_vectors_, model.support_vectors_) @ v
    value = norm / 2 + 0.7 * np.maximum(0, 1 - signs * model.decision_function(other)).sum()
    assert model.certify(other, y).primal == pytest.approx(value, rel=1e-9)
    with pytest.raises(InvalidInput, match="weights: found the sum"):
        model.certify(other, y, weights=v + 0.01)


def test_the_score_of_a_vote_is_its_intercept_and_its_weighted_hypotheses():
    model = CGEnsClassifier(C=0.1).fit(X, np.where(np.arange(len(X)) % 3, Y, "yes"))
    assert abs(model.intercept_) > 1e-3
    scores = model.intercept_ + sum(w * h(NEW) for w, h in zip(model.weights_, model.weak_learners_, strict=True))
    assert_allclose(model.decision_function(NEW), scores, atol=1e-9)
