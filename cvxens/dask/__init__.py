"""Column generation where no machine has all rows: the estimators of the library on Dask, to the same bits."""

from __future__ import annotations

from cvxens.dask.shards import ShardedSample, Workers
from cvxens.dask.stumps import DaskStumps

__all__ = ["DaskStumps", "ShardedSample", "Workers"]
