"""InfiniteEnsembleSVC with kernels that are no sums over features, beside scikit-learn's SVC, as the sample grows.

Threenorm of 20 features at the default C, block by block to a certified gap of 1e-3. The peer is SVC on the kernel
matrix, evaluated by the same function, as SVC would call it itself, and for the Gaussian kernel also SVC's own, row by
row in its cache. Objectives and gaps are LL08 P2 of each side's multipliers; ours is solved once more to the gap that
SVC comes to. CPU seconds beside the seconds of the clock tell how much of a difference is threads: ours are two where
kernel values are evaluated, SVC's solver has one. From `ALONE` samples on there is no peer: the matrix would not fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.svm import SVC

from cvxens import InfiniteEnsembleSVC
from cvxens.datasets import make_threenorm
from cvxens.solvers.blockwise import KernelRows, KernelSVM
from cvxens.types import Array

SAMPLES = (5_000, 20_000, 100_000)
KERNELS = ("gaussian", "perceptron", "laplacian")
ALONE = 40_000
SHORT = {"SAMPLES": (5_000,)}


def evaluate(model: InfiniteEnsembleSVC, X: Array, y: Array, peer: SVC) -> dict[str, float]:
    """Evaluate P2 and its gap at a peer's multipliers, by the kernel as the fitted model has it."""
    u = np.zeros(len(y))
    u[peer.support_] = np.abs(peer.dual_coef_[0])
    problem = KernelSVM.of(KernelRows.of(model._kernel.function, X), np.where(y > 0, 1.0, -1.0), model.C_)
    solution = problem.solution_at(np.minimum(u, model.C_))
    return {"objective": solution.objective, "gap": solution.relative_gap}


def fit_peer(model: InfiniteEnsembleSVC, X: Array, y: Array, *, own: bool) -> SVC:
    """Fit SVC with the kernel and the C of a fitted model, on its matrix or by SVC's own kernel."""
    if own:
        return SVC(C=model.C_, gamma=model.kernel_.gamma, cache_size=1000).fit(X, y)
    return SVC(C=model.C_, kernel="precomputed", cache_size=1000).fit(model._kernel.function(X, X), y)


def compare(kernel: str, n_samples: int) -> Iterator[dict[str, Any]]:
    """Yield our row and those of the peers."""
    X, y = make_threenorm(n_samples, 20, random_state=0)
    task = f"{kernel}, {n_samples:,} x 20"
    model, seconds, ours = fit(InfiniteEnsembleSVC(kernel), X, y)
    common = {"task": task, "C": model.C_}
    yield {**common, "method": "ours", **ours, "peer / seconds": 1.0}
    if n_samples >= ALONE:
        return
    for own in (False, True) if kernel == "gaussian" else (False,):
        start, cpu = perf_counter(), process_time()
        peer = fit_peer(model, X, y, own=own)
        theirs, their_cpu = perf_counter() - start, process_time() - cpu
        evaluated = evaluate(model, X, y, peer)
        yield {
            **common,
            "method": "SVC, its own kernel" if own else "SVC on the matrix",
            "seconds": theirs,
            "cpu": their_cpu,
            **evaluated,
            "support vectors": len(peer.support_),
            "peak GB": getrusage(RUSAGE_SELF).ru_maxrss / 2**20,
            "peer / seconds": theirs / seconds,
        }
    _, seconds, ours = fit(InfiniteEnsembleSVC(kernel, tol=evaluated["gap"]), X, y)
    yield {**common, "method": "ours, to the gap of SVC", **ours, "peer / seconds": theirs / seconds}


def fit(model: InfiniteEnsembleSVC, X: Array, y: Array) -> tuple[InfiniteEnsembleSVC, float, dict[str, Any]]:
    """Fit a model; returns it, the seconds that it took, and what a row says of it."""
    start, cpu = perf_counter(), process_time()
    model.fit(X, y)
    seconds = perf_counter() - start
    return (
        model,
        seconds,
        {
            "seconds": seconds,
            "cpu": process_time() - cpu,
            "objective": model.certificate_.primal,
            "gap": model.certificate_.relative_gap,
            "support vectors": len(model.support_),
            "peak GB": getrusage(RUSAGE_SELF).ru_maxrss / 2**20,
        },
    )


def run() -> Iterator[dict[str, Any]]:
    """Yield rows for every size and kernel; what is compiled is compiled before."""
    X, y = make_threenorm(4_500, 20, random_state=1)
    for kernel in KERNELS:
        InfiniteEnsembleSVC(kernel).fit(X, y)
    for n_samples in SAMPLES:
        for kernel in KERNELS:
            yield from compare(kernel, n_samples)
