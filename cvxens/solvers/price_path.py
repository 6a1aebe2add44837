"""Problems of LL08 P2 along C, each solved from the solution of the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from cvxens import validation
from cvxens.solvers.svm_solution import Ending


class Ended(Protocol):
    """A solution that says why its solver ended."""

    @property
    def ending(self) -> Ending:
        """Why."""


S = TypeVar("S", bound=Ended)


def along_prices(solve: Callable[..., S], Cs: Any) -> Sequence[S]:
    """Call ``solve(C)``, then ``solve(C, start=last)`` for each further C; Ctrl-C ends the path.

    Parameters
    ----------
    solve : callable
        From a factor of the prices, and a solution to start from, to a solution.
    Cs : array-like of shape (n_values,)
        Factors, above 0.

    Returns
    -------
    tuple
        The solutions, the last one interrupted where Ctrl-C ended the path.
    """
    solutions: list[S] = []
    for C in validation.finite_array("Cs", Cs, ndim=1):
        last = {"start": solutions[-1]} if solutions else {}
        solutions.append(solve(validation.positive("Cs", C), **last))
        if solutions[-1].ending is Ending.INTERRUPTED:
            break
    return tuple(solutions)
