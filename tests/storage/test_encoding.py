"""Values are read from JSON as they were written, and nothing else is made."""

import json
import os
from math import inf
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cvxens.storage import Encoding, loaded, loaded_record, nothing_else, qualified_name
from cvxens.trees import Feature

PLAIN = Encoding(nothing_else, nothing_else)


class Pair(NamedTuple):
    first: object
    second: object


def again(value, encoding=PLAIN):
    return encoding.read(json.loads(json.dumps(encoding.write(value))))


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda parts: (
        st.lists(parts)
        | st.lists(parts).map(tuple)
        | st.dictionaries(st.text() | st.integers(), parts)
        | st.builds(Pair, parts, parts)
    ),
    max_leaves=10,
)


def same(a, b):
    """Whether values are equal and of equal types, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


@settings(deadline=None, max_examples=100)
@given(VALUES)
def test_values_are_read_as_they_were_written(value):
    assert same(again(value), value)


@pytest.mark.parametrize("value", [inf, (1.0, -0.0), {"state": 2**100}, {1: "a", 2.5: "b"}, Feature("x", ("a", "b"))])
def test_odd_values_too(value):
    assert same(again(value), value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array(2.5),
        np.zeros((0, 2)),
        np.array([True]),
        np.array([np.nan, -0.0]),
        np.array(["no", "maybe"]),
        np.array(["no", 3, None, 2.5], object),
        np.array([["a", "b"]], object),
        np.arange(4, dtype=np.uint8),
    ],
)
def test_arrays_are_read_as_they_were_written(array):
    read = again(array)
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    assert_array_equal(read, array)


@pytest.mark.parametrize(
    "value", [np.float64(0.1), np.float32(0.1), np.int8(3), np.True_, np.str_("a"), np.float64(inf)]
)
def test_numbers_of_numpy_keep_their_type(value):
    assert same(again(value), value)


def test_what_is_not_plain_is_refused():
    with pytest.raises(TypeError, match="set is not made of"):
        PLAIN.write({1})
    with pytest.raises(TypeError, match="set is not made of"):
        PLAIN.write(np.array([{1}], object))
    with pytest.raises(TypeError, match="not made of"):
        PLAIN.write(np.array(["2020-01-01"], "datetime64[D]"))


@pytest.mark.parametrize(
    "name", ["os:system", "os:path.join", "os", "os:", ":", "nowhere:Thing", "cvxens.storage.file:Path", "json:loads"]
)
def test_only_records_are_found(name):
    with pytest.raises(TypeError, match="is not a dataclass at the top of a loaded module"):
        PLAIN.read({"record": name, "of": ["true"]})


def test_a_record_is_known_by_its_own_name_only():
    assert loaded_record(qualified_name(Feature)) is Feature
    with pytest.raises(TypeError, match="is not a dataclass"):
        loaded_record(f"{__name__}:Feature")


def test_what_is_loaded():
    assert loaded("os:path.join") is os.path.join
    assert loaded("os:path.nothing") is None
    assert loaded("nowhere:path") is None
