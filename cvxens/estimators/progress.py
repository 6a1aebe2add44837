"""A line that shows how far a fit is, where it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from cvxens.certificates import relative
from cvxens.colgen import Column, Master, MasterSolution, Priced

Show: TypeAlias = Callable[[int, float, float], None]
"""Takes the number of columns, the objective and the bound of a round."""


@dataclass(frozen=True)
class Watched:
    """A master that tells of every round.

    Parameters
    ----------
    master : Master
        Does the work.
    show : callable
        Is told of columns, objective and bound, both as of a minimum.
    """

    master: Master
    show: Show

    def add(self, columns: Sequence[Column], /) -> None:
        """Add columns to the master."""
        self.master.add(columns)

    def solve(self) -> MasterSolution:
        """Solve the master."""
        return self.master.solve()

    def bound(self, solution: MasterSolution, priced: Priced, /) -> float:
        """Bound the optimum, and tell of it."""
        bound = self.master.bound(solution, priced)
        self.show(len(solution.w), solution.objective, bound)
        return bound


def _silent(n_columns: int, objective: float, bound: float) -> None:
    """Show nothing."""


@contextmanager
def progress(title: str, verbose: int) -> Iterator[Show]:
    """Show a line on the standard error while a fit runs; nothing if `verbose` is 0."""
    if not verbose:
        yield _silent
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as line:
        task = line.add_task(title, total=None)
        best = [float("inf"), float("-inf"), 0.0]

        def show(n_columns: int, objective: float, bound: float) -> None:
            best[:] = min(best[0], objective), max(best[1], bound), best[2] + 1
            gap = relative(best[0] - best[1], best[0], best[1])
            told = f"{title}: round {best[2]:.0f}, {n_columns} columns, objective {best[0]:.6g}, relative gap {gap:.2g}"
            line.update(task, description=told)

        yield show
