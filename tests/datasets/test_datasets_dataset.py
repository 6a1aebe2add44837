import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.datasets import Dataset, as_signs
from cvxens.datasets.dataset import clean_labels
from cvxens.errors import InvalidInput


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["10", "9", "9"], [1, -1, -1]),
        ([0, 1, 0], [-1, 1, -1]),
        ([False, True], [-1, 1]),
        ([2.5, -1.0], [1, -1]),
        (["spam", "ham"], [1, -1]),
        (np.array(["2", 10], dtype=object), [-1, 1]),
    ],
)
def test_the_larger_label_is_positive(labels, expected):
    y = as_signs(labels)
    assert (y.tolist(), y.dtype) == (expected, np.float64)
    # one class alone is translated with the classes given
    assert as_signs(labels[:1], classes=labels).tolist() == expected[:1]


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=2, unique=True),
    st.lists(st.booleans(), min_size=1, max_size=20),
)
def test_signs_do_not_depend_on_how_labels_are_written(pair, choice):
    low, high = sorted(pair)
    labels = [low, high, *(high if c else low for c in choice)]
    expected = [-1.0, 1.0, *(1.0 if c else -1.0 for c in choice)]
    assert as_signs(labels).tolist() == expected
    assert as_signs([str(label) for label in labels]).tolist() == expected
    assert as_signs(np.array(labels, dtype=np.int16)).tolist() == expected


@pytest.mark.parametrize(
    ("labels", "classes", "words"),
    [
        (["a", "b", "c", "a"], None, ["not two classes but 3", "a: 2, b: 1, c: 1"]),
        ([7, 7], None, ["not two classes but 1", "7: 2"]),
        (list(range(30)), None, ["not two classes but 30", "11: 1, ..."]),
        (["c"], ["a", "b"], ["outside the classes a and b", "c: 1"]),
        ([[1, 2]], None, ["shape (1, 2)"]),
        ([], None, ["shape (0,)"]),
        ([1.0, np.nan], None, ["nan"]),
        (["a", np.nan], None, ["missing label 'nan'"]),
        ([1.0, np.inf], None, ["inf"]),
    ],
)
def test_labels_that_are_not_two_classes(labels, classes, words):
    with pytest.raises(InvalidInput) as caught:
        as_signs(labels, classes=classes)
    assert all(word in str(caught.value) for word in words)


def test_a_data_set_translates_both_parts_alike():
    data = Dataset(np.eye(2), np.array(["n", "y"]), ("a", "b"), "d", X_test=np.eye(2), y_test=np.array(["y", "y"]))
    signed = data.as_signs()
    assert signed.y.tolist() == [-1, 1]
    assert signed.y_test.tolist() == [1, 1]
    assert signed.X is data.X
    assert data.y.tolist() == ["n", "y"]


def test_labels_keep_their_values():
    assert clean_labels([1.0, 2.0]).dtype == np.int64
    assert clean_labels([1.5, 2.0]).tolist() == [1.5, 2.0]
    assert clean_labels([2.0**60, 1.0]).dtype == np.float64
    assert clean_labels(["1_0", "2"]).tolist() == ["1_0", "2"]
