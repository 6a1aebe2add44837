"""Column generation where no machine has all rows: estimators on Dask, to the same bits on any number of workers."""

from __future__ import annotations

from cvxens.dask.additive import DaskInfiniteEnsembleSVC
from cvxens.dask.estimators import DaskCGEnsClassifier, DaskColumnGenerationClassifier, DaskLPBoostClassifier
from cvxens.dask.shards import ShardedSample, Workers
from cvxens.dask.stumps import DaskQuantileStumps, DaskStumps

__all__ = [
    "DaskCGEnsClassifier", "DaskColumnGenerationClassifier", "DaskInfiniteEnsembleSVC", "DaskLPBoostClassifier",
    "DaskQuantileStumps", "DaskStumps", "ShardedSample", "Workers",
]  # fmt: skip
