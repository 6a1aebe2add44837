"""A sample in shards: read once, coded into bins, and asked questions whose answers do not depend on how it is cut.

A *shard* is some rows on one worker: values by feature, the bin of each, signs and prices. Shards never change; what a
worker is asked is a pure function of its shard and of what it is told, so that a lost worker costs the repetition of
its tasks. Answers are integers, exact sums, minima and maxima: they are combined in any order, to the same bits.
Of more than two classes each makes a problem against the rest. What is asked then makes the signs of a shard from the
numbers of its classes, so that all problems work on the same values and codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import delayed
from numpy.typing import NDArray

from cvxens.colgen.protocols import Column, evaluate
from cvxens.dask.tallies import Answer, Places, add, find_cells, find_extremes, sum_exactly, to_float
from cvxens.errors import InvalidInput, refusing
from cvxens.features import N_BINS, Codes, Ints
from cvxens.hypotheses import Hypothesis
from cvxens.types import Array, Labels, Mask, Numbers

if TYPE_CHECKING:
    import dask.dataframe as dd
    from distributed import Client

Rows: TypeAlias = "da.Array | dd.DataFrame | dd.Series"
T_co = TypeVar("T_co", covariant=True)

N_DRAWN = 2**14
"""About so many rows are drawn for the quantiles that bins are cut at: 64 a bin."""

WHOLE = -1
"""The row of a fault of a whole partition."""

REMEDIES = {
    "X": "remove or impute NaN and infinity",
    "y": "give every sample a label, of one type",
    "sample_weight": "give finite weights of 0 or above",
}
"""What to do about rows that cannot be worked with."""

MOST_CLASSES = 100
"""More distinct labels than these are taken for targets."""


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows as they were read."""

    values: Numbers  # (n_features, n_rows), float32 or float64
    labels: Labels  # (n_rows,)
    weights: Array  # (n_rows,)


@dataclass(frozen=True, eq=False)
class Shard:
    """Rows as they are worked with."""

    values: Numbers  # (n_features, n_rows), float32 or float64
    codes: Codes  # (n_features, n_rows), how many cuts of the feature are at or below each value
    y: Array  # (n_rows,), -1 or +1; of more than two classes their numbers, of which `against_rest` makes signs
    weights: Array  # (n_rows,), factors on the price of each row

    @property
    def n_rows(self) -> int:
        """The number of rows, perhaps 0."""
        return len(self.y)

    def find_cells(self, places: Places) -> Codes:
        """Find the cell of every row in every feature, (n_features, n_rows)."""
        few = np.diff(places.cells).max() <= 2**16
        found = np.zeros(self.codes.shape, np.uint16 if few else np.uint32)
        find_cells(self.values, self.codes, places, found)
        return found

    def against_rest(self, k: int) -> Shard:
        """Return the same rows with the sign +1 where they are of the class k, of more than two, and -1 elsewhere."""
        return replace(self, y=np.where(self.y == k, 1.0, -1.0))


@dataclass(frozen=True)
class Stored:
    """A shard in files, of which the system keeps in memory what there is room for."""

    folder: Path

    @classmethod
    def write(cls, shard: Shard, folder: Path) -> Stored:
        """Write the arrays of a shard."""
        folder.mkdir(parents=True, exist_ok=True)
        for each in fields(shard):
            np.save(folder / f"{each.name}.npy", getattr(shard, each.name))
        return cls(folder)

    def read(self) -> Shard:
        """Return the shard, its arrays mapped from the files; changes would be of this copy alone."""
        return Shard(*(np.asarray(np.load(self.folder / f"{each.name}.npy", mmap_mode="c")) for each in fields(Shard)))


@dataclass(frozen=True, eq=False)
class Census:
    """What is known of the rows of a shard, or of several, before they are coded."""

    counts: Ints  # (2, n_shards), rows of each shard, and those of positive weight
    widths: frozenset[int]  # numbers of features
    bad: tuple[tuple[int, int, str], ...]  # the first row of each shard at fault, in it, with what was found there
    classes: tuple[Any, ...]  # sorted
    distinct: tuple[Array | None, ...]  # by feature, the distinct values, None if they are more than 256
    total_weight: Ints  # an exact sum


class Task(Protocol[T_co]):
    """What is to be computed, by workers: a `dask.delayed.Delayed`."""

    def compute(self) -> T_co:
        """Return the result."""


class Workers:
    """Where tasks run: on a client's workers, or on the threads of this machine.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the current one; without any, dask's own scheduler of this machine, which is that of threads unless
        ``dask.config`` says otherwise.
    """

    def __init__(self, client: Client | None = None) -> None:
        self.client = find_client() if client is None else client
        self._scheduler = {} if self.client is None else {"scheduler": self.client}
        """As dask takes it; not by its configuration, which workers that start anew are sent."""

    @classmethod
    def here(cls) -> Workers:
        """Return the threads of this process, whatever client there is."""
        workers = cls.__new__(cls)
        workers.client, workers._scheduler = None, {"scheduler": "threads"}
        return workers

    def persist(self, items: Sequence[Task[Answer]]) -> list[Task[Answer]]:
        """Start tasks whose results stay where they are made, to be made again where they get lost."""
        return self._run(dask.persist, items)

    def compute(self, items: Sequence[Task[Answer]]) -> list[Answer]:
        """Return the results of tasks."""
        return self._run(dask.compute, items)

    def _run(self, work: Callable[..., tuple[Any, ...]], items: Sequence[Any]) -> list[Any]:
        with nullcontext() if self.client is None else self.client.as_current():
            return list(work(*items, **self._scheduler))

    def reduce(self, answers: Sequence[Task[Answer]], combine: Callable[[Sequence[Answer]], Answer]) -> Answer:
        """Combine the results of tasks in a tree, on the workers."""
        while len(answers) > 1:
            # one task adds up eight answers
            groups = [list(answers[i : i + 8]) for i in range(0, len(answers), 8)]
            answers = [delayed(combine, pure=False)(group) for group in groups]
        return self.compute(answers)[0]


def find_client() -> Client | None:
    """Return the current client of dask.distributed, None without one."""
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def combine_extremes(parts: Sequence[Array]) -> Array:
    """Return the least entries of arrays."""
    return np.minimum.reduce(list(parts))


@dataclass(frozen=True, eq=False)
class ShardedColumn(Column):
    """A hypothesis over shards, whose edge is a sum of whole numbers: there is no rounding to look for."""

    @classmethod
    def list_edges(cls, columns: Sequence[Self], s: Array, *, keep: bool = True) -> Iterator[Array]:  # noqa: ARG003
        """Yield the edges that columns were priced with."""
        yield np.array([column.edge for column in columns])


@dataclass(eq=False)
class ShardedSample:
    """A training sample in shards, with all that is known of it as a whole.

    Attributes
    ----------
    workers : Workers
        Where the shards are.
    shards : tuple of dask.delayed.Delayed or Shard
        The rows.
    shape : tuple of int
        (n_samples, n_features).
    classes : ndarray of shape (n_classes,)
        Sorted. Of more than two it is the problems of `against_rest` that are solved.
    cuts : tuple of ndarray
        By feature, ascending: where bins begin, the first but for.
    low, high : ndarray of shape (n_features, 256)
        The least and the largest value in every bin, inf and -inf where there is none.
    counts : ndarray of shape (n_shards,)
        The rows of positive weight in each shard.
    total_weight : float
        The sum of the weights.
    names : tuple of str
        Of the features, where they have any.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.from_array(np.array([[0.0], [1.0], [3.0], [4.0]]), chunks=(3, 1))
    >>> sample = ShardedSample.from_collections(X, da.from_array(np.array([0, 0, 1, 1]), chunks=3), workers=Workers())
    >>> sample.shape, len(sample.shards), sample.classes, sample.cuts
    ((4, 1), 2, array([0, 1]), (array([1., 3., 4.]),))
    """

    workers: Workers
    shards: tuple[Task[Shard | Stored], ...]
    shape: tuple[int, int]
    classes: Labels
    cuts: tuple[Array, ...]
    low: Array
    high: Array
    counts: Ints
    total_weight: float
    names: tuple[str, ...] = ()
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)
    _positive: int | None = None
    """The class that is held against the rest, where the shards have more than two."""

    @classmethod
    def from_collections(
        cls, X: Rows, y: Rows, sample_weight: Rows | None = None, *, workers: Workers, persist: bool | str | Path = True
    ) -> ShardedSample:
        """Read, check and code dask arrays or data frames.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Of finite numbers.
        y : dask array or series of shape (n_samples,)
            Two classes or more.
        sample_weight : dask array or series of shape (n_samples,), optional
            At least 0.
        workers : Workers
            Where to work.
        persist : bool or path
            True to keep shards in the memory of the workers; a folder of this machine to keep them in files there;
            False to read and code them anew whenever they are asked.
        """
        pieces, n_features, names = align(X, y, sample_weight)
        parts = [delayed(read_part, pure=False)(*piece) for piece in pieces]
        parts = workers.persist(parts) if persist is True else parts
        census = workers.reduce([delayed(summarise_features, pure=False)(part) for part in parts], merge_censuses)
        check_census(census, n_features)
        offsets = np.append(0, np.cumsum(census.counts[0]))
        cuts = choose_bins(census, parts, offsets, workers)
        classes = np.array(census.classes)
        # labels of words are as long as the longest of them
        coded = delayed((cuts, classes), pure=False)
        shards = [delayed(code_part, pure=False)(part, coded) for part in parts]
        if not isinstance(persist, bool):
            folder = Path(persist)
            shards = [delayed(Stored.write, pure=False)(each, folder / str(k)) for k, each in enumerate(shards)]
        shards = workers.persist(shards) if persist else shards
        found = [delayed(_answer, pure=False)(find_ends, shard, ()) for shard in shards]
        low, high = workers.reduce(found, combine_extremes)
        shape, total = (int(offsets[-1]), n_features), to_float(census.total_weight)
        return cls(workers, tuple(shards), shape, classes, cuts, low, -high, census.counts[1], total, names)

    def __len__(self) -> int:
        return self.shape[0]

    def place(self, lists: Sequence[Array]) -> Places:
        """Return thresholds, a list for each feature, with what the bins of the sample tell of them."""
        cells = np.append(0, np.cumsum([len(own) + 1 for own in lists])).astype(np.int64)
        first, last = (
            np.stack([np.searchsorted(own, ends[j], side="right") for j, own in enumerate(lists)])
            for ends in (self.low, self.high)
        )
        return Places(np.concatenate([np.zeros(0), *lists]), cells, first, np.maximum(first, last))

    def remember(self, find: Callable[..., Answer], *told: object) -> Answer:
        """Return what a function finds in the sample, once for the problems of all classes: it may not look at y.

        Examples
        --------
        >>> import dask.array as da
        >>> X, y = da.arange(6, chunks=4)[:, np.newaxis], da.from_array(np.array(list("abcabc")), chunks=4)
        >>> sample = ShardedSample.from_collections(X, y, workers=Workers())
        >>> def find(sample):
        ...     print("asked")
        ...     return sample.shape
        >>> [sample.against_rest(k).remember(find) for k in range(3)]
        asked
        [(6, 1), (6, 1), (6, 1)]
        """
        key = find, told
        if key not in self._known:
            self._known[key] = find(self, *told)
        return self._known[key]

    def against_rest(self, k: int) -> ShardedSample:
        """Return the problem of class k, of more than two, against the rest: the classes 0 and 1 of the same shards.

        Examples
        --------
        >>> import dask.array as da
        >>> X, y = da.arange(6, chunks=4)[:, np.newaxis], da.from_array(np.array(list("abcabc")), chunks=4)
        >>> sample = ShardedSample.from_collections(X, y, workers=Workers())
        >>> problem = sample.against_rest(2)
        >>> sample.classes, problem.classes, problem.shards == sample.shards
        (array(['a', 'b', 'c'], dtype='<U1'), array([0, 1]), True)
        >>> problem.map_reduce(lambda shard: shard.y, combine=np.concatenate)
        array([-1., -1.,  1., -1., -1.,  1.])
        """
        return replace(self, classes=np.array([0, 1]), _positive=k)

    def make_column(self, hypothesis: Hypothesis, edge: float) -> ShardedColumn:
        """Return a hypothesis as a column over the shards."""
        return ShardedColumn(hypothesis, self, edge)

    def evaluate(self, hypothesis: Hypothesis) -> Array:
        """Return the values of a hypothesis on all rows, here: for few rows, where somebody insists."""
        return self.map_reduce(_evaluate, hypothesis, combine=np.concatenate)

    def map_reduce(
        self,
        question: Callable[..., Answer],
        *told: object,
        combine: Callable[[Sequence[Answer]], Answer] = add,
        each: Iterable[object] | None = None,
    ) -> Answer:
        """Apply a pure function to every shard and combine the results.

        It is called with the shard, with its own entry of `each` where that is given, and with what all are told.
        """
        handed, posed = delayed(told, pure=False, traverse=False), self._pose(question)
        alone = [()] * len(self.shards) if each is None else [(own,) for own in each]
        pairs = zip(self.shards, alone, strict=True)
        answers = [delayed(_answer, pure=False)(posed, shard, own, handed) for shard, own in pairs]
        return self.workers.reduce(answers, combine)

    def _pose(self, question: Callable[..., Answer]) -> Callable[..., Answer]:
        """Return a question of shards with signs as one of these shards."""
        if len(self.classes) > 2:
            raise InvalidInput("sample", f"found {len(self.classes)} classes", "ask `against_rest` of each")
        return question if self._positive is None else partial(_ask_against_rest, question, self._positive)


def _ask_against_rest(question: Callable[..., Answer], positive: int, shard: Shard, *told: object) -> Answer:
    return question(shard.against_rest(positive), *told)


def _answer(
    question: Callable[..., Answer], shard: object, alone: tuple[object, ...], told: tuple[object, ...] = ()
) -> Answer:
    return question(shard.read() if isinstance(shard, Stored) else shard, *alone, *told)


def _evaluate(shard: Shard, hypothesis: Hypothesis) -> Array:
    return np.asarray(evaluate(hypothesis, shard.values.T.astype(np.float64)), np.float64)


def align(X: Any, y: Any, sample_weight: Any) -> tuple[list[tuple[Any, ...]], int, tuple[str, ...]]:
    """Return the pieces of X, y and weights shard by shard, the number of features, and their names."""
    for name, values, n_dims in (("X", X, 2), ("y", y, 1), ("sample_weight", sample_weight, 1)):
        if values is None and name == "sample_weight":
            continue
        if not is_dask_collection(values) or not hasattr(values, "ndim"):
            remedy = "give a dask array or data frame, such as dask.array.from_array(values, chunks=...)"
            raise InvalidInput(name, f"found {type(values).__name__}", remedy)
        if values.ndim != n_dims:
            raise InvalidInput(name, f"found {values.ndim} dimensions", f"give {n_dims}")
    check_meta("X", X)
    names = () if isinstance(X, da.Array) else tuple(map(str, X.columns))
    n_features = int(X.shape[1]) if isinstance(X, da.Array) else len(names)
    if not n_features:
        raise InvalidInput("X", "found no features", "give at least one")
    columns = [list_pieces(X)]
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None:
            if name != "y":
                check_meta(name, values)
            columns.append(list_pieces(values, X))
            if len(columns[-1]) != len(columns[0]):
                found = f"found {len(columns[-1])} partitions for {len(columns[0])} of X"
                raise InvalidInput(name, found, "give both in the same partitions, or arrays whose chunks are known")
    return list(zip(*columns, strict=True)), n_features, names


def check_meta(name: str, values: Any) -> None:
    """Raise where the types of a collection are none of numbers."""
    is_frame = values.ndim == 2 and not isinstance(values, da.Array)
    types = dict(values.dtypes) if is_frame else {name: values.dtype}
    words = [str(column) for column, dtype in types.items() if dtype.kind not in "biuf"]
    if words:
        where = f" in the columns {', '.join(words[:5])}" if is_frame else ""
        raise InvalidInput(name, f"found no numbers{where}", "code categories as numbers first")


def list_pieces(values: Any, like: Any = None) -> list[Any]:
    """Return the pieces of a collection, row by row; those of an array are cut as `like` is, where that is known."""
    if not isinstance(values, da.Array):
        pieces = list(values.to_delayed(optimize_graph=True))
        # columns of Parquet files may be read several files at a time, of few columns more than of many
        return pieces if len(pieces) == values.npartitions else list(values.to_delayed(optimize_graph=False))
    chunks = like.chunks[0] if isinstance(like, da.Array) else (np.nan,)
    if not np.isnan([*chunks, *values.chunks[0]]).any():
        if sum(chunks) != len(values):
            raise InvalidInput("y", f"found {len(values)} rows for {sum(chunks)} samples", "give one row per sample")
        values = values.rechunk((chunks,)) if values.chunks[0] != chunks else values
    if values.ndim == 2 and len(values.chunks[1]) > 1:
        values = values.rechunk({1: -1})
    return list(values.to_delayed(optimize_graph=True).ravel())


def read_part(X: Any, y: Any, weights: Any = None) -> ReadRows:
    """Return rows by feature; numbers of other types than float32 become float64."""
    rows = read_numbers("X", X)
    kind: type[np.floating] = np.float32 if rows.dtype == np.float32 else np.float64
    values = np.ascontiguousarray(rows.T, dtype=kind)
    # None for whatever way of missing a series has
    labels = y.to_numpy(object, na_value=None) if hasattr(y, "isna") and y.isna().any() else np.asarray(y)
    checked = np.ones(len(rows)) if weights is None else np.asarray(read_numbers("sample_weight", weights), np.float64)
    return ReadRows(values, labels, np.ascontiguousarray(checked))


def read_numbers(argument: str, block: Any) -> Numbers:
    """Return the numbers of a block of an array or a data frame, NaN for whatever way of missing it has."""
    if hasattr(block, "todense"):
        remedy = f"make them dense, such as {argument}.map_blocks(lambda block: block.toarray())"
        raise InvalidInput(argument, f"found sparse blocks ({type(block).__name__})", remedy)
    remedy = "give numbers, and code categories as such first"
    with refusing(argument, "found what is no number", remedy, (TypeError, ValueError)):
        # columns of pandas' own types have objects of its own where they are missing, which become NaN
        kinds = np.atleast_1d(getattr(block, "dtypes", ()))
        is_own = not all(isinstance(each, np.dtype) for each in kinds)
        numbers = np.asarray(block.astype(np.float64) if is_own else block)
        return numbers if numbers.dtype.kind in "biuf" else numbers.astype(np.float64)


def summarise_features(part: ReadRows) -> Census:
    """Count the rows of a part and the values of its features, and look for what cannot be worked with."""
    values, labels, kept = part.values, part.labels, part.weights > 0
    counts, widths = np.array([[values.shape[1]], [np.count_nonzero(kept)]]), frozenset([len(values)])
    bad: list[tuple[int, int, str]] = []
    for name, given in (("y", labels), ("sample_weight", part.weights)):
        if len(given) != values.shape[1]:
            bad.append((0, WHOLE, f"{name}: {len(given)} rows for {values.shape[1]} of X"))
    if bad:
        return Census(counts, widths, tuple(bad), (), (), sum_exactly(np.zeros(0)))
    finite = np.isfinite(values).all(axis=0)
    if not finite.all():
        row = int(finite.argmin())
        feature = int(np.isfinite(values[:, row]).argmin())
        bad.append((0, row, f"X: {values[feature, row]} in feature {feature}"))
    wrong = np.flatnonzero(~(np.isfinite(part.weights) & (part.weights >= 0)))
    if len(wrong):
        bad.append((0, int(wrong[0]), f"sample_weight: {part.weights[wrong[0]]}"))
    none = [each is None for each in labels] if labels.dtype.kind == "O" else False
    # NaN alone is not equal to itself
    missing = np.flatnonzero((labels != labels.copy()) | none)
    classes: tuple[Any, ...] = ()
    if len(missing):
        bad.append((0, int(missing[0]), f"y: {labels[missing[0]]}"))
    else:
        classes, fault = _list_classes(set(np.asarray(labels[kept]).tolist()))
        bad += fault
    distinct = list_each([(own[kept] for own in values)], N_BINS)
    return Census(counts, widths, tuple(bad), classes, distinct, sum_exactly(part.weights))


def list_few(lists: Sequence[Any], most: int) -> Array | None:
    """Return the distinct values of several lists, ascending; None if they are more than that, or a list is None."""
    if any(own is None for own in lists):
        return None
    found = np.zeros(0)
    # of many rows a part tells most features that have many values
    for part in (each for own in lists for each in np.array_split(own, len(own) // (4 * most) + 1)):
        found = np.union1d(found, part.astype(np.float64))
        if len(found) > most:
            return None
    return found


def list_each(parts: Iterable[Iterable[Numbers | None]], most: int) -> tuple[Array | None, ...]:
    """Return for every feature what `list_few` says of its lists in several parts."""
    # parts of differing widths are refused later
    return tuple(list_few(own, most) for own in zip(*parts, strict=False))


def merge_censuses(parts: Sequence[Census]) -> Census:
    """Return what is known of the rows of several censuses together, in their order."""
    bad, before = [], 0
    for part in parts:
        bad += [(shard + before, row, found) for shard, row, found in part.bad]
        before += part.counts.shape[1]
    classes, fault = _list_classes(set().union(*(part.classes for part in parts)))
    return Census(
        np.concatenate([part.counts for part in parts], axis=1),
        frozenset().union(*(part.widths for part in parts)),
        tuple(bad + fault),
        classes,
        list_each((part.distinct for part in parts), N_BINS),
        add([part.total_weight for part in parts]),
    )


def _list_classes(classes: set[Any]) -> tuple[tuple[Any, ...], list[tuple[int, int, str]]]:
    """Return classes in order, no more than tell that they are too many; or as a fault that they have no order."""
    try:
        return tuple(sorted(classes)[: MOST_CLASSES + 1]), []
    except TypeError:
        return (), [(0, 0, f"y: labels without an order, such as {sorted(map(str, classes))[:3]}")]


def check_rows(census: Census, n_features: int) -> None:
    """Raise the one error about rows that cannot be worked with, with the number of the first in the whole."""
    if census.widths != {n_features}:
        found = f"found partitions of {sorted(census.widths)} features where {n_features} are announced"
        raise InvalidInput("X", found, "give partitions of the same columns")
    if census.bad:
        offsets = np.append(0, np.cumsum(census.counts[0]))
        shard, row, what = min(census.bad)
        name, _, found = what.partition(": ")
        if row == WHOLE:
            remedy = f"cut {name} where X is cut: repartition both alike, or give arrays whose chunks are known"
            raise InvalidInput(name, f"found {found} in partition {shard}", remedy)
        where = f"found {found} in row {int(offsets[shard]) + row} (row {row} of partition {shard})"
        raise InvalidInput(name, where, REMEDIES[name])


def check_census(census: Census, n_features: int) -> None:
    """Raise the one error about a sample that cannot be worked with."""
    check_rows(census, n_features)
    n_rows = int(census.counts[0].sum())
    if n_rows < 2:
        raise InvalidInput("X", f"found {n_rows} samples", "give at least two, one of each class")
    if not 2 <= len(census.classes) <= MOST_CLASSES:
        listed = ", ".join(map(str, census.classes[:5])) + (", ..." if len(census.classes) > 5 else "")
        n_classes = f"more than {MOST_CLASSES}" if len(census.classes) > MOST_CLASSES else len(census.classes)
        remedy = f"give samples of two classes or more, up to {MOST_CLASSES}"
        raise InvalidInput("y", f"found {n_classes} classes of positive weight: {listed}", remedy)
    if all(own is not None and len(own) < 2 for own in census.distinct):
        raise InvalidInput("X", "found constant features only", "give at least one feature that varies")


def choose_bins(census: Census, parts: Sequence[Any], offsets: Ints, workers: Workers) -> tuple[Array, ...]:
    """Choose where the bins of every feature begin: at each of up to 256 distinct values, else at quantiles.

    Quantiles are those of rows that are drawn by their number in the whole sample, so that they do not depend on how it
    is cut into shards.
    """
    wide = np.array([own is None for own in census.distinct])
    if not wide.any():
        return tuple(own[1:] for own in census.distinct if own is not None)
    share = min(1.0, N_DRAWN / int(offsets[-1]))
    each = zip(parts, offsets[:-1].tolist(), strict=True)
    drawn_of = [delayed(draw, pure=False)(part, int(offset), share, wide) for part, offset in each]
    drawn = np.sort(workers.reduce(drawn_of, partial(np.concatenate, axis=1)), axis=1)
    n_drawn = drawn.shape[1]
    # few rows of positive weight among many may not be drawn
    shares = [ceil(k * n_drawn / N_BINS) for k in range(1, N_BINS)] if n_drawn > 1 else []
    found = iter(drawn[:, np.minimum(shares, n_drawn - 1).astype(np.intp)])
    return tuple(own[1:] if own is not None else np.unique(next(found)) for own in census.distinct)


def draw(part: ReadRows, offset: int, share: float, wide: Mask) -> Array:
    """Return the values of the drawn rows in the features that have many, (n_wide, n_drawn)."""
    kept = draw_rows(np.arange(offset, offset + part.values.shape[1], dtype=np.uint64), share) & (part.weights > 0)
    return part.values[wide][:, kept].astype(np.float64)


def draw_rows(numbers: NDArray[np.uint64], share: float | Array) -> Mask:
    """Return which rows are drawn, by their numbers alone: a share of them that looks like chance."""
    return (mix(numbers) >> np.uint64(11)).astype(np.float64) * 2.0**-53 < share


def mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look like chance, a different one for each."""
    # the finaliser of splitmix64 (Steele, Lea & Flood 2014), whose output is uniform over 64 bits
    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def code_part(part: ReadRows, told: tuple[tuple[Array, ...], Numbers]) -> Shard:
    """Return the rows of positive weight of a part as a shard."""
    cuts, classes = told
    kept = part.weights > 0
    if kept.all():
        values, labels, weights = part.values, part.labels, part.weights
    else:
        values, labels, weights = np.ascontiguousarray(part.values[:, kept]), part.labels[kept], part.weights[kept]
    codes = np.empty(values.shape, np.uint8)
    for j, own in enumerate(cuts):
        codes[j] = np.searchsorted(own, values[j], side="right")
    numbers = np.zeros(len(labels))
    for k, label in enumerate(classes):
        numbers[labels == label] = k
    return Shard(values, codes, 2 * numbers - 1 if len(classes) == 2 else numbers, weights)


def find_ends(shard: Shard) -> Array:
    """Return the least values of every feature and bin, and minus the largest ones, inf where there are none."""
    n_features = len(shard.codes)
    ends = find_extremes(shard.values, shard.codes, np.arange(n_features + 1) * N_BINS)
    return ends.reshape(2, n_features, N_BINS)
