"""Losses given as cvxpy expressions over all stumps of 20,000 samples, beside the library's own of the same loss.

Where the expression is a smooth sum of one function, a table of its conjugate gives slopes, curvatures and bounds;
where it is a sum of hinges, these are read off it. So are constraints that are linear, as where the mean scores of two
groups are held together, or that bound such sums, as the mean hinge of one class (Neyman & Pearson). Those of `ERRORS`
are losses of scores, whose targets are the labels and noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from benchmarks import take_least
from cvxens.colgen import Formulation, Run, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_threenorm
from cvxens.problems.losses import Hinge, Logistic
from cvxens.problems.penalties import L1

N, TOL, SECONDS = 20_000, 1e-3, 120.0

ERRORS = "absolute errors", "absolute errors, equal means"


def losses(X: NDArray, y: NDArray) -> dict[str, tuple[str, Any, Any]]:
    """Return the losses, each with the name of what it is beside, and constraints."""
    noise = np.random.default_rng(1).normal(size=len(y))
    group, positive = X[:, 0] + noise > 0, y > 0
    gap = group / group.sum() - ~group / (~group).sum()
    difference, t = gap * y, y + np.random.default_rng(2).normal(size=len(y))
    return {
        "Logistic": ("Logistic", Logistic(1.0), None),
        "sum logistic(-z)": ("Logistic", lambda z: cp.sum(cp.logistic(-z)), None),
        "sum huber(pos(1 - z))": ("", lambda z: cp.sum(cp.huber(cp.pos(1 - z), 0.5)), None),
        "sum square(pos(1 - z)) / 2": ("", lambda z: cp.sum(cp.square(cp.pos(1 - z))) / 2, None),
        "two kinks": ("", lambda z: cp.sum(cp.pos(1 - z)) + cp.sum(cp.pos(-0.5 - z)) / 2, None),
        "hinge, equal means": ("", Hinge(1.0), lambda z: [cp.abs(difference @ z) <= 0.05]),
        "hinge, Neyman-Pearson": (
            "",
            lambda z: cp.sum(cp.pos(1 - z[positive])),
            lambda z: [cp.sum(cp.pos(1 - z[~positive])) / np.sum(~positive) <= 0.3],
        ),
        ERRORS[0]: ("", lambda f: cp.norm1(t - f), None),
        ERRORS[1]: (ERRORS[0], lambda f: cp.norm1(t - f), lambda f: [cp.abs(gap @ f) <= 0.05]),
    }


def run() -> Iterator[dict[str, Any]]:
    """Time each to a certified gap of 1e-3."""
    X, y = make_threenorm(N, random_state=0)
    times: dict[str, float] = {}
    for name, (beside, loss, constraints) in losses(X, y).items():
        formulation = Formulation(loss, L1(N / 100), intercept=True, constraints=constraints, scores=name in ERRORS)

        def task(formulation: Formulation = formulation) -> Run:
            labels = None if formulation.scores else y
            return column_generation(formulation, Stumps(X), labels, tol=TOL, max_time=SECONDS)

        times[name], found = take_least(task, 1)
        yield {
            "loss": name,
            "seconds": times[name],
            "times the own": times[name] / times[beside] if beside else float("nan"),
            "objective": found.certificate.primal,
            "relative gap": found.certificate.relative_gap,
            "proven": found.certificate.proven,
            "rounds": len(found.history),
            "first bound": found.history[0].bound,
        }
