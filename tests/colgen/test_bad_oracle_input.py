"""What oracles, masters and runs do with what they cannot work with, and with what they merely might not expect."""

import re
from functools import partial
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from brute_force import PlainTable, noisy, refused
from scipy.sparse import csc_array
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.smoothing import Averaged, InOut
from cvxens.colgen import (
    Formulation,
    StopEarly,
    adaboost,
    boosting_steps,
    column_generation,
    find_bands,
    formulations,
    oracles,
    round_bound,
    solve_path,
)
from cvxens.colgen.masters import CvxpyMaster, NewtonMaster
from cvxens.colgen.protocols import Column, Priced
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Hinge, Logistic, SquaredError
from cvxens.problems.pair_losses import PairwiseHinge
from cvxens.problems.penalties import L1, Simplex, SquaredL2
from cvxens.trees import Feature

X = np.random.default_rng(0).normal(size=(8, 2))
Y = np.array([1.0, -1, 1, 1, -1, -1, 1, -1])
EVERY = {
    "Stumps": oracles.Stumps,
    "QuantileStumps": oracles.QuantileStumps,
    "Perceptrons": lambda X: oracles.Perceptrons(X, n_directions=5, random_state=0),
    "Perceptrons, fixed": lambda X: oracles.Perceptrons(X, n_directions=5, resample=False, random_state=0),
    "ParallelPerceptrons": lambda X: oracles.ParallelPerceptrons(X, [[0.6, 0.8]]),
    "Fourier": lambda X: oracles.Fourier(X, pool=5, random_state=0),
    "Fourier, fixed": lambda X: oracles.Fourier(X, pool=5, resample=False, random_state=0),
    "KernelColumns": lambda X: oracles.KernelColumns(rbf_kernel, X),
    "Pool": oracles.Pool,
    "Trees": oracles.Trees,
    "SklearnLearner": lambda X: oracles.SklearnLearner(DecisionTreeClassifier(max_depth=1), X),
}
NUMERIC = [name for name in EVERY if name not in ("Trees", "SklearnLearner")]


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize(
    "s", [np.ones(7), np.ones(9), np.ones((7, 2)), np.ones((8, 1, 1)), 1.0, [np.nan] * 8, [np.inf] * 8, ["a"] * 8, []]
)
def test_weights_that_do_not_fit_are_refused(make, s):
    refused(lambda: make(X).price(s), "s")


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("shape", [(8,), (8, 2)])
def test_weights_of_zero_have_no_edge(make, shape):
    priced = make(X).price(np.zeros(shape))
    assert priced.best_edge == 0
    assert priced.edge_bound in {0.0, np.inf}
    assert all(column.edge == 0 for column in priced.columns)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize(
    "bad",
    [
        *([[value, 1.0], [0.0, 2.0]] for value in (np.nan, np.inf)),
        *([["a", "b"], ["c", "d"]], [[1.0, 2.0], [3.0]], [1.0, 2.0], []),
    ],
    ids=str,
)
def test_samples_that_are_no_finite_matrix_are_refused(name, bad):
    if "Stumps" in name and str(bad) == "[[nan, 1.0], [0.0, 2.0]]":
        # a value is missing: all stumps of that feature and the one that tells missing from known are priced
        assert EVERY[name](bad).price(np.ones(2)).best_edge == 2
        return
    refused(lambda: EVERY[name](bad), ("H" if name == "Pool" else "X"))


@pytest.mark.parametrize("name", [name for name in NUMERIC if name not in ("Pool", "KernelColumns")])
def test_samples_that_are_all_alike_are_refused(name):
    refused(lambda: EVERY[name](np.ones((4, 2))), "X")


GAPPED = [[0.0, 1.0], [np.nan, 2.0], [3.0, 0.0]]
SIDED = np.arange(6.0).reshape(3, 2)
WIDE = np.random.default_rng(1).normal(size=(300, 34))
KINDS = [Feature("a"), Feature("b", ("u", "v", "w"))]
CELLS = [["a", 1.0], ["b", 2.0], ["?", 3.0], ["c", None]]


def costed(X, cost):
    return oracles.Costed(oracles.Stumps(X), cost)


def no_psd(X, Z):
    return X @ Z.T - 100.0


BALLS = partial(oracles.KernelBalls, [rbf_kernel, linear_kernel])
OPTIONS = [
    *((oracles.Stumps, [[0.0], [1.0]], {"columns_per_round": count}) for count in (0, -1, 1.5)),
    *((oracles.Stumps, SIDED, {"signs": signs}) for signs in ([1], [1, 2], [0.5, 1], "up")),
    *((oracles.Stumps, SIDED, {"costs": costs}) for costs in ([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan])),
    (oracles.Stumps, GAPPED, {"missing": "left"}, "missing: found 'left'"),
    (oracles.Stumps, GAPPED, {"levels": "all"}, "levels: found 'all'"),
    (oracles.Stumps, GAPPED, {"features": KINDS[:1]}, "features: found 1 values for 2 features"),
    (
        oracles.Stumps,
        GAPPED,
        {"features": [KINDS[0], Feature("b", ("u",))]},
        "X: found in column 1 what is no code of the 1 levels",
    ),
    (oracles.Stumps, GAPPED, {"signs": [0, 1], "features": KINDS}, "signs: .*give 0 for 'b'"),
    *(
        (oracles.Stumps, nothing, {"missing": missing}, "X: ")
        for nothing in ([[np.nan], [np.nan]], [[np.inf], [np.nan]], [[1.0], [1.0]], csc_array([[np.inf], [1.0]]))
        for missing in ("side", "zero")
    ),
    *((oracles.QuantileStumps, [[0.0], [1.0]], {"n_thresholds": n}) for n in (0, 1.5)),
    (oracles.QuantileStumps, [[0.0], [1.0]], {"columns_per_round": 0}),
    (oracles.Ramps, X, {"curvature": [2, 0]}, "curvature: found"),
    (oracles.Ramps, X, {"signs": [1]}, "signs: found"),
    (oracles.Ramps, np.ones((3, 2)), {}, "X: found all rows alike"),
    (oracles.Boxes, WIDE[:, :4], {"max_length": 0}),
    (
        oracles.Boxes,
        WIDE[:, :4],
        {"n_bins": 256, "max_length": 4},
        "n_bins: found 256 bins of 4 features, .*; give at most 45, or a smaller",
    ),
    (
        oracles.Boxes,
        np.random.default_rng(2).normal(size=(3, 220)),
        {"max_length": 4, "n_bins": 2},
        "max_length: found 4, which makes 96,741,645 lists of 220 features",
    ),
    (
        oracles.DepthThreeTrees,
        WIDE,
        {"n_bins": 256},
        "n_bins: found 256 bins, which make 36,765,696 pairs of bins of 34 features",
    ),
    (oracles.AdditiveTerms, X, {"pair_cost": 0.0}),
    (costed, X, {"cost": lambda _: 1.0}, "least: found none with a function"),
    (costed, X, {"cost": 0.0}, "cost: found 0.0"),
    (oracles.Pool, [[1.0, np.nan]], {}, "H: "),
    *((oracles.Pool, np.eye(2), {"columns_per_round": count}) for count in (0, True, 2.5)),
    (partial(oracles.KernelColumns, np.eye(2)), np.eye(2), {}, "kernel: "),
    (partial(oracles.KernelColumns, RBF()), np.eye(2), {}, "kernel: "),
    (partial(oracles.KernelColumns, lambda X, Z: np.ones((1, 1))), np.eye(2), {}, "kernel: "),
    (partial(oracles.KernelColumns, lambda X, Z: np.full((2, 2), np.nan)), np.eye(2), {}, "kernel: "),
    (partial(oracles.KernelColumns, rbf_kernel), [1.0, 2.0], {}, "X: "),
    (partial(oracles.KernelColumns, rbf_kernel), np.eye(2), {"columns_per_round": 0}),
    *((partial(oracles.KernelBalls, kernels), X, {}, "kernels: ") for kernels in ([], [3], [no_psd])),
    *(
        (make, X, {"weights": weights})
        for make in (BALLS, oracles.FeatureGroups)
        for weights in ([1.0], [1.0, 1.0, 1.0], [0.0, 1.0], [1.0, -1.0])
    ),
    (oracles.FeatureGroups, X, {"entries": -1.0}),
    (oracles.FeatureGroups, csc_array(X), {}, "X: "),
    (oracles.Perceptrons, X, {"refined": -1}),
    (oracles.Perceptrons, X, {"refined": 6, "n_directions": 5}),
    (oracles.Perceptrons, X, {"refined": 1, "resample": False}),
    (oracles.Perceptrons, X, {"epochs": 0}),
    (oracles.Perceptrons, X, {"thresholds": "best"}),
    (oracles.Perceptrons, X, {"columns_per_round": 0}),
    (oracles.Perceptrons, X, {"random_state": -1}),
    (oracles.Fourier, X, {"refine": -1}),
    (oracles.Fourier, X, {"refine": 3, "resample": False}),
    (oracles.Fourier, X, {"columns_per_round": 0}),
    (oracles.Fourier, X, {"random_state": "now"}),
    *((oracles.Trees, CELLS, options) for options in ({"max_depth": 0}, {"min_cases": -1}, {"confidence": 2})),
    *(
        (partial(oracles.SklearnLearner, estimator), np.eye(3), {}, f"estimator: found .*{found}")
        for estimator, found in (
            (KNeighborsClassifier(), "KNeighborsClassifier"),
            (make_pipeline(StandardScaler(), SVC()), "Pipeline"),
            (Ridge(), "Ridge"),
            (SVC, "SVC"),
            ("tree", "tree"),
        )
    ),
]
"""Oracles, samples and options that do not go together, and what is told of them: by default the first option."""


@pytest.mark.parametrize("row", OPTIONS)
def test_options_that_make_no_sense_are_refused_by_name(row):
    make, sample, options, *told = row
    with pytest.raises(InvalidInput, match=f"^{told[0] if told else next(iter(options)) + ': '}"):
        make(sample, **options)


def test_weights_whose_sum_overflows_and_weights_of_no_output_are_refused():
    for s in ([1e308] * 8, np.zeros((8, 0))):
        refused(lambda s=s: oracles.Stumps(X).price(s), "s")


def run(**given):
    usual = {"formulation": formulations.soft_margin(1.0), "oracle": oracles.Stumps(X), "y": Y}
    return column_generation(**{**usual, **given})


SIZES, STUMP = (0, -1, 2.5, True, None), DecisionTreeClassifier(max_depth=1)
REFUSED = {
    "pool": [partial(oracles.Fourier, X, pool=size, resample=new) for size in SIZES for new in (True, False)],
    "n_directions": [
        partial(oracles.Perceptrons, X, n_directions=size, resample=new) for size in SIZES for new in (True, False)
    ],
    "H": [partial(oracles.Pool, np.empty((8, 0)))],
    "hypotheses": [partial(oracles.Pool.of, [], X)],
    "directions": [partial(oracles.ParallelPerceptrons, X, np.empty((0, 2)))],
    "sigma": [partial(oracles.Fourier, X, sigma=sigma) for sigma in (0.0, -1.0, np.nan, np.inf, "wide")],
    "X": [
        *(partial(oracles.Trees, bad) for bad in ([], [[]], [["a"], ["a", "b"]], [[np.inf]], pd.DataFrame({"x": []}))),
        *(partial(oracles.SklearnLearner, STUMP, bad) for bad in (None, 3.0, "X", object())),
    ],
    "oracle": [
        partial(use, oracle)
        for oracle in (None, "stumps", 3, X, oracles.Stumps)
        for use in (lambda o: run(oracle=o), lambda o: adaboost(o, Y))
    ],
    "formulation": [partial(run, formulation=bad) for bad in (None, "soft_margin", 3, formulations.soft_margin, X)],
    **{
        limit: [partial(run, **{limit: bad}) for bad in (0, -1, np.nan, "long", True, [1.0], np.ones(2), 10**400)]
        for limit in ("max_time", "max_columns", "max_rounds", "patience", "tol")
    },
}


@pytest.mark.parametrize("argument", REFUSED)
def test_what_cannot_be_used_is_refused_by_its_name(argument):
    for build in REFUSED[argument]:
        refused(build, argument)


T, TWO = X[:, 0], np.array([1.0, -1.0])
STUMPS, SOFT, NOISY = oracles.Stumps(X), formulations.soft_margin(1.0), noisy(20, 2, 3)[0]
L1_HINGE = Formulation(Hinge(1.0), L1())


def bands(formulation=SOFT, make=oracles.Stumps, **changes):
    return find_bands(formulation, make, *noisy(14, 2, 0), **changes)


def path(formulate=formulations.svm, prices=(0.1, 1.0), oracle=STUMPS, **options):
    return solve_path(formulate, oracle, Y, prices=prices, **options)


def restricted(formulation, labels=Y, **given):
    return column_generation(formulation, STUMPS, labels, **given)


SHORT = SimpleNamespace(sample=X, price=lambda s, exclude=(): Priced([Column(lambda X: np.ones(7), X, 9.0)]))
SENTENCES = [
    (lambda: column_generation(formulations.soft_margin(1.0), SHORT, Y), r"oracle: found .* of shape \(7,\) for 8"),
    # boosting
    (lambda: adaboost(oracles.Pool(2.0 * X), Y), "oracle"),
    (lambda: adaboost(STUMPS, np.ones(8)), "y"),
    (lambda: adaboost(STUMPS, Y, n_rounds=0), "n_rounds"),
    *((lambda nu=nu: round_bound(10, nu), "nu") for nu in (1.0, 0.0, -1.0)),
    *(
        (lambda prior=prior: next(boosting_steps(STUMPS, Y, prior=prior)), "prior")
        for prior in ([0.0, *[1.0] * 7], [1.0], np.full(8, np.nan), [[1.0]] * 8)
    ),
    # formulations
    (lambda: formulations.worst_share(0.0, 9), "nu: found 0.0; give a share"),
    (lambda: formulations.cox([1.0, 2.0], [0, 0]), "events: found none"),
    (lambda: formulations.cox([1.0, 2.0], [1]), "events: found 1 rows for 2 samples"),
    (lambda: formulations.quantile(T, 2.0), "q: found 2.0"),
    *((lambda eta=eta: formulations.erlpboost(0.2, eta), "eta: found") for eta in (0.0, np.inf)),
    (lambda: formulations.erlpboost(0.0, 1.0), "D: found"),
    (lambda: restricted(formulations.erlpboost(0.5 / 8, 1.0)), "D: .*or the problem is unbounded"),
    (lambda: Formulation(Hinge, L1()), r"loss: found the class Hinge; give an object of it, made by Hinge\(\.\.\.\)$"),
    (lambda: Formulation(Hinge(1.0), L1), "penalty: found the class L1; give an object of it"),
    *(
        (lambda parts=parts: restricted(Formulation(*parts), master=CvxpyMaster), found)
        for parts, found in (
            ((lambda z: -cp.sum_squares(z), L1()), r"loss: found an expression of shape \(\) and curvature CONCAVE"),
            ((lambda z: cp.sum(cp.sqrt(cp.abs(z))), L1()), "loss: found .* curvature UNKNOWN"),
            ((lambda z: cp.logistic(-z), L1()), r"loss: found an expression of shape \(8,\)"),
            ((Hinge(1.0), lambda w: cp.sum(cp.sqrt(w))), "penalty: found .* curvature CONCAVE.*convex scalar"),
            ((None, L1()), "loss: found None"),
            ((Hinge(1.0), 3.0), "penalty: found 3.0"),
            ((Hinge(1.0), Simplex()), "nonnegative: found False with Simplex; give nonnegative=True"),
        )
    ),
    *(
        (
            lambda loss=loss, outputs=outputs, labels=labels: restricted(
                Formulation(loss, SquaredL2(), outputs=outputs), labels
            ),
            f"outputs: found {outputs} with a loss that does not hold so many targets",
        )
        for loss, outputs, labels in (
            (Hinge(1.0), 2, None),
            (SquaredError(1.0, Y[:, None]), None, Y),
            (SquaredError(1.0, Y[:, None]), 2, None),
            (SquaredError(1.0, Y), 1, None),
        )
    ),
    (lambda: PairwiseHinge([1, -1, 1], C=np.array([1.0, 2.0])), r"C: found shape \(2,\) for 1 groups"),
    (lambda: PairwiseHinge([1, -1, 1], groups=[0, 1]), "groups: found 2 rows for 3 samples"),
    (lambda: restricted(Formulation(PairwiseHinge(Y), L1(), intercept=True), None), "intercept: found True with P"),
    (lambda: PairwiseHinge(np.repeat([1, -1], 1001)).model(cp.Variable(2002)), "y: found 1,002,001 pairs for a model"),
    # masters and what follows runs
    (lambda: NewtonMaster(Formulation(Logistic(1.0), L1()), TWO, tol=-1), "tol: found -1"),
    (lambda: NewtonMaster(formulations.svm(1.0), TWO, tol=0), "tol: found 0"),
    (lambda: NewtonMaster(L1_HINGE, TWO), r"master: found NewtonMaster for Hinge \+ L1"),
    *(
        (lambda share=share: NewtonMaster(formulations.svm(1.0), Y, share=share), "share: found")
        for share in (-0.1, 1.0, np.nan, "a")
    ),
    *(
        (lambda rule=rule, share=share: rule(share), re.escape(f"share: found {share!r}"))
        for rule in (InOut, Averaged)
        for share in (-0.1, 1.0, np.inf, np.nan, "a", None)
    ),
    (lambda: StopEarly(X, np.mean, n_iter_no_change=0), "n_iter_no_change: "),
    (lambda: StopEarly(X, 3), "loss: "),
    (lambda: restricted(SOFT, callback=StopEarly(X, lambda f: np.nan)), "loss: found nan in round"),
    *((lambda name=name: restricted(SOFT, **{name: 3}), f"{name}: ") for name in ("checkpoint", "callback", "master")),
    # bands and paths
    (lambda: bands(Formulation(Hinge(1.0), SquaredL2(), intercept=True)), ".*penalty"),
    (lambda: bands(make=oracles.DepthTwoTrees), "make_oracle"),
    (lambda: bands(features=[5]), "features"),
    (lambda: bands(points={0: [1.0]}, features=[1]), "points"),
    (lambda: bands(within=0.0), "within"),
    (lambda: bands(Formulation(lambda z: cp.sum(cp.pos(1 - z)), L1())), "formulation"),
    (lambda: bands(make=partial(oracles.SklearnLearner, STUMP)), ".*oracle"),
    (lambda: path(lambda t: Formulation(Logistic(t**2), L1())), ".*not linear in the price"),
    (lambda: path(lambda t: t), ".*found 0.1"),
    (lambda: path(SOFT), "formulate: found"),
    *(
        (lambda prices=prices: path(prices=prices), "prices")
        for prices in ((1.0, 0.1), (0.0, 1.0), (1.0, 1.0), (1.0, np.inf), 0.1, (1.0,), None)
    ),
    (lambda: path(oracle=oracles.SklearnLearner(STUMP, X)), r".*nothing is proven at the price 0\.1"),
    *(
        (lambda ask=ask: getattr(path(tol=0.1), ask)(2.0), r".*stay within the path's, from 0\.1 to 1")
        for ask in ("bounds", "at")
    ),
    # unions, rows and costs
    *(
        (lambda of=of: oracles.Union(STUMPS, of), "oracles: found two of other samples")
        for of in (oracles.Stumps(X + 1), oracles.Stumps(csc_array(X)))
    ),
    (oracles.Union, "oracles: found none"),
    (lambda: oracles.Union(STUMPS, oracles.Pool(X), oracles.Pool(2 * X)), "oracles: found two tables"),
    (lambda: oracles.Union(STUMPS, oracles.Pool(X[1:])), "table: found 7 rows for 8 samples"),
    *(
        (lambda D=D: oracles.Rows(STUMPS, D), "D: found")
        for D in (np.ones((3, 5)), np.ones((0, 8)), csc_array(np.full((2, 8), np.inf)))
    ),
    (
        lambda: oracles.Rows(PlainTable(NOISY), np.eye(20)).price(NOISY[:, 0]),
        "oracle: found PlainTable, which does not bound",
    ),
    (lambda: oracles.Costed(STUMPS, lambda h: 1.0, least=2.0).price(Y), "least: found 2, while .* costs 1"),
    (lambda: oracles.Costed(STUMPS, lambda h: -1.0, least=2.0).price(Y), "cost: found -1.0"),
]
"""Calls that are refused, and how the sentence begins that says so."""


@pytest.mark.parametrize(("call", "sentence"), SENTENCES)
def test_what_cannot_be_worked_with_is_named_in_one_sentence(call, sentence):
    assert re.match(sentence, str(refused(call)))


TABLE = pd.DataFrame(
    {"kind": ["a", "b", "a", "b", "c", "c", "a", "b"], "nothing": [None] * 8, "size": [1.0, 2, 3, np.nan, 5, 6, 7, 8]}
)


def test_a_column_of_missing_values_is_never_used():
    found = run(oracle=oracles.Trees(TABLE, min_cases=1), max_columns=5)
    assert found.columns
    assert all("nothing" not in str(column.hypothesis) for column in found.columns)
    without = oracles.Trees(TABLE.drop(columns="nothing"), min_cases=1).price(Y).columns[0]
    np.testing.assert_array_equal(oracles.Trees(TABLE, min_cases=1).price(Y).columns[0].values, without.values)


def test_a_table_of_missing_values_only_is_answered_by_the_heavier_class():
    (column,) = oracles.Trees([[None, "?"]] * 3).price(np.array([1.0, -2.0, 3.0])).columns
    np.testing.assert_array_equal(column.values, np.ones(3))
    assert column.edge == 2.0


def test_an_unseen_category_counts_as_missing():
    found = run(oracle=oracles.Trees(TABLE, min_cases=1), max_columns=5)
    new = pd.DataFrame({"kind": ["never seen"], "nothing": [3.0], "size": [4.0]})
    missing = pd.DataFrame({"kind": [None], "nothing": [None], "size": [4.0]})
    np.testing.assert_array_equal(found.decision_function(new), found.decision_function(missing))
