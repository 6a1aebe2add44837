"""TK07 Figure 1: the objective by adaptive and by fixed eta."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from cvxens.datasets import as_signs
from cvxens.problems import RhoSVM
from cvxens.solvers import Update, adaptive_updates, fixed_updates, solve_rho_svm
from reproduction import drawing, tk07
from reproduction.experiment import Experiment
from reproduction.methods import Outcome, Proof
from reproduction.splits import Split

MOST = 1000
"""Updates that are drawn."""


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
