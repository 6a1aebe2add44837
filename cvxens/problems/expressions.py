"""Losses and penalties given as cvxpy expressions: evaluated exactly, and losses bounded by conic proofs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import takewhile
from typing import Any

import numpy as np

from cvxens.errors import InvalidInput, SolverFailed
from cvxens.problems.conic import FURTHER, REMEMBERED, ConicFunction, ConicProof, Stated, minimise
from cvxens.problems.constraints import (
    HELD,
    ROUNDS,
    Constrain,
    Measured,
    are_held,
    find_slopes,
    measure,
    read_constraints,
    read_term,
    solve_least,
)
from cvxens.problems.duality import Edges, row_sizes
from cvxens.problems.losses import CVaR, Loss, Scored
from cvxens.problems.modelling import Model, Term, cp, solve_model
from cvxens.problems.penalties import L1, ElasticNet, Penalty, SquaredL2, StructuredExpression, not_of_any_number
from cvxens.problems.structure import DUAL_NORMS, Unrecognised, read_slope, read_structure
from cvxens.problems.sums import ReadHinges, ScalarSum, read_hinges, read_largest, read_rows
from cvxens.rounding import EPSILON, TINY, sum_error
from cvxens.types import Array, Point

CONDITION = f"only for variables of the loss up to {FURTHER:g} times as large as those that were found"
"""What bounds hold under where no exact multipliers are verified."""

LEAST_SAMPLES = 1000
"""Samples from which on expressions are read as sums over them; of fewer, conic proofs take no longer."""

ROOMS = (0.0, 1e-9, 1e-7, 1e-5)
"""Room within constraints, relative to their sizes, that variables of one's own are given in turn until they hold."""


def _evaluate(term: Term, fixed: Sequence[cp.Variable] = ()) -> float:
    """Evaluate a term at the values of fixed variables and its least over the others; inf where it is not defined."""
    return _find_value(term.expression) if _minimise_over_own(term, fixed) else np.inf


def _minimise_over_own(term: Term, fixed: Sequence[cp.Variable] = ()) -> bool:
    """Give all but fixed variables their best values at which constraints hold but for rounding; False if none do."""
    alone, held = _split(term.constraints, fixed)
    if not are_held(alone):
        return False
    known = {variable.id for variable in fixed}
    own = {v.id: v for part in (term.expression, *held) for v in part.variables() if v.id not in known}
    if not own:
        return True
    problem = cp.Problem(cp.Minimize(term.expression), held)
    for room in ROOMS if held else ROOMS[:1]:
        if not minimise(problem, fixed, room):
            return False
        for each in own.values():
            # at a point of its domain, so that what is evaluated is a value of the function and no less
            each.value = each.project(each.value)
        if _correct(held, tuple(own.values())):
            return True
    return False


def _split(constraints: Sequence[cp.Constraint], fixed: Sequence[cp.Variable]) -> tuple[list[cp.Constraint], ...]:
    """Return the constraints on fixed variables alone, and those on others, too."""
    known = {variable.id for variable in fixed}
    parts: tuple[list[cp.Constraint], ...] = [], []
    for constraint in constraints:
        parts[any(each.id not in known for each in constraint.variables())].append(constraint)
    return parts


def _find_value(expression: cp.Expression) -> float:
    """Evaluate an expression at the values of its variables; inf where it is not defined."""
    with np.errstate(all="ignore"):
        value = float(np.squeeze(expression.value))
    return np.inf if np.isnan(value) else value


def _correct(constraints: Sequence[cp.Constraint], variables: Sequence[cp.Variable], least: float = 1.0) -> bool:
    """Move variables at a solver's values to where constraints hold but for rounding; False where they do not.

    Entries move in proportion to their sizes, or to a least share of the largest.
    """
    for _ in range(ROUNDS):
        lacking = measure(constraints).lacking
        if not lacking.any():
            return True
        slopes = find_slopes(constraints, variables)[lacking != 0]
        entries = [np.abs(np.ravel(v.value, order="F")) for v in variables]
        sizes = np.concatenate([np.maximum(size, least * (float(size.max()) or 1.0)) for size in entries])
        step_of_all = solve_least(slopes, sizes, lacking[lacking != 0])
        steps = np.split(step_of_all, np.cumsum([v.size for v in variables])[:-1])
        for v, step in zip(variables, steps, strict=True):
            v.value = v.project(v.value + np.reshape(step, v.shape, order="F"))
    return are_held(constraints)


def name_variables(term: Term, argument: cp.Expression) -> dict[str, cp.Variable]:
    """Return the variables of a term that its user gave names, by these; `argument` is what the term is one of.

    Raises
    ------
    InvalidInput
        Two have the same name: a variable that is used twice is to be made once, outside of the functions.
    """
    known = {variable.id for variable in (*argument.variables(), *term.variables.values())}
    found = {v.id: v for part in (term.expression, *term.constraints) for v in part.variables() if v.id not in known}
    named: dict[str, cp.Variable] = {}
    for variable in found.values():
        name = variable.name()
        if name == f"{cp.settings.VAR_PREFIX}{variable.id}":
            continue
        if name in named:
            remedy = "make a variable that is used twice once, outside of the functions, or give each a name of its own"
            raise InvalidInput("variables", f"found two that are named {name!r}", remedy)
        named[name] = variable
    return named


def _find_own_values(term: Term, at: cp.Expression) -> dict[str, Array]:
    """Return the best values of the variables that a term's user named, at the value of what it is stated in."""
    named = name_variables(term, at)
    if not named or not _minimise_over_own(term, at.variables()):
        return {}
    return {name: np.asarray(variable.value, dtype=float) for name, variable in named.items()}


class ConicLoss(Loss):
    """A loss that is known by its model in cvxpy alone: its dual value is bounded by conic proofs."""

    is_searched = True

    @property
    def basis(self) -> str:
        return "by conic multipliers, repaired and checked"

    def state(self, shape: tuple[int, ...]) -> Stated:
        """Return what the loss of margins of this shape is stated as; once for the values of parameters."""
        known = self._stated.get(shape)
        if known is None or not all(np.array_equal(of.value, value) for of, value in known.parameters):
            self._stated[shape] = Stated.of(self.model, shape)
        return self._stated[shape]

    @cached_property
    def _stated(self) -> dict[tuple[int, ...], Stated]:
        return {}

    def conic(self, shape: tuple[int, ...]) -> ConicFunction:
        """Return the loss of margins of this shape in conic form."""
        return self.state(shape).conic

    def domain(self, shape: tuple[int, ...]) -> ConicFunction:
        return self.conic(shape).domain

    def table(self, shape: tuple[int, ...]) -> ScalarSum | None:
        """Return the table of bounds of a smooth sum of one scalar function over many samples; None of any other."""
        stated = self.state(shape)
        if stated not in self._tables:
            # of fewer samples proofs by the conic form take no longer, and are exact
            self._tables[stated] = ScalarSum.from_stated(stated) if shape[0] >= LEAST_SAMPLES else None
        return self._tables[stated]

    @cached_property
    def _tables(self) -> dict[Stated, ScalarSum | None]:
        return {}

    def prove(self, u: Array, y: Array | None, z: Array) -> Array:
        table = self.table(u.shape)
        return self.conic(u.shape).prove(u, y, z).u if table is None else table.repair(u, y)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Move u to the nearest multipliers that have a bound, or to some that are near in a table."""
        table = self.table(u.shape)
        return self.conic(u.shape).prove(u, y).u if table is None else table.repair(u, y)

    def dual_terms(self, u: Array) -> Array:
        return np.array([(self.table(u.shape) or self.conic(u.shape)).dual_value(u)])

    def dual_rounding(self, u: Array) -> float:
        """Bound it by the sizes of the terms and of the multipliers, of which a share need not have a proof."""
        return sum_error(u.size, float(np.abs(self.dual_terms(u)).sum() + np.abs(u).sum()))

    def displacement(self, u: Array) -> float:
        return self.conic(u.shape).displacement(u) if self.table(u.shape) is None else 0.0

    def condition(self, u: Array) -> str:
        return "" if self.table(u.shape) or self.conic(u.shape).is_strict(u) else CONDITION

    def violation(self, u: Array) -> float:
        """Measure the distance to the nearest multipliers that have a bound, relative to the largest."""
        return float(np.abs(self.repair(u, None) - u).max(initial=0.0)) / max(float(np.abs(u).max(initial=0.0)), TINY)

    def multipliers(self, z: Array) -> Array:
        table = self.table(z.shape)
        return self.conic(z.shape).prove_at(z).u if table is None else table.multipliers(z)

    def best_intercept(self, f: Array, y: Array) -> Array:
        table = self.table(f.shape)
        b = None if table is None else table.best_intercept(f, y)
        return self.conic(f.shape).best_shift(y * f, y) if b is None else b

    def is_constrained(self, shape: tuple[int, ...]) -> bool:
        """Return True if the loss has constraints on margins of this shape, beside its own domain."""
        return bool(self.measure(np.zeros(shape)).sizes.size)

    def measure(self, z: Array) -> Measured:
        """Measure the constraints on the margins alone; there are none in general."""
        return measure([])

    def find_slopes(self, z: Array) -> Array:
        """Return how what `measure` measures rises with the margins: a row, shaped as z, for every number."""
        return np.zeros((0, *z.shape))

    def shortfall(self, z: Array, u: Array) -> float:
        """Bound what the value at margins that miss constraints by rounding is too low by.

        By Fenchel's inequality it is at least ``dual_value(u) - u'z``, less what that is off for multipliers that are
        displaced.
        """
        if not self.is_constrained(z.shape):
            return 0.0
        off = self.displacement(u) * float(np.abs(z).max(initial=0.0))
        return max(self.dual_value(u) - off - float((u * z).sum()) - self.value(z), 0.0)

    def hold(self, scored: Scored, w: Array, b: Array) -> tuple[Array, Array]:
        """Move weights and intercept the least until the constraints hold to the last digits, with room for rounding.

        Weights move in proportion to their sizes, and keep their signs, and their sum if that is fixed. What is far
        from feasible stays as it is.
        """
        given = w, b
        for _ in range(ROUNDS):
            z = scored.margins(w, b)
            lacking = self.measure(z).lacking
            if not (broken := lacking != 0).any():
                return w, b
            # the slopes of what is too large in weights and intercept
            slopes = scored.y * self.find_slopes(z)[broken]
            of_w = np.stack([scored.edges(slope).ravel() for slope in slopes])
            of_b = slopes.sum(axis=1).reshape(len(slopes), -1) * scored.intercept
            largest = max(float(np.abs(w).max(initial=0.0)), float(np.abs(b).max())) or 1.0
            scale, wanted = np.concatenate([np.abs(w).ravel(), np.full(b.size, largest)]), lacking[broken]
            rows = np.hstack([of_w, of_b])
            if scored.fixed_sum:
                rows, wanted = np.vstack([rows, np.repeat([1.0, 0.0], [w.size, b.size])]), np.append(wanted, 0.0)
            of_point = solve_least(rows, scale, wanted)
            ahead = w + of_point[: w.size].reshape(w.shape)
            if (ahead * w < 0).any():
                return given
            w, b = ahead, b + of_point[w.size :].reshape(b.shape)
        return (w, b) if self.is_held(scored.margins(w, b)) else given

    def slackness(self, z: Array, u: Array) -> float:
        """Return Fenchel's ``loss(z) + u'z + loss*(-u)``, which is 0 at the optimum and never less, relative."""
        value, at_u = self.value(z), self.dual_value(u)
        missed = max(value + float((u * z).sum()) - at_u, 0.0)
        return missed / max(abs(value), abs(at_u), TINY) if np.isfinite(missed) else np.inf


class StatedLoss(ConicLoss):
    """A loss whose constraints, if it has any, are stated in cvxpy: it is infinite where they do not hold.

    They hold but for rounding in their own sizes, wherever the value is finite, and it is the value at these margins,
    variables of its own alone being free.
    """

    def beside(self, shape: tuple[int, ...]) -> Stated:
        """Return what the constraints are stated in: the loss itself, or they alone beside a known one."""
        return self.state(shape)

    def is_constrained(self, shape: tuple[int, ...]) -> bool:
        return bool(self.beside(shape).term.constraints)

    def _split(self, z: Array) -> tuple[list[cp.Constraint], ...]:
        """Return the constraints on margins alone, at these, and those on variables of its own, too."""
        stated = self.beside(z.shape).at(z)
        return _split(stated.term.constraints, (stated.variable,))

    def measure(self, z: Array) -> Measured:
        return measure(self._split(z)[0])

    def is_held(self, z: Array) -> bool:
        return are_held(self._split(z)[0])

    def find_slopes(self, z: Array) -> Array:
        rows = find_slopes(self._split(z)[0], (self.beside(z.shape).variable,))
        return np.stack([row.reshape(z.shape, order="F") for row in rows])

    def terms(self, z: Array) -> Array:
        """Evaluate at margins, at the best values of its own variables that satisfy the constraints; inf if none do."""
        known, key = self.state(z.shape).values, z.tobytes()
        if key not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            known[key] = self._find_value(z)
        return np.array([known[key]])

    def _find_value(self, z: Array) -> float:
        stated = self.state(z.shape).at(z)
        return _evaluate(stated.term, (stated.variable,))

    def own_values(self, z: Array) -> Mapping[str, Array]:
        """Return the best values at z of the variables in expression or constraints that have a name."""
        stated = self.state(z.shape).at(z)
        return _find_own_values(stated.term, stated.variable)

    def rise(self, z: Array, errors: Array) -> float:
        """Bound how far the loss at margins within `errors` of z is above that at z: by twice its slope, and ends.

        A kink between can hide a steeper slope, of what is a share of 1e-16 of the margins: of functions that are not
        known sample by sample the largest over a box is that at one of its ``2^n`` corners.
        """
        at_z = self.value(z)
        # beyond a constraint that binds there is no value, and the slope at z is what it costs
        ends = [value for value in (self.value(z - errors), self.value(z + errors)) if np.isfinite(value)]
        slopes = 2 * float((np.abs(self.multipliers(z)) * errors).sum())
        return max([*ends, at_z]) - at_z + slopes + sum_error(z.size, abs(at_z))

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the best b at which the constraints hold; where there is none, the b that comes closest."""
        b, none, conic = super().best_intercept(f, y), np.zeros((0, *f.shape[1:])), self.conic(f.shape)
        at, found = np.zeros(len(conic.form.c)), b
        at[conic.form.rows] = (y * (f + b)).ravel()
        for room in ROOMS:
            if room > 0:
                with suppress(SolverFailed):
                    found = ConicFunction(f.shape, conic.form.tighten(at, room)).best_shift(y * f, y)
            found = self.hold(Scored(lambda _: f, lambda _: none, y, intercept=True), none, found)[1]
            if not self.is_constrained(f.shape) or np.isfinite(self.value(y * (f + found))):
                conic.carry(y * (f + b), y * (f + found))
                return found
        return b

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Return the largest violation of a constraint in its own size; inf where the loss is not defined."""
        measured = self.measure(z)
        exceeded = measured.excess / np.where(measured.sizes > 0, measured.sizes, 1.0)
        if (exceeded > HELD).any():
            return float(exceeded.max())
        return 0.0 if np.isfinite(self.value(z)) else np.inf


@dataclass(frozen=True)
class ExpressionLoss(StatedLoss):
    """A loss known by its cvxpy expression alone; further variables in it, such as slacks, are minimised over."""

    any_shape = True
    express: Callable[[cp.Expression], Any]  # from a cvxpy variable z to a convex expression, alone or with constraints

    def read(self, shape: tuple[int, ...]) -> Loss:
        """Return the hinges that this is a sum of, or the same with curvatures where there is a table."""
        if (table := self.table(shape)) is None:
            return self.read_linear(shape) or self
        smooth = copy(self)
        object.__setattr__(smooth, "curvature", table.curvature)
        return smooth

    def read_linear(self, shape: tuple[int, ...], *, in_part: bool = False) -> ReadHinges | CVaR | None:
        """Return the hinges of a form of many samples, or the mean of the largest; None of any other.

        Its values are those of the expression. With `in_part` some samples may have none.
        """
        stated = self.state(shape)
        if shape[0] < LEAST_SAMPLES:
            return None
        conic, named = self.conic(shape), name_variables(stated.term, stated.variable)
        hinges = None if named else read_hinges(conic.form, in_part=in_part)
        if (read := hinges or read_largest(stated, self)) is None:
            return None
        knots = np.broadcast_to(read.linear_dual.hinges[0].knots, shape)
        spread = 1.0 + float(np.ptp(knots))
        # at knots, beside them and far out
        probes = [knots + distance * spread * np.cos(np.arange(len(knots))) for distance in (0.0, 0.3, 9.0)]
        is_alone = not stated.term.constraints and len(stated.term.expression.variables()) == 1
        evaluate = self.value if is_alone else conic.minimise_over_rest
        # a solver's digits, where there are variables of its own
        room = 1e-9 if is_alone else 1e-7
        size = read.size if isinstance(read, ReadHinges) else read.value(np.zeros(shape))
        same = [np.isclose(evaluate(z), read.value(z), rtol=room, atol=room * size) for z in probes]
        return read if all(same) else None

    def model(self, z: cp.Expression) -> Term:
        return read_term("loss", self.express, z)


@dataclass(frozen=True)
class ConstrainedLoss(StatedLoss):
    """A loss where the margins satisfy some constraints, infinite elsewhere."""

    loss: Loss
    constrain: Constrain

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.loss.batch_shape

    def __post_init__(self) -> None:
        self._take(self.loss, "any_shape")

    def model(self, z: cp.Expression) -> Term:
        term = self.loss.model(z)
        return Term(term.expression, (*term.constraints, *read_constraints(self.constrain, z)), term.variables)

    @cached_property
    def _alone(self) -> ExpressionLoss:
        """The constraints as a loss that is 0 where they hold."""
        return ExpressionLoss(lambda z: [0.0, *read_constraints(self.constrain, z)])

    def beside(self, shape: tuple[int, ...]) -> Stated:
        return (self._alone if self.is_known else self).state(shape)

    def read_rows(self, shape: tuple[int, ...], most: int) -> tuple[Array, Array] | None:
        """Return at most so many rows and limits that the constraints are; None of others, and of named variables."""
        stated = self.state(shape)
        named = name_variables(stated.term, stated.variable)
        return None if named else read_rows(self._alone.conic(shape).form, most)

    def split(self, shape: tuple[int, ...]) -> list[Loss]:
        """Return what each constraint wants to be 0 or below as a loss, up to the first that is no one inequality."""
        held = self._alone.state(shape).term.constraints
        single = takewhile(lambda one: isinstance(one, cp.constraints.Inequality) and one.size == 1, held)
        return [ExpressionLoss(partial(self._express_excess, place)) for place, _ in enumerate(single)]

    def _express_excess(self, place: int, z: cp.Expression) -> cp.Expression:
        return cp.sum(read_constraints(self.constrain, z)[place].expr)

    @property
    def is_known(self) -> bool:
        return not isinstance(self.loss, StatedLoss)

    def _find_value(self, z: Array) -> float:
        if not self.is_known:
            return super()._find_value(z)
        return self.loss.value(z) + self._alone.value(z)

    def rise(self, z: Array, errors: Array) -> float:
        """Bound how far the loss rises, with variables that only constraints keep bounded or by itself."""
        return super().rise(z, errors) if self._split(z)[1] else self.loss.rise(z, errors)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        of_loss = self.loss.primal_violation(z, auxiliary) if self.is_known else 0.0
        return max(super().primal_violation(z, auxiliary), of_loss)


def read_penalty(express: Callable[[cp.Expression], Any], outputs: int | None, nonnegative: bool) -> Penalty:
    """Return the penalty that an expression is: a known one, one of known structure, or one known by it alone."""
    structures, enough = [], with_enough_weights(express)
    for n_columns in (3, 4):
        w = cp.Variable(n_columns if outputs is None else (n_columns, outputs), nonneg=nonnegative)
        try:
            term = read_term("penalty", express, w)
            structures.append(read_structure(term.expression, w, term.constraints))
        except Unrecognised as unrecognised:
            reason = str(unrecognised)
            slope, order = read_slope(term.expression, w)
            # proofs are of the values that parameters have now; that free weights may change signs random ones show
            if not slope or term.expression.parameters() or (nonnegative and not _only_rises(term, w)):
                return ExpressionPenalty(enough, reason)
            return PricedExpression(enough, reason, slope, order, outputs, nonnegative)
        except InvalidInput:
            raise
        except ValueError as error:
            raise not_of_any_number(error) from error
    structure, again = structures
    if not structure.equals(again):
        return ExpressionPenalty(enough, "a constant that depends on the number of weights")
    if structure.norm is None and (factors := structure.factors) is not None:
        size, square = factors
        if size > 0 and square > 0:
            return ElasticNet(size, 2 * square)
        if size > 0:
            return L1(size)
        if square > 0:
            return SquaredL2(2 * square)
    return StructuredExpression(express, structure)


def _only_rises(term: Term, w: cp.Variable) -> bool:
    """Return True if a term in a variable alone falls in none of its entries, by the rules of cvxpy's atoms."""
    parts = (term.expression, *(one.expr for one in term.constraints))

    def goes(node: cp.Expression, up: bool) -> bool:
        if node.is_constant() or isinstance(node, cp.Variable):
            return node.is_constant() or (node is w and up)
        rises, falls = ([of(k) for k in range(len(node.args))] for of in (node.is_incr, node.is_decr))
        along, against = (rises, falls) if up else (falls, rises)
        pairs = zip(node.args, along, against, strict=True)
        return all((same and goes(part, True)) or (other and goes(part, False)) for part, same, other in pairs)

    kinds = {type(one) for one in term.constraints}
    return kinds <= {cp.constraints.Inequality} and all(goes(part, True) for part in parts)


def with_enough_weights(express: Callable[[cp.Expression], Any]) -> Callable[[cp.Expression], Any]:
    """Return a penalty for any number of weights: for fewer than those whose sum it takes, others are 0.

    The sum of the k largest of fewer than k weights is none that cvxpy knows.
    """

    def stated(w: cp.Expression) -> Any:
        term = read_term("penalty", express, w)
        lacking = max((_count_lacking(part) for part in (term.expression, *term.constraints)), default=0)
        if not lacking:
            return [term.expression, *term.constraints]
        zeros = np.zeros((lacking, *w.shape[1:]))
        return express((cp.hstack if w.ndim == 1 else cp.vstack)([w, zeros]))

    return stated


def _count_lacking(node: cp.Expression) -> int:
    """Return how many entries a sum of the largest lacks, in any part of an expression or of a constraint."""
    own = node.k - node.args[0].size if type(node).__name__ == "sum_largest" else 0
    return max([0, int(own), *(_count_lacking(part) for part in node.args)])


@dataclass(frozen=True)
class ExpressionPenalty(Penalty):
    """A penalty known by its cvxpy expression alone: its conjugate over further weights is not known.

    Under a norm of order p of all weights their edges count in the norm of order q, ``1/p + 1/q = 1``: those of all
    hypotheses, which no search for the largest bounds. Beside an l1 norm it is a `PricedExpression`.
    """

    has_conjugate = False
    express: Callable[[cp.Expression], Any]  # from a cvxpy variable w to a convex expression, symmetric in its entries
    unrecognised: str = "nothing of it"
    """What in it is none of the sums whose conjugates are known."""

    def model(self, w: cp.Expression) -> Term:
        return read_term("penalty", self.express, w)

    def value(self, w: Array) -> float:
        return _evaluate(self.model(cp.Constant(w)))

    def repair(self, w: Array) -> Array:
        """Move weights to where the constraints on them alone hold, if they are near that."""
        at = cp.Variable(w.shape, nonneg=bool((w >= 0).all()))
        at.value = w
        held = [one for one in self.model(at).constraints if [v.id for v in one.variables()] == [at.id]]
        # weights of 0 stay so beside others, and move alike where there are no others
        least = 0.0 if w.any() else 1.0
        return np.asarray(at.value, dtype=float) if w.size and _correct(held, (at,), least) else w

    def own_values(self, w: Array) -> Mapping[str, Array]:
        """Return the best values at w of the variables in the expression that have a name."""
        at = cp.Constant(w)
        return _find_own_values(self.model(at), at)

    def conjugate(self, edges: Edges) -> float:
        return np.inf

    def threshold(self, w: Array, edges: Array) -> float:
        """Return the price of a further weight: the slope of ``V(v) = min P(w, v) - E'w`` at v = 0.

        Where P has a kink at w, other weights give way to a further one, so that the slope of P in v alone is too much.
        V' is the multiplier of ``v == step``, extrapolated to 0 from steps of two lengths. Of several outputs the least
        price counts.
        """
        # step of a further weight whose price is sought, relative to the largest: solvers see kinks further off than
        # 1e-6
        step = 1e-3 * max(1.0, float(np.abs(w).max(initial=0.0)))
        signed = edges * np.where(w < 0, -1.0, 1.0) if len(w) else w
        units = np.eye(w[:1].size or int(np.prod(w.shape[1:])))
        prices = []
        for unit in units:
            try:
                own = step * unit.reshape(1, *w.shape[1:])
                once, twice = (self._price_step(w, signed, length * own) for length in (1, 2))
            except SolverFailed as failure:
                if failure.attempts[0].status != "infeasible":
                    raise
                # so little of one more weight is not allowed: any column is a step to weights that are
                return -np.inf
            prices.append(float(2 * once @ unit - twice @ unit))
        return min(prices)

    def _price_step(self, w: Array, edges: Array, further: Array) -> Array:
        """Return the multipliers of a further row of weights that is fixed, while the others may move a little."""
        v = cp.Variable(further.shape)
        fixed = v == further
        if not len(w):
            all_of_them, gain, near = v, 0.0, []
        else:
            # how far other weights may give way, in such steps: edges have errors, which a long way would add up
            moved, room = cp.Variable(w.shape), 100.0 * float(np.abs(further).max())
            all_of_them = (cp.hstack if w.ndim == 1 else cp.vstack)([moved, v])
            # they keep their signs
            kept = cp.multiply(np.where(w < 0, -1.0, 1.0), moved) >= 0
            gain, near = cp.sum(cp.multiply(edges, moved)), [cp.abs(moved - w) <= room, kept]
        term = self.model(all_of_them)
        problem = cp.Problem(cp.Minimize(term.expression - gain), [fixed, *near, *term.constraints])
        model = Model(problem, {}, {"price": (fixed, -1.0)})
        return solve_model(model, None, {}).duals["price"].ravel()

    def primal_violation(self, w: Array) -> float:
        return 0.0 if np.isfinite(self.value(w if w.size else np.zeros((1, *w.shape[1:])))) else np.inf

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return ``|slope of the penalty along w - edges'w|``, relative."""
        step = 1e-5
        slope = (self.value((1 + step) * w) - self.value((1 - step) * w)) / (2 * step)
        return abs(slope - float((edges * w).sum())) / max(1.0, abs(slope))


@dataclass(frozen=True)
class PricedExpression(ExpressionPenalty):
    """A penalty P known by its expression, some terms of which cost at least `slope` for every unit of size.

    P is convex, and no less with further weights than with 0 in their place: free ones may change their signs in it,
    those of one sign only raise it. So ``P(w, v) >= P(w, 0) + slope sum_j |v_j|`` for the weights v of hypotheses
    outside, which may have edges up to the slope. For those inside conic multipliers E are found near the edges F, with
    a bound d of ``P(w) - E'w``. If ``|F_j - E_j| <= r``, shares t of F up to ``slope / (slope + r)`` have the bound
    ``t d + (1 - t) P(0)``, as ``t (F_j - E_j)`` is at most ``(1 - t) slope``.
    """

    has_conjugate = True
    slope: float = 0.0
    order: float = 1.0
    """That of the norm of rows of weights that |w_j| is."""
    outputs: int | None = None
    nonnegative: bool = False

    @property
    def row_norm(self) -> float:
        return DUAL_NORMS[self.order]

    @cached_property
    def _known(self) -> deque[tuple[Array, ConicProof]]:
        """Edges, and the proofs that were found near them."""
        return deque(maxlen=REMEMBERED)

    @cached_property
    def _least(self) -> float:
        """A bound of P(0) from below."""
        shape = (1,) if self.outputs is None else (1, self.outputs)
        return canonicalise_penalty(self, shape, self.nonnegative).dual().least.bound

    def threshold(self, w: Array, edges: Array) -> float:
        """Return what a unit of weight costs at least, above which the edge of a hypothesis outside may improve."""
        return self.slope

    def slopes(self, w: Array) -> tuple[Array, Array]:
        """Measure the slopes to both sides of every weight."""
        # the step of the differences, relative to the largest weight
        step, at = 1e-6 * (float(np.abs(w).max(initial=0.0)) or 1.0), self.value(w)
        units = step * np.eye(w.size).reshape(-1, *w.shape)
        ends = (np.array([side * (self.value(w + side * unit) - at) for unit in units]) for side in (-1, 1))
        below, above = (of_side.reshape(w.shape) / step for of_side in ends)
        return below, above

    def shrink(self, edges: Edges) -> float:
        return self._bound(edges)[0]

    def conjugate(self, edges: Edges) -> float:
        return -self._bound(edges)[1]

    def _bound(self, edges: Edges) -> tuple[float, float]:
        """Return the share of edges that is feasible, and a bound of ``P(w) - share edges'w`` for all w."""
        outside = min(edges.bound, edges.outside)
        # the signs of edges of one output change nothing
        at, errors = (edges.inside(), np.zeros(())) if edges.signed is None else edges.signed()
        if at.size and edges.signed is None and self.outputs is not None:
            return 1.0, -np.inf
        shrink, bound = self._bound_share(at, errors, outside)
        if shrink < 1:
            # that of a share far from 1 is a chord, and one for itself is closer
            again, bound = self._bound_share(shrink * at, shrink * errors, shrink * outside)
            shrink *= again
        return shrink, bound

    def _bound_share(self, at: Array, errors: Array, outside: float) -> tuple[float, float]:
        """Return the same of edges inside, their errors, and the largest of those outside."""
        share, proven, off, room, left = 0.0, self._least, 0.0, 1 + 8 * EPSILON, np.abs(at)
        if at.any():
            known, proof, share = self._prove(at)
            off = float(row_sizes(known + proof.u, self.row_norm).max()) * room + proof.slack
            proven, left = proof.bound, np.abs(at - share * known) + 2 * EPSILON * np.abs(at)
        rest = float(row_sizes(left + errors, self.row_norm).max(initial=0.0)) * room
        # a share t of what is the share s of edges F, and a rest, is one of t s
        limits = self.slope / max(share * (self.slope + off) + rest, TINY), self.slope / max(outside, TINY)
        shrink = 1.0 if min(limits) >= 1 else min(limits) / room
        bound = shrink * share * proven + (1 - shrink * share) * self._least
        bound -= sum_error(8, abs(proven) + abs(self._least))
        return shrink, bound if np.isfinite(bound) else -np.inf

    def _prove(self, edges: Array) -> tuple[Array, ConicProof, float]:
        """Return edges with a proof near them, and the share of these that some edges are, 1 if proven anew."""
        for known, proof in reversed(self._known):
            if known.shape == edges.shape and (square := float(np.vdot(known, known))) > 0:
                share = min(float(np.vdot(known, edges)) / square, 1.0)
                # what is near shares the proof, whose bound is off by as little
                if share >= 1 - 1e-8 and np.abs(edges - share * known).max() <= 1e-14 * np.abs(known).max():
                    return known, proof, share
        conic = canonicalise_penalty(self, edges.shape, self.nonnegative)
        proof = conic.prove(-edges)
        # from where its minimiser is, multipliers are moved by next to nothing
        proof = conic.prove(-edges, near=proof.v)
        self._known.append((edges, proof if proof.strict else replace(proof, bound=-np.inf)))
        return *self._known[-1], 1.0


def canonicalise_penalty(penalty: Penalty, shape: tuple[int, ...], nonnegative: bool) -> ConicFunction:
    """Return a penalty of weights of a shape in conic form, infinite where some are below 0 if they may not be."""

    def model(w: cp.Expression) -> Term:
        term = penalty.model(w)
        return Term(term.expression, (*term.constraints, *([w >= 0] if nonnegative else [])), term.variables)

    return ConicFunction.from_term(model, shape)
