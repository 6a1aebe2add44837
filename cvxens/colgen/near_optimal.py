"""Near-optimal ensembles: how far a linear function of the weights reaches within a level of the objective.

    maximise c'w   subject to   loss(z) + penalty(w) <= level,   z = y (H w + b),   w >= 0

With t > 0 the multiplier of the level, the inner minimum of ``t (loss + penalty - level) - c'w`` is t times the dual
of the problem itself, with the edges ``H'(y u) + c / t`` in place of ``H'(y u)``. So for any t and any u

    c'w <= t (level + loss*(-u) + penalty*(H'(y u) + c / t)),      y'u = 0 where there is an intercept

which is a bound over all hypotheses where their edges, raised by c / t, are bounded: by oracles, if ``c_j = a'h_j``
or a constant, for all hypotheses or for each of some parts of them. So it is column generation over the same
hypotheses: a master over the columns so far, and an oracle for the raised edges.

Two of these functions are of use for every feature, and their ranges are its **band**:

- the **shape** of feature d at a value v, less its mean over the sample, ``g_d(v) - mean_i g_d(x_id)``: c_j is h_j
  there less its mean over the sample for the hypotheses of d, and 0 for all others. If row k has the value v, this is
  an edge too, under the weights ``e_k - 1/n``;
- the **importance** of d, the sum of the weights of its hypotheses: c_j is 1 for these.

So hypotheses of d and all others are priced apart. The set of either is that of the oracle on a sample in which the
other features, or d itself, are constant: of these there are no hypotheses. The constants of a set are of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import fsum, inf
from typing import Any, NamedTuple, Unpack
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, issparse

from cvxens import validation
from cvxens.colgen.loop import Run, RunOptions, column_generation
from cvxens.colgen.masters.linear_masters import LiveProgram
from cvxens.colgen.protocols import Column, Oracle, Priced, ask, declared, evaluate, skip_squares, with_signs
from cvxens.errors import InvalidInput, SolverFallbackWarning
from cvxens.hypotheses import Constant, Hypothesis, negate
from cvxens.limits import TimeUp, check_time, limit_time, time_is_up
from cvxens.problems import Problem
from cvxens.problems.duality import Edges, balance_exactly
from cvxens.problems.formulation import Formulation
from cvxens.problems.modelling import Model, cp, solve_model
from cvxens.rounding import EPSILON, sum_error
from cvxens.types import Array, Data, Frame, Given, Indices

N_POINTS = 10
"""Values of a feature at which its band is found where nobody says how many: each is two programs."""

CONSTANTS = (Constant(1), Constant(-1))
"""Hypotheses of no feature."""


@dataclass(frozen=True, eq=False)
class Range:
    """What linear functions of the weights can be, over all ensembles within a level.

    Every ensemble within the level has values from `least` to `most`, certified over all hypotheses; `lowest` and
    `highest` are those of ensembles that were found and are within it.

    Parameters
    ----------
    least, lowest, found, highest, most : ndarray of shape (n_functions,)
        In ascending order; `found` is the ensemble from which the level was measured.

    Examples
    --------
    >>> Range(*np.array([[-1.0], [-0.9], [0.5], [1.0], [1.01]])).slack
    array([0.1])
    """

    least: Array
    lowest: Array
    found: Array
    highest: Array
    most: Array

    @property
    def slack(self) -> Array:
        """The largest distance of a certified end from the exact one, (n_functions,)."""
        return np.maximum(self.lowest - self.least, self.most - self.highest)


class Reached(NamedTuple):
    """Where a linear function is largest within a level, to a solver's digits."""

    w: Array
    b: Array
    u: Array  # of the samples, as those of the problem itself
    price: float  # t, what a unit of the level is worth


class LevelSet:
    """The weights w >= 0 of columns, and intercepts, whose objective is at most a level.

    Parameters
    ----------
    formulation : Formulation
        Of one output, with a penalty of l1 or weights of a given sum; weights are taken as w >= 0.
    y : ndarray of shape (n_samples,)
        Signs of the margins.
    level : float
        As the objective of a minimum: above the optimum.
    H : ndarray of shape (n_samples, n_columns)
        The columns, to which `add` adds.

    Raises
    ------
    InvalidInput
        The penalty's conjugate needs more than the largest edge.

    Examples
    --------
    One column and its negation, of weights that add up to at most 2:

    >>> from cvxens.problems import formulations
    >>> columns = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> reached = LevelSet(formulations.soft_margin(C=1.0), np.array([1.0, -1.0]), 2.0, columns).maximise([1.0, 0.0])
    >>> reached.w.round(4)
    array([2., 0.])
    """

    def __init__(self, formulation: Formulation, y: Array, level: float, H: Array) -> None:
        self.formulation = replace(formulation, nonnegative=True)
        self.loss, penalty = formulation.terms
        self.penalty: Any = penalty
        self.y, self.level, self.H = y, level, H
        if penalty.edge_limit is None and penalty.total is None:
            found = f"found {type(penalty).__name__}, which needs more than the largest edge"
            raise InvalidInput("penalty", found, "give one of l1, or weights of a given sum")
        self._program: _LevelProgram | None = None
        dual = self.loss.linear_dual
        if dual is not None and dual.is_bounded and not len(dual.charges):
            try:
                self._program = _LevelProgram(self.formulation, y, level)
            except ImportError as error:
                warn(f"{error}; cvxpy models the programs of every round instead", SolverFallbackWarning, stacklevel=5)

    @property
    def problem(self) -> Problem:
        """The problem over the columns so far."""
        return Problem(self.formulation, self.H, self.y)

    def add(self, values: Array) -> None:
        """Add a column."""
        self.H = np.column_stack([self.H, values])

    def maximise(self, c: Array) -> Reached:
        """Maximise c'w; where nothing limits it but the level, `price` is above 0.

        A linear program stays from one call to the next, others are modelled in cvxpy.

        Raises
        ------
        SolverFailed
            No solver found an optimum.
        """
        if self._program is not None:
            return self._program.maximise(self.H, np.asarray(c))
        problem, y = self.problem, self.y
        v, w, f, tied = problem.linear_map.model(problem.outputs, problem.nonnegative)
        b, z = cp.Variable(name="b"), cp.Variable(len(y), name="z")
        link = z == cp.multiply(y, f + b if problem.intercept else f)
        on_z, on_w = self.loss.model(z), self.penalty.model(v)
        within = on_z.expression + on_w.expression <= self.level
        held = [link, within, *tied, *on_z.constraints, *on_w.constraints]
        found = {"w": w, **({"b": problem.linear_map.shift(w, b, -1.0)} if problem.intercept else {})}
        model = Model(cp.Problem(cp.Minimize(-c @ w), held), found, {"u": (link, 1.0), "price": (within, 1.0)})
        # what the solver that is asked first is asked for: its points are moved to where they hold, and evaluated there
        solution = solve_model(model, None, {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8})
        price = abs(float(solution.duals["price"]))
        u = solution.duals["u"] / price if price > 0 else np.zeros(len(y))
        return Reached(np.maximum(solution.variables["w"], 0.0), solution.variables.get("b", np.zeros(())), u, price)

    def move_inside(self, inner: tuple[Array, Array], outer: tuple[Array, Array]) -> tuple[Array, Array] | None:
        """Return the point (w, b) nearest to `outer`, on the way from `inner`, that is proven to be within the level.

        None where that of `inner` is not. The objective is convex, so the points within it are a part of the way.
        """
        problem, y = self.problem, self.y
        (w, b), (far_w, far_b) = inner, outer
        z = y * (problem.linear_map.scores(w) + problem.linear_map.shift(w, b))
        far_z = y * (problem.linear_map.scores(far_w) + problem.linear_map.shift(far_w, far_b))

        def value(share: float) -> float:
            far = self.loss.value((1 - share) * z + share * far_z)
            return float(far + self.penalty.value((1 - share) * w + share * far_w))

        low, high = 0.0, 1.0
        if value(1.0) <= self.level:
            low = 1.0
        while low < 1.0 and high - low > EPSILON:
            middle = (low + high) / 2
            low, high = (middle, high) if value(middle) <= self.level else (low, middle)
        # by plain sums so far; a little further in, it is proven
        # shares of the way back to a point within the level, until rounding is no longer in the way
        for back in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1.0):
            share = low * (1 - back)
            w_at, b_at = (1 - share) * w + share * far_w, (1 - share) * b + share * far_b
            at = problem.evaluate_at(w_at, problem.linear_map.shift(w_at, b_at), np.zeros(len(y)), b_of_H=b_at)
            # with all that rounding can have done
            if problem.formulation.sense * at.primal + at.rounding <= self.level:
                return w_at, b_at
        return None

    def bound(self, u: Array, price: float, largest: float) -> float:
        """Bound c'w over all hypotheses, of which none has an edge, raised by c_j / price, above `largest`.

        Parameters
        ----------
        u : ndarray of shape (n_samples,)
            Multipliers in the domain of the loss, balanced where there is an intercept.
        price : float
            t, above 0.
        largest : float
            At least ``max_j (H'(y u) + c / t)_j``; as u, scaled with t, where the penalty allows less.
        """
        shrink = self.penalty.shrink(Edges(largest, np.inf))
        dual = self.loss.dual_value(shrink * u) - self.penalty.conjugate(Edges(shrink * largest, np.inf))
        lost = self.loss.dual_rounding(shrink * u) + sum_error(4, abs(self.level) + abs(dual))
        # t u and c stay where u is shrunk, so t grows
        found = price / shrink * (self.level - dual + lost)
        return float(found + 4 * EPSILON * abs(found))


class _LevelProgram:
    """``max c'w`` within a level of a piecewise linear loss with an l1 penalty or on the simplex, by HiGHS.

    The program stays the same but for c and for columns that are added, so the last basis stays feasible, and the
    primal simplex method goes on from it: on 569 samples and 101 columns some 10 ms, where an interior-point method
    takes 600 from the beginning. ImportError where HiGHS cannot be loaded.
    """

    def __init__(self, formulation: Formulation, y: Array, level: float) -> None:
        penalty: Any
        loss, penalty = formulation.terms
        dual = loss.linear_dual
        assert dual is not None
        self.y, self.intercept, self.penalty = y, formulation.intercept, penalty
        self.stack = stack = dual.stack(y)
        simplex = penalty.total is not None
        # the loss is min upper'xi + high rho_+ - low rho_- under S'(z + rho_+ - rho_-) + xi >= gains and xi, rho_+,
        # rho_- >= 0, where xi is 0 for side constraints
        nothing = np.zeros(0)
        self.program = LiveProgram(nothing, nothing, nothing)
        gains = [part.sign * np.broadcast_to(part.knots, y.shape) for part in dual.hinges]
        for gain in np.concatenate([*gains, -dual.limits]).tolist():
            self.program.add_row(gain, nothing, inf)
        if simplex:
            self.program.add_row(penalty.total, nothing, penalty.total)
        self.program.add_row(-inf, nothing, level)
        # the variables: slacks, then rho and b where there are any, then w
        n_rows = len(stack.gains) + simplex + 1
        for row, price in enumerate(stack.upper[: stack.n_copied].tolist()):
            column = np.zeros(n_rows)
            column[row], column[-1] = 1.0, price
            self.program.add_column(column)
        of_sum = stack.repeat(np.ones(len(y)))
        for limit, sign in ((dual.high, 1.0), (-dual.low, -1.0)):
            if limit < inf:
                self.program.add_column(np.concatenate([sign * of_sum, np.zeros(n_rows - len(of_sum) - 1), [limit]]))
        self.place = len(self.program.indices)
        if self.intercept:
            self.program.add_column(np.concatenate([stack.repeat(y), np.zeros(n_rows - len(stack.gains))]), -inf)
        self.rest = [1.0, 0.0] if simplex else [penalty.edge_limit]
        self.n_others = len(self.program.indices)

    def maximise(self, H: Array, c: Array) -> Reached:
        """Maximise c'w over columns, of which the first are those of the last call, from its basis."""
        for values in H[:, len(self.program.indices) - self.n_others :].T:
            self.program.add_column(np.append(self.stack.repeat(self.y * values), self.rest))
        self.program.change_costs(np.append(np.zeros(self.n_others), -c))
        variables, multipliers = self.program.solve()
        price, u = -float(multipliers[-1]), self.stack.fold(multipliers[: len(self.stack.gains)])
        b = variables[self.place] if self.intercept else 0.0
        w = np.maximum(variables[self.n_others :], 0.0)
        return Reached(w, np.asarray(b), u / price if price > 0 else np.zeros(len(self.y)), max(price, 0.0))


class NearEnsemble(NamedTuple):
    """An ensemble within the level, of weights above 0, and multipliers near the optimum."""

    hypotheses: Sequence[Hypothesis]
    H: Array
    w: Array
    b: Array
    u: Array

    @classmethod
    def from_run(cls, run: Run, formulation: Formulation, X: Data) -> NearEnsemble:
        """Read that of a run on a sample X, h with a weight below 0 as -h.

        Raises
        ------
        InvalidInput
            The bound of the run, or one on ensembles near it, is not over all hypotheses.
        """
        loss = formulation.terms[0]
        if loss.is_searched:
            found = f"found {type(loss).__name__}, whose bounds are those of one problem"
            raise InvalidInput("formulation", found, "give a loss of cvxens.problems without side constraints")
        if not run.certificate.proven and np.isfinite(run.certificate.dual):
            found = f"found that {run.certificate.note}: {run.ending.value}"
            raise InvalidInput("oracle", found, "give one that bounds all edges, or more time")
        # where none has a weight, the first column: programs are over some
        used = np.flatnonzero(run.weights).tolist() or list(range(len(run.columns)))[:1]
        signed = [(run.columns[j].hypothesis, run.weights[j]) for j in used]
        hypotheses = [hypothesis if w >= 0 else negate(hypothesis) for hypothesis, w in signed]
        values = (np.asarray(evaluate(h, X), np.float64) for h in hypotheses)
        H = np.column_stack([np.empty((len(run.u), 0)), *values])
        return cls(hypotheses, H, np.abs(run.weights[used]), np.asarray(run.intercept), np.asarray(run.u))


def find_level(run: Run, formulation: Formulation, slack: float) -> float:
    """Return the objective, as that of a minimum, which is a share `slack` of its size above that of a run."""
    value = formulation.sense * run.certificate.primal
    return float(value + slack * abs(value))


class PricedPart(NamedTuple):
    """Hypotheses of which a linear function has the coefficients ``c_j = tilt'h_j + constant``."""

    oracle: Oracle | None  # an `Oracle` of them; None where there are none
    tilt: Array
    constant: float = 0.0
    left_out: tuple[Hypothesis, ...] = ()  # what the oracle has that is of no part, or of another one


@dataclass
class End:
    """How far a function reaches: what an ensemble within the level has, and a bound over all hypotheses."""

    parts: Sequence[PricedPart]
    reached: float
    bound: float = inf
    centre: tuple[Any, ...] = ()


class RangeSearch:
    """Finds how far linear functions of the weights reach within a level.

    Parameters
    ----------
    level_set : LevelSet
        Over the columns of the ensemble.
    ensemble : NearEnsemble
    read : callable
        From a hypothesis to its values on the sample and the part that it is of.
    free : bool
        True where oracles give h for -h, too.
    tol : float
        How near an end has to be to its bound, relative to the sum of the weights.
    """

    def __init__(
        self,
        level_set: LevelSet,
        ensemble: NearEnsemble,
        read: Callable[[Hypothesis], tuple[Array, int]],
        *,
        free: bool,
        tol: float,
    ) -> None:
        self.level_set, self.ensemble, self.read, self.free = level_set, ensemble, read, free
        self.known = dict.fromkeys(ensemble.hypotheses)
        self.parts = np.array([read(hypothesis)[1] for hypothesis in ensemble.hypotheses], dtype=np.intp)
        penalty, level = level_set.penalty, level_set.level
        # where no hypothesis has a weight, what the level leaves room for
        most = penalty.total if penalty.total is not None else abs(level) / penalty.edge_limit
        size = float(ensemble.w.sum()) or float(most)
        self.room = tol * size
        # what a unit of the level is worth if all of it goes into weights; a level of 0 has no units of its own
        self.worth = size / (abs(level) or 1.0)

    def begin(self, parts: Sequence[PricedPart]) -> End:
        """Return the end of the function with these coefficients, reached by the ensemble alone."""
        c = self._coefficients(parts)
        return End(parts, float(c[: len(self.ensemble.w)] @ self.ensemble.w))

    def find(self, ends: Sequence[End]) -> bool:
        """Bring ends to their bounds one after the other; False where time or rounds are up before all are."""
        with limit_time(inf, final=True):
            for end in ends:
                self._bound(end, self.worth * self.ensemble.u, self.worth)
        for end in ends:
            if time_is_up():
                break
            with suppress(TimeUp):
                self._improve(end)
        return all(end.bound - end.reached <= self.room for end in ends)

    def take(self, column: Column, s: Array, part: int | None = None, above: float = -inf) -> bool:
        """Add an oracle's column with its sign, if it is new, of the part, and has an edge above what is given."""
        hypothesis = column.hypothesis
        if self.free and float(column.values @ s) < 0:
            hypothesis = negate(hypothesis)
        values, place = self.read(hypothesis)
        if hypothesis in self.known or part not in {None, place} or not float(values @ s) > above:
            return False
        self.known[hypothesis] = None
        self.level_set.add(values)
        self.parts = np.append(self.parts, place)
        return True

    def _coefficients(self, parts: Sequence[PricedPart]) -> Array:
        """Return c of all columns."""
        of_part = np.stack([part.tilt @ self.level_set.H + part.constant for part in parts])
        return np.asarray(of_part[self.parts, np.arange(len(self.parts))])

    def _improve(self, end: End) -> None:
        """Generate columns for an end until what was reached is near enough to its bound."""
        level_set, (_, _, own, b, own_u) = self.level_set, self.ensemble
        balanced = level_set.y if level_set.formulation.intercept else None
        # rounds after which an end stays where it is proven: some five are usual
        for _ in range(60):
            if end.bound - end.reached <= self.room:
                return
            check_time()
            c = self._coefficients(end.parts)
            # programs are over some column: where there is none yet, the ensemble's multipliers are priced
            reached = level_set.maximise(c) if len(c) else Reached(c, np.zeros(()), own_u, 0.0)
            w = np.append(own, np.zeros(len(c) - len(own)))
            outer = level_set.penalty.repair(reached.w), np.asarray(reached.b)
            if len(c) and (inside := level_set.move_inside((w, b), outer)) is not None:
                # c is a sum over the sample, and c'w one over the columns
                largest = float(np.abs(level_set.H).max(initial=1.0))
                lost = sum_error(len(level_set.y) + len(c), largest * 2 * inside[0].sum())
                end.reached = max(end.reached, float(c @ inside[0]) - lost)
            u, price = level_set.loss.repair(reached.u, balanced), reached.price
            if not price > 0:
                # c'w is at most 0, so the level is worth nothing: next to nothing, where all of it went into weights
                u, price = own_u, 1e-9 * self.worth
            at: tuple[Any, Any] = price * u, price
            new = self._bound(end, *at)
            # in-out smoothing: shares of the best multipliers so far in those that are priced beside a program's own
            for share in (0.4, 0.8) if end.bound - end.reached > self.room else ():
                means = (share * best + (1 - share) * now for best, now in zip(end.centre, at, strict=True))
                new += self._bound(end, *means)
            if not sum([self.take(*one) for one in new]):
                return

    def _bound(self, end: End, priced_u: Array, price: float) -> list[tuple[Column, Array, int, float]]:
        """Bound an end by multipliers t u and a price t of the level; return what to `take` of columns that may enter.

        The bound is convex in the two, so means of them are as valid, and in-out smoothing prices between the best
        point so far, the `centre` of an end, and a program's vertex.
        """
        level_set, penalty, y = self.level_set, self.level_set.penalty, self.level_set.y
        u = priced_u / price
        s = y * (balance_exactly(u, y) if level_set.formulation.intercept else u)
        largest = float((level_set.H.T @ s + self._coefficients(end.parts) / price).max(initial=-inf))
        limit, found = penalty.edge_limit if penalty.edge_limit is not None else largest, []
        for place, part in enumerate(end.parts):
            if part.oracle is None:
                continue
            if not np.isfinite(most := declared(part.oracle, "largest")):
                lacking = f"found {type(part.oracle).__name__} without the largest |h(x)|, which rounding counts by"
                raise InvalidInput("oracle", lacking, "give it as the attribute `largest`")
            weights, plus = s + part.tilt / price, part.constant / price
            answer = ask(part.oracle, weights, part.left_out, **skip_squares(part.oracle))
            bound = answer.outside_bound if part.left_out and np.isfinite(answer.outside_bound) else answer.edge_bound
            if not np.isfinite(bound):
                raise InvalidInput("make_oracle", "found one that does not bound edges", "give one such as stumps")
            # s + a / t and c / t are rounded once
            lost = 2 * EPSILON * (float(np.abs(weights).sum()) * most + abs(plus))
            largest = max(largest, bound + plus + lost)
            # so many columns of a part enter for each pair of multipliers that is priced
            found += [(column, weights, place, limit - plus) for column in answer.columns[:4]]
        bound = level_set.bound(y * s, price, largest)
        if bound < end.bound or not end.centre:
            # u is shrunk by what t grows by
            end.centre = priced_u, price / penalty.shrink(Edges(largest, inf))
        end.bound = min(end.bound, bound)
        return found


def take_ends(ends: Sequence[End], found: Array) -> Range:
    """Return the range of ends that come in pairs, the smallest value first."""
    reached, bounds = np.array([(end.reached, end.bound) for end in ends]).T
    return Range(0.0 - bounds[::2], 0.0 - reached[::2], found, reached[1::2], bounds[1::2])


def near_optimal_range(
    run: Run, functional: ArrayLike, slack: float = 0.01, *, tol: float = 1e-2, max_time: float = inf
) -> Range:
    """Find what a linear functional can be over all ensembles almost as good as the one that a run found.

    All ensembles over the oracle's hypotheses count whose objective is at most that of the run's, plus the share
    `slack` of its size. Both ends are certified over all hypotheses. With ``a_i = 1/n_1`` for the samples of one group
    and ``-1/n_2`` for those of another, it is the difference of their mean scores: whether any model that is as good is
    fairer, and by how much.

    Parameters
    ----------
    run : Run
        What `column_generation` returned, with a penalty of l1 or weights of a given sum, and one output.
    functional : array-like of shape (n_samples,) or (n_functionals, n_samples), or float
        The coefficients a of ``sum_i a_i f(x_i)``, a functional of the scores on the training sample; or a number, for
        so many times the sum of the weights' sizes. Where the formulation has an intercept, a adds up to 0.
    slack : float
        Above 0.
    tol : float
        How far certified ends may be from those of ensembles that were found, relative to the sum of the weights.
    max_time : float
        Seconds after which ends stay as they are: certified, and wider than need be.

    Returns
    -------
    Range
        Of one number for each functional.

    Raises
    ------
    InvalidInput
        The run is not one of `column_generation` in this process, its oracle does not bound edges, its penalty is
        another one, there are several outputs, or an argument is out of its range.

    Examples
    --------
    >>> from cvxens.colgen import column_generation, formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> run = column_generation(formulations.soft_margin(C=1.0), oracles.Stumps(X), y)
    >>> scores = near_optimal_range(run, np.eye(4)[3], slack=0.5)
    >>> scores.least.round(3), scores.found, scores.most.round(3)
    (array([0.75]), array([1.]), array([1.5]))
    """
    validation.positive("slack", slack)
    validation.positive("tol", tol)
    if run.origin is None:
        raise InvalidInput("run", "found one without its oracle", "give what column_generation returned")
    formulation, oracle, y = run.origin
    if formulation.outputs is not None:
        raise InvalidInput("run", f"found {formulation.outputs} outputs", "give one whose scores are numbers")
    n, free = len(y), not formulation.nonnegative
    if np.ndim(functional) == 0:
        functions = [(np.zeros(n), validation.number("functional", functional))]
    else:
        rows = np.atleast_2d(validation.finite_array("functional", functional))
        if rows.ndim != 2 or rows.shape[1] != n:
            found = f"found shape {np.shape(functional)}"
            raise InvalidInput("functional", found, f"give a number for each of {n} samples")
        # what rounding leaves of a sum of 0, relative to its terms
        if formulation.intercept and (np.abs(rows.sum(axis=1)) > 1e-9 * np.abs(rows).sum(axis=1)).any():
            found = "found coefficients that do not add up to 0, and a formulation with an intercept"
            raise InvalidInput("functional", found, "subtract the mean, or solve without an intercept")
        functions = [(balance_exactly(a, np.ones(n)) if formulation.intercept else a, 0.0) for a in rows]
    ensemble = NearEnsemble.from_run(run, formulation, oracle.sample)

    def read(hypothesis: Hypothesis) -> tuple[Array, int]:
        return np.asarray(evaluate(hypothesis, oracle.sample), np.float64), 0

    with limit_time(max_time):
        level_set = LevelSet(formulation, y, find_level(run, formulation, slack), ensemble.H)
        search = RangeSearch(level_set, ensemble, read, free=free, tol=tol)
        signed = with_signs(oracle, free=free)
        parts = [[PricedPart(signed, sign * a, sign * k)] for a, k in functions for sign in (-1.0, 1.0)]
        ends = [search.begin(part) for part in parts]
        reached = np.array([end.reached for end in ends[1::2]])
        search.find(ends)
    return take_ends(ends, reached)


@dataclass(frozen=True, eq=False)
class Band:
    """The range of the function of one feature.

    Parameters
    ----------
    feature : int
    points : ndarray of shape (n_points,)
        Values of the feature in the sample, ascending.
    shape : Range
        Of the function there, less its mean over the sample.
    importance : Range
        Of the sum of the weights of the feature's hypotheses, one number each.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [-1.0, -1.0, 1.0, 1.0]
    >>> band = find_bands(formulations.soft_margin(C=1.0), oracles.Stumps, X, y, within=0.5).bands[0]
    >>> band.points, band.shape.lowest.round(3), band.shape.highest.round(3)
    (array([0., 1., 2., 3.]), array([-1.625, -1.5  ,  0.625,  0.792]), array([-0.792, -0.625,  1.5  ,  1.625]))
    """

    feature: int
    points: Array
    shape: Range
    importance: Range


@dataclass(frozen=True, eq=False)
class Bands:
    """The ranges of shapes and importances over all ensembles whose objective is at most a level.

    Parameters
    ----------
    bands : sequence of Band
        One for each feature that was asked for, in that order.
    level : float
        The objective up to which ensembles count, as that of a minimum.
    within : float
        How far that is from the objective that was found, relative to it.
    feature_names : sequence of str
        One for each feature of the sample.
    complete : bool
        True if every range is as narrow as was asked for; else certified ends are further from those that were found.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [-1.0, -1.0, 1.0, 1.0]
    >>> bands = find_bands(formulations.soft_margin(C=1.0), oracles.Stumps, X, y, within=0.5)
    >>> bands.level, bands.to_frame()[["found", "least", "most"]].to_numpy().round(3)
    (1.5, array([[1.   , 0.833, 1.5  ]]))
    """

    bands: Sequence[Band]
    level: float
    within: float
    feature_names: Sequence[str]
    complete: bool

    @property
    def needed(self) -> list[int]:
        """The features that no ensemble within the level does without: their importance is above 0 for certain."""
        return [band.feature for band in self.bands if band.importance.least[0] > 0]

    def to_frame(self) -> Frame:
        """Return a pandas data frame with a row for every feature: the range of its importance, and that of its shape.

        Returns
        -------
        pandas.DataFrame
            `feature`, the importance as it was `found` and its `least` and `most`, and `widest`, the largest width of
            the band of its shape.
        """
        import pandas as pd

        rows = [
            {
                "feature": self.feature_names[band.feature],
                "found": band.importance.found[0],
                "least": band.importance.least[0],
                "most": band.importance.most[0],
                "widest": float((band.shape.most - band.shape.least).max(initial=0.0)),
            }
            for band in self.bands
        ]
        return pd.DataFrame(rows)


def find_bands(
    formulation: Formulation,
    make_oracle: Callable[[Data], Oracle],
    X: Data,
    y: Given = None,
    *,
    within: float = 0.01,
    features: Iterable[int] | None = None,
    points: Mapping[int, ArrayLike] | int = N_POINTS,
    start: Iterable[Hypothesis] = (),
    feature_names: Sequence[str] | None = None,
    sample_weight: Given = None,
    tol: float = 1e-2,
    max_time: float = inf,
    **options: Unpack[RunOptions],
) -> Bands:
    """Find the exact range of every feature's function and importance over all ensembles almost as good as the best.

    All ensembles count whose objective is at most that of the one that a run finds, plus the share `within` of its
    size. Both ends of every range are certified over all hypotheses of the oracle.

    Parameters
    ----------
    formulation : Formulation
        With a penalty of l1, such as ``formulations.soft_margin``, or weights of the sum 1, such as
        ``formulations.lpboost``, and one output. Where weights are free, h and -h are two hypotheses, each of a weight
        of 0 or above; the optimum is the same.
    make_oracle : callable
        From samples to an oracle, such as ``oracles.Stumps``, of hypotheses of single features that it bounds the edges
        of. The hypotheses of a feature may not depend on the values of others.
    X : array-like of shape (n_samples, n_features)
        Features; NaN and codes of levels where the oracle takes them.
    y : array-like of shape (n_samples,), optional
        Labels -1 and +1; none where the loss is on scores.
    within : float
        Above 0.
    features : iterable of int, optional
        The features whose bands are wanted; by default those that the run uses.
    points : mapping of int to array-like, or int
        Values of each feature at which its function is wanted, of which the nearest in the sample are taken; or so many
        values of the sample, evenly spaced in rank.
    start : iterable of Hypothesis
        Hypotheses to start with, such as those of a model.
    feature_names : sequence of str, optional
        By default x[0], x[1], ...
    sample_weight : array-like of shape (n_samples,), optional
        How often each sample counts in the means of functions, 0 or above; by default once.
    tol, max_time : float
        As of `near_optimal_range`.
    **options
        Further arguments of `column_generation` for the run.

    Returns
    -------
    Bands

    Raises
    ------
    InvalidInput
        The penalty is another one, there are several outputs, the oracle has hypotheses of several features or does not
        bound their edges, or an argument is out of its range.

    Notes
    -----
    An importance counts the weights of all hypotheses of a feature, also where some take back what others say; so its
    largest value has a part of what the level leaves room for. Its smallest value is what nobody can do without.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    >>> bands = find_bands(formulations.soft_margin(C=0.2), oracles.Stumps, X, y, within=0.02, points=4)
    >>> bands.complete, bands.needed
    (True, [0, 1])
    """
    validation.positive("within", within)
    validation.positive("tol", tol)
    if formulation.outputs is not None:
        raise InvalidInput("formulation", f"found {formulation.outputs} outputs", "give one whose scores are numbers")
    with limit_time(max_time):
        run = column_generation(formulation, make_oracle(X), y, start=start, **options)
        sample = np.asarray(coo_array(X).toarray() if issparse(X) else X)
        names = [f"x[{j}]" for j in range(sample.shape[1])] if feature_names is None else list(feature_names)
        masses = validation.weights("sample_weight", sample_weight, len(sample))
        with limit_time(inf, final=True):
            search = _BandSearch(run, make_oracle, sample, masses / masses.sum(), within, tol)
        return search.find(features, points, names)


class _Constants:
    """The constants of a set, where no feature but one varies: its other hypotheses count as what they are on average.

    A constant has the same edge under all weights of one sum, so it is priced under equal ones.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.sample, self.largest = oracle, oracle.sample, declared(oracle, "largest")

    def price(self, s: Array, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the constants, with a bound on their edges."""
        total = fsum(s)
        answer = ask(self.oracle, np.full(len(s), total / len(s)), exclude, **skip_squares(self.oracle))
        constant = [column for column in answer.columns if (column.values == column.values[0]).all()]
        # the sum is rounded once, and its share of each sample once
        return Priced(constant, answer.edge_bound + 2 * EPSILON * abs(total) * self.largest)


class _BandSearch:
    """Finds bands around the ensemble of a run."""

    def __init__(
        self, run: Run, make_oracle: Callable[[Data], Oracle], X: Array, shares: Array, within: float, tol: float
    ) -> None:
        assert run.origin is not None
        self.formulation, _, self.y = run.origin
        self.make_oracle, self.X, self.shares, self.within, self.tol = make_oracle, X, shares, within, tol
        self.is_free = not self.formulation.nonnegative
        self.ensemble = NearEnsemble.from_run(run, self.formulation, X)
        self.level = find_level(run, self.formulation, within)
        known = ~np.isnan(X) if X.dtype.kind == "f" else np.ones(X.shape, bool)
        # a value for each feature that it has somewhere
        self.base = X[known.argmax(axis=0), np.arange(X.shape[1])]
        oracle = self.make_oracle(X)
        self.has_constants = declared(oracle, "constant")
        for column in (*run.columns, *ask(oracle, self.y * self.ensemble.u, ()).columns):
            self._find_features(column.hypothesis, np.asarray(evaluate(column.hypothesis, X)))

    def find(
        self, features: Iterable[int] | None, points: Mapping[int, ArrayLike] | int, names: Sequence[str]
    ) -> Bands:
        """Find the bands of some features, or of all that have a weight."""
        n_features = self.X.shape[1]
        validation.one_each("feature_names", names, n_features, "feature")
        weights = np.zeros(n_features)
        for hypothesis, values, w in zip(self.ensemble.hypotheses, self.ensemble.H.T, self.ensemble.w, strict=True):
            weights[self._find_features(hypothesis, values)] += w
        ranked = [int(d) for d in np.argsort(-weights, kind="stable") if weights[d] > 0]
        chosen = ranked if features is None else [int(d) for d in features]
        if any(not 0 <= d < n_features for d in chosen):
            raise InvalidInput("features", f"found {chosen!r:.100}", f"give indices from 0 to {n_features - 1}")
        bands, complete = [], True
        for d in chosen:
            band, done = self._find_band(d, self._choose_points(d, points))
            bands.append(band)
            complete &= done
        return Bands(bands, self.level, self.within, names, complete)

    def _find_features(self, hypothesis: Hypothesis, values: Array) -> list[int]:
        """Return the feature that a hypothesis depends on, or none; raise where there are several."""
        without = (evaluate(hypothesis, self._without(d)) for d in range(self.X.shape[1]))
        found = [d for d, own in enumerate(without) if not np.array_equal(own, values, equal_nan=True)]
        if len(found) > 1:
            raise _refuse_several(hypothesis)
        return found

    def _without(self, d: int) -> Array:
        """Return the sample in which feature d is constant."""
        X = self.X.copy()
        X[:, d] = self.base[d]
        return X

    def _choose_points(self, d: int, points: Mapping[int, ArrayLike] | int) -> Indices:
        """Return rows of the sample with the values of feature d at which its function is wanted, ascending."""
        values, rows = np.unique(self.X[:, d], return_index=True)
        rows = rows[~np.isnan(values)] if values.dtype.kind == "f" else rows
        values = self.X[rows, d]
        if len(values) < 2:
            raise InvalidInput("features", f"found {d}, which is constant", "give features that vary")
        if isinstance(points, Mapping):
            if d not in points:
                raise InvalidInput("points", f"found none for feature {d}", "give some for every feature")
            wanted = validation.finite_array("points", np.atleast_1d(points[d]), ndim=1)
            return rows[np.unique([int(np.abs(values - value).argmin()) for value in wanted])]
        most = validation.whole("points", points)
        return rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(np.intp))]

    def _find_band(self, d: int, rows: Indices) -> tuple[Band, bool]:
        """Find the band of one feature; False beside it where an end is not as near as was asked for."""
        n, without = len(self.X), self._without(d)
        # all features but d are constant
        alone = np.repeat(self.base[None], n, axis=0)
        alone[:, d] = self.X[:, d]
        own, varies = self._make_oracle(alone), not (without[0] == without).all()
        others = self._make_oracle(without) if varies else _Constants(own) if self.has_constants else None

        def read(hypothesis: Hypothesis) -> tuple[Array, int]:
            # a hypothesis of the feature at hand is the first part, and one of no or another feature the second
            values = np.asarray(evaluate(hypothesis, self.X))
            if np.array_equal(evaluate(hypothesis, without), values):
                return values, 1
            if np.array_equal(evaluate(hypothesis, alone), values):
                return values, 0
            raise _refuse_several(hypothesis)

        level_set = LevelSet(self.formulation, self.y, self.level, self.ensemble.H)
        search = RangeSearch(level_set, self.ensemble, read, free=self.is_free, tol=self.tol)
        tilts = [balance_exactly((np.arange(n) == row) - self.shares, np.ones(n)) for row in rows.tolist()]
        none = np.zeros(n)
        ends = [
            search.begin([PricedPart(own, sign * tilt, sign * constant, CONSTANTS), PricedPart(others, none)])
            for tilt, constant in (*((tilt, 0.0) for tilt in tilts), (none, 1.0))
            for sign in (-1.0, 1.0)
        ]
        found = np.array([end.reached for end in ends[1::2]])
        # no importance is below 0
        ends[-2].bound = 0.0
        # by these functions alone; without a hypothesis of the feature, nothing would depend on them
        with suppress(TimeUp):
            for s in (s for tilt in tilts for s in (tilt, -tilt)):
                for column in ask(own, s, (), **skip_squares(own)).columns[:1]:
                    search.take(column, s)
        # neighbouring points one after the other: what is best at one of them is not far from it at the next
        done = search.find((*ends[::2], *ends[1::2]))
        shape = take_ends(ends[:-2], found[:-1])
        importance = take_ends(ends[-2:], found[-1:])
        return Band(d, self.X[rows, d].astype(np.float64), shape, importance), done

    def _make_oracle(self, sample: Array) -> Oracle:
        return with_signs(self.make_oracle(sample), free=self.is_free)


def _refuse_several(hypothesis: Hypothesis) -> InvalidInput:
    remedy = "give an oracle of single features, as stumps are, or the estimator pairs=False"
    return InvalidInput("make_oracle", f"found {hypothesis}, of several features", remedy)
