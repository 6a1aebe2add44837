"""A start from some of the rows: a sample drawn from all shards is solved first, where the client is.

On many rows most steps only find out roughly which weak learners are wanted, and how much of each; a part of the rows
says that as well. Rows are drawn by their number, so that start and fit are the same bits whatever the shards are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from cvxens.dask.shards import Shard, ShardedSample, Workers, combine_extremes, draw_rows
from cvxens.dask.tallies import Places, find_extremes, join
from cvxens.dask.votes import VotedStumps
from cvxens.features import find_middles
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.types import Array

MANY_ROWS = 2**18
"""Rows from which on some are solved first: with fewer it takes as long as the steps that it saves."""

N_DRAWN = 2**16
"""About so many rows are drawn; they are sent to the client, in single precision with 20 features 5 MB."""


@dataclass(frozen=True)
class Start:
    """Weights to begin with, and the distance of the hinge's neighbour at which they were found."""

    hypotheses: tuple[Hypothesis, ...]
    w: Array  # (n_hypotheses,)
    b: float
    distance: float

    def among(self, oracle: Any) -> Start:
        """Return the start with those alone that have a weight and are hypotheses of an oracle."""
        used = [j for j in np.flatnonzero(self.w).tolist() if self.hypotheses[j] in oracle]
        return replace(self, hypotheses=tuple(self.hypotheses[j] for j in used), w=self.w[used])


def draw_sample(sample: ShardedSample) -> ShardedSample | None:
    """Draw rows by their numbers, as a sample of this process; None where there are few, or they are of one kind."""
    if len(sample) < MANY_ROWS:
        return None
    counts = sample.counts
    firsts, share = (np.cumsum(counts) - counts).tolist(), N_DRAWN / float(counts.sum())
    values, y, weights = sample.map_reduce(take_drawn, share, each=firsts, combine=join)
    if len(np.unique(y)) < 2 or (np.ptp(values, axis=1) == 0).all():
        return None
    # rows that a thread of the client works on at a time
    chunk = min(2**15, ceil(len(y) / 2))
    rows = (da.from_array(own, chunks=(chunk, *own.shape[1:]), name=False) for own in (values.T, y, weights))
    return ShardedSample.from_collections(*rows, workers=Workers.here())


def take_drawn(shard: Shard, first: int, share: float) -> tuple[NDArray, Array, Array]:
    """Return values, signs and weights of the rows of a shard that are drawn; its first one has this number."""
    kept = draw_rows(np.arange(first, first + shard.n_rows, dtype=np.uint64), share)
    return shard.values[:, kept], shard.y[kept], shard.weights[kept]


def snap_to_sample(start: Start, sample: ShardedSample) -> Start:
    """Replace each stump by the middle stump of the sample with the same values; equal ones add their weights."""
    stumps = VotedStumps.from_hypotheses(start.hypotheses, sample)
    cells = stumps.places.cells
    # of every cell the least value and the largest one, inf and -inf where it has none
    least, negated = sample.map_reduce(find_beside, stumps.places, combine=combine_extremes)
    largest = -negated
    weights: dict[Hypothesis, float] = {}
    for hypothesis, split, w in zip(start.hypotheses, stumps.first_above.tolist(), start.w.tolist(), strict=True):
        own = hypothesis
        if isinstance(hypothesis, Stump):
            # the cells of its feature: it is -sign in those before the split, and sign in the others
            first, end = cells[hypothesis.feature : hypothesis.feature + 2]
            below, above = largest[first:split].max(), least[split:end].min()
            if below == -inf:
                own = Constant(hypothesis.sign)
            elif above == inf:
                own = Constant(-hypothesis.sign)
            else:
                own = replace(hypothesis, threshold=float(find_middles(below, above)))
        weights[own] = weights.get(own, 0.0) + w
    return replace(start, hypotheses=tuple(weights), w=np.array(list(weights.values())))


def find_beside(shard: Shard, places: Places) -> Array:
    """Return the least value between neighbouring places, and minus the largest one, (2, n_cells)."""
    return find_extremes(shard.values, shard.find_cells(places), places.cells)
