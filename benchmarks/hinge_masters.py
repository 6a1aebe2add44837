"""The hinge loss over columns: along a path of C beside liblinear, and CGEns beside LPBoost by HiGHS on MNIST.

liblinear is dual coordinate descent with shrinking and penalises the intercept; its weights are given the best
unpenalised intercept before their objective is evaluated. CGEns adds 500 stumps; LPBoost, one stump per round as in SL,
is stopped early, and the ratio of times is that for as many stumps as it had then.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks import take_least
from cvxens import datasets
from cvxens.colgen import Run, column_generation, formulations
from cvxens.colgen.masters import HighsMaster, NewtonMaster
from cvxens.colgen.oracles import Stumps
from cvxens.problems.losses import Hinge
from cvxens.solvers.proximal_hinge import HingePoint, ProximalHinge

PRICES = 2.0 ** np.arange(-12, 5, 2)
N_STUMPS = 500
SECONDS = 40.0
REPETITIONS = 1


def numbers() -> tuple[NDArray, NDArray]:
    """Return 50,000 x 100 normal features and noisy labels."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(50_000, 100))
    return H, np.where(H @ rng.normal(size=100) + 8 * rng.normal(size=len(H)) > -0.5, 1.0, -1.0)


def objective(H: NDArray, y: NDArray, C: float, w: NDArray) -> float:
    """LL08 P1 at w and the best intercept."""
    f = H @ w
    loss = Hinge(C)
    return float(w @ w) / 2 + loss.value(y * (f + loss.best_intercept(f, y)))


def ours(H: NDArray, y: NDArray, tol: float) -> list[NDArray]:
    """Return the weights along the path, each from the point of the price before."""
    rows, point, weights = np.ascontiguousarray(H.T), HingePoint.zero(len(y)), []
    for last, C in zip([0.0, *PRICES], PRICES, strict=False):
        # a multiplier at the old bound starts at the new one
        u = np.where(point.u < last * (1 - 1e-12), point.u, C)
        point = ProximalHinge(y, np.full(len(y), C), 1.0, True, tol).solve(rows, replace(point, u=u))
        weights.append(point.w)
    return weights


def liblinear(H: NDArray, y: NDArray) -> list[NDArray]:
    """Return the weights along the path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [LinearSVC(C=C, loss="hinge", random_state=0).fit(H, y).coef_[0] for C in PRICES]


def path() -> list[dict[str, Any]]:
    """Time the nine values of C; the gap is to the objectives of the tightest path."""
    H, y = numbers()
    tasks = {f"ProximalHinge, tol={tol:g}": partial(ours, H, y, tol) for tol in (1e-9, 1e-4)}
    results = {
        name: take_least(task, REPETITIONS) for name, task in (tasks | {"LinearSVC": partial(liblinear, H, y)}).items()
    }
    values = {
        name: [objective(H, y, C, w) for C, w in zip(PRICES, ws, strict=True)] for name, (_, ws) in results.items()
    }
    best, peer = np.array(values["ProximalHinge, tol=1e-09"]), results["LinearSVC"][0]
    return [
        {
            "task": "nine values of C, 50,000 x 100",
            "method": name,
            "columns": 100,
            "seconds": seconds,
            "peer / seconds": peer / seconds,
            "objective": sum(values[name]),
            "largest gap": float((np.array(values[name]) / best - 1).max()),
        }
        for name, (seconds, _) in results.items()
    ]


def images(n_samples: int) -> tuple[NDArray, NDArray]:
    """Return bytes of MNIST, even against odd."""
    data = datasets.load("mnist")
    X, y = np.asarray(data.X)[:n_samples], np.asarray(data.y)[:n_samples].astype(float)
    return X, np.where(y % 2, 1.0, -1.0)


def ensembles(n_samples: int) -> list[dict[str, Any]]:
    """Time CGEns to 500 stumps, twenty and one per round, and LPBoost by HiGHS as long as it is let."""
    X, y = images(n_samples)
    lpboost = formulations.lpboost(1 / (0.2 * n_samples))
    runs: dict[str, Callable[[], Run]] = {
        "CGEns, 20 stumps a round": partial(cgens, X, y, 20),
        "CGEns, 1 stump a round": partial(cgens, X, y, 1),
        f"LPBoost by HiGHS, 1 stump a round, at most {SECONDS:g} s": lambda: column_generation(
            lpboost,
            Stumps(X, columns_per_round=1, square_sum=False),
            y,
            max_columns=N_STUMPS,
            max_time=SECONDS,
            master=HighsMaster,
        ),
    }
    found = {name: task() for name, task in runs.items()}
    *_, peer = found.values()
    return [row(n_samples, name, run, seconds(peer) / seconds(run, len(peer.columns))) for name, run in found.items()]


def seconds(run: Run, n_columns: float = np.inf) -> float:
    """Return the time until the master has more columns than so many."""
    return max((row.seconds for row in run.history if row.size <= n_columns), default=0.0)


def cgens(X: NDArray, y: NDArray, columns_per_round: int) -> Run:
    """LL08 P1 over stumps, the master to 1e-6."""
    return column_generation(
        formulations.svm(1 / len(y)),
        Stumps(X, columns_per_round=columns_per_round),
        y,
        max_columns=N_STUMPS,
        max_time=2 * SECONDS,
        master=partial(NewtonMaster, tol=1e-6),
    )


def row(n_samples: int, name: str, run: Run, ratio: float) -> dict[str, Any]:
    """Lay out a run."""
    return {
        "task": f"MNIST odd/even, {n_samples:,}",
        "method": name,
        "columns": len(run.columns),
        "seconds": seconds(run),
        "peer / seconds": ratio,
        "objective": run.certificate.primal,
        "largest gap": run.certificate.relative_gap,
    }


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every task and method."""
    yield from path()
    yield from ensembles(10_000)
    yield from ensembles(60_000)
