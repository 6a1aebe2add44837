"""A formulation of one's own put to the test: that its parts are what a proof takes them for.

A certificate is as good as the conjugates it is made of. Those of a user's own loss or penalty are checked here against
what they are by definition, at random points and by a solver:

- weak duality, ``dual_value(u) <= loss(z) + u'z`` and ``edges'w <= penalty(w) + conjugate(edges)``, at any z, u, w and
  edges; a violation would be a bound above the optimum;
- Fenchel's equality: the minimum of ``loss(z) + u'z`` over z, by the model, is `dual_value(u)`, and likewise of the
  penalty; less would be a bound that never meets the optimum, and a model of something else;
- convexity, and that repaired multipliers are in the conjugate's domain and balanced, from wherever they come: inside,
  at the border and outside of it;
- slopes, curvatures and the forms that fast masters ask for, against differences of `value`, or `value` itself;
- what a penalty says of hypotheses outside of a master: `shrink`, `conjugate` and `threshold`, where edges of some are
  known and of others a bound alone;
- that no method returns NaN or None;
- that a penalty does not depend on the order of the weights, on their signs where they are free, or on further weights
  that are 0, which the rule for outside hypotheses takes for granted.

It is a spot check: what it finds is wrong, what it does not find may be wrong too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.problems.duality import Edges, as_rows, row_sizes
from cvxens.problems.expressions import ConicLoss, ConstrainedLoss
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Loss
from cvxens.problems.modelling import Model, Term, cp, solve_model
from cvxens.problems.penalties import Penalty, check_symmetry
from cvxens.rounding import TINY
from cvxens.types import Array, Given

ROUNDED = 1e-9
"""A violation up to this, relative to the sizes of what is compared, may be rounding."""

SOLVED = 1e-5
"""A difference up to this, relative likewise, may be a solver's."""

DIFFERED = 0.02
"""A difference up to this, relative likewise, may be that between a slope and a quotient of differences: of the power
1.5 of a weight it is the square root of the step."""

SCALES = (0.1, 1.0, 10.0, 100.0)
"""Sizes of random margins and weights; a margin of 1 is where many losses have a kink."""

STEP = 1e-6
"""Step of a quotient of differences, relative to the largest margin or weight."""

LARGE = 1e100
"""What stands for an infinite slope where it is multiplied by a step; values beyond it are not compared."""

FEW = 6
"""Samples, where the loss fits any number of them, and weights."""

QUICK = 4
"""Points in a run of column generation, one of every scale, of which one is held against a solver: 0.1 seconds."""

LENGTHS = tuple(float(length) for length in np.sort(np.append(np.geomspace(1e-3, 1e3, 25), 1.0)))
"""Steps along a line."""

SLOPES = "let `slopes` and `multipliers` be those of `value` (multipliers with the sign changed), or correct `value`"

FORMS: Mapping[str, Callable[[Any, Array], float]] = {
    "linear_dual": lambda loss, z: loss.linear_dual.value(z),
    "edge_limit": lambda penalty, w: penalty.edge_limit * float(np.abs(w).sum()),
    "ridge": lambda penalty, w: penalty.ridge / 2 * float((w * w).sum()),
    "entry_sizes": lambda penalty, w: float(np.dot(penalty.entry_sizes, [np.abs(w).sum(), (w * w).sum()])),
    "row_sizes": lambda penalty, w: float(
        np.dot(penalty.row_sizes, [np.linalg.norm(as_rows(w), axis=1).sum(), (w * w).sum()])
    ),
}
"""What the value of a part is that has something for a fast master, by its name."""


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
    y: Given = None,
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
    ...     def dual_terms(self, u):
    ...         return 1.1 * super().dual_terms(u)
    >>> check_formulation(Formulation(Careless(C=1.0), L1()))
    Traceback (most recent call last):
    cvxens.errors.InvalidInput: loss: found Careless with dual_value(u) = 3.72122 at u = [0.3976 0.1125 0.344 0.1606 \
0.4129 0.2843], where value(z) + u'z = 3.38292 at z = [0.4156 2.0655 0.6455 1.6535 0.3521 0.9233]; \
the dual value is the minimum of value(z) + u'z over all z; correct `dual_terms` or `terms`
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
    # constraints claim nothing, nor do expressions: cvxpy's rules say that they are convex, and proofs are of the model
    loss = loss.loss if isinstance(loss, ConstrainedLoss) else loss
    of_loss = _Claims("loss", type(loss).__name__)
    of_penalty = _Claims("penalty", type(penalty).__name__)
    watched_loss: Any = _Watched(of_loss, loss)
    watched_penalty: Any = _Watched(of_penalty, penalty)
    check_symmetry(watched_penalty, formulation.outputs, formulation.nonnegative)
    for number in range(n_points):
        scale, solved = SCALES[number % len(SCALES)], number % 10 == 0
        if not isinstance(loss, ConicLoss):
            z = scale * random.normal(size=(2, n_samples, *outputs))
            # factors on multipliers: outside of a domain, at its border, and inside
            inside = random.uniform(0.2, 0.9, z.shape[1:])
            shares = np.stack([inside, random.choice((-0.5, 0.0, 1e-3, 0.5, 0.97, 1.0, 1.5), z.shape[1:])])
            with np.errstate(over="ignore"):
                _check_loss(of_loss, watched_loss, z, shares, signs if formulation.intercept else None, solved)
        w, edges = scale * random.normal(size=(2, FEW, *outputs))
        if formulation.has_conjugate:
            w = watched_penalty.repair(np.abs(w) if formulation.nonnegative else w)
            slope = abs(watched_penalty.value(w)) / float(np.abs(w).sum())
            edges = edges / scale * (slope or 1.0)
            _check_penalty(of_penalty, watched_penalty, w, edges, formulation.nonnegative, solved)
    return Checked({**of_loss.violations, **of_penalty.violations}, n_points)


PROOFS: Mapping[str, Sequence[str]] = {
    "loss": (
        *("dual_value(u)", "u", "the least ", "value(z) + u'z", "z"),
        "the dual value is the minimum of value(z) + u'z over all z; correct `dual_terms` or `terms`",
    ),
    "penalty": (
        *("the conjugate", "edges", "the largest ", "edges'w - value(w)", "w"),
        "the conjugate is the maximum of edges'w - value(w) over all w; correct `conjugate`, `shrink` or `value`",
    ),
}
"""How what bounds a part is told, and what it is to bound, or to equal, and what to do where it does not."""


class _Claims:
    """Holds what is found of a part against what proofs take it for; keeps the largest violations."""

    def __init__(self, part: str, name: str) -> None:
        self.part, self.name = part, name
        self.violations: dict[str, float] = {}

    def hold(self, claim: str, excess: float, size: float, found: str, remedy: str, allowed: float = ROUNDED) -> None:
        """Raise if there is an excess of more than what is allowed, relative to the size of what was compared."""
        # what is no number, or infinite, is no rounding
        violation = max(excess, 0.0) / max(size, TINY) if excess < np.inf else np.inf
        if violation > allowed:
            raise InvalidInput(self.part, f"found {self.name} {found}", remedy)
        claim = f"{self.part}: {claim}"
        self.violations[claim] = max(self.violations.get(claim, 0.0), violation)

    def compare(
        self,
        claim: str,
        bound: float,
        at: Array,
        value: float,
        products: Array,
        x: Array,
        size: float = 0.0,
        known: str = "",
    ) -> None:
        """Hold a dual value or a conjugate against what it bounds at x, or equals: products, and plus or minus a value.

        Equal it is but for a solver's digits.
        """
        sign, is_equal = 1.0 if self.part == "loss" else -1.0, claim != "weak duality"
        reached = float(products.sum()) + sign * value
        excess, size = sign * (bound - reached), size + abs(bound) + abs(value) + float(np.abs(products).sum())
        of_bound, of_at, best, of_value, of_x, remedy = PROOFS[self.part]
        found = f"with {of_bound} = {bound:.6g} at {of_at} = {_show(at)}{known}, where {best * is_equal}{of_value} "
        found += f"{'is' if is_equal else '='} {reached:.6g} at {of_x} = {_show(x)}"
        self.hold(claim, abs(excess) if is_equal else excess, size, found, remedy, SOLVED if is_equal else ROUNDED)


class _Watched:
    """A part whose methods are refused by name where they return None, NaN, or another shape than they are given."""

    def __init__(self, claims: _Claims, part: Any) -> None:
        self._claims, self._part = claims, part

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        return partial(self._call, name, found) if callable(found) else found

    def _call(self, name: str, method: Callable[..., Any], *given: Any) -> Any:
        # of sums their terms, too
        if isinstance(self._part, Loss) and (summands := {"value": "terms", "dual_value": "dual_terms"}.get(name)):
            getattr(self, summands)(*given)
        returned = method(*given)
        values = returned if isinstance(returned, tuple) and name == "slopes" else (returned,)
        wrong = [str(value) for value in values if value is None]
        if not wrong and name != "model" and not (name == "fixed_sum" and returned is None):
            arrays = [np.asarray(value, np.float64) for value in values]
            wrong = [_show(array) if array.ndim else "nan" for array in arrays if np.isnan(array).any()]
            # methods that return arrays of the shape of what they are given
            if name in frozenset({"multipliers", "slopes", "curvature", "repair"}):
                wrong += [f"the shape {array.shape}" for array in arrays if array.shape != np.shape(given[0])]
        if wrong:
            at = f" at {_show(given[0])}" if given and isinstance(given[0], np.ndarray) else ""
            found = f"found {self._claims.name} whose `{name}` returns {wrong[0]}{at}"
            remedy = "return numbers, as many as there is one of each, and inf or -inf outside of a domain"
            raise InvalidInput(self._claims.part, found, remedy)
        return returned


def _show(values: Array) -> str:
    return np.array2string(np.ravel(values), precision=4, threshold=8, max_line_width=10_000)


def _check_loss(claims: _Claims, loss: Loss, z: Array, shares: Array, y: Array | None, solved: bool) -> None:
    """Check a loss at two margins, and at shares of its multipliers at the first."""
    at_z = loss.value(z[0])
    ends = (at_z + loss.value(z[1])) / 2
    if np.isfinite(ends):
        middle = loss.value((z[0] + z[1]) / 2)
        found = f"that is not convex between {_show(z[0])} and {_show(z[1])}"
        claims.hold("convexity", middle - ends, abs(middle) + abs(ends), found, "give a convex one")
    slopes = loss.multipliers(z[0])
    if not np.abs(slopes).max() < LARGE:
        return
    # beyond the border where a multiplier is 0, too
    larger = np.where(slopes == 0, np.abs(slopes).mean(), slopes)
    for raw in (shares[0] * slopes, shares[1] * larger):
        _check_multipliers(claims, loss, z[0], loss.repair(raw, y), y, solved)
    if not abs(at_z) < LARGE:
        return
    least, largest = loss.slopes(z[0], 0.0)
    _check_slopes(claims, loss.value, z[0], (-largest, -least), lambda v: v)
    if np.array_equal(least, largest):
        _check_equality(claims, loss, z[0], loss.repair(least, None))
    if loss.curvature is not None:
        _check_curvature(claims, loss, z[0])
    if loss.linear_dual is not None and loss.linear_dual.is_separable:
        _check_forms(claims, loss, z[0], ("linear_dual",))
    if y is not None:
        f = y * z[0]
        b = loss.best_intercept(f, y)
        at_best = loss.value(y * (f + b))
        for step in (-0.01, 0.01):
            other = loss.value(y * (f + b + step))
            found = f"whose best_intercept(f, y) is {_show(b)} with the value {at_best:.6g}, {step:+g} has {other:.6g}"
            remedy = "let it return the b with the least value(y (f + b)), or leave it out"
            claims.hold("intercept", max(at_best - other, 0.0), abs(at_best), found, remedy, SOLVED)


def _check_multipliers(claims: _Claims, loss: Loss, z: Array, u: Array, y: Array | None, solved: bool) -> None:
    """Check repaired multipliers: that they are in the domain and balanced, and that what they bound is bounded."""
    dual, off = loss.dual_value(u), loss.violation(u)
    claims.hold(
        "repair",
        off if np.isfinite(dual) else np.inf,
        max(1.0, float(np.abs(u).sum())),
        f"with violation(u) = {off:.3g} and dual_value(u) = {dual:.6g} at the repaired u = {_show(u)}",
        "let `repair` return multipliers at which `dual_terms` are finite and `violation` is 0",
    )
    if y is not None:
        missed, size = float(np.abs((y * u).sum(axis=0)).max()), float(np.abs(u).sum())
        found = f"whose repair(u, y) leaves y'u = {missed:.3g} at u = {_show(u)}"
        remedy = "let `repair` return multipliers with y'u = 0 where it is given labels, as `balance_classes` does"
        claims.hold("balance", missed, size, found, remedy)
    unit = abs(loss.value(z)) + float(np.abs(u * z).sum())
    unit = abs(dual) + (unit if np.isfinite(unit) else 0.0)
    v, lowest = _descend(loss, u, z)
    # factors on repaired multipliers: a penalty may want a share of u, and -inf is a bound, too
    for share in (1.0, 0.5, 0.99):
        claims.compare("weak duality", loss.dual_value(share * u), share * u, loss.value(v), share * u * v, v, unit)
    if np.allclose(loss.multipliers(v), u, rtol=1e-7, atol=1e-9 * float(np.abs(u).max())):
        least_there, largest_there = loss.slopes(v, 0.0)
        if np.array_equal(least_there, largest_there):
            _check_equality(claims, loss, v, u)
    # margins up to which a solver is asked
    if not (solved and u.size <= 200):
        return
    variable = cp.Variable(u.shape)
    term = loss.model(variable)
    if (solution := _solve(term, cp.sum(cp.multiply(u, variable)), variable)) is not None:
        v, least = solution
        at_v, linear = loss.value(v), float((u * v).sum())
        size = unit + abs(least - linear) + float(np.abs(u * v).sum())
        if np.isfinite(at_v):
            # else a solver's digits have left the domain
            differs = f"whose `model` is {least - linear:.6g} and whose `value` is {at_v:.6g} at z = {_show(v)}"
            claims.hold("model", abs(least - linear - at_v), size, differs, "let both be the same function", SOLVED)
        # a solver's least may not be one
        claims.compare("Fenchel's equality", dual, u, min(least, lowest) - linear, u * v, v, unit)


def _check_equality(claims: _Claims, loss: Loss, z: Array, u: Array) -> None:
    """Hold the dual value at the one u in ``-loss'(z)`` against what it is there: value(z) + u'z."""
    claims.compare("Fenchel's equality", loss.dual_value(u), u, loss.value(z), u * z, z)


def _check_slopes(
    claims: _Claims,
    value: Callable[[Array], float],
    at: Array,
    slopes: tuple[Array, Array],
    repair: Callable[[Array], Array],
) -> None:
    """Hold the least and the largest slopes of a convex function against differences of its values."""
    random, here = np.random.default_rng(0), value(at)
    clipped = np.clip(np.stack(slopes), -LARGE, LARGE)
    # random directions of such steps
    for _ in range(3):
        direction = random.normal(size=at.shape)
        # weights that are 0 may be bound to be 0 or above
        step = STEP * float(np.abs(at).max()) * np.where(at == 0, np.abs(direction), direction)
        there, half = repair(at + step), repair(at + step / 2)
        moved, change = there - at, value(there) - here
        found = f"whose slopes are {_show(slopes[0])} to {_show(slopes[1])} at {_show(at)}"
        found = f"{found}, where its value changes by {change:.6g} along {_show(moved)}"
        least, largest = (moved * clipped).min(axis=0), (moved * clipped).max(axis=0)
        # what is below 1e-12 of the value is its rounding
        rounding = abs(here) * 1e-12 / DIFFERED
        if not np.isfinite(change):
            continue
        size = float(np.abs(least).sum()) + rounding
        claims.hold("slopes", float(least.sum()) - change, size, found, SLOPES, DIFFERED)
        if np.allclose(moved, step, rtol=1e-6, atol=0.0):
            # 4 (v(h/2) - v(0)) - (v(h) - v(0)) is h times the slope, but for terms of the third order
            slope, size = 4 * (value(half) - here) - change, float(np.abs(largest).sum()) + rounding
            claims.hold("slopes", slope - float(largest.sum()), size, found, SLOPES, DIFFERED)


def _check_curvature(claims: _Claims, loss: Any, z: Array) -> None:
    """Hold curvatures against differences of multipliers: in between are those on the way, unless they jump there."""
    step = STEP * float(np.abs(z).max())
    u = [loss.multipliers(z + share * step) for share in (0.0, 0.5, 1.0)]
    told, measured = np.stack([loss.curvature(at) for at in u]), (u[0] - u[2]) / step
    low, high = told.min(axis=0), told.max(axis=0)
    off = np.maximum(2 * low - high - measured, measured - 2 * high + low)
    worst = int(np.argmax(off))
    found = f"whose curvature(u) is {high.flat[worst]:.6g} at a margin of {z.flat[worst]:.6g}"
    differs = f"{found}, where differences of its multipliers are {measured.flat[worst]:.6g}"
    size = float(np.abs(high).max() + np.abs(measured).max()) + 1e-12 * float(np.abs(u[0]).max()) / step / DIFFERED
    remedy = "let it be the second derivative, or leave it out"
    claims.hold("curvature", max(float(off.max()), 0.0), size, differs, remedy, DIFFERED)


def _check_forms(claims: _Claims, part: Any, at: Array, names: Iterable[str]) -> None:
    """Hold what a part has for fast masters against its value."""
    value = part.value(at)
    for name in names:
        formed = FORMS[name](part, at)
        differs = f"whose `{name}` make {formed:.6g} and whose `value` is {value:.6g} at {_show(at)}"
        remedy = f"let both be the same function, or leave `{name}` out"
        claims.hold("forms", abs(formed - value), abs(value) + abs(formed), differs, remedy)


def _check_penalty(claims: _Claims, penalty: Penalty, w: Array, edges: Array, nonnegative: bool, solved: bool) -> None:
    """Check a penalty at weights and at edges, shrunk to where a dual bound takes them."""
    trials = np.stack(_list_weights(penalty, w, edges, nonnegative))
    values = np.array([penalty.value(v) for v in trials])
    # factors on edges of the size of a penalty's mean slope: within the domain of its conjugate, and beyond
    for factor in (0.3, 1.0, 3.0):
        e = factor * edges
        for summary in _summarise(penalty, e, nonnegative):
            _check_conjugate(claims, penalty, e, summary, trials, values)

    def repair(v: Array) -> Array:
        return np.asarray(penalty.repair(np.maximum(v, 0) if nonnegative else v))

    for at in (w, repair(np.where(np.arange(w.size).reshape(w.shape) % 2, w, 0.0))):
        slopes = penalty.slopes(at)
        _check_slopes(claims, penalty.value, at, slopes, repair)
        if np.array_equal(*slopes):
            # the conjugate at the slopes is edges'w - value(w)
            known = _know_all(penalty, slopes[0], nonnegative)
            e = penalty.shrink(known) * slopes[0]
            claims.compare("Fenchel's equality", penalty.conjugate(known), e, penalty.value(at), e * at, at)
    forms: dict[str, object] = {"edge_limit": penalty.edge_limit, "ridge": penalty.ridge}
    forms |= {"entry_sizes": penalty.entry_sizes, "row_sizes": penalty.row_sizes}
    _check_forms(claims, penalty, w, [name for name, form in forms.items() if form is not None])
    if not solved:
        return
    known = _know_all(penalty, edges, nonnegative)
    e, conjugate = penalty.shrink(known) * edges, penalty.conjugate(known)
    variable = cp.Variable(e.shape, nonneg=nonnegative)
    fixed, value = penalty.model(variable), penalty.value(w)
    if (at_w := _solve(Term(fixed.expression, (*fixed.constraints, variable == w)), 0.0, variable)) is not None:
        differs = f"whose `model` is {at_w[1]:.6g} and whose `value` is {value:.6g} at w = {_show(w)}"
        claims.hold("model", abs(at_w[1] - value), abs(value), differs, "let both be the same function", SOLVED)
    if (solution := _solve(penalty.model(variable), -cp.sum(cp.multiply(e, variable)), variable)) is not None:
        v, least = solution
        size = abs(value) + float(np.abs(edges * w).sum())
        claims.compare("Fenchel's equality", conjugate, e, least + float((e * v).sum()), e * v, v, size)
        _check_threshold(claims, penalty, v, e, nonnegative)


def _know_all(penalty: Penalty, edges: Array, nonnegative: bool) -> Edges:
    """Return what is known of edges where there are no other hypotheses."""
    return next(_summarise(penalty, edges, nonnegative))


def _summarise(penalty: Penalty, edges: Array, nonnegative: bool) -> Iterator[Edges]:
    """List what may be known of edges: all of them, of every other one a bound, of those a common one, and no more."""
    counted = edges if nonnegative else np.abs(edges)
    sizes = row_sizes(counted, penalty.row_norm, nonnegative)
    bound, squares = float(sizes.max()), float((np.maximum(counted, 0.0) ** 2).sum())
    none = np.zeros(edges.shape)
    yield Edges(bound, squares, lambda: counted, -np.inf, lambda: (edges, none))
    yield Edges(bound, squares, lambda: counted[::2], float(sizes[1::2].max()), lambda: (edges[::2], none[::2]))
    yield Edges(bound, squares, lambda: counted[::2], signed=lambda: (edges[::2], none[::2]))
    yield Edges(bound, squares)
    yield Edges(bound, np.inf)


def _check_conjugate(claims: _Claims, penalty: Penalty, edges: Array, told: Edges, trials: Array, at: Array) -> None:
    """Hold what a penalty takes off a bound, of edges of which so much is known, against what some weights gain."""
    share, conjugate = penalty.shrink(told), penalty.conjugate(told)
    found = f"with shrink = {share:.6g} at edges {_show(edges)}"
    claims.hold("shrink", 0.0 if 0 < share <= 1 else np.inf, 1.0, found, "let it return a factor above 0, at most 1")
    if conjugate == np.inf and told.outside > -np.inf:
        # nothing is claimed: every other hypothesis may add to the conjugate, and their number is not known
        return
    e = share * edges
    linear = (trials * e).reshape(len(trials), -1)
    best = int(np.argmax(linear.sum(axis=1) - at))
    known = {-np.inf: "", np.inf: " of which not all are known"}.get(told.outside, " of which every other one is known")
    claims.compare("weak duality", conjugate, e, at[best], linear[best], trials[best], known=known)


def _check_threshold(claims: _Claims, penalty: Penalty, w: Array, edges: Array, nonnegative: bool) -> None:
    """Check that a further hypothesis with an edge just below the threshold changes nothing, at the best weights."""
    counted = edges if nonnegative else np.abs(edges)
    threshold, known = penalty.threshold(w, counted), _know_all(penalty, edges, nonnegative)
    further = threshold - 0.05 * max(abs(threshold), float(counted.max()))
    if not np.isfinite(further) or (further <= 0 and not nonnegative):
        return
    row = np.zeros((1, *edges.shape[1:]))
    row.flat[0] = further
    joined = _know_all(penalty, np.concatenate([edges, row]), nonnegative)
    before, after = penalty.conjugate(known), penalty.conjugate(joined)
    risen = max(after - before, 0.0) / max(abs(before) + abs(after), TINY)
    lost = risen + penalty.shrink(known) - penalty.shrink(joined)
    found = (
        f"whose threshold is {threshold:.6g} at edges {_show(edges)}, where a further one with an edge of {further:.6g}"
    )
    remedy = "let `threshold` be the edge from which on a further hypothesis improves the optimum"
    claims.hold("threshold", lost, 1.0, f"{found} improves the optimum", remedy, SOLVED)


def _list_weights(penalty: Penalty, w: Array, edges: Array, nonnegative: bool) -> list[Array]:
    """List weights that may gain most from edges: along these, their signs, the largest, and those of every other."""
    gains = np.maximum(edges, 0.0) if nonnegative else edges
    sizes, odd = np.abs(gains), (np.arange(len(gains)) % 2 == 1).reshape(-1, *(1 for _ in gains.shape[1:]))
    above = [np.sign(gains) * np.maximum(sizes - share * sizes.max(), 0.0) for share in (0.2, 0.5)]
    alone = [np.where(sizes == (sizes * of).max(), np.sign(gains), 0.0) for of in (odd, ~odd)]
    directions = (w, gains, np.sign(gains), *above, *alone, gains * odd)
    return [penalty.repair(length * direction) for direction in directions for length in LENGTHS[::2]]


def _descend(loss: Loss, u: Array, z: Array) -> tuple[Array, float]:
    """Return a low point of value(z) + u'z and its value: along ones and slopes, and where the multipliers are u."""

    def value(v: Array) -> float:
        return float(loss.value(v) + (u * v).sum())

    line = (0.0, *LENGTHS, *(-length for length in LENGTHS))
    starts = (np.zeros_like(z), _invert(loss, u, z))
    best = min((z, *(start + length for start in starts for length in line)), key=value)
    step = loss.multipliers(best) - u
    best = min((best + length * step for length in line), key=value)
    return best, value(best)


def _invert(loss: Loss, u: Array, z: Array) -> Array:
    """Return margins at which the multipliers are u, if it is a smooth sum over samples; some margins of any other."""
    high = np.full(z.shape, 10 * max(1.0, float(np.abs(z).max())))
    low = -high
    # bisections for the margins with given multipliers: to ten digits
    for _ in range(45):
        middle = (low + high) / 2
        larger = loss.multipliers(middle) > u
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    return (low + high) / 2


def _solve(term: Term, linear: object, variable: object) -> tuple[Array, float] | None:
    """Minimise a term and a linear function by a solver of cvxpy's; None where no solver finds a minimum."""
    model = Model(cp.Problem(cp.Minimize(term.expression + linear), list(term.constraints)), {"at": variable}, {})
    try:
        solution = solve_model(model, None, {})
    except SolverFailed:
        # it need not be attained, and then there is nothing to compare
        return None
    return solution.variables["at"], solution.objective
