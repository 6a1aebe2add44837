"""Fits over shards beside those of one machine: seconds, certified gaps, and the bytes that a question costs.

Both on the same two cores, after a fit that compiles: on two workers of a cluster of this machine, and by the estimator
of one machine. Seconds are those of the clock, and those of processors, of the workers, the client and the scheduler
together. Bytes are those that workers have sent, by dask's own counters, and those that they are told, by the length of
their pickles; both per question, the mean of the fit.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from cvxens import InfiniteEnsembleSVC, LPBoostClassifier
from cvxens.dask import DaskInfiniteEnsembleSVC, DaskLPBoostClassifier, ShardedSample

SIZES = (100_000, 1_000_000)
"""Rows."""

N_FEATURES = 20

N_SHARDS, N_WORKERS = 4, 2

TOL = 1e-3

ALONE = {"LPBoostClassifier": 300_000}
"""Rows up to which an estimator of one machine is timed as well: with 1,000 columns boosting has 8 GB at 10^6 rows."""

PRICE = 2.0**-7
"""Of the stump SVM."""


def sample(n_samples: int, seed: int = 0) -> tuple[Any, Any]:
    """Return normal features in single precision and noisy labels of their products."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, N_FEATURES)).astype(np.float32)
    scores = X[:, 0] * X[:, 1] + X[:, 2:6].sum(axis=1) + rng.normal(size=n_samples)
    return X, np.where(scores > 0, 1, -1)


class Told:
    """What shards are told, in bytes, and how often."""

    def __init__(self) -> None:
        self.bytes = self.questions = 0
        self._map_reduce = ShardedSample.map_reduce

    def __enter__(self) -> Told:
        told = self

        def map_reduce(sample: ShardedSample, question: Any, *what: Any, **options: Any) -> Any:
            told.bytes += len(pickle.dumps((question, what)))
            told.questions += 1
            return told._map_reduce(sample, question, *what, **options)

        ShardedSample.map_reduce = map_reduce  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        ShardedSample.map_reduce = self._map_reduce  # type: ignore[method-assign]


def count_sent(client: Any) -> int:
    """Return the bytes that the workers have sent."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def count_seconds(client: Any) -> float:
    """Return the seconds of processors that this process and the workers have had."""
    return process_time() + sum(client.run(process_time).values())


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every size."""
    cluster = LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, n_samples in enumerate((5000, *SIZES)):
            X, y = sample(n_samples)
            chunk = -(-n_samples // N_SHARDS)
            rows = da.from_array(X, chunks=(chunk, N_FEATURES)), da.from_array(y, chunks=chunk)
            pairs = (
                (DaskLPBoostClassifier(C=100 / n_samples, tol=TOL), LPBoostClassifier(C=100 / n_samples, tol=TOL)),
                (DaskInfiniteEnsembleSVC(C=PRICE, tol=TOL), InfiniteEnsembleSVC(C=PRICE, tol=TOL)),
            )
            for over_shards, alone in pairs:
                row = measure(over_shards, client, rows) | {"n": n_samples}
                if n_samples <= ALONE.get(type(alone).__name__, n_samples):
                    start, began = perf_counter(), process_time()
                    alone.fit(X, y)
                    row |= {"alone": perf_counter() - start, "of processors, alone": process_time() - began}
                    row["gap alone"] = alone.certificate_.relative_gap
                if k:
                    yield row


def measure(model: Any, client: Any, rows: tuple[Any, Any]) -> dict[str, Any]:
    """Fit a model over shards, and count what that takes."""
    before, began = count_sent(client), count_seconds(client)
    with Told() as told:
        start = perf_counter()
        model.set_params(client=client).fit(*rows)
        seconds = perf_counter() - start
    return {
        "estimator": type(model).__name__,
        "seconds": seconds,
        "of processors": count_seconds(client) - began,
        "gap": model.certificate_.relative_gap,
        "rounds": len(model.history_),
        "questions": told.questions,
        "KB told": told.bytes / told.questions / 1e3,
        "KB sent": (count_sent(client) - before) / told.questions / 1e3,
        "columns": len(getattr(model, "weights_", ())),
    }
