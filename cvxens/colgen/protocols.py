"""Column generation's two protocols, `Oracle` and `Master`, the records that flow between them, how oracles are asked.

Letters: w are weights of hypotheses, b the intercept, u >= 0 the multipliers of the samples, s = y u the signed weights
that an oracle prices. The edge of a hypothesis h is ``sum_i s_i h(x_i)``. All objectives and bounds here are of a
minimum; those of a maximum change their sign where they leave the loop.

With free weights a hypothesis of a large negative edge improves as one of a large positive edge does, and the dual
bound is one on sizes of edges. An oracle whose set has -h with every h answers for both at once and declares it, by
``negations = True``; of any other, s and -s are priced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from math import inf, isfinite
from operator import attrgetter
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy.sparse import csr_array

from cvxens import validation
from cvxens.certificates import relative
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, TabulatedColumn, negate
from cvxens.problems.duality import edges_of, row_sizes
from cvxens.rounding import EPSILON
from cvxens.solvers.byte_rows import Packed, pack
from cvxens.types import Array, Data, Mask


def evaluate(hypothesis: Hypothesis, sample: Data) -> Array:
    """Return the values of a hypothesis on a sample, shape (n_samples,); some samples know by themselves how."""
    own = find_way(sample, "evaluate")
    return hypothesis(sample) if own is None else own(hypothesis)


def find_way(sample: object, name: str) -> Any:
    """Return the method of a sample that has one to `evaluate` hypotheses, or to `make_column`; None where it has not.

    The values of hypotheses on other samples are what the hypotheses say, and no machine has all of those of a sample
    that makes columns.
    """
    return getattr(sample, name, None)


@dataclass(frozen=True, eq=False)
class TabledSample:
    """Samples, and beside them a table of the values that hypotheses have there which are known by their values only.

    A `Union` of oracles on X and a `Pool` of a table has it as its sample, and `Run.decision_function` takes one with
    new samples and the values of the pool's hypotheses on those.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        What other hypotheses are evaluated on.
    table : array-like of shape (n_samples, n_columns)
        The values of all hypotheses of the pool.

    Raises
    ------
    InvalidInput
        The two have not as many rows.

    Examples
    --------
    >>> from cvxens.hypotheses import Stump
    >>> sample = TabledSample(np.array([[0.0], [1.0]]), np.array([[5.0, 6.0], [7.0, 8.0]]))
    >>> sample.evaluate(Stump(0, 0.5, 1)), sample.evaluate(TabulatedColumn(1, 2, -1))
    (array([-1.,  1.]), array([-6., -8.]))
    """

    X: Data
    table: Array

    def __post_init__(self) -> None:
        validation.same_length("table", self.table, validation.count_rows(self.X))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the samples X, without the table."""
        return np.shape(self.X)

    def evaluate(self, hypothesis: Hypothesis) -> Array:
        """Return the values of a hypothesis, of the table or of its own, shape (n_samples,)."""
        innermost: Any = hypothesis
        while hasattr(innermost, "hypothesis"):
            innermost = innermost.hypothesis
        return hypothesis(self.table if isinstance(innermost, TabulatedColumn) else self.X)


@dataclass(frozen=True, eq=False)
class CombinedSample:
    """Rows that are linear combinations of samples: the values of a hypothesis on them are ``D h(X)``."""

    X: Data
    D: csr_array  # (n_rows, n_samples)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (n_rows, n_features) of the rows that hypotheses are evaluated on."""
        return len(self), *np.shape(self.X)[1:]

    def __len__(self) -> int:
        return int(self.D.shape[0])

    def evaluate(self, hypothesis: Hypothesis) -> Array:
        """Return the values of a hypothesis on the rows, shape (n_rows,)."""
        return self.D @ np.asarray(evaluate(hypothesis, self.X), np.float64)


@dataclass(frozen=True, eq=False)
class Column:
    """A hypothesis as an oracle found it: one column of H.

    Parameters
    ----------
    hypothesis : Hypothesis
        The function itself.
    sample : array-like or data frame
        The training sample that the oracle prices on; shared, never copied.
    edge : float
        ``sum_i s_i h(x_i)`` at the signed weights it was priced with: over the outputs the largest, or another norm
        that was asked for.
    """

    hypothesis: Hypothesis
    sample: Data = field(repr=False)
    edge: float

    @classmethod
    def with_values(cls, hypothesis: Hypothesis, sample: Data, edge: float, values: Array) -> Self:
        """Return a column whose values an oracle knows already."""
        column = cls(hypothesis, sample, edge)
        vars(column)["packed"] = pack(values)
        return column

    def times(self, factor: float, hypothesis: Hypothesis) -> Column:
        """Return the column of a hypothesis that is this one times a factor, with its bytes if they are known."""
        column = Column(hypothesis, self.sample, factor * self.edge)
        if (packed := vars(self).get("packed")) is not None and packed[0].dtype == np.int8:
            vars(column)["packed"] = packed[0], factor * packed[1]
        return column

    @property
    def values(self) -> Array:
        """h(x_i) on the training sample, shape (n_samples,)."""
        return np.asarray(self.packed[0]) * self.packed[1]

    @cached_property
    def packed(self) -> Packed:
        """The same values, in bytes and their unit where that loses nothing; evaluated once, when asked for."""
        return pack(self.evaluate())

    def evaluate(self) -> Array:
        """Evaluate the hypothesis on the training sample, shape (n_samples,)."""
        return evaluate(self.hypothesis, self.sample)

    def find_values(self) -> Array:
        """Return the values, which are not kept unless they are known already."""
        return self.values if "packed" in vars(self) else np.asarray(self.evaluate(), np.float64)

    @classmethod
    def list_edges(cls, columns: Sequence[Self], s: Array, *, keep: bool = True) -> Iterator[Array]:
        """Yield the edges of columns under weights (n_samples, ...), of as many at a time as the cache holds.

        Values that are evaluated for it are kept, unless `keep` is False.
        """
        # one by one takes longer, and a copy of all too much memory
        few, find = max(2**17 // len(s), 1), attrgetter("values") if keep else cls.find_values
        for k in range(0, len(columns), few):
            yield edges_of(np.stack([*map(find, columns[k : k + few])]), s)


def find_edges(columns: Sequence[Column], s: Array) -> Array:
    """Return the edges of columns of one sample under signed weights, one or a row of them for each."""
    return np.concatenate([*columns[0].list_edges(columns, s)] if columns else [np.zeros(0)])


def make_column(hypothesis: Hypothesis, sample: Data, edge: float) -> Column:
    """Return a column, as the sample makes it where no machine has the values of all samples."""
    make = find_way(sample, "make_column")
    return Column(hypothesis, sample, edge) if make is None else make(hypothesis, edge)


@dataclass(frozen=True)
class Priced:
    """An oracle's answer.

    Parameters
    ----------
    columns : sequence of Column
        Best first; several per call is normal, none is allowed. The first is the best that is not excluded where the
        bounds are proven and sharp; the others may be the best of those that the oracle has looked at.
    edge_bound : float
        A proven upper bound on the edge of EVERY hypothesis of the oracle's set; inf = heuristic, no proof.
    edge_square_sum : float
        The sum of squared edges over all distinct hypotheses (h and -h counted once, all outputs
        together), or an upper bound on it; inf = not known. It prices l2 penalties.
    outside_bound : float
        A proven upper bound on the edges of the hypotheses that were not excluded; inf = not known. It prices penalties
        under which columns of the master keep larger edges than others may have.
    distinct : bool
        True if the columns are other hypotheses than those that were excluded, even where they are equal on the sample;
        implied by an `outside_bound`. Else a run compares their values and drops what equals a column that it has.
    rising_square_sum : float
        The same sum over the edges above 0, which are those that count where w >= 0: less for a set that lacks -h of
        some h. No more than `edge_square_sum` is believed; inf = not known.
    """

    columns: Sequence[Column]
    edge_bound: float = inf
    edge_square_sum: float = inf
    outside_bound: float = inf
    distinct: bool = False
    rising_square_sum: float = inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "rising_square_sum", min(self.rising_square_sum, self.edge_square_sum))

    @property
    def best_edge(self) -> float:
        """The largest edge found, 0 where nothing was."""
        return max((column.edge for column in self.columns), default=0.0)


class Oracle(Protocol):
    """Finds hypotheses with large edges: the pricing problem.

    An oracle of your own is a class with the sample that its hypotheses are evaluated on, and one method::

        class Coordinates:
            "The features and their negations as hypotheses, exact over that finite set."

            negations = True

            def __init__(self, X):
                self.sample = X

            def price(self, s, exclude=()):
                edges = self.sample.T @ s
                left_out = {h.feature for h in exclude if isinstance(h, Coordinate)}
                best = [j for j in np.argsort(-np.abs(edges)) if j not in left_out][:5]
                columns = [Column(Coordinate(j, np.sign(edges[j])), self.sample, abs(edges[j])) for j in best]
                outside = columns[0].edge if columns else 0.0
                return Priced(columns, np.abs(edges).max(), edges @ edges, outside)

    Its bounds are believed as far as its own hypotheses do not contradict them: a run that meets one with an edge above
    `edge_bound` raises InvalidInput.

    Penalties on the rows of several outputs' weights (`RowNorms`) rank hypotheses by another norm of their edges than
    the largest: then, and only then, `price` is given ``row_norm``, its order, and edges and bounds are such norms.

    ``negations = True`` declares that the set has -h with every h, as that of every oracle here has unless it is made
    one-sided. What does not declare it is priced under s and under -s where weights are free.

    Where a penalty takes the weights of a hypothesis over several outputs together, a run calls ``price(s, exclude=...,
    row_norm=q)``, and the edge of a hypothesis is the norm of order q of its edges, whatever its sign.
    Oracles over oracles ask for `largest`, the largest ``|h(x)|``, to count rounding, and scores that ascend for
    `votes`, True where every h(x) is within [-1, 1]. A method ``has(h)`` tells that the set has a hypothesis that a run
    starts with; without it, it shows when the oracle answers with that.
    One whose `price` has a parameter ``square_sum`` is given False where sums of squared edges are not needed, and then
    answers with inf in their place, in less time.

    Penalties on squares reach their optimum only with an oracle that heeds `exclude`; a run leaves out by itself what
    an oracle returns again.
    """

    @property
    def sample(self) -> Data:
        """The n_samples rows that the hypotheses are evaluated on."""

    def price(self, s: Array, /, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Find hypotheses with large edges under signed weights s = y u.

        Parameters
        ----------
        s : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Finite; all zeros is allowed.
        exclude : collection of Hypothesis
            The columns in the master, not to be returned in either sign. They count in `edge_bound` and
            `edge_square_sum`, but not in `outside_bound`.

        Returns
        -------
        Priced
            The best hypotheses first, each with its edge under the output where that is largest.
        """


DECLARED: dict[str, Any] = {
    "negations": False,
    "has": None,
    "has_negation": None,
    "largest": inf,
    "votes": False,  # True: every h(x) is within [-1, 1], not only on the sample
    "n_hypotheses": inf,
    "by_rows": False,
    "statement": None,
    "grams": None,
    "every_step": None,  # the features whose stumps, of every place and sign and at unit cost, are all in the set
    "columns": None,
    "constant": True,  # True: the constants may be in the set
}
"""What an oracle may declare beside its sample, and what is believed of one that does not."""


def declared(oracle: object, name: str) -> Any:
    """Return what an oracle declares under one of the names of `DECLARED`."""
    return getattr(oracle, name, DECLARED[name])


def has_negation(oracle: Oracle, hypothesis: Hypothesis) -> bool:
    """Return True if the set of an oracle may have -h beside its own h: False where the oracle tells that it has not.

    One whose set has -h for some h alone has a method of this name.
    """
    tells = declared(oracle, "has_negation")
    return declared(oracle, "negations") or tells is None or bool(tells(hypothesis))


def surely_has(oracle: Oracle, hypothesis: Hypothesis) -> bool:
    """Return True if an oracle tells that its set has the values of a hypothesis on the sample, by its method `has`."""
    tells = declared(oracle, "has")
    return tells is not None and bool(tells(hypothesis))


@dataclass(frozen=True)
class MasterSolution:
    """A restricted master's optimum, or a point near it, its dual repaired to be feasible.

    Parameters
    ----------
    w : ndarray of shape (n_columns,) or (n_columns, n_outputs)
        Weights of the columns, in the order in which they were added.
    b : float or ndarray of shape (n_outputs,)
        Intercept; 0 where the formulation has none.
    u : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Dual of the link between margins and weights.
    s : ndarray, shaped as `u`
        The signed weights y u that the oracle prices.
    objective : float
        The value at (w, b), recomputed in numpy: feasible for the full problem, so it bounds the optimum.
    threshold : float
        An edge must exceed it to improve.
    excluded : ndarray of bool, shape (n_columns,), or None
        True for the hypotheses that the oracle is to leave out, in either sign; None for all of the master's. Where
        w >= 0, one of negative edge is not among them: its negation may improve.
    exact : bool
        True if the master can do no better with its columns. If not, the loop asks it again where no column improves.
    edges : ndarray, shaped as `w`, or None
        The edges of the master's columns under s; None where they are not at hand.
    centred : float or ndarray of shape (n_outputs,), or None
        The intercept for columns less their centres, with the digits that b lacks where the centres are far from 0; b
        itself if None.
    row_norm : float
        The order of the norm over the outputs by which the penalty ranks the edges of a hypothesis.
    """

    w: Array
    b: Array
    u: Array
    s: Array
    objective: float
    threshold: float
    excluded: Mask | None = None
    exact: bool = True
    edges: Array | None = None
    centred: Array | None = None
    row_norm: float = inf

    @property
    def is_free(self) -> bool:
        """True if weights have either sign."""
        return self.excluded is None


@dataclass(frozen=True)
class Incumbent:
    """The best primal and the best dual point of a run so far; its certificate is made from them."""

    columns: tuple[Column, ...]  # those of the primal point
    solution: MasterSolution  # the restricted optimum over them; of equal objectives the latest
    bound: float  # on the optimum over all hypotheses; -inf if there is none
    u: Array  # the multipliers that the bound is from
    priced: Priced  # the oracle's answer to them
    condition: str = ""  # under which alone the bound holds, in a few words; mostly empty
    tries: ClassVar[int] = 3  # rounds beyond the end of a run that a bound under a condition has, to be proven

    @property
    def bounded(self) -> bool:
        """True if the bound is one over all hypotheses: the oracle bounds their edges, and that is enough."""
        return bool(self.priced.edge_bound < inf and self.bound > -inf)


def relative_gap(objective: float, bound: float, rounding: float = 0.0, size: float = 0.0) -> float:
    """Return (objective - bound + rounding) relative to the largest of both and `size`; inf where one is infinite."""
    finite = isfinite(objective) and isfinite(bound)
    return relative(objective - bound + rounding, objective, bound, size) if finite else inf


class Master(Protocol):
    """The restricted problem over the columns found so far; the only one that holds state."""

    def add(self, columns: Sequence[Column], /) -> None:
        """Add columns to the model."""

    def solve(self) -> MasterSolution:
        """Solve over the columns added so far, warm-started where the solver can be."""

    def bound(self, solution: MasterSolution, priced: Priced, /) -> float:
        """Bound the optimum over ALL hypotheses from a master's dual and an oracle's answer to it."""


def ask(oracle: Oracle, s: Array, exclude: Collection[Hypothesis], **options: object) -> Priced:
    """Ask an oracle; InvalidInput if its `price` does not take what it is called with, or returns something else."""
    try:
        priced: Any = oracle.price(s, exclude=exclude, **options)
    except TypeError as error:
        # an error of the call itself, not of what the oracle does
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        remedy = f"give its price the parameters (s, {', '.join(['exclude=()', *options])})"
        raise InvalidInput("oracle", f"found {name_of(oracle)} which says: {error}", remedy) from None
    if not isinstance(priced, Priced):
        found = f"found {name_of(oracle)} whose price returns {type(priced).__name__}"
        raise InvalidInput("oracle", found, "return a Priced: columns, and a bound on all edges if there is one")
    return priced


def list_parameters(call: Any) -> Collection[str]:
    """Return the parameters that something takes that may be called; none of what does not tell."""
    try:
        return signature(call).parameters
    except (TypeError, ValueError):
        return ()


def skip_squares(oracle: Oracle) -> dict[str, Any]:
    """Return what `price` is told where sums of squared edges are not needed: nothing, if it does not ask for that."""
    return {"square_sum": False} if "square_sum" in list_parameters(oracle.price) else {}


def name_of(oracle: Oracle) -> str:
    """Return what errors call an oracle."""
    asked = oracle.oracle if isinstance(oracle, BothSigns | EachSign) else oracle
    return str(getattr(asked.price, "__qualname__", repr(asked.price))).removesuffix(".price")


def with_signs(oracle: Oracle, *, free: bool = True, several: bool = False) -> Oracle:
    """Return an oracle whose answers hold for weights of either sign, or for weights w >= 0 over several outputs.

    It is itself one if it declares that it has -h with every h. Over such a set the largest edge, SL (6), is the
    largest |edge|, SL (8): SL Claim IV.2.
    """
    if free:
        return oracle if declared(oracle, "negations") else BothSigns(oracle)
    tells = declared(oracle, "negations") or declared(oracle, "has_negation") is not None
    return EachSign(oracle) if several and tells and not isinstance(oracle, EachSign) else oracle


class OracleOver:
    """An oracle over the hypotheses of another one, changed one by one, as many and with -h where that has it."""

    def __init__(self, oracle: Oracle) -> None:
        validation.offers("oracle", oracle, "price", "sample")
        self.oracle, self.sample = oracle, oracle.sample
        self.negations = declared(oracle, "negations")

    @property
    def n_hypotheses(self) -> float:
        """Number of hypotheses, inf where it is not known."""
        return float(declared(self.oracle, "n_hypotheses"))

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the set may have the negation of a hypothesis."""
        return has_negation(self.oracle, hypothesis)


class BothSigns(OracleOver):
    """The hypotheses of an oracle with weights of either sign: prices s and -s, and takes the larger bounds.

    Hypotheses stay what they are, so the edge of a column is the size of its own. Of hypotheses with the same values on
    the sample, or their negatives, an answer has one.
    """

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.negations, self.votes = True, declared(oracle, "votes")

    def price(self, s: Array, exclude: Collection[Hypothesis] = (), **options: object) -> Priced:
        """Return the best hypotheses by the sizes of their edges."""
        s = np.asarray(s, np.float64)
        rising, falling = (ask(self.oracle, signed, exclude, **options) for signed in (s, -s))
        found = sorted([*rising.columns, *falling.columns], key=lambda column: column.edge)
        # of those with the same values, or their negatives, the last one stays, whose edge is the largest
        best = {min(hash_values(column.packed)): column for column in found}
        return Priced(
            sorted(best.values(), key=lambda column: -column.edge),
            max(rising.edge_bound, falling.edge_bound),
            # the same sum, as squares have no sign
            max(rising.edge_square_sum, falling.edge_square_sum),
            max(rising.outside_bound, falling.outside_bound),
            rising.distinct and falling.distinct,
        )


class EachSign(OracleOver):
    """The hypotheses of an oracle with weights w >= 0 over several outputs, where h and -h may both improve.

    An oracle returns of each pair the one with the larger edge; so the other one is added where it has an edge too.
    """

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self._seen: dict[Hypothesis, Column] = {}
        """What was excluded, with its values."""

    def price(self, s: Array, exclude: Collection[Hypothesis] = (), **options: Any) -> Priced:
        """Return the best hypotheses by the norm over the outputs of their edges above 0.

        Under a norm of rows the oracle ranks by all edges, which is no less. So it is asked again without those that
        are known, until nothing else can be better; then the bounds are those of the edges above 0.
        """
        row_norm, priced = options.get("row_norm", inf), ask(self.oracle, s, exclude, **options)
        columns = self._list_signs(priced, s, row_norm)
        if inf in {row_norm, priced.outside_bound}:
            return replace(priced, columns=_rank(columns))
        known, rest, best = set[Hypothesis](), priced, _largest(columns)
        # what the edges of an answer may be off by shows in its bound
        slack = max(priced.outside_bound - priced.best_edge, 0.0) + 8 * EPSILON * priced.best_edge
        # a search that is cut short bounds as well
        for _ in range(50):
            new = {column.hypothesis for column in rest.columns} - known
            if not new or rest.outside_bound <= best:
                break
            known |= new
            rest = ask(self.oracle, s, [*exclude, *known], **options)
            columns |= self._list_signs(rest, s, row_norm)
            best = _largest(columns)
        outside = max(min(rest.outside_bound, priced.outside_bound), best + slack)
        excluded = (Column(hypothesis, self.sample, 0.0) for hypothesis in exclude)
        closed = self._list_signs(Priced([self._seen.setdefault(c.hypothesis, c) for c in excluded]), s, row_norm)
        every = max(outside, _largest(closed) + slack)
        return replace(priced, columns=_rank(columns), edge_bound=every, outside_bound=outside)

    def _list_signs(self, priced: Priced, s: Array, row_norm: float) -> dict[Hypothesis, Column]:
        """Return the columns of an answer, and their negations where the set has them, that have an edge above 0."""
        columns: dict[Hypothesis, Column] = {}
        for column in priced.columns:
            edges = find_edges([column], s)
            pair = [(column.hypothesis, edges)]
            if has_negation(self.oracle, column.hypothesis):
                pair.append((negate(column.hypothesis), -edges))
            for hypothesis, signed in pair:
                edge = float(row_sizes(signed, row_norm, one_sided=True)[0])
                if edge > 0:
                    columns.setdefault(hypothesis, Column(hypothesis, column.sample, edge))
        return columns


def _largest(columns: Mapping[Hypothesis, Column]) -> float:
    return max((column.edge for column in columns.values()), default=0.0)


def _rank(columns: Mapping[Hypothesis, Column]) -> list[Column]:
    return sorted(columns.values(), key=lambda column: -column.edge)


def hash_values(packed: Packed) -> tuple[int, int]:
    """Return hashes of a hypothesis's values on the sample as a column keeps them, and of its negation's."""
    values, unit = np.asarray(packed[0]), packed[1]
    # equal values are kept alike: those that are no bytes with 0.0 for -0.0
    if values.dtype != np.int8:
        values = values.astype(np.float64) + 0.0
    return hash((values.tobytes(), unit)), hash(((0 - values).tobytes(), unit))
