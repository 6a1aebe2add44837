from fractions import Fraction
from math import inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cvxens.dask.tallies import add, sum_exactly, to_float

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(arrays(np.float64, st.integers(0, 12), elements=FLOATS), st.integers(0, 12))
def test_a_sum_is_exact_and_the_same_however_it_is_cut(values, at):
    whole = sum_exactly(values)
    exact = sum(map(Fraction, values.tolist()), Fraction(0))
    parts = [sum_exactly(values[at:].copy()), sum_exactly(values[:at].copy())]
    assert to_float(add(parts)) == to_float(whole)
    try:
        assert to_float(whole) == float(exact)
    except OverflowError:
        assert abs(to_float(whole)) == inf


def test_a_sum_with_infinity_is_infinite():
    assert to_float(sum_exactly(np.array([1.0, inf]))) == inf
