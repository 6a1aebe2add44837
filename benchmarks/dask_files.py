"""Fits of ten million rows from Parquet, by the threads of one machine: seconds, the certified gap, and memory.

Rows are generated into files of a temporary folder, 0.8 GB in single precision. Fits keep their shards in files
there, so that no more of them than threads are worked on at a time; each ends after ten minutes at the latest, with the
gap that it has by then. Memory is the largest that the process has had so far, mapped files included.
"""

from __future__ import annotations

import resource
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from benchmarks.dask import N_FEATURES, PRICE, TOL, sample
from cvxens.dask import DaskInfiniteEnsembleSVC, DaskLPBoostClassifier

N_ROWS, N_FILES = 10_000_000, 20

MAX_TIME = 600.0
"""Seconds of the fit itself; reading and coding come before."""

CHUNK = 100_000
"""Rows that are made at a time."""


def write_rows(folder: Path, n_rows: int, n_files: int) -> None:
    """Write the sample of the other benchmarks, each chunk with a seed of its own, into Parquet files."""
    names = [f"x{j}" for j in range(N_FEATURES)]
    for k in range(n_files):
        parts = []
        for at in range(0, n_rows // n_files, CHUNK):
            X, y = sample(min(CHUNK, n_rows // n_files - at), seed=k * n_rows + at)
            parts.append(pd.DataFrame(X, columns=names).assign(label=y.astype(np.int8)))
        pd.concat(parts).to_parquet(folder / f"part-{k:03}.parquet")


def run(n_rows: int = N_ROWS, n_files: int = N_FILES, max_time: float = MAX_TIME) -> Iterator[dict[str, Any]]:
    """Yield a row for the stump SVM, and one for boosting."""
    with TemporaryDirectory() as folder, dask.config.set(scheduler="threads"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = Path(folder) / "rows"
        rows.mkdir()
        write_rows(rows, n_rows, n_files)
        written = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        table = dd.read_parquet(rows)
        for kind, C in ((DaskInfiniteEnsembleSVC, PRICE), (DaskLPBoostClassifier, 100 / n_rows)):
            start, began = perf_counter(), process_time()
            model = kind(C=C, tol=TOL, max_time=max_time, persist=Path(folder) / kind.__name__)
            model.fit(table.drop(columns="label"), table["label"])
            yield {
                "estimator": kind.__name__,
                "n": n_rows,
                "seconds": perf_counter() - start,
                "of processors": process_time() - began,
                "gap": model.certificate_.relative_gap,
                "rounds": len(model.history_),
                "columns": len(getattr(model, "weights_", ())),
                "GB at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
                "GB while writing": written / 1e6,
            }
