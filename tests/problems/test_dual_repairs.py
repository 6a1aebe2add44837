import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from cvxens.problems.duality import balance_classes, capped_simplex, clip_box, imbalance

entries = st.one_of(st.integers(-3, 3).map(float), st.floats(-10, 10).map(lambda v: round(v, 6)))


@st.composite
def labelled(draw):
    n = draw(st.integers(2, 8))
    y = draw(arrays(float, n, elements=st.sampled_from([-1.0, 1.0])))
    y[:2] = 1.0, -1.0
    return draw(arrays(float, n, elements=entries)), y


@given(pair=labelled())
def test_balancing_only_shrinks_the_heavier_class(pair):
    u, y = np.abs(pair[0]), pair[1]
    v = balance_classes(u, y)
    assert (v >= 0).all()
    assert (v <= u).all()
    assert abs(y @ v) <= 1e-12 * u.sum()
    lighter = 1.0 if u[y > 0].sum() <= u[y < 0].sum() else -1.0
    np.testing.assert_array_equal(v[y == lighter], u[y == lighter])
    assert imbalance(v, y) < 1e-12


@given(pair=labelled(), upper=st.sampled_from([0.5, 1.0, 20.0]))
def test_a_clipped_box_is_feasible_and_keeps_what_is(pair, upper):
    u, y = pair
    v = clip_box(u, upper, y)
    assert (v >= 0).all()
    assert (v <= upper).all()
    assert abs(y @ v) <= 1e-12 * len(u) * upper
    np.testing.assert_allclose(clip_box(v, upper, y), v, atol=1e-12)
    np.testing.assert_array_equal(clip_box(u, upper, None), np.minimum(np.maximum(u, 0), upper))


@given(u=arrays(float, st.integers(2, 6), elements=entries), room=st.sampled_from([1.0, 1.1, 1.7, 9.0]))
def test_the_projection_onto_the_capped_simplex_is_the_nearest_point(u, room):
    cap = room / len(u)
    v = capped_simplex(u, cap)
    assert v.sum() == pytest.approx(1.0, abs=1e-12)
    assert v.min() >= 0
    assert v.max() <= cap * (1 + 1e-12)
    nearest = minimize(
        lambda p: ((p - u) ** 2).sum() / 2,
        np.full(len(u), 1 / len(u)),
        jac=lambda p: p - u,
        bounds=[(0, cap)] * len(u),
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert ((v - u) ** 2).sum() / 2 <= nearest.fun + 1e-7


@given(
    u=arrays(float, st.integers(1, 6), elements=st.sampled_from([0.0, 1.0, -1.0, 0.3])),
    size=st.sampled_from([1e-200, 1e-9, 1e7, 1e20, 1e200]),
    room=st.sampled_from([1.0, 1.3, 50.0]),
    total=st.sampled_from([0.5, 1.0]),
)
def test_the_projection_holds_for_entries_of_any_size(u, size, room, total):
    cap = room * total / len(u)
    v = capped_simplex(size * u, cap, total)
    assert v.sum() == pytest.approx(total, rel=1e-12)
    assert v.min() >= 0
    assert v.max() <= cap * (1 + 1e-12)
    order = np.argsort(u, kind="stable")
    assert (np.diff(v[order]) >= -1e-12).all()


def test_a_point_of_the_capped_simplex_stays():
    u = np.array([0.5, 0.3, 0.2, 0.0])
    np.testing.assert_allclose(capped_simplex(u, 0.5), u, atol=1e-15)
    np.testing.assert_array_equal(capped_simplex(np.array([5.0, -1.0]), 0.5), [0.5, 0.5])


def test_imbalance_is_relative_and_counts_every_output():
    assert imbalance(np.array([1e-6, 0.0]), np.array([1.0, -1.0])) == 1.0
    assert imbalance(np.zeros(2), np.array([1.0, -1.0])) == 0.0
    assert imbalance(np.array([[1.0, 1.0], [-1.0, 1.0]]), np.ones((2, 1))) == 0.5
