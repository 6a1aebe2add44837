"""The loop of column generation, written once: it knows no solver, no oracle and no formulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from itertools import compress

import numpy as np

from cvxens.colgen.protocols import Column, Hypothesis, Master, MasterSolution, Oracle, Priced


@dataclass(frozen=True)
class Step:
    """One round: the master solved, its multipliers priced.

    Parameters
    ----------
    solution : MasterSolution
        The restricted optimum.
    priced : Priced
        The oracle's answer to its multipliers.
    bound : float
        The bound on the optimum over all hypotheses that follows from the two; -inf where none does.
    columns : tuple of Column
        The columns in the master, in the order of its weights.
    pricing_seconds, master_seconds : float
        Wall-clock time of this round.
    """

    solution: MasterSolution
    priced: Priced
    bound: float
    columns: tuple[Column, ...]
    pricing_seconds: float
    master_seconds: float


def iterate(master: Master, oracle: Oracle) -> Iterator[Step]:
    """Alternate between master and oracle until no new hypothesis improves an exact solution.

    Parameters
    ----------
    master : Master
        Without columns.
    oracle : Oracle
        Prices the master's signed weights. If its `price` takes `inside`, it is told which hypotheses to leave out.
        Else columns that equal one inside on the whole sample are not added again, nor their negations where weights
        are free.

    Yields
    ------
    Step
        After each pricing, before its columns are added. The caller stops, logs, plots, saves.

    Examples
    --------
    >>> from cvxens.colgen import formulations, masters, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    >>> steps = iterate(masters.HighsMaster(formulations.soft_margin(C=2.0), y), oracles.Stumps(X))
    >>> [(len(step.columns), step.solution.objective) for step in steps]
    [(0, 6.0), (2, 5.0), (3, 3.0)]
    """
    price: Callable[..., Priced] = oracle.price
    told = "inside" in signature(price).parameters
    columns: dict[Hypothesis, Column] = {}
    seen: set[int] = set()
    while True:
        start = time.perf_counter()
        solution = master.solve()
        solved = time.perf_counter()
        priced = price(solution.s, inside=_closed(columns, solution)) if told else price(solution.s)
        bound = master.bound(solution, priced)
        inside = tuple(columns.values())
        yield Step(solution, priced, bound, inside, time.perf_counter() - solved, solved - start)
        improving = {c.hypothesis: c for c in priced.columns if c.edge > solution.threshold}
        outside = [column for hypothesis, column in improving.items() if hypothesis not in columns]
        new = outside if told else _unseen(outside, seen, signed=solution.closed is not None)
        if new:
            columns.update({column.hypothesis: column for column in new})
            master.add(new)
        elif solution.exact:
            return


def _closed(columns: Collection[Hypothesis], solution: MasterSolution) -> Collection[Hypothesis]:
    """The hypotheses inside that the oracle is to leave out."""
    return list(columns if solution.closed is None else compress(columns, solution.closed))


def _unseen(columns: Iterable[Column], seen: set[int], *, signed: bool) -> list[Column]:
    """The columns with new values on the sample, from an oracle that cannot be told what is inside.

    Twice the same hypothesis under two names, or h and -h where weights are free, would halve a penalty on squares.
    """
    new = []
    for column in columns:
        values = np.asarray(column.values) + 0.0
        own, negated = hash(values.tobytes()), hash((0.0 - values).tobytes())
        if own not in seen and (signed or negated not in seen):
            new.append(column)
            seen.add(own)
    return new
