"""Certificates of optimality: a gap between feasible points, recomputed in numpy; no solver is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.rounding import EPSILON, TINY
from cvxens.types import Array, Data, Given, Point

__all__ = ["Certifiable", "Certificate", "Round", "certify", "relative"]

ROUNDING = 64 * EPSILON
"""Rounding error of the two values, relative to the larger, where nobody says how they were evaluated."""


def relative(difference: float, *objectives: float) -> float:
    """Divide a difference by the largest objective in magnitude.

    There is no size below which objectives count as 0: that would make a share of a problem's units. A difference of
    0 is 0 of anything; any other is infinite, in its sign, where all objectives are 0.

    Examples
    --------
    >>> relative(1e-17, 1e-16, -2e-17), relative(0.0, 0.0), relative(1.0, 0.0)
    (0.1, 0.0, inf)
    """
    size = max(map(abs, objectives))
    # quotients by less than the smallest normal number may overflow
    return 0.0 if difference == 0 else difference / size if size > TINY else float(np.copysign(np.inf, difference))


@dataclass(frozen=True)
class Certificate:
    """Primal and dual objective at feasible points, recomputed in numpy, and what they prove.

    Whatever produced the points, the optimum lies between `primal` and `dual`, but for `rounding`.

    Parameters
    ----------
    primal : float
        The objective at the repaired primal point; inf (-inf for a maximum) where no repair was found.
    dual : float
        The dual objective at the repaired dual point.
    gap : float
        ``primal - dual + rounding`` of a minimum, ``dual - primal + rounding`` of a maximum: no point is further from
        the optimum. Below 0 weak duality is violated by more than rounding, and nothing is proven.
    relative_gap : float
        gap / max(abs(primal), abs(dual), size).
    residuals : mapping of str to float
        Of the point as it was given, relative: primal feasibility, dual feasibility (signs included),
        complementary slackness, stationarity, pricing slack.
    repair : mapping of str to float
        How far each array was moved to make it feasible, in its largest entry; inf where it was not given
        and had to be derived.
    proven : bool
        True if the dual value bounds the optimum over every hypothesis of the problem's set, whatever else.
    note : str
        What the proof rests on, or why there is none.
    rounding : float
        Bound on what rounding can have done to the two values together; the gap contains it.
    condition : str
        What the dual value would be a bound under, such as ``"only for variables of the loss up to ten times what was
        found"``; nobody has verified it, and nothing is proven. Empty where there is no such condition.
    size : float
        What the gap is relative to where both values are smaller. It is 0 but where the objective is a margin of
        weights that add up to 1, as that of LPBoost: margins have a unit of their own, the largest value of a
        hypothesis or 1 if that is less, and an optimum below a tenth of it is near 0, where shares of it mean nothing.
    about : str
        What is certified, printed first, where the fit does not optimise it and a gap says nothing against the fit.
    prover : callable, optional
        Makes the exact proof that `exact` returns, from the points that the certificate is of. It is not copied with
        the certificate into files and other processes.

    Examples
    --------
    >>> print(Certificate(1.0, 0.75, 0.25, 0.25, {"stationarity": 0.1}, {"w": 0.0}, True))
    primal          1
    dual            0.75
    gap             0.25  (relative 0.25)
    rounding        0
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
    rounding: float = 0.0
    condition: str = ""
    size: float = 0.0
    about: str = field(default="", compare=False)
    prover: Callable[[], ExactProof | None] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "prover": None}

    def exact(self) -> ExactProof:
        """Prove the same in rational numbers, so that nothing is rounded and anybody can check it.

        Returns
        -------
        cvxens.proofs.Proof
            With the optimum over all hypotheses itself, where the formulation is a linear program over stumps and that
            can be solved over the rationals; else with the points as they are and a gap that is exact.

        Raises
        ------
        InvalidInput
            The certificate is of a formulation or a set of hypotheses that no exact proof is known for, or it was read
            from a file; or it is of one of `cvxens.problems`, and cvxens.proofs has not been imported.
        """
        if self.prover is None or (proof := self.prover()) is None:
            remedy = "take that of a run over all stumps or a pool, before it is saved, or prove(X, y) of an estimator"
            raise InvalidInput("certificate", "found one that no exact proof is known for", remedy)
        return proof

    @classmethod
    def between(
        cls,
        primal: float,
        dual: float,
        *,
        maximise: bool = False,
        residuals: Mapping[str, float] | None = None,
        repair: Mapping[str, float] | None = None,
        rounding: float | None = None,
        proven: bool = True,
        note: str = "",
        condition: str = "",
        size: float = 0.0,
    ) -> Certificate:
        """Certify with the gap between a primal and a dual value; a proof needs both to be finite, and no condition.

        `rounding` bounds the rounding error of the two values together and is added to the gap; None stands for 64
        times 2.2e-16 of the larger value. NaN counts as no bound at all. Below `size` objectives are near 0.
        """
        unbounded = -np.inf if maximise else np.inf
        primal, dual = (unbounded if np.isnan(primal) else primal), (-unbounded if np.isnan(dual) else dual)
        finite = bool(np.isfinite(primal) and np.isfinite(dual))
        if rounding is None:
            rounding = ROUNDING * max(abs(primal), abs(dual)) if finite else 0.0
        finite = finite and bool(np.isfinite(rounding))
        gap = (dual - primal if maximise else primal - dual) + rounding if finite else np.inf
        share = relative(gap, primal, dual, size) if finite else np.inf
        if gap < 0:
            note, condition = "weak duality is violated by more than rounding: one of the two values is wrong", ""
        primal, dual, gap, share, rounding = map(float, (primal, dual, gap, share, rounding))
        condition = condition if proven and finite else ""
        proven = proven and finite and gap >= 0 and not condition
        return cls(primal, dual, gap, share, residuals or {}, repair or {}, proven, note, rounding, condition, size)

    @property
    def kkt_residual(self) -> float:
        """The largest of the named residuals; 0 where there are none."""
        return max(self.residuals.values(), default=0.0)

    def holds(self, tol: float = 1e-6) -> bool:
        """Return True if the point is proven to be within a relative gap of `tol`, weak duality intact."""
        return self.proven and 0 <= self.relative_gap <= tol

    def to_dict(self) -> dict[str, float | bool | str | None]:
        """Return the certificate as JSON has it; a number that is not finite is null."""
        names = ("primal", "dual", "gap", "relative_gap", "rounding", "kkt_residual")
        numbers = {name: float(getattr(self, name)) for name in names}
        finite = {name: value if np.isfinite(value) else None for name, value in numbers.items()}
        return {**finite, "proven": self.proven, "condition": self.condition}

    def _rows(self) -> list[tuple[str, str]]:
        state = "yes" if self.proven else f"conditional, {self.condition}" if self.condition else "no"
        of_unit = f" to {self.size:g}" if self.size > max(abs(self.primal), abs(self.dual)) else ""
        moved = ", ".join(f"{k} derived" if np.isinf(v) else f"{k} moved by {v:.3g}" for k, v in self.repair.items())
        return [
            *([("of", self.about)] if self.about else []),
            ("primal", f"{self.primal:.10g}"),
            ("dual", f"{self.dual:.10g}"),
            ("gap", f"{self.gap:.3g}  (relative{of_unit} {self.relative_gap:.3g})"),
            ("rounding", f"{self.rounding:.3g}"),
            *((name, f"{value:.3g}") for name, value in self.residuals.items()),
            ("repair", moved or "none"),
            ("proven", state + (f": {self.note}" if self.note else "")),
        ]

    def __str__(self) -> str:
        rows = self._rows()
        width = max(16, *(len(name) + 2 for name, _ in rows))
        return "\n".join(f"{name:<{width}}{value}" for name, value in rows)

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._rows())
        return f"<table>{cells}</table>"


def name_residuals(
    primal: float = 0.0, dual: float = 0.0, slackness: float = 0.0, stationarity: float = 0.0, pricing: float = 0.0
) -> dict[str, float]:
    """Return the KKT residuals of a point by the names that certificates have for them."""
    names = "primal feasibility", "dual feasibility", "complementary slackness", "stationarity", "pricing slack"
    return dict(zip(names, (primal, dual, slackness, stationarity, pricing), strict=True))


@dataclass(frozen=True)
class Round:
    """One row of the history of an iterative method: how near it was to the optimum after a round.

    Parameters
    ----------
    objective : float
        Of the round's point; infinite while there is none.
    bound : float
        The best bound so far on the optimum, from the other side; infinite where there is none.
    relative_gap : float
        Between the best objective so far and the bound, relative to the larger.
    size : int
        Of the model by then: columns, or hypotheses, or samples with multipliers.
    seconds : float
        Wall-clock time from the start to the end of the round.
    steps : int
        Of the solver by then, where a round is several.
    """

    quantity: ClassVar[str] = "objective"  # what the objective is called

    objective: float
    bound: float
    relative_gap: float
    size: int
    seconds: float
    steps: int = 0


class Evaluation(Protocol):
    """A repaired point of a problem and its objectives, in numpy."""

    @property
    def point(self) -> Point:
        """The arrays of the feasible point that both objectives were evaluated at, by name."""

    @property
    def primal(self) -> float:
        """The objective there; infinite where the repair found no feasible point."""

    @property
    def dual(self) -> float:
        """The dual objective there."""

    @property
    def rounding(self) -> float:
        """A bound on the rounding error of the two objectives together."""

    @property
    def condition(self) -> str:
        """What the dual objective would be a bound under that is not verified; empty where there is no such."""

    def residuals(self, given: Point, /) -> dict[str, float]:
        """Evaluate the named KKT residuals of the given arrays, completed by the repaired ones."""


class ExactProof(Protocol):
    """A `cvxens.proofs.Proof`, as far as certificates know it."""

    @property
    def claim(self) -> str:
        """The claim in one sentence."""

    def save(self, path: str | Path, data: str | Path | None = None) -> None:
        """Write the proof to a file, and the sample, if wanted, to another one."""


@runtime_checkable
class Certifiable(Protocol):
    """A problem that can be evaluated in numpy."""

    @property
    def maximise(self) -> bool:
        """True if the primal is a maximum."""

    @property
    def size(self) -> float:
        """What gaps are relative to where both objectives are smaller; 0 for nothing."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The arrays that make up a point, in the problem's own letters, and their shapes."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names that are understood, such as the library's own words, and what they stand for."""

    def evaluate(self, point: Point, /) -> Evaluation:
        """Complete and repair `point` into a primal and a dual feasible one, and evaluate both objectives there."""


def certify(problem: Certifiable, /, **arrays: Given) -> Certificate:
    """Say how far a point is from the optimum of a problem.

    Parameters
    ----------
    problem : one of the classes of cvxens.problems
        It knows its arrays, its objective, its dual objective and how to repair a point.
    **arrays : array-like
        Any of the problem's arrays, from anywhere: `w`, `b`, `u`, ...; axes of length 1 do not matter. What is
        missing is derived from what is there or replaced by a feasible default, and `repair` says so: multipliers
        are the slopes of the loss at the weights' margins, where it has kinks those that suit the weights best.

    Returns
    -------
    Certificate
        With the gap between feasible points, so that it bounds the error whatever produced the arrays.

    Raises
    ------
    InvalidInput
        An array of a name, shape or content that the problem cannot use.

    Examples
    --------
    >>> from cvxens.problems import SoftMarginBoosting
    >>> H = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    >>> problem = SoftMarginBoosting(H, np.array([1.0, 1.0, -1.0]), C=1.0)
    >>> certificate = certify(problem, w=[1.0, 0.0], u=[1.0, 0.0, 0.0])
    >>> certificate.primal, certificate.dual, certificate.proven
    (1.0, 1.0, True)
    """
    named = {problem.aliases.get(name, name): values for name, values in arrays.items() if values is not None}
    given = {name: _array(problem, name, values) for name, values in named.items()}
    if not given:
        raise InvalidInput("arrays", "found none", f"give some of {', '.join(problem.shapes)}")
    with np.errstate(over="ignore", invalid="ignore"):
        evaluated = problem.evaluate(given)
        certificate = certify_evaluated(problem, evaluated, given)
    return replace(certificate, prover=partial(_prove_evaluated, problem, evaluated))


PROVERS: list[Callable[[Any, Any], ExactProof | None]] = []
"""What makes an exact proof of a problem and its evaluated point; `cvxens.proofs` enters it when it is imported."""


def certify_evaluated(problem: Certifiable, evaluated: Evaluation, given: Point) -> Certificate:
    """Certify a point that was repaired from `given` arrays: residuals and repairs are those of these."""
    residuals = evaluated.residuals(given)
    return Certificate.between(
        evaluated.primal,
        evaluated.dual,
        maximise=problem.maximise,
        residuals={name: np.inf if np.isnan(value) else value for name, value in residuals.items()},
        rounding=evaluated.rounding,
        condition=evaluated.condition,
        size=problem.size,
        repair={
            name: float(np.abs(evaluated.point[name] - given[name]).max()) if name in given else np.inf
            for name in problem.shapes
            if name in evaluated.point
        },
    )


def _prove_evaluated(problem: Certifiable, evaluated: Evaluation) -> ExactProof | None:
    if not PROVERS:
        raise InvalidInput("certificate", "found that nothing is loaded that proves it exactly", "import cvxens.proofs")
    return PROVERS[0](problem, evaluated)


def _array(problem: Certifiable, name: str, values: Data) -> Array:
    if name not in problem.shapes:
        known = f"give some of {', '.join(problem.shapes)}"
        raise InvalidInput(name, "found an array that the problem does not have", known)
    array, shape = validation.finite_array(name, values), problem.shapes[name]
    # axes of length 1 do not matter
    if [length for length in array.shape if length != 1] != [length for length in shape if length != 1]:
        raise InvalidInput(name, f"found shape {array.shape}", f"give an array of shape {shape}")
    return array.reshape(shape)
