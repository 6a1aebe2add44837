"""The fast masters of the linear programs: soft margins and hard ones, and LPBoost.

`HighsMaster` keeps the dual alive in HiGHS, with a row added for every column, and ends in a vertex. `BallMaster`
prices first where that would over balls in place of their atoms. `InteriorPointMaster`, for larger samples, is an
interior-point method kept warm, and solved as far as the outer gap warrants; where it can do no more, the simplex
method finishes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

import numpy as np

from cvxens.colgen.masters.modelled_masters import CvxpyMaster
from cvxens.colgen.oracles.stumps import Stumps
from cvxens.colgen.protocols import Column, MasterSolution, Oracle, Priced, declared
from cvxens.colgen.restricted import FastMaster, Needs, Restricted, intercept_of, stack_dual
from cvxens.errors import SolverFailed, SolverFallbackWarning
from cvxens.hypotheses import Hypothesis
from cvxens.limits import TimeUp, check_time, time_left
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.problems.linear_dual import LinearDual, Stack
from cvxens.problems.sides import SideLoss
from cvxens.solvers import interior_point
from cvxens.solvers.additive_hinge import AdditiveHinge, StepSums
from cvxens.solvers.ball_dual import BallDual
from cvxens.solvers.interior_point import InteriorPoint, MaxSum, MinLimit, Program, ProgramRows
from cvxens.solvers.steps import StepRows
from cvxens.types import Array, Attempt, Indices


def load_highs() -> ModuleType:
    """Import HiGHS; an ImportError where it is missing, or where ortools has loaded another one (see `HighsMaster`)."""
    try:
        import highspy
    except ImportError as error:
        clash = "; ortools, which this process has loaded, brings another HiGHS, and the two do not go together"
        found = f"highspy cannot be imported ({error}){clash if 'ortools' in sys.modules else ''}"
        raise ImportError(found) from error
    return highspy


STARTS: Mapping[str, Mapping[str, object]] = {
    "warm start": {},
    "cold start": {},
    # tolerances are absolute: where bounds are large, or differ much, rounding is taken for a violation
    "bounds scaled by a power of two": {},
    "bounds scaled, and presolve": {"presolve": "on"},
}
"""How a program is solved, in turn, with HiGHS's options."""


class LiveProgram:
    """``min cost'x`` within bounds, subject to rows that are added one after the other.

    Examples
    --------
    >>> program = LiveProgram(np.array([-1.0]), np.zeros(1), np.full(1, 9.0))
    >>> program.add_row(-np.inf, np.array([2.0]), 4.0)
    >>> program.solve()
    (array([2.]), array([-0.5]))
    """

    def __init__(self, cost: Array, lower: Array, upper: Array) -> None:
        statuses = load_highs().HighsModelStatus
        self.optimal, self.time_limit = statuses.kOptimal, statuses.kTimeLimit
        # the class above it writes HiGHS's name to the output before it can be told not to, from 1.16 on
        self.highs = load_highs().Highs.__base__()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("primal_feasibility_tolerance", 1e-9)
        self.highs.setOptionValue("dual_feasibility_tolerance", 1e-9)
        bounds = np.abs(np.concatenate([lower, upper]))
        self.exponent = int(np.frexp(bounds[np.isfinite(bounds)].max(initial=1.0))[1])
        """Of two: the size of the bounds."""
        n = len(cost)
        self.indices = np.arange(n, dtype=np.int32)
        _check(self.highs.addVars(n, lower, upper), "bounds")
        _check(self.highs.changeColsCost(n, self.indices, cost), "costs")

    def add_row(self, lower: float, coefficients: Array, upper: float) -> None:
        """Add lower <= coefficients'x <= upper; fewer coefficients than variables leave out the last ones."""
        indices = self.indices[: len(coefficients)]
        _check(self.highs.addRow(lower, upper, len(coefficients), indices, coefficients), "coefficients")

    def add_column(self, coefficients: Array, lower: float = 0.0) -> None:
        """Add a variable that costs nothing yet, of `lower` or above, with its coefficients in all rows."""
        rows = np.flatnonzero(coefficients).astype(np.int32)
        self.indices = np.append(self.indices, np.int32(len(self.indices)))
        _check(self.highs.addCol(0.0, lower, inf, len(rows), rows, coefficients[rows]), "coefficients")

    def change_costs(self, cost: Array) -> None:
        """Give all variables other costs; the last basis stays feasible, so the primal simplex method goes on."""
        # 4 is the primal one
        self.highs.setOptionValue("simplex_strategy", 4)
        _check(self.highs.changeColsCost(len(self.indices), self.indices, cost), "costs")

    def solve(self) -> tuple[Array, Array]:
        """Solve from the last basis, else anew; returns variables and multipliers of rows, <= 0 for an upper bound."""
        attempts = []
        for start, options in STARTS.items():
            scale = -self.exponent if "scaled" in start else 0
            for name, value in {"presolve": "off", **options, "user_bound_scale": scale}.items():
                self.highs.setOptionValue(name, value)
            before = self.highs.getRunTime()
            # HiGHS counts the time of all runs
            self.highs.setOptionValue("time_limit", before + max(time_left(), 0.0))
            self.highs.run()
            status = self.highs.getModelStatus()
            if status == self.time_limit:
                raise TimeUp
            if status == self.optimal:
                solution = self.highs.getSolution()
                return np.array(solution.col_value), np.array(solution.row_dual)
            seconds = self.highs.getRunTime() - before
            attempts.append(Attempt(f"HiGHS, {start}", self.highs.modelStatusToString(status), seconds))
            self.highs.clearSolver()
        raise SolverFailed(attempts)


def _check(status: object, numbers: str) -> None:
    """Raise where HiGHS has refused a part of a program, without which it would solve another one."""
    if status == load_highs().HighsStatus.kError:
        raise SolverFailed([Attempt("HiGHS", "refused", 0.0, f"it takes no {numbers} of this size")])


class HighsMaster(FastMaster):
    """LL08 P3 and P4 and LPBoost by HiGHS's dual simplex, warm-started from the last basis.

    The restricted master has one variable per column and one constraint per sample; its dual, which is solved here,
    has one variable per sample and one row per column, so a new column is a new row and the last basis stays dual
    feasible. The first of these masters loads HiGHS, after which ortools can no longer be imported in the same process,
    nor HiGHS after ortools: each brings shared libraries of HiGHS of another version.

    Parameters
    ----------
    formulation : Formulation
        A piecewise linear loss, one that has a `linear_dual`, with an l1 penalty or on the simplex: of hinges, also of
        regression and under side constraints, the worst of them (CVaR), the soft minimum margin; or, with w >= 0, hard
        margins.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1, or ones for scores.

    Raises
    ------
    ImportError
        HiGHS cannot be loaded.
    """

    source = "DBS02; HiGHS"
    needs: ClassVar[tuple[Needs, ...]] = (Needs("linear_dual", "edge_limit"), Needs("linear_dual", "total"))

    def __init__(self, formulation: Formulation, y: Array) -> None:
        super().__init__(formulation, y)
        dual: LinearDual = self.loss.linear_dual
        self.stack = stack = stack_dual(formulation, y)
        self.is_cone = not dual.is_bounded
        self.limit = None if self.is_cone else self.penalty.edge_limit
        # max gains'v subject to 0 <= v <= upper, low <= sum u <= high, y'u = 0 and no edge above the limit. One that is
        # not given is a variable, gamma, and costs what it is. Multipliers of side constraints have no upper bounds
        upper = np.append(stack.upper[: stack.n_copied], np.full(len(stack.pulls), inf))
        low, high, weights = dual.low, dual.high, stack.repeat(np.ones(len(y)))
        costs = -stack.gains
        if self.is_cone:
            # of a cone of v the direction of the least gamma is looked for
            low, high, weights, costs = 1.0, 1.0, stack.gains, np.zeros(len(upper))
        if self.limit is None:
            costs, weights = np.append(costs, 1.0), np.append(weights, 0.0)
            self.program = LiveProgram(costs, np.append(np.zeros(len(upper)), -inf), np.append(upper, inf))
        else:
            self.program = LiveProgram(costs, np.zeros(len(upper)), upper)
        self.n_sums = int(low > -inf or high < inf)
        """Rows that limit the sum of u."""
        if self.n_sums:
            self.program.add_row(low, weights, high)
        if formulation.intercept:
            self.program.add_row(0.0, stack.repeat(y), 0.0)

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        """Return True for piecewise linear losses; for hard margins of one side where weights are 0 or above."""
        if not super().supports(formulation):
            return False
        dual = formulation.terms[0].linear_dual
        if dual is None or len(dual.charges):
            return False
        return dual.is_bounded or (formulation.nonnegative and len(dual.hinges) == 1)

    def add(self, columns: Sequence[Column]) -> None:
        self.restricted.add(columns)
        for values in self.restricted.H.T[-len(columns) :] if columns else ():
            signed = self.stack.repeat(self.restricted.y * values)
            if self.limit is None:
                self.program.add_row(-inf, np.append(signed, -1.0), 0.0)
            else:
                least = -inf if self.restricted.formulation.nonnegative else -self.limit
                self.program.add_row(least, signed, self.limit)

    def solve(self) -> MasterSolution:
        """Solve from the last basis, or, where HiGHS cannot, by cvxpy's solvers, with a warning."""
        try:
            return self.solve_live()
        except SolverFailed as failure:
            warnings.warn(f"{failure}; cvxpy's solvers answer", SolverFallbackWarning, stacklevel=4)
        reference = CvxpyMaster(self.restricted.formulation, self.restricted.y)
        reference.restricted = self.restricted
        return reference.solve()

    def solve_live(self) -> MasterSolution:
        """Solve from the last basis; where no margins of 1 can be reached yet, return the Farkas vector."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        variables, multipliers = self.program.solve()
        # the weights are minus the multipliers of the edges, the intercept minus that of the balance
        first, unit = len(multipliers) - self.restricted.n_columns, self.stack.unit
        w, b = -unit * multipliers[first:], self.stack.origin - unit * multipliers[self.n_sums : first].sum()
        gamma, v = (variables[-1], variables[:-1]) if self.limit is None else (0.0, variables)
        u = read_multipliers(self.stack, self.restricted, v, 1.0)
        if self.is_cone:
            return self._scale_to_gains(w, b, u, float(gamma))
        return self.restricted.evaluate({"w": w, "b": np.asarray(b), "u": u})

    def _scale_to_gains(self, a: Array, b: float, u: Array, gamma: float) -> MasterSolution:
        """Turn a solution of the game into one of LL08 P3; at a value gamma <= 0 its u is a Farkas vector.

        The game's margins are at least gamma of what they are to reach, and its edges at most gamma.
        """
        if gamma > 0:
            point = {"w": a / gamma, "b": np.asarray(b / gamma), "u": u * self.penalty.edge_limit / gamma}
            solution = self.restricted.evaluate(point)
            if np.isfinite(solution.objective):
                return solution
        return self.restricted.farkas(u)


class BallMaster(HighsMaster):
    """A master over atoms whose first multipliers are those of the optimum over all balls.

    Over atoms of ellipsoids column generation is Kelley's method, which rounds them off by planes. Under a smooth loss
    that is fast, as a few atoms for each ball suffice; under a piecewise linear one, whose multipliers stand at
    vertices, the gap was 20 % after 300 rounds on 150 samples and 20 kernels. So the dual over the balls themselves is
    solved first. Whatever that is worth, its multipliers are priced as any others are: their bound is a proof, and the
    best atoms under them, of which a master makes an ensemble, are those of the optimum.

    Parameters
    ----------
    formulation : Formulation
        A loss of hinges whose dual value is linear in u, such as the hinge or absolute errors, with an l1 penalty of
        free weights.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    grams : sequence of ndarray of shape (n_samples, n_samples)
        The PSD matrices G_m with which the largest edge of a ball under s is ``sqrt(s'G_m s)``, as oracles have.
    """

    source = "Boyd & Vandenberghe 2004"
    needs = (Needs("linear_dual", "edge_limit", nonnegative=False),)

    def __init__(self, formulation: Formulation, y: Array, grams: Sequence[Array]) -> None:
        super().__init__(formulation, y)
        self.grams: Sequence[Array] | None = grams

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        """Return True if the dual over balls is that of a linear function in a box."""
        return super().supports(formulation) and _read_box(formulation.terms[0]) is not None

    def solve(self) -> MasterSolution:
        """Solve over the atoms; the first time with the multipliers of the optimum over the balls."""
        solution, grams, self.grams = super().solve(), self.grams, None
        if grams is None:
            return solution
        y, intercept, limit = self.restricted.y, self.restricted.formulation.intercept, self.penalty.edge_limit
        box = _read_box(self.loss)
        assert box is not None
        targets, lower, upper = (np.broadcast_to(np.asarray(part, np.float64), y.shape) for part in box)
        u = BallDual(targets, lower, upper, y, intercept, grams, limit).solve()
        u = self.restricted.balance(self.loss.repair(u, y if intercept else None))
        # in the optimum the atoms of the first round are at the limit on edges
        return replace(solution, u=u, s=y * u, threshold=0.99 * limit, exact=False, edges=None)


def _read_box(loss: Any) -> tuple[Any, Any, Any] | None:
    """Return (targets, lower, upper) of a dual value ``targets'u`` on a box; None where it is none."""
    dual: LinearDual = loss.linear_dual
    first, *others = sorted(dual.hinges, key=lambda part: -part.sign)
    if (
        not dual.is_separable
        or first.sign < 0
        or len(others) > 1
        or any(not np.array_equal(part.knots, first.knots) for part in others)
    ):
        return None
    return first.knots, -others[0].prices if others else 0.0, first.prices


Choice: TypeAlias = tuple[Indices, Indices]
"""Some columns with their signs: indices of signs, indices of columns."""

NEGLIGIBLE_EDGE, NEGLIGIBLE_WEIGHT = 0.02, 1e-4
"""A column is of no use if its edge is below its limit by this share and its weight below this share of the mean."""

PURGE_AFTER = 3
"""Rounds with negligible weight and edge after which a column leaves the working set."""


def read_multipliers(stack: Stack, restricted: Restricted, v: Array, unit: float) -> Array:
    """Return the u of a program's variables v, in a unit, and tell a loss under side constraints what it is made of."""
    if not len(stack.pulls):
        return unit * stack.fold(v)
    loss: Any = restricted.problem.loss
    alone, prices = np.split(unit * v, [stack.n_copied])
    balanced = restricted.y if restricted.formulation.intercept else None
    return np.asarray(loss.adopt(stack.signs @ alone.reshape(len(stack.signs), -1), stack.scale * prices, balanced))


def write_variables(stack: Stack, loss: SideLoss, u: Array, unit: float) -> Array:
    """Return variables of a program, in a unit, for some u; of side constraints those that it is known with."""
    prices = loss.find_prices(u) if len(stack.pulls) else None
    if prices is None:
        return stack.split(u) / unit
    v = stack.split(u + prices @ loss.pulls)
    # a bound that no price can help has the scale 0
    v[stack.n_copied :] = prices / np.where(stack.scale > 0, stack.scale, 1.0)
    return v / unit


class InteriorPointMaster(FastMaster):
    """LL08 P4 and LPBoost (DBS02) by primal-dual column generation (Gondzio, Gonzalez-Brevis & Munari 2016).

    The dual, max sum u over 0 <= u <= C with a row per column, or LPBoost's game, is solved by an interior-point method
    on the normal equations, one unknown per column. It stops at a share of the outer gap, which it learns in `bound`:
    until columns are good, their exact weights are not wanted, and the u of a centred point prices far better than a
    vertex. The next round starts from that point, moved until it is strictly inside all new rows. Columns without
    weight and with a small edge rest until their edge is too large again; so do, where w is free, the negations of
    columns.

    Below 1000 samples, of hinges on both sides 300, the simplex method of HiGHS is faster, and ends in a vertex, whose
    gap is zero; `docs/know/speed.md` has the times.

    Solutions are feasible and their objectives never rise. Where the method can do no more, at relative gaps of about
    1e-9, and of 1e-4 where C is a million times the weight of the penalty, the simplex method finishes (`HighsMaster`).

    Parameters
    ----------
    formulation : Formulation
        A piecewise linear loss of bounded multipliers, one that has a `linear_dual`, with an l1 penalty, also where
        sums of its hinges are bounded; or the soft minimum margin on the simplex.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1, or ones for scores.
    """

    source = "Gondzio, Gonzalez-Brevis & Munari 2016"
    needs: ClassVar[tuple[Needs, ...]] = (Needs("linear_dual", "edge_limit"), Needs("linear_dual", "total"))
    listed = True
    least_samples = 1000
    many_samples: ClassVar[int] = 5000  # on smaller ones columns one after the other are as fast as all stumps at once
    # on smaller ones the simplex method is as fast as a beginning near a neighbour: on 100 samples with pairs it takes
    # 0.8 to 0.9 of the time, on 200 more than twice as long
    rounded_samples: ClassVar[int] = 200

    def __init__(self, formulation: Formulation, y: Array) -> None:
        super().__init__(formulation, y)
        self.signs = np.array([1.0] if formulation.nonnegative else [1.0, -1.0])
        self.near: tuple[Mapping[Hypothesis, float], Array] | None = None
        """Weights and multipliers to begin with, until that is done."""
        self.given: Sequence[Column] = ()
        """The columns that came first, to which these weights belong."""
        self.features: Array | None = None
        """What columns may be steps of."""
        self._begin()
        self.best: MasterSolution = self.restricted.start()
        # for the method to work a multiplier must be able to stay as far below its bound, relative to it
        middle = self.program.middle
        self.has_interior = bool((self.program.room(middle) >= 1e-6 * middle).all())
        self.unfinished: list[Column] = []
        self.hypotheses: list[Hypothesis | None] = []
        """Of all columns, None where they are kept less a centre."""
        self.gap = self.own_gap = inf

    def _begin(self) -> None:
        """Begin without columns in the working set."""
        y = self.restricted.y
        self.stack, self.program, self.C = self._state_dual(self.restricted.formulation, y)
        self.n_sums = self.program.rows.n_rows - self.program.n_free
        """Rows before those of the columns, which limit the sum of u."""
        if self.features is not None:
            self.program.rows.follow(self.features, y)
        self.working: Choice = (np.empty(0, np.intp), np.empty(0, np.intp))
        self.idle = np.empty(0, np.intp)
        self.at: InteriorPoint | None = None

    def _state_dual(self, formulation: Formulation, y: Array) -> tuple[Stack, Program, float]:
        """Return the stacked samples, the dual program without columns, and the unit of its multipliers, a price."""
        dual: LinearDual = self.loss.linear_dual
        scale = self.loss.limit_prices(y, intercept=formulation.intercept) if len(dual.limits) else np.zeros(0)
        scale /= max(float(np.max(part.prices)) for part in dual.hinges)
        stack = stack_dual(formulation, y, scale)
        price, rows = float(stack.upper.max()), ProgramRows(len(y), stack.signs, stack.pulls)
        objective: MaxSum | MinLimit
        if self.penalty.edge_limit is not None:
            objective = MaxSum(self.penalty.edge_limit / price, stack.gains)
        else:
            objective = MinLimit(self.loss, 1 / price)
            rows.add(np.ones((1, len(y))))
        if formulation.intercept:
            rows.add(y[np.newaxis])
        n_free = rows.n_rows
        if not objective.limit_is_free and dual.high < inf:
            # sum u <= high, as the row of a column whose values are weight / high
            rows.add(np.full((1, len(y)), self.penalty.edge_limit / dual.high))
        charges = stack.scale[:, np.newaxis] * dual.charges if len(dual.charges) else dual.charges
        return stack, Program(rows, n_free, stack.upper / price, objective, charges), price

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        dual = formulation.terms[0].linear_dual
        if not super().supports(formulation) or dual is None:
            return False
        return dual.is_bounded and not (len(dual.charges) and formulation.terms[1].edge_limit is None)

    @cached_property
    def simplex(self) -> HighsMaster | CvxpyMaster:
        """The master that finds the vertex, where it can state it; HiGHS is loaded where one is wanted first."""
        kind = HighsMaster if HighsMaster.supports(self.restricted.formulation) else CvxpyMaster
        return kind(self.restricted.formulation, self.restricted.y)

    @classmethod
    def can_begin_with(cls, oracle: Oracle, formulation: Formulation) -> bool:
        """Return True for hinges of margins or their soft minimum, with w >= 0, over all stumps."""
        one_sided = formulation.nonnegative and not formulation.intercept and formulation.outputs is None
        if declared(oracle, "every_step") is None or not one_sided or not cls.supports(formulation):
            return False
        loss, penalty = formulation.terms
        dual = loss.linear_dual
        assert dual is not None
        [first, *others] = dual.hinges
        reach_1 = not others and first.sign > 0 and bool(np.all(np.equal(first.knots, 1.0)))
        return penalty.total is not None or (dual.is_separable and reach_1)

    def begin_with_stumps(self, oracle: Stumps, tol: float) -> Sequence[Hypothesis]:
        """Begin near an ensemble of all stumps at once, whose relative gap is below `tol`; returns its stumps.

        Column generation learns thresholds a few at a time, and its programs cost the number of columns squared, and
        more. A first-order method over all stumps at once (`solvers.additive_hinge`) knows neither. What is left of the
        gap is for the interior-point method. There are none where nothing was found, or features are much alike.
        """
        check_time()
        penalty, loss, y = self.penalty, self.loss, self.restricted.y
        # in units of the weight of the penalty, where it is no game
        unit = 1.0 if penalty.total is not None else penalty.edge_limit
        prices = np.broadcast_to(np.asarray(loss.linear_dual.hinges[0].prices / unit, np.float64), y.shape)
        sums, game = StepSums.from_features(declared(oracle, "every_step")), penalty.total is not None
        size = self.restricted.formulation.find_size(1.0)
        method = AdditiveHinge(sums, y, prices, constant=oracle.constant, game=game, size=size)
        # evaluation adds to the gap; from 5e-5 on the interior-point method takes no longer. Half of the time is left
        # to price and to certify. The norm of sums of functions is 1.2 to 2 on threenorm of 10 to 100 features; on
        # MNIST it is 6.8, and the method takes a processor 77 seconds to 1.5e-3
        goal, time, most_norm = max(0.7 * tol, 5e-5), time_left(), 4.0
        lead = method.solve(goal, time / 2 if time < inf else -inf, most_norm)
        if method.norm > most_norm or not len(lead.weights) or lead.gap == inf:
            return []
        # the heaviest first: the last ones may be left out where there is no time for all
        order = np.argsort(-lead.weights, kind="stable")
        stumps = oracle.make_stumps(lead.features[order], lead.places[order], lead.signs[order])
        weights = lead.weights[order] * (penalty.total / lead.weights.sum() if game else 1.0)
        self.near = dict(zip(stumps, weights.tolist(), strict=True)), loss.repair(unit * lead.u, None)
        return stumps

    @property
    def weights_near(self) -> Array:
        """The weights to begin with, of the columns that came first; empty where there are none."""
        if self.near is None:
            return np.empty(0)
        return np.array([self.near[0].get(column.hypothesis, 0.0) for column in self.given])

    def add(self, columns: Sequence[Column]) -> None:
        self.given = self.given or columns
        if not self.hypotheses and columns:
            X = columns[0].sample
            if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub" and np.isfinite(X).all():
                self.features = X
                self.program.rows.follow(X, self.restricted.y)
        self.restricted.add(columns)
        # what is far from 0 is kept less its centre, and is no step that the oracle knows
        plain = self.restricted.centres[-len(columns) :] == 0.0
        self.hypotheses += [c.hypothesis if own else None for c, own in zip(columns, plain.tolist(), strict=True)]
        self.unfinished.extend(columns)

    def solve(self) -> MasterSolution:
        """Solve to a share of the outer gap, from the last point."""
        if self.restricted.n_columns == 0:
            return self.best
        if self.near is not None and not len(self.best.w):
            # what there is to begin with may do
            self._take(self.restricted.evaluate({"w": self._pad(self.weights_near), "u": self.near[1]}))
            return self.best
        # columns that rest, or that are new, enter where v violates their rows
        waiting = self._find_violated()
        entering = len(waiting[0]) > 0
        if entering:
            self._enter(waiting)
        before = self.at
        if before is not None:
            # asked again with nothing new, it is to do better
            goal = self.gap if entering else min(self.gap, self.own_gap)
            # exact weights are not wanted yet
            self.at, self.own_gap = interior_point.follow_path(self.program, before, 0.3 * goal)
        # no step has made it better, and nothing new has come: rounding
        if self.at is before and not entering:
            return self._finish()
        w = np.zeros(self.restricted.n_columns)
        if self.at is not None:
            # w_j = w_j^+ - w_j^-, of which the working set has either or both
            sign, column = self.working
            np.add.at(w, column, self.stack.unit * self.signs[sign] * self.at.w[self.n_sums :])
        u = read_multipliers(self.stack, self.restricted, self._v, self.C)
        self._take(self.restricted.evaluate({"w": w, "u": u}))
        self._purge()
        return self.best

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next solution is as good as the gap to what was found warrants."""
        found = Edges(priced.best_edge, priced.edge_square_sum)
        self.gap = (solution.objective - self.restricted.problem.bound(solution.u, found)) / (self.C * self.stack.unit)
        return super().bound(solution, priced)

    def _finish(self) -> MasterSolution:
        try:
            self.simplex.add(self.unfinished)
            self.unfinished = []
            finish = self.simplex
            self._take(finish.solve_live() if isinstance(finish, HighsMaster) else finish.solve())
        except (ImportError, SolverFailed) as failure:
            reason = f"the interior-point method could do no more, and {failure}"
            warnings.warn(reason, SolverFallbackWarning, stacklevel=5)
        return replace(self.best, exact=True)

    @property
    def _v(self) -> Array:
        if self.at is not None:
            return self.at.v
        return write_variables(self.stack, self.loss, self.best.u if self.near is None else self.near[1], self.C)

    def _find_violated(self) -> Choice:
        """Return the columns outside the working set, in either sign that is allowed, whose edges are too large."""
        if not self.has_interior:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        s = self.restricted.y * self.stack.fold(self._v)
        edges = np.multiply.outer(self.signs, self.restricted.problem.H.edges(s))
        if self.at is None and len(self.weights_near):
            # what has a weight, in its sign, and what nearly deserves one
            column = np.flatnonzero(self.weights_near)
            sign = (self.weights_near[column] < 0).astype(np.intp)
            edges *= 1 + NEGLIGIBLE_EDGE
            edges[sign, column] = inf
        edges[self.working] = -inf
        sign, column = np.nonzero(edges > (self.program.objective.limit if self.at is None else self.at.limit))
        return sign, column

    def _enter(self, waiting: Choice) -> None:
        sign, column = waiting
        rows = self.restricted.rows[column] * self.restricted.y * self.signs[sign, np.newaxis]
        chosen = zip(sign.tolist(), column.tolist(), strict=True)
        steps = [StepRows.read(self.hypotheses[j], float(self.signs[k])) for k, j in chosen]
        self.program.rows.add(rows, steps)
        if self.at is None:
            self.at = self._find_first_point(sign, column)
        else:
            w = np.append(self.at.w, np.zeros(len(sign)))
            self.at, _ = interior_point.start_inside(self.at.v, w, self.at.free, self.program)
        self.working = np.append(self.working[0], sign), np.append(self.working[1], column)
        self.idle = np.append(self.idle, np.zeros(len(sign), np.intp))

    def _find_first_point(self, sign: Indices, column: Indices) -> InteriorPoint:
        """Return a first point over the columns of the working set."""
        if not len(self.weights_near):
            n_rows = self.n_sums + len(column)
            w, free = np.full(n_rows, 1 / n_rows), np.zeros(self.program.n_free)
            return interior_point.start_inside(self._v, w, free, self.program)[0]
        assert self.near is not None
        w = self._pad(self.weights_near)
        v, found = self._v, self.restricted.evaluate({"w": w, "u": self.near[1]})
        self.near = None
        # the multipliers of the free rows: minus the margin rho, the intercept
        free = np.zeros(self.program.n_free)
        if self.program.objective.limit_is_free:
            free[0] = -self.loss.margin(self.restricted.margins(found))
        if self.restricted.formulation.intercept:
            free[-1] = (float(intercept_of(found)) - self.stack.origin) / self.stack.unit
        of_working = np.maximum(self.signs[sign] * w[column], 0.0) / self.stack.unit
        at, self.gap = interior_point.start_inside(v, np.append(np.zeros(self.n_sums), of_working), free, self.program)
        return at

    def _pad(self, w: Array) -> Array:
        """Return weights of the columns that came first, and 0 for the others."""
        return np.append(w, np.zeros(self.restricted.n_columns - len(w)))

    def _purge(self) -> None:
        """Remove columns from the working set that have been of no use for long, but never all."""
        if self.at is None:
            return
        at, size, unit = self.at, abs(self.at.limit), self.C * self.stack.unit
        # while the gap is wide, edges are known no better than it, so that thrice its share of the limit is kept
        to_spare = max(NEGLIGIBLE_EDGE * size, 3 * self.gap * size / max(abs(self.best.objective) / unit, size))
        s, w = at.s[self.n_sums :], at.w[self.n_sums :]
        useless = (s > to_spare) & (w < NEGLIGIBLE_WEIGHT * w.mean())
        # once more without use, or back to none
        self.idle = np.where(useless, self.idle + 1, 0)
        kept = self.idle < PURGE_AFTER
        if kept.all():
            return
        # a path needs a row
        kept[w.argmax()] = True
        rows = np.append(np.full(self.program.n_free + self.n_sums, True), kept)
        self.at = interior_point.drop_rows(at, rows[self.program.n_free :], self.program)
        self.program.rows.keep(rows)
        self.working = self.working[0][kept], self.working[1][kept]
        self.idle = self.idle[kept]

    def _take(self, new: MasterSolution) -> None:
        """Keep the new multipliers, with the best weights so far."""
        if new.objective > self.best.objective:
            best = self.best
            new = replace(new, w=self._pad(best.w), b=best.b, centred=best.centred, objective=best.objective)
        self.best = replace(new, exact=False)
