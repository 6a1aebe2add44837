"""Products of convex cones, as conic solvers take them: what is inside the dual cone, how deep, and how to get there.

The cones are, in this order: zero, nonnegative, second-order, positive semidefinite (upper triangles, column by column,
off-diagonal entries times sqrt 2), exponential, power, and power of several factors. All but two are their own duals:
the dual of the zero cone is everything, and the dual exponential and power cones have inequalities of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from cvxens.rounding import EPSILON, TINY
from cvxens.types import Array, Indices

_P = TypeVar("_P")

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

    @cached_property
    def _kinds(self) -> list[Indices]:
        """The rows of each cone, kind by kind; every row of a zero or nonnegative cone is one by itself."""
        triangles = [order * (order + 1) // 2 for order in self.semidefinite]
        powers = [len(exponents) + 1 for exponents in self._exponents]
        ones, threes = np.ones(self.zero + self.nonnegative), np.full(self.exponential, 3)
        kinds = (ones[: self.zero], ones[self.zero :], self.second_order, triangles, threes, powers)
        return [np.array(sizes, dtype=np.intp) for sizes in kinds]

    @property
    def _exponents(self) -> list[tuple[float, ...]]:
        """The exponents of all power cones."""
        return [*((a, 1 - a) for a in self.power), *self.general_power]

    @property
    def n_rows(self) -> int:
        return int(sum(sizes.sum() for sizes in self._kinds))

    @cached_property
    def blocks(self) -> Indices:
        """The number of the cone that each row is of."""
        sizes = np.concatenate(self._kinds)
        return np.repeat(np.arange(len(sizes)), sizes)

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
        _, nonnegative, second_order, triangles, exponential, powers = self._split(dual)
        found: list[Any] = [
            np.full(self.zero, np.inf),
            nonnegative,
            self._of_second_order(second_order),
            [_least_eigenvalue(x, order) for x, order in self._each(3, triangles, self.semidefinite)],
            _of_exponential(exponential),
            [_of_power(x, exponents) for x, exponents in self._each(5, powers, self._exponents)],
        ]
        return np.repeat(np.concatenate(found), np.concatenate(self._kinds))

    def surround(self, dual: Array, errors: Array) -> bool:
        """Return True if every vector within `errors` of this one is in the dual cone.

        Depths in other cones fall by no more than errors add up to. The exponential and power cones are convex, so it
        is enough that the corners are in them: those that are not deeper than others, rounded outwards.
        """
        if not errors.any():
            return bool(self.depths(dual).min(initial=0.0) >= 0)
        curved = replace(self, zero=0, nonnegative=0, second_order=(), semidefinite=())
        first = len(dual) - curved.n_rows
        x, off, blocks = dual[first:], errors[first:], self.blocks[:first]
        lowered = x - np.nextafter(off, np.inf) * (off > 0)
        ends = 3 * self.exponential + np.cumsum(self._kinds[5]) - 1
        lowered[ends] = np.abs(x[ends]) + off[ends]
        raised = lowered.copy()
        raised[: 3 * self.exponential : 3] = (x + off)[: 3 * self.exponential : 3]
        corners = min(float(curved.depths(corner).min(initial=0.0)) for corner in (lowered, raised))
        of_cone = np.bincount(blocks, errors[:first])[blocks]
        return bool((self.depths(dual)[:first] >= of_cone).all() and corners >= 0)

    def map_to_dual(self, x: Array, errors: Array) -> tuple[Array, Array]:
        """Return a vector that is in the dual cone if and only if x is in the cone, with the errors that x has.

        Cones that are their own duals stay. ``y exp(x / y) <= z`` is ``(-y, -x - y, z)`` in the dual exponential cone,
        and ``prod x_i^a_i >= |z|`` is ``(a_i x_i, z)`` in the dual power cone. Rows of the zero cone have no such.
        """
        x, errors = x.copy(), errors.copy()
        *_, exponential, powers = self._split(x)
        *_, of_exponential, of_powers = self._split(errors)
        a, b = exponential[::3].copy(), exponential[1::3].copy()
        exponential[::3], exponential[1::3] = -b, -a - b
        off_a, off_b = of_exponential[::3].copy(), of_exponential[1::3].copy()
        of_exponential[::3], of_exponential[1::3] = off_b, off_a + off_b + EPSILON * (np.abs(a) + np.abs(b))
        scaled = self._each(5, powers, self._exponents), self._each(5, of_powers, self._exponents)
        for (point, exponents), (off, _) in zip(*scaled, strict=True):
            point[:-1] *= exponents
            off[:-1] = off[:-1] * exponents + EPSILON * np.abs(point[:-1])
        return x, errors

    def enter(self, dual: Array) -> Array:
        """Return a vector of the dual cone near one that is not far outside of it."""
        dual = dual.copy()
        _, nonnegative, second_order, triangles, exponential, powers = self._split(dual)
        np.maximum(nonnegative, 0.0, out=nonnegative)
        heads, lacking = self._heads(2), np.maximum(-self._of_second_order(second_order), 0.0)
        # the head is rounded where it was and where it goes
        rounding = np.where(lacking > 0, np.abs(second_order[heads]) + lacking, 0.0)
        second_order[heads] += lacking + 2 * EPSILON * rounding
        for x, order in self._each(3, triangles, self.semidefinite):
            if (least := _least_eigenvalue(x, order)) < 0:
                x[_diagonal(order)] -= 2 * least
        _enter_exponential(exponential)
        for x, exponents in self._each(5, powers, self._exponents):
            x[:-1] = np.maximum(x[:-1], 0.0)
            if (least := _of_power(x, exponents)) < 0:
                x[-1] = np.sign(x[-1]) * max(abs(x[-1]) + 2 * least, 0.0)
        return dual

    def fill(self, y: float = 0.0) -> Array:
        """Return a vector inside the dual cone, and inside the cone where y, that of exponential ones, is above 0.

        Its entries are about 1, and 0 where rows are free.
        """
        inner = np.zeros(self.n_rows)
        _, nonnegative, second_order, triangles, exponential, powers = self._split(inner)
        nonnegative[:] = 1.0
        second_order[self._heads(2)] = 1.0
        for x, order in self._each(3, triangles, self.semidefinite):
            x[_diagonal(order)] = 1.0
        exponential[:] = np.tile([-1.0, y, 1.0], self.exponential)
        for x, _ in self._each(5, powers, self._exponents):
            x[:-1] = 1.0
        return inner

    def drop_idle(self, ahead: sparse.csc_array, A: sparse.csc_array, b: Array) -> tuple[Indices, Cones]:
        """Return the rows of ``b - A x`` that are left where some moves of x may go on for ever, and their cones.

        `ahead` has the signs of what each move adds to rows. Where it stays in all cones, the multipliers of what it
        changes are 0: of whole cones, or of the x of exponential ones, of which y >= 0 and z >= 0 are left.
        """
        rows, blocks, first = sparse.csr_array(A), self.blocks.copy(), self.zero + self.nonnegative
        constants = np.where(np.diff(rows.indptr) > 0, 0.0, b)
        wanted, kept, order = self._find_ways(rows, b, constants), np.ones(len(b), dtype=bool), np.arange(len(b)) * 2
        begin = len(b) - int(self._kinds[4].sum() + self._kinds[5].sum())
        falling = begin + 3 * np.arange(self.exponential)
        while True:
            entries = ahead[np.flatnonzero(kept)]
            # all entries of the move in such rows, and along their ways
            count = abs(entries).sum(axis=0)
            idle = (count > 0) & (np.abs(wanted[kept] @ entries) == count)
            used = np.flatnonzero(kept)[abs(entries[:, idle]).sum(axis=1) > 0]
            if not len(used):
                break
            lowered = np.intersect1d(used, falling)
            kept[np.isin(blocks, blocks[np.setdiff1d(used, lowered)])] = False
            lowered = lowered[kept[lowered]]
            kept[lowered] = False
            for left in (lowered + 1, lowered + 2):
                # nonnegative rows, behind those that there are
                kept[left], wanted[left], blocks[left] = constants[left] <= 0, 1.0, -1 - left
                order[left] = 2 * first - 1
        chosen = np.flatnonzero(kept)
        chosen = chosen[np.argsort(order[chosen], kind="stable")]
        of_order, n_exponential = self._heads(2) + first, int(kept[falling].sum())
        heads = begin + 3 * self.exponential + self._heads(5)
        kept_powers = tuple(a for a, head in zip(self.power, heads, strict=False) if kept[head])
        sizes = tuple(np.array(self.second_order, dtype=int)[kept[of_order]].tolist())
        n = int((kept[self.zero : first]).sum() + (order[chosen] == 2 * first - 1).sum())
        return chosen, replace(self, nonnegative=n, second_order=sizes, exponential=n_exponential, power=kept_powers)

    def _find_ways(self, rows: sparse.csr_array, b: Array, constants: Array) -> Array:
        """Return 1 for rows of ``b - A x`` that may rise for ever within their cones, -1 for those that may fall."""
        found = np.zeros(self.n_rows)
        _, nonnegative, second_order, _, exponential, powers = self._split(found)
        *_, of_exponential, of_powers = self._split(constants)
        nonnegative[:] = second_order[self._heads(2)] = 1.0
        exponential[::3], exponential[2::3] = -1.0, of_exponential[1::3] > 0
        three = 3 * len(self.power)
        powers[:three:3], powers[1:three:3] = of_powers[1:three:3] > 0, of_powers[:three:3] > 0
        # the next entry may rise with the first, or fall, where their difference, or sum, is a constant above 0
        heads = self._heads(2)[self._kinds[2] > 1]
        at = heads + self.zero + self.nonnegative
        for sign in (1.0, -1.0):
            differences = abs(rows[at] - sign * rows[at + 1]).sum(axis=1)
            second_order[heads[(differences == 0) & (b[at] - sign * b[at + 1] > 0)] + 1] = sign
        return found

    def _heads(self, kind: int) -> Indices:
        """Where each cone of a kind begins, within the rows of these."""
        return np.cumsum(self._kinds[kind]) - self._kinds[kind]

    def _split(self, rows: Array) -> list[Array]:
        """Return the rows of each kind."""
        return np.split(rows, np.cumsum([int(sizes.sum()) for sizes in self._kinds])[:-1])

    def _each(self, kind: int, rows: Array, parameters: Sequence[_P]) -> Iterator[tuple[Array, _P]]:
        """Yield the rows and the parameter of each cone of a kind."""
        heads = self._heads(kind)
        return zip(np.split(rows, heads[1:]) if len(heads) else [], parameters, strict=True)

    def _of_second_order(self, x: Array) -> Array:
        heads, sizes = self._heads(2), self._kinds[2]
        tails = np.square(x)
        tails[heads] = 0.0
        norms = np.sqrt(np.add.reduceat(tails, heads)) if len(heads) else tails
        return np.asarray(x[heads] - norms * (1 + (sizes + FEW) * EPSILON))


def _diagonal(order: int) -> Indices:
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
