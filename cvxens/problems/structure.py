"""The structure of a penalty: what of it is a sum over weights or rows of them, and what is a function of their sum.

Every penalty here is ``sum_j phi(n_j) + psi(sum_j n_j)`` with n_j the size of the weights of hypothesis j: |w_j|, or a
norm of its row where there are several outputs, or each weight by itself; or with one n, the 2-norm of all weights. An
l1 norm, squares, boxes, budgets, balls, elastic nets, Huber penalties, groups and powers of an l1 norm are such sums.
Their conjugate is made of one-dimensional ones:

    P*(E) = min over lam of  psi*(lam) + sum_j phi*(|E_j| - lam),

with |E_j| the dual norm, as psi(T) is the largest ``lam T - psi*(lam)``. Any lam at all gives a bound. The price of a
further weight is ``lam + phi'(0)``: a multiplier, which the slope of P in that weight is not where psi has a kink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems import curves
from cvxens.problems.curves import Curve
from cvxens.types import Array

ALL: Literal["all"] = "all"
"""What stands for the order of a norm where all weights are one row."""

DUAL_NORMS: Mapping[float | str | None, float] = {1.0: inf, 2.0: 2.0, inf: 1.0}
"""The dual of each norm of a row, by their orders."""


class Unrecognised(Exception):
    """A penalty is not a sum that `Structure` knows; says which part of its expression is to blame."""


@dataclass(frozen=True, eq=False)
class Structure:
    """``sum_j phi(n_j) + psi(sum_j n_j)``.

    Parameters
    ----------
    norm : float or None
        The order of the norm n_j of a row: 1, 2 or inf; None where every weight counts by itself, and `ALL` where all
        weights are one row, of norm 2, so that all is a function of the one n, phi.
    entry : Curve
        phi, the function that is summed over the sizes of weights.
    total : Curve
        psi, what is a function of the sum of the sizes; constants are in it.
    """

    norm: float | Literal["all"] | None = None
    entry: Curve = field(default_factory=Curve.of)
    total: Curve = field(default_factory=Curve.of)

    @property
    def row_norm(self) -> float:
        """The order of the norm over the outputs by which edges are ranked: the dual one."""
        return DUAL_NORMS.get(self.norm, inf)

    @property
    def constant(self) -> float | None:
        """The constant that psi is; None where it is none."""
        form = self.total.form
        return form[0] if form is not None and not any(form[1:]) else None

    @property
    def factors(self) -> tuple[float, float] | None:
        """The factors of a sum of sizes and of squares alone; None of others."""
        form = self.entry.form
        return (form[2], form[3]) if form is not None and not any(form[:2]) and self.constant == 0 else None

    def equals(self, other: Structure) -> bool:
        """True if both take the same norm, and have the same values wherever they are looked at."""
        t = np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 97)])
        pairs = ((self.entry, other.entry), (self.total, other.total))
        same = [np.array_equal(one.values(t), two.values(t)) for one, two in pairs]
        return self.norm == other.norm and all(same)

    def plus(self, other: Structure) -> Structure:
        """Return the sum of two penalties; Unrecognised where they take different norms of a row."""
        norm = _find_common_norm((self, other))
        return Structure(norm, self.entry.plus(other.entry), self.total.plus(other.total))

    @property
    def is_indifferent(self) -> bool:
        """True if it is a sum of squares and a constant alone, which needs no norm of its own."""
        form = self.entry.form
        of_squares = form is not None and not any(form[:3]) and (self.norm in {None, 2.0} or not any(form))
        return of_squares and self.constant is not None

    def times(self, factor: float) -> Structure:
        """Return ``factor`` times the penalty."""
        return Structure(self.norm, self.entry.times(factor), self.total.times(factor))

    def of_total(self) -> Curve:
        """Return the penalty as a function of the sum of the sizes; Unrecognised where it is none."""
        form = self.entry.form
        if self.norm != ALL and (form is None or any(form[:2]) or form[3]):
            raise Unrecognised("a function of a sum that is not an l1 norm")
        return self.entry.plus(self.total)


def _of_total(norm: float | Literal["all"] | None, total: Curve) -> Structure:
    """Return the penalty that is a function of the sum of the sizes, which of one row is one of its size."""
    return Structure(norm, entry=total) if norm == ALL else Structure(norm, total=total)


def _find_common_norm(sums: Sequence[Structure]) -> float | Literal["all"] | None:
    """Return the norm of the rows that all sums take which need one; Unrecognised where they take different ones."""
    norms = {each.norm for each in sums if not each.is_indifferent}
    norm = next(iter(norms), sums[0].norm)
    # squares are the same sum by weights and by rows of norm 2, and by those of no other norm
    has_squares = any(each.is_indifferent and any(each.entry.form or ()) for each in sums)
    if len(norms) > 1 or (norm in {1.0, inf} and has_squares):
        beside = "a norm of all weights beside other sums"
        raise Unrecognised(beside if ALL in norms else "a sum of different norms of the rows")
    return norm


@dataclass(frozen=True, eq=False)
class _Sizes:
    """One number for every weight or for every row: a function of the weight, or of the norm of the row."""

    curve: Curve
    norm: float | None = None
    outputs_axis: int | None = None  # along which the outputs of a hypothesis lie; None where that is lost

    def summed(self) -> Structure:
        """Return the sum of the numbers."""
        return Structure(self.norm, self.curve)


_Node = float | _Sizes | Structure


def read_structure(expression: Any, w: Any, constraints: Sequence[Any] = ()) -> Structure:
    """Read a cvxpy expression in the variable `w` and constraints on it as a `Structure`; Unrecognised if it is none.

    `w` has a row for every hypothesis, and is declared nonnegative where weights are.
    """
    if any(part.parameters() for part in (expression, *constraints)):
        raise Unrecognised("cvxpy parameters, whose values may change")
    if {v.id for part in (expression, *constraints) for v in part.variables()} - {w.id}:
        raise Unrecognised("variables of its own")
    reader = _Reader(w)
    node = reader.read(expression)
    if isinstance(node, _Sizes):
        raise Unrecognised("no number")
    found = _as_structure(node).plus(reader.read_constraints(constraints))
    form = found.entry.form
    is_single = w.ndim == 1 or w.shape[1] == 1 or (found.norm == 1 and form is not None and not form[3])
    if is_single and found.norm != ALL:
        # of one number per row every norm is its size, and sums of norms of order 1 are sums over all weights
        found = replace(found, norm=None)
    if not np.isfinite(found.total.values(np.asarray(found.total.least))):
        raise InvalidInput("penalty", "found constraints that no weights satisfy", "loosen some of them")
    _check_shape(found, nonnegative=w.is_nonneg())
    return found


def read_slope(expression: Any, w: Any) -> tuple[float, float]:
    """Return what a unit of size costs at least by those terms of a sum that are read, and the order of the size.

    Sizes are sums of norms of rows. ``|v|_p >= |v|_q`` for p <= q, so that of several orders the largest counts.
    """
    numbers, node = take_factor(expression)
    factor = float(numbers.flat[0])
    if type(node).__name__ == "AddExpression":
        slopes, orders = zip(*(read_slope(part, w) for part in node.args), strict=True)
        return factor * sum(slopes), max(orders)
    try:
        found = read_structure(expression, w)
    except Unrecognised:
        return 0.0, 1.0
    if found.norm == ALL or found.total.first_slope < 0:
        return 0.0, 1.0
    return found.entry.first_slope, 1.0 if found.norm is None else found.norm


@dataclass(frozen=True, eq=False)
class SumOfCurves:
    """``sum_i price_i phi(v_i) + slope_i z_i`` with ``v_i = scale_i z_i + shift_i``, and a constant.

    Parameters
    ----------
    curve : Curve
        phi.
    prices, scales, shifts, slopes : ndarray of shape (n_samples,)
        Prices are above 0, and scales are not 0.
    constant : float
    """

    curve: Curve
    prices: Array
    scales: Array
    shifts: Array
    slopes: Array
    constant: float


def take_factor(node: Any) -> tuple[Array, Any]:
    """Return the numbers that an expression is another one times, entry by entry, and that one."""
    name = type(node).__name__
    if node.is_constant() or name not in {"NegExpression", "multiply", "MulExpression", "DivExpression"}:
        return np.ones(()), node
    *numbers, other = sorted(node.args, key=lambda part: not part.is_constant())
    of_rows = name == "MulExpression" and not all(part.is_scalar() for part in node.args)
    if of_rows or not all(part.is_constant() for part in numbers) or (name[0] == "D" and other is not node.args[0]):
        return np.ones(()), node
    factor, inner = take_factor(other)
    number = np.asarray(numbers[0].value if numbers else -1.0, dtype=float)
    return factor * (1 / number if name[0] == "D" else number), inner


def read_sum(expression: Any, z: Any) -> SumOfCurves | None:
    """Return the sum over samples of one function that an expression in a cvxpy variable is; None of any other.

    Samples may have prices, scales and shifts of their own, and terms that are linear.
    """
    try:
        return _SampleReader(z).read_sum(expression)
    except Unrecognised:
        return None


def _check_shape(structure: Structure, nonnegative: bool) -> None:
    """Raise Unrecognised where phi is not 0 at 0, falls there, or differs between a weight and its negative."""
    entry, t = structure.entry, np.concatenate([[0.0], np.geomspace(1e-9, 1e9, 61)])
    if structure.norm != ALL and entry.values(np.zeros(())) != 0:
        raise Unrecognised("a term that does not vanish at weights of 0")
    if not nonnegative and structure.norm is None:
        up, down = entry.values(t), entry.values(-t)
        if not np.array_equal(up, down) and not np.allclose(up, down, rtol=1e-12, atol=0):
            raise Unrecognised("a term that tells a weight from its negative")
    if entry.first_slope < 0:
        raise Unrecognised("a term that falls at weights of 0")


class _Reader:
    """Reads the tree of a cvxpy expression from the leaves up; what it meets and does not know is Unrecognised."""

    def __init__(self, w: Any) -> None:
        self.w = w
        self.n_outputs = w.shape[1] if w.ndim == 2 else 1

    def read(self, node: Any) -> _Node:
        if node.is_constant():
            return self._read_constant(node.value)
        if node is self.w:
            curve = Curve.of(size=1.0) if self.w.is_nonneg() else Curve.of(slope=1.0)
            return _Sizes(curve, outputs_axis=1 if self.w.ndim == 2 else None)
        numbers, inner = take_factor(node)
        if inner is not node:
            return _scale(self.read(inner), self._read_constant(numbers))
        name = type(node).__name__.removesuffix("Approx")
        if name == "indicator":
            return self.read_constraints(node.args)
        method = vars(_Reader).get(f"_read_{name}")
        if method is None and name not in OF_PARTS:
            raise Unrecognised(f"`{type(node).__name__}`")
        parts = [self.read(argument) for argument in node.args]
        return OF_PARTS[name](*parts) if method is None else method(self, node, *parts)

    def _read_constant(self, values: Any) -> float:
        values = np.asarray(values, dtype=float)
        if values.size and np.ptp(values):
            raise Unrecognised("constants that differ from weight to weight")
        return float(values.flat[0])

    # sums

    def _read_MulExpression(self, node: Any, *parts: _Node) -> _Node:
        factor, other = sorted(parts, key=lambda part: not isinstance(part, float))
        if not isinstance(factor, float) or node.ndim or node.args[0].ndim > 1:
            raise Unrecognised("a product with a matrix")
        return self._sum(_scale(other, factor))

    # shapes

    def _read_Promote(self, _: object, part: _Node) -> _Node:
        if isinstance(part, Structure):
            raise Unrecognised("a sum compared with single weights")
        return part

    def _read_reshape(self, node: object, part: _Node) -> _Node:
        if isinstance(part, _Sizes):
            return replace(part, outputs_axis=None)
        return part

    def _read_transpose(self, node: Any, part: _Node) -> _Node:
        if isinstance(part, _Sizes):
            axis = None if part.outputs_axis is None or node.ndim != 2 else 1 - part.outputs_axis
            return replace(part, outputs_axis=axis)
        return part

    # reductions

    def _read_Sum(self, node: Any, part: _Node) -> _Node:
        return self._sum(part, node.axis)

    def _sum(self, part: _Node, axis: int | tuple[int, ...] | None = None) -> _Node:
        if isinstance(part, Structure):
            return part
        if isinstance(part, float):
            raise Unrecognised("a term that does not vanish at weights of 0")
        return part.summed() if axis is None else self._norm_of_rows(1.0, axis, part)

    def _read_norm1(self, node: Any, part: _Node) -> _Node:
        if not isinstance(part, _Sizes):
            raise Unrecognised("a norm of sums")
        return self._sum(_compose(part, Curve.absolute), node.axis)

    def _read_Pnorm(self, node: Any, part: _Node) -> _Node:
        return self._norm_of_rows(float(node.p), node.axis, part)

    def _read_norm_inf(self, node: Any, part: _Node) -> _Node:
        return self._norm_of_rows(inf, node.axis, part)

    def _read_max(self, node: Any, part: _Node) -> _Node:
        if not isinstance(part, _Sizes) or part.curve.form is None or part.curve.form[1]:
            raise Unrecognised("a largest weight")
        return self._norm_of_rows(inf, node.axis, part)

    def _norm_of_rows(self, order: float, axis: int | tuple[int, ...] | None, part: _Node) -> _Node:
        """Return the norm over the outputs of c W, or over all of them."""
        factor = part.curve.factor if isinstance(part, _Sizes) else None
        if order == 2 and axis is None and isinstance(part, _Sizes) and part.norm is None and factor is not None:
            return Structure(ALL, Curve.of(size=factor))
        if not isinstance(part, _Sizes) or part.norm is not None or axis is None or axis != part.outputs_axis:
            raise Unrecognised(f"a norm of order {order:g} over all hypotheses")
        if factor is None or order not in DUAL_NORMS:
            raise Unrecognised(f"a norm of order {order:g} of a function of the weights")
        return _Sizes(Curve.of(size=factor), order)

    def _read_quad_over_lin(self, node: object, part: _Node, divisor: _Node) -> _Node:
        if not isinstance(divisor, float) or getattr(node, "axis", None) is not None:
            raise Unrecognised("a quotient of squares")
        return _scale(self._sum(_compose(part, Curve.squared)), 1 / divisor)

    # functions of one number

    def _read_Power(self, node: Any, part: _Node) -> _Node:
        outer = curves.power(p := _read_number(node.p))
        return _compose(part, Curve.squared if p == 2 else lambda curve: curve.then(outer))

    _read_power = _read_Power

    def _read_huber(self, node: Any, part: _Node) -> _Node:
        outer = curves.huber(_read_number(node.M))
        return _compose(part, lambda curve: curve.then(outer))

    # constraints

    def read_constraints(self, constraints: Sequence[Any]) -> Structure:
        """Return the structure that is 0 where constraints hold, and infinite elsewhere."""
        found = Structure()
        for constraint in constraints:
            name = type(constraint).__name__
            if name not in {"Inequality", "Equality"}:
                raise Unrecognised(f"a constraint of the kind {name}")
            low, high = (self.read(side) for side in constraint.args)
            excess = _add([low, _scale(high, -1.0)])
            if name == "Equality":
                excess = _compose(excess, Curve.absolute)
            held = _compose(excess, lambda curve: curve.then(curves.nonpositive))
            found = found.plus(held.summed() if isinstance(held, _Sizes) else _as_structure(held))
        return found


def _read_number(value: Any) -> float:
    """Return a number that an atom keeps, which some versions of cvxpy keep as a constant."""
    return float(getattr(value, "value", value))


def _as_structure(node: _Node) -> Structure:
    if isinstance(node, Structure):
        return node
    if isinstance(node, float):
        return Structure(total=Curve.of(node))
    raise Unrecognised("a sum compared with single weights")


def _add(parts: Sequence[_Node]) -> _Node:
    if not any(isinstance(part, _Sizes) for part in parts):
        total = Structure()
        for part in parts:
            total = total.plus(_as_structure(part))
        return total
    sizes = [part for part in parts if isinstance(part, _Sizes)]
    curve = sizes[0].curve.plus(*(_curve_like(part, sizes[0]) for part in parts if part is not sizes[0]))
    return replace(sizes[0], curve=curve)


def _curve_like(part: _Node, sizes: _Sizes) -> Curve:
    """Return a part beside one number per weight or row as a curve of the same."""
    if isinstance(part, float):
        return Curve.of(part)
    if isinstance(part, Structure):
        raise Unrecognised("a sum compared with single weights")
    if part.norm != sizes.norm:
        raise Unrecognised("a sum of different norms of the rows")
    return part.curve


def _scale(node: _Node, factor: float) -> _Node:
    if isinstance(node, float):
        return factor * node
    if isinstance(node, Structure):
        return node.times(factor)
    return replace(node, curve=node.curve.times(factor))


def _compose(node: _Node, operate: Callable[[Curve], Curve]) -> _Node:
    if isinstance(node, float):
        return float(operate(Curve.of(node)).values(np.zeros(())))
    if isinstance(node, Structure):
        return _of_total(node.norm, operate(node.of_total()))
    return replace(node, curve=operate(node.curve))


def _unite(parts: Sequence[_Node], best: Callable[[Sequence[Curve]], Curve]) -> _Node:
    """Return the largest or the smallest of some functions of the same weights, rows or sum."""
    if sizes := [part for part in parts if isinstance(part, _Sizes)]:
        return replace(sizes[0], curve=best([_curve_like(part, sizes[0]) for part in parts]))
    sums = [_as_structure(part) for part in parts]
    norm = _find_common_norm(sums)
    return _of_total(norm, best([replace(part, norm=norm).of_total() for part in sums]))


class _SampleReader(_Reader):
    """Reads sums over samples: what is affine in z sample by sample is one number v, of which all else is a function.

    v is z itself where scale and shift are the same for all samples, else what is affine and met first.
    """

    def __init__(self, z: Any) -> None:
        super().__init__(z)
        self.line: tuple[Array, Array] | None = None
        """Scale and shift of v, once there is one."""

    def read_sum(self, expression: Any) -> SumOfCurves:
        shape, prices = self.w.shape, np.zeros(0)
        curves: list[Curve] = []
        slopes, constant = np.zeros(shape), 0.0
        for factor, weights, node, square in self._split(expression, np.ones(shape)):
            if node.is_affine() and not square:
                # of a number that is added to no vector it is the first entry
                scale, shift = (factor * weights * part for part in self._read_line(node))
                slopes, constant = slopes + scale, constant + float(shift.sum() if node.ndim else shift.flat[0])
                continue
            if curves and not np.array_equal(prices, weights):
                raise Unrecognised("functions of different prices")
            prices, part = weights, self.read(node)
            if not isinstance(part, _Sizes):
                raise Unrecognised("no function of single samples")
            curves.append((part.curve.squared() if square else part.curve).times(factor))
        if not curves or prices.min() <= 0 or self.line is None:
            raise Unrecognised("no function of a positive price")
        curve, (scales, shifts) = curves[0].plus(*curves[1:]), self.line
        if not np.ptp(slopes / prices) and not shifts.any() and (scales == 1).all():
            curve, slopes = curve.plus(Curve.of(slope=float((slopes / prices)[0]))), np.zeros(shape)
        return SumOfCurves(curve, prices, scales, shifts, slopes, constant)

    def _split(self, node: Any, weights: Array, factor: float = 1.0, *, summed: bool = False) -> Iterator[Any]:
        """Yield of all terms of a sum a factor, weights, a function of single samples, and if it is to be squared."""
        name, (numbers, inner) = type(node).__name__, take_factor(node)
        if inner is not node and np.ptp(numbers):
            yield from self._split(inner, weights * numbers, factor, summed=summed)
        elif inner is not node:
            yield from self._split(inner, weights, factor * float(numbers.flat[0]), summed=summed)
        elif name == "AddExpression":
            for part in node.args:
                yield from self._split(part, weights, factor, summed=summed)
        elif name == "MulExpression" and node.args[0].shape == node.args[1].shape == self.w.shape:
            number, part = sorted(node.args, key=lambda part: not part.is_constant())
            if not number.is_constant():
                raise Unrecognised("a product of scores")
            yield from self._split(part, weights * np.asarray(number.value, dtype=float), factor, summed=True)
        elif name == "Sum" and node.args[0].shape == self.w.shape and not (summed or node.ndim):
            yield from self._split(node.args[0], weights, factor, summed=True)
        elif name == "quad_over_lin" and node.args[1].is_constant() and not (summed or node.ndim):
            yield factor / float(node.args[1].value), weights, node.args[0], True
        elif node.shape == self.w.shape if summed else node.is_constant():
            yield factor, weights, node, False
        else:
            raise Unrecognised(f"`{name}`")

    def read(self, node: Any) -> _Node:
        if node.is_constant() or not node.is_affine():
            return super().read(node)
        scale, shift = self._read_line(node)
        if self.line is None:
            is_same = not (np.ptp(scale) or np.ptp(shift))
            self.line = (np.ones_like(scale), np.zeros_like(shift)) if is_same else (scale, shift)
        if not self.line[0].all():
            raise Unrecognised("scores that count for some samples alone")
        factors = scale / self.line[0]
        offsets = shift - factors * self.line[1]
        if np.ptp(factors) or np.ptp(offsets):
            raise Unrecognised("different shifts of scores")
        return _Sizes(Curve.of(float(offsets[0]), float(factors[0])))

    def _read_line(self, node: Any) -> tuple[Array, Array]:
        """Return scale and shift of what is affine in z, sample by sample."""
        shape, name = self.w.shape, type(node).__name__
        if node is self.w:
            return np.ones(shape), np.zeros(shape)
        if node.is_constant():
            return np.zeros(shape), np.broadcast_to(np.asarray(node.value, dtype=float), shape)
        numbers, inner = take_factor(node)
        if inner is not node:
            scale, shift = self._read_line(inner)
            return numbers * scale, numbers * shift
        if node.shape != shape or name != "AddExpression":
            raise Unrecognised(f"`{name}`")
        scales, shifts = zip(*map(self._read_line, node.args), strict=True)
        return sum(scales), sum(shifts)


OF_PARTS: Mapping[str, Callable[..., _Node]] = {
    "AddExpression": lambda *parts: _add(parts),
    "abs": lambda part: _compose(part, Curve.absolute),
    "exp": lambda part: _compose(part, lambda curve: curve.then(curves.exponential)),
    "log": lambda part: _compose(part, lambda curve: curve.then(curves.logarithm)),
    "logistic": lambda part: _compose(part, lambda curve: curve.then(curves.logistic)),
    "maximum": lambda *parts: _unite(parts, curves.largest),
    "minimum": lambda *parts: _unite(parts, lambda of_all: curves.largest(of_all, -1.0)),
}
"""What atoms of cvxpy make of their arguments, whatever else they keep; others have a method of the reader."""
