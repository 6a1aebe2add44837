"""TK07 Figure 1: the objective by adaptive and by fixed eta."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import log
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.datasets import as_signs
from cvxens.problems import RhoSVM
from cvxens.rounding import TINY
from cvxens.solvers import Update, adaptive_updates, solve_rho_svm
from cvxens.solvers.rho_svm import Margins
from cvxens.types import Array
from reproduction import drawing, tk07
from reproduction.experiment import Experiment
from reproduction.methods import Outcome, Proof
from reproduction.splits import Split

MOST = 1000
"""Updates that are drawn."""


def fixed_updates(margins: Margins, u: Array, eta: float, *, normalised: bool = True) -> Iterator[Update]:
    """Update u by one eta, without end.

    Normalised, u_i goes to ``u_i exp(-eta (K~u)_i)`` over their sum, the exponentiated gradient of Kivinen & Warmuth
    (1997), which TK07 (8) is with an eta of its own each time. With ``eta = nu / R^2``, where R bounds |K_ij|, the mean
    of the first ``2 ln(n) R^2 / nu^2`` u's has a smallest margin within nu of its objective, by Hoeffding's lemma.

    Else it is the rule of Cristianini, Campbell & Shawe-Taylor (1999) for the hard-margin SVM, whose multipliers a have
    no sum given: a_i goes to ``a_i exp(eta (1 - (K~a)_i))``, and u is a over its sum, optimal where a is. A small eta
    takes its time; a large one overshoots, and there is no bound.

    Parameters
    ----------
    margins : callable
        Maps u to K~u.
    u : ndarray of shape (n_samples,)
        Positive; with sum 1 if normalised.
    eta : float
        Above 0.
    normalised : bool
        Whether u keeps the sum 1.

    Yields
    ------
    Update
        With u of sum 1, and an epsilon of 0: nothing is asked of an update.

    Examples
    --------
    >>> updates = fixed_updates(lambda u: np.array([1.0, 3.0]) * u, np.full(2, 0.5), eta=1.0)
    >>> next(updates).u, next(updates).u.round(3)
    (array([0.5, 0.5]), array([0.731, 0.269]))
    """
    return _update_by_one(margins, np.log(u), validation.positive("eta", eta), normalised)


def _update_by_one(margins: Margins, logs: Array, eta: float, normalised: bool) -> Iterator[Update]:
    while True:
        # a = size u, in logarithms: one that has overshot grows and shrinks by any number of powers of ten
        top = float(logs.max())
        u = np.exp(logs - top)
        size, u = top + log(float(u.sum())), np.maximum(u / u.sum(), TINY)
        q = margins(u)
        yield Update(u, q, eta, 0.0)
        # a exp(eta (1 - K~a)), kept within what a double holds: further logarithms have overshot for good
        further = np.clip(logs + eta * (1 - np.exp(min(size, 300.0)) * q), -300.0, 300.0)
        logs = np.log(u) - eta * q if normalised else further


@dataclass(frozen=True)
class Objectives:
    """The objective u'K~u after each update, from uniform weights; its value is the last.

    The proof is that of the optimum, which an active-set method finds.
    """

    updates: Callable[..., Iterator[Update]]

    def __call__(self, split: Split, /) -> Outcome:
        """Update the multipliers of the rho-SVM with the paper's kernel on the samples to train on."""
        y = as_signs(split.y)
        problem = RhoSVM(tk07.make_gaussian(split.X, split.X, tk07.find_width(split.X)), y)
        optimum = solve_rho_svm(problem)
        path: Any = self.updates((problem.K * np.outer(y, y)).__matmul__, np.full(len(y), 1 / len(y)))
        objectives = [float(update.value) for update in islice(path, MOST)]
        curve = {"objective": [float(f"{value:.4g}") for value in objectives]}
        proofs = (Proof.from_certificate(problem.certify(optimum)),)
        return Outcome(objectives[-1], proofs, curve)


FIGURES = (
    Experiment(
        paper="tk07",
        table="figure1",
        title="the objective against the number of updates, adaptive and with a fixed eta",
        protocol="""
The first realisation; the paper does not say which it drew. The kernel is exp(-|x - x'|^2 / beta), beta the mean
squared distance of the samples to train on from their mean; hard margin, uniform start, 1,000 updates, or as many
as there are; the fixed eta are of the rule of Cristianini et al., whose multipliers have no sum given. The figures are
the last objectives.
""",
        rows={name: tk07.DATA[name] for name in ("cancer", "waveform")},
        columns={
            "adaptive": Objectives(adaptive_updates),
            **{
                f"eta = {eta:g}": Objectives(partial(fixed_updates, eta=eta, normalised=False))
                for eta in (0.005, 0.01, 0.02, 0.04)
            },
        },
        measure="last objective",
        draw=drawing.draw_curves,
    ),
)
