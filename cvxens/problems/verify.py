"""Certificates of convex problems in general: how far a point of any problem of cvxpy's is from the optimum, proven.

cvxpy brings a problem to ``min {c'x + d : b - A x in K}``, K a product of cones. Two points prove what its optimum is:

- multipliers l in the dual cone with ``A'l + c = 0`` bound it from below by ``d - b'l``, whoever found l. They are
  those of a solver, moved to where both hold exactly (`cvxens.problems.conic`).
- an x whose ``s = b - A x`` is in K bounds it from above by ``c'x + d``. Solvers leave x outside by their tolerance. It
  is replaced by the nearest point inside of all cones but the zero cone, by a share of the sizes of their rows. The
  equations ``A_0 x = b_0`` of that are missed by rounding, so an exact solution is verified to be within some e of the
  floats (`cvxens.problems.verified`), and ``b - A x`` to be in its cones for all that is so near.

Where no point satisfies the constraints, multipliers of the least t with ``b - A x + t e in K``, e inside K, prove it
by the same means: they are a Farkas ray. Where the optimum is unbounded, a d with ``-A d in K`` and ``c'd < 0`` does,
beside a point that is inside.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
from scipy import sparse

from cvxens import certificates, validation
from cvxens.certificates import Certifiable, Certificate
from cvxens.errors import InvalidInput
from cvxens.problems.conic import ConicForm, ConicProof, DualBound, canonicalise, mend, solve_cones
from cvxens.problems.modelling import cp
from cvxens.problems.verified import Equations, is_null, sum_columns
from cvxens.rounding import EPSILON, TINY, dot, sum_error
from cvxens.types import Array, Data, Given, Indices


class _Inside(NamedTuple):
    """A point of a conic form that is proven to be within a distance of an exact one."""

    x: Array
    value: float  # what c'x + offset is not above at the exact point


def certify(
    problem: Certifiable | cp.Problem, values: Mapping[cp.Variable, Data] | None = None, /, **arrays: Given
) -> Certificate:
    """Say how far a point is from the optimum of a problem: one of ours, or any convex one of cvxpy's.

    Parameters
    ----------
    problem : one of the classes of cvxens.problems, or cvxpy.Problem
        The one is certified by `cvxens.certificates.certify`, the other by `certify_problem`.
    values : mapping of cvxpy.Variable to array-like, optional
        The point of a `cvxpy.Problem`; by default the values that its variables have.
    **arrays : array-like
        The point of one of ours, any of its arrays by name: `w`, `b`, `u`, ...

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import cvxpy as cp
    >>> from cvxens.problems import SVMPrimal
    >>> X, y, w = np.array([[2.0], [-2.0]]), np.array([1.0, -1.0]), cp.Variable(1)
    >>> stated = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(cp.pos(1 - cp.multiply(y, X @ w)))))
    >>> certify(SVMPrimal(X, y, C=1.0), w=[0.5], b=0.0).holds(1e-6), certify(stated, {w: [0.5]}).holds(1e-6)
    (True, True)
    """
    if isinstance(problem, Certifiable):
        if values is not None:
            raise InvalidInput("values", "found them for a problem of arrays", "give these by name, such as w=...")
        return certificates.certify(problem, **arrays)
    if not isinstance(problem, cp.Problem):
        remedy = "give a problem of cvxens.problems or a cvxpy.Problem; models have certify, or certify_model"
        raise InvalidInput("problem", f"found {type(problem).__name__}", remedy)
    if arrays:
        raise InvalidInput("arrays", f"found {', '.join(arrays)}", "give a mapping from the variables of cvxpy's")
    return certify_problem(problem, values)


def certify_problem(problem: cp.Problem, values: Mapping[cp.Variable, Data] | None = None) -> Certificate:
    """Say how far the point of a convex problem of cvxpy's is from its optimum, whoever solved it.

    Both sides are proven: the primal value is that of a feasible point next to the given one, the dual value that of
    multipliers which satisfy their conditions exactly; nothing that a solver says about itself is believed.

    Parameters
    ----------
    problem : cvxpy.Problem
        Convex by DCP, of continuous variables, with values of all parameters.
    values : mapping of cvxpy.Variable to array-like, optional
        The point; by default the values that the variables have.

    Returns
    -------
    Certificate
        `residuals` has what each constraint is violated by, in its own unit, by its name or its number among the
        problem's constraints; with the multipliers that the constraints have, complementary slackness too. `repair` has
        how far each variable was moved. Of a problem without a feasible point both values are inf (-inf for a maximum),
        of an unbounded one -inf (inf), `proven` where that is.

    Raises
    ------
    InvalidInput
        The problem is not convex by DCP, has variables that are not real, or a variable or parameter has no value.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2)
    >>> problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) <= 1, x >= 0])
    >>> certificate = certify_problem(problem, {x: [0.5, 0.5]})
    >>> round(certificate.primal, 6), round(certificate.dual, 6), certificate.proven, certificate.holds(1e-6)
    (0.5, 0.5, True, True)
    >>> certificate = certify_problem(problem, {x: [1.0, 0.0]})
    >>> round(certificate.gap, 6), certificate.holds(1e-6)
    (0.5, False)
    """
    _check(problem)
    given = _read_values(problem, values)
    stated, data, chain, inverse = canonicalise(problem)
    form, units = stated.balance()
    places = _find_places(given, data[cp.settings.PARAM_PROB].var_id_to_col, chain, inverse)
    rows = np.concatenate([np.empty(0, np.intp), *places.values()])
    at = np.concatenate([np.zeros(0), *(_lower(v, given[v]) for v in places)]) / units[rows]
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    with _at(problem, given), np.errstate(all="ignore"):
        own = sign * float(problem.objective.value) if given else -inf
    inside, proof = _find_inside(form, rows, at, own), DualBound(form.drop_idle()[0], (0,)).least
    if not form.c.any():  # multipliers of 0 bound a constant
        proof = replace(proof, bound=form.offset, strict=True)
    # multipliers that are not exact say something beyond a solver's digits
    if inside is None and (violation := _bound_violation(form)).bound > (0.0 if violation.strict else 1e-7):
        return _without_optimum(sign * inf, violation.strict, "no point satisfies the constraints")
    if inside is not None and not np.isfinite(proof.bound) and _find_descent(form):
        return _without_optimum(-sign * inf, True, "the objective has no bound")
    if not given and problem.variables():
        remedy = "solve the problem first, or give values of all its variables"
        raise InvalidInput("values", f"found none of {problem.variables()[0].name()}", remedy)
    violated, condition = _measure(problem, given), ""
    if inside is None:
        x = _complete(form, rows, at)
        # no feasible point is below the bound, so none is promised there
        inside = _Inside(x, max(dot(form.c, x) + form.offset, proof.bound))
        missed = f"{_miss(form, x).max(initial=0.0):.0e} of their sizes"
        condition = f"only where constraints may be missed by {missed}: no point was proven to be inside of all"
    primal, x = inside.value, inside.x * units
    moved = {v.name(): float(np.abs(x[k] - _lower(v, given[v])).max(initial=0.0)) for v, k in places.items()}
    if np.isfinite(proof.bound) and not proof.strict:
        condition = condition or "only for variables up to ten times the size of what was found"
    return Certificate.between(
        sign * primal,
        sign * proof.bound,
        maximise=sign < 0,
        residuals=violated,
        repair=moved,
        rounding=2 * EPSILON * (abs(primal) + abs(proof.bound)),
        condition=condition,
        note="" if np.isfinite(proof.bound) else "no multipliers were found that bound the optimum",
    )


def _check(problem: cp.Problem) -> None:
    """Refuse what has no convex conic form."""
    if not isinstance(problem, cp.Problem):
        raise InvalidInput("problem", f"found {type(problem).__name__}", "give a cvxpy.Problem")
    for v in problem.variables():
        if v.attributes["integer"] or v.attributes["boolean"] or not v.is_real():
            found = f"found a variable of whole numbers, or complex ones: {v.name()}"
            raise InvalidInput("problem", found, "give its relaxation, with real ones: its bound is one of both")
    if not problem.is_dcp():
        kind = "by DGP or DQCP only" if problem.is_dgp() or problem.is_dqcp() else "by no rule of cvxpy's"
        raise InvalidInput("problem", f"found one that is convex {kind}", "state it by the rules of DCP")
    unset = [p.name() for p in problem.parameters() if p.value is None]
    if unset:
        raise InvalidInput("problem", f"found parameters without a value: {', '.join(unset)}", "set them")


def _read_values(problem: cp.Problem, values: Mapping[cp.Variable, Data] | None) -> dict[cp.Variable, Array]:
    """Return the array of every variable; nothing where a solver has left none."""
    arrays = {}
    for v in problem.variables():
        value = v.value if values is None else values.get(v)
        if value is None and values is None:
            return {}
        if value is None:
            raise InvalidInput("values", f"found none of {v.name()}", "give values of all variables of the problem")
        dense = sparse.csr_array(value).todense() if sparse.issparse(value) else value
        array = validation.finite_array(v.name(), dense)
        if array.size != v.size:
            raise InvalidInput(v.name(), f"found shape {array.shape}", f"give an array of shape {v.shape}")
        arrays[v] = array.reshape(v.shape)
    return arrays


def _find_places(
    given: Mapping[cp.Variable, Array],
    first: Mapping[int, int],
    chain: cp.reductions.Chain,
    inverse: cp.reductions.InverseData,
) -> dict[cp.Variable, Indices]:
    """Return where the entries of each variable are in the canonical form, which has those that are symmetric once."""
    known = {v: v.id for v in given}
    for reduction, kept in zip(chain.reductions, inverse, strict=True):
        # variables of a sign or a shape are replaced by free ones, which it keeps by the numbers of those
        if isinstance(reduction, cp.reductions.cvx_attr2constr.CvxAttr2Constr) and kept:
            known = {v: kept[0][v.id].id if v.id in kept[0] else v.id for v in given}
    return {v: first[k] + np.arange(_lower(v, given[v]).size) for v, k in known.items() if k in first}


def _lower(variable: cp.Variable, value: Array) -> Array:
    """Return the entries of a variable's value that its canonical form has, in their order there."""
    lowered = cp.reductions.cvx_attr2constr.lower_value(variable, value)
    return np.ravel(np.asarray(lowered, dtype=float), order="F")


@contextmanager
def _at(problem: cp.Problem, given: Mapping[cp.Variable, Array]) -> Iterator[None]:
    """Context in which the variables of a problem have given values."""
    before = {v: v.value for v in problem.variables()}
    try:
        for v, value in given.items():
            v.save_value(value)
        yield
    finally:
        for v, value in before.items():
            v.save_value(value)


def _measure(problem: cp.Problem, given: Mapping[cp.Variable, Array]) -> dict[str, float]:
    """Measure by what each constraint is violated, in its unit, and the products of slacks and multipliers."""
    residuals: dict[str, float] = {}
    with _at(problem, given):
        for k, constraint in enumerate(problem.constraints):
            name = constraint.label or f"constraint {k}"
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    residuals[name] = float(np.max(constraint.violation(), initial=0.0))
            except cp.SolverError:
                # the distance from an exponential or power cone is a program of its own
                residuals[name] = inf
            dual = constraint.dual_value
            if isinstance(constraint, cp.constraints.Inequality) and dual is not None:
                # lambda >= 0 and lambda (lhs - rhs) = 0
                residuals[f"{name}: sign of its multiplier"] = float(np.max(-np.asarray(dual), initial=0.0))
                products = np.abs(np.asarray(dual) * np.asarray(constraint.expr.value))
                residuals[f"{name}: complementary slackness"] = float(products.max(initial=0.0))
    return residuals


def _bound_violation(form: ConicForm) -> ConicProof:
    """Bound from below how far the borders of cones have to be moved for a point to be inside: ``b - A x + t e in K``.

    An equation is two inequalities for this. Multipliers of a bound above 0 prove that no point is in the cones.
    """
    n, A, b = form.cones.zero, sparse.csr_array(form.A), form.b
    # t >= -1 is a row more, so that there is a least t
    cones = replace(form.cones, zero=0, nonnegative=2 * n + 1 + form.cones.nonnegative)
    rows = sparse.vstack([A[:n], -A[:n], sparse.csr_array((1, A.shape[1])), A[n:]])
    moved = sparse.csc_array(sparse.hstack([rows, -cones.fill(1.0)[:, np.newaxis]]))
    cost = np.append(np.zeros(A.shape[1]), 1.0)
    relaxed = ConicForm(moved, np.concatenate([b[:n], -b[:n], [1.0], b[n:]]), cost, 0.0, cones, np.empty(0, np.intp))
    return DualBound(relaxed.drop_idle()[0], (0,)).least


def _find_descent(form: ConicForm) -> bool:
    """Return True if there is a direction d with ``c'd = -1`` and ``-A d in K``, proven."""
    A = sparse.csc_array(sparse.vstack([form.c[np.newaxis], form.A]))
    b, cones = np.append(-1.0, np.zeros(len(form.b))), replace(form.cones, zero=form.cones.zero + 1)
    directions = ConicForm(A, b, np.zeros_like(form.c), 0.0, cones, np.empty(0, np.intp))
    return _find_inside(directions, directions.rows, np.zeros(0)) is not None


def _find_inside(form: ConicForm, rows: Indices, at: Array, own: float = -inf) -> _Inside | None:
    """Find a proven point of a form whose given entries are as near as can be to what is wanted; None if there is none.

    The wanted entries are completed to a point that is next to inside, and mixed with as little as serves of one that
    is deep inside. Inequalities that no point satisfies with room become equations, which what satisfies them may be.
    """
    given = _complete(form, rows, at)
    if (inside := _mix_inside(form, rows, given, own)) is not None or (tied := _tie(form, given)) is None:
        return inside
    return _mix_inside(tied, rows, given, own)


def _tie(form: ConicForm, at: Array) -> ConicForm | None:
    """Return the same with the inequalities as equations that are tight wherever they hold; None if there are none."""
    found = solve_cones(form.A, form.b, np.zeros_like(form.c), form.cones)
    first, last = form.cones.zero, form.cones.zero + form.cones.nonnegative
    # the solver's point has room in all others
    sizes = np.abs(form.b) + np.abs(form.A) @ np.maximum(np.abs(at), np.abs(found.x))
    tight = form.b - form.A @ found.x <= 1e-6 * sizes
    tight[:first], tight[last:] = True, False
    if not (found.solved and tight[first:last].any()):
        return None
    order, n_tight = np.argsort(~tight, kind="stable"), int(tight.sum())
    cones = replace(form.cones, zero=n_tight, nonnegative=last - n_tight)
    return replace(form, A=sparse.csc_array(sparse.csr_array(form.A)[order]), b=form.b[order], cones=cones)


def _mix_inside(form: ConicForm, rows: Indices, given: Array, own: float) -> _Inside | None:
    """Mix a point, or the nearest one inside, with as little as serves of one that is deep inside.

    Its value is none below the point's own: what pulls the nearest to be better does not count.
    """
    if (inside := _verify_inside(form, given)) is not None:
        return inside
    # shares of the sizes of rows by which the deep point is inside, tried in turn
    sizes = np.abs(given) + (float(np.abs(given).mean()) or 1.0)  # entries at 0 have borders there, too
    starts = [x for x in (given, _pull(form, rows, given)) if x is not None]
    for depth in (1e-2, 1e-4, 1e-6):
        deep = _pull(form.tighten(sizes, depth), rows, given)
        if deep is not None and _verify_inside(form, deep) is not None:
            shares = 10.0 ** np.arange(-14, 0.5, 0.5)
            mixed = ((_verify_inside(form, x + share * (deep - x)) for share in shares) for x in starts)
            first = [inside for some in mixed if (inside := next(filter(None, some), None)) is not None]
            if first:
                best = min(first, key=lambda inside: inside.value)
                return best._replace(value=max(best.value, own) if isfinite(own) else best.value)
    return None


def _pull(form: ConicForm, rows: Indices, to: Array) -> Array | None:
    """Minimise ``c'x + k/2 |x_rows - to_rows|^2`` over the cones; None where no solver's point is there."""
    curvature, cost = np.zeros(len(form.c)), form.c.copy()
    # the cost moves entries by a thousandth of their size
    pull = 1e3 * (float(np.abs(form.c).max(initial=0.0)) or 1.0) / max(1.0, float(np.abs(to[rows]).max(initial=0.0)))
    curvature[rows] = pull
    cost[rows] -= pull * to[rows]
    found = solve_cones(form.A, form.b, cost, form.cones, curvature)
    return found.x if found.solved else None


def _complete(form: ConicForm, rows: Indices, at: Array) -> Array:
    """Return a point with the given entries whose others are the best ones, or the nearest where there is none."""
    x, rest = np.zeros_like(form.c), np.setdiff1d(np.arange(len(form.c)), rows)
    x[rows] = at
    A, done = form.A[:, rest], not len(rest)
    # what is said of given entries alone is not for the others to satisfy
    theirs = np.diff(sparse.csr_array(A).indptr) > 0
    theirs[form.cones.zero + form.cones.nonnegative :] = True
    # what solvers leave of constraints, relative: where entries miss them by more, the nearest that do not are taken
    near = 1e-7
    for share in () if done else (0.0, near):
        left = np.where(theirs, form.tighten(x, -share).b - form.A[:, rows] @ at, form.cones.fill(1.0))
        found = solve_cones(A, left, form.c[rest], form.cones)
        if done := found.solved:
            x[rest] = found.x
            break
    near_enough = done and (_miss(form, x) <= 2 * near).all()
    return x if near_enough or (nearest := _pull(form, rows, x)) is None else nearest


def _miss(form: ConicForm, x: Array) -> Array:
    """Return how far rows are outside of their cones, relative to their sizes."""
    n_equations, cones, missed = form.cones.zero, replace(form.cones, zero=0), form.b - form.A @ x
    sizes = abs(form.A) @ np.abs(x) + np.abs(form.b) + (float(np.abs(x).mean()) if x.any() else 1.0)
    s, none = missed[n_equations:], np.zeros(len(missed) - n_equations)
    outside = np.concatenate([np.abs(missed[:n_equations]), -cones.depths(cones.map_to_dual(s, none)[0])])
    return np.asarray(np.maximum(outside, 0.0) / sizes)


def _verify_inside(form: ConicForm, x: Array) -> _Inside | None:
    """Verify that an exact point of a form is so near to x that all that is as near is in the cones."""
    n_equations = form.cones.zero
    E, b = sparse.csc_array(sparse.csr_array(form.A)[:n_equations].T), form.b[:n_equations]
    cones, inequalities = replace(form.cones, zero=0), sparse.csr_array(form.A)[n_equations:]

    def evaluate(x: Array) -> tuple[Array, Array]:
        """Return ``s = b - A x`` and its rounding: a sum of k products is off by at most k eps of their sizes."""
        sizes = abs(inequalities) @ np.abs(x) + np.abs(form.b[n_equations:])
        counts = np.diff(inequalities.indptr) + 2
        return form.b[n_equations:] - inequalities @ x, counts * EPSILON * sizes

    s, rounding = evaluate(x)
    e = np.zeros_like(x)
    if n_equations:
        # how far entries of x may move before a row of s leaves its cone
        depths = np.maximum(cones.depths(cones.map_to_dual(s, rounding)[0]), 0.0)
        entries, room = sparse.coo_array(inequalities), np.full(len(x), inf)
        row, column = entries.coords
        np.minimum.at(room, column, depths[row] / np.maximum(np.abs(entries.data), TINY))
        x = mend(x, E, -b, room)
        s, rounding = evaluate(x)
        # an equation that depends on others is satisfied with them if its right-hand side depends on theirs likewise
        whole, unit = sparse.csc_array(sparse.vstack([E, b[np.newaxis]])), sparse.eye_array(n_equations, format="csc")
        equations = Equations.choose(E, 0.0 * E, room)
        if equations is None or not all(is_null(whole, unit, factors) for factors in equations.dependence):
            return None
        found = equations.enclose(sum_columns(E, x, -b[np.newaxis]))
        if found is None:
            return None
        e = found
    moved = (abs(inequalities) @ e) * (1 + sum_error(len(x), 1.0)) + rounding
    if not cones.surround(*cones.map_to_dual(s, moved)):
        return None
    value = dot(form.c, x) + form.offset
    raised = float(np.abs(form.c) @ e) * (1 + sum_error(len(x), 1.0)) + 2 * EPSILON * (abs(value) + abs(form.offset))
    return _Inside(x, value + raised)


def _without_optimum(value: float, proven: bool, note: str) -> Certificate:
    """Certify that there is no feasible point, or no bound on the objective."""
    gap, condition = (0.0, "") if proven else (inf, "only for variables up to ten times the size of what was found")
    return Certificate(value, value, gap, gap, {}, {}, proven, note, condition=condition)
