"""`cvxens list`: what there is."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import getdoc
from typing import Any

import click


@click.command("list")
def list_all() -> int:
    """List estimators, formulations, kernels, oracles, masters, solvers and experiments, with their sources."""
    from cvxens import estimators, kernels, solvers
    from cvxens.cli.figures import experiment_rows
    from cvxens.cli.reports import print_names
    from cvxens.colgen import masters, oracles
    from cvxens.experiments import EXPERIMENTS
    from cvxens.problems import FORMULATIONS
    from cvxens.solvers import additive

    print_names(
        [
            ("Estimators (cvxens)", _described(estimators, _sources(estimators))),
            ("Formulations (cvxens.problems)", [(p.__name__, p.equation, p.source) for p in FORMULATIONS]),
            ("Kernels (cvxens.kernels)", _described(kernels, _sources(kernels))),
            ("Oracles (cvxens.colgen.oracles)", _described(oracles, _sources(oracles))),
            ("Masters (cvxens.colgen.masters)", _described(masters, _sources(masters))),
            ("Solvers (cvxens.solvers)", _described(solvers, solvers.SOLVERS)),
            ("Solvers (cvxens.solvers.additive)", _described(additive, additive.SOLVERS)),
            ("Experiments (cvxens reproduce)", experiment_rows(EXPERIMENTS)),
        ]
    )
    return 0


def _sources(room: Any) -> Mapping[str, str]:
    """The things of a room that say themselves where they are from."""
    things = {name: getattr(room, name) for name in room.__all__}
    return {name: thing.source for name, thing in things.items() if hasattr(thing, "source")}


def _described(room: Any, sources: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Name, first sentence of the docstring, source."""
    return [(name, _summary(getattr(room, name)), source) for name, source in sources.items()]


def _summary(thing: Any) -> str:
    return " ".join(str(getdoc(thing)).partition("\n\n")[0].split())
