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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, Literal

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems import curves
from cvxens.problems.curves import Curve

ALL: Literal["all"] = "all"
"""What stands for the order of a norm where all weights are one row."""

DUAL_NORMS: Mapping[float | str | None, float] = {1.0: inf, 2.0: 2.0, inf: 1.0}
"""The dual of each norm of a row, by their orders."""


class Unrecognised(Exception):
    """A penalty is not a sum that `Structure` knows; says which part of its expression is to blame."""


@dataclass(frozen=True, eq=False)
class Structure:
    """``sum_j (size n_j + square n_j^2 + phi(n_j)) + psi(sum_j n_j)``.

    Parameters
    ----------
    norm : float or None
        The order of the norm n_j of a row: 1, 2 or inf; None where every weight counts by itself, and `ALL` where all
        weights are one row, of norm 2, so that all is a function of the one n.
    size, square : float
        The factors of the l1 norm (or of the sum of the norms of the rows) and of the sum of squares.
    entries : tuple of Curve
        Their sum is phi.
    totals : tuple of Curve
        Their sum is psi.
    constant : float
        Added to it all.
    """

    norm: float | Literal["all"] | None = None
    size: float = 0.0
    square: float = 0.0
    entries: tuple[Curve, ...] = ()
    totals: tuple[Curve, ...] = ()
    constant: float = 0.0

    @property
    def row_norm(self) -> float:
        """The order of the norm over the outputs by which edges are ranked: the dual one."""
        return DUAL_NORMS.get(self.norm, inf)

    @cached_property
    def entry(self) -> Curve:
        """The function ``size t + square t^2 + phi(t)`` that is summed over the sizes of weights."""
        size, square = self.size, self.square
        known = Curve(lambda t: (t * (size + square * t), size + 2 * square * t, size + 2 * square * t))
        return Curve.identity().then(curves.absolute).then(known.sides).plus(*self.entries, *self._split_totals[0])

    @cached_property
    def total(self) -> Curve:
        """What is a function of the sum of the sizes; the constant is in it."""
        return Curve.constant(self.constant).plus(*self._split_totals[1])

    @property
    def _split_totals(self) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
        """What of psi counts with phi, and what does not: of one n both are functions of it, with one conjugate."""
        return (self.totals, ()) if self.norm == ALL else ((), self.totals)

    def equals(self, other: Structure) -> bool:
        """True if both take the same norm, and have the same values wherever they are looked at."""
        t = np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 97)])
        pairs = ((self.entry, other.entry), (self.total, other.total))
        same = [np.array_equal(one.values(t), two.values(t)) for one, two in pairs]
        return self.norm == other.norm and all(same)

    def plus(self, other: Structure) -> Structure:
        """Return the sum of two penalties; Unrecognised where they take different norms of a row."""
        norm = _find_common_norm((self, other))
        # squares are the same sum by weights and by rows of norm 2
        if norm not in {None, 2.0, ALL} and (self.square or other.square):
            raise Unrecognised("a sum of different norms of the rows")
        return Structure(
            norm,
            self.size + other.size,
            self.square + other.square,
            self.entries + other.entries,
            self.totals + other.totals,
            self.constant + other.constant,
        )

    @property
    def is_indifferent(self) -> bool:
        """True if it is a sum of squares and a constant alone, which needs no norm of its own."""
        return not (self.size or self.entries or self.totals)

    def times(self, factor: float) -> Structure:
        """Return ``factor`` times the penalty."""
        return Structure(
            self.norm,
            factor * self.size,
            factor * self.square,
            tuple(curve.times(factor) for curve in self.entries),
            tuple(curve.times(factor) for curve in self.totals),
            factor * self.constant,
        )

    def of_total(self) -> Curve:
        """Return the penalty as a function of the sum of the sizes; Unrecognised where it is none."""
        if (self.square or self.entries) and self.norm != ALL:
            raise Unrecognised("a function of a sum that is not an l1 norm")
        return self.entry.plus(self.total)


def _find_common_norm(sums: Sequence[Structure]) -> float | Literal["all"] | None:
    """Return the norm of the rows that all sums take which need one; Unrecognised where they take different ones."""
    norms = {each.norm for each in sums if not each.is_indifferent}
    if len(norms) > 1:
        of_all = ALL in norms
        raise Unrecognised(
            "a norm of all weights beside other sums" if of_all else "a sum of different norms of the rows"
        )
    return next(iter(norms), sums[0].norm)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """One number for every weight or for every row: a function of the weight, or of the norm of the row.

    ``size`` is the factor c of c |w|, and ``slope`` that of c w, where it is as simple as that.
    """

    curve: Curve
    norm: float | None = None
    slope: float | None = None
    size: float | None = None
    square: float | None = None
    outputs_axis: int | None = None  # along which the outputs of a hypothesis lie; None where that is lost

    @property
    def factor(self) -> float | None:
        """The c of numbers whose sizes are c |w|; None if there is none."""
        simple = self.size if self.slope is None else self.slope
        return None if simple is None else abs(simple)

    def summed(self) -> Structure:
        """Return the sum of the numbers."""
        if self.size is not None:
            return Structure(self.norm, size=self.size)
        if self.square is not None and self.norm in {None, 2.0}:
            return Structure(self.norm, square=self.square)
        return Structure(self.norm, entries=(self.curve,))

    def then(self, outer: curves.Sides) -> _Sizes:
        return _Sizes(self.curve.then(outer), self.norm, outputs_axis=self.outputs_axis)


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
    found = (Structure(constant=node) if isinstance(node, float) else node).plus(reader.read_constraints(constraints))
    is_single = w.ndim == 1 or w.shape[1] == 1 or (found.norm == 1 and not found.square and not found.entries)
    if is_single and found.norm != ALL:
        # of one number per row every norm is its size, and sums of norms of order 1 are sums over all weights
        found = replace(found, norm=None)
    if not np.isfinite(found.total.values(np.asarray(found.total.least))):
        raise InvalidInput("penalty", "found constraints that no weights satisfy", "loosen some of them")
    _check_shape(found, nonnegative=w.is_nonneg())
    return found


def read_sum(expression: Any, z: Any) -> tuple[Curve, float] | None:
    """Return phi and c of an expression ``sum_i phi(z_i) + c`` in a cvxpy variable; None of any other."""
    try:
        found = _Reader(z).read(expression)
    except Unrecognised:
        return None
    if not isinstance(found, Structure) or found.norm is not None or found.totals:
        return None
    return found.entry, found.constant


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
            return self._read_constant(node)
        if node is self.w:
            positive = 1.0 if self.w.is_nonneg() else None
            return _Sizes(Curve.identity(), slope=1.0, size=positive, outputs_axis=1 if self.w.ndim == 2 else None)
        name = type(node).__name__.removesuffix("Approx")
        if name == "indicator":
            return self.read_constraints(node.args)
        method = vars(_Reader).get(f"_read_{name}")
        if method is None and name not in OF_PARTS:
            raise Unrecognised(f"`{type(node).__name__}`")
        parts = [self.read(argument) for argument in node.args]
        found: _Node = OF_PARTS[name](*parts) if method is None else method(self, node, *parts)
        return found

    def _read_constant(self, node: Any) -> float:
        values = np.asarray(node.value, dtype=float)
        if np.ndim(values) and values.size and not (values == values.flat[0]).all():
            raise Unrecognised("constants that differ from weight to weight")
        return float(values.flat[0])

    # sums and multiples

    def _read_multiply(self, _: Any, *parts: _Node) -> _Node:
        factor, other = sorted(parts, key=lambda part: not isinstance(part, float))
        if not isinstance(factor, float):
            raise Unrecognised("a product of weights")
        return _scale(other, factor)

    def _read_DivExpression(self, _: Any, part: _Node, divisor: _Node) -> _Node:
        if not isinstance(divisor, float):
            raise Unrecognised("a quotient of weights")
        return _scale(part, 1 / divisor)

    def _read_MulExpression(self, node: Any, *parts: _Node) -> _Node:
        if all(argument.is_scalar() for argument in node.args):
            return self._read_multiply(node, *parts)
        if node.is_scalar() and node.args[0].ndim == node.args[1].ndim == 1:
            return self._sum(self._read_multiply(node, *parts))
        raise Unrecognised("a product with a matrix")

    # shapes

    def _read_Promote(self, _: Any, part: _Node) -> _Node:
        if isinstance(part, Structure):
            raise Unrecognised("a sum compared with single weights")
        return part

    def _read_reshape(self, node: Any, part: _Node) -> _Node:
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
        return self._sum(_absolute(part), node.axis)

    def _read_Pnorm(self, node: Any, part: _Node) -> _Node:
        return self._norm_of_rows(float(node.p), node.axis, part)

    def _read_norm_inf(self, node: Any, part: _Node) -> _Node:
        return self._norm_of_rows(inf, node.axis, part)

    def _read_max(self, node: Any, part: _Node) -> _Node:
        if not isinstance(part, _Sizes) or part.size is None:
            raise Unrecognised("a largest weight")
        return self._norm_of_rows(inf, node.axis, part)

    def _norm_of_rows(self, order: float, axis: int | tuple[int, ...] | None, part: _Node) -> _Node:
        """Return the norm over the outputs of c W, or over all of them."""
        if order == 2 and axis is None and isinstance(part, _Sizes) and part.norm is None and part.factor is not None:
            return Structure(ALL, size=part.factor)
        if not isinstance(part, _Sizes) or part.norm is not None or axis is None or axis != part.outputs_axis:
            raise Unrecognised(f"a norm of order {order:g} over all hypotheses")
        if part.factor is None or order not in DUAL_NORMS:
            raise Unrecognised(f"a norm of order {order:g} of a function of the weights")
        return _scale(_Sizes(Curve.identity(), order, size=1.0), part.factor)

    def _read_quad_over_lin(self, node: Any, part: _Node, divisor: _Node) -> _Node:
        if not isinstance(divisor, float) or getattr(node, "axis", None) is not None:
            raise Unrecognised("a quotient of squares")
        if isinstance(part, Structure):
            return _scale(_compose(part, curves.power(2.0)), 1 / divisor)
        return _scale(self._sum(_squared(part)), 1 / divisor)

    # functions of one number

    def _read_Power(self, node: Any, part: _Node) -> _Node:
        p = _read_number(node.p)
        return _squared(part) if p == 2 else _compose(part, curves.power(p))

    _read_power = _read_Power

    def _read_huber(self, node: Any, part: _Node) -> _Node:
        return _compose(part, curves.huber(_read_number(node.M)))

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
                excess = _absolute(excess)
            held = _compose(excess, curves.nonpositive)
            found = found.plus(held.summed() if isinstance(held, _Sizes) else _as_structure(held))
        return found


def _read_number(value: Any) -> float:
    """Return a number that an atom keeps, which some versions of cvxpy keep as a constant."""
    return float(getattr(value, "value", value))


def _as_structure(node: _Node) -> Structure:
    if isinstance(node, Structure):
        return node
    if isinstance(node, float):
        return Structure(constant=node)
    raise Unrecognised("a sum compared with single weights")


def _add(parts: Sequence[_Node]) -> _Node:
    if not any(isinstance(part, _Sizes) for part in parts):
        total = Structure()
        for part in parts:
            total = total.plus(_as_structure(part))
        return total
    sizes = [part for part in parts if isinstance(part, _Sizes)]
    curve = sizes[0].curve.plus(*(_curve_like(part, sizes[0]) for part in parts if part is not sizes[0]))
    known = [part.size for part in sizes if part.size is not None]
    size = sum(known) if len(known) == len(parts) else None
    return _Sizes(curve, sizes[0].norm, size=size, outputs_axis=sizes[0].outputs_axis)


def _curve_like(part: _Node, sizes: _Sizes) -> Curve:
    """Return a part beside one number per weight or row as a curve of the same."""
    if isinstance(part, float):
        return Curve.constant(part)
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
    slope, size, square = (None if of is None else factor * of for of in (node.slope, node.size, node.square))
    return _Sizes(node.curve.times(factor), node.norm, slope, size, square, node.outputs_axis)


def _compose(node: _Node, outer: curves.Sides) -> _Node:
    if isinstance(node, float):
        return float(Curve.constant(node).then(outer).values(np.zeros(())))
    if isinstance(node, Structure):
        return Structure(node.norm, totals=(node.of_total().then(outer),))
    return node.then(outer)


def _absolute(node: _Node) -> _Node:
    found = _compose(node, curves.absolute)
    if isinstance(node, _Sizes) and isinstance(found, _Sizes):
        return replace(found, size=node.factor)
    return found


def _squared(node: _Node) -> _Node:
    found = _compose(node, curves.power(2.0))
    if isinstance(node, _Sizes) and isinstance(found, _Sizes):
        return replace(found, square=None if node.factor is None else node.factor**2)
    return found


def _unite(parts: Sequence[_Node], best: Callable[[Sequence[Curve]], Curve]) -> _Node:
    """Return the largest or the smallest of some functions of the same weights, rows or sum."""
    if sizes := [part for part in parts if isinstance(part, _Sizes)]:
        curve = best([_curve_like(part, sizes[0]) for part in parts])
        return _Sizes(curve, sizes[0].norm, outputs_axis=sizes[0].outputs_axis)
    sums = [_as_structure(part) for part in parts]
    norm = _find_common_norm(sums)
    return Structure(norm, totals=(best([replace(part, norm=norm).of_total() for part in sums]),))


OF_PARTS: Mapping[str, Callable[..., _Node]] = {
    "AddExpression": lambda *parts: _add(parts),
    "NegExpression": lambda part: _scale(part, -1.0),
    "abs": _absolute,
    "exp": lambda part: _compose(part, curves.exponential),
    "log": lambda part: _compose(part, curves.logarithm),
    "logistic": lambda part: _compose(part, curves.logistic),
    "maximum": lambda *parts: _unite(parts, curves.largest),
    "minimum": lambda *parts: _unite(parts, lambda of_all: curves.largest(of_all, -1.0)),
}
"""What atoms of cvxpy make of their arguments, whatever else they keep; others have a method of the reader."""
