"""A whole interval of prices to a certified gap everywhere in it, beside one fit at its upper end.

Threenorm with 10 features over all stumps, C from 2 / n to 200 / n. `ratio` is the time of the
path over that of the fit; `gap` holds at every C of the interval, of the fit at its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

from cvxens.colgen import Formulation, column_generation, formulations, solve_path
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_threenorm
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1

N, SHARES, TOL = 2_000, (2.0, 200.0), 1e-3
"""Samples, the ends of the interval of C times their number, and the relative gap."""

FAMILIES = {
    "soft margins (P4)": formulations.soft_margin,
    "l1 logistic": lambda C: Formulation(Logistic(C), L1(), intercept=True),
}


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for a fit and one for a path of every family."""
    X, y = make_threenorm(N, 10, random_state=0)
    low, high = (share / N for share in SHARES)
    for name, family in FAMILIES.items():
        oracle = Stumps(X)
        column_generation(family(low), oracle, y, tol=0.1)
        start, before = perf_counter(), process_time()
        fit = column_generation(family(high), oracle, y, tol=TOL)
        fitted, of_processors = perf_counter() - start, process_time() - before
        yield {
            "family": name,
            "what": f"one fit at C = {high:g}",
            "seconds": fitted,
            "of processors": of_processors,
        } | {
            "ratio": 1.0,
            "runs": 1,
            "rounds": len(fit.history),
            "gap": fit.certificate.relative_gap,
        }
        start, before = perf_counter(), process_time()
        path = solve_path(family, oracle, y, prices=(low, high), tol=TOL)
        seconds = perf_counter() - start
        yield {
            "family": name,
            "what": f"all C from {low:g}",
            "seconds": seconds,
            "of processors": process_time() - before,
            "ratio": seconds / fitted,
            "runs": len(path.points),
            "rounds": sum(len(point.run.history) for point in path.points),
            "gap": path.relative_gap,
        }
