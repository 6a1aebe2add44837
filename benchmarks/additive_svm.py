"""The SVM with the stump kernel: the additive solver beside scikit-learn's SVC on the precomputed kernel.

Threenorm with 20 features. The Gram matrix counts as SVC's time, and so does the sorting of the features as ours. Both
are timed in one run, our fit as the best of REPEATS. POINTS points are predicted, ours timed as the best of MANY, SVC's
on SOME of them and scaled up. `best gap` is the certified relative gap. `objective` is that of P2 from the multipliers,
recomputed by the fast product for both, and its difference is relative. Larger samples are in `additive_svm_scaling`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from benchmarks import take_least
from cvxens.datasets import make_threenorm
from cvxens.solvers import solve_svm_path
from cvxens.solvers.additive import (
    AdditiveModel,
    AdditiveSVM,
    solve_additive_svm,
)

N, C, TOL = 20_000, 2.0**-5, 5e-6
POINTS, SOME = 100_000, 1_000
REPEATS, MANY = 3, 20
FOLDS, CS = 5, 2.0 ** np.arange(-17, 4, 2)
N_PATH = 2_000

SHORT = {"N": 5_000, "POINTS": 20_000, "N_PATH": 500}
"""For a run of a minute."""


def row(task: str, ours: float, theirs: float, **columns: Any) -> dict[str, Any]:
    """Lay out a comparison."""
    return {"task": task, "ours s": ours, "SVC s": theirs, "ratio": theirs / ours, **columns}


def svc_fit(X: Any, y: Any, C: float) -> SVC:
    """Evaluate the Gram matrix and fit."""
    return SVC(C=C, kernel="precomputed", cache_size=1000).fit(-cdist(X, X, "cityblock"), y)


def fits() -> Iterator[dict[str, Any]]:
    """Compare a fit, and the predictions of its models."""
    X, y = make_threenorm(N, 20, random_state=0)
    ours, solution = take_least(lambda: solve_additive_svm(AdditiveSVM.of(X, y, C), TOL), REPEATS)
    theirs, svc = take_least(lambda: svc_fit(X, y, C))
    u = np.zeros(N)
    u[svc.support_] = np.abs(svc.dual_coef_[0])
    other = solution.problem.solution_at(u).objective
    yield row(f"fit, n={N}, C=2^-5", ours, theirs, **objectives(solution.objective, other, solution.relative_gap))
    Z, _ = make_threenorm(POINTS, 20, random_state=1)
    building, model = take_least(lambda: AdditiveModel.of(solution))
    model(Z[:10])
    ours, scores = take_least(lambda: model(Z), MANY)
    theirs, expected = take_least(lambda: svc.decision_function(-cdist(Z[:SOME], X, "cityblock")))
    yield row(f"predict {POINTS}", ours, theirs * POINTS / SOME, difference=np.abs(scores[:SOME] - expected).max())
    yield row("build the model, once", building, np.nan)


def objectives(ours: float, theirs: float, gap: float) -> dict[str, Any]:
    """Lay out the objectives of both."""
    return {
        "objective": f"{ours:.6f}",
        "their objective": f"{theirs:.6f}",
        "difference": (ours - theirs) / abs(theirs),
        "best gap": gap,
    }


def paths() -> Iterator[dict[str, Any]]:
    """Compare five folds of eleven fits along C, features sorted once, to 55 fits of SVC with one Gram matrix."""
    X, y = make_threenorm(N_PATH, 20, random_state=0)
    folds = np.arange(N_PATH) % FOLDS
    training = [np.flatnonzero(folds != fold) for fold in range(FOLDS)]

    def by_paths() -> list[float]:
        problem = AdditiveSVM.of(X, y, 1.0)
        return [
            s.objective for rows in training for s in solve_svm_path(solve_additive_svm, problem.among(rows), CS, 1e-3)
        ]

    def by_svc() -> None:
        K = -cdist(X, X, "cityblock")
        for rows in training:
            for value in CS:
                SVC(C=value, kernel="precomputed").fit(K[np.ix_(rows, rows)], y[rows])

    (ours, _), (theirs, _) = take_least(by_paths), take_least(by_svc)
    yield row(f"{FOLDS} folds x {len(CS)} C, n={N_PATH}", ours, theirs)


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for each comparison."""
    X, y = make_threenorm(500, 20, random_state=0)
    AdditiveModel.of(solve_additive_svm(AdditiveSVM.of(X, y, C)))(X)
    yield from fits()
    yield from paths()
