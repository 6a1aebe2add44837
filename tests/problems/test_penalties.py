"""Penalties: their conjugates are suprema, and expressions are read as what they are."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cvxens.problems import curves
from cvxens.problems.curves import Curve
from cvxens.problems.duality import Edges
from cvxens.problems.expressions import ExpressionPenalty, read_penalty
from cvxens.problems.penalties import L1, ElasticNet, RowNorms, Simplex, SquaredL2, StructuredExpression

CURVES = {
    "absolute": (Curve.of(slope=1.0).then(curves.absolute), np.abs),
    "square": (Curve.of(slope=1.0).then(curves.power(2.0)), np.square),
    "three halves": (Curve.of(slope=1.0).then(curves.absolute).then(curves.power(1.5)), lambda t: np.abs(t) ** 1.5),
    "huber": (
        Curve.of(slope=1.0).then(curves.huber(0.4)),
        lambda t: np.where(np.abs(t) < 0.4, t * t, 0.8 * np.abs(t) - 0.16),
    ),
    "exponential": (Curve.of(slope=1.0).then(curves.exponential).plus(Curve.of(-1.0)), np.expm1),
    "barrier": (
        Curve.of(slope=1.0).times(-1.0).plus(Curve.of(1.0)).then(curves.logarithm).times(-1.0),
        lambda t: np.where(t < 1, -np.log(np.maximum(1 - t, 1e-300)), np.inf),
    ),
    "hinge": (
        curves.largest([Curve.of(slope=1.0).plus(Curve.of(-0.3)), Curve.of(0.0)]).times(2.0),
        lambda t: 2 * np.maximum(t - 0.3, 0),
    ),
    "box": (Curve(lambda t: curves.nonpositive(t - 0.7)), lambda t: np.where(t <= 0.7, 0.0, np.inf)),
    "logistic": (Curve.of(slope=1.0).then(curves.logistic), lambda t: np.logaddexp(0, t)),
}


@pytest.mark.parametrize("name", CURVES)
@given(t=st.floats(0, 5), x=st.floats(-3, 6))
def test_a_conjugate_is_above_every_point_and_next_to_the_best(name, t, x):
    curve, plain = CURVES[name]
    assert curve.values(np.array(t)) == pytest.approx(float(plain(np.array(t))), rel=1e-12, abs=1e-14)
    bound = float(curve.conjugate(np.array(x)))
    assert bound >= x * t - float(plain(np.array(t))) - 1e-13
    best = float(curve.maximisers(np.array(x)))
    if np.isfinite(best):
        attained = x * best - float(plain(np.array(best)))
        attained = max(attained, x * np.nextafter(best, 0) - float(plain(np.nextafter(best, 0))))
        assert bound == pytest.approx(attained, rel=1e-12, abs=1e-14 * (1 + abs(x * best)))
    else:
        assert bound == np.inf


@pytest.mark.parametrize("name", CURVES)
@settings(max_examples=20)
@given(t=st.floats(0.001, 0.69))
def test_slopes_are_those_of_one_sided_differences(name, t):
    curve, plain = CURVES[name]
    step = 1e-7
    slope = (float(plain(np.array(t + step))) - float(plain(np.array(t)))) / step
    assert float(curve.slopes(np.array(t))) == pytest.approx(slope, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", ["square", "three halves", "huber"])
@settings(max_examples=20)
@given(x=st.floats(0.01, 0.8), share=st.floats(0.001, 1))
def test_conjugates_of_functions_without_a_kink_are_below_a_share_of_the_square(name, x, share):
    curve, v = CURVES[name][0], share * x
    bound = curve.share_of_square(x)
    assert float(curve.conjugate(np.array(v))) <= bound * v * v * (1 + 1e-9) + 1e-300
    points = np.geomspace(1e-6, x, 50)
    assert bound <= 1.3 * (curve.conjugate(points) / points**2).max()


N = 4
numbers = st.one_of(st.sampled_from([0.0, 0.3]), st.integers(-200, 200).map(lambda n: n / 100))
weights, rows = arrays(float, N, elements=numbers), arrays(float, (N, 2), elements=numbers)

ENTRIES = {
    "kinked": lambda w: 0.1 * cp.norm1(w) + 10 * cp.pos(cp.norm1(w) - 0.3),
    "elastic and budget": lambda w: 0.2 * cp.norm1(w) + cp.sum_squares(w) + cp.transforms.indicator([cp.norm1(w) <= 2]),
    "huber": lambda w: cp.sum(cp.huber(w, 0.5)),
    "huber and square of a norm": lambda w: cp.sum(cp.huber(w, 0.5)) + cp.square(cp.norm1(w)) / 2,
    "box": lambda w: 0.4 * cp.norm1(w) + cp.transforms.indicator([cp.abs(w) <= 0.6]),
    "two sided box": lambda w: 0.4 * cp.norm1(w) + cp.transforms.indicator([w <= 0.6, w >= -0.6]),
    "powers": lambda w: 0.1 * cp.norm1(w) + cp.sum(cp.power(cp.abs(w), 1.5)),
    "steps": lambda w: cp.maximum(cp.norm1(w), 3 * cp.norm1(w) - 1),
    "largest of both": lambda w: cp.sum(cp.maximum(w, -2 * w) + cp.maximum(-w, 2 * w)),
}
ROWS = {
    "groups": lambda W: 0.7 * cp.sum(cp.norm(W, 2, axis=1)),
    "mixed norm": lambda W: cp.mixed_norm(W, 2, 1),
    "transposed": lambda W: cp.sum(cp.norm(W.T, 2, axis=0)) + 0.1 * cp.sum_squares(W),
    "largest": lambda W: cp.sum(cp.norm(W, "inf", axis=1)),
    "largest of sizes": lambda W: cp.sum(cp.max(cp.abs(W), axis=1)),
    "sum of sizes": lambda W: cp.square(cp.norm1(W)) + cp.sum(cp.huber(W, 0.2)),
    "budget of groups": lambda W: (
        cp.sum(cp.square(cp.norm(W, 2, axis=1))) + cp.transforms.indicator([cp.sum(cp.norm(W, 2, axis=1)) <= 1.5])
    ),
}

RADIAL = {
    "norm": lambda w: 0.7 * cp.norm2(w),
    "ball": lambda w: cp.transforms.indicator([cp.norm2(w) <= 0.8]),
    "cube": lambda w: cp.power(cp.norm2(w), 3) + cp.sum_squares(w),
    "hinged": lambda w: cp.maximum(cp.norm2(w), 3 * cp.norm2(w) - 1),
}
READ = {
    **{name: (express, None) for name, express in (ENTRIES | RADIAL).items()},
    **{f"rows, {name}": (express, 2) for name, express in ROWS.items()},
}
"""Expressions, and the number of outputs that they are of."""


def summarise(edges):
    return Edges(np.inf, float((edges**2).sum()), lambda: np.abs(edges), 0.0)


def check_fenchel(penalty, express, w, edges):
    """P*(E) is at least E'w - P(w) everywhere, and is attained at the solution of max E'w - P(w) by cvxpy."""
    w = penalty.repair(w)
    known = summarise(edges)
    share = penalty.shrink(known)
    assert 0 < share <= 1
    value, conjugate = penalty.value(w), penalty.conjugate(known)
    assert value + conjugate >= share * float((edges * w).sum()) - 1e-9 * (1 + value)
    variable = cp.Variable(w.shape)
    best = cp.Problem(cp.Maximize(cp.sum(cp.multiply(0.999 * share * edges, variable)) - express(variable)))
    best.solve(solver="CLARABEL")
    assert best.value == pytest.approx(penalty.conjugate(summarise(0.999 * share * edges)), abs=2e-6)


@pytest.mark.parametrize("name", READ)
@settings(max_examples=4)
@given(data=st.data())
def test_the_conjugate_of_an_expression_is_the_supremum(name, data):
    express, outputs = READ[name]
    drawn = weights if outputs is None else rows
    penalty = read_penalty(express, outputs, False)
    assert isinstance(penalty, StructuredExpression)
    w = penalty.repair(data.draw(drawn))
    assert penalty.value(w) == pytest.approx(float(express(cp.Constant(w)).value), rel=1e-9)
    check_fenchel(penalty, express, w, data.draw(drawn))


@pytest.mark.parametrize("name", READ)
def test_an_expression_is_evaluated_as_it_is_stated(name):
    express, outputs = READ[name]
    penalty = read_penalty(express, outputs, False)
    random = np.random.default_rng(0)
    for scale in (0.01, 0.1, 1.0):
        w = penalty.repair(scale * random.normal(size=(3,) if outputs is None else (3, outputs)))
        assert penalty.value(w) == pytest.approx(float(express(cp.Constant(w)).value), rel=1e-9)
        assert penalty.primal_violation(w) == 0


@pytest.mark.parametrize(
    ("express", "outputs", "known"),
    [
        (lambda w: 0.5 * cp.norm1(w) + 0.25 * cp.sum(cp.abs(w)), None, L1(0.75)),
        (lambda w: cp.norm(w, 1) / 2, None, L1(0.5)),
        (lambda w: cp.norm1(cp.vec(2 * w, order="F")), 2, L1(2.0)),
        (lambda w: 0.4 * cp.sum_squares(w), None, SquaredL2(0.8)),
        (lambda w: cp.sum(cp.square(w)) / 2 + cp.sum_squares(w / 2), 2, SquaredL2(1.5)),
        (lambda w: 0.1 * cp.norm1(w) + 0.5 * cp.sum_squares(w), None, ElasticNet(0.1, 1.0)),
        (lambda w: cp.sum(cp.norm(w, 1, axis=1)), 2, L1(1.0)),
    ],
)
def test_known_penalties_written_as_expressions_are_these(express, outputs, known):
    assert read_penalty(express, outputs, False) == known


def test_with_one_sign_a_sum_is_a_norm():
    assert read_penalty(lambda w: 0.3 * cp.sum(w), None, True) == L1(0.3)
    assert read_penalty(lambda w: w @ np.full(w.shape[0], 0.3), None, True) == L1(0.3)


@pytest.mark.parametrize(
    ("express", "outputs", "why"),
    [
        (lambda w: cp.norm2(w) + cp.norm1(w), None, "a norm of all weights beside other sums"),
        (cp.norm_inf, None, "a norm of order inf over all hypotheses"),
        (cp.tv, None, "`index`"),
        (cp.sum, None, "a term that tells a weight from its negative"),
        (lambda w: cp.norm1(cp.multiply([1, 2, 3], w)), None, "constants that differ from weight to weight"),
        (lambda w: cp.pos(cp.sum_squares(w) - 1), None, "a function of a sum that is not an l1 norm"),
        (lambda w: cp.sum(cp.exp(w) + cp.exp(-w)), None, "a term that does not vanish at weights of 0"),
        (lambda w: cp.norm1(w) + cp.Variable(nonneg=True), None, "variables of its own"),
        (lambda w: cp.Parameter(nonneg=True, value=1.0) * cp.norm1(w), None, "cvxpy parameters"),
        (lambda w: cp.mixed_norm(w, 2, 1) + cp.norm1(w), 2, "a sum of different norms of the rows"),
    ],
)
def test_what_is_no_such_sum_is_known_by_its_expression_alone_and_says_why(express, outputs, why):
    penalty = read_penalty(express, outputs, False)
    assert isinstance(penalty, ExpressionPenalty)
    assert penalty.unrecognised.startswith(why)


def perspective(w):
    level = cp.Variable(nonneg=True)
    return 0.5 * cp.norm1(w) + cp.quad_over_lin(w, level + 0.1) + level


PRICED = {
    "norm": (lambda w: 0.5 * cp.norm1(w) + cp.norm2(w), None),
    "ball": (lambda w: [0.5 * cp.norm1(w) + 1, cp.norm2(w) <= 0.3], None),
    "own variable": (perspective, None),
    "trace": (lambda W: 0.5 * cp.sum(cp.abs(W)) + cp.normNuc(W), 2),
}


@pytest.mark.parametrize("name", PRICED)
@settings(max_examples=4)
@given(edges=arrays(float, (5, 2), elements=st.floats(-2, 2)), off=st.sampled_from([0.0, 1e-9, 0.1]))
def test_what_has_a_price_is_bounded_over_all_weights_by_edges_that_are_off(name, edges, off):
    """Three hypotheses are inside, of two others the largest edge is known; the truth is another solver's."""
    express, outputs = PRICED[name]
    penalty, edges = read_penalty(express, outputs, False), edges if outputs else edges[:, 0]
    errors, none = np.full(edges[:3].shape, off), np.full(edges[:3].shape, 0.0)
    told = Edges(np.inf, np.inf, lambda: np.abs(edges[:3]), np.abs(edges[3:]).max(), lambda: (edges[:3], errors))
    share, bound = penalty.shrink(told), -penalty.conjugate(told)
    assert 0 < share <= 1
    for signs in (1.0, -1.0, np.array([1.0, -1.0, 1.0]).reshape(-1, *(1,) * (edges.ndim - 1))):
        true = np.concatenate([edges[:3] + off * signs, edges[3:]])
        assert bound <= solve_conjugate(express, share * true) + 1e-7
    alone = Edges(np.inf, np.inf, lambda: np.abs(edges[:3]), -np.inf, lambda: (edges[:3], none))
    share = penalty.shrink(alone)
    assert -penalty.conjugate(alone) == pytest.approx(solve_conjugate(express, share * edges[:3]), abs=1e-6)
    # all that is shrunk is on the border
    assert share > 1 - 1e-9 or solve_conjugate(express, min(1.0, 1.02 * share) * edges[:3]) <= 1e-3


def solve_conjugate(express, edges):
    """The least of the penalty of weights less edges'w, over a large box, by another solver."""
    w = cp.Variable(edges.shape)
    stated = express(w)
    expression, held = (stated[0], stated[1:]) if isinstance(stated, list) else (stated, [])
    problem = cp.Problem(cp.Minimize(expression - cp.sum(cp.multiply(edges, w))), [*held, cp.abs(w) <= 10])
    return problem.solve(solver="SCS" if edges.ndim > 1 else "ECOS", **({"eps": 1e-8} if edges.ndim > 1 else {}))


SLOPED = [
    (lambda w: 0.1 * cp.norm1(w) + 10 * cp.pos(cp.norm1(w) - 0.3), 2.0, 2.0),
    (lambda w: 0.8 * cp.norm1(w), 0.8, 0.8),
    (lambda w: 0.6 * cp.norm1(w) + cp.square(cp.norm1(w)), 1.2, 0.6),
    (lambda w: cp.sum(cp.huber(w, 0.5)), 0.0, 0.0),
]


@pytest.mark.parametrize(("express", "price", "first"), SLOPED)
def test_the_price_of_an_expression_is_the_multiplier_whether_its_structure_is_known_or_not(express, price, first):
    """At weights (0.2, -0.1), whose edges are what the penalty allows; and where there are none."""
    w, plain, known = np.array([0.2, -0.1]), ExpressionPenalty(express), read_penalty(express, None, False)
    edges = np.abs(w) * 2 if price == 0 else np.full(2, price)
    assert known.threshold(w, edges) == pytest.approx(price, abs=1e-9)
    assert plain.threshold(w, edges) == pytest.approx(price, abs=1e-5)
    if price != 2.0:
        none = np.zeros(0)
        assert known.threshold(none, none) == pytest.approx(first, abs=1e-12)
        assert plain.threshold(none, none) == pytest.approx(first, abs=1e-5)


@settings(max_examples=20)
@given(w=rows, norm=st.sampled_from([1, 2]))
def test_slopes_hold_the_gradient_at_weights_that_are_not_0(w, norm):
    penalty = (
        RowNorms(0.7, norm) + read_penalty(lambda w: cp.square(cp.norm1(w)), 2, False)
        if norm == 1
        else RowNorms(0.7, 2) + SquaredL2(0.4)
    )
    least, largest = penalty.slopes(w)
    assert (least <= largest).all()
    for j in np.flatnonzero(w):
        step = np.zeros(w.size)
        step[j] = 1e-6
        up, down = (penalty.value(w + side * step.reshape(w.shape)) for side in (1, -1))
        slope = (up - down) / 2e-6
        assert least.flat[j] - 1e-5 <= slope <= largest.flat[j] + 1e-5
        assert least.flat[j] == pytest.approx(largest.flat[j], abs=1e-12)


@settings(max_examples=15)
@given(edges=weights, outside=st.sampled_from([-np.inf, -1.0, -0.5, 0.0, 0.4]))
def test_the_bound_over_further_hypotheses_of_one_sign_is_above_every_weighting(edges, outside):
    """P(w) = (sum w - 1)^2 has a negative price near 0, which lets hypotheses with negative edges in."""
    penalty = read_penalty(lambda w: cp.square(cp.sum(w) - 1), None, True)
    bound = penalty.conjugate(Edges(np.inf, np.inf, lambda: edges, outside))
    best = max(float(edges.max()), outside)
    totals = np.linspace(0, 4, 401)
    # all weight goes to the largest edge, inside or outside
    assert bound >= (best * totals - (totals - 1) ** 2).max() - 1e-9
    assert bound == pytest.approx(max(best + best**2 / 4, -1.0) if best > -2 else -1.0, abs=1e-9)


KNOWN = {
    "l1": (L1(0.7), lambda w: 0.7 * np.abs(w).sum()),
    "squared l2": (SquaredL2(0.7), lambda w: 0.35 * (w**2).sum()),
    "elastic net": (ElasticNet(0.7, 0.4), lambda w: 0.7 * np.abs(w).sum() + 0.2 * (w**2).sum()),
}


@pytest.mark.parametrize("name", KNOWN)
@given(w=weights, edges=weights, nonnegative=st.booleans())
def test_known_penalties_have_their_conjugates(name, w, edges, nonnegative):
    penalty, plain = KNOWN[name]
    w = np.abs(w) if nonnegative else w
    counted = np.maximum(edges, 0) if nonnegative else np.abs(edges)
    summary = Edges(float(counted.max()), float((counted**2).sum()))
    assert penalty.value(w) == pytest.approx(plain(w))
    share = penalty.shrink(summary)
    assert 0 < share <= 1
    feasible = Edges(share * summary.bound, share**2 * summary.square_sum)
    assert penalty.pricing_slack(share * edges if nonnegative else share * np.abs(edges)) < 1e-12
    assert penalty.value(w) + penalty.conjugate(feasible) >= share * edges @ w - 1e-9


@given(edges=weights, n_inside=st.integers(0, 3), l1=st.floats(0.1, 2.0), l2=st.floats(0.1, 2.0))
def test_an_elastic_net_takes_off_what_edges_inside_exceed_once_those_outside_are_feasible(edges, n_inside, l1, l2):
    """The conjugate at the shrunken edges of all hypotheses, those outside included."""
    sizes = np.abs(edges)
    inside, outside = sizes[:n_inside], sizes[n_inside:]
    largest = float(outside.max(initial=0.0))
    summary = Edges(float(sizes.max()), float((sizes**2).sum()), lambda: inside, largest)
    share = l1 / max(l1, largest)
    penalty = ElasticNet(l1, l2)
    assert penalty.shrink(summary) == pytest.approx(share)
    expected = (np.maximum(share * sizes - l1 * (1 + 1e-12), 0) ** 2).sum() / (2 * l2)
    assert penalty.conjugate(summary) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("edges", "expected"), [([-7, -7, -7], 0.0), ([-7, -7, -9], 0.0), ([-7, -8, -9], 3.0)])
def test_weights_of_a_fixed_sum_are_stationary_where_the_largest_edge_is_whatever_its_sign(edges, expected):
    """What Fenchel's equality lacks is ``sum_j w_j (max edge - edge_j)``, of edges below 0 as well."""
    penalty = read_penalty(lambda w: [0, cp.sum(w) == 5], None, True)
    assert penalty.stationarity(np.array([2.0, 3.0, 0.0]), np.array(edges, float)) == pytest.approx(expected, abs=1e-9)


@given(w=weights, edges=weights)
def test_the_simplex_has_the_largest_edge_as_its_conjugate(w, edges):
    penalty = Simplex()
    a = penalty.repair(w)
    assert a.min() >= 0
    assert a.sum() == pytest.approx(1)
    assert penalty.primal_violation(a) < 1e-12
    assert penalty.primal_violation(np.array([0.2, -0.3, 1.2])) == pytest.approx(0.3)
    summary = Edges(float(edges.max()), 0.0)
    assert penalty.value(a) + penalty.conjugate(summary) >= edges @ a - 1e-12
    best = np.eye(N)[edges.argmax()]
    assert penalty.conjugate(summary) == edges @ best
    assert penalty.stationarity(best, edges) == 0
    assert penalty.stationarity(a, edges) == pytest.approx(max(a * (edges.max() - edges)))
