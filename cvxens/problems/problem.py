"""A formulation on data: modelled in cvxpy, and evaluated, repaired and certified in numpy.

A problem is a loss on margins and a penalty on weights, tied by a linear map: minimise ``loss(z) + penalty(w)`` with
``z = y * (H w + b)``. The multiplier u of that one equality has ``u = -loss'(z)`` at the optimum, and the dual problem
is to maximise ``-loss*(-u) - penalty*(H'(y u))``, with y'u = 0 where there is an intercept.

`Problem.evaluate` is the one place where both objectives are evaluated. A point is first repaired, that is, moved to
where both are finite, and each product with H is made once; `certify`, masters and solvers read the record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from scipy.optimize import lsq_linear

from cvxens import validation
from cvxens.certificates import Certificate, certify
from cvxens.errors import CvxensError, InvalidInput, NotSeparable, SolverFailed
from cvxens.problems.duality import Edges, balance_classes, balance_exactly, edge_rounding, imbalance
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Loss, Scored
from cvxens.problems.maps import ColumnMap, Columns, DenseColumns, KernelMap, LinearMap, as_columns
from cvxens.problems.modelling import Model, cp, solve_model, tell_of_fallback
from cvxens.problems.penalties import Penalty
from cvxens.rounding import EPSILON, UNDERFLOW, dot, sum_error
from cvxens.types import Array, Given, Point, Solution, Value

Claimed: TypeAlias = Solution | Mapping[str, ArrayLike] | None
"""A point that somebody found."""

FEASIBLE = 1e-12
"""The distance of weights from the domain of a penalty that rounding explains, relative to their sum or to 1."""


SOLVABLE = 200_000
"""Entries of H up to which a solver finds multipliers where slopes leave a gap, within a second."""


class Parameter:
    """A number of a problem, or one per sample, that may be changed between solves.

    It is a parameter of the cvxpy problem (DPP), so a new value costs no new compilation. `check` maps (name, value) to
    the clean value, or raises InvalidInput.
    """

    def __init__(self, check: Callable[[str, Any], Any] = validation.positive) -> None:
        self.check = check

    def __set_name__(self, owner: type[Problem], name: str) -> None:
        self.name = name
        owner.swept = (*owner.__dict__.get("swept", ()), name)

    def __get__(self, problem: Problem | None, owner: type) -> Any:
        return self if problem is None else problem.__dict__[self.name]

    def __set__(self, problem: Problem, value: object) -> None:
        value = problem.admit(self.name, self.check(self.name, value))
        problem.__dict__[self.name] = value
        # what was evaluated or modelled at the last value
        problem.__dict__.pop("formulation", None)
        if "_model" in problem.__dict__:
            problem._model.parameters[self.name].value = value


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A repaired point, and both objectives there.

    Parameters
    ----------
    problem : Problem
        What was evaluated.
    point : mapping of str to ndarray
        The repaired arrays, by the problem's letters.
    primal, dual : float
        The objectives, in the problem's sense.
    w, b, u : ndarray
        Weights, intercept and multipliers; of the shifted columns, where the problem shifts them.
    f, edges : ndarray
        The scores H w, without b, and the edges H'(y u).
    f_errors, edge_errors : ndarray or None
        Bounds on the rounding errors of these; None where they are plain products, whose errors are measured when
        `rounding` is asked for.
    products : Products or None
        The products that were made, for `residuals`.
    drift : float
        A bound on what scores may be off beside the rounding of one product, as a sum of many changes is.

    Examples
    --------
    >>> from cvxens.problems import SVMPrimal
    >>> evaluated = SVMPrimal([[1.0], [-1.0]], [1.0, -1.0], C=1.0).evaluate({"w": np.array([1.0])})
    >>> evaluated.primal, evaluated.dual, evaluated.z
    (0.5, 0.5, array([1., 1.]))
    """

    problem: Problem
    point: Point
    primal: float
    dual: float
    w: Array = field(default_factory=lambda: np.zeros(0))
    b: Array = field(default_factory=lambda: np.zeros(()))
    u: Array = field(default_factory=lambda: np.zeros(0))
    f: Array = field(default_factory=lambda: np.zeros(0))
    edges: Array = field(default_factory=lambda: np.zeros(0))
    f_errors: Array | None = None
    edge_errors: Array | None = None
    products: Products | None = None
    drift: float = 0.0

    @property
    def z(self) -> Array:
        """The margins y (f + b)."""
        return self.problem.signs * (self.f + self.b)

    @cached_property
    def rounding(self) -> float:
        """A bound on what rounding can have done to the two objectives together."""
        return self.problem.measure_rounding(self)

    @property
    def condition(self) -> str:
        """What the dual objective would be a bound under that is not verified; mostly empty."""
        return self.problem.find_condition(self)

    def residuals(self, given: Point) -> dict[str, float]:
        """Evaluate the named KKT residuals of the given arrays, completed by the repaired ones."""
        return self.problem.residuals({**self.point, **given}, self.products)


class Products:
    """The products with a map that were made so far; a vector that comes again costs nothing.

    Precise products are measured: as precise as possible, with error bounds. Scores and edges of a kernel are one list.
    """

    def __init__(self, linear_map: LinearMap, precise: bool = True) -> None:
        self.linear_map, self.precise = linear_map, precise
        self._scores: list[tuple[Array, Array, Array | None]] = []
        self._edges = self._scores if linear_map.symmetric else []

    def scores(self, w: Array) -> tuple[Array, Array | None]:
        """Evaluate H w, and its errors where products are measured."""
        return self._recall(self._scores, w, self.linear_map.measure_scores if self.precise else self.linear_map.scores)

    def edges(self, s: Array) -> tuple[Array, Array | None]:
        """Evaluate H's, and its errors where products are measured."""
        H = self.linear_map
        return self._recall(self._edges, s, H.measure_edges if self.precise else H.edges)

    def add_scores(self, w: Array, f: Array, errors: Array | None = None) -> None:
        """Take scores that somebody else evaluated, or that follow from others."""
        self._scores.append((w, f, errors))

    def add_edges(self, s: Array, edges: Array) -> None:
        """Take edges that follow from others."""
        self._edges.append((s, edges, None))

    def _recall(self, known: list[Any], x: Array, multiply: Callable[[Array], Any]) -> tuple[Array, Array | None]:
        for at, values, errors in known:
            if at is x or np.array_equal(at, x):
                return values, errors
        values, errors = multiply(x) if self.precise else (multiply(x), None)
        known.append((x, values, errors))
        return values, errors


class Problem:
    """min loss(z) + penalty(w) with z = y * (H w + b): a formulation on hypotheses and labels.

    The classes of this package are such problems, each with an equation, a source and the letters of that source. With
    several outputs, w, b, z and u have a column for each and y is a column of ones: z are scores.

    Where there is an intercept, columns far from 0 are shifted to it inside: ``H w + b = (H - 1 c') w + (b + c'w)``, so
    that an offset in the data costs no digits. Points are those of H; an `Evaluated` one also has the intercept
    ``b + c'w`` of the shifted columns, which holds digits that b cannot.

    Parameters
    ----------
    formulation : Formulation
        Loss and penalty.
    H : array-like of shape (n_samples, n_columns), Columns, or a LinearMap
        The hypotheses on the sample: H[i, j] = h_j(x_i). A kernel map stands for all functions in its space.
    y : array-like of shape (n_samples,), optional
        Labels -1 and +1; None for a loss on scores.

    Attributes
    ----------
    equation, source : str
        The formulation in one line, and where it is from.
    aliases : mapping of str to str
        Other names that `certify` understands for these arrays.
    arrays : tuple of str
        The arrays of a point: primal first, then dual.
    letters : tuple of str
        What the source calls w, b and u.
    swept : tuple of str
        The parameters that may be set anew between solves.

    Examples
    --------
    >>> from cvxens.problems import formulations
    >>> problem = Problem(formulations.svm(C=1.0), [[1.0], [-1.0]], [1.0, -1.0])
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (0.5, True)
    """

    equation: ClassVar[str] = "min loss(z) + penalty(w), z = y (H w + b)"
    source: ClassVar[str] = "any"
    aliases: ClassVar[Mapping[str, str]] = {}
    arrays: ClassVar[tuple[str, ...]] = ("w", "b", "xi", "u")
    letters: ClassVar[tuple[str, str, str]] = ("w", "b", "u")
    swept: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[float] = 1.0
    formulate: Callable[..., Formulation]
    """Returns the formulation at values of the swept parameters: numbers, or cvxpy parameters."""
    y: Array
    H: Columns

    def __init__(self, formulation: Formulation, H: Any, y: Given = None) -> None:
        # a map comes with signs that flow inside and are not checked again, and with a formulation that was read
        self.formulation = formulation if isinstance(H, LinearMap) else formulation.renewed()
        self._place(H, np.asarray(y) if isinstance(H, LinearMap) else formulation.signs(y, validation.count_rows(H)))

    @final
    def _place(self, H: Any, y: Array, **parameters: float) -> None:
        """Set labels, hypotheses (a map, or columns that become one) and parameters."""
        self.y = y
        for name, value in parameters.items():
            setattr(self, name, value)
        if isinstance(H, LinearMap):
            self.linear_map = H
            if H.symmetric and self.penalty.ridge is None:
                found = f"found {type(self.penalty).__name__} on a kernel, which embodies a squared norm"
                raise InvalidInput("penalty", found, "give one that has a `ridge`, such as SquaredL2")
        if not isinstance(H, KernelMap):
            self.H = H.H if isinstance(H, ColumnMap) else as_columns(H, len(y))

    @cached_property
    def linear_map(self) -> LinearMap:
        """The linear map from weights to scores; its columns are shifted where there is an intercept."""
        return ColumnMap.from_columns(self.H, self.intercept)

    @cached_property
    def formulation(self) -> Formulation:
        """Loss and penalty at the values of the parameters."""
        return self.formulate(*(vars(self)[name] for name in self.swept))

    @property
    def loss(self) -> Loss:
        return self.formulation.terms[0]

    @property
    def penalty(self) -> Penalty:
        return self.formulation.terms[1]

    @property
    def size(self) -> float:
        """The least unit of relative gaps, where both objectives are smaller; see `Formulation.find_size`."""
        return self.formulation.find_size(self.unit * self.H.largest) if self.formulation.find_size(1.0) else 0.0

    @property
    def maximise(self) -> bool:
        return self.formulation.maximise

    @property
    def intercept(self) -> bool:
        """True if there is a b, unpenalised."""
        return self.formulation.intercept

    @property
    def nonnegative(self) -> bool:
        """True if w >= 0."""
        return self.formulation.nonnegative

    @property
    def outputs(self) -> tuple[int, ...]:
        """The shape of b: () for one output."""
        return () if self.formulation.outputs is None else (self.formulation.outputs,)

    @property
    def signs(self) -> Array:
        """The factors that make margins of scores: the labels, or ones."""
        return self.y

    @property
    def _inner_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of w, b and u as the map takes them."""
        n_samples, n_weights = self.linear_map.shape
        return (n_weights, *self.outputs), self.outputs, (n_samples, *self.outputs)

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The arrays of a point and their shapes: primal first, then dual."""
        shapes = {**dict(zip(self.letters, self._inner_shapes, strict=True)), "xi": self.y.shape[:1], "rho": ()}
        return {name: shapes[name] for name in self.arrays if name != self.letters[1] or self.intercept}

    def admit(self, name: str, value: Value) -> Value:
        """Return the value of a parameter; raise InvalidInput where it has another shape or there is no solution."""
        shape = np.shape(value)
        if shape != np.shape(self.__dict__.get(name, value)) or shape not in {(), (len(self.y),)}:
            raise InvalidInput(name, f"found shape {shape}", f"give one number or {len(self.y)}, as in the beginning")
        return value

    def build(self) -> Model:
        """Model weights, intercept and the margins z, tied by the one equality whose multiplier is u."""
        parameters = {name: cp.Parameter(np.shape(vars(self)[name]), pos=True, name=name) for name in self.swept}
        formulation = self.formulate(*parameters.values()) if parameters else self.formulation
        loss, penalty = formulation.terms
        weights, intercept, multipliers = self.letters
        v, w, f, tied = self.linear_map.model(self.outputs, formulation.nonnegative)
        b, z = cp.Variable(self.outputs, name=intercept), cp.Variable((len(self.y), *self.outputs), name="z")
        link = z == cp.multiply(self.signs, f + b if formulation.intercept else f)
        on_z, on_w = loss.model(z), penalty.model(v)
        of_loss, of_penalty = (
            {own.id: own for part in (term.expression, *term.constraints) for own in part.variables()}
            for term in (on_z, on_w)
        )
        if shared := [own.name() for own in of_penalty.values() if own.id in of_loss]:
            both = f"found the variable {shared[0]!r}, which the loss has too"
            raise InvalidInput("penalty", both, "put all that a variable of your own is in into the loss")
        total = self.unit * (on_z.expression + on_w.expression)
        sense = cp.Maximize(-total) if formulation.maximise else cp.Minimize(total)
        problem = cp.Problem(sense, [link, *tied, *on_z.constraints, *on_w.constraints])
        found = {**on_z.variables, intercept: self.linear_map.shift(w, b, -1.0), weights: w}
        shapes = self.shapes
        variables = {
            name: expression if expression.shape == shapes[name] else cp.reshape(expression, shapes[name], order="F")
            for name, expression in found.items()
            if name in shapes
        }

        def reshape(_: Point, duals: Point) -> Point:
            return {name: np.reshape(values, shapes[name]) for name, values in duals.items()}

        return Model(problem, variables, {multipliers: (link, 1 / self.unit)}, parameters, reshape)

    def evaluate(self, point: Point, products: Products | None = None) -> Evaluated:
        """Repair a point and evaluate both objectives there.

        Weights and multipliers are moved into their domains and scaled to feasibility; an intercept that is not given
        is the best one.

        Parameters
        ----------
        point : mapping of str to ndarray
            Some of the arrays, by the problem's letters.
        products : Products, optional
            Takes the products that are made. None for precise ones; plain ones are as BLAS makes them, and their
            rounding errors are measured only if they are asked for.
        """
        return self.complete(point, products)

    @final
    def complete(self, point: Point, products: Products | None = None, *, rescale: bool = True) -> Evaluated:
        """Evaluate any point of loss and penalty; the size of the weights stays unless they may be rescaled."""
        (loss, penalty), y = self.formulation.terms, self.signs
        balanced = y if self.intercept else None
        products = Products(self.linear_map) if products is None else products
        w, b, u = self._read(point)
        u = None if u is None else loss.repair(u, balanced)
        # in the space of a kernel, w = H'(y u) / ridge at the optimum, and u = -loss'(z) gives the other way
        derives, ridge = self.linear_map.symmetric, penalty.ridge or 1.0
        if w is None:
            w = np.zeros(self._inner_shapes[0]) if u is None or not derives else y * u / ridge
        w = penalty.repair(np.maximum(w, 0) if self.nonnegative else w)
        f, _ = products.scores(w)
        if b is not None:
            shifted = self.linear_map.shift(w, b)
        else:
            shifted = loss.best_intercept(f, y) if balanced is not None else np.zeros(self.outputs)
        if (held := self.hold(w, shifted))[0] is not w:
            w, shifted, b = penalty.repair(held[0]), held[1], None
            f, _ = products.scores(w)
        z = y * (f + shifted)
        if u is None:
            u = self._derive_multipliers(w, z, y * w * ridge if derives else None)

        def value(scale: float) -> float:
            return loss.value(scale * z) + self.linear_map.penalise(penalty, scale * w, scale * f)

        scale = min(self._scales(z, w), key=value) if rescale else 1.0
        if scale != 1:
            w, shifted, b = scale * w, scale * shifted, None
            if not products.precise:
                products.add_scores(w, scale * f)
        edges, _ = products.edges(y * u)
        shrink = penalty.shrink(self.linear_map.summarise(y * u, edges, self.nonnegative))
        if shrink != 1:
            u = u * shrink
            if not products.precise:
                products.add_edges(y * u, shrink * edges)
        return self.evaluate_at(w, shifted, u, products, b)

    @final
    def hold(self, w: Array, b: Array) -> tuple[Array, Array]:
        """Move weights and intercept of the shifted columns to where the constraints of the loss hold, if it has any.

        They are the same arrays where nothing is to be moved.
        """
        H, total = self.linear_map, self.penalty.largest_sum
        tied = self.penalty.least_sum == total
        return self.loss.hold(Scored(H.scores, H.edges, self.signs, self.intercept, fixed_sum=tied), w, b)

    def _derive_multipliers(self, w: Array, z: Array, known: Array | None) -> Array:
        """Return the multipliers with the highest dual value among `known` ones, 0 and those of -loss'(z).

        At kinks those are taken that suit the weights best; as nobody knows how exact the weights are, that is done for
        margins at several distances from a kink. If they leave a gap, because sums of weights or of multipliers have
        kinks, too, or because the model alone knows the slopes, as that of an expression, a solver of cvxpy's chooses.
        """
        (loss, penalty), y, H = self.formulation.terms, self.signs, self.linear_map
        balanced = y if self.intercept else None
        candidates = [np.zeros(z.shape), *([] if known is None else [known])]
        total = loss.fixed_sum(z)
        sums = [*([(y, 0.0)] if self.intercept else []), *([] if total is None else [(np.ones(len(y)), total)])]
        seen: list[bytes] = []
        kinked = loss.is_searched
        unit = 0.0 if H.symmetric else 1 / max(self.H.largest, np.finfo(float).tiny)
        # relative to the largest margin, at these distances from a kink margins of various solvers are still at it
        for near in (1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3):
            low, high = loss.slopes(z, near * max(1.0, float(np.abs(z).max())))
            # weights that are no more than the digits of margins are 0
            at = np.where(np.abs(w) <= near * max(float(np.abs(w).max()), float(np.abs(z).max()) * unit), 0.0, w)
            if (key := b"".join(part.tobytes() for part in (low, high, at))) in seen:
                continue
            seen.append(key)
            if np.array_equal(low, high) or H.symmetric or z.ndim > 1:
                candidates.append(np.where(np.isfinite(high), (low + high) / 2, low))
                continue
            kinked, (least, largest) = True, penalty.slopes(at)
            if self.nonnegative:
                least = np.where(at == 0, -np.inf, least)
            level = penalty.total is not None
            candidates.append(fit_slopes((low, high), (least, largest), lambda U: H.edges((y * U.T).T), sums, level))

        def value(u: Array) -> float:
            return self.bound(u, H.summarise(y * u, H.edges(y * u), self.nonnegative))

        best = max((loss.repair(u, balanced) for u in candidates), key=value)
        if not kinked or H.symmetric or z.size * w.size > SOLVABLE:
            return best
        primal = loss.value(z) + penalty.value(w)
        # multipliers of such a gap are good enough
        if primal - value(best) <= 1e-6 * abs(primal):
            return best
        try:
            solved = solve_model(self._model, None, {}).duals[self.letters[2]]
        except SolverFailed:
            return best
        return max(best, loss.repair(np.reshape(solved, z.shape), balanced), key=value)

    @final
    def evaluate_at(
        self, w: Array, b: Array, u: Array, products: Products | None = None, b_of_H: Array | None = None
    ) -> Evaluated:
        """Evaluate both objectives at a feasible point of the shifted columns, as it is."""
        (loss, penalty), y = self.formulation.terms, self.signs
        products = Products(self.linear_map) if products is None else products
        (f, f_errors), (edges, edge_errors) = products.scores(w), products.edges(y * u)
        least = loss.value(y * (f + b)) + self.linear_map.penalise(penalty, w, f)
        bound = self.bound(u, self.linear_map.summarise(y * u, edges, self.nonnegative))
        b_of_H = self.linear_map.shift(w, b, -1.0) if b_of_H is None else b_of_H
        found = zip(self.letters, (w, b_of_H, u), strict=True)
        factor, shapes = self.unit * self.formulation.sense, self.shapes
        repaired = {name: np.reshape(values, shapes[name]) for name, values in found if name in shapes}
        objectives = factor * least, factor * bound
        return Evaluated(self, repaired, *objectives, w, b, u, f, edges, f_errors, edge_errors, products)

    @final
    def bound(self, u: Array, edges: Edges) -> float:
        """Bound the minimum of loss + penalty from a repaired u and what is known of the edges of ALL hypotheses."""
        loss, penalty = self.formulation.terms
        return loss.dual_value(u * penalty.shrink(edges)) - penalty.conjugate(edges)

    def find_condition(self, at: Evaluated) -> str:
        """Return what the dual value of a point would be a bound under that is not verified; mostly empty."""
        edges = self.linear_map.summarise(self.signs * at.u, at.edges, self.nonnegative)
        return self.loss.condition(at.u * self.penalty.shrink(edges))

    def repair(self, point: Point) -> Point:
        """Complete and repair `point` into a primal and a dual feasible one."""
        return self.evaluate(point).point

    def value(self, point: Point) -> float:
        """Evaluate the objective at a feasible point, as it is."""
        (loss, penalty), (w, b, _) = self.formulation.terms, self._read(point)
        f, _ = self.linear_map.measure_scores(w)
        z = self.signs * (f if b is None else f + self.linear_map.shift(w, b))
        return self.unit * self.formulation.sense * (loss.value(z) + self.linear_map.penalise(penalty, w, f))

    def dual_value(self, point: Point) -> float:
        """Evaluate the dual objective at a feasible point, as it is."""
        _, _, u = self._read(point)
        s = self.signs * u
        edges = self.linear_map.summarise(s, self.linear_map.measure_edges(s)[0], self.nonnegative)
        return self.unit * self.formulation.sense * self.bound(u, edges)

    def measure_rounding(self, at: Evaluated) -> float:
        """Bound what rounding can have done to the two objectives of an evaluated point, together.

        Both are evaluated where the errors of margins and edges are at their worst.
        """
        s = self.signs * at.u
        f_errors = self.linear_map.score_errors(at.w, at.f) if at.f_errors is None else at.f_errors
        if at.edge_errors is not None:
            edge_errors = at.edge_errors
        else:
            edge_errors = f_errors if at.edges is at.f else self.linear_map.edge_errors(s, at.edges)
        of_primal = self._measure_primal(at, f_errors + at.drift) + self.loss.shortfall(at.z, at.u)
        found = self.unit * (of_primal + self._measure_dual(at.u, at.edges, edge_errors + at.drift))
        # a product below the least float is lost, which beside other values is less than their rounding
        # objectives below this are made of products that may underflow; the rounding of larger ones is more than these
        if max(abs(at.primal), abs(at.dual)) < 1e-290 and (at.w.any() or at.u.any()):
            found += UNDERFLOW * (at.z.size + at.w.size + at.u.size)
        return found

    @final
    def _measure_primal(self, at: Evaluated, errors: Array) -> float:
        """Evaluate the objective with every margin off by its error, rescaled where that makes it feasible."""
        (loss, penalty), w, z = self.formulation.terms, at.w, at.z
        value, of_w = loss.value(z), self.linear_map.penalise(penalty, w, at.f)
        if not (np.isfinite(value) and np.isfinite(of_w)):
            return 0.0
        missed = self._measure_imbalance(w) if self.linear_map.symmetric else 0.0
        of_penalty = self.linear_map.penalty_error(penalty, w, at.f, errors, missed)
        if self.intercept:
            # f + b is rounded once, and b = b + c'w was
            errors = errors + EPSILON * (np.abs(at.f) + np.abs(at.b)) + missed * self.linear_map.spread
        risen = loss.rise(z, errors)
        for scale in self._scales(z - errors, w):
            if scale != 1:
                at_scale = loss.value(scale * (z - errors)) + self.linear_map.penalise(penalty, scale * w, scale * at.f)
                risen = min(risen, max(at_scale - value - of_w, 0.0) + sum_error(z.size, abs(value)))
        return risen + of_penalty

    @final
    def _measure_dual(self, u: Array, edges: Array, errors: Array) -> float:
        """Evaluate the bound at the worst edges; a balance missed by rounding is made good.

        Penalties' conjugates rise with the sizes of edges, so they are evaluated at edges that are larger by their
        errors. A sum y'u = d in place of 0 is mended by moving one multiplier by d: an edge moves by at most
        d max |H_ij|, and the loss's part by d times its mean slope.
        """
        loss, s, one_sided = self.loss, self.signs * u, self.nonnegative
        size, magnitude = float(np.abs(u).sum()), abs(loss.dual_value(u))
        if not (size > 0 and np.isfinite(magnitude)):
            return 0.0
        missed, summary = self._measure_imbalance(s), self.linear_map.summarise(s, edges, one_sided)
        nominal, shrunk = self.bound(u, summary), u * self.penalty.shrink(summary)
        # a loss may be bounded at multipliers that are as far from these: so may their edges be, and so is their sum
        off = loss.displacement(shrunk)
        worst = self.bound(u, self.linear_map.summarise(s, edges, one_sided, errors, missed + 2 * off))
        change = abs(nominal - worst) if np.isfinite(nominal) and np.isfinite(worst) else np.inf
        return change + loss.dual_rounding(u) + (missed + off) * (magnitude / size)

    def _measure_imbalance(self, s: Array) -> float:
        """Return the largest |sum of s| over the outputs where an intercept wants it to be 0, with one rounding."""
        if not self.intercept:
            return 0.0
        return max(abs(dot(side, np.ones(len(side)))) for side in s.reshape(len(s), -1).T)

    def residuals(self, point: Point, products: Products | None = None) -> dict[str, float]:
        """Evaluate the KKT residuals of a complete point, as it is: of loss, penalty, signs and intercept."""
        (loss, penalty), (w, b, u) = self.formulation.terms, self._read(point)
        products = Products(self.linear_map) if products is None else products
        (f, _), (edges, _) = products.scores(w), products.edges(self.signs * u)
        z = self.signs * (f if b is None else f + self.linear_map.shift(w, b))
        one_sided, intercept = self.nonnegative, self.intercept
        signs = max(0.0, float(-w.min())) if one_sided else 0.0
        return {
            "primal feasibility": max(signs, penalty.primal_violation(w), loss.primal_violation(z, point)),
            "dual feasibility": max(loss.violation(u), imbalance(u, self.signs) if intercept else 0.0),
            "complementary slackness": loss.slackness(z, u),
            "stationarity": self.measure_stationarity(w, f, edges),
            "pricing slack": penalty.pricing_slack(edges if one_sided else np.abs(edges)),
        }

    def measure_stationarity(self, w: Array, f: Array, edges: Array) -> float:
        """Measure how far weights are from the best for their edges; relative."""
        return self.linear_map.measure_stationarity(self.penalty, w, f, edges, self.nonnegative)

    @final
    def _read(self, point: Point) -> tuple[Any, Any, Any]:
        """Return weights, intercept and multipliers in the shapes of the map; None for those that are not given."""
        pairs = zip(map(point.get, self.letters), self._inner_shapes, strict=True)
        w, b, u = (None if values is None else np.reshape(values, shape) for values, shape in pairs)
        return w, b if self.intercept else None, u

    @final
    def _scales(self, z: Array, w: Array) -> tuple[float, ...]:
        """Return factors on w and b worth trying: 1, and what the loss suggests if the penalty's domain allows it."""
        loss, penalty = self.formulation.terms
        scale = loss.rescaling(z)
        allowed = penalty.primal_violation(scale * w) <= FEASIBLE * max(1.0, float(np.abs(w).sum()))
        return (1.0, scale) if scale != 1 and allowed else (1.0,)

    def infeasibility(self) -> CvxensError | None:
        """Prove that there is no feasible point, where a solver claims so; None where there is no such proof."""
        if np.isfinite(self.loss.value(np.zeros((len(self.y), *self.outputs)))):
            return None
        return not_separable(self.H, self.y, self.intercept, self.nonnegative)

    @cached_property
    def _model(self) -> Model:
        model = self.build()
        for name, parameter in model.parameters.items():
            parameter.value = vars(self)[name]
        if not model.problem.is_dcp(dpp=True):
            found = "found a problem that is not convex by cvxpy's rules (DCP, DPP)"
            remedy = "give a convex loss and a convex penalty, written with cvxpy's atoms"
            raise InvalidInput(type(self).__name__, found, remedy)
        return model

    @final
    @property
    def problem(self) -> cp.Problem:
        """The formulation as a ``cvxpy.Problem``."""
        return self._model.problem

    @final
    def solve(self, solver: str | None = None, **options: object) -> Solution:
        """Solve with a solver of cvxpy's.

        Parameters
        ----------
        solver : str or None
            A solver to use and no other. None tries Clarabel, ECOS, OSQP (quadratic programs) and SCS in turn,
            each asked for nine digits, until one reports an optimum; a warning tells of those that failed.
        **options
            Passed to the solver that is tried first, in its own words; they override the nine digits.

        Returns
        -------
        Solution
            ``attempts`` tells how every solver that was tried ended.

        Raises
        ------
        SolverFailed
            No solver reported an optimum; "inaccurate" does not count.
        NotSeparable
            A hard-margin problem has no feasible point.
        """
        solution = solve_model(self._model, solver, options, self.infeasibility)
        tell_of_fallback(solution.attempts)
        return solution

    def certify(self, solution: Claimed = None, /, **arrays: Given) -> Certificate:
        """Say how far a solution is from the optimum.

        Parameters
        ----------
        solution : Solution or mapping of str to array-like
            Found by this problem's `solve`, by a fast solver, or anywhere; or nothing, where `arrays` say it all.
        **arrays : array-like
            The problem's arrays by name; they override those of `solution`.

        Returns
        -------
        Certificate
        """
        if isinstance(solution, Solution):
            solution = {**solution.variables, **solution.duals}
        return certify(self, **{**(solution or {}), **arrays})


def not_separable(H: Columns, y: Array, intercept: bool, nonnegative: bool) -> NotSeparable | None:
    """Find the Farkas vector of margins of at least 1, or None where they can be reached.

    The largest margin of weights with ``sum |w| <= 1`` equals the least largest edge of sample weights u with sum 1;
    at 0 the multipliers u of the margins are the proof. A solver finds them to its digits only. So they are moved to
    where the edges that it takes for 0 are, and are a proof if no edge is above 0 by more than rounding.
    """
    given = H
    if isinstance(H, DenseColumns):
        # each column in a unit of its own, a power of 2: what is rounding of one may be an edge of another
        H = DenseColumns(np.ldexp(H.H, -np.frexp(np.abs(H.H).max(axis=0, initial=0.0))[1]))
    w = cp.Variable(H.shape[1], nonneg=nonnegative)
    b, z, rho = cp.Variable(), cp.Variable(len(y)), cp.Variable()
    f, tied = H.link(w / max(H.largest, np.finfo(float).tiny))
    link = z == cp.multiply(y, f + b if intercept else f)
    size = cp.sum(w) if nonnegative else cp.norm1(w)
    game = cp.Problem(cp.Maximize(rho), [link, *tied, z >= rho, size <= 1])
    u = np.maximum(solve_model(Model(game, {}, {"u": (link, 1.0)}), None, {}).duals["u"], 0)

    def find_largest(H: Columns, u: Array) -> float:
        edges = H.edges(y * u)
        return float((edges if nonnegative else np.abs(edges)).max())

    for candidate in (u, _polish_farkas(H, y, u, intercept, nonnegative)):
        balanced = balance_exactly(balance_classes(candidate, y), y) if intercept else candidate
        if not balanced.any():
            continue
        farkas = balanced / balanced.sum()
        if find_largest(H, farkas) <= edge_rounding(len(y), H.largest):
            return NotSeparable(farkas, find_largest(given, farkas))
    return None


def _polish_farkas(H: Columns, y: Array, u: Array, intercept: bool, nonnegative: bool) -> Array:
    """Return the nearest weights, on the samples that u is on, under which the edges near 0 are 0."""
    # sizes of edges and of sample weights, relative to the largest of theirs, that a solver may take for 0
    near = 1e-6
    kept = np.flatnonzero(u > near * u.max())
    signs = np.zeros((len(y), len(kept)))
    signs[kept, np.arange(len(kept))] = y[kept]
    edges = H.edges(signs)
    tight = edges @ u[kept] > -near * H.largest * u.sum() if nonnegative else np.full(len(edges), True)
    equations = np.vstack([edges[tight], *([y[kept]] if intercept else [])])
    polished, step = np.zeros_like(u), np.linalg.lstsq(equations, equations @ u[kept])[0]
    polished[kept] = np.maximum(u[kept] - step, 0.0)
    return polished


def fit_slopes(
    multipliers: tuple[Array, Array],
    slopes: tuple[Array, Array],
    price: Callable[[Array], Array],
    sums: Sequence[tuple[Array, float]] = (),
    level: bool = False,
) -> Array:
    """Return multipliers within their limits under which the edges are as near as possible to theirs.

    Away from its kinks a loss has one slope at every margin. At a kink, as at the margin 1 of a hinge, it has an
    interval of them, and at an optimum the right ones balance the intercept and bring every edge to where the penalty's
    slope at its weight is. So they are the least squares of a small system: an unknown for every sample at a kink, and
    a row for every weight that is not 0, for every edge that would exceed its limit, and for every sum that is
    prescribed. What such slopes do not say, `Problem` asks a solver for.

    Parameters
    ----------
    multipliers : pair of ndarray of shape (n_samples,)
        The least and the largest multiplier of every sample; equal where the loss has one slope.
    slopes : pair of ndarray of shape (n_weights,)
        The least and the largest slope of the penalty at every weight, within which its edge should be.
    price : callable
        Returns the edges (n_weights, k) of k vectors of multipliers (n_samples, k).
    sums : sequence of (ndarray of shape (n_samples,), float)
        Vectors a and numbers t with a'u = t.
    level : bool
        Whether slopes are relative to a number that is free, as those of weights on a simplex are.
    """
    (low, high), (least, largest) = multipliers, slopes
    tied, u = np.flatnonzero(low < high), np.where(np.isfinite(high), (low + high) / 2, low)
    # samples at kinks up to which the system is solved; with more of them the slopes stay in the middle
    if not 0 < tied.size <= 1000:
        return u
    u[tied] = 0.0
    unit = np.zeros((len(u), len(tied)))
    unit[tied, np.arange(len(tied))] = 1.0
    # the edges are E x + e for the multipliers x at kinks, and so are the sums
    E, e = price(unit), price(u[:, np.newaxis])[:, 0]
    size = float(np.abs(E).max(initial=0.0)) or 1.0
    A = np.array([size * a[tied] for a, _ in sums]).reshape(len(sums), len(tied))
    d, rows = np.array([size * (total - a @ u) for a, total in sums]), np.flatnonzero(least == largest)
    # how often edges that exceed their limits are added, up to 50 at a time
    for _ in range(20):
        is_wide = least[rows] < largest[rows]
        wide = rows[is_wide]
        # E x - t = slope - e, where the slope of a row with limits is one more unknown, and t is 0 unless it is free
        M = np.hstack([E[rows], -np.eye(len(rows))[:, is_wide], np.full((len(rows), int(level)), -1.0)])
        M = np.vstack([M, np.hstack([A, np.zeros((len(A), M.shape[1] - len(tied)))])])
        target = np.concatenate([np.where(is_wide, 0.0, least[rows]) - e[rows], d])
        lower = np.concatenate([low[tied], least[wide], np.full(int(level), -np.inf)])
        upper = np.concatenate([high[tied], largest[wide], np.full(int(level), np.inf)])
        x = _least_squares(M, target, (lower, upper))
        u[tied] = x[: len(tied)]
        edges = E @ u[tied] + e - (x[-1] if level else 0.0)
        off = np.maximum(edges - largest, least - edges)
        off[rows] = -np.inf
        worst = np.argsort(-off)[:50]
        # by how much an edge exceeds its limit, relative to the largest of all, before it is added
        worst = worst[off[worst] > 1e-10 * float(np.abs(edges).max())]
        if not worst.size:
            break
        rows = np.concatenate([rows, worst])
    return u


def _least_squares(M: Array, target: Array, ends: tuple[Array, Array]) -> Array:
    """Return the x within `ends` that minimises ``|M x - target|``."""
    if not M.size:
        return np.where(np.isfinite(ends[0]), ends[0], 0.0)
    if len(M) > M.shape[1]:
        # |M x - target| = |R x - Q'target| and a constant
        Q, R = qr(M, mode="economic")
        M, target = R, Q.T @ target
    # unknowns up to which an active-set method is used, which is exact; it changes the set one by one
    return np.asarray(lsq_linear(M, target, ends, method="bvls" if M.shape[1] <= 300 else "trf").x)
