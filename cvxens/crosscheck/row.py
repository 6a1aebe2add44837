"""What a cross-check says of one formulation."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from cvxens.certificates import Certificate, relative

AGREEMENT = 1e-5
"""The relative difference of objectives, and the relative certified gap, up to which a row agrees."""

ZERO = 1e-8
"""Objectives below this count as 0: the reference solvers are asked for nine digits."""


@dataclass(frozen=True)
class Side:
    """One solver's answer.

    Parameters
    ----------
    solver : str
        Which one.
    objective : float
        Its optimum; inf where it proved that there is no feasible point, nan where it failed.
    seconds : float
        Wall-clock time, the model's set-up included.
    """

    solver: str
    objective: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """Two roads to one number, and the proof of it.

    Parameters
    ----------
    formulation, source : str
        Which formulation, and where it is from.
    reference, fast : Side
        The modelled problem and the fast path.
    certificate : Certificate
        Of the fast path's answer.
    note : str
        What the row is over, and what had to be left out.
    """

    formulation: str
    source: str
    reference: Side
    fast: Side
    certificate: Certificate
    note: str = ""

    @property
    def relative_difference(self) -> float:
        """|reference - fast| / max(|reference|, |fast|); 0 where both count as 0, or proved that there is no point."""
        a, b = self.reference.objective, self.fast.objective
        if a == b or max(abs(a), abs(b)) < ZERO:
            return 0.0
        return relative(abs(a - b), a, b) if isfinite(a) and isfinite(b) else inf

    @property
    def agrees(self) -> bool:
        """Whether the objectives agree and the certificate holds; an optimum of 0 has no relative gap but infinity."""
        largest = max(abs(self.reference.objective), abs(self.fast.objective))
        at_zero = self.certificate.proven and largest < ZERO and 0 <= self.certificate.gap < ZERO
        return self.relative_difference <= AGREEMENT and (self.certificate.holds(AGREEMENT) or at_zero)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it; a number that is not finite is null."""
        return {
            "formulation": self.formulation,
            "source": self.source,
            "reference": _side(self.reference),
            "fast": _side(self.fast),
            "relative_difference": _finite(self.relative_difference),
            "certificate": self.certificate.to_dict(),
            "agrees": self.agrees,
            "note": self.note,
        }


def _side(side: Side) -> dict[str, Any]:
    return {"solver": side.solver, "objective": _finite(side.objective), "seconds": side.seconds}


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
