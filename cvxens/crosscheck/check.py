"""The cross-check: every formulation solved by reference and by its fast path, and certified."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from cvxens.certificates import Certificate, relative
from cvxens.colgen.oracles import Stumps
from cvxens.crosscheck.cases import CASES, SOLVERS, Sample, solve_fast
from cvxens.errors import InvalidInput, NotSeparable, SolverFailed, SolverFallbackWarning
from cvxens.problems import FORMULATIONS, Problem
from cvxens.types import Attempt

AGREEMENT = 1e-5
"""The relative difference of objectives, and the relative certified gap, up to which a row agrees."""

ZERO = 1e-8
"""Objectives below this count as 0: the reference solvers are asked for nine digits."""


@dataclass(frozen=True)
class Side:
    """One solver's answer."""

    solver: str
    objective: float  # its optimum; inf where it proved that there is no feasible point, nan where it failed
    seconds: float  # wall-clock time, the model's set-up included


@dataclass(frozen=True)
class Row:
    """Two roads to one number, and the proof of it."""

    formulation: str
    source: str
    reference: Side  # the modelled problem
    fast: Side  # the fast path
    certificate: Certificate  # of the fast path's answer
    note: str = ""  # what the row is over, and what had to be left out

    @property
    def relative_difference(self) -> float:
        """|reference - fast| / max(|reference|, |fast|); 0 where both count as 0, or proved that there is no point."""
        a, b = self.reference.objective, self.fast.objective
        if a == b or max(abs(a), abs(b)) < ZERO:
            return 0.0
        return relative(abs(a - b), a, b) if isfinite(a) and isfinite(b) else inf

    @property
    def agrees(self) -> bool:
        """True if the objectives agree and the certificate holds; an optimum of 0 has no relative gap but infinity."""
        largest = max(abs(self.reference.objective), abs(self.fast.objective))
        at_zero = self.certificate.proven and largest < ZERO and 0 <= self.certificate.gap < ZERO
        return self.relative_difference <= AGREEMENT and (self.certificate.holds(AGREEMENT) or at_zero)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it; a number that is not finite is null."""
        sides = {
            name: {**asdict(side), "objective": side.objective if isfinite(side.objective) else None}
            for name, side in (("reference", self.reference), ("fast", self.fast))
        }
        difference = self.relative_difference
        return {
            "formulation": self.formulation,
            "source": self.source,
            **sides,
            "relative_difference": difference if isfinite(difference) else None,
            "certificate": self.certificate.to_dict(),
            "agrees": self.agrees,
            "note": self.note,
        }


def named(formulation: str | None) -> Sequence[type[Problem]]:
    """Return the formulations to check: the one that is named, whatever its case, or all."""
    if formulation is None:
        return FORMULATIONS
    chosen = [problem for problem in FORMULATIONS if problem.__name__.lower() == formulation.lower()]
    if not chosen:
        names = ", ".join(problem.__name__ for problem in FORMULATIONS)
        raise InvalidInput("formulation", f"found {formulation!r}", f"name one of {names}")
    return chosen


def crosscheck(sample: Sample, formulations: Sequence[type[Problem]] = FORMULATIONS) -> Iterator[Row]:
    """Check formulations on a sample.

    Parameters
    ----------
    sample : Sample
        Small enough for the reference solvers.
    formulations : sequence of Problem classes
        Which ones.

    Yields
    ------
    Row
        As each is done.

    Examples
    --------
    >>> from cvxens.problems import SVMDual
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    >>> [row.agrees for row in crosscheck(Sample.from_arrays(X, y), [SVMDual])]
    [True]
    """
    for formulation in formulations:
        place, over = CASES[formulation]
        problem = place(sample)
        fast, certificate, unsolved = _solve_fast(problem, sample)
        reference, failures = _solve_reference(problem)
        note = "; ".join(part for part in (over, sample.note, unsolved, failures) if part)
        yield Row(formulation.__name__, formulation.source, reference, fast, certificate, note)


def _solve_fast(problem: Problem, sample: Sample) -> tuple[Side, Certificate, str]:
    """Return the fast path's answer, its certificate, and what failed."""
    if type(problem) not in SOLVERS:
        Stumps(sample.X).price(sample.y)  # compiled beforehand, as solvers need not be
    start, failed = time.perf_counter(), ""
    try:
        solver, objective, certificate = solve_fast(problem, sample)
    except NotSeparable as proof:
        # the Farkas vector's largest edge, at most 0 up to rounding, is the residual of infeasibility
        residuals, note = {"Farkas vector": max(0.0, proof.max_edge)}, "no feasible point, by the Farkas vector"
        solver, objective, certificate = (
            "HiGHS columns",
            inf,
            Certificate(inf, inf, 0.0, 0.0, residuals, {}, True, note),
        )
    except SolverFailed as failure:
        solver, objective, failed = "failed", np.nan, _list(failure.attempts)
        certificate = Certificate(np.nan, np.nan, inf, inf, {"none": inf}, {}, False)
    return Side(solver, objective, time.perf_counter() - start), certificate, failed


def _solve_reference(problem: Problem) -> tuple[Side, str]:
    """Return the reference's answer, and which solvers failed before one did not."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SolverFallbackWarning)
            solution = problem.solve()
    except NotSeparable:
        return Side("Farkas vector", inf, time.perf_counter() - start), ""
    except SolverFailed as failure:
        return Side("failed", np.nan, time.perf_counter() - start), _list(failure.attempts)
    return Side(solution.solver, solution.objective, time.perf_counter() - start), _list(solution.attempts[:-1])


def _list(failed: Sequence[Attempt]) -> str:
    return ", ".join(f"{attempt.solver} {attempt.status}" for attempt in failed)
