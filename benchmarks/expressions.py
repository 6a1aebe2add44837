"""Losses given as cvxpy expressions over all stumps of 20,000 samples, beside the library's own of the same loss.

Where the expression is a smooth sum of one function, a table of conic proofs gives slopes, curvatures and bounds.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from benchmarks import take_least
from cvxens.colgen import Formulation, Run, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_threenorm
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1

N, TOL, SECONDS = 20_000, 1e-3, 120.0


def losses() -> dict[str, tuple[str, Any]]:
    """Return the losses, each with the name of what it is beside."""
    return {
        "Logistic": ("Logistic", Logistic(1.0)),
        "sum logistic(-z)": ("Logistic", lambda z: cp.sum(cp.logistic(-z))),
        "sum huber(pos(1 - z))": ("", lambda z: cp.sum(cp.huber(cp.pos(1 - z), 0.5))),
        "sum square(pos(1 - z)) / 2": ("", lambda z: cp.sum(cp.square(cp.pos(1 - z))) / 2),
    }


def run() -> list[dict[str, Any]]:
    """Time each to a certified gap of 1e-3."""
    X, y = make_threenorm(N, random_state=0)
    results: dict[str, tuple[float, Run]] = {}
    for name, (_, loss) in losses().items():
        formulation = Formulation(loss, L1(N / 100), intercept=True)

        def task(formulation: Formulation = formulation) -> Run:
            return column_generation(formulation, Stumps(X), y, tol=TOL, max_time=SECONDS)

        results[name] = take_least(task, 1)
    return [
        {
            "loss": name,
            "seconds": seconds,
            "times the own": seconds / results[beside][0] if (beside := losses()[name][0]) else float("nan"),
            "objective": found.certificate.primal,
            "relative gap": found.certificate.relative_gap,
            "proven": found.certificate.proven,
            "rounds": len(found.history),
            "first bound": found.history[0].bound,
        }
        for name, (seconds, found) in results.items()
    ]
