"""The frozen records that flow between the rooms of the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from scipy.sparse import csc_array

Array: TypeAlias = NDArray[np.float64]
"""A float64 array; its shape is said where it is used."""

Indices: TypeAlias = NDArray[np.intp]  # places in another array
Mask: TypeAlias = NDArray[np.bool_]  # True for those that are chosen
Numbers: TypeAlias = NDArray[np.number]  # integers or floats of any size
Labels: TypeAlias = NDArray[np.generic]  # classes or targets as people have them: numbers, texts, objects


class Shaped(Protocol):
    """What has rows and columns and need not be an array: a data frame, a sparse matrix."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, and columns."""


Data: TypeAlias = ArrayLike | Shaped
"""Samples as people have them; what reads them says what it takes."""

Given: TypeAlias = Data | None  # samples, or something for each of them such as a weight, where they were given
Matrix: TypeAlias = "Array | csc_array"  # samples as they were read, (n_samples, n_features)
Frame: TypeAlias = "pd.DataFrame | pl.DataFrame"
Cells: TypeAlias = "pd.Series | pl.Series"  # a column of a frame
Value = TypeVar("Value", float, Array)
KernelFunction: TypeAlias = Callable[[Array, Array], Array]  # from two samples to the matrix between their rows

Point: TypeAlias = Mapping[str, Array]
"""Named arrays: a primal and dual point of a problem, or as much of it as somebody has."""


@dataclass(frozen=True)
class Attempt:
    """A solver that was asked, and how it ended.

    Parameters
    ----------
    solver, status : str
        The solver and how it ended, in its own words.
    seconds : float
        Wall-clock time.
    message : str
        What it said if it raised an error.
    """

    solver: str
    status: str
    seconds: float
    message: str = ""


@dataclass(frozen=True)
class Solution:
    """A solution as its solver claims it; `certify` says how good it is.

    Parameters
    ----------
    objective : float
        The objective as the solver reports it, in the sense (min or max) of the problem.
    variables, duals : mapping of str to ndarray
        Named as in the problem's docstring: `w`, `b`, `xi`, ... and `u`, ...
    status, solver : str
        How the solver ended, and which one it was.
    seconds : float
        Wall-clock time.
    attempts : tuple of Attempt
        Every solver that was tried, the successful one last.
    """

    objective: float
    variables: Point
    duals: Point
    status: str
    solver: str
    seconds: float
    attempts: tuple[Attempt, ...] = field(default=(), repr=False)

    @classmethod
    def from_optimum(cls, problem: Any, variables: Point, duals: Point, solver: str, start: float) -> Solution:
        """Return what a fast solver, which began at `start` by `perf_counter`, found for a problem."""
        seconds = perf_counter() - start
        return cls(problem.value({**variables, **duals}), variables, duals, "optimal", solver, seconds)


class FieldsOnly:
    """A dataclass of which copies and files keep the fields alone, and which is checked when it is made of them.

    Cached attributes are left out and made anew: compiled code follows their indices without a look at where they lead,
    and so it does those of fields, which `check` has to look at.
    """

    def check(self) -> None:
        """Raise a ValueError unless the indices among the fields lead where they should."""

    def __getstate__(self: Any) -> dict[str, object]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __setstate__(self: Any, state: Mapping[str, object]) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, state[each.name])
        self.check()
