"""The loop of column generation, written once: it knows no solver, no oracle and no formulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from itertools import compress
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from cvxens.colgen.protocols import Column, Hypothesis, Master, MasterSolution, Oracle, Priced
from cvxens.errors import InvalidInput
from cvxens.types import Array


@dataclass(frozen=True)
class Step:
    """One round: the master solved, its multipliers priced.

    Parameters
    ----------
    solution : MasterSolution
        The restricted optimum.
    priced : Priced
        The oracle's answer to its multipliers; its bounds cover those of `start` that may not be the oracle's, too.
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


def iterate(master: Master, oracle: Oracle, start: Sequence[Hypothesis] = ()) -> Iterator[Step]:
    """Alternate between master and oracle until no new hypothesis improves an exact solution.

    Parameters
    ----------
    master : Master
        Without columns.
    oracle : Oracle
        Prices the master's signed weights. If its `price` takes `inside`, it is told which hypotheses to leave out.
        Else columns that equal one inside on the whole sample are not added again, nor their negations where weights
        are free.
    start : sequence of Hypothesis
        They enter after the oracle's first answer, which says what the sample is, and in place of its columns.

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
    inside = _Inside(oracle.price)
    while True:
        began = time.perf_counter()
        # BLAS with threads of its own would wait at barriers for cores that the oracles' threads and others use
        with _threads().limit(limits=1, user_api="blas"):
            solution = master.solve()
        solved = time.perf_counter()
        priced = inside.price(solution)
        bound = master.bound(solution, priced)
        yield Step(solution, priced, bound, inside.columns, time.perf_counter() - solved, solved - began)
        if start and priced.columns:
            new, start = inside.enter(start, priced.columns[0].sample, solution), ()
        else:
            new = inside.take(priced, solution)
        if new:
            master.add(new)
        elif solution.exact:
            return


@cache
def _threads() -> ThreadpoolController:
    """The libraries with threads; to look for them takes longer than a small run."""
    return ThreadpoolController()


class _Inside:
    """What is in the master, under the master's names and the oracle's.

    Parameters
    ----------
    price : callable
        The oracle's.
    """

    def __init__(self, price: Callable[..., Priced]) -> None:
        self._price = price
        self.told = "inside" in signature(price).parameters
        self.names: dict[Hypothesis, Column] = {}
        self.seen: set[int] = set()
        self.guests: dict[int, Column] = {}
        """Of the start, by their values, what the oracle has not yet shown to be its own."""
        self.oracles: dict[Hypothesis, Hypothesis] = {}
        """Its name for those that it has."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """In the order of the master's weights."""
        return tuple(self.names.values())

    def price(self, solution: MasterSolution) -> Priced:
        """Ask for what is outside; what of the answer has come with the start is told, and asked again."""
        priced = self._asked(solution)
        while self._met(priced, solution.threshold) and self.told:
            priced = self._asked(solution)
        if not self.guests:
            return priced
        # the optimum that is bounded is that over the oracle's hypotheses and these
        edges = np.stack([column.values @ solution.s for column in self.guests.values()])
        sizes = np.abs(edges) if solution.closed is None else np.maximum(edges, 0.0)
        return replace(
            priced,
            edge_bound=max(priced.edge_bound, float(sizes.max())),
            edge_square_sum=priced.edge_square_sum + float(np.square(sizes).sum()),
        )

    def _asked(self, solution: MasterSolution) -> Priced:
        if not self.told:
            return self._price(solution.s)
        closed = self.names if solution.closed is None else compress(self.names, solution.closed)
        guests = {column.hypothesis for column in self.guests.values()}
        return self._price(solution.s, inside=[self.oracles.get(h, h) for h in closed if h not in guests])

    def _met(self, priced: Priced, threshold: float) -> bool:
        """Whether an answer has guests, in either sign, which hide other hypotheses."""
        hidden = False
        for column in priced.columns if self.guests else ():
            for key in _keys(column.values):
                if (guest := self.guests.pop(key, None)) is not None:
                    self.oracles[guest.hypothesis] = column.hypothesis
                    hidden |= column.edge > threshold
        return hidden

    def enter(self, start: Sequence[Hypothesis], sample: Any, solution: MasterSolution) -> Sequence[Column]:
        """The columns of the start, as guests."""
        columns = [_evaluated(hypothesis, sample, len(solution.s)) for hypothesis in start]
        new = self._unseen(columns, signed=solution.closed is not None)
        self.guests = {_keys(column.values)[0]: column for column in new}
        self.names.update({column.hypothesis: column for column in new})
        return new

    def take(self, priced: Priced, solution: MasterSolution) -> Sequence[Column]:
        """The columns of an answer that improve and are new."""
        improving = {c.hypothesis: c for c in priced.columns if c.edge > solution.threshold}
        outside = [column for hypothesis, column in improving.items() if hypothesis not in self.names]
        new = outside if self.told else self._unseen(outside, signed=solution.closed is not None)
        self.names.update({column.hypothesis: column for column in new})
        return new

    def _unseen(self, columns: Iterable[Column], *, signed: bool) -> list[Column]:
        """The columns with new values on the sample, where the oracle does not say that they are.

        Twice the same hypothesis under two names, or h and -h where weights are free, would halve a penalty on squares.
        """
        new = []
        for column in columns:
            own, negated = _keys(column.values)
            if own not in self.seen and (signed or negated not in self.seen):
                new.append(column)
                self.seen.add(own)
        return new


def _keys(values: Array) -> tuple[int, int]:
    """What tells the values of a hypothesis on the sample from others', and those of its negation."""
    values = np.asarray(values) + 0.0
    return hash(values.tobytes()), hash((0.0 - values).tobytes())


def _evaluated(hypothesis: Hypothesis, sample: Any, n_samples: int) -> Column:
    """A hypothesis of the start on the sample."""
    column = Column(hypothesis, sample, 0.0)
    try:
        values = np.asarray(column.values)
        if values.shape == (n_samples,) and np.isfinite(values).all():
            return column
        found = f"with values of shape {values.shape} for {n_samples} samples, or not finite"
    except (IndexError, TypeError, ValueError) as error:
        found = f"which the oracle's sample cannot be given to: {error}"
    raise InvalidInput("start", f"found {hypothesis}, {found}", "give hypotheses of samples like the oracle's")
