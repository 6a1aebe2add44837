"""How the additive solver's time and memory grow with the sample, to a certified relative gap of 1e-3.

Threenorm with 20 features: sizes at C = 2^-7, and prices at 100,000 samples. `data MB` is the size of X, and `peak MB`
the most memory that the fit's process, one of its own for every row, has used for everything: libraries, drawing the
sample, and the fit. About five minutes on two cores.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Iterator
from typing import Any

from cvxens.datasets import make_threenorm
from cvxens.solvers.additive import AdditiveSVM, solve_additive_svm

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
N, CS = 100_000, (2.0**-5, 1.0, 8.0)
C, TOL = 2.0**-7, 1e-3

SHORT = {"SIZES": (10_000, 30_000, 100_000), "N": 20_000}
"""For a run of a minute."""


def measure(n: int, C: float) -> dict[str, Any]:
    """Solve the stump SVM on `n` samples of threenorm once; return its row of the table."""
    # with systems of all sizes, so that all is compiled
    solve_additive_svm(AdditiveSVM.of(*make_threenorm(5_000, 20, random_state=0), 1.0), 1e-2)
    X, y = make_threenorm(n, 20, random_state=0)
    start = time.perf_counter()
    problem = AdditiveSVM.of(X, y, C)
    sorting = time.perf_counter() - start
    solution = solve_additive_svm(problem, TOL)
    seconds = time.perf_counter() - start
    return {
        "n": n,
        "C": C,
        "seconds": seconds,
        "sorting s": sorting,
        "us per sample": 1e6 * seconds / n,
        "objective": solution.objective,
        "gap": solution.relative_gap,
        "Newton steps": solution.history[-1].steps,
        "support vectors": solution.n_support,
        "free": solution.n_free,
        "data MB": X.nbytes / 2**20,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for each size, and for each price."""
    for case in [*((n, C) for n in SIZES), *((N, price) for price in CS)]:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            yield process.apply(measure, case)
