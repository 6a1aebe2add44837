"""Multiple kernel learning by atoms, over 20 kernels, beside an independent solver of the kernels' shares.

The kernels are Gaussian, Laplacian, polynomial of degree 2, and the sum over features of Gaussians, each of five
widths around the median distance, and scaled to the trace n. The formulation is ``sum_i max(0, 1 - y_i f(x_i)) + weight
sum_m |f_m|``. The peer knows none of this package: with shares eta the sum of norms is half the least of ``sum_m
|f_m|^2 / eta_m + weight^2 eta_m``, so that inside a search over eta >= 0 there is a support vector machine with the
kernel ``sum_m eta_m K_m``, solved by LIBSVM (Rakotomamonjy et al. 2008), and the search is scipy's L-BFGS-B.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cvxens import datasets
from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.oracles import KernelBalls
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1

NAMES = ("sonar", "ionosphere", "german")
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
WEIGHTS = (2.0, 5.0)
TOL = 1e-6


def additive_gaussian(X: Any, Z: Any, gamma: float) -> NDArray:
    """Return the average over the features of the Gaussian kernels of each."""
    return np.asarray(np.exp(-gamma * (np.asarray(X)[:, None] - np.asarray(Z)[None]) ** 2).mean(axis=2))


def make_kernels(X: NDArray) -> list[Any]:
    """Return four families of five widths."""
    square, absolute = float(np.median(pdist(X, "sqeuclidean"))), float(np.median(pdist(X, "cityblock")))
    return [
        kernel
        for width in WIDTHS
        for kernel in (
            partial(rbf_kernel, gamma=1 / (width * square)),
            partial(laplacian_kernel, gamma=1 / (width * absolute)),
            partial(polynomial_kernel, degree=2, gamma=1 / (width * X.shape[1]), coef0=1.0),
            partial(additive_gaussian, gamma=1 / width),
        )
    ]


def solve_by_shares(grams: list[NDArray], y: NDArray, weight: float) -> float:
    """Return the optimum by a search over the shares of the kernels; grams are scaled to norms without weights."""

    def evaluate(eta: NDArray) -> tuple[float, NDArray]:
        K = np.tensordot(eta, np.array(grams), axes=1) + 1e-12 * np.eye(len(y))
        model = SVC(C=1.0, kernel="precomputed", tol=1e-9, cache_size=500).fit(K, y)
        s = np.zeros(len(y))
        s[model.support_] = model.dual_coef_[0]
        forms = np.array([s @ G @ s for G in grams])
        # the optimum of the machine is sum u - s'K s / 2
        return float(np.abs(s).sum() - eta @ forms / 2 + weight**2 * eta.sum() / 2), (weight**2 - forms) / 2

    start = np.full(len(grams), 1 / len(grams) / weight)
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-9}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimize(evaluate, start, jac=True, bounds=[(0, None)] * len(grams), method="L-BFGS-B", options=options)
    return float(found.fun)


def run() -> Iterator[dict[str, Any]]:
    """Solve every data set by both, for every weight of the penalty."""
    for name in NAMES:
        data = datasets.load(name)
        X = StandardScaler().fit_transform(np.asarray(data.X, np.float64))
        y = np.where(np.asarray(data.y) == np.max(data.y), 1.0, -1.0)
        balls = KernelBalls(make_kernels(X), X)
        for weight in WEIGHTS:
            formulation = Formulation(Hinge(1.0), L1(weight), intercept=True)
            began = time.perf_counter()
            found = column_generation(formulation, balls, y, tol=TOL)
            ours = time.perf_counter()
            peer = solve_by_shares(balls.grams, y, weight)
            seconds = time.perf_counter() - ours
            certificate = found.certificate
            used = found.weights > 1e-6 * found.weights.max()
            yield {
                "task": f"{name}, {len(y)} samples, weight {weight:g}",
                "kernels used": len({c.hypothesis.kernel for c, u in zip(found.columns, used, strict=True) if u}),
                "rounds": len(found.history),
                "seconds": ours - began,
                "peer / seconds": seconds / (ours - began),
                "objective": certificate.primal,
                "certified gap": certificate.relative_gap,
                "proven": certificate.proven,
                "peer / objective - 1": peer / certificate.primal - 1,
            }
