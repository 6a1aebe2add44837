"""Rational numbers: what a double stands for, and linear systems over the integers solved without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from cvxens.types import Array

LARGEST_WITHOUT_FLINT = 40
"""Unknowns up to which systems are solved by `fractions`: elimination over rationals takes 2 s for so many."""

LARGEST = 1500
"""Unknowns up to which systems are solved at all: the digits of a solution grow with them, and the time with their 4th
power; 800 take 4 s."""

INDEPENDENT = 1e-9
"""Rows whose remainder, after those before them, is smaller count as dependent; entries are -1, 0 and 1."""


def simplest(value: float) -> Fraction:
    """Return the rational with the smallest denominator, a power of ten at most, that rounds to a double.

    Somebody who writes 0.05 means 1/20, and 1/569 is not the double that it rounds to.

    Examples
    --------
    >>> simplest(0.05), simplest(1 / 569), simplest(3.0)
    (Fraction(1, 20), Fraction(1, 569), Fraction(3, 1))
    """
    exact = Fraction(value)
    for digits in range(1, 18):
        near = exact.limit_denominator(10**digits)
        if float(near) == value:
            return near
    return exact


def to_integers(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return numerators over one denominator, and it."""
    denominator = lcm(*(value.denominator for value in values))
    return [int(value * denominator) for value in values], denominator


def independent_rows(rows: Array, first: int = 0) -> NDArray[np.intp]:
    """Choose rows that span all of them: from the `first` ones as many as are independent, then from the others."""
    _, R, order = (
        qr(rows[:first].T, mode="economic", pivoting=True) if first else (None, np.zeros((0, 0)), np.arange(0))
    )
    chosen = order[: int((np.abs(np.diag(R)) > INDEPENDENT * rows.shape[1]).sum())]
    basis = np.linalg.qr(rows[chosen].T)[0]
    rest = rows[first:] - (rows[first:] @ basis) @ basis.T
    if not len(rest):
        return np.asarray(chosen)
    _, R, order = qr(rest.T, mode="economic", pivoting=True)
    more = order[: int((np.abs(np.diag(R)) > INDEPENDENT * rows.shape[1]).sum())]
    return np.concatenate([chosen, first + more])


def solve_rationals(A: Array, rhs: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve a square system of doubles, which are rationals, without rounding; None as for `solve_system`."""
    # doubles are integers over powers of 2: every row times the largest of its powers
    rows = [to_integers(list(map(Fraction, row))) for row in A.tolist()]
    scaled = [value * scale for value, (_, scale) in zip(rhs, rows, strict=True)]
    return solve_system(np.array([row for row, _ in rows], dtype=object).reshape(np.shape(A)), scaled)


def solve_system(A: NDArray[np.int64 | np.object_], rhs: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve a square system of integers over the rationals; None where it is singular or too large."""
    n = len(A)
    if n > LARGEST:
        return None
    if n == 0:
        return []
    numerators, denominator = to_integers(rhs)
    try:
        from flint import fmpz_mat
    except ImportError:
        return _eliminate(A, rhs) if n <= LARGEST_WITHOUT_FLINT else None
    try:
        solution: Any = fmpz_mat(A.tolist()).solve(fmpz_mat([[value] for value in numerators]))
    except ZeroDivisionError:
        return None
    found = (solution[i, 0] for i in range(n))
    return [Fraction(int(value.p), int(value.q) * denominator) for value in found]


def _eliminate(A: NDArray[np.int64 | np.object_], rhs: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve by Gauss and Jordan's elimination with fractions."""
    rows = [[*map(Fraction, row), value] for row, value in zip(A.tolist(), rhs, strict=True)]
    for j in range(len(rows)):
        pivot = next((i for i in range(j, len(rows)) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [value / rows[j][j] for value in rows[j]]
        for i, row in enumerate(rows):
            if i != j and row[j]:
                rows[i] = [value - row[j] * of_pivot for value, of_pivot in zip(row, rows[j], strict=True)]
    return [row[-1] for row in rows]
