"""How far a point is from the optimum, and how it fails to be one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import numpy as np

ROUNDING = 64 * np.finfo(float).eps
"""Relative size below which a negative gap is rounding and not a violation of weak duality."""

NEGLIGIBLE = 1e-9
"""Objectives below this count as 0: their differences are taken relative to it."""


def relative(difference: float, *objectives: float) -> float:
    """Divide a difference by the largest objective in magnitude, or by 1e-9 where all are smaller."""
    return difference / max(NEGLIGIBLE, *(abs(value) for value in objectives))


@dataclass(frozen=True)
class Certificate:
    """Primal and dual objective at feasible points, recomputed in numpy, and what they prove.

    Whatever produced the points, the optimum lies between `primal` and `dual`.

    Parameters
    ----------
    primal : float
        The objective at the repaired primal point; inf (-inf for a maximum) where no repair was found.
    dual : float
        The dual objective at the repaired dual point.
    gap : float
        ``primal - dual`` of a minimum, ``dual - primal`` of a maximum. At least 0 by weak duality.
    relative_gap : float
        gap / max(abs(primal), abs(dual), 1e-9).
    residuals : mapping of str to float
        Of the point as it was given, relative: primal feasibility, dual feasibility (signs included),
        complementary slackness, stationarity, pricing slack.
    repair : mapping of str to float
        How far each array was moved to make it feasible, in its largest entry; inf where it was not given
        and had to be derived.
    proven : bool
        Whether the dual value bounds the optimum over every hypothesis of the problem's set.
    note : str
        What the proof rests on, or why there is none.

    Examples
    --------
    >>> print(Certificate(1.0, 0.75, 0.25, 0.25, {"stationarity": 0.1}, {"w": 0.0}, True))
    primal          1
    dual            0.75
    gap             0.25  (relative 0.25)
    stationarity    0.1
    repair          w moved by 0
    proven          yes
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    residuals: Mapping[str, float]
    repair: Mapping[str, float]
    proven: bool
    note: str = field(default="", compare=False)

    @classmethod
    def between(
        cls,
        primal: float,
        dual: float,
        *,
        maximise: bool = False,
        residuals: Mapping[str, float],
        repair: Mapping[str, float],
        rounding: float = 0.0,
        proven: bool = True,
        note: str = "",
    ) -> Certificate:
        """Certify with the gap between a primal and a dual value; a proof needs both to be finite.

        A negative gap within `rounding`, the rounding error of the two values, counts as 0; NaN as no bound at all.
        """
        unbounded = -np.inf if maximise else np.inf
        primal, dual = (unbounded if np.isnan(primal) else primal), (-unbounded if np.isnan(dual) else dual)
        finite = bool(np.isfinite(primal) and np.isfinite(dual))
        gap = (dual - primal if maximise else primal - dual) if finite else np.inf
        if gap < 0 and (relative(gap, primal, dual) >= -ROUNDING or gap >= -rounding):
            gap = 0.0
        share = relative(gap, primal, dual) if finite else np.inf
        return cls(primal, dual, float(gap), float(share), residuals, repair, proven and finite, note)

    @property
    def kkt_residual(self) -> float:
        """The worst residual."""
        return max(self.residuals.values(), default=0.0)

    def holds(self, tol: float = 1e-6) -> bool:
        """Whether the point is proven to be within a relative gap of `tol`, weak duality intact."""
        return self.proven and 0 <= self.relative_gap <= tol

    def to_dict(self) -> dict[str, float | bool | None]:
        """The certificate as JSON has it; a number that is not finite is null."""
        numbers = {
            "primal": self.primal,
            "dual": self.dual,
            "gap": self.gap,
            "relative_gap": self.relative_gap,
            "kkt_residual": self.kkt_residual,
        }
        finite = {name: float(value) if np.isfinite(value) else None for name, value in numbers.items()}
        return {**finite, "proven": self.proven}

    def _rows(self) -> list[tuple[str, str]]:
        moved = ", ".join(f"{k} derived" if np.isinf(v) else f"{k} moved by {v:.3g}" for k, v in self.repair.items())
        return [
            ("primal", f"{self.primal:.10g}"),
            ("dual", f"{self.dual:.10g}"),
            ("gap", f"{self.gap:.3g}  (relative {self.relative_gap:.3g})"),
            *((name, f"{value:.3g}") for name, value in self.residuals.items()),
            ("repair", moved or "none"),
            ("proven", ("yes" if self.proven else "no") + (f": {self.note}" if self.note else "")),
        ]

    def __str__(self) -> str:
        rows = self._rows()
        width = max(16, *(len(name) + 2 for name, _ in rows))
        return "\n".join(f"{name:<{width}}{value}" for name, value in rows)

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._rows())
        return f"<table>{cells}</table>"
