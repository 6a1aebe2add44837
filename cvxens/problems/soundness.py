"""A formulation of one's own put to the test: that its parts are what a proof takes them for.

A certificate is as good as the conjugates it is made of. Those of a user's own loss or penalty are checked here against
what they are by definition, at random points and by a solver:

- weak duality, ``dual_value(u) <= loss(z) + u'z`` and ``edges'w <= penalty(w) + conjugate(edges)``, at any z, u, w and
  edges; a violation would be a bound above the optimum;
- Fenchel's equality: the minimum of ``loss(z) + u'z`` over z, by the model, is `dual_value(u)`, and likewise of the
  penalty; less would be a bound that never meets the optimum, and a model of something else;
- convexity, and that repaired multipliers are in the conjugate's domain and balanced;
- that a penalty does not depend on the order of the weights, on their signs where they are free, or on further weights
  that are 0, which the rule for outside hypotheses takes for granted.

It is a spot check: what it finds is wrong, what it does not find may be wrong too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.problems.expressions import ExpressionLoss
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Loss
from cvxens.problems.maps import ColumnMap, DenseColumns
from cvxens.problems.modelling import Model, Term, cp, solve_model
from cvxens.problems.penalties import Penalty, check_symmetry
from cvxens.types import Array

ROUNDED = 1e-9
"""A violation up to this, relative to the sizes of what is compared, may be rounding."""

SOLVED = 1e-5
"""A difference up to this, relative likewise, may be a solver's."""

SCALES = (0.1, 1.0, 10.0)
"""Sizes of random margins and weights; a margin of 1 is where many losses have a kink."""

FEW = 6
"""Samples, where the loss fits any number of them, and weights."""

QUICK = 4
"""Points in a run of column generation, of which one is held against a solver: some 50 milliseconds."""

MANY = 200
"""Margins up to which a solver is asked."""

LENGTHS = tuple(float(length) for length in np.sort(np.append(np.geomspace(1e-3, 1e3, 25), 1.0)))
"""Steps along a line."""

DUAL_VALUE = "the dual value is the minimum of value(z) + u'z over all z; correct `dual_value` or `value`"

CONJUGATE = "the conjugate is the maximum of edges'w - value(w) over all w; correct `conjugate`, `shrink` or `value`"

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Checked:
    """What was checked of a formulation.

    Parameters
    ----------
    violations : mapping of str to float
        The largest relative violation of every claim; what may be rounding or a solver's digits, or the check would
        have been refused.
    n_points : int
        Random points of each claim.
    """

    violations: Mapping[str, float]
    n_points: int

    def __str__(self) -> str:
        width = max(map(len, self.violations)) + 2
        rows = [f"{claim:<{width}}{violation:.3g}" for claim, violation in self.violations.items()]
        return "\n".join([*rows, f"at {self.n_points} random points each"])


def check_formulation(
    formulation: Formulation,
    y: Any = None,
    *,
    n_samples: int | None = None,
    n_points: int = 20,
    random_state: validation.RandomState = 0,
) -> Checked:
    """Check a formulation's own loss and penalty against what proofs take them for, at random points.

    Runs of column generation do so with a few points wherever a class is not from this library.

    Parameters
    ----------
    formulation : Formulation
        With a loss or a penalty of your own; those of the library pass, and expressions, which claim nothing.
    y : array-like of shape (n_samples,), optional
        Labels -1 and +1; by default alternating ones, and none where the loss is on scores.
    n_samples : int, optional
        The number of samples; by default that of the targets or prices which the loss holds, or 6.
    n_points : int
        Random points for every claim; a tenth of them, at least one, are held against a solver, which takes some
        milliseconds each.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    Checked
        The largest violation of every claim, all of them within rounding or a solver's digits.

    Raises
    ------
    InvalidInput
        A claim is violated: the error names the part, what was found, and at which point.

    Examples
    --------
    A logistic loss with the dual value of another price:

    >>> from cvxens.problems import Formulation
    >>> from cvxens.problems.losses import Logistic
    >>> from cvxens.problems.penalties import L1
    >>> class Careless(Logistic):
    ...     def dual_value(self, u):
    ...         return 1.1 * super().dual_value(u)
    >>> check_formulation(Formulation(Careless(C=1.0), L1()))
    Traceback (most recent call last):
    cvxens.errors.InvalidInput: loss: found Careless with dual_value(u) = 3.72122 at u = [0.3976 0.1125 0.344  0.1606 \
0.4129 0.2843], where value(z) + u'z = 3.38294 at z = [0.4216 2.0521 0.6469 1.6529 0.36   0.9234]; the dual value is \
the minimum of value(z) + u'z over all z; correct `dual_value` or `value`
    """
    validation.instance("formulation", formulation, Formulation)
    validation.whole("n_points", n_points)
    loss, penalty = formulation.terms
    if loss.batch_shape:
        n_samples = loss.batch_shape[0]
    elif n_samples is None:
        n_samples = FEW if y is None else validation.count_rows(y)
    if y is None and not formulation.on_scores:
        y = np.where(np.arange(n_samples) % 2, -1.0, 1.0)
    signs, random = formulation.signs(y, n_samples), validation.generator(random_state)
    outputs = () if formulation.outputs is None else (formulation.outputs,)
    of_loss = _Claims("loss", type(loss).__name__)
    of_penalty = _Claims("penalty", type(penalty).__name__)
    check_symmetry(penalty, formulation.outputs, formulation.nonnegative)
    for number in range(n_points):
        scale, solved = SCALES[number % len(SCALES)], number % 10 == 0
        # an expression claims nothing: rules of cvxpy's say that it is convex, and proofs are of the model itself
        if getattr(loss, "has_conjugate", True) and not isinstance(loss, ExpressionLoss):
            z = scale * random.normal(size=(2, n_samples, *outputs))
            share = random.uniform(0.2, 0.9, size=z.shape[1:])
            _check_loss(of_loss, loss, z, share, signs if formulation.intercept else None, solved)
        w, edges = scale * random.normal(size=(2, FEW, *outputs))
        w = penalty.repair(np.abs(w) if formulation.nonnegative else w)
        if getattr(penalty, "has_conjugate", True):
            slope = abs(penalty.value(w)) / float(np.abs(w).sum())
            _check_penalty(of_penalty, penalty, w, edges * (slope or 1.0), formulation.nonnegative, solved)
    return Checked({**of_loss.violations, **of_penalty.violations}, n_points)


class _Claims:
    """Holds what is found of a part against what proofs take it for; keeps the largest violations."""

    def __init__(self, part: str, name: str) -> None:
        self.part, self.name = part, name
        self.violations: dict[str, float] = {}

    def hold(self, claim: str, excess: float, size: float, found: str, remedy: str, allowed: float = ROUNDED) -> None:
        """Raise if there is an excess of more than what is allowed, relative to the size of what was compared."""
        # what is no number, or infinite, is no rounding
        violation = max(excess, 0.0) / max(size, TINY) if np.isfinite(excess) else np.inf
        if violation > allowed:
            raise InvalidInput(self.part, f"found {self.name} {found}", remedy)
        claim = f"{self.part}: {claim}"
        self.violations[claim] = max(self.violations.get(claim, 0.0), violation)


def _show(values: Array) -> str:
    return np.array2string(np.ravel(values), precision=4, threshold=8, max_line_width=10_000)


def _check_loss(claims: _Claims, loss: Loss, z: Array, share: Array, y: Array | None, solved: bool) -> None:
    """Check a loss at two margins, and at a share of its multipliers at the first."""
    ends = (loss.value(z[0]) + loss.value(z[1])) / 2
    if np.isfinite(ends):
        middle = loss.value((z[0] + z[1]) / 2)
        found = f"that is not convex between {_show(z[0])} and {_show(z[1])}"
        claims.hold("convexity", middle - ends, abs(middle) + abs(ends), found, "give a convex one")
    u = loss.repair(share * loss.multipliers(z[0]), y)
    dual, off = loss.dual_value(u), loss.dual_violation(u)
    claims.hold(
        "repair",
        off if np.isfinite(dual) else np.inf,
        max(1.0, float(np.abs(u).sum())),
        f"with dual_violation(u) = {off:.3g} and dual_value(u) = {dual:.6g} at the repaired u = {_show(u)}",
        "let `repair` return multipliers at which `dual_value` is finite and `dual_violation` is 0",
    )
    if y is not None:
        missed, size = float(np.abs((y * u).sum(axis=0)).max()), float(np.abs(u).sum())
        found = f"whose repair(u, y) leaves y'u = {missed:.3g} at u = {_show(u)}"
        remedy = "let `repair` return multipliers with y'u = 0 where it is given labels, as `balance_classes` does"
        claims.hold("balance", missed, size, found, remedy)
    unit = abs(loss.value(z[0])) + float(np.abs(u * z[0]).sum())
    unit = abs(dual) + (unit if np.isfinite(unit) else 0.0)
    found = f"with dual_value(u) = {dual:.6g} at u = {_show(u)}"
    v, least = _descend(lambda v: loss.value(v) + float((u * v).sum()), lambda v: loss.multipliers(v) - u, z[0])
    size = unit + abs(loss.value(v)) + float(np.abs(u * v).sum())
    beyond = f"{found}, where value(z) + u'z = {least:.6g} at z = {_show(v)}"
    claims.hold("weak duality", dual - least, size, beyond, DUAL_VALUE)
    if not (solved and u.size <= MANY):
        return
    variable = cp.Variable(u.shape)
    term = loss.term(variable)
    if (solution := _solve(term, cp.sum(cp.multiply(u, variable)), variable)) is not None:
        v, least = solution
        at_v, linear = loss.value(v), float((u * v).sum())
        size = unit + abs(least - linear) + float(np.abs(u * v).sum())
        if np.isfinite(at_v):
            # else a solver's digits have left the domain
            differs = f"whose `term` is {least - linear:.6g} and whose `value` is {at_v:.6g} at z = {_show(v)}"
            claims.hold("model", abs(least - linear - at_v), size, differs, "let both be the same function", SOLVED)
        differs = f"{found}, where the least value(z) + u'z is {least:.6g}"
        claims.hold("Fenchel's equality", abs(dual - least), size, differs, DUAL_VALUE, SOLVED)


def _check_penalty(claims: _Claims, penalty: Penalty, w: Array, edges: Array, nonnegative: bool, solved: bool) -> None:
    """Check a penalty at weights and at edges, shrunk to where a dual bound takes them."""
    known = ColumnMap(DenseColumns(np.eye(len(edges)))).summarise(edges, edges, nonnegative)
    unit = abs(penalty.value(w)) + float(np.abs(edges * w).sum())
    for outside in {known.outside, known.bound}:
        summary = replace(known, outside=outside)
        e, conjugate = penalty.shrink(summary) * edges, penalty.conjugate(summary)
        if conjugate == np.inf and outside > known.outside:
            # nothing is claimed: every other hypothesis may add to the conjugate, and their number is not known
            continue

        def gain(v: Array, e: Array = e) -> float:
            return float((e * v).sum()) - penalty.value(v)

        found = f"with the conjugate {conjugate:.6g} at edges {_show(e)}"
        v = max(_list_weights(penalty, w, e, nonnegative), key=gain)
        size = unit + abs(conjugate) + abs(penalty.value(v)) + float(np.abs(e * v).sum())
        beyond = f"{found}, where edges'w - value(w) is {gain(v):.6g} at w = {_show(v)}"
        claims.hold("weak duality", gain(v) - conjugate, size, beyond, CONJUGATE)
        if not solved or outside > known.outside:
            # a bound over others, of which the largest edge alone is known, need not be attained by these
            continue
        variable = cp.Variable(e.shape, nonneg=nonnegative)
        if (solution := _solve(penalty.term(variable), -cp.sum(cp.multiply(e, variable)), variable)) is not None:
            v, least = solution
            size = unit + abs(conjugate) + abs(penalty.value(v)) + float(np.abs(e * v).sum())
            off = f"{found}, where the largest edges'w - value(w) is {-least:.6g}"
            claims.hold("Fenchel's equality", abs(conjugate + least), size, off, CONJUGATE, SOLVED)


def _list_weights(penalty: Penalty, w: Array, e: Array, nonnegative: bool) -> list[Array]:
    """List weights that may gain most from edges: along these, along their signs, and on the largest one alone."""
    gains = np.maximum(e, 0.0) if nonnegative else e
    alone = np.where(np.abs(gains) == np.abs(gains).max(), np.sign(gains), 0.0)
    directions = (w, gains, np.sign(gains), alone)
    return [penalty.repair(length * direction) for direction in directions for length in LENGTHS]


def _descend(value: Callable[[Array], float], slope: Callable[[Array], Array], z: Array) -> tuple[Array, float]:
    """Return a low point of a convex function and its value there: from z and from 0, along slopes and along ones."""
    best, least = z, value(z)
    for direction in (np.ones_like(z), None, None, None, None):
        start = np.zeros_like(z) if direction is not None else best
        step = slope(best) if direction is None else direction
        for length in (*LENGTHS, *(-length for length in LENGTHS)):
            with np.errstate(over="ignore"):
                at = value(start + length * step)
            if at < least:
                best, least = start + length * step, at
    return best, least


def _solve(term: Term, linear: Any, variable: Any) -> tuple[Array, float] | None:
    """Minimise a term and a linear function by a solver of cvxpy's; None where no solver finds a minimum."""
    model = Model(cp.Problem(cp.Minimize(term.expression + linear), list(term.constraints)), {"at": variable}, {})
    try:
        solution = solve_model(model, None, {})
    except SolverFailed:
        # it need not be attained, and then there is nothing to compare
        return None
    return solution.variables["at"], solution.objective
