"""The best intercept of every loss against a scan, at scores of any size, and the D that leaves no best one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.problems.losses import (
    Exponential,
    HardMargin,
    Hinge,
    Logistic,
    SoftMinimumMargin,
    SquaredError,
    SquaredHinge,
)
from cvxens.problems.penalties import Simplex


@st.composite
def scored(draw):
    n, scale = draw(st.integers(2, 8)), draw(st.sampled_from([0.0, 1e-6, 1.0, 30.0, 1e3, 1e5]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    f = rng.normal(size=n)
    f = scale * (f if draw(st.booleans()) else f.round())
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = 1.0, -1.0
    return f, y, scale


def candidates(f, y, b, scale):
    """Where kinks, crossings and minima are, a grid, and the surroundings of b."""
    crossings = -(f[:, None] + f[None, :]).ravel() / 2
    grid = np.linspace(-3 * scale - 2, 3 * scale + 2, 501)
    return np.concatenate([grid, y - f, -f, crossings, b + max(scale, 1.0) * np.array([-0.1, -1e-3, 1e-3, 0.1])])


@pytest.mark.parametrize("loss", [Hinge, Exponential, Logistic, SquaredHinge])
@settings(deadline=None, max_examples=40)
@given(sample=scored(), C=st.sampled_from([0.3, 2.0]))
def test_no_intercept_is_better(loss, sample, C):
    f, y, scale = sample
    b = loss(C).best_intercept(f, y)
    others = min(loss(C).value(y * (f + other)) for other in candidates(f, y, b, scale))
    assert loss(C).value(y * (f + b)) <= others * (1 + 1e-9) + 1e-12


@settings(deadline=None, max_examples=100)
@given(sample=scored(), share=st.sampled_from([1.0, 1.2, 2.0, 3.7, 100.0]))
def test_no_intercept_has_a_larger_soft_minimum(sample, share):
    f, y, scale = sample
    loss = SoftMinimumMargin(share * 0.5 / min((y > 0).sum(), (y < 0).sum()))
    b = loss.best_intercept(f, y)
    others = min(loss.value(y * (f + other)) for other in candidates(f, y, b, scale))
    assert loss.value(y * (f + b)) <= others + 1e-12 * max(1.0, scale)


@settings(deadline=None, max_examples=40)
@given(sample=scored())
def test_no_intercept_has_a_larger_minimum(sample):
    f, y, scale = sample
    b = HardMargin().best_intercept(f, y)
    others = max((y * (f + other)).min() for other in candidates(f, y, b, scale))
    assert (y * (f + b)).min() >= others - 1e-12 * max(1.0, scale)


@pytest.mark.parametrize("loss", [Exponential(0.3), Logistic(0.3), SquaredHinge(0.3)])
def test_multipliers_are_minus_the_slopes(loss):
    z, step = np.linspace(-3.05, 3.0, 12), 1e-5
    slopes = [(loss.value(z + step * e) - loss.value(z - step * e)) / (2 * step) for e in np.eye(12)]
    np.testing.assert_allclose(loss.multipliers(z), -np.array(slopes), atol=1e-8)


@pytest.mark.parametrize("loss", [Hinge(0.3), SoftMinimumMargin(0.4), SquaredError(0.3, np.ones((5, 1)))])
def test_repaired_multipliers_are_those_of_the_best_intercept_alone(loss):
    y = np.array([1.0, -1.0, -1.0, 1.0, -1.0])
    signs, f = (np.ones((5, 1)), np.zeros((5, 1))) if hasattr(loss, "L") else (y, np.zeros(5))
    z = signs * (f + loss.best_intercept(f, signs))
    u = loss.repair(loss.multipliers(z), signs)
    assert np.abs((signs * u).sum(axis=0)).max() < 1e-15
    assert loss.dual_value(u) == pytest.approx(loss.value(z), abs=1e-12)


def test_a_price_that_leaves_a_soft_minimum_unbounded():
    """With an intercept the smaller class must be able to carry half of the weight."""
    X, y = np.arange(8.0)[:, None], np.array([1.0, -1.0] + 6 * [1.0])
    assert SoftMinimumMargin(0.125).repair(np.ones(8), None).max() == 0.125
    with pytest.raises(
        InvalidInput, match=r"^D: found 0.12 a sample; give at least 0.125, or the problem is unbounded"
    ):
        SoftMinimumMargin(0.12).repair(np.ones(8), None)
    formulation = Formulation(SoftMinimumMargin(0.49), Simplex(), intercept=True, nonnegative=True, maximise=True)
    with pytest.raises(InvalidInput, match=r"^D: found 0.49 a sample; give at least 0.5"):
        column_generation(formulation, Stumps(X), y)
    u = SoftMinimumMargin(0.5).repair(np.ones(8), y)
    assert u.sum() == pytest.approx(1.0)
    assert y @ u == pytest.approx(0.0, abs=1e-15)
