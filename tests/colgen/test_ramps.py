"""Ramps: exact over all thresholds, convex, concave and monotone everywhere."""

import numpy as np
import pytest
from brute_force import assert_optimum, linear_program
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cvxens.colgen import Checkpoint, column_generation, formulations
from cvxens.colgen.oracles import Constant, Ramps
from cvxens.hypotheses import Ramp, negate

RNG = np.random.default_rng(4)
X = RNG.normal(size=(40, 2)).round(1)
Y = np.where(np.abs(X[:, 0]) + 0.5 * RNG.normal(size=40) > 0.7, 1.0, -1.0)


@st.composite
def cases(draw):
    n, d, k = draw(st.integers(2, 9)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    X = draw(arrays(float, (n, d), elements=st.integers(-2, 3)))
    X[0, 0] = X[1, 0] + 1
    s = draw(arrays(float, (n, k), elements=st.floats(-1, 1, width=32)))
    sides = [draw(arrays(float, d, elements=st.sampled_from([-1.0, 0.0, 1.0]))) for _ in range(2)]
    return X, s, *sides


def every_ramp(X, curvature, signs, places):
    """All ramps at some places between the ends of every feature, and the lines, of the signs that are allowed."""
    for j in range(X.shape[1]):
        low, high = X[:, j].min(), X[:, j].max()
        if low == high:
            continue
        for side in (1, -1, 0):
            for t in [*np.unique(X[:, j]), *(low + p * (high - low) for p in places)] if side else [(low + high) / 2]:
                for sign in (1, -1):
                    rises = sign * (side or 1)
                    if signs[j] * rises >= 0 and (not side or curvature[j] * sign >= 0):
                        yield Ramp(j, float(t), side, sign / (high - low))


def measure(edges, row_norm):
    """The largest edge over the outputs, or their norm."""
    return float(edges.max() if row_norm == np.inf else np.linalg.norm(edges, row_norm))


@given(cases(), st.booleans(), st.lists(st.floats(0, 1), max_size=3), st.sampled_from([np.inf, 1.0, 2.0]), st.data())
def test_no_ramp_at_any_threshold_is_better_than_the_bound_and_the_best_one_is_found(
    case, constant, places, row_norm, data
):
    X, s, curvature, signs = case
    oracle = Ramps(X, curvature=curvature, signs=signs, constant=constant)
    every = [*every_ramp(X, curvature, signs, places), *([Constant(1), Constant(-1)] if constant else [])]
    edges = {h: measure(h(X) @ s, row_norm) for h in every}
    priced = oracle.price(s, row_norm=row_norm)
    top = max(edges.values(), default=0.0)
    assert -1e-15 <= priced.edge_bound - top <= 1e-12
    assert priced.outside_bound == priced.edge_bound
    assert bool(priced.columns) == bool(every)
    for column in priced.columns:
        assert column.edge == pytest.approx(measure(column.values @ s, row_norm), abs=1e-13)
    exclude = data.draw(st.lists(st.sampled_from(list(edges)), max_size=4)) if every else []
    rest = oracle.price(s, exclude, row_norm=row_norm)
    assert rest.edge_bound == priced.edge_bound
    assert not {h for c in rest.columns for h in (c.hypothesis, negate(c.hypothesis))} & set(exclude)
    for h in every:
        other = negate(h)
        assert oracle.has_negation(h) == (other in edges)


SHAPES = [([1, 0], None), ([-1, 1], None), ([1, -1], [1, -1]), ([0, 0], [0, 1])]


@pytest.mark.parametrize(("curvature", "signs"), SHAPES)
def test_the_optimum_is_that_of_all_values_and_its_shape_is_kept_everywhere(curvature, signs, tmp_path):
    oracle = Ramps(X, curvature=curvature, signs=signs)
    kept = Checkpoint(tmp_path / "run.checkpoint")
    run = column_generation(formulations.soft_margin(0.2), oracle, Y, checkpoint=kept)
    every = [*every_ramp(X, curvature, signs or [0, 0], []), Constant(1), Constant(-1)]
    H = np.column_stack([h(X) for h in every])
    assert_optimum(run, linear_program(H, Y, slack=0.2, one_sided=True))
    points = 3 * RNG.normal(size=(100_000, 2))
    for j in range(2):
        a, b = points.copy(), points.copy()
        a[:, j], b[:, j] = -np.abs(points[:, 1 - j]), points[:, j] ** 2
        middle = np.where(np.arange(2) == j, (a + b) / 2, points)
        f_a, f_b, f_middle = map(run.decision_function, (a, b, middle))
        assert (curvature[j] * (f_a / 2 + f_b / 2 - f_middle)).min() >= -1e-9
        assert ((signs or [0, 0])[j] * (f_b - f_a)).min() >= -1e-9
