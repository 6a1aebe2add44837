"""Losses and penalties given as cvxpy expressions: evaluated exactly, their conjugates unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges
from cvxens.problems.losses import Loss
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
from cvxens.problems.structure import Unrecognised, read_structure
from cvxens.types import Array, Point

STEP = 1e-5
"""Step of the one-sided difference that finds a penalty's slope, relative to the largest weight."""

PRICED = 1e-3
"""Step of a further weight whose price is sought, relative to the largest: solvers see kinks further off than 1e-6."""

MOVED = 100.0
"""How far other weights may give way, in such steps: edges have errors, which a long way would add up."""

SATISFIED = 1e-7
"""Violation of a constraint up to which a solver's margins count as feasible."""


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
        return solve_model(Model(cp.Problem(cp.Minimize(expression)), {}, {}), None, {}).objective
    with np.errstate(all="ignore"):
        value = float(np.squeeze(expression.value))
    return np.inf if np.isnan(value) else value


def _measure_slopes(value: Callable[[Array], float], z: Array, u: Array) -> float:
    """Measure how far the slopes of a loss along u and -u are below those that u claims; relative."""
    square = max(float((u * u).sum()), np.finfo(float).tiny)
    step, at_z = STEP / max(float(np.abs(u).max()), np.finfo(float).tiny), value(z)
    gains = [value(z + t * u) - at_z + t * square for t in (step, -step)]
    return max(0.0, *(-gain / (step * square) for gain in gains))


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
    room = SATISFIED * max(1.0, float(np.abs(at).max())) if term.constraints else 0.0
    problem = cp.Problem(cp.Minimize(term.expression), [cp.abs(near - at) <= room, *term.constraints])
    return dict(solve_model(Model(problem, own, {}), None, {}).variables)


class _Unproven(Loss):
    """A loss whose conjugate is not known: nothing is proven, and multipliers are left as they are."""

    has_conjugate: ClassVar[bool] = False

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the b that minimises the loss: by Brent's search for one score a sample, by cvxpy for several."""
        if f.ndim == 1:
            return super().best_intercept(f, y)
        b = cp.Variable(f.shape[1:])
        term = self.term(cp.multiply(y * np.ones(f.shape), f + np.ones((len(f), 1)) @ cp.reshape(b, (1, b.size), "C")))
        problem = cp.Problem(cp.Minimize(term.expression), list(term.constraints))
        return solve_model(Model(problem, {"b": b}, {}), None, {}).variables["b"]

    def dual_value(self, u: Array) -> float:
        return -np.inf

    def repair(self, u: Array, y: Array | None) -> Array:
        return u

    def dual_violation(self, u: Array) -> float:
        return 0.0


@dataclass(frozen=True)
class ExpressionLoss(_Unproven):
    """A loss known by its cvxpy expression alone.

    Its conjugate is not known, so the dual value of a master's u is taken from the solver: by Fenchel's equality it is
    ``loss(z) + u'z`` at the solver's margins z. Further variables in it, such as slacks, are minimised over.
    """

    any_shape: ClassVar[bool] = True
    express: Callable[[Any], Any]  # from a cvxpy variable z to a convex expression

    def term(self, z: Any) -> Term:
        return Term(_check_convex("loss", self.express, z))

    def value(self, z: Array) -> float:
        return _evaluate("loss", self.express, z)

    def own_values(self, z: Array) -> Mapping[str, Array]:
        """Return the best values at z of the variables in the expression that have a name."""
        return _find_own_values(self.term, z)

    def multipliers(self, z: Array) -> Array:
        """Return 1/n_samples for every sample."""
        return np.full(z.shape, 1 / len(z))

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        return 0.0 if np.isfinite(self.value(z)) else np.inf

    def slackness(self, z: Array, u: Array) -> float:
        """Measure how far the slopes of the loss along u and -u are below those that u claims; relative.

        It is a spot check at the two ends of a short step.
        """
        return _measure_slopes(self.value, z, u)


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
class ConstrainedLoss(_Unproven):
    """A loss where the margins satisfy some constraints, infinite elsewhere.

    It is convex as the loss is, and u is minus one of its subgradients; the conjugate is not known. Its value is that
    of the loss: a solver's margins satisfy the constraints to its digits only, and the primal residual tells how well.
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
        return self.loss.value(z)

    @property
    def any_shape(self) -> bool:  # type: ignore[override]  # of the loss, not of the class
        return getattr(self.loss, "any_shape", False)

    def own_values(self, z: Array) -> Mapping[str, Array]:
        """Return the best values at z of the variables that expression or constraints name."""
        return _find_own_values(self.term, z)

    def multipliers(self, z: Array) -> Array:
        return self.loss.multipliers(z)

    def best_intercept(self, f: Array, y: Array) -> Array:
        return self.loss.best_intercept(f, y)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Return the largest violation, of the loss's own domain or of a constraint."""
        return max(self.loss.primal_violation(z, auxiliary), self._measure_violation(z))

    def slackness(self, z: Array, u: Array) -> float:
        """Check slopes as of any expression; the loss is infinite where a step leaves the constraints."""
        at_z = max(SATISFIED, self._measure_violation(z))
        return _measure_slopes(lambda v: self.value(v) if self._measure_violation(v) <= at_z else np.inf, z, u)

    def _measure_violation(self, z: Array) -> float:
        held = _check_constraints(self.constrain, cp.Constant(z))
        return max((float(np.max(constraint.violation())) for constraint in held), default=0.0)


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
        return 0.0 if np.isfinite(self.value(w)) else np.inf

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return ``|slope of the penalty along w - edges'w|``, relative."""
        slope = (self.value((1 + STEP) * w) - self.value((1 - STEP) * w)) / (2 * STEP)
        return abs(slope - float((edges * w).sum())) / max(1.0, abs(slope))
