"""Products with rows of steps, bin by bin, are those of the rows themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.colgen import column_generation, formulations
from cvxens.colgen.masters import InteriorPointMaster
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_threenorm
from cvxens.hypotheses import Constant, Perceptron, Stump
from cvxens.solvers import steps
from cvxens.solvers.interior_point import ProgramRows
from cvxens.solvers.steps import StepRow, StepRows


@given(seed=st.integers(0, 10**6), n_rows=st.integers(1, 30), n_features=st.integers(1, 4))
def test_products_are_those_of_the_rows(seed, n_rows, n_features):
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 6, (25, n_features)).astype(float), random.choice([-1.0, 1.0], 25)
    rows = [
        StepRow(
            int(random.integers(n_features)), random.integers(-1, 7) - 0.5, *random.integers(-2, 3, 2).astype(float)
        )
        for _ in range(n_rows)
    ]
    A = np.array([y * np.where(X[:, f] >= t, above, below) for f, t, above, below in rows])
    found = StepRows(X, y)
    found.add(rows)
    theta, v, w = random.exponential(size=25), random.normal(size=25), random.normal(size=n_rows)
    assert_allclose(found.times(v), A @ v, atol=1e-12)
    assert_allclose(found.combine(w), A.T @ w, atol=1e-12)
    assert_allclose(found.gram(theta), A * theta @ A.T, atol=1e-11)
    kept = random.random(n_rows) < 0.5
    kept[0] = True
    found.keep(kept)
    assert_allclose(found.gram(theta), A[kept] * theta @ A[kept].T, atol=1e-11)


def test_rows_behind_the_first_few_are_taken_bin_by_bin(monkeypatch):
    monkeypatch.setattr(steps, "WORTH", 0)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2)), random.choice([-1.0, 1.0], 30)
    stumps = [Stump(0, 0.1, 1), Stump(1, -0.3, -1), Constant(1), Stump(0, 0.5, -1)]
    values = y * np.array([stump(X) for stump in stumps])
    plain, binned = ProgramRows(30, np.array([1.0, -1.0])), ProgramRows(30, np.array([1.0, -1.0]))
    for rows in (plain, binned):
        rows.add(y[np.newaxis])
    binned.follow(X, y)
    plain.add(values)
    binned.add(values, [StepRows.read(stump, 1.0) for stump in stumps])
    assert binned.n_steps == 4
    theta, v, w = random.exponential(size=60), random.normal(size=60), random.normal(size=5)
    assert_allclose(binned.gram(theta, np.float64), plain.gram(theta, np.float64))
    assert_allclose(binned.times(v), plain.times(v), atol=1e-12)
    assert_allclose(binned.combine(w), plain.combine(w), atol=1e-12)
    # one that is no step ends it
    binned.add(values[:1], [StepRows.read(Perceptron((0.3, 0.1), 0.2, 1), 1.0)])
    assert binned.n_steps == 0
    assert binned.times(v).shape == (6,)


@pytest.mark.parametrize("formulation", [formulations.soft_margin(0.02), formulations.lpboost(1 / 600)])
def test_runs_end_where_they_do_with_rows_as_they_are(formulation, monkeypatch):
    X, y = make_threenorm(1200, 4, random_state=0)
    found = []
    for worth in (0, np.inf):
        monkeypatch.setattr(steps, "WORTH", worth)
        run = column_generation(formulation, Stumps(X), y, tol=1e-5, master=InteriorPointMaster)
        assert run.certificate.holds(1e-5)
        found.append(run.certificate.primal)
    assert found[0] == pytest.approx(found[1], rel=2e-5)
