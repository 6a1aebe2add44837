"""The loop of column generation, written once: it knows no solver, no oracle and no formulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from inspect import signature
from itertools import compress

from cvxens.colgen.protocols import Column, Hypothesis, Master, MasterSolution, Oracle, Priced
from cvxens.types import Array


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
    """Alternate between master and oracle until no new hypothesis improves.

    Parameters
    ----------
    master : Master
        Without columns.
    oracle : Oracle
        Prices the master's signed weights.

    Yields
    ------
    Step
        After each pricing, before its columns are added. The caller stops, logs, plots, saves.

    Examples
    --------
    >>> from cvxens.colgen import formulations, masters, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    >>> steps = iterate(masters.HighsMaster(formulations.soft_margin(C=1.0), y), oracles.Stumps(X))
    >>> [(len(step.columns), step.solution.objective) for step in steps][-1]
    (3, 3.0)
    """
    price = _pricing(oracle)
    columns: dict[Hypothesis, Column] = {}
    while True:
        start = time.perf_counter()
        solution = master.solve()
        solved = time.perf_counter()
        priced = price(solution.s, _closed(columns, solution))
        bound = master.bound(solution, priced)
        inside = tuple(columns.values())
        yield Step(solution, priced, bound, inside, time.perf_counter() - solved, solved - start)
        improving = {c.hypothesis: c for c in priced.columns if c.edge > solution.threshold}
        new = {hypothesis: column for hypothesis, column in improving.items() if hypothesis not in columns}
        if not new:
            return
        columns.update(new)
        master.add(list(new.values()))


def _closed(columns: Collection[Hypothesis], solution: MasterSolution) -> Collection[Hypothesis]:
    """The hypotheses inside that the oracle is to leave out."""
    return list(columns if solution.closed is None else compress(columns, solution.closed))


def _pricing(oracle: Oracle) -> Callable[[Array, Collection[Hypothesis]], Priced]:
    """The oracle's `price`, told which hypotheses to leave out if it takes that."""
    price: Callable[..., Priced] = oracle.price
    if "inside" in signature(price).parameters:
        return lambda s, inside: price(s, inside=inside)
    return lambda s, _: price(s)
