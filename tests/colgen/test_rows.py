"""Losses of pairs and bags of samples: hypotheses on linear combinations of rows, against enumerations in cvxpy."""

import numpy as np
import pytest
from brute_force import all_stumps, assert_over_all, noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import random_array

from cvxens.colgen import Checkpoint, Ending, Formulation, column_generation, oracles
from cvxens.hypotheses import Stump
from cvxens.problems.losses import Hinge, Logistic, SquaredHinge
from cvxens.problems.penalties import L1, SquaredL2


def pairs_of(grades, rng):
    """Pairs of samples of different grades, in either order, and which one is above."""
    first, second = np.triu_indices(len(grades), 1)
    swapped = rng.random(len(first)) < 0.5
    first, second = np.where(swapped, second, first), np.where(swapped, first, second)
    kept = grades[first] != grades[second]
    first, second = first[kept], second[kept]
    return first, second, np.sign(grades[first] - grades[second]).astype(float)


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [(Hinge(0.1), L1()), (SquaredHinge(0.1), L1()), (Logistic(0.1), L1(0.5)), (Hinge(0.1), SquaredL2())],
    ids=["hinge", "squared hinge", "logistic", "ranking machine"],
)
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_ranking_by_pairs_reaches_the_optimum_over_all_stumps(seed, loss, penalty):
    X, _ = noisy(16, 2, seed)
    rng = np.random.default_rng(seed)
    first, second, y = pairs_of(rng.integers(0, 3, 16) + (X[:, 0] > 4), rng)
    oracle = oracles.Rows(oracles.Stumps(X, constant=False), np.eye(16)[first] - np.eye(16)[second])
    H = all_stumps(X)[:, :-1]
    run = assert_over_all(Formulation(loss, penalty), oracle, y, H=H[first] - H[second], rel=3e-6, gap=3e-6)
    assert run.ending is Ending.OPTIMAL
    f = run.decision_function(X)
    margins = y * (f[first] - f[second])
    assert loss.value(margins) + penalty.value(run.weights) == pytest.approx(run.certificate.primal, rel=1e-9)


@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_bags_of_samples_with_an_intercept(seed):
    X, _ = noisy(40, 2, seed)
    groups = np.arange(40) % 12
    _, sizes = np.unique(groups, return_counts=True)
    oracle = oracles.Rows(oracles.Stumps(X), (np.arange(12)[:, None] == groups) / sizes[:, None])
    y = np.where(np.random.default_rng(seed).random(12) < 0.5, -1.0, 1.0)
    y[:2] = 1.0, -1.0
    M = np.stack([all_stumps(X)[groups == g].mean(axis=0) for g in range(12)])
    assert_over_all(Formulation(Hinge(0.8), L1(0.2), intercept=True), oracle, y, H=M, rel=2e-6)


@given(seed=st.integers(0, 10**6), outputs=st.integers(1, 2), row_norm=st.sampled_from([1.0, 2.0, np.inf]))
def test_the_bounds_hold_for_the_combined_columns(seed, outputs, row_norm):
    rng = np.random.default_rng(seed)
    X, _ = noisy(12, 2, seed)
    D = random_array((20, 12), density=0.4, rng=rng, data_sampler=lambda size: rng.normal(size=size))
    s = rng.normal(size=(20, outputs)) * 10.0 ** rng.integers(-6, 6, (20, 1))
    priced = oracles.Rows(oracles.Stumps(X), D).price(s, row_norm=row_norm)
    M = (D.toarray().astype(np.longdouble) @ all_stumps(X)).astype(np.longdouble)
    edges = M.T @ s.astype(np.longdouble)
    slack = 1e-12 * (np.abs(D).T @ np.abs(s)).sum()
    sizes = np.abs(edges)
    sizes = sizes.max(axis=1) if row_norm == np.inf else (sizes**row_norm).sum(axis=1) ** (1 / row_norm)
    assert sizes.max() <= priced.edge_bound <= sizes.max() + slack
    squares = (edges**2).sum()
    assert squares <= priced.edge_square_sum <= squares + 1e13 * slack**2
    for column in priced.columns:
        np.testing.assert_array_equal(column.values, D @ column.hypothesis(X))


def test_rows_go_with_starts_checkpoints_and_other_oracles(tmp_path):
    X, _ = noisy(14, 2, 5)
    rng = np.random.default_rng(5)
    first, second, y = pairs_of(rng.integers(0, 3, 14), rng)

    def oracle():
        D = np.eye(14)[first] - np.eye(14)[second]
        return oracles.Rows(oracles.Union(oracles.Stumps(X, constant=False), oracles.Pool(X)), D)

    formulation = Formulation(Hinge(0.2), L1())
    run = column_generation(formulation, oracle(), y)
    again = column_generation(formulation, oracle(), y, start=[c.hypothesis for c in run.columns])
    assert len(again.history) <= 2
    assert again.certificate.primal == pytest.approx(run.certificate.primal)
    kept = Checkpoint(tmp_path / "run", every_rounds=1)
    column_generation(formulation, oracle(), y, max_rounds=2, checkpoint=kept)
    resumed = column_generation(formulation, oracle(), y, checkpoint=kept)
    assert resumed.certificate.primal == pytest.approx(run.certificate.primal)


def test_rows_of_the_identity_are_the_samples():
    stumps = oracles.Stumps(noisy(14, 2, 5)[0])
    same = oracles.Rows(stumps, np.eye(14)).price(stumps.sample[:, 0])
    assert isinstance(same.columns[0].hypothesis, Stump)
    assert len(oracles.Rows(stumps, np.ones((3, 14))).sample) == 3
