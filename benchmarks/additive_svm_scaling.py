"""How the additive solver's time and memory grow with the sample, to a certified relative gap of 1e-3.

Threenorm with 20 features, C = 2^-7. `data MB` is the size of X, and `peak MB` the most memory that the fit's process,
one of its own for every size, has used for everything: libraries, drawing the sample, and the fit. About three minutes
on two cores.
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
C, TOL = 2.0**-7, 1e-3

SHORT = {"SIZES": (10_000, 30_000, 100_000)}
"""For a run of a minute."""


def measure(n: int) -> dict[str, Any]:
    """Solve the stump SVM on `n` samples of threenorm once; return its row of the table."""
    solve_additive_svm(AdditiveSVM.of(*make_threenorm(500, 20, random_state=0), C))
    X, y = make_threenorm(n, 20, random_state=0)
    start = time.perf_counter()
    problem = AdditiveSVM.of(X, y, C)
    sorting = time.perf_counter() - start
    solution = solve_additive_svm(problem, TOL)
    seconds = time.perf_counter() - start
    return {
        "n": n,
        "seconds": seconds,
        "sorting s": sorting,
        "us per sample": 1e6 * seconds / n,
        "gap": solution.relative_gap,
        "Newton steps": solution.history[-1].steps,
        "support vectors": solution.n_support,
        "free": solution.n_free,
        "data MB": X.nbytes / 2**20,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for each size."""
    for n in SIZES:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            yield process.apply(measure, (n,))
