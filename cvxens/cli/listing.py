"""`cvxens list`: what there is."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getdoc
from typing import Any

import click

SOURCES = {
    "Stumps": "LL08 section 4; DBS02",
    "Perceptrons": "LL08 section 5; Li & Lin, IJCNN 2007; SL",
    "ParallelPerceptrons": "LL08 section 5",
    "Fourier": "SL",
    "Trees": "Quinlan 1993 (C4.5)",
    "SklearnLearner": "scikit-learn",
    "KernelColumns": "KIE06 section 4",
    "Pool": "KIE06 (7)",
    "HighsMaster": "DBS02; HiGHS",
    "LeastSquaresMaster": "SL (11)",
    "CvxpyMaster": "cvxpy",
    "solve_entropy_projection": "TK07 (7)-(10)",
    "solve_regularized_exp_loss": "KIE06 (15)",
    "solve_regularized_least_squares": "TT06 (5)",
    "solve_rho_svm": "TK07 Algorithm 1",
    "solve_slssvm": "SL (11)",
    "solve_svm_dual": "LL08 P2; LIBSVM",
    "solve_svm_primal": "LL08 P1, P5; LIBSVM",
}
"""Where the oracles, masters and solvers are from; formulations and kernels say so themselves."""


@click.command("list")
def list_all() -> int:
    """List formulations, kernels, oracles, masters and solvers, with their sources."""
    from cvxens import kernels, solvers
    from cvxens.cli.reports import print_names
    from cvxens.colgen import masters, oracles
    from cvxens.problems import FORMULATIONS

    print_names(
        [
            ("Formulations (cvxens.problems)", [(p.__name__, p.equation, p.source) for p in FORMULATIONS]),
            ("Kernels (cvxens.kernels)", _described(kernels, kernels.__all__)),
            ("Oracles (cvxens.colgen.oracles)", _described(oracles, oracles.ORACLES)),
            ("Masters (cvxens.colgen.masters)", _described(masters, [m.__name__ for m in masters.MASTERS])),
            ("Fast solvers (cvxens.solvers)", _described(solvers, solvers.__all__)),
        ]
    )
    return 0


def _described(room: Any, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Name, first sentence of the docstring, source."""
    things = [(name, getattr(room, name)) for name in names]
    return [(name, _summary(thing), SOURCES.get(name) or thing.source) for name, thing in things]


def _summary(thing: Any) -> str:
    return " ".join(str(getdoc(thing)).partition("\n\n")[0].split())
