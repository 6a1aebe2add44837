"""Losses, penalties and constraints written as cvxpy expressions, over all stumps of threenorm: processor seconds.

`docs/know/atoms.md` is made of what it finds: `python -m benchmarks atoms --json docs/atoms.json`, then
`python docs/atoms.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from time import process_time
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from cvxens.colgen import Ending, Formulation, Run, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_threenorm

SIZES: Sequence[int] = (1_000, 20_000, 100_000)
TOL, SECONDS, ONLY = 1e-3, 60.0, ("",)
"""The certified relative gap; the most seconds that a size may take; parts of the expressions that are measured."""


@dataclass(frozen=True)
class Atom:
    """An expression in margins `z`, scores `f` or `F`, or weights `w` or `W`, and what stands beside it.

    `unit` is what the loss grows with, of which the penalty has a hundredth: "n" for sums over samples.
    """

    text: str
    kind: str = "loss"
    unit: str = "n"
    nonnegative: bool = False

    @property
    def variable(self) -> str:
        """The letter of what it is an expression in."""
        return re.findall(r"\b[zfFwW]\b", self.text)[0]

    def formulate(self, data: dict[str, Any]) -> Formulation:
        """Return the loss with an l1 penalty, the penalty with a logistic loss, or the constraint with a hinge loss."""

        def express(text: str, letter: str) -> Any:
            # an expression of this file, and no one else's
            return lambda variable: eval(text, {"cp": cp, "np": np, **data, letter: variable})

        letter = self.variable
        data = {**data, "price": {"n": data["n"], "sqrt(n)": np.sqrt(data["n"]), "1": 1.0}[self.unit] / 100}
        loss, penalty, held = express(self.text, letter), express("price * cp.sum(cp.abs(w))", "w"), None
        if self.kind == "penalty":
            loss, penalty = express(OF_OUTPUTS if letter == "W" else "cp.sum(cp.logistic(-z))", "z"), loss
        elif self.kind == "constraint":
            loss, held = express("cp.sum(cp.pos(1 - z))", "z"), loss
        several = 3 if letter in "FW" else None
        return Formulation(
            loss,
            penalty,
            intercept=True,
            nonnegative=self.nonnegative,
            outputs=several,
            constraints=held,
            scores=letter in "fFW",
        )

    def solve(self, X: NDArray, y: NDArray, tol: float, **limits: Any) -> Run:
        """Run column generation over all stumps."""
        formulation = self.formulate(make_data(X, y))
        return column_generation(formulation, Stumps(X), None if formulation.on_scores else y, tol=tol, **limits)


OF_OUTPUTS = "cp.sum_squares(T - z) / 2"
"""The loss beside penalties of the weights of several outputs."""

ATOMS = (
    Atom("cp.sum(cp.pos(1 - z))"),
    Atom("cp.sum(cp.maximum(0, 1 - z, 1 - 3 * z))"),
    Atom("cp.sum(cp.pos(1 - z)) + cp.sum(cp.pos(-0.5 - z)) / 2"),
    Atom("C @ cp.pos(1 - z)"),
    Atom("cp.sum_squares(cp.pos(1 - z)) / 2"),
    Atom("cp.sum(cp.power(cp.pos(1 - z), 1.5))"),
    Atom("cp.sum(cp.huber(cp.pos(1 - z), 0.5))"),
    Atom("cp.sum(cp.logistic(-z))"),
    Atom("C @ cp.logistic(-z)"),
    Atom("cp.sum(cp.exp(-z))"),
    Atom("cp.log_sum_exp(-z)", unit="sqrt(n)"),
    Atom("cp.max(cp.pos(1 - z))", unit="1"),
    Atom("cp.sum_largest(cp.pos(1 - z), n // 4)"),
    Atom("eta + cp.sum(cp.pos(cp.pos(1 - z) - eta)) / (0.25 * n)", unit="1"),
    Atom("cp.norm2(cp.pos(1 - z))", unit="sqrt(n)"),
    Atom("cp.max(cp.hstack([cp.sum(cp.logistic(-z[g])) / len(g) for g in groups]))", unit="1"),
    Atom("cp.sum_squares(t - f) / 2"),
    Atom("C @ cp.square(t - f)"),
    Atom("cp.norm1(t - f)"),
    Atom("cp.sum(0.7 * cp.pos(t - f) + 0.3 * cp.pos(f - t))"),
    Atom("cp.sum(cp.pos(cp.abs(t - f) - 0.2))"),
    Atom("cp.sum(cp.huber(t - f))"),
    Atom("3 * cp.sum_squares(cp.pos(t - f)) + cp.sum_squares(cp.pos(f - t))"),
    Atom("cp.sum(cp.logistic(2 * (t - f)) - (t - f))"),
    Atom("cp.sum(cp.exp(f)) - k @ f"),
    Atom("cp.norm2(t - f)", unit="sqrt(n)"),
    Atom("cp.norm_inf(t - f)", unit="1"),
    Atom("cp.sum_largest(cp.abs(t - f), n // 10)"),
    Atom("cp.sum(cp.log_sum_exp(F, axis=1)) - cp.sum(cp.multiply(own, F))"),
    Atom("cp.sum(cp.max(1 - own + F, axis=1)) - cp.sum(cp.multiply(own, F))"),
    Atom("cp.sum(cp.norm(T - F, 2, axis=1))"),
    Atom("n / 100 * cp.norm1(w)", "penalty"),
    Atom("n / 100 * cp.sum_squares(w)", "penalty"),
    Atom("n / 100 * (cp.norm1(w) + cp.sum_squares(w))", "penalty"),
    Atom("n / 100 * cp.sum(cp.huber(w, 0.1))", "penalty"),
    Atom("n / 100 * cp.sum(cp.power(cp.abs(w), 1.5))", "penalty"),
    Atom("n / 100 * cp.square(cp.norm1(w))", "penalty"),
    Atom("n / 100 * cp.norm2(w)", "penalty"),
    Atom("n / 100 * cp.norm_inf(w)", "penalty"),
    Atom("n / 100 * (cp.norm1(w) + cp.sum_largest(cp.abs(w), 3))", "penalty"),
    Atom("[n / 100 * cp.norm1(w), cp.abs(w) <= 0.2]", "penalty"),
    Atom("[0, cp.norm1(w) <= 2]", "penalty"),
    Atom("[0, cp.norm2(w) <= 1]", "penalty"),
    Atom("[0, cp.sum(w) == 2]", "penalty", nonnegative=True),
    Atom("[0, cp.sum(w) == 2, w <= 0.5]", "penalty", nonnegative=True),
    Atom("[n / 100 * cp.sum(-cp.entr(w)), cp.sum(w) == 2]", "penalty", nonnegative=True),
    Atom("n / 100 * cp.sum(cp.norm(W, 2, axis=1))", "penalty"),
    Atom("n / 100 * cp.sum(cp.norm(W, 'inf', axis=1))", "penalty"),
    Atom("n / 100 * cp.normNuc(W)", "penalty"),
    Atom("[cp.abs(means @ z) <= 0.05]", "constraint"),
    Atom("[cp.sum(cp.pos(1 - z[q])) <= 0.6 * len(q)]", "constraint"),
    Atom("[cp.norm_inf(z) <= 1]", "constraint"),
    Atom("[cp.sum_squares(z) <= 0.5 * n]", "constraint"),
)
"""What `docs/know/atoms.md` has a row of each."""


def make_data(X: NDArray, y: NDArray) -> dict[str, Any]:
    """Return the constants that the expressions are of.

    They are prices C of samples, targets t and T, counts k, `own` with a 1 for the class of each sample, samples of
    both `groups`, those with y < 0 in q, and `means`, whose product with margins is by how much the mean scores of the
    groups differ.
    """
    random, n = np.random.default_rng(1), len(y)
    t = X[:, 0] + X[:, 1] / 2 + y + random.normal(size=n)
    group = X[:, 0] + random.normal(size=n) > 0
    classes = np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))
    return {
        "n": n,
        "C": random.uniform(0.5, 1.5, size=n),
        "t": t / 3,
        "T": np.column_stack([t, t + random.normal(size=n), X[:, 1] + random.normal(size=n)]) / 3,
        "k": random.poisson(np.exp((t / 3).clip(-1, 1))).astype(float),
        "own": np.eye(3)[classes],
        "eta": cp.Variable(name="eta"),
        "groups": [np.flatnonzero(group), np.flatnonzero(~group)],
        "means": y * (group / group.sum() - ~group / (~group).sum()),
        "q": np.flatnonzero(y < 0),
    }


def run() -> Iterator[dict[str, Any]]:
    """Time each to a certified gap of 1e-3 at every size, what is expected to take least first.

    A size that would take longer than the limit, in proportion to the samples of the one before, is not tried.
    """
    # what is compiled once is not of any of them
    ATOMS[0].solve(*make_threenorm(1_000, random_state=0), TOL)
    waiting = [(0.0, k, 0) for k, atom in enumerate(ATOMS) if any(part in atom.text for part in ONLY)]
    while waiting:
        _, k, size = heappop(waiting)
        n = SIZES[size]
        began, (X, y) = process_time(), make_threenorm(n, random_state=0)

        def is_over(_: Any, end: float = began + SECONDS) -> bool:
            return process_time() > end

        found = ATOMS[k].solve(X, y, TOL, max_time=10 * SECONDS, callback=is_over)
        used = process_time() - began
        if used > SECONDS or found.ending in {Ending.MAX_TIME, Ending.STOPPED}:
            used = inf
        elif size + 1 < len(SIZES) and (expected := used * SIZES[size + 1] / n) <= SECONDS:
            heappush(waiting, (expected, k, size + 1))
        yield {"expression": ATOMS[k].text, "n": n, "seconds": round(used, 2)}
