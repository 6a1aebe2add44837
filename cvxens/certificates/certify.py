"""One call certifies a point of any problem, whoever found it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from cvxens import validation
from cvxens.certificates.certificate import Certificate
from cvxens.errors import InvalidInput
from cvxens.types import Array, Point


class Certifiable(Protocol):
    """A problem that can be evaluated in numpy."""

    @property
    def maximise(self) -> bool:
        """Whether the primal is a maximum."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The arrays that make up a point, in the problem's own letters, and their shapes."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names that are understood, such as the library's own words, and what they stand for."""

    def repair(self, point: Point) -> Point:
        """Complete and repair `point` into a primal and a dual feasible one."""

    def value(self, point: Point) -> float:
        """The objective of a repaired point; infinite where the repair found no feasible one."""

    def dual_value(self, point: Point) -> float:
        """The dual objective of a repaired point."""

    def rounding(self, point: Point) -> float:
        """Bound the rounding error of the two objectives of a repaired point together."""

    def residuals(self, point: Point) -> dict[str, float]:
        """The named KKT residuals of a complete point."""


def certify(problem: Certifiable, /, **arrays: Any) -> Certificate:
    """Say how far a point is from the optimum of a problem.

    Parameters
    ----------
    problem : one of the classes of cvxens.problems
        It knows its arrays, its objective, its dual objective and how to repair a point.
    **arrays : array-like
        Any of the problem's arrays, from anywhere: `w`, `b`, `u`, ...; axes of length 1 do not matter. What is
        missing is derived from what is there or replaced by a feasible default, and `repair` says so.

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
        repaired = problem.repair(given)
        residuals = problem.residuals({**repaired, **given})
        return Certificate.between(
            problem.value(repaired),
            problem.dual_value(repaired),
            maximise=problem.maximise,
            residuals={name: np.inf if np.isnan(value) else value for name, value in residuals.items()},
            rounding=problem.rounding(repaired),
            repair={name: _moved(given.get(name), repaired[name]) for name in problem.shapes if name in repaired},
        )


def _array(problem: Certifiable, name: str, values: Any) -> Array:
    if name not in problem.shapes:
        raise InvalidInput(
            name, "found an array that the problem does not have", f"give some of {', '.join(problem.shapes)}"
        )
    array, shape = validation.finite_array(name, values), problem.shapes[name]
    if _long_axes(array.shape) != _long_axes(shape):
        raise InvalidInput(name, f"found shape {array.shape}", f"give an array of shape {shape}")
    return array.reshape(shape)


def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(length for length in shape if length != 1)


def _moved(given: Array | None, repaired: Array) -> float:
    return np.inf if given is None else float(np.abs(np.asarray(repaired) - given).max())
