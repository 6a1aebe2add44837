"""Every oracle serves every kind of formulation: an l1 penalty, an l2 penalty, and several outputs."""

from functools import cache, partial
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from brute_force import assert_optimum, dichotomies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen import Ending, column_generation, formulations, oracles
from cvxens.hypotheses import negate
from cvxens.problems import SLSSVM, SoftMarginBoosting, SVMPrimal, simplex_codes
from cvxens.trees import Table

KERNEL = partial(rbf_kernel, gamma=0.5)
DIRECTIONS = np.array([[0.6, 0.8], [0.8, -0.6], [0.0, 1.0]])
EXACT = {
    "Stumps": lambda X, limit=3: oracles.Stumps(X, columns_per_round=limit),
    "QuantileStumps": lambda X, limit=3: oracles.QuantileStumps(X, n_thresholds=9, columns_per_round=limit),
    "QuantileStumps, sparse": lambda X, limit=3: oracles.QuantileStumps(
        csc_array(X), n_thresholds=9, columns_per_round=limit
    ),
    "ParallelPerceptrons": lambda X, limit=100: oracles.ParallelPerceptrons(X, DIRECTIONS, columns_per_round=limit),
    "Perceptrons": lambda X, limit=100: oracles.Perceptrons(
        X, n_directions=4, resample=False, random_state=0, columns_per_round=limit
    ),
    "Fourier": lambda X, limit=3: oracles.Fourier(X, pool=25, resample=False, columns_per_round=limit, random_state=0),
    "KernelColumns": lambda X, limit=3: oracles.KernelColumns(KERNEL, X, columns_per_round=limit),
    "Pool": lambda X, limit=3: oracles.Pool(np.column_stack([X, X**2, X[:, 0] * X[:, 1]]), columns_per_round=limit),
}
HEURISTIC = {
    "Perceptrons": lambda X: oracles.Perceptrons(
        X, n_directions=20, refined=1, epochs=10, columns_per_round=3, random_state=0
    ),
    "Fourier": lambda X: oracles.Fourier(X, pool=50, refine=3, columns_per_round=3, random_state=0),
    "Trees": lambda X: oracles.Trees(X, max_depth=2),
    "SklearnLearner": lambda X: oracles.SklearnLearner(DecisionTreeClassifier(max_depth=2), X, random_state=0),
}
FORMULATIONS = {"P4": formulations.soft_margin(0.3), "CGEns": formulations.svm(0.3)}
ORACLES = [
    *(pytest.param(make, True, id=f"exact {name}") for name, make in EXACT.items()),
    *(pytest.param(make, False, id=f"heuristic {name}") for name, make in HEURISTIC.items()),
]


@cache
def sample() -> tuple[np.ndarray, np.ndarray]:
    """Noisy points in the plane, of which some coincide, and their classes 0, 1 and 2."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(36, 2)), 1)
    X[3], X[4] = X[2], X[5]
    labels = (X[:, 0] + 0.6 * rng.normal(size=36) > 0).astype(int) + (X @ [1.0, -1.0] > 0.7)
    return X, labels


def solve(formulation: str, make, **limits):
    """Run one formulation over one oracle."""
    X, labels = sample()
    if formulation == "SLS":
        return column_generation(formulations.simplex_least_squares(simplex_codes(3)[labels], 0.5), make(X), **limits)
    return column_generation(FORMULATIONS[formulation], make(X), np.where(labels > 0, 1.0, -1.0), **limits)


@pytest.mark.thinned(1, formulation=["P4", "CGEns", "SLS"])
@pytest.mark.parametrize(("make", "exact"), ORACLES)
def test_the_objective_falls_the_same_way_by_a_seed_and_only_a_bound_on_the_edge_is_a_proof(formulation, make, exact):
    run, again = (solve(formulation, make, max_columns=10) for _ in range(2))
    assert [str(column.hypothesis) for column in run.columns] == [str(column.hypothesis) for column in again.columns]
    np.testing.assert_array_equal([c.values for c in run.columns], [c.values for c in again.columns])
    np.testing.assert_array_equal(run.weights, again.weights)
    assert run.certificate.dual == again.certificate.dual
    objectives = [row.objective for row in run.history]
    assert all(after <= before + 1e-8 * before for before, after in pairwise(objectives))
    assert objectives[-1] < objectives[0]
    assert run.certificate.primal == objectives[-1]
    assert run.certificate.proven == exact
    assert ("cannot bound" in run.certificate.note) != exact
    assert run.decision_function(run.columns[0].sample).shape == ((36, 2) if formulation == "SLS" else (36,))


def list_columns(name: str, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values of all hypotheses of an exact oracle on a sample, and groups of them of which the best one is told."""
    s, every = np.ones(len(X)), len(X) * 50
    if name in {"Stumps", "ParallelPerceptrons", "Perceptrons"}:
        columns = EXACT["Perceptrons"](X).price(s).columns
        drawn = [c.hypothesis.theta for c in columns if hasattr(c.hypothesis, "theta")]
        directions = {"Stumps": np.eye(X.shape[1]), "ParallelPerceptrons": DIRECTIONS, "Perceptrons": drawn}[name]
        parts = [dichotomies(X, [theta]) for theta in np.asarray(directions)]
        parts += [] if name == "ParallelPerceptrons" else [s[:, None]]
        return np.hstack(parts), np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    if name == "KernelColumns":
        H = KERNEL(X, np.unique(X, axis=0))
    else:
        # functions of the sample, of either sign
        H = np.column_stack([column.values for column in EXACT[name](X, every).price(s).columns])
    return H, np.arange(H.shape[1])


def measure(edges, order):
    """The norm of the edges of a hypothesis over the outputs; the largest of either sign where it is infinite."""
    return np.linalg.norm(edges, order, axis=-1)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    outputs=st.integers(1, 3),
    limit=st.integers(1, 30),
    order=st.sampled_from([np.inf, 1.0, 2.0]),
)
def test_answers_and_bounds_are_those_of_a_list_of_all(name, seed, outputs, limit, order):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (12, 2)).astype(float)
    X[0], X[1], s = 0.0, 1.0, rng.integers(-8, 9, (12, outputs)).astype(float)
    H, groups = list_columns(name, X)
    edges, slack = H.T @ s, 1e-12 * (1 + np.abs(s).sum())
    sizes, oracle = measure(edges, order), EXACT[name](X, limit)
    norm = {} if order == np.inf else {"row_norm": order}
    priced = oracle.price(s, **norm)
    assert sizes.max() * (1 - 1e-14) <= priced.edge_bound <= sizes.max() * (1 + 1e-10) + slack
    assert priced.edge_square_sum == pytest.approx((edges**2).sum(), rel=1e-10, abs=100 * slack)
    best = sorted((sizes[groups == group].max() for group in np.unique(groups)), reverse=True)
    np.testing.assert_allclose([column.edge for column in priced.columns], best[:limit], atol=slack)
    for column in priced.columns:
        own = s.T @ column.values
        assert column.edge == pytest.approx(own.max() if order == np.inf else measure(own, order), abs=slack)
    taken = [column.hypothesis for column in priced.columns]
    rest = oracle.price(s, taken, **norm)
    assert (rest.edge_bound, rest.edge_square_sum) == (priced.edge_bound, priced.edge_square_sum)
    assert rest.outside_bound <= sizes.max() * (1 + 1e-10) + slack
    assert {h for column in rest.columns for h in (column.hypothesis, negate(column.hypothesis))}.isdisjoint(taken)


def test_thresholds_of_quantile_stumps_are_at_quantiles():
    *stumps, _ = oracles.QuantileStumps(np.arange(1000.0)[:, None], n_thresholds=9).hypotheses
    np.testing.assert_allclose([stump.threshold for stump in stumps], np.arange(100, 1000, 100), atol=1)


@pytest.mark.thinned(1, formulation=["P4", "CGEns", "SLS"], name=EXACT)
def test_a_finite_set_is_solved_to_the_optimum_of_the_dense_problem(formulation, name):
    _, labels = sample()
    H, y = list_columns(name, sample()[0])[0], np.where(labels > 0, 1.0, -1.0)
    dense = {
        "P4": lambda: SoftMarginBoosting(np.hstack([H, -H]), y, 0.3),
        "CGEns": lambda: SVMPrimal(H, y, 0.3),
        "SLS": lambda: SLSSVM(H, simplex_codes(3)[labels], 0.5),
    }[formulation]()
    run = solve(formulation, EXACT[name], tol=1e-7)
    assert run.ending is Ending.OPTIMAL
    assert_optimum(run, dense.solve().objective, gap=1e-7)


CELLS = {
    "size": [1.5, None, 3.0, 0.5, 2.5, None, 1.0, 3.5, 0.0, 2.0],
    "kind": ["a", "b", None, "a", "b", "c", "c", None, "a", "b"],
    "count": [1, 2, None, 4, 5, 1, 2, 3, None, 5],
}
LABELS = np.array([-1.0, 1, 1, -1, 1, -1, -1, 1, -1, 1])
FRAME = pd.DataFrame(CELLS)
TABLES = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.DataFrame(CELLS),
    "texts": lambda: Table.read(FRAME.astype(str).where(FRAME.notna(), "?")),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("formulation", [formulations.soft_margin(0.5), formulations.svm(0.5)], ids=["P4", "CGEns"])
def test_a_table_with_gaps_goes_from_training_to_new_rows(formulation, make):
    run = column_generation(formulation, oracles.Trees(make(), min_cases=1), LABELS, max_columns=5)
    assert run.history[-1].objective < run.history[0].objective
    scores = run.decision_function(make())
    np.testing.assert_allclose(scores, np.column_stack([c.values for c in run.columns]) @ run.weights + run.intercept)
    assert (np.sign(scores) == LABELS).mean() >= 0.8
    new = {"count": [None, 3], "kind": ["never seen", "b"], "size": [3.2, None], "other": [1, 2]}
    expected = column_generation(
        formulation, oracles.Trees(TABLES["texts"](), min_cases=1), LABELS, max_columns=5
    ).decision_function(pd.DataFrame(new))
    np.testing.assert_array_equal(run.decision_function(pd.DataFrame(new)), expected)
    np.testing.assert_array_equal(run.decision_function(pl.DataFrame(new)), expected)
