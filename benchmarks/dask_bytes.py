"""Bytes that workers send for a question, by their own counters: the same for any number of rows.

A vote over 200 stumps, 10 of each feature, is asked for what a Newton step needs and for edges by bins, and functions
of the stump SVM for what a step of its needs, with as many rows in doubt as are sent at most, on two workers of a
cluster of this machine. Beside that, what a row costs: seconds of one thread, over rows and features, or rows and pairs
of features, which the model of the cost in docs/dask.md goes by. Rows are made where they are worked with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client, LocalCluster

from benchmarks.dask import N_FEATURES, N_SHARDS, N_WORKERS, TOL, count_sent, sample
from cvxens.dask import ShardedSample, Workers
from cvxens.dask.additive import STEPS, AdditiveSearch
from cvxens.dask.stumps import sum_by_bins
from cvxens.dask.votes import InteriorHinge, Multipliers, VotedStumps, evaluate_shard, exponent_of
from cvxens.hypotheses import Stump
from cvxens.problems.losses import Hinge

SIZES = (100_000, 1_000_000, 10_000_000)
"""Rows."""

ALONE = 1_000_000
"""Rows up to which one thread is timed."""

N_ASKED = 5
"""Times that every question is asked."""


def make_rows(n_samples: int) -> tuple[Any, Any]:
    """Return collections of the sample of the other benchmarks, each shard with a seed of its own."""
    chunk = n_samples // N_SHARDS
    parts = [delayed(sample)(chunk, seed=k) for k in range(N_SHARDS)]
    X = [da.from_delayed(part[0], (chunk, N_FEATURES), np.float32) for part in parts]
    return da.concatenate(X), da.concatenate([da.from_delayed(part[1], (chunk,), np.int64) for part in parts])


def ask_all(rows: ShardedSample, read: Callable[[], float]) -> list[float]:
    """Ask for edges by bins, for a Newton step, and for one of the stump SVM; returns what a reading grows by."""
    stumps = VotedStumps.from_hypotheses(
        [Stump(j, t, 1) for j in range(N_FEATURES) for t in np.linspace(-2, 2, 10)], rows
    )
    exponent = exponent_of(len(rows))
    u = Multipliers(stumps.vote(np.ones(200), 0.0), InteriorHinge(1.0, 1.0), (1.0, 1.0), exponent, len(rows))
    search = AdditiveSearch(rows, 1.0, TOL, [])
    G = search.knots.values / N_FEATURES
    questions = (
        lambda: rows.map_reduce(sum_by_bins, u),
        lambda: rows.map_reduce(evaluate_shard, u, Hinge(1.0), exponent),
        lambda: search._evaluate_along(G, 0.0, STEPS[:1]),
    )
    found = []
    for question in questions:
        before = read()
        for _ in range(N_ASKED):
            question()
        found.append((read() - before) / N_ASKED)
    return found


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every size."""
    cluster = LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client, dask.config.set({"distributed.scheduler.work-stealing": False}):
        for n_samples in SIZES:
            rows = ShardedSample.from_collections(*make_rows(n_samples), workers=Workers(client))
            names = "for bins", "for a Newton step", "for a step of the stump SVM"
            sent = ask_all(rows, partial(count_sent, client))
            row = {"n": n_samples} | {f"KB sent {name}": own / 1e3 for name, own in zip(names, sent, strict=True)}
            del rows
            if n_samples <= ALONE:
                alone = ShardedSample.from_collections(*make_rows(n_samples), workers=InOneThread())
                of_bins, of_newton, of_machine = ask_all(alone, process_time)
                row["ns a row and feature, bins"] = 1e9 * of_bins / n_samples / N_FEATURES
                row["ns a row and pair, Newton step"] = (
                    1e9 * of_newton / n_samples / (N_FEATURES * (N_FEATURES - 1) / 2)
                )
                row["ns a row and feature, stump SVM"] = 1e9 * of_machine / n_samples / N_FEATURES
            yield row


class InOneThread(Workers):
    """The thread that asks, whatever client there is."""

    def __init__(self) -> None:
        self.client, self._scheduler = None, {"scheduler": "sync"}
