"""The fast masters by Newton's method: hinges, smooth losses, smoothed ones and squares, with l2 and l1 penalties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from cvxens.colgen.protocols import Column, MasterSolution, Priced, relative_gap
from cvxens.colgen.restricted import SHARE, FastMaster, InexactTolerance, Needs, Restricted, stack_dual
from cvxens.docstrings import documented
from cvxens.limits import Pace, TimeUp
from cvxens.problems.cones import Cones
from cvxens.problems.conic import solve_cones
from cvxens.problems.formulation import Formulation
from cvxens.problems.pair_losses import PairLoss
from cvxens.solvers.byte_rows import BLOCK, multiply_each
from cvxens.solvers.least_squares import ByColumns, ByInverse, BySamples
from cvxens.solvers.newton import (
    HeldRows,
    Iterate,
    KeptCurvature,
    RowPenalty,
    SmoothProblem,
    SparsePoint,
    SparseProblem,
)
from cvxens.solvers.proximal_hinge import HingePoint, ProximalHinge
from cvxens.types import Array, Indices, Point

SHARPER = 0.2
"""The next width in proportion to the last one: few enough pairs enter and leave for the last point to be near."""

WIDEST = 1.0
"""The width from which a first round starts."""

MANY_PAIRS = 20_000
"""Pairs from which on their model is not the fastest way, if the loss is one of pairs and has kinks."""

LEAST_DAMPING, CALMER, WILDER = 1e-10, 0.2, 4.0
"""What is added to the curvature, relative to the largest, and its factors after whole and after short steps."""


@dataclass(frozen=True)
class _State:
    """A point with U = -loss'(z), the edges H'(y U), the objective, what is rounded off of it, and the bound from u.

    u is what multipliers of the problem become of U: balanced, and less the pulls of side constraints.
    """

    point: SparsePoint
    U: Array
    edges: Array
    objective: float
    rounded: float
    u: Array
    bound: float


@documented
class NewtonMaster(FastMaster):
    """The problem over the columns found so far by Newton's method, from the last round's weights and multipliers.

    A round is solved as far as the columns found last warrant, in one of three ways. Hinges with a squared l2 penalty
    go in proximal steps (`ProximalHinge`): dual coordinate descent, as in liblinear, needs many passes over the samples
    where C is large, these cost a few products with H each, and are exact in the intercept;
    `benchmarks/hinge_masters.py` times both. A smooth loss with that penalty is what Newton's method is for
    (`SmoothProblem`): at u = -loss'(z) and the best intercept the duality gap is that of the penalty,
    |ridge w - edges|^2 / (2 ridge) where w is free. With all other penalties steps are proximal (`SparseProblem`), and
    u is scaled until no edge exceeds what the penalty allows. There a loss with kinks is minimised by its neighbour of
    some width, whose multipliers are feasible for the loss itself: where a step is not what keeps the gap, the width is
    made smaller, and in the end cutting planes go on from there. Side constraints that are linear in margins hold the
    weights in every step (`HeldRows`): as those of 0 satisfy them, all points do.

    Parameters
    ----------
    formulation : Formulation
        With a squared l2 penalty, a loss of hinges, also of regression, or one of one score that has a `curvature`
        (exponential, logistic, Huber's, counts, ..., or your own). With an l1 penalty, one that has a `curvature`, or
        on several scores a `hessian`. With ``sum_j size |w_j| + square |w_j|^2`` of weights, or of the 2-norms of those
        of a hypothesis, one that has a `curvature`. With an l1 or a squared l2 penalty and no intercept, one that has a
        neighbour by ``smoothed(width)`` on one score, such as those of all pairs of a ranking. With any of these
        penalties of single weights, one of one score that has a `curvature`, under side constraints (`Loss.held`).
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Labels -1 and +1; a column of ones for several outputs.
    tol : float
        Relative duality gap of the restricted problem, recomputed, at which a solution is exact.
    share : float
        Of what the last columns found can gain, down to which the problem is solved otherwise; 0 for exact solutions
        in every round.
    """

    source = "LL08 P1; SL (1); KIE06 (14); Nesterov 2005; Qin, Scheinberg & Goldfarb 2013; Lee, Sun & Saunders 2014"
    needs = (
        Needs("linear_dual", "ridge"),
        Needs("curvature", "ridge", several=False),
        Needs("curvature", "edge_limit"),
        Needs("hessian", "edge_limit"),
        Needs("curvature", "entry_sizes", several=False),
        Needs("curvature", "row_sizes", nonnegative=False),
        Needs("smoothed", "edge_limit", intercept=False, several=False),
        Needs("smoothed", "ridge", nonnegative=False, intercept=False, several=False),
        Needs("held", "edge_limit", several=False),
        Needs("held", "ridge", several=False),
        Needs("held", "entry_sizes", several=False),
    )

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-9, share: float = SHARE) -> None:
        super().__init__(formulation, y)
        self.tolerance = InexactTolerance(self.penalty, tol, share)
        self.sided, self.loss = self.loss if self.loss.held else None, self.loss.held or self.loss
        self.slopes, self.prices = np.zeros((0, 0)), np.zeros(0 if self.sided is None else len(self.sided.limits))
        """Of side constraints: how they rise with the weights, a row for each, and their multipliers."""
        self.hessian, n_outputs = find_hessian(self.loss), formulation.outputs or 1
        # multipliers, which may take long, are for the first solution
        none = np.zeros((len(y), *self.restricted.outputs))
        self.W, self.b = np.zeros((0, n_outputs)), np.zeros(n_outputs)
        self.F: Array | None = None
        self.edges = self.W  # under the last multipliers that they were evaluated for; inf of new columns
        if formulation.intercept:
            self.b = np.ravel(self.loss.best_intercept(none, self.restricted.y))
        # the first of the needs that is met says by which names the terms are asked
        self.way = self.find_ways(formulation)[0]
        asked = getattr(self.penalty, self.way.penalty)
        if self.way.penalty == "ridge":
            size, square = 0.0, asked / 2
        else:
            size, square = (asked, 0.0) if self.way.penalty == "edge_limit" else asked
        self.sizes = RowPenalty(size, square, self.way.penalty == "row_sizes", formulation.nonnegative)
        self.is_smoothed = self.way.loss == "smoothed"
        is_one = formulation.outputs is None and not self.is_smoothed and self.loss.hessian is None
        self.kept = KeptCurvature() if is_one and not self.sizes.by_rows else None
        # taking columns one by one adds a hundredth to their products
        if self.kept is not None and len(y) >= 4 * BLOCK:
            self.restricted = Restricted(formulation, y, listed=True)
        self.width, self.damping = WIDEST, LEAST_DAMPING if self.is_smoothed else 0.0
        if self.way.loss == "linear_dual":
            self.stack = stack = stack_dual(formulation, y)
            # w = unit v makes of min ridge/2 |w|^2 + prices'max(0, knots - z) the same of v, at prices / unit; and a
            # margin m that is to reach its gain is one of m + 1 - gain that is to reach 1
            labels = stack.repeat(y)
            prices, offset = stack.upper / stack.unit, labels * (1 - stack.gains)
            intercept, nonnegative = formulation.intercept, formulation.nonnegative
            self.hinges = ProximalHinge(labels, prices, asked, intercept, tol, offset, nonnegative)
            self.point = HingePoint.zero(len(labels))

    @classmethod
    def find_ways(cls, formulation: Formulation) -> list[Needs]:
        """Return the needs that a formulation meets, the fastest way first."""
        dual = formulation.terms[0].linear_dual
        met = [need for need in cls.needs if not need.find_missing(formulation)]
        return [need for need in met if need.loss != "linear_dual" or (dual is not None and dual.is_separable)]

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        return bool(cls.find_ways(formulation))

    def add(self, columns: Sequence[Column]) -> None:
        self.restricted.add(columns)
        self.W = np.vstack([self.W, np.zeros((len(columns), self.W.shape[1]))])
        self.edges = np.vstack([self.edges, np.full((len(columns), self.W.shape[1]), np.inf)])
        if self.sided is not None:
            self.slopes = self.restricted.problem.H.edges((self.restricted.y * self.sided.pulls).T).T

    def solve(self) -> MasterSolution:
        if self.restricted.n_columns == 0:
            # what the start of a run can gain is not known
            self.tolerance.gap = 1.0
            return self.restricted.start()
        minimise = {"linear_dual": self._minimise_hinges, "curvature": self._minimise_smooth}
        way = minimise.get(self.way.loss, self._step) if self.way.penalty == "ridge" else self._step
        solution = self.restricted.evaluate(way(self.tolerance.next(self.restricted.n_columns)))
        self.edges = np.asarray(solution.edges).reshape(self.W.shape)
        return replace(solution, exact=self.tolerance.is_exact)

    def _minimise_hinges(self, tol: float) -> Point:
        unit, n_copies = self.stack.unit, len(self.stack.signs)
        rows = self.restricted.H.T if n_copies == 1 else np.tile(self.restricted.H.T, n_copies)
        self.point = replace(self.hinges, tol=tol).solve(rows, self.point)
        b, u = np.asarray(self.stack.origin + unit * self.point.b), unit * self.stack.fold(self.point.u)
        return {"w": unit * self.point.w, "b": b, "u": u}

    def _minimise_smooth(self, tol: float) -> Point:
        formulation, loss, penalty = self.restricted.formulation, self.loss, self.penalty
        rows, y, w = self.restricted.H.T, self.restricted.y, self.W[:, 0]
        intercept, nonnegative = formulation.intercept, formulation.nonnegative
        problem = SmoothProblem(rows, y, penalty.ridge, intercept, loss, nonnegative=nonnegative)
        start = Iterate(w, float(self.b[0]), w @ rows)
        at = problem.minimise(start, lambda w, z, _: tol * (loss.value(z) + penalty.value(w)))
        self.W, self.b = at.w[:, np.newaxis], np.array([at.b])
        return {"w": at.w, "b": np.asarray(at.b), "u": loss.multipliers(y * (at.f + at.b))}

    def _step(self, tol: float) -> Point:
        """Take proximal steps until the gap is allowed; what is rounded off is narrowed on the way."""
        restricted, pace = self.restricted, Pace()
        smooth = self.loss.smoothed(self.width) if self.is_smoothed else self.loss
        has_kinks = smooth is not self.loss
        if has_kinks and isinstance(self.loss, PairLoss) and self.loss.n_pairs < MANY_PAIRS:
            solution = restricted.problem.solve()
            return {"w": solution.variables["w"], "u": solution.duals["u"]}
        problem = self._state_problem(smooth)
        F = restricted.problem.H.scores(self.W) + self.b if self.F is None or self.kept is None else self.F
        at = over = under = self._evaluate(SparsePoint(self.W, self.b, F), smooth)
        # from warm starts a handful is usual, or a few for each width
        for _ in range(200):
            gap = over.objective - under.bound
            if gap <= tol * abs(over.objective) or not pace.allows_step():
                break
            if self.kept is not None:
                # of few entries products take less time than one more step
                self.kept.follow(self.loss.curvature(at.U[:, 0]), 0.1 if problem.rows.size > self.kept.many else 0.0)
            try:
                start = at.point, at.U, at.edges
                point, step, decrease, self.prices = problem.step(*start, self.damping, self._hold(at.point))
            except TimeUp:
                break
            except np.linalg.LinAlgError:
                if not (self.is_smoothed or self.sided):
                    raise
                # where hardly a pair is in the width, or a loss is flat, curvature is rounding
                point, step, decrease = at.point, 0.0, 0.0
            if self.is_smoothed or self.sided:
                decrease = self._damp(step, decrease)
            at = self._evaluate(point, smooth)
            is_better = at.objective < over.objective or at.bound > under.bound
            over, under = at if at.objective < over.objective else over, at if at.bound > under.bound else under
            # a step that promises so little of what is rounded off is not what keeps the gap, but the width
            if has_kinks and decrease <= 1e-3 * max(at.rounded, tol * abs(at.objective)):
                # below this width scores are rounding
                if self.width <= 1e-10:
                    break
                self.width, self.damping = SHARPER * self.width, max(self.damping * CALMER**4, LEAST_DAMPING)
                smooth = self.loss.smoothed(self.width)
                problem, at = self._state_problem(smooth), self._evaluate(at.point, smooth)
            elif self.kept is not None and not self.kept.is_near:
                # where the gap is not halved, curvatures of another point may be why
                if over.objective - under.bound > gap / 2:
                    self.kept.D = np.zeros(0)
            elif not has_kinks and not is_better and decrease < np.inf:
                break
        # new columns move scores further than the last steps did
        self.width = min(WIDEST, self.width / SHARPER)
        self.W, self.b, self.F, outputs = over.point.W, over.point.b, over.point.F, restricted.problem.outputs
        best = {"w": self.W.reshape(-1, *outputs), "b": self.b.reshape(outputs), "u": under.u}
        is_short = over.objective - under.bound > tol * abs(over.objective)
        if is_short and self.sided and pace.allows_step():
            # too flat, or too badly scaled, for steps in rows
            solution = restricted.problem.solve()
            best |= {name: solution.variables[name] for name in best.keys() & solution.variables.keys()}
            best["u"] = solution.duals["u"]
        if has_kinks and is_short:
            planes = CuttingPlanes(restricted, self.sizes.size, 2 * self.sizes.square)
            with suppress(TimeUp):
                planes.polish(best, over.objective, under.bound, tol, pace)
            self.W = best["w"].reshape(self.W.shape)
        return best

    def _damp(self, step: float, decrease: float) -> float:
        """Damp the next step more after a short one; returns the decrease, inf where another one is to be tried.

        Pairs that enter or leave are no part of the curvature.
        """
        if step > 0:
            least = LEAST_DAMPING if self.is_smoothed else 0.0
            self.damping = max(self.damping * (CALMER if step == 1 else 1.0 if step > 0.2 else WILDER), least)
            return decrease
        self.damping = max(self.damping * WILDER**2, LEAST_DAMPING)
        return 0.0 if self.damping > 1e8 else np.inf

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next round is allowed a share of the gap to the ones found."""
        if not self.sizes.size:
            self.tolerance.learn(solution, priced)
            return super().bound(solution, priced)
        best, squares = priced.best_edge, sum(column.edge**2 for column in priced.columns)
        found = self.restricted.bound(solution, Priced(priced.columns, best, squares, best))
        self.tolerance.n_found = len(priced.columns)
        self.tolerance.gap = relative_gap(solution.objective, found)
        return self.restricted.bound(solution, priced)

    def _state_problem(self, smooth: Any) -> SparseProblem:
        """Return the problem over the columns so far, which takes steps."""
        outputs, y = self.restricted.problem.outputs, self.restricted.y

        def differentiate(at: SparsePoint, U: Array, X: Array, k: Indices) -> Array:
            if self.is_smoothed:
                return np.asarray(smooth.curve(y * at.F[:, 0], y * X))
            return sum_curvatures(smooth, U, X) if self.sizes.by_rows else self.hessian(U, X, k)

        def evaluate(at: SparsePoint) -> float:
            z = (y.reshape(-1, 1) * at.F).reshape(-1, *outputs)
            return float(smooth.value(z) + self.penalty.value(at.W.reshape(-1, *outputs)))

        rows, y_column = self.restricted.rows, y.reshape(-1, 1)
        intercept = self.restricted.formulation.intercept
        return SparseProblem(rows, y_column, self.sizes, intercept, evaluate, differentiate, self.kept)

    def _hold(self, at: SparsePoint) -> HeldRows | None:
        """Return what side constraints leave of room for the weights, if there are any."""
        if self.sided is None:
            return None
        limits = self.sided.limits
        room = np.maximum(limits - self.slopes @ at.W[:, 0], 0.0)
        return HeldRows(self.slopes, room, self.prices)

    def _evaluate(self, point: SparsePoint, smooth: Any) -> _State:
        """Evaluate a point, and the bound from its multipliers."""
        problem, y, loss = self.restricted.problem, self.restricted.y, self.loss
        if self.kept is not None and problem.intercept and self.sided is None:
            # with the best intercept, a few passes over the samples, multipliers are balanced
            at = Iterate(point.W[:, 0], 0.0, point.F[:, 0])
            b = SmoothProblem(np.zeros((0, len(y))), y, 0.0, True, loss).balance(at).b
            point = SparsePoint(point.W, point.b + b, point.F + b)
        z = (y.reshape(-1, 1) * point.F).reshape(-1, *problem.outputs)
        u = smooth.multipliers(z)
        rows, s = self.restricted.rows, y * u
        if self.kept is not None and rows.size > self.kept.many and not self.tolerance.is_exact:
            # others have edges below the limit, and are looked at once a round
            near = np.flatnonzero(point.W.any(axis=1) | (np.abs(self.edges[:, 0]) > 0.95 * self.sizes.size))
            self.edges[near, 0] = multiply_each(rows, near, s)
            edges = self.edges[:, 0].copy()
        else:
            edges = problem.H.edges(s)
        value = loss.value(z)
        rounded = 0.0 if smooth is loss else value - smooth.value(z)
        # multipliers of the loss are in the domain of its conjugate, but for y'u = 0; those of a neighbour up to
        # rounding, which steers no step: a solution is repaired where it is evaluated, once a round
        repaired, of_repaired = u, edges
        if self.sided is not None:
            repaired = self.sided.adopt(u, self.prices, y if problem.intercept else None)
        elif problem.intercept:
            repaired = loss.repair(u, y)
        # rounding of edges is as large
        if float(np.abs(u - repaired).sum()) > 1e-12 * float(np.abs(u).sum()):
            of_repaired = problem.H.edges(y * repaired)
        objective = value + self.penalty.value(point.W.reshape(-1, *problem.outputs))
        # no column is outside
        bound = problem.bound(repaired, problem.linear_map.summarise(y * repaired, of_repaired, problem.nonnegative))
        U, edges = u.reshape(point.F.shape), edges.reshape(point.W.shape)
        return _State(point, U, edges, objective, rounded, u if self.sided is None else repaired, bound)


def sum_curvatures(loss: Any, U: Array, X: Array) -> Array:
    """Return X diag(phi''(z)) X' of every output, (n_outputs, n_active, n_active), or one where they are the same."""
    D = loss.curvature(U[:, 0] if U.shape[1] == 1 else U).reshape(U.shape)
    return np.stack([(X * d) @ X.T for d in (D[:, :1] if (D[:, :1] == D).all() else D).T])


def find_hessian(loss: Any) -> Callable[[Array, Array, Indices], Array]:
    """Return the loss's own second derivatives in the weights, or those of each output by itself."""

    def place_curvatures(U: Array, X: Array, outputs: Indices) -> Array:
        if U.shape[1] == 1:
            return sum_curvatures(loss, U, X)
        D = loss.curvature(U).reshape(U.shape)
        return ((X * D.T[outputs]) @ X.T) * np.equal.outer(outputs, outputs)

    return loss.hessian or place_curvatures


class CuttingPlanes:
    """The program of penalty and cuts, ``loss(z) >= D(u) - u'z`` for multipliers u and the loss's dual value D.

    By it losses over pairs are minimised where scores take few values and Newton's method ends.
    """

    def __init__(self, restricted: Restricted, limit: float, ridge: float) -> None:
        self.limit, self.ridge, self.y, self.H = limit, ridge, restricted.y, restricted.H
        self.nonnegative = restricted.formulation.nonnegative
        self.loss, self.penalty = restricted.formulation.terms
        self.multipliers, self.offsets = np.zeros((0, len(self.y))), np.zeros(0)
        self.edges, self.idle = np.zeros((0, self.H.shape[1])), np.zeros(0, np.intp)

    def polish(self, best: dict[str, Array], objective: float, bound: float, tol: float, pace: Pace) -> None:
        """Go on from the best weights and multipliers until the gap is allowed, and put better ones in their place.

        On the way to the minimum of the planes the objective is minimised, and cut there and a little further (Franc &
        Sonnenburg 2009).
        """
        y, f = self.y, self.H @ best["w"]
        for u in (np.zeros(len(y)), self.loss.repair(best["u"], None)):
            self._add(u, self.loss.dual_value(u))
        self._cut(y * f)
        # a few dozen are usual where scores take few values
        for _ in range(300):
            v, u, below = self._minimise()
            if below > bound:
                bound, best["u"] = below, u
            if objective - bound <= tol * abs(objective) or not pace.allows_step():
                break
            d = v - best["w"]
            df = self.H @ d
            step = self._search(best["w"], f, d, df)
            value = self._cut(y * (f + step * df)) + self.penalty.value(best["w"] + step * d)
            # another cut a little beyond the best point, towards the minimum of the planes
            self._cut(y * (f + (step + 0.1 * (1 - step)) * df))
            if value < objective:
                objective, best["w"], f = value, best["w"] + step * d, f + step * df

    def _search(self, w: Array, f: Array, d: Array, df: Array) -> float:
        """Minimise the objective over the way d from w, 0 to 1, by the sign of its slope."""
        low, high = 0.0, 1.0

        def slope(step: float) -> float:
            least, largest = self.penalty.slopes(w + step * d)
            of_penalty = float(largest @ np.maximum(d, 0) + least @ np.minimum(d, 0))
            return of_penalty - float(self.loss.multipliers(self.y * (f + step * df)) @ (self.y * df))

        if slope(1.0) <= 0:
            return 1.0
        # what is cut is within 1/4096 of the kink
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return high

    def _add(self, u: Array, offset: float) -> None:
        """Add the cut of multipliers."""
        self.multipliers, self.offsets = np.vstack([self.multipliers, u]), np.append(self.offsets, offset)
        self.edges, self.idle = np.vstack([self.edges, (self.y * u) @ self.H]), np.append(self.idle, 0)

    def _cut(self, z: Array) -> float:
        """Add the cut at margins z, and return the loss there."""
        value, u = self.loss.value(z), self.loss.multipliers(z)
        self._add(u, value + float(u @ z))
        return value

    def _minimise(self) -> tuple[Array, Array, float]:
        """Return the minimising weights, the multipliers that the cuts make together, and a bound of the minimum."""
        k, m, limit, ridge, nonnegative = self.H.shape[1], len(self.offsets), self.limit, self.ridge, self.nonnegative
        # p - q = w with p, q >= 0 under an l1 penalty
        signs = [1.0] if nonnegative or ridge else [1.0, -1.0]
        unit, n_weights = float(np.abs(self.offsets).max()) or 1.0, k * len(signs)
        A = sparse.csc_array(np.hstack([*(-sign * self.edges / unit for sign in signs), -np.ones((m, 1))]))
        b, cones = -self.offsets / unit, [Cones(nonnegative=m)]
        cost, curvature = np.append(np.full(n_weights, limit / unit), 1.0), None
        if ridge:
            curvature = np.append(np.full(k, ridge / unit), 0.0)
        else:
            A = sparse.vstack([A, -sparse.eye_array(n_weights, n_weights + 1)], format="csc")
            b, cones = np.append(b, np.zeros(n_weights)), [*cones, Cones(nonnegative=n_weights)]
        found = solve_cones(A, b, cost, cones, curvature)
        shares = np.maximum(found.dual[:m], 0.0)
        shares /= shares.sum()
        u, edges, bound = shares @ self.multipliers, shares @ self.edges, float(shares @ self.offsets)
        if ridge:
            bound -= float(edges @ edges) / (2 * ridge)
        else:
            largest = float((edges if nonnegative else np.abs(edges)).max(initial=0.0))
            shrink = limit / max(limit, largest)
            # the cut at u = 0 takes the rest
            u, bound = shrink * u, shrink * bound + (1 - shrink) * float(self.offsets[0])
        # a cut without a multiplier for so long is of no use, but the one at u = 0
        self.idle = np.where(shares > 1e-9, 0, self.idle + 1)
        kept = (self.idle < 40) | (np.arange(m) == 0)
        self.multipliers, self.offsets = self.multipliers[kept], self.offsets[kept]
        self.edges, self.idle = self.edges[kept], self.idle[kept]
        w: Array = np.sum([sign * found.x[j * k : (j + 1) * k] for j, sign in enumerate(signs)], axis=0)
        return w, u, bound


class LeastSquaresMaster(FastMaster):
    """SL (10), all outputs at once, by equations of size min(n_columns, n_samples).

    By columns they are ``(G'G + weight/C I) W = G'L``, G the columns less their means, with a Cholesky factor that
    grows by the rows of the new columns; once there are more columns than samples, they are SL (11). The intercept is
    ``b = mean(L - H W)`` and ``U = C (L - H W - 1 b')``, so 1'U = 0 by construction. Prices C_i of the samples weigh
    means and squares.

    With `inverse`, as SL has it, S^-1 is updated by SL (20): at one column a round in an eighth of the time (2,000
    columns over 200 samples, or 1,000 over 500), with weights that are off by about 2e-13 C, relative, by then.

    Parameters
    ----------
    formulation : Formulation
        Squared error with a squared l2 penalty and an intercept, of any number of outputs.
    y : ndarray of shape (n_samples, 1)
        A column of ones.
    inverse : bool
        True for the updated inverse of SL (20), in memory for n_samples^2 numbers.
    """

    source = "SL (11), (20)"
    needs = (Needs("targets", "ridge", nonnegative=False, intercept=True),)

    def __init__(self, formulation: Formulation, y: Array, *, inverse: bool = False) -> None:
        super().__init__(formulation, y)
        self.pace = Pace()
        # prices with the mean 1: 1/2 sum_i v_i |r_i|^2 + ridge/2 |W|^2
        price = float(np.mean(self.loss.prices))
        targets, prices = self.loss.targets.reshape(len(y), -1), np.full(len(y), self.loss.prices.ravel() / price)
        problem = targets, self.penalty.ridge / price, prices
        self.by_columns, self.by_samples = ByColumns(*problem), BySamples(*problem)
        self.by_inverse = ByInverse(*problem) if inverse else None

    def solve(self) -> MasterSolution:
        """Grow the equations by the new columns and solve them; a TimeUp where that may take longer than is left."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        if not self.pace.allows_step():
            raise TimeUp
        H = self.restricted.H
        W = (self.by_inverse or (self.by_columns if H.shape[1] <= len(H) else self.by_samples)).weights(H.T)
        W = W.reshape(-1, *self.restricted.problem.outputs)
        scores = H @ W
        b = self.loss.best_intercept(scores, self.restricted.y)
        return self.restricted.evaluate({"w": W, "b": b, "u": self.loss.multipliers(scores + b)})
