"""How time and memory of LPBoost over all stumps grow with samples, features, the price of slack and columns.

Threenorm, LL08 P4 to a relative gap of `TOL`; one of the three is varied at a time. The last rows are exponents: the
slopes of straight lines through the logarithms, of seconds of processors and of memory, of samples from `LARGE` on, as
what is small costs what everything costs. Each run has a process of its own, whose peak memory is counted above what it
begins with.
"""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

import numpy as np

from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_threenorm

TOL = 1e-2
"""The relative gap."""

SAMPLES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
FEATURES = (5, 10, 20, 40, 80)
PRICES = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
"""The samples, at 10 features and C = 20 / n; the features, at 5,000; C n, at 10,000 x 10."""

LARGE = 10_000
"""Samples from which on exponents are found."""

SHORT = {"SAMPLES": (1_000, 3_000, 10_000, 30_000), "FEATURES": (5, 10, 20), "PRICES": (5.0, 10.0, 20.0)}


def measure(n: int, d: int, price: float, found: Any) -> None:
    """Run once, and put down seconds, memory and what was found."""
    X, y = make_threenorm(n, d, random_state=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, used = perf_counter(), process_time()
    run = column_generation(formulations.soft_margin(price / n), Stumps(X, square_sum=False), y, tol=TOL)
    found.put(
        {
            "samples": n,
            "features": d,
            "C n": price,
            "seconds": perf_counter() - start,
            "of processors": process_time() - used,
            "GB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20,
            "gap": run.certificate.relative_gap,
            "columns": len(run.columns),
            "rounds": len(run.history),
        }
    )


def run_apart(n: int, d: int, price: float) -> dict[str, Any]:
    """Run in a process of its own, which ends with it."""
    context = multiprocessing.get_context("fork")
    found = context.SimpleQueue()
    process = context.Process(target=measure, args=(n, d, price, found))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"{n} x {d} at C = {price:g} / n ended with {process.exitcode}")
    row: dict[str, Any] = found.get()
    return row


def find_exponent(x: list[float], values: list[float]) -> float:
    """Return the slope of a straight line through logarithms."""
    return float(np.polyfit(np.log(x), np.log(np.maximum(values, 1e-6)), 1)[0])


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every run, then one for every exponent."""
    # what is compiled is compiled before
    for n in (2_000, 6_000, 70_000):
        X, y = make_threenorm(n, 2, random_state=1)
        column_generation(formulations.soft_margin(20.0 / n), Stumps(X, square_sum=False), y, tol=0.1)
    sweeps = {
        "samples": [(n, 10, 20.0) for n in SAMPLES],
        "features": [(5_000, d, 20.0) for d in FEATURES],
        "C n": [(10_000, 10, price) for price in PRICES],
    }
    exponents = []
    for name, points in sweeps.items():
        rows = []
        for point in points:
            rows.append({"varied": name, **run_apart(*point)})
            yield rows[-1]
        for against in (name, *(["columns"] if name == "C n" else [])):
            last = [row for row in rows if name != "samples" or row["samples"] >= LARGE]
            x = [float(row[against]) for row in last]
            found = {f"exponent of {of}": find_exponent(x, [row[of] for row in last]) for of in ("of processors", "GB")}
            exponents.append({"varied": f"{name}: by {against}", **found})
    yield from exponents
