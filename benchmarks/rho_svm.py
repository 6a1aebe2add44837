"""The rho-SVM: eta chosen by each update against fixed eta, and all of adult (a9a) at low rank.

First part, in the manner of TK07 Figure 1, on other data: updates until u'K~u is within 1 % of the optimum, with a
Gaussian kernel, hard margin; who is not there after 3,000 updates is marked. TK07 Algorithm 1 ends before. Second part:
low-rank kernels with squared slacks on 32,561 samples. Peer: LIBLINEAR's dual coordinate descent on the rows of the
same factor, to the same problem; objectives are of its primal, ``ridge |w|^2 + sum_i max(0, 1 - z_i)^2``, and for both
the factor is taken for granted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from cvxens.datasets import load
from cvxens.problems import RhoSVM
from cvxens.solvers import (
    LowRankKernel,
    Update,
    adaptive_updates,
    growing_updates,
    incomplete_cholesky,
    solve_low_rank_rho_svm,
    solve_rho_svm,
    update_bound,
)
from reproduction.tk07_figure1 import fixed_updates

ETAS = (0.01, 0.1, 1.0, 10.0, 100.0)
LIMIT = 3000
RIDGE = 10.0


def load_standardised(name: str, n_samples: int) -> tuple[NDArray, NDArray]:
    """Return the first samples of a data set, features standardised."""
    data = load(name)
    X = np.asarray(data.X, float)[:n_samples]
    y = np.where(data.y[:n_samples] == data.y.max(), 1.0, -1.0)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), y


def reach(updates: Iterator[Update], value: float) -> tuple[int, Update, float]:
    """Count updates until the objective is at most `value`; the shortest update is returned too."""
    shortest, count = np.inf, 0
    for update in islice(updates, LIMIT + 1):
        if update.value <= value:
            return count, update, shortest
        shortest, count = min(shortest, update.nu or np.inf), count + 1
    return LIMIT, update, shortest


def figure_1(name: str, n_samples: int) -> Iterator[dict[str, Any]]:
    """Yield a row for every way to choose eta."""
    X, y = load_standardised(name, n_samples)
    D = cdist(X, X, "sqeuclidean")
    problem = RhoSVM(np.exp(-D / D.mean()), y)
    margins = (problem.K * np.outer(y, y)).__matmul__
    start = perf_counter()
    optimum = solve_rho_svm(problem).objective
    exact = perf_counter() - start
    ways: dict[str, Callable[..., Iterator[Update]]] = {"growing": growing_updates, "TK07": adaptive_updates}
    ways |= {f"eta = {eta:g}": partial(fixed_updates, eta=eta) for eta in ETAS}
    base = 0.0
    for way, updates in ways.items():
        start = perf_counter()
        count, last, shortest = reach(updates(margins, np.full(len(y), 1 / len(y))), 1.01 * optimum)
        seconds = perf_counter() - start
        base = base or seconds
        yield {
            "data": f"{name}, n = {len(y)}",
            "way": way,
            "updates": f"{count}{'' if last.value <= 1.01 * optimum else ' (not there)'}",
            "bound": update_bound(len(y), shortest) if np.isfinite(shortest) else np.inf,
            "seconds": seconds,
            "ratio": seconds / base,
            "objective / optimum": last.value / optimum,
            "gap": last.gap,
        }
    yield {
        "data": f"{name}, n = {len(y)}",
        "way": "solve_rho_svm, to 1e-9",
        "seconds": exact,
        "ratio": exact / base,
        "objective / optimum": 1.0,
        "gap": problem.certify(u=solve_rho_svm(problem).duals["u"]).relative_gap,
    }


def adult(name: str, kernel: Callable[[Any, Any], NDArray], rank: int) -> Iterator[dict[str, Any]]:
    """Yield our row and the peer's for a low-rank kernel on all of a9a."""
    data = load("a9a")
    X, X_test = np.asarray(data.X, float), np.asarray(data.X_test, float)
    y, y_test = (np.where(labels > 0, 1.0, -1.0) for labels in (data.y, data.y_test))
    start = perf_counter()
    K = incomplete_cholesky(kernel, X, rank).softened(RIDGE)
    factored = perf_counter() - start
    svm = solve_low_rank_rho_svm(K, y, tol=1e-9)
    ours = perf_counter() - start - factored
    start = perf_counter()
    peer = LinearSVC(C=1 / (2 * RIDGE), fit_intercept=False, dual=True, tol=1e-4, max_iter=2000).fit(K.G, y)
    theirs = perf_counter() - start
    rows = kernel(X_test, X[K.pivots])
    coefficients = {
        "Newton": svm.pivot_coefficients,
        "LIBLINEAR": K.on_pivots(np.linalg.lstsq(K.G.T, peer.coef_[0])[0]),
    }
    weights = {"Newton": K.G.T @ svm.coefficients, "LIBLINEAR": peer.coef_[0]}
    objectives = {way: least_objective(K, y, w) for way, w in weights.items()}
    for way, seconds in (("Newton", ours), ("LIBLINEAR", theirs)):
        yield {
            "data": f"a9a, n = {len(y)}, {name}, rank {K.rank}, factored in {factored:.3g} s",
            "way": way,
            "updates": f"{svm.n_updates} + {svm.n_newton_steps} steps" if way == "Newton" else "",
            "seconds": seconds,
            "ratio": seconds / ours,
            "objective / optimum": objectives[way] / min(objectives.values()),
            "gap": svm.certificate.relative_gap if way == "Newton" else "",
            "exact gap": svm.exact_certificate.relative_gap if way == "Newton" else "",
            "test error": float((y_test * (rows @ coefficients[way]) <= 0).mean()),
        }


def least_objective(K: LowRankKernel, y: NDArray, w: NDArray) -> float:
    """Return the objective of the primal with squared slacks at the best length of w."""
    z = y * (K.G @ w)
    scaled = z / z.mean()
    norm = float(w @ w) / float(z.mean()) ** 2

    def objective(length: float) -> float:
        return RIDGE * length**2 * norm + float((np.maximum(1 - length * scaled, 0) ** 2).sum())

    return float(minimize_scalar(objective, bracket=(0.5, 1.0), tol=1e-12).fun)


def linear(X: Any, Z: Any) -> NDArray:
    """Evaluate the linear kernel x'z of all pairs of rows."""
    return X @ Z.T


def gaussian(X: Any, Z: Any) -> NDArray:
    """Return exp(-0.02 |x - z|^2)."""
    squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * X @ Z.T
    return np.exp(-0.02 * np.maximum(squares, 0.0))


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every data set and way."""
    with threadpool_limits(1, "blas"):
        for name, n in (("sonar", 208), ("ionosphere", 351), ("raetsch_twonorm", 400)):
            yield from figure_1(name, n)
    yield from adult("linear", linear, 123)
    for rank in (100, 300):
        yield from adult("Gaussian", gaussian, rank)
