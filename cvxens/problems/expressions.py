"""Losses and penalties given as cvxpy expressions: evaluated exactly, and losses bounded by conic proofs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from cvxens.errors import InvalidInput, SolverFailed
from cvxens.problems.conic import FURTHER, ConicFunction, minimise
from cvxens.problems.duality import Edges
from cvxens.problems.losses import Loss, find_shortfall, rise
from cvxens.problems.modelling import Model, Term, cp, solve_model
from cvxens.problems.penalties import (
    L1,
    ElasticNet,
    Penalty,
    RadialExpression,
    SquaredL2,
    StructuredExpression,
    not_of_any_number,
)
from cvxens.problems.scalar_sums import ScalarSum
from cvxens.problems.structure import Unrecognised, read_structure
from cvxens.rounding import sum_error
from cvxens.types import Array, Point

TINY = float(np.finfo(float).tiny)

MANY = 1000
"""Samples from which on a table of proofs is made where the loss allows it: a table takes about a second."""

STEP = 1e-5
"""Step of the one-sided difference that finds a penalty's slope, relative to the largest weight."""

PRICED = 1e-3
"""Step of a further weight whose price is sought, relative to the largest: solvers see kinks further off than 1e-6."""

MOVED = 100.0
"""How far other weights may give way, in such steps: edges have errors, which a long way would add up."""

CONDITION = f"only for variables of the loss up to {FURTHER:g} times as large as those that were found"
"""What bounds hold under where no exact multipliers are verified."""

SATISFIED = 1e-6
"""Violation of a constraint, relative to the margins, up to which a solver's margins count as feasible."""


def _check_convex(argument: str, express: Callable[[Any], Any], variable: Any) -> Any:
    """Return the expression in a variable if it is a convex number by cvxpy's rules."""
    expression = cp.Expression.cast_to_const(express(variable))
    if not (expression.is_scalar() and expression.is_convex()):
        found = f"found an expression of shape {expression.shape} and curvature {expression.curvature}"
        remedy = "give a function from a cvxpy variable to a convex scalar, written with cvxpy's atoms"
        raise InvalidInput(argument, found, remedy)
    return expression


def _evaluate(argument: str, express: Callable[[Any], Any], values: Array) -> float:
    """Evaluate the expression at numbers, at its least over variables of its own; inf where it is not defined."""
    expression = _check_convex(argument, express, cp.Constant(values))
    if expression.variables():
        minimise(cp.Problem(cp.Minimize(expression)))
        for own in expression.variables():
            # at a point of its domain, so that what is evaluated is a value of the function and no less
            own.value = own.project(own.value)
    with np.errstate(all="ignore"):
        value = float(np.squeeze(expression.value))
    return np.inf if np.isnan(value) else value


def name_variables(term: Term, argument: Any) -> dict[str, Any]:
    """Return the variables of a term that its user gave names, by these; `argument` is what the term is one of.

    Raises
    ------
    InvalidInput
        Two have the same name: a variable that is used twice is to be made once, outside of the functions.
    """
    known = {variable.id for variable in (argument, *term.variables.values())}
    found = {v.id: v for part in (term.expression, *term.constraints) for v in part.variables() if v.id not in known}
    named: dict[str, Any] = {}
    for variable in found.values():
        name = variable.name()
        if name == f"{cp.settings.VAR_PREFIX}{variable.id}":
            continue
        if name in named:
            remedy = "make a variable that is used twice once, outside of the functions, or give each a name of its own"
            raise InvalidInput("variables", f"found two that are named {name!r}", remedy)
        named[name] = variable
    return named


def _find_own_values(term_of: Callable[[Any], Term], at: Array) -> dict[str, Array]:
    """Return the values of the variables that a term's user named that are best at these numbers.

    Constraints hold at a solver's numbers to its digits only, so there they may be off by as much.
    """
    near = cp.Variable(at.shape)
    term = term_of(near)
    own = name_variables(term, near)
    if not own:
        return {}
    room = SATISFIED * _size(at) if term.constraints else 0.0
    problem = cp.Problem(cp.Minimize(term.expression), [cp.abs(near - at) <= room, *term.constraints])
    minimise(problem)
    return {name: np.asarray(variable.value, dtype=float) for name, variable in own.items()}


class ConicLoss(Loss):
    """A loss that is known by its model in cvxpy alone: its dual value is bounded by conic proofs."""

    basis: ClassVar[str] = "by conic multipliers, repaired and checked"

    def conic(self, shape: tuple[int, ...]) -> ConicFunction:
        """Return the loss of margins of this shape in conic form; canonicalised once for the values of parameters."""
        if shape not in self._conics or not self._conics[shape].is_current:
            self._conics[shape] = ConicFunction.from_term(self.term, shape)
            # what was made of the form before
            self._domains.pop(shape, None)
            self._tables.pop(shape, None)
        return self._conics[shape]

    @cached_property
    def _conics(self) -> dict[tuple[int, ...], ConicFunction]:
        return {}

    def domain(self, shape: tuple[int, ...]) -> ConicFunction:
        """Return the function that is 0 where the loss is finite, for proofs that no margins of some set are there."""
        form = self.conic(shape).form
        if shape not in self._domains:
            self._domains[shape] = ConicFunction(shape, replace(form, c=np.zeros_like(form.c), offset=0.0))
        return self._domains[shape]

    @cached_property
    def _domains(self) -> dict[tuple[int, ...], ConicFunction]:
        return {}

    def table(self, shape: tuple[int, ...]) -> ScalarSum | None:
        """Return the table of proofs of a smooth sum of one scalar function over many samples; None of any other."""
        conic = self.conic(shape)
        if shape not in self._tables:
            self._tables[shape] = ScalarSum.from_function(conic) if shape[0] >= MANY else None
        return self._tables[shape]

    @cached_property
    def _tables(self) -> dict[tuple[int, ...], ScalarSum | None]:
        return {}

    def prove(self, u: Array, y: Array | None, z: Array) -> Array:
        """Move a solver's multipliers at margins z to where they have a bound; it is remembered."""
        table = self.table(u.shape)
        return self.conic(u.shape).prove(u, y, z).u if table is None else table.repair(u, y)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Move u to the nearest multipliers that have a bound, or to some that are near in a table."""
        table = self.table(u.shape)
        return self.conic(u.shape).prove(u, y).u if table is None else table.repair(u, y)

    def dual_value(self, u: Array) -> float:
        table = self.table(u.shape)
        return self.conic(u.shape).dual_value(u) if table is None else table.dual_value(u)

    def displacement(self, u: Array) -> float:
        """Bound the sum of the differences of u and some multipliers that have ``dual_value(u)`` exactly."""
        table = self.table(u.shape)
        return (self.conic(u.shape) if table is None else table).displacement(u)

    def condition(self, u: Array) -> str:
        """Say in a few words what ``dual_value(u)`` would be a bound under; empty where it is one whatever else."""
        table = self.table(u.shape)
        strict = (self.conic(u.shape) if table is None else table).is_strict(u)
        return "" if strict else CONDITION

    def dual_violation(self, u: Array) -> float:
        """Measure the distance to the nearest multipliers that have a bound, relative to the largest."""
        return float(np.abs(self.repair(u, None) - u).max(initial=0.0)) / max(float(np.abs(u).max(initial=0.0)), TINY)

    def multipliers(self, z: Array) -> Array:
        table = self.table(z.shape)
        return self.conic(z.shape).prove_at(z).u if table is None else table.multipliers(z)

    def best_intercept(self, f: Array, y: Array) -> Array:
        return self.conic(f.shape).best_shift(y * f, y)

    def slackness(self, z: Array, u: Array) -> float:
        """Return Fenchel's ``loss(z) + u'z + loss*(-u)``, which is 0 at the optimum and never less, relative."""
        value, at_u = self.value(z), self.dual_value(u)
        missed = max(value + float((u * z).sum()) - at_u, 0.0)
        return missed / max(abs(value), abs(at_u), TINY) if np.isfinite(missed) else np.inf


@dataclass(frozen=True)
class ExpressionLoss(ConicLoss):
    """A loss known by its cvxpy expression alone; further variables in it, such as slacks, are minimised over."""

    any_shape: ClassVar[bool] = True
    express: Callable[[Any], Any]  # from a cvxpy variable z to a convex expression

    def with_table(self, shape: tuple[int, ...]) -> Loss:
        """Return the same with slopes and curvatures, where there is a table."""
        table = self.table(shape)
        return self if table is None else SmoothExpression(self, table)

    def term(self, z: Any) -> Term:
        return Term(_check_convex("loss", self.express, z))

    def value(self, z: Array) -> float:
        return _evaluate("loss", self.express, z)

    def own_values(self, z: Array) -> Mapping[str, Array]:
        """Return the best values at z of the variables in the expression that have a name."""
        return _find_own_values(self.term, z)

    def rise(self, z: Array, errors: Array) -> float:
        """Bound how far the loss at margins within `errors` of z is above that at z: by twice its slope, and ends."""
        at_z = self.value(z)
        ends = max(self.value(z - errors), self.value(z + errors)) - at_z
        slopes = 2 * float((np.abs(self.multipliers(z)) * errors).sum())
        return max(ends, slopes) + sum_error(z.size, abs(at_z))

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        return 0.0 if np.isfinite(self.value(z)) else np.inf


@dataclass(frozen=True, eq=False)
class SmoothExpression(ConicLoss):
    """A loss known by its expression that has a table of proofs, and so slopes and curvatures, for fast masters."""

    loss: ExpressionLoss
    held: ScalarSum

    def term(self, z: Any) -> Term:
        return self.loss.term(z)

    def value(self, z: Array) -> float:
        return self.loss.value(z)

    def own_values(self, z: Array) -> Mapping[str, Array]:
        return self.loss.own_values(z)

    def table(self, shape: tuple[int, ...]) -> ScalarSum | None:
        return self.held

    def curvature(self, u: Array) -> Array:
        """Return the second derivatives where the multipliers are u."""
        return self.held.curvature(u)


def _check_constraints(constrain: Callable[[Any], Sequence[Any]], z: Any) -> tuple[Any, ...]:
    """Return the constraints on the margins if they are convex by cvxpy's rules."""
    found = constrain(z)
    try:
        convex = all(isinstance(one, cp.Constraint) and one.is_dcp() for one in found)
    except TypeError:
        convex = False
    if not convex:
        remedy = "give a function from the cvxpy variable z to a list of constraints, convex by cvxpy's rules"
        raise InvalidInput("constraints", f"found {found!r}", remedy)
    return tuple(found)


@dataclass(frozen=True)
class ConstrainedLoss(ConicLoss):
    """A loss where the margins satisfy some constraints, infinite elsewhere.

    Its value is that of the loss: a solver's margins satisfy the constraints to its digits only. The primal residual
    tells how well, and the certificate counts what that may be worth as rounding.
    """

    loss: Loss
    constrain: Callable[[Any], Sequence[Any]]  # from a cvxpy variable z to a list of convex constraints

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.loss.batch_shape

    def term(self, z: Any) -> Term:
        term = self.loss.term(z)
        return Term(term.expression, (*term.constraints, *_check_constraints(self.constrain, z)), term.variables)

    def value(self, z: Array) -> float:
        if self._measure_violation(z) > SATISFIED * _size(z):
            return np.inf
        if not any(constraint.variables() for constraint in _check_constraints(self.constrain, cp.Constant(z))):
            return self.loss.value(z)
        # constraints with variables of their own, which the loss may share
        near = cp.Variable(z.shape)
        term = self.term(near)
        problem = cp.Problem(
            cp.Minimize(term.expression), [cp.abs(near - z) <= SATISFIED * _size(z), *term.constraints]
        )
        try:
            return solve_model(Model(problem, {}, {}), None, {}).objective
        except SolverFailed:
            return np.inf

    @property
    def any_shape(self) -> bool:  # type: ignore[override]  # of the loss, not of the class
        return getattr(self.loss, "any_shape", False)

    def own_values(self, z: Array) -> Mapping[str, Array]:
        """Return the best values at z of the variables that expression or constraints name."""
        return _find_own_values(self.term, z)

    def rise(self, z: Array, errors: Array) -> float:
        """Bound how far the loss itself rises."""
        return rise(self.loss, z, errors)

    def shortfall(self, z: Array, u: Array) -> float:
        """Bound what the value at z is too low by, as z misses the constraints by rounding."""
        return find_shortfall(self, z, u)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Return the largest violation, of the loss's own domain or of a constraint."""
        return max(self.loss.primal_violation(z, auxiliary), self._measure_violation(z))

    def _measure_violation(self, z: Array) -> float:
        held = _check_constraints(self.constrain, cp.Constant(z))
        own = [constraint for constraint in held if not constraint.variables()]
        return max((float(np.max(constraint.violation())) for constraint in own), default=0.0)


def _size(z: Array) -> float:
    return max(1.0, float(np.abs(z).max(initial=0.0)))


def with_constraints(express: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function to one expression, infinite where constraints do not hold, where it returns these beside it."""

    def stated(w: Any) -> Any:
        found = express(w)
        if not isinstance(found, (tuple, list)):
            return found
        expression, *constraints = found
        return expression + cp.transforms.indicator(constraints, err_tol=SATISFIED)

    return stated


def read_penalty(express: Callable[[Any], Any], outputs: int | None, nonnegative: bool) -> Penalty:
    """Return the penalty that an expression is: a known one, one of known structure, or one known by it alone."""
    structures, express = [], with_constraints(express)
    for n_columns in (3, 4):
        w = cp.Variable(n_columns if outputs is None else (n_columns, outputs), nonneg=nonnegative)
        try:
            structures.append(read_structure(_check_convex("penalty", express, w), w))
        except Unrecognised as unrecognised:
            return ExpressionPenalty(express, str(unrecognised))
        except ValueError as error:
            raise not_of_any_number(error) from error
    structure, again = structures
    if not structure.equals(again):
        return ExpressionPenalty(express, "a constant that depends on the number of weights")
    if structure.norm is None and not (structure.entries or structure.totals or structure.radial or structure.constant):
        size, square = structure.size, structure.square
        if size > 0 and square > 0:
            return ElasticNet(size, 2 * square)
        if size > 0:
            return L1(size)
        if square > 0:
            return SquaredL2(2 * square)
    if structure.radial:
        return RadialExpression(express, structure.of_norm2)
    return StructuredExpression(express, structure)


@dataclass(frozen=True)
class ExpressionPenalty(Penalty):
    """A penalty known by its cvxpy expression alone: its conjugate over further weights is not known."""

    has_conjugate: ClassVar[bool] = False
    express: Callable[[Any], Any]  # from a cvxpy variable w to a convex expression, symmetric in its entries
    unrecognised: str = "nothing of it"
    """What in it is none of the sums whose conjugates are known."""

    def term(self, w: Any) -> Term:
        return Term(_check_convex("penalty", self.express, w))

    def value(self, w: Array) -> float:
        return _evaluate("penalty", self.express, w)

    def own_values(self, w: Array) -> Mapping[str, Array]:
        """Return the best values at w of the variables in the expression that have a name."""
        return _find_own_values(self.term, w)

    def conjugate(self, edges: Edges) -> float:
        return np.inf

    def threshold(self, w: Array, edges: Array) -> float:
        """Return the price of a further weight: the slope of ``V(v) = min P(w, v) - E'w`` at v = 0.

        Where P has a kink at w, other weights give way to a further one, so that the slope of P in v alone is too much.
        V' is the multiplier of ``v == step``, extrapolated to 0 from steps of two lengths. Of several outputs the least
        price counts.
        """
        step = PRICED * max(1.0, float(np.abs(w).max(initial=0.0)))
        signed = edges * np.where(w < 0, -1.0, 1.0) if len(w) else w
        units = np.eye(w[:1].size or int(np.prod(w.shape[1:])))
        prices = []
        for unit in units:
            once, twice = (
                self._price_step(w, signed, length * step * unit.reshape(1, *w.shape[1:])) for length in (1, 2)
            )
            prices.append(float(2 * once @ unit - twice @ unit))
        return min(prices)

    def _price_step(self, w: Array, edges: Array, further: Array) -> Array:
        """Return the multipliers of a further row of weights that is fixed, while the others may move a little."""
        v = cp.Variable(further.shape)
        fixed = v == further
        if not len(w):
            all_of_them, gain, near = v, 0.0, []
        else:
            moved, room = cp.Variable(w.shape), MOVED * float(np.abs(further).max())
            all_of_them = (cp.hstack if w.ndim == 1 else cp.vstack)([moved, v])
            # they keep their signs
            kept = cp.multiply(np.where(w < 0, -1.0, 1.0), moved) >= 0
            gain, near = cp.sum(cp.multiply(edges, moved)), [cp.abs(moved - w) <= room, kept]
        objective = cp.Minimize(_check_convex("penalty", self.express, all_of_them) - gain)
        model = Model(cp.Problem(objective, [fixed, *near]), {}, {"price": (fixed, -1.0)})
        return solve_model(model, None, {}).duals["price"].ravel()

    def primal_violation(self, w: Array) -> float:
        return 0.0 if not w.size or np.isfinite(self.value(w)) else np.inf

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return ``|slope of the penalty along w - edges'w|``, relative."""
        slope = (self.value((1 + STEP) * w) - self.value((1 - STEP) * w)) / (2 * STEP)
        return abs(slope - float((edges * w).sum())) / max(1.0, abs(slope))
