"""The linear dual that piecewise linear losses say of themselves, against their values, by linear programs."""

import numpy as np
import pytest
from scipy.optimize import linprog

from cvxens.problems.losses import CVaR, HardMargin, Hinge, SoftMinimumMargin
from cvxens.problems.sides import SideLoss
from cvxens.problems.target_losses import AbsoluteError, EpsilonInsensitive, Pinball

N = 7
TARGETS = np.array([3.0, -1.0, 0.5, 0.5, 2.0, 7.0, -4.0])
PULLS = np.array([[1.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0], [0.5, -0.5, 0.0, 0.0, 1.0, -1.0, 0.0]])
LOSSES = [
    Hinge(C=0.5),
    Hinge(C=np.arange(1.0, N + 1)),
    CVaR(D=0.4, C=2.0),
    SoftMinimumMargin(D=0.3),
    HardMargin(),
    AbsoluteError(TARGETS, C=0.7),
    Pinball(TARGETS, q=0.8),
    EpsilonInsensitive(TARGETS, epsilon=0.6, C=2.0),
    SideLoss(Hinge(C=0.5), PULLS, np.zeros((2, N)), np.array([0.2, 0.4])),
    SideLoss(Hinge(C=np.arange(N)), PULLS, np.array([np.eye(N)[0], 3 - np.arange(N) % 4]), np.array([0.9, 12.0])),
]


def maximise(loss, reward, u=None):
    """The largest dual value less reward'u over all multipliers, or at these; None where there are none."""
    dual, y = loss.linear_dual, np.ones(N)
    stack = dual.stack(y)
    S = np.stack([stack.repeat(row) for row in np.eye(N)])
    sums = [(S.sum(axis=0), dual.high), (-S.sum(axis=0), -dual.low)]
    limits = [(row, limit) for row, limit in sums if np.isfinite(limit)]
    # v <= prices + charges'p
    raised = np.hstack([np.eye(len(dual.charges[0])), -stack.scale * dual.charges.T]) if len(dual.charges) else []
    limits += zip(raised, stack.upper, strict=False)
    upper = np.append(stack.upper[: stack.n_copied], np.full(len(stack.pulls), np.inf))
    found = linprog(
        -(stack.unit * stack.gains - reward @ S),
        A_ub=np.stack([row for row, _ in limits]) if limits else None,
        b_ub=[limit for _, limit in limits] if limits else None,
        A_eq=None if u is None else S,
        b_eq=u,
        bounds=[(0.0, np.inf if len(raised) else bound) for bound in upper],
    )
    return -found.fun if found.success else None


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_loss_is_the_largest_dual_value_less_a_reward(loss):
    random = np.random.default_rng(0)
    for _ in range(8):
        z = random.normal(scale=2.0, size=N) + 1
        found, value = maximise(loss, z), loss.value(z)
        assert (found is None) == (value == np.inf)
        # limits of side constraints are lower by what solvers leave of violations
        assert found is None or found == pytest.approx(value, rel=1e-9, abs=1e-5 * isinstance(loss, SideLoss) + 1e-12)


@pytest.mark.parametrize(
    "loss", [each for each in LOSSES if not isinstance(each, SideLoss)], ids=lambda loss: repr(loss)[:20]
)
def test_the_dual_value_is_that_of_the_program_at_multipliers(loss):
    random = np.random.default_rng(1)
    for _ in range(8):
        u = loss.repair(random.normal(size=N) + 0.2, None)
        assert maximise(loss, np.zeros(N), u) == pytest.approx(loss.dual_value(u), rel=1e-9, abs=1e-9)
        assert maximise(loss, np.zeros(N), u - 100.0 * (1 + np.abs(u))) is None


def test_what_a_dual_is_bounded_by():
    assert "".join("FT"[loss.linear_dual.is_separable] for loss in LOSSES) == "TTFFFTTTFF"
    assert [loss.linear_dual.is_bounded for loss in LOSSES] == [True] * 4 + [False] + [True] * 5
    # slacks that may not be at all have no largest price
    assert SideLoss(Hinge(1.0), PULLS, np.abs(PULLS), np.array([1.0, 0.0])).linear_dual is None
