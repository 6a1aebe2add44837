"""The master of losses with kinks that have a smooth neighbour: Newton's method, less and less smoothed, and planes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse

from cvxens.colgen.masters.newton_masters import NewtonMaster
from cvxens.colgen.protocols import Column, MasterSolution, Priced, relative_gap
from cvxens.colgen.restricted import SHARE, Needs
from cvxens.docstrings import documented
from cvxens.limits import Pace, TimeUp
from cvxens.problems.cones import Cones
from cvxens.problems.conic import solve_cones
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.problems.pair_losses import PairLoss
from cvxens.solvers.proximal_l1 import QuadraticModel
from cvxens.types import Array, Point

MAX_STEPS = 200
"""Newton steps of a round; a few for each width are usual."""

SHARPER = 0.2
"""The next width in proportion to the last one: few enough pairs enter and leave for the last point to be near."""

WIDEST, NARROWEST = 1.0, 1e-10
"""The widths from which a first round starts, and below which scores are rounding."""

MANY_PAIRS = 20_000
"""Pairs from which on their model is not the fastest way, if the loss is one of pairs and has kinks."""

MAX_PLANES = 300
"""Solutions of a program of cutting planes; a few dozen are usual where scores take few values."""

HALVINGS = 12
"""Points of a search along a line: what is cut is within 1/4096 of the kink."""

AHEAD = 0.1
"""How far towards the minimum of the planes beyond the best point another cut is made."""

IDLE = 40
"""Solutions for which a cut has had no multiplier, after which it is dropped."""

SETTLED = 1e-3
"""The share of what is rounded off that a step has to promise, or it is the width that keeps the gap."""

SUFFICIENT = 1e-4
"""The share of the decrease that its slope promises, with which a step is taken (Armijo)."""

MAX_HALVINGS = 6
"""Halvings of a step, after which the next one is damped."""

LEAST_DAMPING, MOST_DAMPING, CALMER, WILDER = 1e-10, 1e8, 0.2, 4.0
"""What is added to the curvature, relative to the largest, and its factors after whole and after short steps."""


@documented
class SmoothingMaster(NewtonMaster):
    """A loss that has smooth neighbours with second derivatives in the weights, with an l1 or a squared l2 penalty.

    Newton's method minimises the neighbour of some width; its multipliers are feasible for the loss itself, whose
    duality gap is what counts. Where a step is not what keeps it, the width is made smaller, and in the end cutting
    planes go on from there. Of a loss that is smooth itself every neighbour is the loss.

    Parameters
    ----------
    formulation : Formulation
        A loss that has a neighbour by ``smoothed(width)``, such as those of all pairs of a ranking, on one score a
        sample, with an l1 or a squared l2 penalty and no intercept.
    """

    source = "Nesterov 2005; Lee, Sun & Saunders 2014"
    needs = (
        Needs("smoothed", "edge_limit", intercept=False, several=False),
        Needs("smoothed", "ridge", nonnegative=False, intercept=False, several=False),
    )

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-8, share: float = SHARE) -> None:
        super().__init__(formulation, y, tol=tol, share=share)
        self.w, self.width, self.damping = np.zeros(0), WIDEST, LEAST_DAMPING
        self.limit, self.ridge = self.penalty.edge_limit or 0.0, self.penalty.ridge or 0.0

    def add(self, columns: Sequence[Column]) -> None:
        self.w = np.append(self.w, np.zeros(len(self.restricted.add(columns))))

    def minimise(self, tol: float) -> Point:
        """Step until the gap is allowed, narrowing the width where that keeps it."""
        few = isinstance(self.loss, PairLoss) and self.loss.n_pairs < MANY_PAIRS
        if few and self.loss.smoothed(1.0) is not self.loss:
            solution = self.restricted.problem.solve()
            return {"w": solution.variables["w"], "u": solution.duals["u"]}
        pace, H, y = Pace(), self.restricted.H, self.restricted.y
        w, f = self.w, H @ self.w
        smooth = self.loss.smoothed(self.width)
        u = smooth.multipliers(y * f)
        (objective, bound), best = self._measure(w, f, u), {"w": w, "u": u}
        for _ in range(MAX_STEPS):
            if objective - bound <= tol * abs(objective) or not pace.allows_step():
                break
            try:
                w, f, decrease = self._step(smooth, w, f, u)
            except TimeUp:
                break
            u = smooth.multipliers(y * f)
            value, below = self._measure(w, f, u)
            if value < objective:
                objective, best["w"] = value, w
            if below > bound:
                bound, best["u"] = below, u
            rounded = value - smooth.value(y * f) - self.penalty.value(w)
            if decrease <= SETTLED * max(rounded, tol * abs(value)):
                if self.width <= NARROWEST or smooth is self.loss:
                    break
                self.width, self.damping = SHARPER * self.width, max(self.damping * CALMER**4, LEAST_DAMPING)
                smooth = self.loss.smoothed(self.width)
                u = smooth.multipliers(y * f)
        self.w = best["w"]
        # new columns move scores further than the last steps did
        self.width = min(WIDEST, self.width / SHARPER)
        if objective - bound > tol * abs(objective) and smooth is not self.loss:
            with suppress(TimeUp):
                self._polish(best, objective, bound, tol, pace)
        return best

    def _polish(self, best: dict[str, Array], objective: float, bound: float, tol: float, pace: Pace) -> None:
        """Go on from the best weights and multipliers by cutting planes, where scores take few values and Newton ends.

        On the way to the minimum of the planes the objective is minimised, and cut there and a little further (Franc &
        Sonnenburg 2009).
        """
        H, y = self.restricted.H, self.restricted.y
        planes = CuttingPlanes(self, [np.zeros(len(y)), self.loss.repair(best["u"], None)])
        f = H @ best["w"]
        planes.cut(y * f)
        for _ in range(MAX_PLANES):
            v, u, below = planes.minimise()
            if below > bound:
                bound, best["u"] = below, u
            if objective - bound <= tol * abs(objective) or not pace.allows_step():
                break
            d, df = v - best["w"], H @ (v - best["w"])
            step = self._search(best["w"], f, d, df)
            value = planes.cut(y * (f + step * df)) + self.penalty.value(best["w"] + step * d)
            planes.cut(y * (f + (step + AHEAD * (1 - step)) * df))
            if value < objective:
                objective, best["w"], f = value, best["w"] + step * d, f + step * df
        self.w = best["w"]

    def _search(self, w: Array, f: Array, d: Array, df: Array) -> float:
        """Minimise the objective over the way d from w, 0 to 1, by the sign of its slope."""
        y, low, high = self.restricted.y, 0.0, 1.0

        def slope(step: float) -> float:
            least, largest = self.penalty.slopes(w + step * d)
            of_penalty = float(largest @ np.maximum(d, 0) + least @ np.minimum(d, 0))
            return of_penalty - float(self.loss.multipliers(y * (f + step * df)) @ (y * df))

        if slope(1.0) <= 0:
            return 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return high

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next round is allowed a share of the gap to the ones found."""
        if self.ridge:
            return super().bound(solution, priced)
        best = self.restricted.problem.bound(solution.u, Edges(priced.best_edge, np.inf))
        self.tolerance.gap = relative_gap(solution.objective, best)
        return self.restricted.bound(solution, priced)

    def _measure(self, w: Array, f: Array, u: Array) -> tuple[float, float]:
        """Return the objective at w, and the bound from multipliers u over the columns so far.

        Those of a neighbour are in the domain of the conjugate up to rounding, which steers no step: a solution is
        repaired where it is evaluated, once a round.
        """
        problem, y = self.restricted.problem, self.restricted.y
        objective = self.loss.value(y * f) + self.penalty.value(w)
        edges = problem.H.edges(y * u)
        sizes = edges if problem.nonnegative else np.abs(edges)
        return objective, problem.bound(u, Edges(float(sizes.max()), float(edges @ edges)))

    def _step(self, smooth: Any, w: Array, f: Array, u: Array) -> tuple[Array, Array, float]:
        """Minimise the quadratic model of the smoothed loss, with the penalty, and search on the way there.

        Returns weights, scores and the decrease that the slope promised, 0 where there was none.
        """
        H, y, nonnegative = self.restricted.H, self.restricted.y, self.restricted.formulation.nonnegative
        edges = H.T @ (y * u)
        active = np.flatnonzero((w != 0) | ((edges if nonnegative else np.abs(edges)) > self.limit))
        if not active.size:
            return w, f, 0.0
        rows = H.T[active]
        B = smooth.curve(y * f, y * rows)
        largest = float(np.abs(B.ravel()[:: len(B) + 1]).max()) or 1.0
        # pairs that enter or leave are no part of the curvature: steps that fail are damped
        B = B + (self.ridge + self.damping * largest) * np.eye(len(active))
        gradient = self.ridge * w[active] - edges[active]
        price = np.full(len(active), self.limit)
        low = np.full(len(active), 0.0 if nonnegative else -np.inf)
        try:
            v = QuadraticModel(B, price, low).minimise(w[active], gradient)
        except np.linalg.LinAlgError:
            # where hardly a pair is in the width, its curvature is rounding
            return w, f, self._damp()
        d = np.zeros(len(w))
        d[active] = v - w[active]
        df = d[active] @ rows
        slope = float(gradient @ d[active] + self.limit * (np.abs(v).sum() - np.abs(w[active]).sum()))
        start, t = smooth.value(y * f) + self.penalty.value(w), 1.0
        for _ in range(MAX_HALVINGS):
            value = smooth.value(y * (f + t * df)) + self.penalty.value(w + t * d)
            if value <= start + SUFFICIENT * t * slope:
                self.damping = max(self.damping * (CALMER if t == 1.0 else 1.0 if t > 0.2 else WILDER), LEAST_DAMPING)
                return w + t * d, f + t * df, -slope
            t /= 2
        return w, f, self._damp()

    def _damp(self) -> float:
        """Damp the next step more; returns a decrease that asks for another one, unless there have been too many."""
        self.damping *= WILDER**2
        return 0.0 if self.damping > MOST_DAMPING else np.inf


class CuttingPlanes:
    """The program of penalty and cuts, ``loss(z) >= D(u) - u'z`` for multipliers u and the loss's dual value D."""

    def __init__(self, master: SmoothingMaster, multipliers: Sequence[Array]) -> None:
        self.master, self.H = master, master.restricted.H
        self.multipliers = np.stack(multipliers)
        self.offsets = np.array([master.loss.dual_value(u) for u in multipliers])
        self.edges = (self.multipliers * master.restricted.y) @ self.H
        self.idle = np.zeros(len(multipliers), np.intp)

    def cut(self, z: Array) -> float:
        """Add the cut at margins z, and return the loss there."""
        value, u = self.master.loss.value(z), self.master.loss.multipliers(z)
        self.multipliers = np.vstack([self.multipliers, u])
        self.offsets = np.append(self.offsets, value + float(u @ z))
        self.edges = np.vstack([self.edges, (self.master.restricted.y * u) @ self.H])
        self.idle = np.append(self.idle, 0)
        return value

    def minimise(self) -> tuple[Array, Array, float]:
        """Return the minimising weights, the multipliers that the cuts make together, and a bound of the minimum."""
        k, m, nonnegative = self.H.shape[1], len(self.offsets), self.master.restricted.formulation.nonnegative
        limit, ridge = self.master.limit, self.master.ridge
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
        self._drop(shares)
        w: Array = np.sum([sign * found.x[j * k : (j + 1) * k] for j, sign in enumerate(signs)], axis=0)
        return w, u, bound

    def _drop(self, shares: Array) -> None:
        """Drop the cuts, but the one at u = 0, that have not been of use for long."""
        self.idle = np.where(shares > 1e-9, 0, self.idle + 1)
        kept = (self.idle < IDLE) | (np.arange(len(self.idle)) == 0)
        self.multipliers, self.offsets = self.multipliers[kept], self.offsets[kept]
        self.edges, self.idle = self.edges[kept], self.idle[kept]
