"""Column generation: a restricted master and an oracle in turn, from a formulation to a certified ensemble.

Every round solves the **master**, the problem over the columns found so far, and **prices** its multipliers u: the
oracle looks for hypotheses whose edge under s = y u exceeds the master's threshold, the reduced costs of the field. The
master's optimum is a feasible point of the whole problem, and from u and a bound on all edges follows a bound on the
optimum; the best of both so far are the **incumbent**. This is Kelley's cutting-plane method on the dual problem,
boosting where the loss is one of margins, and LPBoost (DBS02) for linear programs. `iterate` is the loop, which knows
no solver, no oracle and no formulation; `column_generation` gives it limits, a checkpoint and a certificate.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, compress, count, islice, starmap, takewhile
from math import inf, isfinite, nan
from operator import attrgetter, ge
from typing import NamedTuple, TypedDict
from warnings import warn

import numpy as np

from cvxens import validation
from cvxens.certificates import Certificate, Round
from cvxens.colgen.checkpoint import Checkpoint, Keeper, Saved, mismatch_error
from cvxens.colgen.masters import BallMaster, InteriorPointMaster, fastest_master
from cvxens.colgen.protocols import (
    Column,
    Incumbent,
    Master,
    MasterSolution,
    Oracle,
    Priced,
    ask,
    declared,
    evaluate,
    find_edges,
    find_way,
    has_negation,
    hash_values,
    make_column,
    name_of,
    relative_gap,
    skip_squares,
    surely_has,
    with_signs,
)
from cvxens.colgen.restricted import FastMaster, Restricted
from cvxens.errors import Infeasible, InvalidInput, NotSeparable, SolverFallbackWarning
from cvxens.hypotheses import Hypothesis, negate
from cvxens.limits import OVERRUN, Deadline, Ending, TimeUp, check_time, in_time, limit_time, one_blas_thread, time_left
from cvxens.problems.duality import as_rows, edge_rounding, row_sizes
from cvxens.problems.formulation import Decide, Formulation, apply
from cvxens.problems.penalties import check_symmetry
from cvxens.problems.problem import FEASIBLE
from cvxens.problems.soundness import QUICK, check_formulation
from cvxens.problems.target_losses import find_spread
from cvxens.proofs import Proof, prove, prove_inseparable
from cvxens.proofs.forms import Statement
from cvxens.rounding import TINY
from cvxens.types import Array, Data, Given

PATIENCE = 20
"""Rounds without progress after which a run without a bound ends: linear programs stand still for a few at a time."""

UNBOUNDED_ROUNDS = 100
"""Rounds that a run without a bound has, or as many as columns that its user asks for: nothing else must end it."""


@dataclass(frozen=True)
class Step:
    """One round: the master solved, its multipliers priced.

    Parameters
    ----------
    number : int
        The number of the round, from 1.
    solution : MasterSolution
        The restricted optimum.
    priced : Priced
        The oracle's answer to its multipliers; its bounds cover the start too.
    bound : float
        The bound on the optimum over all hypotheses that follows from the two; -inf where none does.
    columns : tuple of Column
        The columns in the master, in the order of its weights.
    pricing_seconds, master_seconds : float
        Wall-clock time of this round.
    incumbent : Incumbent
        The best restricted optimum and the best bound so far.
    relative_gap : float
        Of the incumbent: its objective less its bound, relative to the larger one; inf where either is infinite. In a
        run, with their rounding error where it is within the tolerance.
    seconds : float
        Wall-clock time since the first round began.
    """

    number: int
    solution: MasterSolution
    priced: Priced
    bound: float
    columns: tuple[Column, ...]
    pricing_seconds: float
    master_seconds: float
    incumbent: Incumbent
    relative_gap: float
    seconds: float


def iterate(
    master: Master,
    oracle: Oracle,
    start: Sequence[Hypothesis] = (),
    *,
    found: Sequence[Hypothesis] = (),
    square_sum: bool = True,
    incumbent: Incumbent | None = None,
    condition: Callable[[Sequence[Column], MasterSolution, Priced], str] | None = None,
    tol: float = 0.0,
) -> Iterator[Step]:
    """Alternate between master and oracle until no new hypothesis improves an exact solution.

    Parameters
    ----------
    master : Master
        Without columns.
    oracle : Oracle
        Prices the master's signed weights. Of an answer whose columns it does not call distinct, those that equal one
        of the master's on the whole sample are not added, nor their negations where weights are free.
    start : sequence of Hypothesis
        They enter before the first round, evaluated on the oracle's `sample`.
    found : sequence of Hypothesis
        What the oracle has found before, and enters after these, as far as there is time.
    square_sum : bool
        False if the master's bound needs no sums of squared edges: those that take time are then left out.
    incumbent : Incumbent, optional
        What is known before the first round.
    condition : callable, optional
        What the bound by a solution over some columns would hold under that nobody has verified, in a few words; by
        default nothing.
    tol : float
        The relative gap from which on a bound under no condition is preferred to a higher one under one.

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
    # BLAS has one thread: more would wait at barriers for cores that the oracles' threads and others use
    first, n_idle = time.perf_counter(), 0
    for number in count(1):
        began = time.perf_counter()
        with one_blas_thread():
            solution = master.solve()
            if number == 1:
                # a solution without columns says how many samples there are, and whether weights are free
                columns = _Columns(oracle, solution, square_sum=square_sum)
                if start or found:
                    master.add(columns.enter(start, found, solution))
                    solution = master.solve()
        solved = time.perf_counter()
        priced, bound, cut = Priced(()), -inf, None
        try:
            with one_blas_thread():
                priced = columns.price(solution)
                priced = columns.raise_bounds(priced, solution)
                bound = master.bound(solution, priced)
        except TimeUp as up:
            # a first solution is worth more than none, even without a bound
            if incumbent is not None:
                raise
            cut = up
            with suppress(TimeUp):
                bound = master.bound(solution, priced)
        under = "" if condition is None or bound == -inf else condition(columns.entered, solution, priced)
        incumbent = _best_of(incumbent, Incumbent(columns.entered, solution, bound, solution.u, priced, under), tol)
        now, gap = time.perf_counter(), relative_gap(incumbent.solution.objective, incumbent.bound)
        seconds = now - solved, solved - began
        yield Step(number, solution, priced, bound, columns.entered, *seconds, incumbent, gap, now - first)
        if cut is not None:
            raise cut
        if new := columns.choose(priced, solution) or columns.price_past_duplicates(priced, solution):
            master.add(new)
        # other multipliers may have a bound under no condition
        if solution.exact and (n_idle := 0 if new else n_idle + 1) > (incumbent.tries if incumbent.condition else 0):
            return


def _best_of(incumbent: Incumbent | None, new: Incumbent, tol: float) -> Incumbent:
    """Return the lowest objective, the latest of equal ones, with the best bound, the first of equal finite ones.

    Of bounds within `tol` of the objective, and then of those that are not, one under no condition comes before all
    others; else the highest is the best.
    """
    if incumbent is None:
        return new
    primal = new if new.solution.objective <= incumbent.solution.objective else incumbent

    def rank(at: Incumbent) -> tuple[bool, bool, float]:
        return relative_gap(primal.solution.objective, at.bound) <= tol, not at.condition and at.bound > -inf, at.bound

    dual = new if rank(new) > rank(incumbent) or incumbent.bound == -inf else incumbent
    return Incumbent(primal.columns, primal.solution, dual.bound, dual.u, dual.priced, dual.condition)


class _Columns:
    """The columns in the master: what an oracle is to leave out, what of its answers is new, and what bounds hold."""

    def __init__(self, oracle: Oracle, solution: MasterSolution, *, square_sum: bool = True) -> None:
        self.oracle = with_signs(oracle, free=solution.is_free, several=solution.s.ndim > 1)
        self.options = {} if square_sum else skip_squares(self.oracle)
        """What the oracle's `price` is told beside."""
        if solution.row_norm < inf:
            self.options["row_norm"] = solution.row_norm
        self.entered: tuple[Column, ...] = ()
        """In the order of the master's weights."""
        self.hypotheses: dict[Hypothesis, None] = {}
        self.given: set[Hypothesis] = set()
        """Those that the oracle has not answered with itself, nor says that it has them."""
        self._values_seen: set[int] = set()
        self._n_seen = 0

    def enter(self, start: Sequence[Hypothesis], found: Sequence[Hypothesis], solution: MasterSolution) -> list[Column]:
        """Enter the start, and what the oracle has found before; returns the columns with distinct values."""
        sample, hypotheses = self.oracle.sample, dict.fromkeys((*start, *found))
        if find_way(sample, "make_column") is not None:
            # these are hypotheses of the oracle's, each once
            return self._append([make_column(hypothesis, sample, 0.0) for hypothesis in hypotheses])
        self.given = {hypothesis for hypothesis in start if not surely_has(self.oracle, hypothesis)}
        # the same, by their negations, where weights are free
        self.negated = dict(zip(map(negate, self.given), self.given, strict=True)) if solution.is_free else {}
        # of what was found only as many as half of the time is for: the rest of it is for what is done with them
        half, n_start = time_left() / 2, len(dict.fromkeys(start))
        first, others = in_time(islice(hypotheses, n_start)), islice(hypotheses, n_start, None)
        within = chain(first, takewhile(lambda _: time_left() >= half, others))
        evaluated = [_check_values(Column(each, sample, 0.0), len(solution.s), "start") for each in within]
        return self._append(self._drop_seen(evaluated, free=solution.is_free))

    def choose(self, priced: Priced, solution: MasterSolution) -> list[Column]:
        """Enter the columns of an answer that improve and are new, and return them."""
        least, inside = solution.threshold, self.hypotheses
        new = {c.hypothesis: c for c in priced.columns if c.edge > least and c.hypothesis not in inside}
        columns = list(new.values())
        if priced.outside_bound == inf and not priced.distinct:
            checked = (_check_values(column, len(solution.s), "oracle") for column in columns)
            columns = self._drop_seen(checked, free=solution.is_free)
        return self._append(columns)

    def _append(self, columns: list[Column]) -> list[Column]:
        self.entered += tuple(columns)
        self.hypotheses |= dict.fromkeys(map(attrgetter("hypothesis"), columns))
        return columns

    def _drop_seen(self, columns: Iterable[Column], *, free: bool) -> list[Column]:
        """Drop columns that equal one in the master on the sample, or its negation where weights are free.

        Twice the same hypothesis under two names, or h and -h with free weights, would halve a penalty on squares.
        """
        for column in self.entered[self._n_seen :]:
            self._values_seen.add(hash_values(column.packed)[0])
        new = []
        for column in columns:
            own, negated = hash_values(column.packed)
            if own not in self._values_seen and not (free and negated in self._values_seen):
                new.append(column)
                self._values_seen.add(own)
        self._n_seen = len(self.entered) + len(new)
        return new

    def price(self, solution: MasterSolution) -> Priced:
        """Price what is outside the master, again where the oracle answers with what it was given."""
        closed, _ = self._exclude(solution)
        priced = self._ask(solution, closed)
        while self.given:
            own = {column.hypothesis for column in priced.columns}
            own |= {self.negated[hypothesis] for hypothesis in self.negated.keys() & own}
            if self.given.isdisjoint(own):
                break
            self.given -= own
            priced = self._ask(solution, closed)
        return priced

    def raise_bounds(self, priced: Priced, solution: MasterSolution) -> Priced:
        """Raise the bounds of an answer to what is known of the columns in the master, and in it.

        The optimum that is bounded is that over the oracle's hypotheses and those of the start. So the bounds are at
        least what the edges of the columns inside, and of those of the answer, say: whatever an oracle claims.
        """
        known = priced.edge_bound, priced.edge_square_sum, priced.outside_bound
        if np.isnan(known).any():
            raise self._contradicted("a bound that is not a number")
        edges = self._find_edges(solution)
        # with w >= 0 a negative edge is no way to improve
        squares = np.square(edges if solution.is_free else np.maximum(edges, 0.0))
        squares, sizes = as_rows(squares).sum(axis=1), _measure_edges(edges, solution)
        own = np.array([not self.given or column.hypothesis not in self.given for column in self.entered], dtype=bool)
        try:
            answered = self._largest_edge(priced, solution)
        except (IndexError, TypeError, ValueError):
            answered = nan
        if np.isnan(answered):
            for column in priced.columns:
                _check_values(column, len(solution.s), "oracle")
            raise self._contradicted("an edge that is not a number")
        found = Priced(priced.columns, float(sizes[own].max(initial=answered)), float(squares[own].sum()), answered)
        self._check_bounds(priced, found, solution)
        # with w >= 0 a negative edge takes nothing off a bound
        square_sum = priced.edge_square_sum if solution.is_free else priced.rising_square_sum
        hidden = self._exclude(solution)[1]
        bounds = (
            max(priced.edge_bound, found.edge_bound, float(sizes.max(initial=-inf)), hidden),
            max(square_sum, found.edge_square_sum) + float(squares[~own].sum()),
            max(priced.outside_bound, found.outside_bound, hidden),
        )
        return priced if bounds == known else Priced(priced.columns, *bounds, priced.distinct)

    def price_past_duplicates(self, priced: Priced, solution: MasterSolution) -> Sequence[Column]:
        """Enter what an answer without a new column has hidden, and return it.

        An oracle does not show the next best that answers again with a column of the master which is not excluded, or
        with copies, hypotheses with the values of others: so these are left out too, until the answer has none.
        """
        left_out = {column.hypothesis: column for column in self._exclude(solution)[0]}
        # answers that show copies alone, from which on they count as having no end
        for _ in range(1000):
            new = self.choose(priced, solution)
            improving = {column.hypothesis: column for column in priced.columns if column.edge > solution.threshold}
            if new or priced.edge_bound == inf or improving.keys() <= left_out.keys():
                return new
            check_time()
            left_out |= improving
            priced = self._ask(solution, tuple(left_out.values()))
        return []

    def _find_edges(self, solution: MasterSolution) -> Array:
        """Return the edges of the columns in the master, one or a row of them for each."""
        known = solution.edges
        return known if known is not None and len(known) == len(self.entered) else find_edges(self.entered, solution.s)

    def _exclude(self, solution: MasterSolution) -> tuple[Sequence[Column], float]:
        """Return the columns that the oracle is to leave out, in either sign, and the largest edge that this hides.

        With w >= 0 over several outputs h may have an edge for one, and -h for another. So h is excluded but where -h
        is outside, of the set, and may improve; the edge of one that is outside and may not is hidden.
        """
        if (excluded := solution.excluded) is None:
            return self.entered, -inf
        if solution.s.ndim == 1 or not self.entered:
            return tuple(compress(self.entered, excluded)), -inf
        hashes = [hash_values(column.packed) for column in self.entered]
        inside = {of_values for of_values, _ in hashes}
        opposite = _measure_edges(-self._find_edges(solution), solution)
        both = zip(self.entered, hashes, strict=True)
        outside = np.array(
            [negated not in inside and has_negation(self.oracle, each.hypothesis) for each, (_, negated) in both]
        )
        is_open = outside & (opposite > max(solution.threshold, 0.0))
        hidden = float(opposite[outside & ~is_open].max(initial=-inf))
        return tuple(compress(self.entered, excluded | ~is_open)), hidden

    def _ask(self, solution: MasterSolution, closed: Sequence[Column]) -> Priced:
        exclude: Collection[Hypothesis] = [*map(attrgetter("hypothesis"), closed)]
        if self.given:
            exclude = [hypothesis for hypothesis in exclude if hypothesis not in self.given]
        elif closed is self.entered:
            # with their hashes, which take long to find again
            exclude = dict(self.hypotheses)
        return ask(self.oracle, solution.s, exclude, **self.options)

    def _largest_edge(self, priced: Priced, solution: MasterSolution) -> float:
        """Evaluate the largest edge in an answer that has a bound: what an oracle says of a hypothesis may be wrong.

        Those that enter are evaluated anyway; with the others a run takes up to 4 % longer (20,000 x 20, 20 a round).
        """
        largest = -inf
        if not priced.columns or min(priced.edge_bound, priced.outside_bound) == inf:
            return largest
        enter, others = list[Column](), list[Column]()
        for column in priced.columns:
            is_new = column.edge > solution.threshold and column.hypothesis not in self.hypotheses
            (enter if is_new else others).append(column)
        for part in filter(None, (enter, others)):
            for edges in part[0].list_edges(part, solution.s, keep=part is enter):
                # a NaN is one that is found
                largest = float(np.maximum(largest, _measure_edges(edges, solution).max()))
        for column in others:
            # answers may be kept for long
            vars(column).pop("packed", None)
        return largest

    def _check_bounds(self, priced: Priced, found: Priced, solution: MasterSolution) -> None:
        """Raise if an oracle's bounds are below what was `found` of its own hypotheses, by more than rounding."""
        claims = {
            "edge_bound": (priced.edge_bound, found.edge_bound),
            "outside_bound": (priced.outside_bound, found.outside_bound),
            "edge_square_sum": (priced.edge_square_sum, found.edge_square_sum),
        }
        if all(starmap(ge, claims.values())):
            return
        columns = [*self.entered, *priced.columns]
        # rounding is relative to |h|'|s|; a column far from 0 is priced less its centre, so its range counts
        largest = 0.0
        for h in map(attrgetter("values"), columns):
            largest = max(largest, float(np.ptp(h) + np.abs(h).min()))
        scale = largest * float(np.abs(solution.s).sum())
        for name, (claimed, actual) in claims.items():
            size = scale * (len(columns) * scale if name == "edge_square_sum" else 1.0)
            # not all sum alike: so little is added to the bound, and no error
            if actual > claimed + 1e-9 * size:
                what = "squares of edges that sum to" if name == "edge_square_sum" else "an edge of"
                raise self._contradicted(f"{name} = {claimed:.6g}, while its own hypotheses have {what} {actual:.6g}")

    def _contradicted(self, found: str) -> InvalidInput:
        remedy = "return bounds that hold for all its hypotheses, or inf where it has none"
        return InvalidInput("oracle", f"found {name_of(self.oracle)} with {found}", remedy)


def _measure_edges(edges: Array, solution: MasterSolution) -> Array:
    """Return the sizes of edges, one for each column, as the penalty ranks them."""
    return row_sizes(edges, solution.row_norm, one_sided=not solution.is_free)


def _check_values(column: Column, n_samples: int, argument: str) -> Column:
    """Evaluate a hypothesis on the sample; InvalidInput unless that gives a finite number for each, and it hashes."""
    try:
        values, _ = column.values, hash(column.hypothesis)
        if values.shape == (n_samples,) and np.isfinite(values).all():
            return column
        found = f"with values of shape {values.shape} for {n_samples} samples, or not finite"
    except (IndexError, TypeError, ValueError) as error:
        found = f"which the oracle's sample cannot be given to: {error}"
    raise InvalidInput(argument, f"found {column.hypothesis}, {found}", "give ones that hash, of samples like its own")


@dataclass(frozen=True)
class RunLimits:
    """Limits of a run, as `column_generation` explains them; InvalidInput where one is out of its range."""

    tol: float
    max_columns: int | None = None
    max_time: float = inf
    max_rounds: int | None = None
    patience: int = PATIENCE
    min_edge: float = 0.0

    def __post_init__(self) -> None:
        validation.positive("tol", self.tol)
        if self.min_edge:
            validation.positive("min_edge", self.min_edge)
        for name, most in {"max_columns": self.max_columns, "max_rounds": self.max_rounds}.items():
            if most is not None:
                validation.whole(name, most)
        validation.limit("max_time", self.max_time)
        validation.whole("patience", self.patience)

    def reached(
        self, rows: Sequence[Round], sense: float = 1.0, *, bounded: bool = True, time_over: bool = False
    ) -> Ending | None:
        """Return the limit that a run has reached after these rounds, at least one; None where it goes on.

        `sense` is -1 where the objectives of `rows` are those of a maximum; `bounded` is False where there is no bound.
        """
        last, most_rounds = rows[-1], self.max_rounds
        if most_rounds is None and not bounded:
            most_rounds = max(UNBOUNDED_ROUNDS, self.max_columns or 0)
        endings = (
            (Ending.VIOLATED, last.relative_gap < 0),
            (Ending.OPTIMAL, last.relative_gap <= self.tol),
            (Ending.STALLED, not bounded and self._is_stalled(rows, sense)),
            (Ending.MAX_COLUMNS, last.size >= (self.max_columns or inf)),
            (Ending.MAX_ROUNDS, len(rows) >= (most_rounds or inf)),
            (Ending.MAX_TIME, time_over),
        )
        return next((ending for ending, is_here in endings if is_here), None)

    def _is_stalled(self, rows: Sequence[Round], sense: float) -> bool:
        """True if the last rounds were in vain, without a bound; rounds without a feasible point never are."""
        if len(rows) <= self.patience:
            return False
        objectives = [sense * row.objective for row in rows]
        then, now = min(objectives[: -self.patience]), min(objectives)
        return isfinite(then) and then - now <= self.tol * abs(now)


class RunOrigin(NamedTuple):
    """What a run is a solution of: its formulation, over an oracle, for the signs of samples."""

    formulation: Formulation
    oracle: Oracle
    signs: Array


@dataclass(frozen=True)
class Run:
    """An ensemble that column generation made, and the proof of how good it is.

    Parameters
    ----------
    certificate : Certificate
        Over every hypothesis of the oracle's set, where the oracle can bound their edges.
    columns : sequence of Column
        The weak hypotheses.
    weights : ndarray of shape (n_columns,) or (n_columns, n_outputs)
        Their weights w.
    intercept : ndarray of shape () or (n_outputs,)
        b; 0 where the formulation has none.
    u : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The dual point that the bound is from.
    history : sequence of Round
        One row per round.
    ending : Ending
        Why the run ended.
    variables : mapping of str to ndarray
        The best values of the variables that the formulation's expressions have and name themselves, such as
        thresholds, at these weights.
    decide : callable or None
        What the formulation says of how those variables act on new samples.
    proof : cvxens.proofs.Proof or None
        The same in rational numbers, where it was asked for.
    origin : RunOrigin or None
        What was solved, for `near_optimal_range`. It is not copied with the run into files and other processes.
    """

    certificate: Certificate
    columns: Sequence[Column] = field(repr=False)
    weights: Array = field(repr=False)
    intercept: Array
    u: Array = field(repr=False)
    history: Sequence[Round] = field(repr=False)
    ending: Ending
    variables: Mapping[str, Array] = field(default_factory=dict)
    decide: Decide | None = None
    proof: Proof | None = None
    origin: RunOrigin | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "origin": None}

    def decision_function(self, X: Data) -> Array:
        """Evaluate H w + b on new samples, or what the formulation's `decide` makes of that and its own variables.

        Returns (n_samples,) or (n_samples, n_outputs), unless `decide` returns something else.
        """
        return apply(self.decide, self._evaluate_scores(X), X, self.variables)

    def _evaluate_scores(self, X: Data) -> Array:
        """Evaluate H w + b."""
        used = np.flatnonzero(self.weights.any(axis=tuple(range(1, self.weights.ndim))))
        if not used.size:
            return np.zeros((np.shape(X)[0], *self.intercept.shape)) + self.intercept
        H = np.stack([evaluate(self.columns[j].hypothesis, X) for j in used.tolist()], axis=1)
        return H @ self.weights[used] + self.intercept


class RunOptions(TypedDict, total=False):
    """What `column_generation` may be told by those who call it with a tolerance, a start and a time of their own."""

    max_columns: int | None
    max_rounds: int | None
    patience: int
    min_edge: float
    master: Callable[[Formulation, Array], Master]
    checkpoint: Checkpoint | str | os.PathLike[str] | None
    exact: bool


def column_generation(
    formulation: Formulation,
    oracle: Oracle,
    y: Given = None,
    *,
    tol: float = 1e-6,
    max_columns: int | None = None,
    max_time: float = inf,
    max_rounds: int | None = None,
    patience: int = PATIENCE,
    min_edge: float = 0.0,
    master: Callable[[Formulation, Array], Master] = fastest_master,
    start: Iterable[Hypothesis] = (),
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    callback: Callable[[Step], Step | bool | None] | None = None,
    exact: bool = False,
) -> Run:
    """Solve a formulation over all hypotheses of an oracle.

    Parameters
    ----------
    formulation : Formulation
        Loss and penalty; `cvxens.colgen.formulations` has those of the literature.
    oracle : Oracle
        Prices hypotheses on the training sample, such as ``oracles.Stumps(X)``.
    y : array-like of shape (n_samples,), optional
        Labels -1 and +1; none where the loss is on scores (see `Formulation`).
    tol : float
        Relative gap at which to stop, above 0.
    max_columns : int, optional
        Stop when the master has so many columns.
    max_time : float
        Stop after so many seconds, with the state after the last round that was over by then.
    max_rounds : int, optional
        Stop after so many rounds; by default after 100, or `max_columns` if that is more, where the oracle cannot
        bound the edges of its hypotheses (`SklearnLearner`, `Trees`, `Perceptrons` and `Fourier` with new ones in every
        call), as no gap ends such a run and new hypotheses may be found for ever, and never where it can.
    patience : int
        Where the oracle cannot bound the edges, stop when so many rounds together have improved the objective by no
        more than `tol`, relative.
    min_edge : float
        Stop when, of the hypotheses that are not in the master, none that the oracle finds has so large an edge under
        the multipliers of an exact solution: the epsilon of SL's Algorithms 1 and 2. 0 to go on while any improves.
    master : callable
        Makes the master from formulation and signs: a class of `cvxens.colgen.masters`, by default the fastest
        that supports the formulation over the oracle.
    start : iterable of Hypothesis
        Hypotheses to start with, such as ``[c.hypothesis for c in run.columns]`` of an earlier run or the weak
        learners of a model; of those with the same values on the sample one is taken. They enter before the first
        round, evaluated on the oracle's `sample`. Every bound is one over every hypothesis of the oracle and these; in
        sums of squares those count beside them that the oracle neither answers with nor says that it has, by `has`.
    checkpoint : Checkpoint, str or path, optional
        Where the state is written down, once a minute where only the file is given. If the file is there, the run goes
        on from it, with `max_time` for the rounds from there.
    callback : callable, optional
        Called with the `Step` of every round, and of the state that a checkpoint goes on from; returns True to end the
        run after it, as `Ending.STOPPED`, or the step itself, to have its incumbent returned whatever comes after, with
        a certificate by the best bound of the run: `StopEarly` is one. A step's objectives and bounds are of a minimum:
        times `formulation.sense`, they are the formulation's.
    exact : bool
        True for a proof in rational numbers as well, `Run.proof`: of the optimum itself where the formulation is a
        linear program over `Stumps` and that can be solved exactly, else of the point that was found.

    Returns
    -------
    Run
        The best state reached, also when a limit or Ctrl-C ended the run. A bound that is beyond the objective by more
        than rounding ends the run as `Ending.VIOLATED`, unproven.

    Raises
    ------
    InvalidInput
        The formulation, the labels or the limits cannot be worked with, `start` has a hypothesis that cannot be
        evaluated on the oracle's sample, or the oracle's hypotheses contradict its bounds.
    Infeasible
        No weights satisfy the constraints on the margins, and multipliers prove it.
    NotSeparable
        Margins of at least 1 are asked for, and sample weights prove that the oracle has no hypotheses to reach them:
        no edge under them is above 0 by more than rounding. Without that proof the run returns without weights.
    DataFileError
        The checkpoint is there and is damaged, or of another run.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> run = column_generation(formulations.soft_margin(C=2.0), oracles.Stumps(X), y)
    >>> run.certificate.primal, run.certificate.proven, run.ending.name
    (3.0, True, 'OPTIMAL')

    Again, from what it has found:

    >>> again = column_generation(
    ...     formulations.soft_margin(C=2.0), oracles.Stumps(X), y, start=[c.hypothesis for c in run.columns]
    ... )
    >>> len(run.history), len(again.history), again.certificate.primal
    (3, 1, 3.0)

    Told of every round:

    >>> def stop_at_two_columns(step):
    ...     print(step.number, step.incumbent.solution.objective, round(step.relative_gap, 3))
    ...     return len(step.columns) >= 2
    >>> column_generation(
    ...     formulations.soft_margin(C=2.0), oracles.Stumps(X), y, callback=stop_at_two_columns
    ... ).ending.name
    1 6.0 0.5
    2 5.0 0.4
    'STOPPED'
    """
    limits = RunLimits(tol, max_columns, max_time, max_rounds, patience, min_edge)
    validation.instance("formulation", formulation, Formulation)
    formulation = formulation.renewed()
    validation.offers("oracle", oracle, "price", "sample")
    signs = formulation.signs(y, validation.count_rows(oracle.sample))
    if not formulation.holds_own_terms:
        check_symmetry(formulation.terms[1], formulation.outputs, formulation.nonnegative)
    for name, given in {"master": master, "callback": callback}.items():
        if given is not None and not callable(given):
            raise InvalidInput(name, f"found {given!r:.100}", "give a function or a class")
    if isinstance(checkpoint, (str, os.PathLike)):
        checkpoint = Checkpoint(checkpoint)
    elif checkpoint is not None:
        validation.instance("checkpoint", checkpoint, Checkpoint)
    first, begin = _distinct(start), None
    # rounds that a checkpoint plays again take no time
    with limit_time(max_time if checkpoint is None else inf):
        with limit_time(inf, final=True):
            # what counts, but is not cut
            if master is fastest_master:
                formulation = formulation.read(signs)
                # all stumps at once are more columns than a run wants that counts them, or has some
                at_once = not first and max_columns is None and len(signs) >= InteriorPointMaster.many_samples
                if at_once and InteriorPointMaster.can_begin_with(oracle, formulation):
                    begin = InteriorPointMaster.begin_with_stumps
                master = partial(fastest_master_over, oracle)
                if max_columns is None and formulation.terms[0].rounded and has_neighbour(oracle, formulation, signs):
                    begin, master = partial(begin_with_neighbour, first), InteriorPointMaster
            restrict = partial(Restricted, formulation, signs, listed=True)
            if formulation.holds_own_terms:
                check_formulation(formulation, y, n_samples=len(signs), n_points=QUICK)
            search = Search(formulation, oracle, signs, master, restrict, first, checkpoint, callback, begin)
        run = search.run(limits)
    proof = run.certificate.exact() if exact else None
    assert proof is None or isinstance(proof, Proof)
    return replace(run, proof=proof, origin=RunOrigin(formulation, oracle, signs))


def has_neighbour(oracle: Oracle, formulation: Formulation, y: Array) -> bool:
    """Return True if a run is to begin near the smooth neighbour of its loss: over a finite set, not of stumps alone.

    Columns of edges without bounds are found for ever. Over stumps, whose products are sums along features, interior
    points alone are as fast.
    """
    if len(y) < InteriorPointMaster.rounded_samples or declared(oracle, "every_step") is not None:
        return False
    return InteriorPointMaster.supports(formulation) and declared(oracle, "n_hypotheses") < inf


def begin_with_neighbour(
    start: Sequence[Hypothesis], master: InteriorPointMaster, oracle: Oracle, tol: float
) -> Sequence[Hypothesis]:
    """Begin a run near the optimum for a smooth neighbour of its loss; returns what that has beside the start.

    The kinks are rounded off over a width d (Nesterov 2005), so that Newton's method serves. Multipliers of a neighbour
    are the loss's, and it costs ``loss(z) + u'z + loss*(-u)`` at (z, u), at most C d / 16 of each sample whose slope is
    between its bounds, of which a small d leaves few. Where these are hardly more than the weights, it is as hard as
    the loss, and the rest is for the interior-point method; `benchmarks/regression_losses.py` times both over pairs.
    """
    formulation, loss, known, least = master.restricted.formulation, master.loss, tuple(start), inf
    width, goal = 0.1 * find_spread(loss.t, np.ones(len(loss.t))), 5e-3
    # half of the time that is left is to price and to certify
    while (half := time_left() / 2) > 0:
        near = loss.rounded(width)
        neighbour = replace(formulation, loss=near, decide=None)
        run = column_generation(neighbour, oracle, tol=max(goal, tol / 2), max_time=half, start=known)
        z = run.decision_function(oracle.sample)
        if (objective := loss.value(z) + master.penalty.value(run.weights)) >= least:
            break
        known, least = tuple(column.hypothesis for column in run.columns), objective
        u = loss.repair(run.u, master.restricted.y if formulation.intercept else None)
        master.near = dict(zip(known, run.weights.tolist(), strict=True)), u
        lost = loss.value(z) + float(u @ z) - loss.dual_value(u)
        # on 1,000 to 40,000 samples it is as d^1.5
        share = (0.3 * tol * objective / max(lost, TINY)) ** (1 / 1.5)
        n_curved = np.count_nonzero(near.curvature(near.multipliers(z)))
        is_hard = 3 * share * n_curved < np.count_nonzero(run.weights)
        if share > 0.7 or is_hard or run.ending is not Ending.OPTIMAL:
            break
        width, goal = share * width, 0.0
    first = set(start)
    return [hypothesis for hypothesis in known if hypothesis not in first]


def fastest_master_over(oracle: Oracle, formulation: Formulation, y: Array) -> Master:
    """Return the fastest master for a formulation over an oracle: what that knows of its set may help."""
    grams = declared(oracle, "grams")
    if grams is not None and BallMaster.supports(formulation):
        try:
            return BallMaster(formulation, y, grams)
        except ImportError as error:
            warn(f"{error}; the dual over balls is not solved first", SolverFallbackWarning, stacklevel=3)
    return fastest_master(formulation, y)


def _distinct(start: Iterable[Hypothesis]) -> tuple[Hypothesis, ...]:
    try:
        hypotheses = tuple(dict.fromkeys(start))
    except TypeError as error:
        raise InvalidInput("start", f"found {start!r:.100} ({error})", "give hashable hypotheses") from None
    for hypothesis in hypotheses:
        if not callable(hypothesis):
            raise InvalidInput("start", f"found {hypothesis!r:.100}", "give hypotheses: functions of samples")
    return hypotheses


@dataclass(eq=False)
class Search:
    """A run, and how far it has come: its history and its incumbent, after the last round that was over.

    It takes checked arguments, as `column_generation` explains them; `begin` makes the master begin near a solution, of
    hypotheses of the oracle, which it returns. What has an entry for every sample goes from master to oracle and to the
    restricted problems, without columns, that `restrict` makes, and nowhere else: so it may be anything that these
    understand and that has a length.
    """

    formulation: Formulation
    oracle: Oracle
    signs: Array
    make_master: Callable[[Formulation, Array], Master]
    restrict: Callable[[], Restricted]
    start: tuple[Hypothesis, ...] = ()
    checkpoint: Checkpoint | None = None
    callback: Callable[[Step], Step | bool | None] | None = None
    begin: Callable[..., Sequence[Hypothesis]] | None = None

    def __post_init__(self) -> None:
        self.master = self.make_master(self.formulation, self.signs)
        self.keeper = None if self.checkpoint is None else Keeper(self.checkpoint, self.oracle, self.start)
        self.found: tuple[Hypothesis, ...] = ()
        """What the oracle has found before, by a checkpoint."""
        self.history: tuple[Round, ...] = ()
        self.incumbent: Incumbent | None = None
        self.kept: Incumbent | None = None
        self.last: Step | None = None
        self._evaluated: tuple[Incumbent, Restricted, float] | None = None
        self._largest, self._n_measured, self._n_doubtful = 0.0, 0, 0
        self._began = 0.0
        """The seconds of the rounds that a file has."""

    def run(self, limits: RunLimits) -> Run:
        """Iterate until a limit is reached; an interrupt ends the run with what there is."""
        # with a checkpoint the first round is never cut, so that every call gets further
        with limit_time(limits.max_time if self.keeper is None else inf) as clock:
            try:
                ending = self._iterate(limits, clock)
            except (KeyboardInterrupt, TimeUp) as cut:
                if isinstance(cut, KeyboardInterrupt):
                    if clock.ending is Ending.INTERRUPTED:
                        # the second one
                        raise
                    clock.interrupt()
                ending = clock.ending
                self._save(at_once=True)
        # who interrupts what has not begun does not wait for it
        not_begun = ending is Ending.INTERRUPTED and self.incumbent is None
        with limit_time(clock.reserve + OVERRUN if not_begun else clock.room, alone=True) as rest:
            if self.incumbent is None:
                self.incumbent = self._before_first_round()
            elif self.kept is not None:
                # any feasible weights are held against the best bound
                self.incumbent = replace(self.incumbent, columns=self.kept.columns, solution=self.kept.solution)
            if ending is Ending.EXHAUSTED and self.last is not None:
                with suppress(TimeUp):
                    self._raise_if_inseparable(self.last)
            try:
                return self._certify(ending)
            except KeyboardInterrupt:
                # the second one
                rest.interrupt()
                return self._certify(Ending.INTERRUPTED)

    def _iterate(self, limits: RunLimits, clock: Deadline) -> Ending:
        saved = None if self.keeper is None else self.keeper.read()
        if saved is not None:
            if (ending := self._take_up(saved, limits)) is not None:
                return ending
            clock.restart()
        elif self.begin is not None and isinstance(self.master, InteriorPointMaster):
            with one_blas_thread():
                self.found = tuple(self.begin(self.master, self.oracle, limits.tol))
        for raw_step in iterate(
            self.master,
            self.oracle,
            self.start,
            found=self.found,
            square_sum=self.formulation.needs_square_sum,
            incumbent=self.incumbent,
            condition=self._find_condition if self.formulation.basis else None,
            tol=limits.tol,
        ):
            step = self._count(raw_step, limits.tol)
            clock.max_time = limits.max_time
            # the certificate of the next round has as many new columns as were found in this one; for each entry of H
            # it takes 8e-9 seconds, at 2.5 GHz and 5,000 x 50 or more, and some room
            n_columns = len(step.columns) + len(step.priced.columns)
            clock.reserve = step.pricing_seconds + 5e-8 * len(self.signs) * n_columns
            if self.formulation.terms[0].is_searched:
                # its certificate is evaluated by a solver, as the points of the master are
                clock.reserve += step.master_seconds
            bounded = step.incumbent.bounded
            ending = limits.reached(self.history, self.formulation.sense, bounded=bounded, time_over=clock.left <= 0)
            ending = clock.ending if ending is Ending.MAX_TIME else ending
            if ending is Ending.OPTIMAL and step.incumbent.condition and self._n_doubtful < step.incumbent.tries:
                # a proof may be a round or two away
                self._n_doubtful, ending = self._n_doubtful + 1, None
            if ending is None and limits.min_edge and step.solution.exact:
                inside = {column.hypothesis for column in step.columns}
                outside = (column.edge for column in step.priced.columns if column.hypothesis not in inside)
                ending = Ending.SMALL_EDGES if max(outside, default=0.0) < limits.min_edge else None
            told = self._tell(step)
            ending = ending or told
            self._save(at_once=ending is not None)
            if ending is not None:
                return ending
        self._save(at_once=True)
        return Ending.EXHAUSTED

    def _tell(self, step: Step) -> Ending | None:
        """Tell the callback of a step; returns an ending if it asks for one."""
        answer = None if self.callback is None else self.callback(step)
        if answer is step:
            self.kept = step.incumbent
            return None
        return Ending.STOPPED if answer else None

    def _take_up(self, saved: Saved, limits: RunLimits) -> Ending | None:
        """Go on from the state of a file, its point evaluated anew; returns the limit that it has reached, if any."""
        self.start, self.found = tuple(dict.fromkeys((*saved.start, *self.start))), saved.found
        self.history, last = saved.history, saved.history[-1]
        self._began = last.seconds
        if not saved.point:
            return None
        known = (*saved.start, *saved.found)[: len(saved.point["w"])]
        columns = [make_column(each, self.oracle.sample, 0.0) for each in known]
        point = {name: value for name, value in saved.point.items() if name != "b" or self.formulation.intercept}
        try:
            restricted = self._restrict_to(columns)
            solution = restricted.evaluate(point, rescale=False)
        except (IndexError, ValueError) as error:
            raise mismatch_error(f"another sample ({error})") from error
        priced = price_beside(self.oracle, known[: len(saved.start)], solution, found=known[len(saved.start) :])
        bound = restricted.bound(solution, priced)
        saved.check(solution.objective, bound)
        under = self._find_condition(columns, solution, priced)
        incumbent = Incumbent(tuple(columns), solution, bound, solution.u, priced, under)
        step = Step(len(saved.history), solution, priced, bound, incumbent.columns, 0.0, 0.0, incumbent, inf, 0.0)
        self.history = saved.history[:-1]
        step = self._count(step, limits.tol)
        self.history = (*saved.history[:-1], replace(last, relative_gap=step.relative_gap))
        ending = limits.reached(self.history, self.formulation.sense, bounded=incumbent.bounded)
        told = self._tell(step)
        return ending or told

    def _find_condition(self, columns: Sequence[Column], solution: MasterSolution, priced: Priced) -> str:
        """Return what the bound by a solution's multipliers holds under that is not verified; mostly empty."""
        if not self.formulation.basis:
            return ""
        return self.formulation.condition(self._restrict_to(columns).shrink(solution.u, priced))

    def _count(self, step: Step, tol: float) -> Step:
        """Put a round down in the history, with its rounding error where the gap is within `tol`; returns the step."""
        self.last, self.incumbent = step, (incumbent := step.incumbent)
        size = self._find_size(step.columns) if self.formulation.find_size(1.0) else 0.0
        objective, bound = incumbent.solution.objective, incumbent.bound
        gap = relative_gap(objective, bound, size=size)
        if gap <= tol:
            gap = relative_gap(objective, bound, self._evaluate()[1], size)
        sense, seconds = self.formulation.sense, self._began + step.seconds
        row = Round(sense * step.solution.objective, sense * bound, gap, len(step.columns), seconds)
        self.history = (*self.history, row)
        self.last = replace(step, number=len(self.history), relative_gap=gap)
        return self.last

    def _find_size(self, columns: Sequence[Column]) -> float:
        """Return the size below which objectives are near 0, of hypotheses as large as those in the master."""
        for column in columns[self._n_measured :]:
            self._largest = max(self._largest, float(np.abs(column.values).max()))
        self._n_measured = len(columns)
        return self.formulation.find_size(self._largest)

    def _save(self, *, at_once: bool) -> None:
        if self.keeper is None or self.last is None or self.incumbent is None:
            return
        incumbent = self.incumbent
        if self.kept is not None:
            incumbent = replace(incumbent, columns=self.kept.columns, solution=self.kept.solution)
        # what would enter next is not asked for again
        new = [column for column in self.last.priced.columns if column.edge > self.last.solution.threshold]
        known = dict.fromkeys(column.hypothesis for column in (*self.last.columns, *new))
        n_start = sum(hypothesis in known for hypothesis in self.start)
        self.keeper.save(self.history, incumbent, tuple(known), n_start, at_once=at_once)

    def _before_first_round(self) -> Incumbent:
        """Return what a new master knows without columns and without an oracle; without time for that, even less."""
        nothing = Priced(())
        try:
            master = self.make_master(self.formulation, self.signs)
            solution = master.solve()
            bound = master.bound(solution, nothing)
        except TimeUp:
            restricted = self.restrict()
            solution, bound = restricted.start_in_time(), -inf
            with suppress(TimeUp):
                bound = restricted.bound(solution, nothing)
        return Incumbent((), solution, bound, solution.u, nothing)

    def _restrict_to(self, columns: Sequence[Column]) -> Restricted:
        """Return the problem over some columns, as the master has it where these are its first ones."""
        known = () if self.last is None else self.last.columns
        if isinstance(self.master, FastMaster) and tuple(columns) == known[: len(columns)]:
            mine = self.master.restricted
            if mine.formulation is self.formulation and len(known) <= mine.n_columns:
                return mine
        restricted = self.restrict()
        restricted.add(columns)
        return restricted

    def _evaluate(self) -> tuple[Restricted, float]:
        """Return the problem over the incumbent's columns, and the rounding error of its objective and bound."""
        assert self.incumbent is not None
        if self._evaluated is None or self._evaluated[0] is not self.incumbent:
            restricted, rounding = self._restrict_to(self.incumbent.columns), inf
            with suppress(TimeUp):
                rounding = restricted.rounding(self.incumbent)
            self._evaluated = self.incumbent, restricted, rounding
        return self._evaluated[1:]

    def _raise_if_inseparable(self, last: Step) -> None:
        """Raise if the last multipliers prove that no margins of 1 can be reached."""
        (loss, penalty), solution = self.formulation.terms, last.solution
        # multipliers over shards are no array
        domain = loss.domain(np.shape(solution.u))
        # constraints that no margins satisfy are refuted by multipliers of 0
        if solution.objective < inf or (domain is None and not solution.u.any()):
            return
        if len(solution.w) and penalty.primal_violation(penalty.repair(solution.w)) > FEASIBLE:
            found = f"found that no weights of all {len(last.columns)} hypotheses satisfy its constraints"
            raise InvalidInput("penalty", found, "loosen them, or add hypotheses")
        if domain is not None:
            size, total = float(np.abs(solution.u).sum()) or 1.0, self.formulation.terms[1].largest_sum
            least, max_edge = domain.dual_value(solution.u), last.priced.edge_bound
            # weights of a given sum times the largest edge, or of any that can be meant: edges are not quite 0
            if least > min(1e6, total) * max_edge:
                raise Infeasible(solution.u / size, least / size, max_edge / size)
            return
        known, priced, prover = (*last.columns, *last.priced.columns), last.priced, None
        is_proof = _is_farkas(known, solution, priced)
        if (statement := state_set(self.formulation, self.oracle)) is not None:
            prover = partial(prove_inseparable, self.formulation, statement.X, self.signs, over=statement.over)
            sizes = np.abs(statement.X).max(axis=0)
            # a solver's multipliers are off by its digits, and rounding of one column may be an edge of another: exact
            # numbers tell which it is
            if not is_proof or ("pool" in statement.over and sizes.max() > 1e3 * sizes[sizes > 0].min(initial=inf)):
                try:
                    numerators, denominator = prover().multipliers
                except InvalidInput:
                    # none of what is false, or takes more digits than exact solutions have
                    return
                u = self.restrict().balance(np.array([value / denominator for value in numerators]))
                solution = replace(solution, u=u, s=self.signs * u)
                priced = price_beside(self.oracle, self.start, solution)
                is_proof = _is_farkas(known, solution, priced)
        if is_proof:
            size = float(solution.u.sum())
            raise NotSeparable(solution.u / size, priced.edge_bound / size, prover)

    def _certify(self, ending: Ending) -> Run:
        assert self.incumbent is not None
        incumbent, solution = self.incumbent, self.incumbent.solution
        restricted, rounding = self._evaluate()
        certificate = certify_incumbent(self.formulation, restricted, incumbent, rounding)
        if not incumbent.bounded and ending is Ending.STALLED:
            certificate = replace(certificate, note=f"{certificate.note}, and the objective has stopped improving")
        if incumbent.bounded:
            prover = partial(_prove, self.formulation, self.oracle, self.signs, incumbent)
            certificate = replace(certificate, prover=prover)
        with limit_time(inf, final=True):
            # what predictions may need, whatever the time
            finite = solution.objective < inf
            own = self.formulation.own_values(restricted.margins(solution), solution.w) if finite else {}
        found = incumbent.columns, solution.w, solution.b, incumbent.u
        return Run(certificate, *found, self.history, ending, own, self.formulation.decide)


def _is_farkas(known: Sequence[Column], solution: MasterSolution, priced: Priced) -> bool:
    """Return whether u >= 0 has no edge above 0, but for rounding: then LL08 P3 has no solution (Farkas)."""
    # where nothing has an edge there may be no columns yet, but an answer shows the size of the hypotheses
    largest = np.array([float(np.abs(column.values).max()) for column in known])
    edges = _measure_edges(find_edges(known, solution.s), solution)
    # what is rounding of one column may be an edge of another one, in other units
    limits = edge_rounding(len(solution.u), 1.0) * float(solution.u.sum()) * largest
    return bool(priced.edge_bound <= limits.max(initial=0.0) and (edges <= limits).all())


def state_set(formulation: Formulation, oracle: Oracle) -> Statement | None:
    """Return the set that a proof is over, and its features; None where the oracle cannot state it."""
    statement: Statement | None = declared(oracle, "statement")
    if statement is not None and statement.over == "one-sided pool" and not formulation.nonnegative:
        # weights below 0 are of the negations
        return statement._replace(over="pool")
    return statement


def _prove(formulation: Formulation, oracle: Oracle, y: Array, found: Incumbent) -> Proof | None:
    """Prove what a run has found in rational numbers, over the set that the oracle states; None if it states none."""
    if (statement := state_set(formulation, oracle)) is None:
        return None
    (over, X, readings), solution = statement, found.solution
    hypotheses = [column.hypothesis for column in found.columns]
    return prove(formulation, X, y, hypotheses, solution.w, float(solution.b), u=found.u, over=over, readings=readings)


def price_beside(
    oracle: Oracle, start: Iterable[Hypothesis], solution: MasterSolution, found: Sequence[Hypothesis] = ()
) -> Priced:
    """Price multipliers over the hypotheses of an oracle, some of which it `found` before, and others."""
    columns = _Columns(oracle, solution)
    entered = columns.enter(_distinct(start), found, solution)
    edges = find_edges(entered, solution.s)
    closed = None if solution.is_free else as_rows(edges).min(axis=1, initial=inf) > 0
    solution = replace(solution, edges=edges, excluded=closed)
    return columns.raise_bounds(columns.price(solution), solution)


def _explain_bound(formulation: Formulation, incumbent: Incumbent) -> str:
    """Return what the bound of an incumbent rests on, or why there is none, in a few words."""
    priced = incumbent.priced
    if not formulation.has_conjugate:
        return formulation.doubt
    if incumbent.bounded:
        return ", ".join(filter(None, ["over every hypothesis of the oracle", formulation.basis]))
    if priced.edge_bound == inf:
        return "the oracle cannot bound the edges"
    if not isfinite(formulation.terms[0].dual_value(incumbent.u)):
        return "the multipliers that were found have no bound"
    if priced.edge_square_sum == inf:
        return "the oracle does not bound the sum of squared edges, which the penalty needs"
    return "the penalty needs the edges of all hypotheses, not their largest and the sum of their squares alone"


def certify_incumbent(
    formulation: Formulation, restricted: Restricted, incumbent: Incumbent, rounding: float
) -> Certificate:
    """Certify an incumbent whose columns are those of the restricted problem, which has evaluated their `rounding`."""
    solution, u, priced = incumbent.solution, incumbent.u, incumbent.priced
    try:
        note = _explain_bound(formulation, incumbent)
        residuals = restricted.residuals(solution, u, priced) if incumbent.columns else {}
    except TimeUp:
        residuals, rounding, note = {}, inf, "there was no time left to check it"
    violated = relative_gap(solution.objective, incumbent.bound, rounding) < 0
    return Certificate.between(
        formulation.sense * solution.objective,
        formulation.sense * incumbent.bound,
        maximise=formulation.maximise,
        residuals=residuals,
        rounding=rounding,
        proven=formulation.has_conjugate and priced.edge_bound < inf and not violated,
        note=Ending.VIOLATED.value if violated else note,
        condition=incumbent.condition,
        size=restricted.size if incumbent.columns else 0.0,
    )
