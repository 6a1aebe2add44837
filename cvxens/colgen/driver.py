"""The loop of column generation, written once: it knows no solver, no oracle and no formulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import compress, islice
from math import inf
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from cvxens.colgen.protocols import Column, Hypothesis, Master, MasterSolution, Oracle, Priced
from cvxens.errors import InvalidInput
from cvxens.problems.duality import edge_of
from cvxens.types import Array

AGREED = 1e-9
"""What an oracle may be wrong by, relative to the sizes of what it sums, before it is told: not all compute alike.

Whatever it is wrong by is added to its bounds.
"""


@dataclass(frozen=True)
class Incumbent:
    """An ensemble that a run has come to.

    Parameters
    ----------
    columns : tuple of Column
        The columns that were in the master.
    solution : MasterSolution
        Their weights w, the intercept b and the objective.
    """

    columns: tuple[Column, ...]
    solution: MasterSolution


@dataclass(frozen=True)
class Step:
    """One round: the master solved, its multipliers priced.

    Parameters
    ----------
    solution : MasterSolution
        The restricted optimum.
    priced : Priced
        The oracle's answer to its multipliers; its bounds cover the start too, as far as that has entered.
    bound : float
        The bound on the optimum over all hypotheses that follows from the two; -inf where none does.
    columns : tuple of Column
        The columns in the master, in the order of its weights.
    pricing_seconds, master_seconds : float
        Wall-clock time of this round.
    number : int
        The number of the round, from 1.
    incumbent : Incumbent or None
        The best restricted optimum so far, of equal ones the latest.
    best_bound : float
        The best bound so far, of a minimum as all objectives here.
    relative_gap : float
        Of the two: their difference relative to the larger one; inf where either is infinite.
    seconds : float
        Wall-clock time since the run began.
    """

    solution: MasterSolution
    priced: Priced
    bound: float
    columns: tuple[Column, ...]
    pricing_seconds: float
    master_seconds: float
    number: int = 0
    incumbent: Incumbent | None = None
    best_bound: float = -inf
    relative_gap: float = inf
    seconds: float = 0.0

    @property
    def bounded(self) -> bool:
        """True if the bound is one over all hypotheses: the oracle bounds their edges, and that is enough."""
        return bool(self.priced.edge_bound < inf and self.bound > -inf)


def iterate(master: Master, oracle: Oracle, start: Sequence[Hypothesis] = ()) -> Iterator[Step]:
    """Alternate between master and oracle until no new hypothesis improves an exact solution.

    Parameters
    ----------
    master : Master
        Without columns.
    oracle : Oracle
        Prices the master's signed weights. Of an answer without an `outside_bound`, columns that equal one of the
        master's on the whole sample are not added, nor their negations where weights are free.
    start : sequence of Hypothesis
        They enter before the first round, evaluated on the oracle's `sample`.

    Yields
    ------
    Step
        After each pricing, before its columns are added. The caller stops, logs, plots, saves.

    Raises
    ------
    InvalidInput
        A hypothesis of the oracle's has an edge above the bound that the oracle has stated for it, its `price` does not
        take ``(s, exclude=...)``, or `start` cannot be evaluated.

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
            if start:
                # a solution without columns says how many samples there are, and whether weights are free
                master.add(inside.enter(start, oracle.sample, solution))
                solution, start = master.solve(), ()
        solved = time.perf_counter()
        priced = inside.price(solution)
        bound = master.bound(solution, priced)
        yield Step(solution, priced, bound, inside.columns, time.perf_counter() - solved, solved - began)
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
        self.names: dict[Hypothesis, Column] = {}
        self.seen: set[int] = set()
        self.n_seen = 0
        self.guests: dict[int, Column] = {}
        """Of the start, by their values, what the oracle has not yet shown to be its own."""
        self.oracles: dict[Hypothesis, Hypothesis] = {}
        """Its name for those that it has."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """In the order of the master's weights."""
        return tuple(self.names.values())

    def price(self, solution: MasterSolution) -> Priced:
        """Ask for what is outside; what of the answer has come with the start is told, and asked again.

        The optimum that is bounded is that over the oracle's hypotheses and those of the start. So the bounds are at
        least what the edges of the columns inside, and of those of the answer, say: whatever an oracle claims.
        """
        priced = self._asked(solution)
        while self._met(priced, solution):
            priced = self._asked(solution)
        if np.isnan([priced.edge_bound, priced.edge_square_sum, priced.outside_bound]).any():
            raise self._contradicted("a bound that is not a number")
        free = solution.closed is None
        edges = self._edges(solution)
        sizes = np.abs(edges) if free else edges
        squares = np.square(sizes if free else np.maximum(sizes, 0.0))
        guests = {column.hypothesis for column in self.guests.values()}
        own = np.array([hypothesis not in guests for hypothesis in self.names], dtype=bool)
        answered = self._largest_answered(priced, solution)
        found = Priced(
            priced.columns,
            max(answered, float(sizes[own].max(initial=-inf))),
            float(squares[own].sum()),
            answered,
        )
        self._believe(priced, found, solution)
        bounds = (
            max(priced.edge_bound, found.edge_bound, float(sizes.max(initial=-inf))),
            max(priced.edge_square_sum, found.edge_square_sum) + float(squares[~own].sum()),
            max(priced.outside_bound, found.outside_bound),
        )
        if bounds == (priced.edge_bound, priced.edge_square_sum, priced.outside_bound):
            return priced
        return Priced(priced.columns, *bounds)

    def _asked(self, solution: MasterSolution) -> Priced:
        closed = self.names if solution.closed is None else compress(self.names, solution.closed)
        guests = {column.hypothesis for column in self.guests.values()}
        exclude = [self.oracles.get(h, h) for h in closed if h not in guests]
        try:
            return self._price(solution.s, exclude=exclude)
        except TypeError as error:
            # raised by the call itself, not in the oracle
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            remedy = "give its price the parameters (s, exclude=())"
            raise InvalidInput("oracle", f"found {self._name} which says: {error}", remedy) from None

    def _edges(self, solution: MasterSolution) -> Array:
        """The edges of the columns inside, in their order."""
        if solution.edges is not None and len(solution.edges) == len(self.names):
            return solution.edges
        return np.array([edge_of(column.values, solution.s) for column in self.columns])

    def _largest_answered(self, priced: Priced, solution: MasterSolution) -> float:
        """The largest edge in an answer, evaluated: what an oracle says of a hypothesis may be wrong."""
        largest = -inf
        if priced.edge_bound == priced.outside_bound == inf:
            return largest
        for column in priced.columns:
            edges = edge_of(column.values, solution.s)
            largest = max(largest, float(np.max(np.abs(edges) if solution.closed is None else edges)))
            if column.edge <= solution.threshold:
                # it will not enter, and answers may be kept for long
                vars(column).pop("values", None)
        return largest

    def _believe(self, priced: Priced, found: Priced, solution: MasterSolution) -> None:
        """Raise if an oracle's bounds are below what was `found` of its own hypotheses, by more than rounding."""
        names = [
            name
            for name in ("edge_bound", "outside_bound", "edge_square_sum")
            if getattr(priced, name) < getattr(found, name)
        ]
        if not names:
            return
        columns = [*self.columns, *priced.columns]
        # |h|'|s| is what rounding is relative to
        largest = max(float(np.ptp(values) + np.abs(values).min()) for values in (column.values for column in columns))
        scale = largest * float(np.abs(solution.s).sum())
        for name in names:
            claimed, actual = getattr(priced, name), getattr(found, name)
            slack = scale * (len(columns) * scale if name == "edge_square_sum" else 1.0)
            if actual > claimed + AGREED * slack:
                what = "squares of edges that sum to" if name == "edge_square_sum" else "an edge of"
                raise self._contradicted(f"{name} = {claimed:.6g}, while its own hypotheses have {what} {actual:.6g}")

    def _contradicted(self, found: str) -> InvalidInput:
        remedy = "return bounds that hold for all its hypotheses, or inf where it has none"
        return InvalidInput("oracle", f"found {self._name} with {found}", remedy)

    @property
    def _name(self) -> str:
        return str(getattr(self._price, "__qualname__", repr(self._price))).removesuffix(".price")

    def _met(self, priced: Priced, solution: MasterSolution) -> bool:
        """Whether an answer has guests, in either sign where weights are free, which hide other hypotheses."""
        hidden = False
        for column in priced.columns if self.guests else ():
            own, negated = _keys(column.values)
            for key in (own,) if solution.closed is not None else (own, negated):
                if (guest := self.guests.pop(key, None)) is not None:
                    self.oracles[guest.hypothesis] = column.hypothesis
                    hidden |= column.edge > solution.threshold
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
        known = priced.outside_bound < inf
        new = outside if known else self._unseen(outside, signed=solution.closed is not None)
        self.names.update({column.hypothesis: column for column in new})
        return new

    def _unseen(self, columns: Iterable[Column], *, signed: bool) -> list[Column]:
        """The columns with new values on the sample, where the oracle does not say that they are.

        Twice the same hypothesis under two names, or h and -h where weights are free, would halve a penalty on squares.
        """
        for column in islice(self.names.values(), self.n_seen, None):
            self.seen.add(_keys(column.values)[0])
        self.n_seen = len(self.names)
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
