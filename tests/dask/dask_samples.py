"""Samples cut into shards, for the tests of this folder."""

import dask.array as da
import numpy as np

from cvxens.dask import ShardedSample, Workers


def cut(values, ends):
    """A dask array whose chunks end at these rows."""
    chunks = tuple(np.diff([0, *ends, len(values)]).tolist())
    return da.from_array(values, chunks=(chunks, -1) if values.ndim == 2 else (chunks,))


def sharded(X, y, ends=(), weights=None, **options):
    """A sample whose shards end at these rows."""
    collections = [None if values is None else cut(np.asarray(values), ends) for values in (X, y, weights)]
    return ShardedSample.from_collections(*collections, workers=Workers(), **options)


def two_classes(n=60, d=3, seed=0, noise=0.5):
    """A sample that stumps separate but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = [-1.0, 1.0]
    return X, y
