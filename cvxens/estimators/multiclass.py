"""Several classes by methods for two: the sub-problems of one-vs-rest and one-vs-one, and how their scores combine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import _ovr_decision_function

from cvxens.types import Array

Scheme: TypeAlias = Callable[[NDArray[np.intp], int], Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]]
"""From labels and the number of classes to problems: the rows of each (a mask), and their labels, 0 and 1."""


def split_rest(labels: NDArray[np.intp], n_classes: int) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Yield a problem per class: all samples, 1 for those of the class."""
    for k in range(n_classes):
        yield np.full(len(labels), True), (labels == k).astype(np.intp)


def split_pairs(labels: NDArray[np.intp], n_classes: int) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Yield a problem per pair of classes: the samples of both, 1 for those of the second one."""
    for first, second in combinations(range(n_classes), 2):
        rows = (labels == first) | (labels == second)
        yield rows, (labels[rows] == second).astype(np.intp)


SCHEMES: Mapping[str, Scheme] = {"ovr": split_rest, "ovo": split_pairs}
"""One-vs-rest and one-vs-one, with their problems in the order of scikit-learn."""


def combine_scores(multi_class: str, scores: Array, n_classes: int) -> Array:
    """Return scores of classes (n_samples, n_classes) from those of sub-problems (n_samples, n_parts).

    One-vs-rest takes the scores themselves; pairs vote, and the sums of their scores settle ties, as in scikit-learn.
    """
    return scores if multi_class == "ovr" else _ovr_decision_function((scores > 0).astype(int), scores, n_classes)


def name_sides(multi_class: str, classes: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the sides of negative and of positive scores of every sub-problem, in their order.

    Examples
    --------
    >>> name_sides("ovr", ["cat", "cow", "dog"])
    [('rest', 'cat'), ('rest', 'cow'), ('rest', 'dog')]
    >>> name_sides("ovo", ["cat", "cow", "dog"])
    [('cat', 'cow'), ('cat', 'dog'), ('cow', 'dog')]
    """
    names = [str(label) for label in classes]
    return [("rest", name) for name in names] if multi_class == "ovr" else list(combinations(names, 2))
