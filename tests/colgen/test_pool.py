import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles.pool import Pool
from cvxens.hypotheses import Scaled, TabulatedColumn


def shift(X):
    return X[:, 0] - 1.0


small = st.integers(-3, 3).map(float)


@given(data=st.data(), n=st.integers(1, 6), m=st.integers(1, 8), k=st.integers(1, 3), limit=st.integers(1, 9))
def test_prices_every_column_with_ties_and_outputs(data, n, m, k, limit):
    H = data.draw(arrays(float, (n, m), elements=small))
    s = data.draw(arrays(float, (n, k), elements=small))
    brute = [max(abs(sum(s[i, o] * H[i, j] for i in range(n))) for o in range(k)) for j in range(m)]
    priced = Pool(H, columns_per_round=limit).price(s)
    expected = sorted(range(m), key=lambda j: (-brute[j], j))[:limit]
    assert [column.hypothesis.index for column in priced.columns] == expected
    assert [column.edge for column in priced.columns] == [brute[j] for j in expected]
    assert max(brute) <= priced.edge_bound <= max(brute) + 1e-12 * (1 + np.abs(s).sum())
    squares = np.sum((H.T @ s) ** 2)
    assert squares <= priced.edge_square_sum <= squares + 1e-12 * (1 + squares)
    for column in priced.columns:
        assert (s.T @ column.values).max() == column.edge


@given(seed=st.integers(0, 2**32 - 1))
def test_bounds_cover_the_rounding_of_the_product(seed):
    random = np.random.default_rng(seed)
    H, s = random.standard_normal((50, 20)), random.standard_normal(50)
    exact = np.abs(H.T.astype(np.longdouble) @ s.astype(np.longdouble)).max()
    priced = Pool(H).price(s)
    assert exact <= priced.edge_bound <= exact * (1 + 1e-10)
    squares = ((H.T.astype(np.longdouble) @ s.astype(np.longdouble)) ** 2).sum()
    assert squares <= priced.edge_square_sum <= squares * (1 + 1e-10)


def test_a_pool_of_functions_answers_with_them_and_their_negations():
    X = np.array([[0.0], [1.0], [5.0]])
    first, second = pickle.loads(pickle.dumps(Pool.of([np.ravel, shift], X))).price(np.array([-1.0, -2.0, 0.0])).columns
    assert first.hypothesis == Scaled(np.ravel, -1.0)
    assert first.edge == 2.0
    assert second.hypothesis is shift
    assert second.edge == 1.0
    np.testing.assert_array_equal(first.hypothesis([[7.0]]), [-7.0])
    np.testing.assert_array_equal(first.values, [0.0, -1.0, -5.0])
    assert str(first.hypothesis) == f"-({np.ravel})"


def test_columns_are_values_and_pickle():
    column = Pool(np.eye(2)).price(np.array([0.0, -1.0])).columns[0]
    assert column.hypothesis == TabulatedColumn(1, 2, -1)
    assert len({column.hypothesis, TabulatedColumn(1, 2, -1), TabulatedColumn(1, 2, 1)}) == 2
    assert pickle.loads(pickle.dumps(Pool(np.eye(2)))).price(np.ones(2)).columns[0].edge == 1.0


def test_a_one_sided_pool_tells_the_squares_of_edges_above_0():
    H, s = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([1.0, -3.0])
    one_sided, both = (Pool(H, negations=negations).price(s) for negations in (False, True))
    assert one_sided.edge_square_sum == both.edge_square_sum == both.rising_square_sum == pytest.approx(2.0)
    assert one_sided.rising_square_sum == pytest.approx(1.0)


def test_the_rounding_of_a_column_in_large_units_does_not_hide_the_edges_of_others():
    H = np.array([[0.2, 0.7, -1e14], [0.6, 0.1, -1e14], [-0.5, -1.0, -1e14]])
    # that is no proof that nothing separates, as the first two do; nor is there one of anything else
    run = column_generation(formulations.hard_margin(), Pool(H, columns_per_round=1), [-1.0, 1.0, 1.0])
    assert not run.certificate.proven
