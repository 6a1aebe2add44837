"""Stumps leaves out the hypotheses that the master has, and still counts them in its bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cvxens.colgen.oracles import Constant, Stump, Stumps


def all_stumps(X: np.ndarray) -> list[Stump]:
    """Every middle stump of sign +1."""
    return [
        Stump(j, (low + high) / 2, 1)
        for j in range(X.shape[1])
        for low, high in zip(np.unique(X[:, j])[:-1], np.unique(X[:, j])[1:], strict=True)
    ]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans(), st.booleans())
def test_the_best_outside_of_every_feature_by_brute_force(seed, n_outputs, zeros, stored_sparse) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0 if zeros else 1, 5, (12, 3)).astype(float)
    X[0, 0], X[1, 0] = 1.0, 2.0
    s = rng.integers(-8, 9, (12, n_outputs)).astype(float)
    stumps = all_stumps(X)
    taken = [stump for stump in stumps if rng.random() < 0.5]
    inside = {Stump(h.feature, h.threshold, int(rng.choice([-1, 1]))) for h in taken} | {Constant(-1)}
    oracle = Stumps(sparse.csc_array(X) if stored_sparse else X)
    priced, everything = oracle.price(s, exclude=inside), oracle.price(s)
    expected = {}
    for stump in stumps:
        if stump not in taken:
            edge = np.abs(stump(X) @ s).max()
            expected[stump.feature] = max(expected.get(stump.feature, 0.0), edge)
    assert {c.hypothesis.feature: c.edge for c in priced.columns} == pytest.approx(expected)
    assert all(Stump(c.hypothesis.feature, c.hypothesis.threshold, 1) not in taken for c in priced.columns)
    assert all(np.abs(c.values @ s).max() == pytest.approx(c.edge) for c in priced.columns)
    assert (priced.edge_bound, priced.edge_square_sum) == (everything.edge_bound, everything.edge_square_sum)


def test_nothing_is_left_when_all_are_inside() -> None:
    X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    inside = {Stump(0, 0.5, 1), Stump(0, 1.5, -1), Constant(1)}
    priced = Stumps(X).price(np.array([1.0, -2.0, 3.0]), exclude=inside)
    assert list(priced.columns) == []
    assert priced.edge_bound == pytest.approx(4.0)


@settings(deadline=None, max_examples=5)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.asarray, sparse.csc_array]), st.sampled_from([(), (2,)]))
def test_only_the_best_of_all_has_to_be_the_best_of_its_feature(seed, kind, outputs) -> None:
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


def test_sums_of_squares_are_evaluated_when_they_are_read(monkeypatch) -> None:
    X = np.random.default_rng(0).normal(size=(600, 2))
    s = np.random.default_rng(1).normal(size=600)
    asked = []
    real = Stumps._bound_square_sums
    monkeypatch.setattr(Stumps, "_bound_square_sums", lambda *given: asked.append(1) or real(*given))
    priced = Stumps(X).price(s)
    assert not asked
    assert priced.without_squares().edge_square_sum == np.inf
    square_sum = sum(float(stump(X) @ s) ** 2 for stump in all_stumps(X)) + s.sum() ** 2
    assert priced.edge_square_sum == pytest.approx(square_sum)
    assert priced.rising_square_sum == priced.edge_square_sum
    assert len(asked) == 1
    assert priced.without_squares() is priced
    with pytest.raises(AttributeError, match="'Priced' object has no attribute 'bound'"):
        priced.bound  # noqa: B018
