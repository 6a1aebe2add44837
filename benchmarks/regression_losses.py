"""Known losses beyond the hinge over all stumps: seconds to a certified gap of 1e-3, by the fastest master.

Each is a loss of scores or of margins, summed over the samples at the price C, with the l1 norm of the weights and an
intercept. Targets are a function of six of the features, and heavy-tailed noise. There is no peer that solves the same
problem: the certified gap says how good the answers are.

The last rows are of kinks over steps, lines and pairs of six features, of Friedman's first function and heavy-tailed
noise: runs that begin near a smooth neighbour of the loss beside those of the interior-point method alone, and what
`AdditiveRegressor` takes that chooses its price.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens import AdditiveRegressor
from cvxens.colgen import Formulation, Run, column_generation
from cvxens.colgen.masters import InteriorPointMaster, fastest_master
from cvxens.colgen.oracles import AdditiveTerms, Stumps
from cvxens.problems.losses import CVaR, HuberizedHinge, Loss, SquaredError
from cvxens.problems.penalties import L1, RowNorms, SquaredL2
from cvxens.problems.target_losses import AbsoluteError, Deviance, EpsilonInsensitive, HuberError, Pinball

N_SAMPLES, N_FEATURES = 20_000, 20
PRICE = 50.0
"""C times the number of samples; the weight of the l1 norm is 1."""

SIZES = (1000, 10_000, 40_000)
"""Samples of the rows of kinks, at 1.3 over the root of their number for C."""

TOL, SECONDS = 1e-3, 60.0
SQUARES = False
"""Whether the squared l2 norm takes the place of the l1 norm, to compare masters."""


def draw() -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return features, targets, counts and labels."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_SAMPLES, N_FEATURES))
    f = (
        np.sin(2 * X[:, 0])
        + X[:, 1] * (X[:, 1] > 0)
        + 0.5 * X[:, 2]
        - 0.3 * X[:, 3] ** 2
        + np.tanh(X[:, 4])
        + 0.2 * X[:, 5]
    )
    t = f + 0.5 * random.standard_t(3, size=N_SAMPLES)
    return X, t, random.poisson(np.exp(0.5 * f)).astype(float), np.where(t > np.median(t), 1.0, -1.0)


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every loss."""
    X, t, counts, y = draw()
    C = PRICE / N_SAMPLES
    losses: dict[str, Loss] = {
        "least absolute deviations": AbsoluteError(t, C),
        "pinball, 0.9": Pinball(t, 0.9, C),
        "epsilon-insensitive, 0.5": EpsilonInsensitive(t, 0.5, C),
        "Huber, 1": HuberError(t, 1.0, C),
        "least squares": SquaredError(C, t),
        "Poisson": Deviance(counts, C=C),
        "Huberised hinge, 0.5": HuberizedHinge(C, 0.5),
        "three tasks, rows": SquaredError(C, np.stack([t, 0.5 * t + X[:, 6], counts], axis=1)),
        "CVaR, 0.3": CVaR(1 / (0.3 * N_SAMPLES), 10 * PRICE),
    }
    for name, loss in losses.items():
        tasks = 3 if name.startswith("three tasks") else None
        penalty = SquaredL2() if SQUARES else L1() if tasks is None else RowNorms()
        formulation = Formulation(loss, penalty, intercept=True, outputs=tasks)
        labels = None if formulation.on_scores else y
        start, before = perf_counter(), process_time()
        oracle = Stumps(X, square_sum=SQUARES)
        found = column_generation(formulation, oracle, labels, tol=TOL, max_time=SECONDS)
        master = type(fastest_master(formulation, formulation.signs(labels, N_SAMPLES))).__name__
        yield {"loss": name, "master": master, **measure_since(start, before), **tell(found)}
    for n in SIZES:
        yield from measure_kinks(n)


def measure_kinks(n: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each way to solve with kinks over steps, lines and pairs of so many samples."""
    random = np.random.default_rng(0)
    X = random.random((n, 6))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    t, C = f + random.standard_t(3, n), 1.3 / n**0.5
    oracle = AdditiveTerms(X, pairs=True)
    for name, loss in {"absolute": AbsoluteError(t, C), "pinball, 0.9": Pinball(t, 0.9, C)}.items():
        formulation = Formulation(loss, L1(), intercept=True)
        for told, options in {"neighbour first": {}, "interior points alone": {"master": InteriorPointMaster}}.items():
            start, before = perf_counter(), process_time()
            found = column_generation(formulation, oracle, tol=TOL, max_time=5 * SECONDS, **options)
            yield {"loss": f"{name}, pairs, {n:,} x 6", "master": told, **measure_since(start, before), **tell(found)}
    for loss in ("absolute", "squared"):
        start, before = perf_counter(), process_time()
        model = AdditiveRegressor(loss=loss).fit(X, t)
        yield {
            "loss": f"{loss}, price and all, {n:,} x 6",
            "master": "AdditiveRegressor",
            **measure_since(start, before),
            "columns": len(model.weights_),
            "relative gap": model.certificate_.relative_gap,
        }


def measure_since(start: float, before: float) -> dict[str, float]:
    """Return the seconds since a start, of the clock and of the processors."""
    return {"seconds": perf_counter() - start, "of processors": process_time() - before}


def tell(found: Run) -> dict[str, Any]:
    """Return what a row says of a run."""
    certificate = found.certificate
    return {
        "rounds": len(found.history),
        "columns": len(found.columns),
        "objective": certificate.primal,
        "bound": certificate.dual,
        "relative gap": certificate.relative_gap,
        "proven": certificate.proven,
    }
