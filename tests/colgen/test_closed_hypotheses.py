"""What an oracle leaves out: with w >= 0 a hypothesis of weight 0 must not keep its negation out of the master."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from cvxens.colgen import column_generation, formulations, oracles
from cvxens.problems import Signed, StumpColumns


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_soft_margin_over_binary_features_reaches_the_linear_program(seed) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (40, 12)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] - X[:, 2] + 1.5 * rng.normal(size=40) > 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X[0, 0], X[1, 0] = 0.0, 1.0
    C = 0.2
    run = column_generation(formulations.soft_margin(C), oracles.Stumps(X), y, tol=1e-9)
    edges = Signed(StumpColumns(X)).edges(np.diag(y))
    optimum = -linprog(-np.ones(40), A_ub=edges, b_ub=np.ones(len(edges)), bounds=(0, C)).fun
    assert run.certificate.primal == pytest.approx(optimum, rel=1e-8)
    assert run.certificate.holds(1e-8)


def test_free_weights_never_take_a_hypothesis_and_its_negation() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=25) > 0, 1.0, -1.0)
    run = column_generation(formulations.svm(C=1.0), oracles.Stumps(X), y, tol=1e-7)
    seen = [(c.hypothesis.feature, c.hypothesis.threshold) for c in run.columns if hasattr(c.hypothesis, "feature")]
    assert len(seen) == len(set(seen))
    assert run.certificate.holds(1e-7)
