"""Sorted features."""

import numpy as np
import pytest

from cvxens.errors import InvalidInput
from cvxens.features import SortedFeatures


def test_order_values_changes():
    X = np.random.default_rng(0).integers(0, 5, (20, 3)) / 4
    features = SortedFeatures(X)
    for j in range(3):
        assert (features.values[j] == np.sort(X[:, j])).all()
        assert (X[features.order[j], j] == features.values[j]).all()
        assert features.changes[j].sum() == len(np.unique(X[:, j])) - 1


@pytest.mark.parametrize(
    "pair",
    [
        (1.0, np.nextafter(1.0, 2)),
        (0.0, 5e-324),
        (-1.7e308, 1.7e308),
        (1.7e308, np.nextafter(1.7e308, np.inf)),
    ],
)
def test_threshold_separates(pair):
    threshold = SortedFeatures(np.array([pair]).T).threshold(0, 1)
    assert pair[0] < threshold <= pair[1]


@pytest.mark.parametrize(
    "X", [[[np.nan], [1.0]], [[1.0, 2.0]], np.ones((4, 2)), np.empty((0, 3)), [["a"], ["b"]], [1.0, 2.0]]
)
def test_bad_samples(X):
    with pytest.raises(InvalidInput, match=r"^X: "):
        SortedFeatures(X)
