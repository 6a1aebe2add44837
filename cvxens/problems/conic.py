"""Convex functions that are known by a cvxpy expression alone, with bounds on them that need no conjugate.

A convex function is canonicalised once to ``g(v) = min {c'x + d : b - A x in K}``, where v is a part of x and K a
product of cones. The rest of x are variables of the expression's own, minimised over, and those that canonicalisation
made. For any l in the dual cone K* that satisfies ``c + A'l = 0`` on that rest, and ``u = -(c + A'l)`` on v,

    g(v) + u'v = c'x + d + u'v >= c'x + d + u'v + l'(A x - b) = d - b'l     for every v,

so ``d - b'l`` bounds ``-g*(-u)`` from below, whoever found l. A solver's l misses the equality and the cone by its
tolerance. It is moved to the equality by weighted least squares, the rows that are next to the border of their cone
least, then into the cone; u is read from it; and what is left of the equality is charged to the bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from cvxens.errors import InvalidInput, SolverFailed
from cvxens.limits import check_time, time_left
from cvxens.problems.cones import Cones
from cvxens.problems.duality import balance_exactly
from cvxens.problems.modelling import Term, cp
from cvxens.rounding import EPSILON, dot
from cvxens.types import Array, Attempt

SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")
"""Endings of Clarabel's whose point is one to begin a proof with."""

ACCURACY = 1e-10
"""Gap and residuals that are asked for: what a proof loses to them is about as much, relative."""

PROXIMITY = 1e-8
"""The curvature by which the nearest u with a bound is found, relative to the sizes of u and v: how far it moves it."""

SMALL = 1e-3
"""The size of multipliers, relative to the cost, that is the least to be expected."""

SCALES = (1e-3, 1e-6)
"""Scales of v that are tried in turn for a u that is far from any that has a bound."""

STRONGER = (1e-4, 1e-2, 1.0)
"""Curvatures that are tried in turn where the solver fails at all of these scales."""

BORDER = 1e-5
"""The least weight of a row in the repair of the equality, relative to the largest: its square is what a row moves."""

REGULARISATION = 1e-13
"""Makes the equations of the repair solvable where columns depend on each other; refinement makes it good."""

REFINEMENTS = 4

DENSE, FEW_DENSE = 10.0, 32
"""Columns with more entries than so many times the root of their number count as dense, if there are few."""

SHARES = tuple(float(share) for share in 10.0 ** np.arange(-14, -4))
"""Shares of multipliers deep inside their cones, tried in turn to bring others into it: what a bound loses to it."""

DEEP = (0.1, 1e-2, 1e-3)
"""Depths in their cones of such multipliers, relative to the cost, tried in turn."""

NEGLIGIBLE = 1e-14
"""What may be left of the equality, relative to its terms: some ten units in the last place."""

FURTHER = 10.0
"""How many times as large as a solver's point the optimum may be for the charge of what is left of the equality."""

REMEMBERED = 16
"""Proofs that are kept: some of each of the last rounds."""

ROUNDED = 64 * EPSILON
"""What balancing and shrinking may move an entry of u by, relative to the sum of their sizes: some units of a grid."""

FAR = 1e4
"""The size of a minimiser, relative to that of the margins, from which on a stronger pull is tried."""

MOVED = 1e-6
"""The distance of a given u from the nearest one with a bound, relative, up to which it counts as the same."""


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """A point of a conic solver's, and how it ended; nothing in it is believed."""

    x: Array
    dual: Array
    status: str

    @property
    def solved(self) -> bool:
        return self.status in SOLVED

    @property
    def ending(self) -> str:
        """The status in cvxpy's words, where it has one."""
        return {"PrimalInfeasible": "infeasible", "DualInfeasible": "unbounded"}.get(self.status, self.status)

    @property
    def attempt(self) -> Attempt:
        """The outcome as `SolverFailed` lists it."""
        return Attempt("CLARABEL", self.ending, 0.0)


def solve_cones(
    A: Any, b: Array, cost: Array, cones: Cones | Sequence[Cones], curvature: Array | None = None, **settings: Any
) -> ConicSolution:
    """Minimise ``cost'x + curvature'x^2 / 2`` with ``b - A x`` in the cones, one or some in turn, by Clarabel.

    Raises TimeUp where time is up.
    """
    import clarabel

    check_time()
    chosen = clarabel.DefaultSettings()
    accuracy = {"tol_gap_abs": ACCURACY, "tol_gap_rel": ACCURACY, "tol_feas": ACCURACY}
    limit = {"time_limit": left} if (left := time_left()) < inf else {}
    for name, value in {"verbose": False, "max_threads": 1, **accuracy, **limit, **settings}.items():
        setattr(chosen, name, value)
    listed = [cone for some in ([cones] if isinstance(cones, Cones) else cones) for cone in some.for_clarabel()]
    # residuals are measured against 1, so the largest cost is made that
    unit = float(np.abs(cost).max(initial=0.0)) or 1.0
    P = sparse.csc_array(A.shape[1:] * 2) if curvature is None else sparse.diags_array(curvature / unit, format="csc")
    found = clarabel.DefaultSolver(P, cost / unit, sparse.csc_array(A), b, listed, chosen).solve()
    if str(found.status) == "MaxTime":
        check_time()
    return ConicSolution(np.array(found.x), unit * np.array(found.z), str(found.status))


@dataclass(frozen=True, eq=False)
class Proof:
    """A lower bound of ``g(v) + u'v`` over all v, and where it was found."""

    u: Array
    bound: float
    v: Array  # the minimiser, to a solver's digits
    charge: float  # what was taken off the bound for what is left of the equality


@dataclass(frozen=True, eq=False)
class ConicForm:
    """A canonical form ``min {c'x + offset : b - A x in the cones}``; `rows` is where v.ravel() is in x."""

    A: Any
    b: Array
    c: Array
    offset: float
    cones: Cones
    rows: NDArray[np.intp]


class ConicFunction:
    """A convex function of an array v, given in cvxpy, with proven bounds on ``g(v) + u'v``.

    Multipliers u have the shape of v. With signs y they are balanced: y'u = 0, output by output, as an intercept wants.
    The last proofs are remembered, so that what was bounded once costs nothing, nor does ``t u`` for t between 0 and 1:
    with the multipliers of the least g, those of u have a segment of proofs.

    Parameters
    ----------
    shape : tuple of int
        The shape of v.
    form : ConicForm
        Its canonical form.

    Examples
    --------
    >>> hinge = ConicFunction.from_expression(lambda z: cp.sum(cp.pos(1 - z)), (3,))
    >>> u, bound, rounding = hinge.bound(np.array([0.5, 0.25, 1.0]))
    >>> u.round(6), round(bound, 6), rounding < 1e-12
    (array([0.5 , 0.25, 1.  ]), 1.75, True)
    >>> y = np.array([1.0, 1.0, -1.0])
    >>> u, bound, _ = hinge.bound(np.array([2.0, 0.5, 0.5]), y=y)
    >>> float(y @ u), bool(round(bound - u.sum(), 6) <= 0), bool((u <= 1).all())
    (0.0, True, True)
    """

    def __init__(self, shape: tuple[int, ...], form: ConicForm) -> None:
        self.shape = shape
        self.form = form
        self.A, self.b, self.c, self.cones, self.rows = form.A, form.b, form.c, form.cones, form.rows
        self.offset = form.offset
        self._proofs: deque[Proof] = deque(maxlen=REMEMBERED)

    @classmethod
    def from_term(cls, model: Callable[[Any], Term], shape: tuple[int, ...]) -> ConicFunction:
        """Canonicalise a function from a cvxpy variable to a `Term`.

        Raises
        ------
        InvalidInput
            There are variables of whole or boolean numbers.
        """
        variable = cp.Variable(shape)
        term = model(variable)
        # the term that is 0 keeps the variable where the expression does without some or all of it
        problem = cp.Problem(cp.Minimize(term.expression + 0 * cp.sum(variable)), list(term.constraints))
        if problem.is_mixed_integer():
            raise InvalidInput("loss", "found variables of whole or boolean numbers", "give continuous ones")
        data, _, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": False})
        b, c = np.asarray(data["b"], dtype=float), np.asarray(data["c"], dtype=float)
        first = data[cp.settings.PARAM_PROB].var_id_to_col[variable.id]
        rows = first + np.arange(prod(shape)).reshape(shape, order="F").ravel()
        offset = float(inverse[-1].inverse_data[cp.settings.OFFSET])
        return cls(shape, ConicForm(sparse.csc_array(data["A"]), b, c, offset, Cones.from_dims(data["dims"]), rows))

    @classmethod
    def from_expression(
        cls,
        express: Callable[[Any], Any],
        shape: tuple[int, ...],
        constraints: Callable[[Any], Sequence[Any]] | None = None,
    ) -> ConicFunction:
        """Make the function of a convex expression, infinite where the constraints do not hold."""
        return cls.from_term(lambda v: Term(express(v), () if constraints is None else tuple(constraints(v))), shape)

    def bound(self, u: Array, y: Array | None = None, near: Array | None = None) -> tuple[Array, float, float]:
        """Find multipliers near u under which ``g(v) + u'v`` is bounded from below, and a bound.

        Parameters
        ----------
        u : ndarray, shaped as v
            Those of a solver, or any.
        y : ndarray, optional
            Signs; the multipliers that are returned have y'u = 0 to the last bit.
        near : ndarray, shaped as v, optional
            A v whose negative subgradient u is, if that is known: then u moves by no more than its own error.

        Returns
        -------
        u : ndarray, shaped as v
        bound : float
            -inf where none was found.
        rounding : float
            A bound on the rounding error of `bound`.
        """
        proof = self.prove(u, y, near)
        return proof.u, proof.bound, self._rounding(proof.bound)

    def prove(self, u: Array, y: Array | None = None, near: Array | None = None) -> Proof:
        """Return the remembered proof of u, or one for the nearest u that has any."""
        if (known := self._recall(u, y)) is not None and np.isfinite(known.bound):
            return known
        if (y is None or not np.any((y * u).sum(axis=0))) and np.isfinite(share := self._find_share(u) or -inf):
            return Proof(u, share, np.zeros(self.shape), 0.0)
        at = np.zeros(self.shape) if near is None else near
        size = max(float(np.abs(u).max(initial=0.0)), SMALL * float(np.abs(self.c).max()))
        proof, is_near = self._approach(u, y, at, size)
        for scale in SCALES:
            if is_near:
                break
            first, _ = self._approach(u, y, at, size, scale)
            if first is not None:
                proof, is_near = self._approach(first.u, y, at, size)
        for proximity in () if is_near else STRONGER:
            proof, is_near = self._approach(u, y, at, size, proximity=proximity)
            if is_near:
                break
        return Proof(u, -inf, at, inf) if proof is None else self._remember(proof)

    def _approach(
        self, u: Array, y: Array | None, at: Array, size: float, scale: float = 1.0, proximity: float = PROXIMITY
    ) -> tuple[Proof | None, bool]:
        """Minimise ``g(z + y b) + u'z + e/2 |z - at|^2``, whose multipliers are balanced and are ``u + e (z - at)``.

        True beside the proof if the minimiser is not far away, which is the sign of a u that had to move far. With a
        scale t below 1, it is ``t g(z / t)`` in place of g, with e over t, and z is of the size of t: for t to 0 the
        multipliers go to the nearest that are feasible, and the bound, whose share is t, loses digits.
        """
        mixed, extent = self._mix(y), max(1.0, float(np.abs(at).max(initial=0.0)))
        pull = proximity * size / (extent * scale)
        curvature, cost = np.zeros(mixed.shape[1]), mixed.T @ self.c
        curvature[self.rows] = pull
        cost[self.rows] += (u - pull * scale * at).ravel()
        found = solve_cones(self.A @ mixed, scale * self.b, cost, self.cones, curvature)
        proof = self._check(found.dual, mixed @ found.x / scale, y) if found.solved else None
        return proof, proof is not None and float(np.abs(found.x[self.rows]).max(initial=0.0)) <= FAR * extent

    def adopt(self, dual: Array, x: Array, y: Array | None) -> Proof | None:
        """Make a proof of the multipliers and the point that a larger program has of this function; remember it."""
        proof = self._check(dual, x, y) if np.isfinite(dual).all() else None
        return None if proof is None else self._remember(proof)

    def dual_value(self, u: Array) -> float:
        """Bound ``g(v) + u'v`` from below over all v; -inf where no bound is found."""
        if (known := self._recall(u, None)) is not None:
            return known.bound
        if (share := self._find_share(u)) is not None:
            return share
        proof = self.prove(u)
        moved = np.abs(proof.u - u)
        charge = self._charge(moved.ravel(), proof.v.ravel())
        bound = proof.bound - charge if float(moved.sum()) <= MOVED * float(np.abs(u).sum()) else -inf
        return self._remember(Proof(u, bound, proof.v, charge)).bound

    def rounding(self, u: Array) -> float:
        """Bound the rounding error of ``dual_value(u)``."""
        return self._rounding(self.dual_value(u))

    def subgradient(self, v: Array) -> Array:
        """Return a subgradient at v; where the function is infinite, one at the nearest point where it is not."""
        return -self.prove_at(v).u

    def prove_at(self, v: Array) -> Proof:
        """Return a proof whose u is minus a subgradient at v: its bound is ``g(v) + u'v``."""
        for known in reversed(self._proofs):
            if np.array_equal(known.v, v):
                return known
        rest, x = self._rest, np.zeros(self.A.shape[1])
        x[self.rows] = v.ravel()
        found = solve_cones(self.A @ rest, self.b - self.A @ x, rest.T @ self.c, self.cones)
        proof = self._check(found.dual, x + rest @ found.x, None) if found.solved else None
        if proof is None:
            # the negative gradient of the Moreau envelope min g(v') + k/2 |v' - v|^2
            size = float(np.abs(self.c).max()) / BORDER
            curvature, cost = np.zeros(len(self.c)), self.c.copy()
            curvature[self.rows] = size
            cost[self.rows] -= size * v.ravel()
            found = solve_cones(self.A, self.b, cost, self.cones, curvature)
            proof = self._check(found.dual, found.x, None)
        if proof is None:
            raise SolverFailed([found.attempt])
        return self._remember(Proof(proof.u, proof.bound, v, proof.charge))

    def best_shift(self, v: Array, y: Array) -> Array:
        """Return the b, one for each output, that minimises ``g(v + y b)``."""
        mixed = self._mix(y)
        moving = mixed[:, np.setdiff1d(np.arange(mixed.shape[1]), self.rows)]
        x = np.zeros(self.A.shape[1])
        x[self.rows] = v.ravel()
        found = solve_cones(self.A @ moving, self.b - self.A @ x, moving.T @ self.c, self.cones)
        if not found.solved:
            raise SolverFailed([found.attempt])
        b = found.x[moving.shape[1] - prod(self.shape[1:]) :].reshape(self.shape[1:])
        proof = self._check(found.dual, x + moving @ found.x, y)
        if proof is not None:
            self._remember(Proof(proof.u, proof.bound, v + y * b, proof.charge))
        return b

    @cached_property
    def _zero(self) -> Proof:
        """The proof of u = 0: a bound of the least g."""
        found = solve_cones(self.A, self.b, self.c, self.cones)
        proof = self._check(found.dual, found.x, None) if found.solved else None
        none = np.zeros(self.shape)
        return Proof(none, -inf, none, inf) if proof is None else proof

    def _find_share(self, u: Array) -> float | None:
        """Bound at ``u = t v`` for a remembered v from the bounds at v and at 0: the best, or None if u is no such."""
        best, least = None, self._zero
        if not np.isfinite(least.bound):
            return None if u.any() else -inf
        # the multipliers of the least g are 0 but for a solver's digits, which are charged
        of_rest = float(np.abs(least.u).sum())
        for known in reversed(self._proofs) if u.any() else (least,):
            square = float(np.vdot(known.u, known.u))
            share = min(max(float(np.vdot(u, known.u)) / square, 0.0), 1.0) if square and known is not least else 0.0
            off = np.abs(u - share * known.u) if known is not least else np.zeros(1)
            if off.max(initial=0.0) > ROUNDED * float(np.abs(u).sum()):
                continue
            farthest = FURTHER * float(np.abs(known.v).max(initial=0.0))
            charge = ((1 - share) * of_rest + float(off.sum())) * farthest
            value = share * known.bound + (1 - share) * least.bound - charge
            best = value if best is None else max(best, value)
        return best

    def _recall(self, u: Array, y: Array | None) -> Proof | None:
        """Return what is remembered of u, balanced if signs are given."""
        if y is not None and np.any((y * u).sum(axis=0)):
            return None
        for known in reversed(self._proofs):
            if np.array_equal(known.u, u):
                return known
        return None

    def _remember(self, proof: Proof) -> Proof:
        self._proofs.append(proof)
        return proof

    @cached_property
    def _rest(self) -> Any:
        """The unit vectors of x that are not v."""
        kept = np.setdiff1d(np.arange(len(self.c)), self.rows)
        return sparse.eye_array(len(self.c), format="csc")[:, kept]

    def _mix(self, y: Array | None) -> Any:
        """The map to x from what is minimised over: x itself, and with signs a shift of v along them, per output."""
        unit = sparse.eye_array(len(self.c), format="csc")
        return unit if y is None else sparse.hstack([unit, self._shifts(y)], format="csc")

    def _shifts(self, y: Array) -> Any:
        """The columns by which x moves as an intercept does, one for each output."""
        n_outputs = prod(self.shape[1:])
        places = np.arange(len(self.rows)).reshape(-1, n_outputs)
        signs = np.broadcast_to(y.reshape(-1, 1), places.shape)
        columns = np.broadcast_to(np.arange(n_outputs), places.shape)
        entries = (signs.ravel(), (self.rows[places.ravel()], columns.ravel()))
        return sparse.coo_array(entries, shape=(len(self.c), n_outputs)).tocsc()

    def _check(self, dual: Array, x: Array, y: Array | None) -> Proof | None:
        """Make a proof of a solver's multipliers; None where they are no beginning of one."""
        if (settled := self.settle(dual, x, y)) is None:
            return None
        dual, declared, charges = settled
        charge = float(charges.sum())
        bound = self.offset - dot(self.b, dual) - charge
        return Proof(declared, bound, x[self.rows].reshape(self.shape), charge)

    def settle(self, dual: Array, x: Array, y: Array | None) -> tuple[Array, Array, Array] | None:
        """Move a solver's multipliers to where they prove a bound ``offset - b'l`` at some u, less a charge.

        Returns
        -------
        dual : ndarray of shape (n_rows,)
            Inside the dual cone; None in place of all where there is none.
        u : ndarray, shaped as v
        charges : ndarray, shaped as x
            What is left of the equality for each entry of x, at its size.
        """
        vanishing = self._rest if y is None else sparse.hstack([self._rest, self._shifts(y)], format="csc")
        B, target = sparse.csc_array(self.A @ vanishing), vanishing.T @ self.c
        mended = self._mend(dual, B, target)
        dual = self.cones.enter(mended)
        if not _vanishes(B, dual, target):
            dual = self._mix_centre(mended, y, B, target)
        if not (np.isfinite(dual).all() and self.cones.depths(dual).min(initial=0.0) >= 0):
            return None
        slopes = self.c + self.A.T @ dual
        u = -slopes[self.rows].reshape(self.shape)
        declared = u if y is None else balance_exactly(u, y)
        left = slopes.copy()
        left[self.rows] += declared.ravel()
        # a sum of k products is off by at most k eps of their sizes
        counts = np.diff(self.A.indptr) + 2
        rounding = counts * EPSILON * (np.abs(self.A).T @ np.abs(dual) + np.abs(self.c))
        return dual, declared, FURTHER * (np.abs(left) + rounding) * (np.abs(x) + np.abs(x).mean())

    def _charge(self, left: Array, x: Array) -> float:
        """Bound ``left'x`` at the optimum, whose entries are of the size of those of the given point."""
        sizes = np.abs(x)
        return FURTHER * float(left @ sizes + left.sum() * sizes.mean())

    def _mix_centre(self, dual: Array, y: Array | None, B: Any, target: Array) -> Array:
        """Mix in as little of multipliers deep inside the dual cone as brings those of the equality into it."""
        key = b"" if y is None else y.tobytes()
        if key not in self._centres:
            self._centres[key] = self._find_centre(B, target)
        centre = self._centres[key]
        for share in SHARES:
            mixed = dual if centre is None else (1 - share) * dual + share * centre
            if self.cones.depths(mixed).min(initial=0.0) >= 0:
                return mixed
        return self.cones.enter(dual)

    @cached_property
    def _centres(self) -> dict[bytes, Array | None]:
        """Multipliers deep inside the dual cone, by the signs they are balanced under; None where there are none."""
        return {}

    def _find_centre(self, B: Any, target: Array) -> Array | None:
        """Find multipliers that satisfy the equality and are inside of the dual cone by a share of their size."""
        inner = (float(np.abs(self.c).max(initial=0.0)) or 1.0) * self.cones.interior
        for share in DEEP:
            # multipliers l of the cost target + share B'inner make l + share inner those of the target
            found = solve_cones(B, self.b, target + share * (B.T @ inner), self.cones)
            centre = self._mend(found.dual + share * inner, B, target) if found.solved else self.b
            if found.solved and self.cones.depths(centre).min(initial=inf) > 0 and _vanishes(B, centre, target):
                return centre
        return None

    def _mend(self, dual: Array, B: Any, target: Array) -> Array:
        """Move multipliers to ``B'l + target = 0`` by least squares, weighted by how deep in their cones rows are."""
        if not B.shape[1]:
            return dual
        largest = float(np.abs(dual).max(initial=0.0)) or 1.0
        weights = np.clip(self.cones.depths(dual) / largest, BORDER, 1.0)
        system = _LeastSquares(sparse.csc_array(sparse.diags_array(weights) @ B))
        for _ in range(REFINEMENTS):
            missed = B.T @ dual + target
            if not missed.any():
                break
            dual = dual + weights * system.solve(-missed)
        return dual

    def _rounding(self, bound: float) -> float:
        # b'l has one rounding, the offset and the charge one each
        return 4 * EPSILON * (abs(bound) + abs(self.offset)) if np.isfinite(bound) else 0.0


class _LeastSquares:
    """The least change r of rows with ``B'r = right``, from a factor of the augmented system.

    Few columns that most rows are in, such as that of an intercept, would make the search for an order of elimination
    take far longer than all else; they are eliminated last, by their Schur complement.
    """

    def __init__(self, B: sparse.csc_array) -> None:
        n_rows, counts = B.shape[0], np.diff(B.indptr)
        is_dense = counts > DENSE * np.sqrt(sum(B.shape))
        self.dense = np.flatnonzero(is_dense) if is_dense.sum() <= FEW_DENSE else np.empty(0, np.intp)
        self.thin = np.setdiff1d(np.arange(B.shape[1]), self.dense)
        thin = B[:, self.thin]
        corner = sparse.diags_array(np.full(len(self.thin), -REGULARISATION))
        system = sparse.block_array([[sparse.eye_array(n_rows), thin], [thin.T, corner]], format="csc")
        self.n_rows = n_rows
        self.factor = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        self.border = np.zeros((system.shape[0], len(self.dense)))
        self.border[:n_rows] = B[:, self.dense].toarray()
        self.response = self.factor.solve(self.border)
        self.complement = -REGULARISATION * np.eye(len(self.dense)) - self.border.T @ self.response

    def solve(self, right: Array) -> Array:
        """Return r, shape (n_rows,)."""
        found = self.factor.solve(np.concatenate([np.zeros(self.n_rows), right[self.thin]]))
        if len(self.dense):
            missed = right[self.dense] - self.border.T @ found
            found = found - self.response @ np.linalg.lstsq(self.complement, missed)[0]
        return found[: self.n_rows]


def _vanishes(B: Any, dual: Array, target: Array) -> bool:
    """Return True if ``B'l + target`` is rounding."""
    sizes = np.abs(B).T @ np.abs(dual) + np.abs(target)
    return bool((np.abs(B.T @ dual + target) <= NEGLIGIBLE * sizes).all())
