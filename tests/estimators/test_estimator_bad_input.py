"""What single estimators refuse, beyond the table of bad inputs for all of them."""

from contextlib import suppress

import cvxpy as cp
import numpy as np
import pytest
from estimator_samples import called, two_classes
from public_estimators import PUBLIC
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from cvxens import (
    AdaBoostClassifier,
    AdditiveClassifier,
    AdditiveRegressor,
    CGEnsClassifier,
    ColumnGenerationClassifier,
    ColumnGenerationRegressor,
    FeatureBudget,
    InfiniteEnsembleSVC,
    InfiniteEnsembleSVR,
    LPBoostClassifier,
    LPBoostRanker,
    LPBoostRegressor,
    PartialSVMEnsembleClassifier,
    PriceSearchCV,
    RegAdaBoostClassifier,
    RhoSVC,
    SupervisedKernelRLSClassifier,
)
from cvxens.colgen import Formulation, formulations, oracles
from cvxens.errors import CvxensError, InvalidInput
from cvxens.kernels import Gaussian, HistogramIntersection, Linear, Stump
from cvxens.problems.penalties import L1

X, Y = two_classes()

WEIGHTS = np.arange(len(X))


def search(estimator=None, **parameters):
    """A search over an additive model, or over what is given."""
    return PriceSearchCV(estimator or AdditiveClassifier(oracle="stumps"), **parameters)


PEERS = RegAdaBoostClassifier(), RhoSVC(), PartialSVMEnsembleClassifier()
COMBINATIONS = [
    *((LPBoostClassifier(nu=nu, C=1.0), "nu") for nu in (0.5, "auto")),
    (LPBoostClassifier(nu="best"), "nu"),
    (RhoSVC(solver="reference", max_time=9.0), "max_time: found 9.0, .* give solver='fast'"),
    (RegAdaBoostClassifier(max_rounds=9), "max_rounds: .* give solver='boosting'"),
    (InfiniteEnsembleSVC(solver="additive", cache_size=9.0), "cache_size: .* give solver='auto' or 'blockwise'"),
    (AdditiveClassifier(oracle="stumps", pairs=True), "pairs: found True for the oracle 'stumps'"),
    (search(average=True, one_standard_error=True), "average: .* give one_standard_error=False"),
    (search(InfiniteEnsembleSVC(), average=True), "average: found True for InfiniteEnsembleSVC"),
    (ColumnGenerationClassifier(formulations.simplex_least_squares([[1.0], [-1.0]] * 20, 1.0)), "formulation"),
    (
        ColumnGenerationClassifier(formulations.soft_margin(0.5)),
        "formulation.*function from the weights",
        1.0 + WEIGHTS,
    ),
    (LPBoostClassifier(oracle=oracles.Trees, columns_per_round=3), "columns_per_round"),
    (AdaBoostClassifier(nu=1.0), "nu"),
    (InfiniteEnsembleSVC(C=None), "C"),
    (InfiniteEnsembleSVC("gaussian", gamma="scale"), "gamma"),
    (InfiniteEnsembleSVC("decision-tree", gamma=1e9), "gamma"),
    *((InfiniteEnsembleSVC(kernel, gamma=1.0), "gamma") for kernel in ("stump", Gaussian(1.0))),
    *(
        (InfiniteEnsembleSVC(kernel), "kernel|X|low|C")
        for kernel in (
            *(Stump(low=(0.0,) * 3, high=(1.0,) * 3), HistogramIntersection(), "precomputed"),
            *(lambda X, Z: -X @ Z.T, lambda X, Z: np.ones((2, 2)), lambda X, Z: np.full((len(X), len(Z)), np.nan)),
        )
    ),
    (InfiniteEnsembleSVC("perceptron", solver="additive"), "solver"),
    (InfiniteEnsembleSVC("precomputed", solver="additive"), "solver|X"),
    (InfiniteEnsembleSVC(random_state="seed", solver="additive"), "random_state"),
    (RegAdaBoostClassifier(solver="boosting"), "sample_weight", 1 + WEIGHTS),
    *(
        (clone(peer).set_params(**{name: bad}), name)
        for peer in PEERS
        for name, bad in (("gamma", 1.0), ("max_rank", 0))
    ),
    (PartialSVMEnsembleClassifier(epsilon=0.0), "epsilon"),
    (RhoSVC("gaussian", gamma=-1.0), "gamma"),
    (RhoSVC(lambda A, B: -(np.asarray(A) @ np.asarray(B).T)), "kernel"),
    (search(AdditiveClassifier(C="best")), "C"),
    (search(AdditiveClassifier(pairs="few")), "pairs"),
    *((search(other), "estimator") for other in (SVC(), InfiniteEnsembleSVC, AdaBoostClassifier())),
    (search(ColumnGenerationClassifier(), prices=[1.0]), "estimator"),
    (search(LPBoostClassifier(constraints=[FeatureBudget(1.0)])), "constraints"),
    (search(InfiniteEnsembleSVC(), param_grid={"gamma": [1.0]}), "gamma"),
    (search(InfiniteEnsembleSVC("gaussian"), param_grid={"gamma": [-1.0]}), "gamma"),
    (search(param_grid={"width": [-1.0]}), "param_grid"),
    (search(param_grid=[1]), "param_grid"),
    (search(cv=[(np.flatnonzero(Y == "no"), [2])]), "cv"),
]
"""What depends on other parameters, or on the sample; values that nobody takes are in `bad_inputs.PARAMETERS`."""

REGRESSIONS = [
    (LPBoostRegressor("quantile", quantile=[0.5, 0.2]), "quantile"),
    *((LPBoostRegressor(loss, quantile=0.9), "quantile: .* give loss='quantile'") for loss in ("absolute", "huber")),
    *((AdditiveRegressor("gamma", **{name: 1.2}), f"{name}: .* loss='gamma'") for name in ("delta", "power")),
    (LPBoostRegressor("quantile", epsilon=0.9), "epsilon: .* give loss='epsilon_insensitive'"),
    (search(AdditiveRegressor(), param_grid={"quantile": [0.5, 0.9]}), "quantile: found 0.9"),
    (ColumnGenerationRegressor(Formulation(cp.norm1, L1(), scores=True)), "formulation"),
    (ColumnGenerationRegressor(lambda X, t, s: Formulation(cp.norm1, L1())), "formulation"),
    (InfiniteEnsembleSVR("precomputed"), "kernel"),
    (LPBoostRanker(C="auto"), "C: .*GridSearchCV"),
]

MACHINES = SupervisedKernelRLSClassifier(RandomForestClassifier(5, random_state=0), n_experts=3, random_state=0)

DENSE = [name for name in PUBLIC if not PUBLIC[name].__sklearn_tags__().input_tags.sparse]


def assert_refused(estimator, y, words, weights=None):
    with pytest.raises(InvalidInput, match=f"^({words})"):
        estimator.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    assert not hasattr(estimator, "n_features_in_")


@pytest.mark.parametrize("row", COMBINATIONS)
def test_parameters_that_do_not_go_together(row):
    estimator, *told = row
    for y in (Y, np.where(X[:, 0] > 1, "perhaps", Y)):
        assert_refused(clone(estimator), y, *told)


@pytest.mark.parametrize(("estimator", "words"), REGRESSIONS)
def test_parameters_that_do_not_go_with_numbers(estimator, words):
    assert_refused(clone(estimator), X[:, 0], words)


def test_what_a_matrix_does_not_go_with():
    with pytest.raises(InvalidInput, match="rows and columns"):
        InfiniteEnsembleSVC("precomputed").fit(X @ X.T, Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize("name", DENSE)
def test_sparse_samples_for_dense_methods(name):
    with pytest.raises(TypeError, match="dense"):
        clone(PUBLIC[name]).fit(csr_array(X), np.arange(len(X)) % 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1.0]}, "weights: found shape"),
        ({"weights": [np.nan]}, "weights"),
        ({"y": np.full(len(X), "yes")}, "y"),
        ({"y": np.where(Y == "yes", "yes", "perhaps")}, "y: found the classes"),
        ({"X": X[:, :2]}, "2 features"),
    ],
)
@pytest.mark.parametrize(
    "estimator", [LPBoostClassifier(), AdaBoostClassifier(n_rounds=5), RhoSVC(), MACHINES], ids=called
)
def test_bad_certification(estimator, arguments, message):
    model = clone(estimator).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.certify(**{"X": X, "y": Y, **arguments})


@pytest.mark.parametrize("wrong", [{"sample_weight": WEIGHTS}, {"intercept": 1.0}])
def test_members_are_certified_without_weights_and_intercepts(wrong):
    with pytest.raises(InvalidInput, match=f"^{next(iter(wrong))}: found"):
        clone(MACHINES).fit(X, Y).certify(X, Y, **wrong)


FAR_OUT = {
    "a hard margin": RhoSVC(C=1e300),
    "products that overflow": CGEnsClassifier(C=1e300, max_time=1),
    "blocks that overflow": InfiniteEnsembleSVC("perceptron", C=1e300),
    "a kernel that overflows": InfiniteEnsembleSVC(Linear(np.eye(3)), C=1.0),
    "squares that overflow": RegAdaBoostClassifier(Linear(np.eye(3))),
}


@pytest.mark.thinned(1)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.product(case=FAR_OUT, factor=[1.0, 1e-300, 1e200])
def test_numbers_far_out_end_in_a_model_or_in_an_error_of_ours(case, factor):
    X, y = two_classes()
    model = clone(FAR_OUT[case])
    with suppress(CvxensError):
        model.fit(factor * X, y)
    if hasattr(model, "classes_"):
        assert set(model.predict(factor * X)) <= set(y)
    else:
        with pytest.raises(CvxensError, match=";"):
            model.fit(factor * X, y)
