"""Oracles over infinite sets: hypotheses are sampled, block by block, and the best of them perhaps refined.

A block is an exact oracle over as many sampled hypotheses as fit into memory. Blocks that are drawn once make an exact
oracle over a fixed finite set; drawn anew in every call they are a heuristic over the infinite one, and prove nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from math import inf
from typing import Any, ClassVar

import numpy as np

from cvxens.colgen.oracles.pool import rank, unite
from cvxens.colgen.protocols import Column, Priced
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.limits import in_time
from cvxens.types import Array
from cvxens.validation import generator, samples, signed_weights, whole

CHUNK_SIZE = 2**20
"""Values of hypotheses that are held at a time: 8 MiB, which a cache nearly holds."""


class SampledOracle(ABC):
    """An oracle over sampled hypotheses, anew in every call if `resample`.

    `refinement` is the value of the parameter `refinement_name`: above 0, hypotheses are refined, the `n_refined` best.
    """

    refinement_name: ClassVar[str]
    negations = True
    largest = 1.0
    votes = True

    def __init__(self, X: Any, resample: bool, columns_per_round: int, random_state: Any, refinement: int) -> None:
        self.sample = samples(X)
        self.resample = resample
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        if whole(self.refinement_name, refinement, least=0) and not resample:
            found = f"{self.refinement_name}={refinement} needs resample=True"
            raise InvalidInput(self.refinement_name, found, "a fixed set cannot be refined")
        self._random = generator(random_state)
        self._fixed: list[Any] = []
        self.n_refined = 0

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best hypotheses, as `Oracle.price` says; the bounds over sampled ones are infinite."""
        s = signed_weights(s, len(self.sample))
        blocks: Iterable[Any] = self._fixed or self._draw_blocks()
        found = unite((block.price(s, exclude, row_norm) for block in in_time(blocks)), self._n_kept)
        if not self.resample:
            return found
        best, others = found.columns[: self.n_refined], found.columns[self.n_refined :]
        refined = [self._refine(column, s, exclude, row_norm) for column in in_time(best)]
        return Priced(rank([*refined, *others], self.columns_per_round), distinct=True)

    @property
    def _n_kept(self) -> int:
        return max(self.columns_per_round, self.n_refined)

    @abstractmethod
    def _draw_blocks(self) -> Iterator[Any]:
        """Sample hypotheses, and yield them as exact oracles."""

    @abstractmethod
    def _refine(self, column: Column, s: Array, exclude: Collection[Hypothesis], row_norm: float) -> Column:
        """Return a column of an edge at least as large."""


def unit_directions(random: np.random.Generator, n_directions: int, n_features: int) -> Array:
    """Draw directions uniformly on the unit sphere, shape (n_directions, n_features).

    On a line, where the sphere is {-1, +1} and h covers -h, the one direction +1 is returned.
    """
    if n_features == 1:
        return np.ones((1, 1))
    directions = random.standard_normal((n_directions, n_features))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def chunks(n_directions: int, n_samples: int) -> Iterator[slice]:
    """Cut the directions so that the projections of a chunk are about a million numbers.

    Examples
    --------
    >>> list(chunks(1000, 2000))
    [slice(0, 524, None), slice(524, 1048, None)]
    """
    size = max(1, CHUNK_SIZE // n_samples)
    return (slice(start, start + size) for start in range(0, n_directions, size))
