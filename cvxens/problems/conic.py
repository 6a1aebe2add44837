"""Convex functions that are known by a cvxpy expression alone, with bounds on them that need no conjugate.

A convex function is canonicalised once to ``g(v) = min {c'x + d : b - A x in K}``, where v is a part of x and K a
product of cones. The rest of x are variables of the expression's own, minimised over, and those that canonicalisation
made. For any l in the dual cone K* that satisfies ``c + A'l = 0`` on that rest, and ``u = -(c + A'l)`` on v,

    g(v) + u'v = c'x + d + u'v >= c'x + d + u'v + l'(A x - b) = d - b'l     for every v,

so ``d - b'l`` bounds ``-g*(-u)`` from below, whoever found l. A solver's l misses the equality and the cone by its
tolerance. It is moved to the equality by weighted least squares, the rows that are next to the border of their cone
least, then into the cone, and u is read from it. Rounding is left of the equality. Where an exact l is verified to be
within some e of the floats (`cvxens.problems.verified`), and all that is so near is in the cone, the bound less
``|b|'e`` is proven, at multipliers that differ from u by the slack that follows from e. Where it is not, what is left
is charged to the bound for variables of ten times the sizes of the solver's, and the proof is not strict.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from cvxens.errors import InvalidInput, SolverFailed
from cvxens.limits import TimeUp, check_time, in_time, time_left
from cvxens.problems.cones import Cones
from cvxens.problems.duality import balance_exactly
from cvxens.problems.modelling import Model, Term, cp, solve_model
from cvxens.problems.verified import Equations, is_null, sum_columns
from cvxens.rounding import EPSILON, TINY, dot, sum_error
from cvxens.types import Array, Attempt, Indices

ACCURACY = 1e-10
"""Gap and residuals that are asked for: what a proof loses to them is about as much, relative."""

BORDER = 1e-5
"""The least weight of a row in the repair of the equality, relative to the largest: its square is what a row moves."""

REFINEMENTS = 4

FURTHER = 10.0
"""How many times as large as a solver's point the optimum may be for the charge of what is left of the equality."""

REMEMBERED = 16
"""Proofs that are kept: some of each of the last rounds."""

ROUNDED = 64 * EPSILON
"""What balancing and shrinking may move an entry of u by, relative to the sum of their sizes: some units of a grid."""


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """A point of a conic solver's, and how it ended; nothing in it is believed."""

    x: Array
    dual: Array
    status: str

    @property
    def solved(self) -> bool:
        # endings of Clarabel's whose point is one to begin a proof with
        return self.status in ("Solved", "AlmostSolved", "InsufficientProgress")

    @property
    def accurate(self) -> bool:
        """True if the solver says that gap and residuals are as small as asked for."""
        return self.status == "Solved"

    @property
    def ending(self) -> str:
        """The status in cvxpy's words, where it has one."""
        return {"PrimalInfeasible": "infeasible", "DualInfeasible": "unbounded"}.get(self.status, self.status)

    @property
    def attempt(self) -> Attempt:
        """The outcome as `SolverFailed` lists it."""
        return Attempt("CLARABEL", self.ending, 0.0)


def solve_cones(
    A: sparse.csc_array,
    b: Array,
    cost: Array,
    cones: Cones | Sequence[Cones],
    curvature: Array | None = None,
    **settings: object,
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
        raise TimeUp
    return ConicSolution(np.array(found.x), unit * np.array(found.z), str(found.status))


@dataclass(frozen=True, eq=False)
class ConicProof:
    """A lower bound of ``g(v) + u'v`` over all v, and where it was found."""

    u: Array
    bound: float
    v: Array  # the minimiser, to a solver's digits
    charge: float  # what was taken off the bound for what is left of the equality
    slack: float = 0.0  # the sum of the differences of u and the multipliers that have this bound exactly
    strict: bool = False  # whether there are such
    y: Array | None = None  # the signs that u is balanced under


@dataclass(frozen=True, eq=False)
class ConicForm:
    """A canonical form ``min {c'x + offset : b - A x in the cones}``; `rows` is where v.ravel() is in x."""

    A: sparse.csc_array
    b: Array
    c: Array
    offset: float
    cones: Cones
    rows: Indices
    stated: Stated | None = None  # what it was made of; None for a form that is a part of another one

    def tighten(self, x: Array, share: float) -> ConicForm:
        """Return the same with the border of every cone moved inwards by a share of the sizes of its rows at some x."""
        sizes, blocks = np.abs(self.b) + np.abs(self.A) @ np.abs(x), self.cones.blocks
        largest = np.zeros(int(blocks.max(initial=-1)) + 1)
        np.maximum.at(largest, blocks, sizes)
        return replace(self, b=self.b - share * largest[blocks] * self.cones.fill(1.0))

    def balance(self) -> tuple[ConicForm, Array]:
        """Return the same in units of x and of cones in which entries are near 1, and these units.

        Variables may be in any units, and so may constraints: solvers and repairs have digits for what is near 1. Those
        of v stay. All are powers of 2, so that nothing is rounded.
        """
        factors, units = find_units(self.A, self.b, self.cones.blocks, self.rows)
        entries = sparse.coo_array(self.A)
        row, column = entries.coords
        with np.errstate(over="ignore", under="ignore"):
            scaled = entries.data * factors[row] * units[column]
            b, c = self.b * factors, self.c * units
            pairs = [(scaled / units[column] / factors[row], entries.data), (b / factors, self.b), (c / units, self.c)]
        if not all(np.array_equal(back, given) for back, given in pairs):
            # a float over- or underflows
            return self, np.ones_like(units)
        A = sparse.csc_array(sparse.coo_array((scaled, entries.coords), shape=entries.shape))
        return replace(self, A=A, b=b, c=c), units

    def drop_idle(self, moves: sparse.csc_array | None = None) -> tuple[ConicForm, Indices]:
        """Return the same without cones that moves of no cost bring a point into, wherever it is, and the rows left.

        Moves are those of single variables that are not v, and given ones of x. The multipliers of such cones are 0,
        and with them in it no multipliers would be inside of the dual cone: bounds would not be strict.
        """
        free = np.delete(np.arange(len(self.c)), self.rows)
        units = sparse.eye_array(len(self.c), format="csc")[:, free]
        moves = units if moves is None else sparse.hstack([units, moves], format="csc")
        # what is rounding of a sum is 0
        room = len(self.rows) * EPSILON
        moves = moves[:, np.flatnonzero(np.abs(moves.T @ self.c) <= room * (abs(moves).T @ np.abs(self.c)))]
        ahead = sparse.csc_array(-self.A @ moves)
        ahead = sparse.csc_array(ahead.multiply(abs(ahead) > room * (abs(self.A) @ abs(moves)))).sign()
        rows, cones = self.cones.drop_idle(ahead, self.A, self.b)
        return replace(self, A=self.A[rows], b=self.b[rows], cones=cones), rows


@dataclass(frozen=True, eq=False)
class Stated:
    """A function as it was stated: its term, in a variable of cvxpy's, and the values that parameters of it had."""

    variable: cp.Variable
    term: Term
    parameters: tuple[tuple[cp.Parameter, Array], ...]
    values: dict[bytes, float] = field(default_factory=dict)  # some that were found, by the bytes of where

    @classmethod
    def of(cls, model: Callable[[cp.Variable], Term], shape: tuple[int, ...]) -> Stated:
        """State a function from a cvxpy variable to a `Term`, of a variable of some shape."""
        variable = cp.Variable(shape)
        term = model(variable)
        parts = (term.expression, *term.constraints)
        parameters = {one.id: (one, np.array(one.value)) for part in parts for one in part.parameters()}
        return cls(variable, term, tuple(parameters.values()))

    @cached_property
    def conic(self) -> ConicFunction:
        """The same in conic form; InvalidInput where there are variables of whole or boolean numbers."""
        # the term that is 0 keeps the variable where the expression does without some or all of it
        problem = cp.Problem(cp.Minimize(self.term.expression + 0 * cp.sum(self.variable)), list(self.term.constraints))
        if problem.is_mixed_integer():
            raise InvalidInput("loss", "found variables of whole or boolean numbers", "give continuous ones")
        # at a value cvxpy's canonical form of sums of the k largest of k has an error
        self.variable.value, value = None, self.variable.value
        form, data, *_ = canonicalise(problem)
        self.variable.value = value
        shape, first = self.variable.shape, data[cp.settings.PARAM_PROB].var_id_to_col[self.variable.id]
        rows = first + np.arange(prod(shape)).reshape(shape, order="F").ravel()
        return ConicFunction(shape, replace(form, rows=rows, stated=self).drop_idle()[0].balance()[0])

    def at(self, value: Array) -> Stated:
        """Return the same with its variable at a value."""
        self.variable.value = value
        return self


def canonicalise(problem: cp.Problem) -> tuple[ConicForm, Any, Any, Any]:
    """Return the conic form of a problem of cvxpy's, which names no rows, and cvxpy's data, chain and inverse."""
    data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": False})
    b, c = np.asarray(data["b"], dtype=float), np.asarray(data["c"], dtype=float)
    A, offset = sparse.csc_array(data["A"]), float(inverse[-1].inverse_data[cp.settings.OFFSET])
    return ConicForm(A, b, c, offset, Cones.from_dims(data["dims"]), np.empty(0, np.intp)), data, chain, inverse


def minimise(problem: cp.Problem, fixed: Sequence[cp.Variable] = (), room: float = 0.0) -> bool:
    """Give the variables of a problem of cvxpy's, but for fixed ones, their best values, whatever units they are in.

    False if none satisfy its constraints with so much room, relative to the sizes of rows at the best point without.

    Raises
    ------
    SolverFailed
        Neither this nor the chain of solvers that take the problem as it is came to an end.
    """
    form, data, chain, inverse = canonicalise(problem)
    first = data[cp.settings.PARAM_PROB].var_id_to_col
    # what the problem does without is not in it
    places = [(variable, first[variable.id] + np.arange(variable.size)) for variable in fixed if variable.id in first]
    form, units = replace(form, rows=np.concatenate([form.rows, *(rows for _, rows in places)])).balance()
    x, rest = np.zeros(len(form.c)), np.setdiff1d(np.arange(len(form.c)), form.rows)
    for variable, rows in places:
        x[rows] = np.ravel(variable.value, order="F")
    known = x.copy()
    for share in (0.0, room) if room else (0.0,):
        b = form.tighten(x, share).b - form.A @ known
        found = solve_cones(form.A[:, rest], b, form.c[rest], form.cones)
        x[rest] = found.x
        if not found.solved:
            break
    if found.solved:
        # as cvxpy takes it from Clarabel; multipliers are not asked for
        ending = {"status": "Solved", "obj_val": float(form.c @ x), "solve_time": 0.0, "iterations": 0}
        problem.unpack_results(SimpleNamespace(x=x * units, z=found.dual, **ending), chain, inverse)
    elif not room:
        held = [variable == variable.value for variable in fixed]
        stated = cp.Problem(problem.objective, [*problem.constraints, *held])
        try:
            solve_model(Model(stated, {}, {}), None, {})
        except SolverFailed as failure:
            if failure.attempts[0].status != "infeasible":
                raise
            return False
    for variable, rows in places:
        variable.value = known[rows].reshape(variable.shape, order="F")
    return found.solved or not room


class DualBound:
    """The dual of a conic form: from multipliers of its rows, whoever found them, to a bound that they prove.

    Of a form that names no rows u is empty, and the bound is one on the minimum of the whole problem.

    Parameters
    ----------
    form : ConicForm
    shape : tuple of int
        The shape of v, and of u.
    y : ndarray, optional
        Signs that u is balanced under: ``y'u = 0``, output by output, as a shift of v along them wants.

    Examples
    --------
    >>> x = cp.Variable(2)
    >>> form, *_ = canonicalise(cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [x >= 0, cp.sum(x) == 1]))
    >>> found = solve_cones(form.A, form.b, form.c, form.cones)
    >>> proof = DualBound(form, (0,)).prove(found.dual, found.x)
    >>> round(proof.bound, 6), proof.strict
    (1.0, True)
    """

    def __init__(self, form: ConicForm, shape: tuple[int, ...], y: Array | None = None) -> None:
        self.shape, self.y = shape, y
        n, k = len(form.c), prod(shape[1:])
        unit = sparse.eye_array(n, format="csc")
        self.rest = np.setdiff1d(np.arange(n), form.rows)
        """The x that are not v."""
        parts, self.n_shifts = [], 0
        if y is not None:
            # the columns by which x moves as an intercept does, one for each output
            places = np.arange(len(form.rows)).reshape(-1, k)
            signs = np.broadcast_to(y.reshape(-1, 1), places.shape)
            columns = np.broadcast_to(np.arange(k), places.shape)
            entries = (signs.ravel(), (form.rows[places.ravel()], columns.ravel()))
            parts, self.n_shifts = [sparse.coo_array(entries, shape=(n, k)).tocsc()], k
        self.form, self._kept = form.drop_idle(parts[0]) if parts else (form, np.arange(len(form.b)))
        self.mixed = sparse.hstack([unit, *parts], format="csc")
        """The map to x from what is minimised over: x itself, and with signs a shift of v along them, per output."""
        self.vanishing = sparse.hstack([unit[:, self.rest], *parts], format="csc")
        """The x along which multipliers satisfy the equality ``B'l + target = 0``: all but v, and shifts of v."""
        self.B, self.target = sparse.csc_array(self.form.A @ self.vanishing), self.vanishing.T @ form.c
        self._equations: Equations | None = None
        self._n_chosen = 0

    def prove(self, dual: Array, x: Array) -> ConicProof | None:
        """Move a solver's multipliers to where they prove a bound ``offset - b'l`` at some u; None if there is none."""
        return self._prove(dual[self._kept], x)

    def _prove(self, dual: Array, x: Array) -> ConicProof | None:
        """Prove by multipliers of the rows that are left where shifts of v along signs cost nothing."""
        form = self.form
        mended = mend(dual, self.B, self.target, form.cones.depths(dual))
        dual = form.cones.enter(mended)
        if not self._vanishes(dual):
            dual = self._mix_centre(mended)
        if not (np.isfinite(dual).all() and form.cones.depths(dual).min(initial=0.0) >= 0):
            return None
        v = x[form.rows].reshape(self.shape)
        if (exact := self._find_exact(dual, v)) is not None:
            return exact
        u, left, rounding = self._declare(dual)
        charge = _charge(np.abs(left) + rounding, x)
        return ConicProof(u, form.offset - dot(form.b, dual) - charge, v, charge, y=self.y)

    @cached_property
    def least(self) -> ConicProof:
        """A proof of multipliers that are 0 but for its slack: a bound of the least g."""
        form, none = self.form, np.zeros(self.shape)
        found = solve_cones(form.A @ self.mixed, form.b, self.mixed.T @ form.c, form.cones)
        proof = self._prove(found.dual, self.mixed @ found.x) if found.solved else None
        if proof is None:
            return ConicProof(none, -inf, none, inf)
        # its multipliers are 0 but for a solver's digits
        return replace(proof, u=none, slack=proof.slack + float(np.abs(proof.u).sum()))

    def _declare(self, dual: Array) -> tuple[Array, Array, Array]:
        """Return the u of multipliers, balanced under signs, and what is left of the equality, with its rounding."""
        form = self.form
        left = form.c + form.A.T @ dual
        u = -left[form.rows].reshape(self.shape)
        u = u if self.y is None else balance_exactly(u, self.y)
        left[form.rows] += u.ravel()
        # a sum of k products is off by at most k eps of their sizes
        counts = np.diff(form.A.indptr) + 2
        return u, left, counts * EPSILON * (np.abs(form.A).T @ np.abs(dual) + np.abs(form.c))

    def _find_exact(self, dual: Array, v: Array) -> ConicProof | None:
        """Make a proof of multipliers with exact ones so near that these are in the cone too, moved inwards if so."""
        # rows are given to equations once more where they fail; six times at most, as that costs more than it serves
        for renewed in (False, True):
            if self._n_chosen == 0 or (renewed and self._n_chosen < 6):
                self._equations = self._choose_equations(dual)
                self._n_chosen += 1
            elif renewed:
                break
            if self._equations is None:
                return None
            # shares of these that bring in all that is near others, where 0 is not enough: what a bound loses to
            # strictness
            for share in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
                mixed = dual
                if share > 0:
                    if self.centre is None:
                        break
                    mixed = (1 - share) * dual + share * self.centre
                if (exact := self._verify(mixed, v, self._equations)) is not None:
                    return exact
        return None

    def _choose_equations(self, dual: Array) -> Equations | None:
        """Choose the equations to verify, and rows for them; None where those that are left out do not follow."""
        form, B = self.form, self.B
        # entries of B along signs are sums, and exact where they have one term
        counts = np.diff(sparse.csr_array(form.A[:, form.rows]).indptr)
        inexact = sparse.diags_array(np.where(counts > 1, counts * EPSILON, 0.0))
        along_signs = sparse.diags_array((np.arange(B.shape[1]) >= len(self.rest)).astype(float))
        rounding = inexact @ (abs(form.A) @ abs(self.vanishing)) @ along_signs
        chosen = Equations.choose(B, rounding, form.cones.depths(dual))
        if chosen is None:
            return None
        # l misses an equation that is left out by no more than others if A x = 0 and c'x = 0 along its x, exactly
        whole = sparse.csc_array(sparse.vstack([form.A, form.c[np.newaxis]]))
        exact = all(is_null(whole, self.vanishing, factors) for factors in chosen.dependence)
        return chosen if exact else None

    def _verify(self, dual: Array, v: Array, equations: Equations) -> ConicProof | None:
        """Make a proof of how far exact multipliers are from these, if they are in the dual cone."""
        form, (u, *_) = self.form, self._declare(dual)
        of_u = np.zeros_like(form.c)
        of_u[form.rows] = u.ravel()
        missed = sum_columns(form.A, dual, np.stack([form.c, of_u]))
        of_v, of_shifts = missed[form.rows], np.zeros(0)
        if self.y is not None:
            # y'u = 0 exactly, so y'(c + A'l) on v is missed by no more than all of its entries together
            of_shifts = of_v.reshape(len(self.y), -1).sum(axis=0) * (1 + len(self.y) * EPSILON)
        shifts = equations.enclose(np.concatenate([missed[self.rest], of_shifts]))
        if shifts is None or not form.cones.surround(dual, shifts):
            return None
        slacks = (of_v + (np.abs(form.A).T @ shifts)[form.rows]) * (1 + sum_error(len(dual), 1.0))
        bound = form.offset - dot(form.b, dual)
        moved = float(np.abs(form.b) @ shifts) * (1 + sum_error(len(form.b), 1.0))
        return ConicProof(u, bound - moved, v, moved, float(slacks.sum()), True, self.y)

    def _mix_centre(self, dual: Array) -> Array:
        """Mix in as little of multipliers deep inside the dual cone as brings those of the equality into it."""
        # shares that are tried in turn: what a bound loses to it
        for share in 10.0 ** np.arange(-14, -4):
            mixed = dual if self.centre is None else (1 - share) * dual + share * self.centre
            if self.form.cones.depths(mixed).min(initial=0.0) >= 0:
                return mixed
        return self.form.cones.enter(dual)

    @cached_property
    def centre(self) -> Array | None:
        """Multipliers that satisfy the equality, inside of the dual cone by a share of their size; None if none do."""
        form, B = self.form, self.B
        inner = (float(np.abs(form.c).max(initial=0.0)) or 1.0) * form.cones.fill()
        # depths in their cones of such multipliers, relative to the cost, tried in turn
        for share in (0.1, 1e-2, 1e-3, 1e-4, 1e-5):
            # multipliers l of the cost target + share B'inner make l + share inner those of the target; the least ones,
            # as those of b may have no end
            found = solve_cones(B, form.cones.fill(1.0), self.target + share * (B.T @ inner), form.cones)
            if found.solved:
                inside = found.dual + share * inner
                centre = mend(inside, B, self.target, form.cones.depths(inside))
                if form.cones.depths(centre).min(initial=inf) > 0 and self._vanishes(centre):
                    return centre
        return None

    def _vanishes(self, dual: Array) -> bool:
        """Return True if ``B'l + target`` is rounding."""
        # multipliers that are 0 by an equation are rounding of others
        of_any = 1e-3 * float(np.abs(dual).max(initial=0.0))
        sizes = np.abs(self.B).T @ np.maximum(np.abs(dual), of_any) + np.abs(self.target)
        # what may be left of the equality, relative to its terms: some ten units in the last place, more of many terms
        allowed = 1e-14 + EPSILON * np.sqrt(np.diff(self.B.indptr))
        return bool((np.abs(self.B.T @ dual + self.target) <= allowed * sizes).all())


def mend(dual: Array, B: sparse.csc_array, target: Array, depths: Array) -> Array:
    """Move multipliers to ``B'l + target = 0`` by least squares, weighted by how deep in their cones rows are."""
    if not B.shape[1]:
        return dual
    largest = float(np.abs(dual).max(initial=0.0)) or 1.0
    weights = np.clip(depths / largest, BORDER, 1.0)
    check_time()
    system = _LeastSquares(sparse.csc_array(sparse.diags_array(weights) @ B))
    for _ in in_time(range(REFINEMENTS)):
        missed = B.T @ dual + target
        if not missed.any():
            break
        dual = dual + weights * system.solve(-missed)
    return dual


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
    >>> hinge = ConicFunction.from_term(lambda z: Term(cp.sum(cp.pos(1 - z))), (3,))
    >>> proof = hinge.prove(np.array([0.5, 0.25, 1.0]))
    >>> proof.u.round(6), round(proof.bound, 6)
    (array([0.5 , 0.25, 1.  ]), 1.75)
    >>> y = np.array([1.0, 1.0, -1.0])
    >>> proof = hinge.prove(np.array([2.0, 0.5, 0.5]), y)
    >>> float(y @ proof.u), bool(round(proof.bound - proof.u.sum(), 6) <= 0), bool((proof.u <= 1).all())
    (0.0, True, True)
    """

    near = 0.9
    """The share of multipliers that have a proof whose own one stands for that of 0 where they shrink by less."""

    def __init__(self, shape: tuple[int, ...], form: ConicForm) -> None:
        self.shape = shape
        self.form = form
        self._proofs: deque[ConicProof] = deque(maxlen=REMEMBERED)
        self._duals: dict[bytes, DualBound] = {}
        self._near: tuple[ConicProof, ConicProof] | None = None

    @classmethod
    def from_term(cls, model: Callable[[cp.Variable], Term], shape: tuple[int, ...]) -> ConicFunction:
        """Canonicalise a function from a cvxpy variable to a `Term`; errors are those of `Stated.conic`."""
        return Stated.of(model, shape).conic

    @cached_property
    def domain(self) -> ConicFunction:
        """The function that is 0 where this one is finite, for proofs that no point of some set is there."""
        return ConicFunction(self.shape, replace(self.form, c=np.zeros_like(self.form.c), offset=0.0))

    def dual(self, y: Array | None = None) -> DualBound:
        """Return the dual of the form, for multipliers that are balanced under signs."""
        key = b"" if y is None else y.tobytes()
        if key not in self._duals:
            self._duals[key] = DualBound(self.form, self.shape, y)
        return self._duals[key]

    def prove(self, u: Array, y: Array | None = None, near: Array | None = None) -> ConicProof:
        """Return the remembered proof of u, or one for the nearest u that has any.

        Its multipliers have ``y'u = 0`` to the last bit where signs y are given, and its bound is -inf where none was
        found. Where a v whose negative subgradient u is is near, u moves by no more than its own error.
        """
        if (known := self._recall(u, y)) is not None and np.isfinite(known.bound):
            return known
        is_balanced = y is None or not np.any((y * u).sum(axis=0))
        if is_balanced and (share := self._find_share(u)) is not None and np.isfinite(share.bound):
            return share
        at = np.zeros(self.shape) if near is None else near
        # the size of multipliers, relative to the cost, that is the least to be expected
        size = max(float(np.abs(u).max(initial=0.0)), 1e-3 * float(np.abs(self.form.c).max()))
        proof, is_near = self._approach(u, y, at, size)
        # scales of v that are tried in turn for a u that is far from any that has a bound
        for scale in (1e-3, 1e-6):
            if is_near:
                break
            first, _ = self._approach(u, y, at, size, scale)
            if first is not None:
                proof, is_near = self._approach(first.u, y, at, size)
        # curvatures that are tried in turn where the solver fails at all of these scales
        for proximity in (1e-4, 1e-2, 1.0):
            if is_near:
                break
            proof, is_near = self._approach(u, y, at, size, proximity=proximity)
        return ConicProof(u, -inf, at, inf) if proof is None else self._remember(proof)

    def _approach(
        self, u: Array, y: Array | None, at: Array, size: float, scale: float = 1.0, proximity: float = 1e-8
    ) -> tuple[ConicProof | None, bool]:
        """Minimise ``g(z + y b) + u'z + e/2 |z - at|^2``, whose multipliers are balanced and are ``u + e (z - at)``.

        The curvature e is the `proximity`, relative to the sizes of u and v: it is how far u moves. True beside the
        proof if the minimiser is not far away, which is the sign of a u that had to move far. With a scale t below 1,
        it is ``t g(z / t)`` in place of g, with e over t, and z is of the size of t: for t to 0 the multipliers go to
        the nearest that are feasible, and the bound, whose share is t, loses digits.
        """
        form, dual, extent = self.form, self.dual(y), max(1.0, float(np.abs(at).max(initial=0.0)))
        pull = proximity * size / (extent * scale)
        curvature, linear = np.zeros(dual.mixed.shape[1]), dual.mixed.T @ form.c
        curvature[form.rows] = pull

        def solve(centre: Array) -> ConicSolution:
            cost = linear.copy()
            cost[form.rows] += (u - pull * centre).ravel()
            return solve_cones(form.A @ dual.mixed, scale * form.b, cost, form.cones, curvature)

        found = solve(scale * at)
        if found.solved and not found.accurate:
            # from a pull to where it has come, which is next to nothing there, the solver reaches the digits asked for
            again = solve(found.x[form.rows].reshape(self.shape))
            found = again if again.accurate else found
        proof = dual.prove(found.dual, dual.mixed @ found.x / scale) if found.solved else None
        # the size of a minimiser, relative to that of the margins, from which on a stronger pull is tried
        return proof, proof is not None and float(np.abs(found.x[form.rows]).max(initial=0.0)) <= 1e4 * extent

    def adopt(self, dual: Array, x: Array, y: Array | None) -> ConicProof | None:
        """Make a proof of the multipliers and the point that a larger program has of this function; remember it."""
        proof = self.dual(y).prove(dual, x) if np.isfinite(dual).all() else None
        return None if proof is None else self._remember(proof)

    def dual_value(self, u: Array) -> float:
        """Bound ``g(v) + u'v`` from below over all v; -inf where no bound is found.

        It holds exactly at multipliers that are within `displacement` of u.
        """
        return self._prove_at_least(u).bound

    def displacement(self, u: Array) -> float:
        """Bound the sum of the differences of u and some multipliers that have ``dual_value(u)`` exactly."""
        return self._prove_at_least(u).slack

    def is_strict(self, u: Array) -> bool:
        """Return True if nothing in ``dual_value(u)`` rests on the sizes of the variables of the optimum."""
        return self._prove_at_least(u).strict

    def _prove_at_least(self, u: Array) -> ConicProof:
        """Return a proof for u itself: a remembered one, or one nearby, if it is near enough."""
        if (known := self._recall(u, None)) is not None:
            return known
        if (share := self._find_share(u)) is not None:
            return share
        proof = self.prove(u)
        moved = np.abs(proof.u - u)
        total = float(moved.sum())
        # the distance of a given u from the nearest one with a bound, relative, up to which it counts as the same
        if total > 1e-6 * float(np.abs(u).sum()):
            return self._remember(ConicProof(u, -inf, proof.v, inf))
        if proof.strict and total <= ROUNDED * float(np.abs(u).sum()):
            return self._remember(replace(proof, u=u, slack=proof.slack + total))
        # some that are further away may be all that have a bound, as where their sum is fixed: u cannot shrink there
        charge = _charge(moved.ravel(), proof.v.ravel())
        return self._remember(replace(proof, u=u, bound=proof.bound - charge, charge=charge, strict=False))

    def prove_at(self, v: Array) -> ConicProof:
        """Return a proof whose u is minus a subgradient at v: its bound is ``g(v) + u'v``."""
        for known in reversed(self._proofs):
            if np.array_equal(known.v, v):
                return known
        form, dual = self.form, self.dual()
        x, found = self._minimise_over_rest(v, dual)
        proof = dual.prove(found.dual, x) if found.solved else None
        if found.ending != "infeasible":
            proof = self._refine(proof, v, float(form.c @ x) + form.offset if found.solved else inf)
        if proof is None:
            # the negative gradient of the Moreau envelope min g(v') + k/2 |v' - v|^2
            size = float(np.abs(form.c).max()) / BORDER
            curvature, cost = np.zeros(len(form.c)), form.c.copy()
            curvature[form.rows] = size
            cost[form.rows] -= size * v.ravel()
            found = solve_cones(form.A, form.b, cost, form.cones, curvature)
            proof = dual.prove(found.dual, found.x)
        if proof is None:
            raise SolverFailed([found.attempt])
        return self._remember(replace(proof, v=v))

    def minimise_over_rest(self, v: Array) -> float:
        """Evaluate at v to a solver's digits."""
        x, found = self._minimise_over_rest(v, self.dual())
        return self.form.offset + float(self.form.c @ x) if found.solved else inf

    def _minimise_over_rest(self, v: Array, dual: DualBound) -> tuple[Array, ConicSolution]:
        """Minimise over all of x that is not v, and over shifts of v; returns that x, too."""
        form, x = self.form, np.zeros(len(self.form.c))
        x[form.rows] = v.ravel()
        found = solve_cones(form.A @ dual.vanishing, form.b - form.A @ x, dual.target, form.cones)
        return x + dual.vanishing @ found.x, found

    def _refine(self, proof: ConicProof | None, v: Array, value: float) -> ConicProof | None:
        """Bring a proof, if there is one, closer to the value at v, by multipliers u of ``v' == v``.

        The minimum of ``g(v') + u'v' + k/2 |v' - v|^2`` has the multipliers ``u + k (v' - v)`` (Hestenes 1969), whose
        bound falls short of the value at v by less each time.
        """

        def reach(proof: ConicProof | None) -> float:
            return -inf if proof is None else proof.bound - float((proof.u * v).sum())

        size = max(float(np.abs(self.form.c).max(initial=0.0)), TINY)
        # the curvature k by which a bound is brought closer, relative to the cost: a slope that changes by one of them
        # is met to a hundredth each time, and multipliers to as many of a solver's digits less
        strength = 100.0 * max(1.0, float(np.abs(v).max(initial=0.0)))
        for _ in range(2 * REFINEMENTS):
            # what a bound at v may fall short of the value there, relative, before it is brought closer
            if value < inf and value - reach(proof) <= 1e-10 * max(1.0, abs(value)):
                break
            u = np.zeros(self.shape) if proof is None else proof.u
            closer, _ = self._approach(u, None, v, size, proximity=strength)
            if closer is None or reach(closer) <= reach(proof):
                break
            proof = closer
        return proof

    def best_shift(self, v: Array, y: Array) -> Array:
        """Return the b, one for each output, that minimises ``g(v + y b)``."""
        check_time()
        dual = self.dual(y)
        x, found = self._minimise_over_rest(v, dual)
        if not found.solved:
            raise SolverFailed([found.attempt])
        b = found.x[len(dual.rest) :].reshape(self.shape[1:])
        # b is worth having without a proof
        with suppress(TimeUp):
            proof = dual.prove(found.dual, x)
            if proof is not None:
                self._remember(replace(proof, v=v + y * b))
        return b

    def carry(self, v: Array, near: Array) -> None:
        """Remember what was proven at v for a point nearby, too."""
        for known in reversed(self._proofs):
            if np.array_equal(known.v, v):
                self._remember(replace(known, v=near))
                return

    def _find_share(self, u: Array) -> ConicProof | None:
        """Prove ``u = t v`` for a remembered v by proofs of v and of 0: the best one, or None if u is no such.

        Where t is near 1 and little is known of 0, as of a function with no least value, ``near v`` stands for it.
        """
        if not u.any():
            least = self.dual().least
            # its multipliers are not quite 0, which at 0 itself no edge makes good
            return replace(least, bound=least.bound - _charge_slack(least), strict=False)
        found: list[ConicProof] = []
        for known in reversed(self._proofs):
            square = float(np.vdot(known.u, known.u))
            share = min(max(float(np.vdot(u, known.u)) / square, 0.0), 1.0) if square else 0.0
            off = u - share * known.u
            if np.abs(off).max(initial=0.0) > ROUNDED * float(np.abs(u).sum()) + TINY:
                continue
            found.append(_mix(u, known, share, self.dual(known.y).least))
            # what is lost may be that share of the bound, and a proof takes as long as a round
            lost = known.bound - found[-1].bound + _charge_slack(found[-1]) / FURTHER
            if share >= self.near and lost > max(2 * (1 - share), 1e-9) * abs(known.bound):
                found.append(_mix(u, known, (share - self.near) / (1 - self.near), self._find_near(known)))
        finite = [each for each in found if np.isfinite(each.bound)]
        return max(finite, key=lambda each: each.bound - _charge_slack(each) / FURTHER, default=None)

    def _find_near(self, known: ConicProof) -> ConicProof:
        """Return a proof of about `near` times the multipliers of another one; its bound is -inf if there is none."""
        if self._near is None or self._near[0] is not known:
            u, size = self.near * known.u, float(np.abs(known.u).max(initial=0.0))
            proof, _ = self._approach(u, known.y, known.v, size)
            is_near = proof is not None and np.abs(proof.u - u).sum() <= 1e-6 * np.abs(u).sum()
            self._near = known, proof if proof is not None and is_near else replace(known, bound=-inf)
        return self._near[1]

    def _recall(self, u: Array, y: Array | None) -> ConicProof | None:
        """Return what is remembered of u, balanced if signs are given."""
        if y is not None and np.any((y * u).sum(axis=0)):
            return None
        for known in reversed(self._proofs):
            if np.array_equal(known.u, u) and (y is None or known.y is not None):
                return known
        return None

    def _remember(self, proof: ConicProof) -> ConicProof:
        self._proofs.append(proof)
        return proof


def _charge(left: Array, x: Array) -> float:
    """Bound ``left'x`` at the optimum, whose entries are up to `FURTHER` times the size of those of the given point."""
    sizes = np.abs(x)
    return FURTHER * float(left @ sizes + left.sum() * sizes.mean())


def _charge_slack(*proofs: ConicProof) -> float:
    """Bound what the slack of the first proof is worth at margins of `FURTHER` times the sizes of those of all."""
    sizes = [float(np.abs(at.v).max(initial=0.0)) for at in proofs]
    return proofs[0].slack * FURTHER * max(1.0, *sizes)


def _mix(u: Array, known: ConicProof, share: float, other: ConicProof) -> ConicProof:
    """Return the proof of u that a share of one proof and the rest of another one are."""
    # t l + (1 - t) l' are multipliers of t v + (1 - t) v'
    pairs = (known.bound, other.bound), (known.slack, other.slack)
    bound, slack = (one if share == 1 else share * one + (1 - share) * two for one, two in pairs)
    slack += float(np.abs(u - share * known.u - (1 - share) * other.u).sum())
    mixed = ConicProof(u, bound, known.v, known.charge, slack, known.strict and other.strict, known.y)
    return mixed if mixed.strict else replace(mixed, bound=bound - _charge_slack(mixed, other))


class _LeastSquares:
    """The least change r of rows with ``B'r = right``, from a factor of the augmented system.

    Few columns that most rows are in, such as that of an intercept, would make the search for an order of elimination
    take far longer than all else; they are eliminated last, by their Schur complement.
    """

    def __init__(self, B: sparse.csc_array) -> None:
        n_rows, counts = B.shape[0], np.diff(B.indptr)
        # columns with more entries than ten times the root of their number count as dense, if there are few
        is_dense = counts > 10.0 * np.sqrt(sum(B.shape))
        self.dense = np.flatnonzero(is_dense) if is_dense.sum() <= 32 else np.empty(0, np.intp)
        self.thin = np.setdiff1d(np.arange(B.shape[1]), self.dense)
        thin = B[:, self.thin]
        # makes the equations solvable where columns depend on each other; refinement makes it good
        regularisation = 1e-13
        corner = sparse.diags_array(np.full(len(self.thin), -regularisation))
        system = sparse.block_array([[sparse.eye_array(n_rows), thin], [thin.T, corner]], format="csc")
        self.n_rows = n_rows
        self.factor = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        self.border = np.zeros((system.shape[0], len(self.dense)))
        self.border[:n_rows] = B[:, self.dense].toarray()
        self.response = self.factor.solve(self.border)
        self.complement = -regularisation * np.eye(len(self.dense)) - self.border.T @ self.response

    def solve(self, right: Array) -> Array:
        """Return r, shape (n_rows,)."""
        found = self.factor.solve(np.concatenate([np.zeros(self.n_rows), right[self.thin]]))
        if len(self.dense):
            missed = right[self.dense] - self.border.T @ found
            found = found - self.response @ np.linalg.lstsq(self.complement, missed)[0]
        return found[: self.n_rows]


def find_units(A: sparse.csc_array, b: Array, blocks: Indices, rows: Indices) -> tuple[Array, Array]:
    """Return factors of the rows and of the variables of ``b - A x``; those of the variables at `rows` are 1.

    They are powers of 2 that bring rows and variables in any units to sizes near 1: what is in small units would be
    left to a solver's digits, as ``1e-9 c'z <= 1e-10`` holds everywhere to within 1e-9. Rows of one cone share a
    factor, so that they stay in it.

    The logarithms of the entries, with these and b as they are, are made small in squares by turns. A row's entries at
    these variables count as one, their sum.

    Examples
    --------
    >>> A = sparse.csc_array(np.array([[2.0**-32, -1.0], [0.0, 1.0]]))
    >>> factors, units = find_units(A, np.array([0.0, 2.0**-33]), np.arange(2), np.array([0]))
    >>> np.log2(factors), np.log2(units)
    (array([32., 32.]), array([  0., -32.]))
    """

    def round_off(logarithms: Array) -> Array:
        # to multiples of 4, as what is near 1 stays as it is; of their digits so few that equal columns are equal
        return 4 * np.rint(np.round(logarithms / 4, 6))

    n_rows, n_columns = A.shape
    free = np.ones(n_columns, dtype=bool)
    free[rows] = False
    of_free = sparse.coo_array(A[:, np.flatnonzero(free)])
    given = np.concatenate([np.abs(A[:, rows]).sum(axis=1), np.abs(b)])
    at_given = np.concatenate([blocks, blocks])[given > 0]
    kept = of_free.data != 0
    place, column = blocks[of_free.coords[0][kept]], of_free.coords[1][kept]
    sizes, known = np.log2(np.abs(of_free.data[kept])), np.log2(given[given > 0])
    n_blocks = int(blocks.max(initial=-1)) + 1
    of_rows, of_columns = np.zeros(n_blocks), np.zeros(int(free.sum()))
    counts = np.bincount(place, minlength=n_blocks) + np.bincount(at_given, minlength=n_blocks)
    uses = np.bincount(column, minlength=len(of_columns))
    # sweeps over rows and columns, each of which halves what is missed or better
    for _ in range(40):
        total = np.bincount(place, sizes + of_columns[column], n_blocks) + np.bincount(at_given, known, n_blocks)
        of_rows = -total / np.maximum(counts, 1)
        of_columns = -np.bincount(column, sizes + of_rows[place], len(of_columns)) / np.maximum(uses, 1)
    units = np.zeros(n_columns)
    units[free] = round_off(of_columns)
    # the largest entry of each cone is about 1 then
    largest = np.full(n_blocks, -np.inf)
    np.maximum.at(largest, place, sizes + units[free][column])
    np.maximum.at(largest, at_given, known)
    factors = -round_off(np.where(np.isfinite(largest), largest, 0.0))
    return np.exp2(factors)[blocks] if n_rows else np.zeros(0), np.exp2(units)
