"""The whole regularisation path of an SVM beside LIBSVM along a grid of C, and at the path's own breakpoints.

Stump kernel, threenorm. The path gives every C; the peer is scikit-learn's SVC on the same precomputed kernel, from
scratch for every C. Gaps are the largest that `SVMDual` certifies.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.svm import SVC

from cvxens.datasets import make_threenorm
from cvxens.kernels import Stump
from cvxens.problems import SVMDual
from reproduction.svm_path import svm_path

GRID = 50
SIZES = (200, 500, 1000)

SHORT = {"SIZES": (200, 500)}
"""For a run of a minute."""


def rows(n_samples: int) -> Iterator[dict[str, Any]]:
    """Yield the path's row and the peers'."""
    X, y = make_threenorm(n_samples, 5, random_state=0)
    K = Stump()(X)
    start = perf_counter()
    path = svm_path(K, y)
    ours = perf_counter() - start
    data, bends = f"threenorm, n = {n_samples}", len(path.C) - 1
    yield {"data": data, "way": "path", "values of C": "all", "bends": bends, "seconds": ours, "ratio": 1.0} | {
        "largest gap": float(path.gaps.max())
    }
    problem = SVMDual(K, y, 1.0)
    for tol in (1e-3, 1e-8):
        seconds, gap = 0.0, 0.0
        for C in np.geomspace(path.C[1], path.C[-1], GRID):
            start = perf_counter()
            model = SVC(C=C, kernel="precomputed", tol=tol, cache_size=500).fit(K, y)
            seconds += perf_counter() - start
            u = np.zeros(n_samples)
            u[model.support_] = np.abs(model.dual_coef_[0])
            problem.C = C
            gap = max(gap, problem.certify(u=u, b=model.intercept_).relative_gap)
        yield {"data": data, "way": f"SVC, tol {tol:g}", "values of C": GRID, "bends": "", "seconds": seconds} | {
            "ratio": seconds / ours,
            "largest gap": gap,
        }


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every size and way."""
    for n_samples in SIZES:
        yield from rows(n_samples)
