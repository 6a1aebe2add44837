"""What every oracle does with input that it cannot work with, and with what it merely might not expect."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen import adaboost, adaboost_star, column_generation, formulations, oracles
from cvxens.errors import InvalidInput

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


def refused(build):
    """The argument that the error names, beside something found and a remedy."""
    with pytest.raises(InvalidInput) as caught:
        build()
    assert caught.value.found
    assert caught.value.remedy
    return caught.value.argument


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize(
    "s", [np.ones(7), np.ones(9), np.ones((7, 2)), np.ones((8, 1, 1)), 1.0, [np.nan] * 8, [np.inf] * 8, ["a"] * 8, []]
)
def test_weights_that_do_not_fit_are_refused(make, s):
    assert refused(lambda: make(X).price(s)) == "s"


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
    assert refused(lambda: EVERY[name](bad)) == ("H" if name == "Pool" else "X")


@pytest.mark.parametrize("name", [name for name in NUMERIC if name not in ("Pool", "KernelColumns")])
def test_samples_that_are_all_alike_are_refused(name):
    assert refused(lambda: EVERY[name](np.ones((4, 2)))) == "X"


def run(**given):
    return column_generation(
        **{"formulation": formulations.soft_margin(1.0), "oracle": oracles.Stumps(X), "y": Y, **given}
    )


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
        for use in (lambda o: run(oracle=o), lambda o: adaboost(o, Y), lambda o: adaboost_star(o, Y, 0.1))
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
        assert refused(build) == argument


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
