"""Products of convex cones, as conic solvers take them: what is inside the dual cone, how deep, and how to get there.

The cones are, in this order: zero, nonnegative, second-order, positive semidefinite (upper triangles, column by column,
off-diagonal entries times sqrt 2), exponential, power, and power of several factors. All but two are their own duals:
the dual of the zero cone is everything, and the dual exponential and power cones have inequalities of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.rounding import EPSILON
from cvxens.types import Array

TINY = float(np.finfo(float).tiny)

FEW = 8.0
"""Rounding errors of one elementary function, in units of the last place, and room."""


@dataclass(frozen=True)
class Cones:
    """A product of cones, by their numbers and sizes.

    Parameters
    ----------
    zero, nonnegative : int
        Rows of the zero and of the nonnegative cone.
    second_order : tuple of int
        Sizes of the second-order cones ``|x[1:]| <= x[0]``.
    semidefinite : tuple of int
        Orders k of the semidefinite cones, each of k (k + 1) / 2 rows.
    exponential : int
        Number of exponential cones ``y exp(x / y) <= z, y > 0``, each of three rows.
    power : tuple of float
        Exponents a of the cones ``x^a y^(1-a) >= |z|``.
    general_power : tuple of tuple of float
        Exponents a of the cones ``prod x_i^a_i >= |z|``, z of one row.

    Examples
    --------
    >>> cones = Cones(zero=1, nonnegative=2, second_order=(3,))
    >>> cones.n_rows, cones.depths(np.array([-9.0, 1.0, 2.0, 5.0, 3.0, 0.0])).round(3)
    (6, array([inf,  1.,  2.,  2.,  2.,  2.]))
    """

    zero: int = 0
    nonnegative: int = 0
    second_order: tuple[int, ...] = ()
    semidefinite: tuple[int, ...] = ()
    exponential: int = 0
    power: tuple[float, ...] = ()
    general_power: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def from_dims(cls, dims: Any) -> Cones:
        """Read the cones that cvxpy has canonicalised to."""
        powers = tuple(tuple(float(a) for a in np.ravel(exponents)) for exponents in dims.pnd)
        return cls(
            int(dims.zero),
            int(dims.nonneg),
            tuple(int(size) for size in dims.soc),
            tuple(int(order) for order in dims.psd),
            int(dims.exp),
            tuple(float(a) for a in dims.p3d),
            powers,
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The rows of each kind of cone, in order."""
        triangles = sum(order * (order + 1) // 2 for order in self.semidefinite)
        general = sum(len(exponents) + 1 for exponents in self.general_power)
        return (
            self.zero,
            self.nonnegative,
            sum(self.second_order),
            triangles,
            3 * self.exponential,
            3 * len(self.power),
            general,
        )

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    @property
    def blocks(self) -> NDArray[np.intp]:
        """The number of the cone that each row is of; every row of a zero or nonnegative cone is one by itself."""
        triangles = [order * (order + 1) // 2 for order in self.semidefinite]
        general = [len(exponents) + 1 for exponents in self.general_power]
        threes = [3] * (self.exponential + len(self.power))
        sizes = [*[1] * (self.zero + self.nonnegative), *self.second_order, *triangles, *threes, *general]
        return np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.intp))

    def for_clarabel(self) -> list[Any]:
        """Return the cones in the words of Clarabel."""
        import clarabel

        rows = [(clarabel.ZeroConeT, self.zero), (clarabel.NonnegativeConeT, self.nonnegative)]
        return [
            *(kind(n) for kind, n in rows if n),
            *(clarabel.SecondOrderConeT(size) for size in self.second_order),
            *(clarabel.PSDTriangleConeT(order) for order in self.semidefinite),
            *(clarabel.ExponentialConeT() for _ in range(self.exponential)),
            *(clarabel.PowerConeT(a) for a in self.power),
            *(clarabel.GenPowerConeT(list(exponents), 1) for exponents in self.general_power),
        ]

    def depths(self, dual: Array) -> Array:
        """Return, row by row, how far its cone's part of a vector is inside the dual cone at least; inf for free rows.

        Rounding is taken off, so a vector whose depths are all 0 or more is in the dual cone.
        """
        parts = self._split(dual)
        found = [np.full(self.zero, np.inf), parts[1]]
        found += [np.repeat(self._of_second_order(parts[2]), self.second_order)] if self.second_order else []
        found += [np.full(len(x), _least_eigenvalue(x, order)) for x, order in self._triangles(parts[3])]
        found += [np.repeat(_of_exponential(parts[4]), 3)]
        found += [np.full(len(x), _of_power(x, exponents)) for x, exponents in self._powers(parts[5], parts[6])]
        return np.concatenate(found)

    def surround(self, dual: Array, errors: Array) -> bool:
        """Return True if every vector within `errors` of this one is in the dual cone.

        That is convex, so it is enough that the corners are: those that are not deeper in it than others.
        """
        if not errors.any():
            return bool(self.depths(dual).min(initial=0.0) >= 0)
        _, nonnegative, second_order, triangles, exponential, power, general = self._split(errors)
        parts = self._split(dual)
        deep = bool((parts[1] >= nonnegative).all())
        if self.second_order:
            deep &= bool((self._of_second_order(parts[2]) >= np.add.reduceat(second_order, self._heads)).all())
        for (x, order), (off, _) in zip(self._triangles(parts[3]), self._triangles(triangles), strict=True):
            deep &= _least_eigenvalue(x, order) >= float(off.sum())
        if self.exponential:
            lowered = parts[4] - np.nextafter(exponential, np.inf) * (exponential > 0)
            raised = lowered.copy()
            raised[::3] = parts[4][::3] + exponential[::3]
            # rounded outwards
            deep &= all(bool((_of_exponential(corner) >= 0).all()) for corner in (lowered, raised))
        pairs = zip(self._powers(parts[5], parts[6]), self._powers(power, general), strict=True)
        for (x, exponents), (off, _) in pairs:
            corner = np.append(x[:-1] - off[:-1], abs(x[-1]) + off[-1])
            deep &= _of_power(corner, exponents) >= 0
        return bool(deep)

    def enter(self, dual: Array) -> Array:
        """Return a vector of the dual cone near one that is not far outside of it."""
        dual = dual.copy()
        _, nonnegative, second_order, triangles, exponential, power, general = self._split(dual)
        np.maximum(nonnegative, 0.0, out=nonnegative)
        if self.second_order:
            heads = self._heads
            lacking = np.maximum(-self._of_second_order(second_order), 0.0)
            # the head is rounded where it was and where it goes
            rounding = np.where(lacking > 0, np.abs(second_order[heads]) + lacking, 0.0)
            second_order[heads] += lacking + 2 * EPSILON * rounding
        for x, order in self._triangles(triangles):
            if (least := _least_eigenvalue(x, order)) < 0:
                x[_diagonal(order)] -= 2 * least
        if self.exponential:
            _enter_exponential(exponential)
        for x, exponents in self._powers(power, general):
            x[:-1] = np.maximum(x[:-1], 0.0)
            if (least := _of_power(x, exponents)) < 0:
                x[-1] = np.sign(x[-1]) * max(abs(x[-1]) + 2 * least, 0.0)
        return dual

    @property
    def interior(self) -> Array:
        """A vector inside the dual cone, of entries of about 1; 0 where rows are free."""
        return self._fill(np.array([-1.0, 0.0, 1.0]))

    @property
    def interior_of_both(self) -> Array:
        """A vector inside cone and dual cone, of entries of about 1; 0 in rows of the zero cone."""
        return self._fill(np.array([-1.0, 1.0, 1.0]))

    def _fill(self, exponential: Array) -> Array:
        """Return a vector inside all cones, given what it is in exponential ones: in others cone and dual share it."""
        parts = [np.zeros(self.zero), np.ones(self.nonnegative)]
        second_order = np.zeros(sum(self.second_order))
        if self.second_order:
            second_order[self._heads] = 1.0
        parts += [second_order]
        for order in self.semidefinite:
            unit = np.zeros(order * (order + 1) // 2)
            unit[_diagonal(order)] = 1.0
            parts += [unit]
        parts += [np.tile(exponential, self.exponential), np.tile([1.0, 1.0, 0.0], len(self.power))]
        parts += [np.append(np.ones(len(exponents)), 0.0) for exponents in self.general_power]
        return np.concatenate(parts)

    @property
    def _heads(self) -> NDArray[np.intp]:
        """Where each second-order cone begins, within the rows of these."""
        return np.cumsum((0, *self.second_order[:-1]))

    def _split(self, rows: Array) -> list[Array]:
        return np.split(rows, np.cumsum(self.sizes)[:-1])

    def _of_second_order(self, x: Array) -> Array:
        heads, sizes = self._heads, np.array(self.second_order)
        tails = np.square(x)
        tails[heads] = 0.0
        norms = np.sqrt(np.add.reduceat(tails, heads))
        return np.asarray(x[heads] - norms * (1 + (sizes + FEW) * EPSILON))

    def _triangles(self, x: Array) -> Iterator[tuple[Array, int]]:
        at = 0
        for order in self.semidefinite:
            size = order * (order + 1) // 2
            yield x[at : at + size], order
            at += size

    def _powers(self, power: Array, general: Array) -> Iterator[tuple[Array, tuple[float, ...]]]:
        for x, a in zip(power.reshape(-1, 3), self.power, strict=True):
            yield x, (a, 1 - a)
        at = 0
        for exponents in self.general_power:
            size = len(exponents) + 1
            yield general[at : at + size], exponents
            at += size


def _diagonal(order: int) -> NDArray[np.intp]:
    """Where the diagonal is in an upper triangle, column by column."""
    return np.cumsum(np.arange(1, order + 1)) - 1


def _least_eigenvalue(triangle: Array, order: int) -> float:
    """Bound the least eigenvalue of a symmetric matrix from below, rounding taken off."""
    columns, rows = np.tril_indices(order)
    matrix = np.zeros((order, order))
    matrix[rows, columns] = matrix[columns, rows] = triangle / np.where(rows == columns, 1.0, np.sqrt(2.0))
    eigenvalues = np.linalg.eigvalsh(matrix)
    # LAPACK's are eigenvalues of a matrix within a small multiple of n eps |M|
    return float(eigenvalues[0] - (order + FEW) * EPSILON * np.abs(eigenvalues).max(initial=0.0))


def _of_exponential(x: Array) -> Array:
    """Return the depths in dual exponential cones: ``a < 0, c >= -a exp(b / a - 1)``, or ``a = 0, b >= 0, c >= 0``."""
    a, b, c = x.reshape(-1, 3).T
    inside = np.minimum(c - _bound_exponential(a, b, 1.0), -a)
    return np.where(a < 0, inside, np.where(a == 0, np.minimum(b, c), -a))


def _bound_exponential(a: Array, b: Array, room: float) -> Array:
    """Bound ``-a exp(b / a - 1)`` from above where a < 0, with so many times the rounding added."""
    with np.errstate(all="ignore"):
        # a subnormal a makes b / a infinite; no exponential of less than this is needed, as it grows
        # the exponential of it, 1e-304, is a normal number, with all of its digits
        exponent = np.maximum(b / a - 1, -700.0)
        # in halves, as its exponential may overflow where the product does not
        half = np.exp(exponent / 2)
        bound = -a * half * half * (1 + room * (FEW + np.abs(exponent)) * EPSILON)
    # products that underflow lose less than the least number
    return np.asarray(np.nextafter(bound, np.inf))


def _enter_exponential(x: Array) -> None:
    """Move triples into their dual exponential cones: b or c is raised, whichever has to go less far."""
    outside = _of_exponential(x) < 0
    a, b, c = x.reshape(-1, 3).T
    a[outside] = np.minimum(a, -TINY)[outside]
    # above the least bound for any b
    c[outside] = np.maximum(c, np.maximum(TINY, -a * 1e-303))[outside]
    # c >= -a exp(b / a - 1) if and only if b >= a + a (ln c - ln(-a)), as a < 0; their quotient may overflow
    with np.errstate(all="ignore"):
        of_a, of_c = np.log(-a), np.log(c)
        needed = a + a * (of_c - of_a) + FEW * EPSILON * np.abs(a) * (2 + np.abs(of_a) + np.abs(of_c))
        least = _bound_exponential(a, b, 2.0)
        outside &= _of_exponential(x) < 0
        by_b = outside & (needed - b <= least - c)
    b[by_b] = np.maximum(b, needed)[by_b]
    c[outside & ~by_b] = np.maximum(c, least)[outside & ~by_b]


def _of_power(x: Array, exponents: tuple[float, ...]) -> float:
    """Return the depth in a dual power cone ``prod (x_i / a_i)^a_i >= |z|``."""
    factors, a = x[:-1], np.array(exponents)
    if factors.min() <= 0:
        return float(min(factors.min(), -abs(x[-1])))
    logarithms = a * np.log(factors / a)
    rounding = (FEW * len(x) + float(np.abs(logarithms).sum())) * EPSILON
    return float(np.exp(logarithms.sum()) * (1 - rounding) - abs(x[-1]))
