"""Bytes that workers send for a question, by their own counters: the same for any number of rows.

A vote over 200 stumps, 10 of each feature, is asked for what a Newton step needs and for edges by bins, on two workers
of a cluster of this machine. Beside that, what a row costs: seconds of one thread, over rows and features, or rows and
pairs of features, which the model of the cost in docs/dask.md goes by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.dask import N_FEATURES, N_SHARDS, N_WORKERS, count_sent, sample
from cvxens.dask import ShardedSample, Workers
from cvxens.dask.stumps import _ask_bins
from cvxens.dask.votes import InteriorHinge, Multipliers, Stumps, exponent_of, take_stock
from cvxens.hypotheses import Stump
from cvxens.problems.losses import Hinge

SIZES = (100_000, 1_000_000)
"""Rows."""

N_ASKED = 10
"""Times that every question is asked."""


def ask_both(rows: ShardedSample, read: Callable[[], float]) -> tuple[float, float]:
    """Ask for edges by bins and for a Newton step; returns what a reading grows by each time."""
    stumps = Stumps.from_hypotheses([Stump(j, t, 1) for j in range(N_FEATURES) for t in np.linspace(-2, 2, 10)], rows)
    exponent = exponent_of(len(rows))
    u = Multipliers(stumps.vote(np.ones(200), 0.0), InteriorHinge(1.0, 1.0), (1.0, 1.0), exponent, len(rows))
    readings = [read()]
    for _ in range(N_ASKED):
        rows.ask(_ask_bins, u)
    readings.append(read())
    for _ in range(N_ASKED):
        rows.ask(take_stock, u, Hinge(1.0), exponent)
    readings.append(read())
    by_bins, by_newton = np.diff(readings).tolist()
    return by_bins / N_ASKED, by_newton / N_ASKED


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every size."""
    cluster = LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client, dask.config.set({"distributed.scheduler.work-stealing": False}):
        for n_samples in SIZES:
            X, y = sample(n_samples)
            chunk = -(-n_samples // N_SHARDS)
            collections = da.from_array(X, chunks=(chunk, N_FEATURES)), da.from_array(y, chunks=chunk)
            rows = ShardedSample.from_collections(*collections, workers=Workers(client))
            by_bins, by_newton = ask_both(rows, partial(count_sent, client))
            with dask.config.set(scheduler="sync"):
                alone = ShardedSample.from_collections(*collections, workers=InOneThread())
                of_bins, of_newton = ask_both(alone, process_time)
            yield {
                "n": n_samples,
                "KB sent for bins": by_bins / 1e3,
                "KB sent for a Newton step": by_newton / 1e3,
                "ns a row and feature, bins": 1e9 * of_bins / n_samples / N_FEATURES,
                "ns a row and pair, Newton step": 1e9 * of_newton / n_samples / (N_FEATURES * (N_FEATURES - 1) / 2),
            }


class InOneThread(Workers):
    """The thread that asks, whatever client there is."""

    def __init__(self) -> None:
        self.client = None
