"""Stumps of one side, of differing costs, and ranked by norms over the outputs, against brute force over all."""

from fractions import Fraction

import numpy as np
import pytest
from brute_force import assert_over_all, list_stumps
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_array, csr_array

from cvxens import LPBoostClassifier, load_model
from cvxens.colgen import Formulation, column_generation, formulations
from cvxens.colgen.oracles import Constant, Stumps
from cvxens.hypotheses import Scaled
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1, SquaredL2


@st.composite
def cases(draw):
    n, d, k = draw(st.integers(2, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    X = draw(arrays(float, (n, d), elements=st.integers(-2, 3) | st.floats(-10, 10)))
    X[0, 0] = X[1, 0] + 1
    s = draw(arrays(float, (n, k), elements=st.floats(-1, 1, width=32)))
    signs = draw(arrays(float, d, elements=st.sampled_from([-1.0, 0.0, 1.0])))
    costs = draw(arrays(float, d, elements=st.sampled_from([0.25, 1.0, 3.0, 0.7])))
    return X, s, signs, costs


def every_stump(X, signs, costs, constant):
    """All hypotheses of the set, with both signs where it has both."""
    for rising in list_stumps(X):
        for stump in (rising, -rising):
            if stump.sign * signs[stump.feature] >= 0:
                cost = costs[stump.feature]
                yield stump if cost == 1 else Scaled(stump, 1 / cost)
    if constant:
        yield from (Constant(1), Constant(-1))


def sum_exactly(values, s):
    """The edges of a hypothesis over the outputs, rounded once."""
    products = [[Fraction(v) * Fraction(weight) for weight in row] for v, row in zip(values, s.tolist(), strict=True)]
    return [float(sum(column)) for column in zip(*products, strict=True)]


@given(
    cases(),
    st.booleans(),
    st.sampled_from([np.asarray, csr_array, csc_array]),
    st.booleans(),
    st.sampled_from([1.0, 2.0, np.inf]),
    st.data(),
)
def test_answers_are_those_of_brute_force(case, constant, kind, square_sum, row_norm, data):
    X, s, signs, costs = case
    oracle = Stumps(kind(X), signs=signs, costs=costs, constant=constant, square_sum=square_sum)
    hypotheses = list(every_stump(X, signs, costs, constant))
    excluded = data.draw(st.lists(st.sampled_from(hypotheses), max_size=4))
    closed = {*excluded, *(-h for h in excluded)}
    edges = np.array([sum_exactly(h(X).tolist(), s) for h in hypotheses])
    sizes = edges.max(axis=1) if row_norm == np.inf else np.linalg.norm(edges, row_norm, axis=1)
    is_open = np.array([h not in closed for h in hypotheses])
    priced = oracle.price(s, excluded, row_norm=row_norm)
    scale = 1e-12 * np.abs(s).sum() / min(costs.min(), 1.0) + 1e-300
    # a bound on edges is one on these, as rounding keeps their order; norms of up to three are rounded by 8 eps at most
    least = 1.0 if row_norm == np.inf else 1 - 2.0**-49
    assert least * sizes.max() <= priced.edge_bound <= sizes.max() + scale
    if is_open.any():
        assert least * sizes[is_open].max() <= priced.outside_bound <= sizes[is_open].max() + scale
        assert priced.columns[0].edge == pytest.approx(sizes[is_open].max(), abs=scale)
    for column in priced.columns:
        assert column.hypothesis in hypotheses
        assert column.hypothesis not in closed
        own = column.values @ s
        size = own.max() if row_norm == np.inf else np.linalg.norm(own, row_norm)
        assert column.edge == pytest.approx(size, abs=scale)
    # one column for each feature with an open place: its best
    best = {}
    for h, size, free in zip(hypotheses, sizes, is_open, strict=True):
        stump = getattr(h, "hypothesis", h)
        if free:
            name = getattr(stump, "feature", None)
            best[name] = max(best.get(name, -np.inf), size)
    assert len(priced.columns) == len(best)
    np.testing.assert_allclose([c.edge for c in priced.columns], sorted(best.values(), reverse=True), atol=scale)
    if square_sum:
        first = [k for k, h in enumerate(hypotheses) if -h not in hypotheses[:k]]
        squares = (edges[first] ** 2).sum()
        assert squares * (1 - 1e-12) <= priced.edge_square_sum <= squares * (1 + 1e-12) + scale**2
        # h and -h have one edge above 0 between them
        rising = (np.maximum(edges, 0) ** 2).sum()
        assert rising * (1 - 1e-12) <= priced.rising_square_sum <= rising * (1 + 1e-12) + scale**2


@pytest.mark.product(count=[1, 3, 100], square_sum=[True, False])
def test_many_distinct_values_are_searched_as_all_places_are(square_sum, count):
    rng = np.random.default_rng(1)
    X, s = rng.normal(size=(900, 5)).round(3), rng.normal(size=900)
    signs, costs = np.array([1, -1, 0, 1, 0]), np.array([1.0, 2.0, 0.5, 0.9, 1.0])
    priced = Stumps(X, signs=signs, costs=costs, square_sum=square_sum, columns_per_round=count).price(s)
    best = []
    for j in range(5):
        order = np.argsort(X[:, j], kind="stable")
        changes = np.flatnonzero(np.diff(X[order, j])) + 1
        edges = (s.sum() - 2 * np.cumsum(s[order])[changes - 1]) / costs[j]
        best.append((np.abs(edges) if signs[j] == 0 else signs[j] * edges).max())
    best.append(abs(s.sum()))
    np.testing.assert_allclose([c.edge for c in priced.columns], sorted(best, reverse=True)[:count], atol=1e-12)
    assert max(best) <= priced.edge_bound * (1 + 1e-14) <= max(best) * (1 + 1e-12)


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_monotone_models_of_features_with_prices_reach_the_optimum(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (30, 3)).astype(float)
    y = np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=30) > 1, 1.0, -1.0)
    signs, costs = np.array([1, 1, 0]), np.array([1.0, 1.0, 2.5])
    oracle = Stumps(X, signs=signs, costs=costs)
    H = np.column_stack([h(X) for h in every_stump(X, signs, costs, constant=True)])
    run = assert_over_all(Formulation(Hinge(0.5), L1(), nonnegative=True), oracle, y, H=H)
    grid = np.arange(-1, 7.0)
    scores = run.decision_function(np.column_stack([np.full(8, 2.0), grid, np.full(8, 2.0)]))
    assert (np.diff(scores) >= -1e-12).all()


def test_free_weights_make_no_difference_between_the_sides():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, (30, 3)).astype(float)
    y = np.where(rng.random(30) > 0.5, 1.0, -1.0)
    for penalty in (L1(), SquaredL2()):
        runs = [
            column_generation(Formulation(Hinge(0.5), penalty, intercept=True), Stumps(X, signs=signs), y)
            for signs in (None, [1, -1, 0])
        ]
        assert all(run.certificate.proven for run in runs)
        assert runs[0].certificate.primal == pytest.approx(runs[1].certificate.primal, rel=2e-6)


def test_costs_are_the_weighted_l1_penalty():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 6, (30, 3)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 5, 1.0, -1.0)
    dear = column_generation(formulations.soft_margin(1.0), Stumps(X, costs=[50.0, 1.0, 1.0]), y)
    cheap = column_generation(formulations.soft_margin(1.0), Stumps(X), y)
    assert dear.certificate.proven
    assert dear.certificate.primal > cheap.certificate.primal
    used = {c.hypothesis.step.feature for c, w in zip(dear.columns, dear.weights, strict=True) if w > 1e-9}
    assert 0 not in used


def test_scaled_hypotheses_are_told_and_saved(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 6, (30, 2)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 5, 1, -1)
    model = LPBoostClassifier(C=1.0, oracle=Cheaper).fit(X, y)
    assert any(isinstance(h, Scaled) for h in model.weak_learners_)
    plain = LPBoostClassifier(C=1.0).fit(X, y)
    assert "->" in model.to_text()
    assert model.to_frame()["threshold"].notna().all()
    assert model.feature_importances_.shape == plain.feature_importances_.shape
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model", trusted=[Cheaper])
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


class Cheaper(Stumps):
    """Stumps of which those of the first feature cost half."""

    def __init__(self, X):
        super().__init__(X, costs=[0.5, 1.0])
