"""Constraints in cvxpy at numbers: by how much they are exceeded, and in what size of their own.

The size of ``f(x) <= 0`` at x is what its linearisation adds up there, ``|f'(x)| |x| + |f(x) - f'(x) x|``: it has the
units of the constraint, whatever these are, and rounding is a share of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from cvxens.errors import InvalidInput
from cvxens.problems.modelling import Term, cp
from cvxens.types import Array, Mask

Constrain: TypeAlias = "Callable[[cp.Expression], Sequence[cp.Constraint]]"
"""From a cvxpy variable to a list of convex constraints on it."""
Express: TypeAlias = "Callable[[cp.Expression], cp.Expression]"  # to a convex number

HELD = 1e-12
"""Violation of a constraint that counts as rounding, relative to its size: of what adds up 1,000 terms or so."""

ROOM = 1e-13
"""The room that points are given within inequalities, relative to their sizes, so that they hold however terms are
added up: a thousandth of a thousandth of a digit that data have."""

ROUNDS = 5
"""Corrections of a point, each of which may violate another constraint."""


@dataclass(frozen=True)
class Measured:
    """Numbers that are to be 0 or less, or 0: their values, their sizes, and which are of equalities."""

    excess: Array
    sizes: Array
    is_equal: Mask

    @property
    def lacking(self) -> Array:
        """How far each is to fall for inequalities to hold with some room; 0 where that is not due."""
        room = np.where(self.is_equal, 0.0, ROOM * self.sizes)
        # rounding is not corrected again and again
        return np.where(self.excess + room > np.where(self.is_equal, ROOM * self.sizes, 0.0), self.excess + room, 0.0)


def read_term(argument: str, express: Express, variable: cp.Variable) -> Term:
    """Return what a user's function makes of a variable: an expression, alone or with constraints beside it.

    Raises
    ------
    InvalidInput
        It is no convex number by cvxpy's rules, there is a constraint that is not convex, or a parameter has no value.
    """
    remedy = "give a function from a cvxpy variable to a convex scalar, written with cvxpy's atoms"
    found = express(variable)
    expression, *others = found if isinstance(found, (tuple, list)) and len(found) else (found,)
    if expression is None:
        raise InvalidInput(argument, "found a function that returns None", remedy)
    expression = cp.Expression.cast_to_const(expression)
    _check_values(argument, expression)
    if not (expression.is_scalar() and expression.is_convex()):
        shape = f"found an expression of shape {expression.shape} and curvature {expression.curvature}"
        raise InvalidInput(argument, shape, remedy)
    return Term(expression, tuple(one for other in others for one in _flatten(other)))


def read_constraints(constrain: Constrain, z: cp.Expression) -> tuple[cp.Constraint, ...]:
    """Return the constraints that a user's function makes of a variable, if they are convex by cvxpy's rules."""
    found = constrain(z)
    if not isinstance(found, (tuple, list)):
        raise _not_convex(found)
    return tuple(_flatten(found))


def _flatten(found: object) -> list[cp.Constraint]:
    """Return one constraint, or a list of some, as a list; InvalidInput where one is no convex constraint."""
    if isinstance(found, (tuple, list)):
        return [one for each in found for one in _flatten(each)]
    if isinstance(found, cp.Constraint):
        _check_values("constraints", found)
    if not (isinstance(found, cp.Constraint) and found.is_dcp()):
        raise _not_convex(found)
    return [found]


def _not_convex(found: object) -> InvalidInput:
    remedy = "give a function from the cvxpy variable z to a list of constraints, convex by cvxpy's rules"
    return InvalidInput("constraints", f"found {found!r:.200}", remedy)


def _check_values(argument: str, part: cp.Expression | cp.Constraint) -> None:
    """Raise InvalidInput where a parameter has no value: without it nobody knows a sign, let alone a curvature."""
    if unset := [parameter.name() for parameter in part.parameters() if parameter.value is None]:
        raise InvalidInput(argument, f"found the parameter {unset[0]!r} without a value", "set its `value` first")


def measure(constraints: Sequence[cp.Constraint]) -> Measured:
    """Measure constraints at the values that their variables have."""
    none, excess = np.zeros(0), [_find_excess(one) for one in constraints]
    is_equal = [np.full(len(own), _inner_of(one)[1]) for one, own in zip(constraints, excess, strict=True)]
    sizes = np.concatenate([none, *(_find_sizes_of(one) for one in constraints)])
    return Measured(np.concatenate([none, *excess]), sizes, np.concatenate([none, *is_equal]) > 0)


def are_held(constraints: Sequence[cp.Constraint]) -> bool:
    """Return True if all hold but for rounding at the values that their variables have.

    Sizes take derivatives, and are those of what is exceeded alone.
    """
    for constraint in constraints:
        excess = _find_excess(constraint)
        if (excess > 0).any() and not (excess <= HELD * _find_sizes_of(constraint)).all():
            return False
    return True


def find_slopes(constraints: Sequence[cp.Constraint], variables: Sequence[cp.Variable]) -> Array:
    """Return how the measured numbers rise with the variables, one after another: (n_numbers, n_entries)."""
    n_entries = sum(variable.size for variable in variables)
    rows = [np.zeros((0, n_entries))]
    for constraint in constraints:
        inner, is_equal = _inner_of(constraint)
        if inner is None:
            # what is no inequality of numbers is moved by nobody
            rows.append(np.zeros((1, n_entries)))
            continue
        of_all = {v.id: slope for v, slope in _differentiate(inner).items()}
        columns = [_as_matrix(of_all.get(v.id), v.size, inner.size).T for v in variables]
        signs = np.sign(np.ravel(inner.value, order="F")) if is_equal else np.ones(inner.size)
        rows.append(signs[:, np.newaxis] * sparse.hstack(columns).toarray())
    return np.concatenate(rows)


def _inner_of(constraint: cp.Constraint) -> tuple[cp.Expression | None, bool]:
    """Return the expression that is to be at most 0, and whether it is to be 0; None of constraints of other kinds."""
    name = type(constraint).__name__
    if name in {"Equality", "Inequality", "Zero", "NonPos"}:
        return constraint.expr, name in {"Equality", "Zero"}
    return (-constraint.args[0], False) if name == "NonNeg" else (None, False)


def _find_excess(constraint: cp.Constraint) -> Array:
    """Return by how much a constraint is exceeded, entry by entry."""
    inner, is_equal = _inner_of(constraint)
    with np.errstate(all="ignore"):
        excess = np.array([_exceed(constraint)]) if inner is None else np.ravel(inner.value, order="F").astype(float)
    # what is not defined is exceeded
    return np.where(np.isnan(excess), np.inf, np.abs(excess) if is_equal else excess)


def _find_sizes_of(constraint: cp.Constraint) -> Array:
    """Return the size of every entry of a constraint, or of a cone's altogether."""
    inner, _ = _inner_of(constraint)
    with np.errstate(all="ignore"):
        sizes = [_find_sizes(part) for part in (constraint.args if inner is None else [inner])]
    return np.array([sum(float(own.sum()) for own in sizes)]) if inner is None else sizes[0]


def _exceed(constraint: cp.Constraint) -> float:
    """Return by how much a constraint of a cone is exceeded: that of cvxpy, but for what it finds by solving."""
    if type(constraint).__name__ == "ExpCone":
        x, y, z = (np.asarray(part.value, dtype=float) for part in constraint.args)
        curve = np.where(y > 0, y * np.exp(x / np.where(y > 0, y, 1.0)), np.where(x <= 0, 0.0, np.inf))
        return float(np.maximum(curve - z, np.maximum(-y, -z)).max())
    return float(np.max(constraint.violation()))


def _differentiate(expression: cp.Expression) -> dict[cp.Variable, Any]:
    """Return the slopes of an expression in its variables, where cvxpy knows them; none where it does not."""
    try:
        return dict(expression.grad)
    except NotImplementedError:
        # that of cvxpy's largest entries in size; nothing that is linear lacks it
        return {}


def _find_sizes(expression: cp.Expression) -> Array:
    """Return the sizes of what an expression adds up, entry by entry."""
    at = np.ravel(expression.value, order="F").astype(float)
    sizes, linear = np.zeros(len(at)), np.zeros(len(at))
    if not (slopes := _differentiate(expression)):
        return sum((np.abs(np.ravel(part.value, order="F")) * np.ones(len(at)) for part in expression.args), sizes)
    for variable, slope in slopes.items():
        values = np.ravel(variable.value, order="F")
        matrix = _as_matrix(slope, len(values), len(at))
        # the least size of an entry of a variable, relative to the largest: scores that cancel are rounded as others
        # are
        sizes += np.abs(matrix).T @ np.maximum(np.abs(values), 0.02 * float(np.abs(values).max(initial=0.0)))
        linear += matrix.T @ values
    found = sizes + np.abs(at - linear)
    return np.where(np.isfinite(found), found, 0.0)


def _as_matrix(slope: Any, n_rows: int, n_columns: int) -> sparse.csc_array:
    if slope is None:
        return sparse.csc_array((n_rows, n_columns))
    return sparse.csc_array(slope if sparse.issparse(slope) else np.reshape(slope, (n_rows, n_columns), order="F"))


def solve_least(slopes: Array, scale: Array, wanted: Array) -> Array:
    """Return the least step, in units of `scale`, that lowers numbers with these slopes (n_numbers, n) as wanted."""
    # singular values below this share of the largest are 0: equal means are two constraints on one number
    return -scale * (np.linalg.pinv(slopes * scale, rcond=1e-12) @ wanted)
