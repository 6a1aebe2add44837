"""The cross-check: every formulation solved by reference and by its fast path, and certified."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from cvxens.certificates import Certificate
from cvxens.crosscheck.cases import CASES, Case
from cvxens.crosscheck.row import Row, Side
from cvxens.crosscheck.sample import Sample
from cvxens.errors import InvalidInput, NotSeparable, SolverFailed, SolverFallbackWarning
from cvxens.problems import FORMULATIONS, Problem
from cvxens.types import Attempt


def named(formulation: str | None) -> Sequence[type[Problem]]:
    """The formulations to check: the one that is named, whatever its case, or all."""
    if formulation is None:
        return FORMULATIONS
    chosen = [problem for problem in FORMULATIONS if problem.__name__.lower() == formulation.lower()]
    if not chosen:
        raise InvalidInput(
            "formulation", f"found {formulation!r}", f"name one of {', '.join(p.__name__ for p in FORMULATIONS)}"
        )
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
    >>> [row.agrees for row in crosscheck(Sample.of(X, y), [SVMDual])]
    [True]
    """
    for formulation in formulations:
        case = CASES[formulation](sample)
        fast, certificate, unsolved = _fast(case)
        reference, failures = _reference(case)
        note = "; ".join(part for part in (case.over, sample.note, unsolved, failures) if part)
        yield Row(formulation.__name__, formulation.source, reference, fast, certificate, note)


def _fast(case: Case) -> tuple[Side, Certificate, str]:
    """The fast path's answer, and what failed."""
    start = time.perf_counter()
    try:
        return *case.fast(), ""
    except SolverFailed as failure:
        unproven = Certificate(np.nan, np.nan, np.inf, np.inf, {"none": np.inf}, {}, False)
        return Side("failed", np.nan, time.perf_counter() - start), unproven, _listed(failure.attempts)


def _reference(case: Case) -> tuple[Side, str]:
    """The reference's answer, and which solvers failed before one did not."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SolverFallbackWarning)
            solution = case.problem.solve()
    except NotSeparable:
        return Side("Farkas vector", np.inf, time.perf_counter() - start), ""
    except SolverFailed as failure:
        return Side("failed", np.nan, time.perf_counter() - start), _listed(failure.attempts)
    return Side(solution.solver, solution.objective, time.perf_counter() - start), _listed(solution.attempts[:-1])


def _listed(failed: Sequence[Attempt]) -> str:
    return ", ".join(f"{attempt.solver} {attempt.status}" for attempt in failed)
