"""The stump oracle against brute force over every stump."""

from dataclasses import astuple
from fractions import Fraction
from math import fsum, inf

import numpy as np
import pytest
from brute_force import list_stumps
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csc_array, csr_array

from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import Constant, Stump, Stumps
from cvxens.colgen.oracles.stumps import FixedPoint


def long_sample(kind, n_samples=1500, n_outputs=1):
    """Features of many distinct values, of few, tied in part, and heavy at one value."""
    rng = np.random.default_rng(3)
    X = rng.normal(0, 20, (n_samples, 6)).round(2)
    X[:, 1] = rng.integers(0, 5, n_samples)
    X[:, 2] = X[:, 0]
    X[rng.random(n_samples) < 0.6, 3] = 0
    X[:, 4] = 7
    X[:, 5] = np.rint(10 * X[:, 5])
    s = rng.normal(0, 1, (n_samples, n_outputs)) * (rng.random((n_samples, 1)) < 0.7)
    s[:, 0] += 0.3 * np.sign(X[:, 0] - 5)
    return kind(X), s / n_samples


def in_parts(oracle, n_parts):
    """Answer as on large samples, with several stumps of every feature."""
    oracle._n_parts, oracle.columns_per_round = n_parts, 1000
    return oracle


def exact_edge(values, s):
    """The edge under each output, the sum rounded once."""
    return np.array([fsum(values * weights) for weights in s.reshape(len(s), -1).T])


def exact_edges(X, s):
    """All stumps, their edges, and that of the constant."""
    stumps = list(list_stumps(X))
    return stumps, np.array([exact_edge(h(X), s) for h in stumps]), exact_edge(np.ones(len(X)), s)


def assert_exact(known, s, constant, priced, edges_known_squares=True):
    """Compare an answer that has all its columns with brute force over the dense sample."""
    stumps, edges, total = known
    best = {h.feature: 0.0 for h in stumps}
    for h, edge in zip(stumps, edges, strict=True):
        best[h.feature] = max(best[h.feature], np.abs(edge).max())
    found = {c.hypothesis.feature: c.edge for c in priced.columns if isinstance(c.hypothesis, Stump)}
    assert found.keys() == best.keys()
    for feature, edge in best.items():
        assert_allclose(found[feature], edge, atol=1e-13)
    for c in priced.columns:
        assert_allclose((c.values @ s).max(), c.edge, atol=1e-13)
    assert [c.edge for c in priced.columns] == sorted((c.edge for c in priced.columns), reverse=True)
    assert any(isinstance(c.hypothesis, Constant) for c in priced.columns) == constant

    largest = max(np.abs(edges).max(), np.abs(total).max() if constant else 0.0)
    assert largest * (1 - 1e-14) <= priced.edge_bound <= largest * (1 + 1e-13) + 1e-13
    square_sum = (edges**2).sum() + constant * (total**2).sum()
    if priced.edge_square_sum < inf:
        assert square_sum * (1 - 1e-12) <= priced.edge_square_sum <= square_sum * (1 + 1e-12) + 1e-13
    assert (priced.edge_square_sum < inf) == edges_known_squares


@pytest.mark.thinned(1, n_outputs=[1, 3], kind=[np.asarray, csr_array, np.float32, np.int32])
def test_many_distinct_values(kind, n_outputs):
    X, s = long_sample(kind, n_outputs=n_outputs)
    known = exact_edges(X.toarray() if kind is csr_array else X, s)
    for square_sum in (True, False):
        assert_exact(known, s, True, Stumps(X, square_sum=square_sum).price(s), square_sum)


@pytest.mark.product(spread=[0.001, 0.1, 1, 10], count=[1, 2, 4, 100])
def test_every_search_gives_the_same_answer(count, spread):
    X, s = long_sample(np.asarray, n_samples=3000)
    s = s[:, 0] * np.exp(spread * np.random.default_rng(0).normal(size=len(s)))
    answers = [
        [(c.hypothesis, c.edge) for c in Stumps(x, square_sum=squares).price(s).columns]
        for x in (X, csr_array(X))
        for squares in (True, False)
    ]
    oracle = Stumps(X, square_sum=False, columns_per_round=count)
    answers.append([(c.hypothesis, c.edge) for c in oracle.price(s).columns])
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert answers[4] == answers[0][:count]


@pytest.mark.thinned(2, square_sum=[True, False], kind=[np.asarray, csr_array], count=[1, 3])
def test_the_best_outside_among_many_values(kind, square_sum, count):
    X, s = long_sample(np.asarray, n_outputs=2)
    stumps = list(list_stumps(X))
    edges = np.array([np.abs(h(X) @ s).max() for h in stumps])
    inside = [stumps[i] for i in np.argsort(-edges)[:150]] + [Constant(-1)]
    best: dict[int, float] = {}
    for h, edge in zip(stumps, edges, strict=True):
        if h not in inside:
            best[h.feature] = max(best.get(h.feature, 0), edge)
    oracle = Stumps(kind(X), columns_per_round=count, square_sum=square_sum)
    priced = oracle.price(s, exclude=inside)
    assert_allclose([c.edge for c in priced.columns], sorted(best.values(), reverse=True)[:count], atol=1e-13)
    assert not {c.hypothesis for c in priced.columns} & {Stump(h.feature, h.threshold, -1) for h in inside[:-1]}
    assert_allclose(priced.edge_bound, max(edges.max(), np.abs(s.sum(axis=0)).max()), rtol=1e-12)
    assert priced.edge_square_sum == oracle.price(s).edge_square_sum


def test_bytes_are_not_converted():
    X = np.random.default_rng(0).integers(0, 256, (500, 4)).astype(np.uint8)
    s = np.random.default_rng(1).normal(size=(500, 2))
    oracle = Stumps(X)
    assert oracle.features.X is X
    assert_exact(exact_edges(X, s / 500), s / 500, True, oracle.price(s / 500))


@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.sampled_from([-1, 1])), min_size=1, max_size=20))
def test_fixed_point_error(terms):
    weights = FixedPoint.from_weights([s for s, _ in terms], len(terms))
    exact = sum(sign * Fraction(s) for s, sign in terms)
    rounded = sum(sign * int(units) for units, (_, sign) in zip(weights.integers[0], terms, strict=True))
    unit = Fraction(2) ** weights.exponent
    assert abs(exact - rounded * unit) <= weights.error * unit
    assert abs(exact) <= weights.raised(abs(rounded) + weights.error)


@pytest.mark.parametrize("square_sum", [True, False])
def test_zero_weights(square_sum):
    X, s = long_sample(np.asarray)
    priced = Stumps(X, square_sum=square_sum).price(0 * s)
    assert [c.edge for c in priced.columns] == [0] * 6
    assert priced.columns[0].hypothesis == next(list_stumps(X))
    assert priced.edge_bound == 0
    assert priced.edge_square_sum == (0 if square_sum else inf)


def test_columns_per_round_and_ties():
    X = np.array([[0.0, 0, 3, 0], [1, 1, 3, 1], [2, 2, 3, 2], [3, 3, 3, 3]])
    s = np.array([1.0, -1, 1, -1])
    chosen = Stumps(X, columns_per_round=2).price(s).columns
    assert [astuple(c.hypothesis) for c in chosen] == [(0, 0.5, -1, 0), (1, 0.5, -1, 0)]


def test_huge_weights_have_no_square_sum():
    priced = Stumps([[0.0], [1.0]]).price([-1e300, 1e300])
    assert priced.edge_bound == pytest.approx(2e300)
    assert priced.edge_square_sum == inf


@pytest.mark.product(kind=[np.asarray, csc_array], outputs=[(), (2,)])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), parts=st.integers(2, 5))
def test_the_best_stumps_of_the_parts_of_a_feature(kind, outputs, seed, parts):
    """Beside the best one of every feature come others of it, with their own edges; bounds are what they were."""
    random = np.random.default_rng(seed)
    X, s = random.integers(-3, 4, size=(30, 3)).astype(float), random.normal(size=(30, *outputs))
    signs, costs = random.integers(-1, 2, size=3), random.choice([1.0, 2.0], size=3)
    plain, several = (in_parts(Stumps(kind(X), signs=signs, costs=costs), count) for count in (1, parts))
    excluded = [column.hypothesis for column in plain.price(s).columns[:2]]
    for exclude in ([], excluded):
        least, most = plain.price(s, exclude), several.price(s, exclude)
        bounds = ("edge_bound", "edge_square_sum", "outside_bound")
        assert [getattr(most, name) for name in bounds] == [getattr(least, name) for name in bounds]
        assert most.columns[0].edge == pytest.approx(least.best_edge)
        found = [column.hypothesis for column in most.columns]
        assert set(found) >= {column.hypothesis for column in least.columns}
        assert len(set(found)) == len(found) <= 1 + 3 * parts
        assert not {
            hypothesis.hypothesis if hasattr(hypothesis, "hypothesis") else hypothesis for hypothesis in found
        } & {hypothesis.hypothesis if hasattr(hypothesis, "hypothesis") else hypothesis for hypothesis in exclude}
        edges = [float(np.max(column.hypothesis(X) @ s)) for column in most.columns]
        assert_allclose([column.edge for column in most.columns], edges, atol=1e-12)
        assert (np.diff(edges) <= 1e-12).all()


def test_stumps_of_parts_are_the_best_of_theirs():
    X = np.arange(40.0)[:, None]
    s = np.random.default_rng(1).normal(size=40)
    stumps = list(in_parts(Stumps(X, constant=False), 4).price(s).columns)
    edges = np.abs(s.sum() - 2 * np.cumsum(s)[:-1])
    best = int(edges.argmax())
    expected = sorted(part[edges[part].argmax()] + 0.5 for part in np.array_split(np.arange(39), 4))
    assert best + 0.5 in expected
    assert sorted(column.hypothesis.threshold for column in stumps) == expected


@pytest.mark.parametrize(
    ("n_samples", "n_features", "limit", "expected"),
    [(3999, 1, None, 1), (20_000, 2, None, 10), (6000, 2, 5, 1), (6000, 101, None, 1)],
)
def test_large_samples_have_several_columns_of_a_feature(n_samples, n_features, limit, expected):
    X = np.broadcast_to(np.arange(n_samples)[:, np.newaxis] % 64, (n_samples, n_features))
    assert Stumps(X, columns_per_round=limit, square_sum=False)._n_parts == expected


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.asarray, csc_array]), st.sampled_from([(), (2,)]))
def test_only_the_best_of_all_has_to_be_the_best_of_its_feature(seed, kind, outputs):
    """Other stumps are open ones with the edges that they say, and never better; the winner and bounds are the same."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4)).round(3) * (rng.random((500, 4)) < rng.choice([0.5, 0.9, 1.0], 4))
    s = rng.normal(size=(500, *outputs)) + 0.3 * np.sign(X[:, :1] if outputs else X[:, 0])
    options, parts = {"signs": rng.integers(-1, 2, 4), "costs": rng.choice([1.0, 2.0], 4)}, int(rng.integers(1, 4))
    quick, whole = (Stumps(kind(X), **options, columns_per_round=1000) for _ in range(2))
    quick._n_exact, quick._n_parts, whole._n_parts = 1, parts, parts
    excluded = [column.hypothesis for column in whole.price(s).columns[:3]]
    for exclude in ([], excluded):
        found, expected = quick.price(s, exclude), whole.price(s, exclude)
        assert (found.edge_bound, found.outside_bound) == (expected.edge_bound, expected.outside_bound)
        assert found.columns[0].hypothesis == expected.columns[0].hypothesis
        assert found.best_edge == expected.best_edge
        assert found.edge_square_sum == expected.edge_square_sum
        hypotheses = [column.hypothesis for column in found.columns]
        assert len(set(hypotheses)) == len(hypotheses) == len(expected.columns)
        assert not set(hypotheses) & set(exclude)
        for column in found.columns:
            assert np.max(column.values @ s) == pytest.approx(column.edge, abs=1e-12)
        for own, best in zip(by_feature(found.columns), by_feature(expected.columns), strict=True):
            assert own <= best * (1 + 1e-12)


def by_feature(columns) -> list[float]:
    """The largest edge of the stumps of each feature, and of the constant."""
    best: dict[int, float] = {}
    for column in columns:
        feature = getattr(getattr(column.hypothesis, "hypothesis", column.hypothesis), "feature", -1)
        best[feature] = max(best.get(feature, -np.inf), column.edge)
    return [best[feature] for feature in sorted(best)]


def test_sums_of_squares_are_evaluated_where_they_are_needed(monkeypatch):
    X = np.random.default_rng(0).normal(size=(600, 2))
    s = np.random.default_rng(1).normal(size=600)
    asked = []
    real = Stumps._bound_square_sums
    monkeypatch.setattr(Stumps, "_bound_square_sums", lambda *given: asked.append(1) or real(*given))
    assert Stumps(X).price(s, square_sum=False).edge_square_sum == np.inf
    for formulation, n_rounds in ((formulations.soft_margin(0.1), 0), (formulations.svm(0.1), 2)):
        column_generation(formulation, Stumps(X), np.sign(s), max_rounds=2)
        assert len(asked) == n_rounds
    priced = Stumps(X).price(s)
    square_sum = sum(float(stump(X) @ s) ** 2 for stump in list_stumps(X)) + s.sum() ** 2
    assert priced.edge_square_sum == pytest.approx(square_sum)
    assert priced.rising_square_sum == priced.edge_square_sum
    assert len(asked) == 3
