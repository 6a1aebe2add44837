"""InfiniteEnsembleSVC beside scikit-learn's SVC on the precomputed kernel: training, prediction, model selection.

Model selection is that of LL08 section 7 on the artificial sets of its Table 6, 300 samples each: five folds, eleven C,
and ten gamma for the Gaussian kernel; kernel matrices count for both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks import take_least, take_times
from cvxens import InfiniteEnsembleSVC, PriceSearchCV
from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm
from cvxens.kernels import Gaussian, Perceptron, SimplifiedStump, Stump
from cvxens.types import Array
from reproduction.ll08 import PRICES, WIDTHS

N_SAMPLES, N_NEW, N_PEER_NEW, C = 20_000, 100_000, 2_000, 2.0**-5
REPETITIONS = 5
SETS = {"twonorm": make_twonorm, "threenorm": make_threenorm, "ringnorm": make_ringnorm}
KERNELS = {"stump": Stump(), "perceptron": Perceptron()}


def row(task: str, method: str, seconds: float, ratio: float, **more: Any) -> dict[str, Any]:
    """Lay out a row; the ratio is the peer's time over this one's."""
    return {"task": task, "method": method, "seconds": seconds, "peer / seconds": ratio, **more}


def objective(X: Array, u: Array, y: Array) -> float:
    """P2 at multipliers, by the kernel without its constant."""
    support = np.flatnonzero(u)
    v = (y * u)[support]
    f = np.concatenate([SimplifiedStump()(X[rows], X[support]) @ v for rows in np.array_split(support, 20)])
    return float(v @ f) / 2 - float(u.sum())


def training() -> list[dict[str, Any]]:
    """Train both on threenorm with the stump kernel, and predict."""
    X, y = make_threenorm(N_SAMPLES, 20, random_state=0)
    new, _ = make_threenorm(N_NEW, 20, random_state=1)
    InfiniteEnsembleSVC(C=C, solver="additive").fit(X[:1000], y[:1000]).predict(new[:10])
    task = f"threenorm, {N_SAMPLES:,} x 20, C = 2^-5"
    tols = {f"InfiniteEnsembleSVC, tol={tol:g}": tol for tol in (1e-3, 1e-5)}
    fits = {name: lambda tol=tol: InfiniteEnsembleSVC(C=C, tol=tol).fit(X, y) for name, tol in tols.items()}
    ours = take_times(fits, 2)
    seconds, peer = take_least(lambda: SVC(C=C, kernel="precomputed", cache_size=1000).fit(Stump()(X), y))
    u = np.zeros(len(y))
    u[peer.support_] = np.abs(peer.dual_coef_[0])
    rows = [
        row(
            task,
            name,
            min(times),
            seconds / min(times),
            objective=model.certificate_.primal,
            gap=model.certificate_.relative_gap,
        )
        for name, (times, model) in ours.items()
    ]
    rows.append(row(task, "SVC on the precomputed kernel", seconds, 1.0, objective=objective(X, u, y)))
    return rows + prediction(next(iter(ours.values()))[1], peer, X, new)


def prediction(model: InfiniteEnsembleSVC, peer: SVC, X: Array, new: Array) -> list[dict[str, Any]]:
    """Predict with both, the peer on a part of the samples: its kernel matrix has a column per training sample."""
    task = f"prediction of {len(new):,} samples"
    model.predict(new)
    seconds, _ = take_least(lambda: model.predict(new), REPETITIONS)
    part = new[:N_PEER_NEW]
    scaled = take_least(lambda: peer.predict(Stump()(part, X)), 2)[0] * len(new) / len(part)
    return [
        row(task, f"additive model of {len(model.support_):,} support vectors", seconds, scaled / seconds),
        row(task, f"SVC, {len(peer.support_):,} support vectors; scaled up from {len(part):,} samples", scaled, 1.0),
    ]


def selection(name: str) -> list[dict[str, Any]]:
    """Select C, and gamma for the Gaussian kernel, both ways."""
    X, y = SETS[name](300, 20, random_state=0)
    tasks = {
        **{f"{k}, PriceSearchCV": lambda k=k: _ours(k).fit(X, y) for k in KERNELS},
        **{f"{k}, GridSearchCV over SVC": lambda f=f: _peer().fit(f(X), y) for k, f in KERNELS.items()},
    }
    slow = {
        "gaussian, PriceSearchCV": lambda: _ours("gaussian").fit(X, y),
        "gaussian, GridSearchCV over SVC": lambda: [_peer().fit(Gaussian(gamma)(X), y) for gamma in WIDTHS],
    }
    found = take_times(tasks, REPETITIONS) | take_times(slow, 2)
    results = {name: (min(times), model) for name, (times, model) in found.items()}
    rows = []
    for method, (seconds, model) in results.items():
        peer = results[f"{method.partition(',')[0]}, GridSearchCV over SVC"][0]
        best = max(each.best_score_ for each in (model if isinstance(model, list) else [model]))
        beside = results["gaussian, PriceSearchCV"][0] / seconds
        rows.append(
            row(f"{name}: {method}", f"best score {best:.4f}; gaussian takes {beside:.1f} x", seconds, peer / seconds)
        )
    return rows


def _ours(kernel: str) -> PriceSearchCV:
    grid = {"gamma": WIDTHS} if kernel == "gaussian" else None
    return PriceSearchCV(InfiniteEnsembleSVC(kernel), grid, prices=PRICES, cv=5, scoring="accuracy")


def _peer() -> GridSearchCV:
    return GridSearchCV(SVC(kernel="precomputed"), {"C": PRICES}, cv=5)


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every task and method."""
    for name in SETS:
        yield from selection(name)
    yield from training()
