"""cvxpy, imported when the first problem is modelled and not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import lazy_loader

from cvxens.types import Point

if TYPE_CHECKING:
    import cvxpy as cp
else:
    cp = lazy_loader.load("cvxpy")

Scalar: TypeAlias = Any
"""A float where numbers are evaluated, a ``cvxpy.Parameter`` where a problem is modelled."""


@dataclass(frozen=True)
class Term:
    """One convex term of an objective.

    Parameters
    ----------
    expression : cvxpy.Expression
        Convex, scalar.
    constraints : tuple of cvxpy.Constraint
        What makes it finite.
    variables : mapping of str to cvxpy.Expression
        Auxiliary variables worth reporting, such as the slacks `xi`.
    """

    expression: Any
    constraints: tuple[Any, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A modelled problem and the way back to its named variables and multipliers.

    Parameters
    ----------
    problem : cvxpy.Problem
        Convex by DCP, and DPP in its parameters.
    variables : mapping of str to cvxpy.Expression
        Named as in the problem's docstring.
    duals : mapping of str to (cvxpy.Constraint, float)
        The constraint whose multiplier it is, and the factor that turns cvxpy's sign into ours.
    parameters : mapping of str to cvxpy.Parameter
        The swept parameters.
    back : callable
        Maps (variables, duals) of the modelled problem to the duals of the stated one.
    """

    problem: Any
    variables: Mapping[str, Any]
    duals: Mapping[str, tuple[Any, float]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    back: Callable[[Point, Point], Point] = lambda _, duals: duals
