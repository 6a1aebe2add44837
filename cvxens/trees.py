"""Decision trees in the manner of C4.5, over tables of numeric and nominal features with missing values.

A *case* is a sample with a weight, the part of it that is at a node. A sample without a value of the tested feature is
divided: it goes down every branch, in the proportion of the weights of the others. Growing (Quinlan 1993, chapters 2
and 3, with the cuts of release 8) divides the cases by the test of the best gain ratio until none gains; pruning
(chapter 4) goes back up and replaces a subtree by a leaf or by its largest branch where that predicts no more errors.
A random forest grows many trees without pruning, each on a bootstrap sample, with a few features drawn at each node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, isqrt
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from cvxens.errors import InvalidInput, refusing
from cvxens.limits import check_time, map_in_threads
from cvxens.tables import Feature, Table, match
from cvxens.types import Array, Data, FieldsOnly, Given, Labels
from cvxens.validation import RandomState, generator, labels, positive, weights, whole
from cvxens.validation import n_jobs as checked_jobs

__all__ = ["Feature", "Table", "Tree", "TreeRule", "fit_forest", "fit_tree", "match"]


TINY = 1e-10
"""Gains (in bits), ratios and weights that differ by less count as equal: they are sums in different orders."""

SLACK = 0.1
"""Predicted errors by which a simpler tree may be worse and is still preferred, as in the program of C4.5."""

Codes = NDArray[np.int64]


class Nodes(NamedTuple):
    """The nodes of a tree, breadth first; node 0 is the root."""

    feature: Codes  # the feature a node splits on, -1 at a leaf
    cut: Array  # values up to it go to the first child of a numeric split, above it to the second; NaN elsewhere
    first: Codes  # the first child; the others follow it, a nominal split having one per category
    counts: Array  # training weight of each class at the node, (n_nodes, n_classes)


@dataclass(frozen=True)
class TreeRule:
    """One path of a tree, tests that a later one on the same feature implies left out.

    Parameters
    ----------
    conditions : tuple of str
        Such as ``"outlook = sunny"`` and ``"humidity <= 75"``; all must hold.
    label : object
        The class that the rule predicts.
    cases, errors : float
        Training weight that arrived, and the part of it that is of other classes.

    Examples
    --------
    >>> print(TreeRule(("humidity <= 75", "outlook = sunny"), "yes", 5.0, 1.0))
    if humidity <= 75 and outlook = sunny then yes (5.0/1.0)
    """

    conditions: tuple[str, ...]
    label: object
    cases: float
    errors: float

    def __str__(self) -> str:
        condition = f"if {' and '.join(self.conditions)} then " if self.conditions else ""
        errors = f"/{self.errors:.1f}" if self.errors >= 0.05 else ""
        return f"{condition}{self.label} ({self.cases:.1f}{errors})"


@dataclass(frozen=True, eq=False)
class Tree(FieldsOnly):
    """A decision tree over numeric and nominal features; `fit_tree` learns one.

    Its `features` are those of the table it was learned from, its `classes` are sorted. Two trees are equal if they
    have the same features, classes, splits and class weights.
    """

    features: tuple[Feature, ...]
    classes: tuple[Hashable, ...]
    nodes: Nodes

    def check(self) -> None:
        """Raise a ValueError unless the branches of every node lead to nodes of their own, breadth first."""
        feature, cut, first, counts = self.nodes
        inner = np.flatnonzero(feature >= 0)
        branches = self.branches[inner]
        shapes = {feature.shape, cut.shape, first.shape, counts.shape[:1]} == {(1 + branches.sum(),)}
        kinds = feature.dtype.kind == first.dtype.kind == "i" and {cut.dtype, counts.dtype} == {np.dtype(float)}
        if not (shapes and kinds and counts.shape[1:] == (len(self.classes),)):
            raise ValueError("a tree whose nodes are not as many as their branches")
        # breadth first, so that children come one after the other and after their parents
        children = 1 + np.cumsum(branches) - branches
        nominal = np.array([self.features[d].categories is not None for d in feature[inner].tolist()], bool)
        in_order = (first[inner] == children).all() and (children > inner).all()
        if not (in_order and (np.isnan(cut[inner]) == nominal).all()):
            raise ValueError("a tree whose branches do not lead to its nodes")

    @cached_property
    def _key(self) -> tuple[Hashable, ...]:
        return self.features, self.classes, *(field.tobytes() for field in self.nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._key == other._key

    @cached_property
    def _hash(self) -> int:
        # runs of column generation ask for it in every round, for every tree
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def branches(self) -> Codes:
        """The number of children of each node, (n_nodes,), 0 at a leaf."""
        sizes = np.array([feature.n_values or 2 for feature in self.features])
        return np.where(self.nodes.feature >= 0, sizes[self.nodes.feature], 0)

    @cached_property
    def parents(self) -> Codes:
        """The parent of each node, (n_nodes,); the root's is itself."""
        inner = np.flatnonzero(self.branches)
        return np.concatenate([[0], np.repeat(inner, self.branches[inner])])

    @cached_property
    def _shares(self) -> Array:
        """The part of its parent's training weight that each node got."""
        # only a leaf may have the size 0: what no training case reaches is not divided further
        sizes = self.nodes.counts.sum(axis=1)
        return sizes / sizes[self.parents]

    @cached_property
    def probabilities(self) -> Array:
        """Class probabilities at each node, (n_nodes, n_classes): its parent's where no training case arrived."""
        found = self.nodes.counts.copy()
        for node in np.flatnonzero(found.sum(axis=1) <= 0):
            found[node] = found[self.parents[node]]
        return found / found.sum(axis=1, keepdims=True)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int((self.nodes.feature < 0).sum())

    @cached_property
    def depth(self) -> int:
        """The largest number of tests before a decision."""
        depths = np.zeros(len(self.parents), dtype=np.int64)
        for node in range(1, len(depths)):
            depths[node] = depths[self.parents[node]] + 1
        return int(depths.max())

    def predict_proba(self, X: Data | Table) -> Array:
        """Return class probabilities, (n_samples, n_classes), in the order of `classes`.

        `X` is a table of the features of training, or what `match` makes one of. A sample without the value that a
        test asks for, or with a category that was not seen in training, goes down every branch, in the proportion of
        the training cases that took it, and its classes are weighted accordingly.
        """
        columns = match(self.features, X).columns
        return _descend(self.nodes, self.branches, self._shares, self.probabilities, columns)

    def predict(self, X: Data | Table) -> Labels:
        """Return the most probable class of each sample, (n_samples,); of equally probable ones the first."""
        return np.array(self.classes)[self.predict_proba(X).argmax(axis=1)]

    def __str__(self) -> str:
        """Draw the tree: a line per branch, leaves with their training cases and errors."""
        return "\n".join(self._lines()) or str(self._decision(0, ()))

    def rules(self) -> tuple[TreeRule, ...]:
        """Return a rule per leaf, from the top of the drawing down; on samples without gaps exactly one applies."""
        found = []
        waiting: list[tuple[int, dict[tuple[str, str], str]]] = [(0, {})]
        while waiting:
            node, tests = waiting.pop()
            if not self.branches[node]:
                found.append(self._decision(node, tuple(f"{' '.join(test)} {value}" for test, value in tests.items())))
            waiting += [(child, {**tests, (name, sign): value}) for child, name, sign, value in self._children(node)]
        return tuple(found)

    def _lines(self) -> Iterator[str]:
        waiting = [(0, *child) for child in self._children(0)]
        while waiting:
            depth, node, *test = waiting.pop()
            decision = "" if self.branches[node] else f" {self._decision(node, ())}"
            yield f"{'|   ' * depth}{' '.join(test)}:{decision}"
            waiting += [(depth + 1, *child) for child in self._children(node)]

    def _children(self, node: int) -> Iterator[tuple[int, str, str, str]]:
        """Yield the children of a node and their tests (name, sign, value), the last first, as a stack wants them."""
        feature = self.features[self.nodes.feature[node]]
        for branch in reversed(range(self.branches[node])):
            child = int(self.nodes.first[node]) + branch
            if feature.categories:
                yield child, feature.name, "=", feature.categories[branch]
            else:
                yield child, feature.name, ("<=", ">")[branch], f"{self.nodes.cut[node]:.12g}"

    def _decision(self, node: int, conditions: tuple[str, ...]) -> TreeRule:
        counts, label = self.nodes.counts[node], self.classes[self.probabilities[node].argmax()]
        return TreeRule(conditions, label, float(counts.sum()), float(counts.sum() - counts.max()))


@njit(cache=True)
def _descend(nodes: Nodes, branches: Codes, shares: Array, probabilities: Array, columns: Array) -> Array:
    """Send every sample down the tree, in parts where a value is missing, and sum the probabilities of its leaves."""
    out = np.zeros((columns.shape[1], probabilities.shape[1]))
    waiting, parts = np.empty(len(branches), dtype=np.int64), np.empty(len(branches))
    for i in range(len(out)):
        waiting[0], parts[0], left = 0, 1.0, 1
        while left > 0:
            left -= 1
            node, part = waiting[left], parts[left]
            if branches[node] == 0:
                out[i] += part * probabilities[node]
                continue
            # every branch, or the one of the value: a nominal feature has no cut, and its code is the branch
            value = columns[nodes.feature[node], i]
            if np.isnan(value):
                low, high = 0, branches[node]
            else:
                low = int(value) if np.isnan(nodes.cut[node]) else int(value > nodes.cut[node])
                high = low + 1
            for child in range(nodes.first[node] + low, nodes.first[node] + high):
                waiting[left] = child
                parts[left] = part * shares[child] if high - low > 1 else part
                left += 1
    return out


class Training(NamedTuple):
    """Samples of known class: columns as in `Table`, numbers of categories (0 of a numeric feature), class codes."""

    columns: Array
    n_values: Codes
    y: Codes
    n_classes: int


class Cases(NamedTuple):
    """The cases at a node: indices of samples and the part of each that is there, both of shape (n_cases,)."""

    samples: Codes
    weights: Array


@dataclass(frozen=True)
class Options:
    """The parameters of `fit_tree`, checked."""

    max_depth: int | None = None
    min_cases: float = 2
    confidence: float | None = 0.25

    def __post_init__(self) -> None:
        if self.max_depth is not None and positive("max_depth", self.max_depth) != round(self.max_depth):
            raise InvalidInput("max_depth", f"found {self.max_depth!r}", "give a whole number of at least 1, or None")
        positive("min_cases", self.min_cases)
        if self.confidence is not None and positive("confidence", self.confidence) >= 1:
            raise InvalidInput("confidence", f"found {self.confidence!r}", "give a number between 0 and 1, or None")


def fit_tree(
    X: Data | Table,
    y: ArrayLike,
    sample_weight: Given = None,
    *,
    max_depth: int | None = None,
    min_cases: float = 2,
    confidence: float | None = 0.25,
) -> Tree:
    r"""Learn a decision tree as C4.5 does (Quinlan, *C4.5: Programs for Machine Learning*, 1993).

    A node splits its cases on the test X with the largest gain ratio among those whose gain is at least the average,

    .. math:: gain(X) = \frac{1}{W} (B(T) - \sum_b B(T_b)), \quad
              ratio(X) = gain(X) / \sum_b -\frac{W_b}{W} \log_2 \frac{W_b}{W}

    with W the weight of all cases, T those with a known value, T_b those of branch b and
    :math:`B(T) = -\sum_c W_c \log_2 (W_c / W_T)` their class information; in the denominator the cases without a
    value are one more branch. These go down every branch, in the proportion of the others.

    Nominal features split into one branch per category, numeric ones at a cut that leaves at least
    max(`min_cases`, min(25, W_T / (10 n_classes))) on both sides. Where the book leaves a choice, this is release 8
    (Quinlan, *Improved use of continuous attributes in C4.5*, JAIR 4, 1996): the cut has the largest gain, and this
    gain pays log2(number of such cuts) / W for the choice among them. The cut is the largest value in the training
    table up to the midpoint of its neighbours, so that every cut is a value that occurs.

    Parameters
    ----------
    X : Table, array, data frame or sequence of rows, (n_samples, n_features)
        See `Table.read`. Features without a known value are never tested.
    y : array-like of shape (n_samples,)
        Class labels, at least one class.
    sample_weight : array-like of shape (n_samples,), optional
        At least 0, not all 0; a weight of 2 is as good as having the case twice. By default 1.
    max_depth : int, optional
        The largest number of tests before a decision, at least 1. At 1 on numeric data the tree is the stump with
        the best gain ratio.
    min_cases : float
        At least two branches of every split have this weight; above 0.
    confidence : float, optional
        Of pessimistic pruning, in (0, 1); smaller prunes more, and None not at all. Each split is compared with a leaf
        in its place and with its largest branch in its place, given all its cases; the one with the fewest predicted
        errors stays, the simpler one if they differ by no more than 0.1.

    Returns
    -------
    Tree

    Raises
    ------
    InvalidInput
        An argument out of its range, or of a length other than n_samples.

    Examples
    --------
    >>> X = [["sunny", 85], ["sunny", 70], ["rain", 80], ["rain", 65], ["overcast", 90], ["overcast", 60]]
    >>> tree = fit_tree(X, ["stay", "play", "play", "play", "play", "play"], min_cases=1, confidence=None)
    >>> print(tree)
    x0 = overcast: play (2.0)
    x0 = rain: play (2.0)
    x0 = sunny:
    |   x1 <= 70: play (1.0)
    |   x1 > 70: stay (1.0)
    >>> tree.predict([["sunny", 90], [None, None], ["fog", 64]]).tolist()
    ['stay', 'play', 'play']
    """
    options = Options(max_depth, min_cases, confidence)
    table, data, classes = _read_training(X, y)
    mass = weights("sample_weight", sample_weight, len(table))
    everything = (np.arange(len(table.features)),)
    nodes, cases = grow(data, table.distinct, _present(mass), options, lambda: everything)
    if options.confidence is not None:
        nodes = prune(nodes, cases, data, options.confidence)
    return Tree(table.features, classes, nodes)


def fit_forest(
    X: Data | Table,
    y: ArrayLike,
    n_trees: int = 100,
    *,
    max_features: int | None = None,
    min_cases: float = 1,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> tuple[Tree, ...]:
    """Grow a random forest: trees as of `fit_tree`, to full depth, each on a bootstrap sample (Breiman 2001).

    At each node the best split is that among `max_features` features drawn at random; where none of them splits, as
    many others are drawn. Nothing is pruned.

    Parameters
    ----------
    X, y
        As for `fit_tree`.
    n_trees : int
        At least 1.
    max_features : int, optional
        At least 1; by default the root of the number of features, rounded down.
    min_cases : float
        As for `fit_tree`.
    random_state : int, Generator, RandomState or None
        Seed.
    n_jobs : int, optional
        Trees grown at a time, as joblib counts, on threads. It does not change the forest.

    Returns
    -------
    tuple of Tree

    Examples
    --------
    >>> X = [["sunny", 85], ["sunny", 70], ["rain", 80], ["rain", None], ["overcast", 90], ["overcast", 60]]
    >>> forest = fit_forest(X, ["stay", "play", "play", "play", "play", "play"], 5, random_state=0)
    >>> len(forest), forest[0].classes
    (5, ('play', 'stay'))
    """
    options, (table, data, classes) = Options(None, min_cases, None), _read_training(X, y)
    n_features = len(table.features)
    size = isqrt(n_features) if max_features is None else min(whole("max_features", max_features), n_features)
    seeds = generator(random_state).integers(2**63, size=whole("n_trees", n_trees))

    def fit(seed: int) -> Tree:
        random = np.random.default_rng(seed)
        mass = np.bincount(random.integers(len(table), size=len(table)), minlength=len(table)).astype(np.float64)

        def draw() -> Iterable[Codes]:
            order = random.permutation(n_features)
            return (order[first : first + size] for first in range(0, n_features, size))

        return Tree(table.features, classes, grow(data, table.distinct, _present(mass), options, draw)[0])

    return tuple(map_in_threads(fit, seeds.tolist(), effective_n_jobs(checked_jobs(n_jobs))))


def _read_training(X: Data | Table, y: ArrayLike) -> tuple[Table, Training, tuple[Hashable, ...]]:
    """Return the samples as a table, the same with class codes, and the classes."""
    table = Table.read(X)
    y = labels("y", y, len(table))
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise InvalidInput("y", "found missing labels", "leave these samples out")
    with refusing("y", "found labels that cannot be sorted", "give labels of one type", (TypeError,)):
        classes, codes = np.unique(y, return_inverse=True)
    n_values = np.array([feature.n_values for feature in table.features])
    # what may not be written to has a type of its own, for which all would be compiled once more
    columns = table.columns if table.columns.flags.writeable else table.columns.copy()
    return table, Training(columns, n_values, codes, len(classes)), tuple(classes.tolist())


def _present(mass: Array) -> Cases:
    """Return the samples of positive mass as cases."""
    present = np.flatnonzero(mass > 0)
    return Cases(present, mass[present])


# The search for the best split: gains in bits, compiled.


@njit(cache=True)
def xlog2(x: float) -> float:
    """Return x log2 x, 0 at 0."""
    return x * np.log2(x) if x > 0 else 0.0


@njit(cache=True)
def class_information(counts: Array) -> float:
    """Return `B = W log2 W - sum_c W_c log2 W_c` of the class weights W_c with the sum W."""
    total = 0.0
    coded = 0.0
    for count in counts:
        total += count
        coded += xlog2(count)
    return xlog2(total) - coded


@njit(cache=True)
def nominal_split(data: Training, f: int, cases: Cases, min_cases: float) -> tuple[float, float]:
    """Return (gain, split information) of the multiway split on nominal feature `f`; gain -1 if it is not allowed."""
    column = data.columns[f]
    counts = np.zeros((data.n_values[f], data.n_classes))
    total = 0.0
    for i, sample in enumerate(cases.samples):
        total += cases.weights[i]
        if not np.isnan(column[sample]):
            counts[int(column[sample]), data.y[sample]] += cases.weights[i]
    sizes = counts.sum(axis=1)
    if (sizes >= min_cases - TINY).sum() < 2:
        return -1.0, 0.0
    # W gain = B(T) - sum_b B(T_b);  W info = W log2 W - sum_b W_b log2 W_b, the missing ones as a branch
    gain = class_information(counts.sum(axis=0))
    info = xlog2(total) - xlog2(total - sizes.sum())
    for value in range(len(sizes)):
        gain -= class_information(counts[value])
        info -= xlog2(sizes[value])
    return gain / total, info / total


@njit(cache=True)
def numeric_split(data: Training, f: int, cases: Cases, min_cases: float) -> tuple[float, float, float]:
    """Return (gain, split information, cut) of the best cut of numeric feature `f`; gain -1 if none is allowed.

    The cut is the midpoint with the largest gain of those that leave enough weight on both sides; the gain then pays
    log2(number of these midpoints) / weight for the choice.
    """
    known = ~np.isnan(data.columns[f][cases.samples])
    weights, y = cases.weights[known], data.y[cases.samples[known]]
    values = data.columns[f][cases.samples[known]]
    below, above = np.zeros(data.n_classes), np.zeros(data.n_classes)
    for i in range(len(y)):
        above[y[i]] += weights[i]
    total, size = cases.weights.sum(), above.sum()
    # a tenth of the mean weight of a class, at most 25: the bounds of C4.5's program
    smallest = max(min_cases, min(25.0, 0.1 * size / data.n_classes)) - TINY
    whole, left, cuts = class_information(above), 0.0, 0
    gain, left_at_best, cut = -1.0, 0.0, np.nan
    order = np.argsort(values)
    # one walk over the sorted cases; class weights pass from above the cut to below
    for k in range(len(order) - 1):
        i, after = order[k], order[k + 1]
        below[y[i]] += weights[i]
        above[y[i]] = max(above[y[i]] - weights[i], 0.0)
        left += weights[i]
        if values[i] == values[after]:
            continue
        if min(left, size - left) >= smallest:
            cuts += 1
            # W gain = B(T) - B(below) - B(above)
            found = (whole - class_information(below) - class_information(above)) / total
            if found > gain + TINY:
                # halves first, as the sum of two large values overflows; neighbouring floats have no midpoint
                middle = values[i] / 2 + values[after] / 2
                middle = middle if values[i] <= middle < values[after] else values[i]
                gain, left_at_best, cut = found, left, middle
    if gain < 0:
        return gain, 0.0, cut
    # W info = W log2 W - sum_b W_b log2 W_b over below, above and missing
    info = xlog2(total) - xlog2(left_at_best) - xlog2(size - left_at_best) - xlog2(total - size)
    return gain - np.log2(cuts) / total, info / total, cut


@njit(cache=True)
def best_split(data: Training, cases: Cases, min_cases: float, tried: Codes) -> tuple[int, float]:
    """Return (feature, cut) of the best split of `cases` on one of the features `tried`, feature -1 for none.

    Of the splits with a gain, those with at least the average of their gains compete by gain ratio; ties go to the
    first feature and the lowest cut. `min_cases` is the weight that at least two branches must reach.
    """
    n_features = len(data.columns)
    gains, infos, cuts = np.zeros(n_features), np.zeros(n_features), np.full(n_features, np.nan)
    for f in tried:
        if data.n_values[f] > 0:
            gains[f], infos[f] = nominal_split(data, f, cases, min_cases)
        else:
            gains[f], infos[f], cuts[f] = numeric_split(data, f, cases, min_cases)
    # Quinlan (1993), section 2.2: the average keeps tests out that have a large ratio for their tiny split information
    useful = gains > TINY
    best, ratio = -1, 0.0
    average = gains[useful].mean() if useful.any() else 0.0
    for f in range(n_features):
        if useful[f] and gains[f] >= average - TINY and gains[f] / infos[f] > ratio + TINY:
            best, ratio = f, gains[f] / infos[f]
    return best, cuts[best] if best >= 0 else np.nan


@njit(cache=True)
def divide(column: Array, n_branches: int, cut: float, cases: Cases) -> tuple[Codes, Array, Codes]:
    """Divide cases among branches; those without a value go to each, in the proportion of the others' weight.

    A numeric split has 2 branches, a nominal one the cut NaN. Returned are samples and weights, branch after branch,
    and the `n_branches + 1` places where each starts and the last ends; a branch without known cases gets none.
    """
    branch = np.full(len(cases.samples), -1)
    sizes, lengths = np.zeros(n_branches), np.zeros(n_branches, dtype=np.int64)
    for i, value in enumerate(column[cases.samples]):
        if not np.isnan(value):
            branch[i] = int(value) if np.isnan(cut) else int(value > cut)
            sizes[branch[i]] += cases.weights[i]
            lengths[branch[i]] += 1
    # a branch that knows a case gets a part of all cases without a value too
    taken = lengths > 0
    lengths[taken] += (branch < 0).sum()
    starts = np.zeros(n_branches + 1, dtype=np.int64)
    starts[1:] = np.cumsum(lengths)
    shares = sizes / max(sizes.sum(), TINY)
    samples, weights = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    end = starts[:-1].copy()
    for i, b in enumerate(branch):
        low, high = (b, b + 1) if b >= 0 else (0, n_branches)
        for to in range(low, high):
            if taken[to]:
                samples[end[to]] = cases.samples[i]
                weights[end[to]] = cases.weights[i] * (1.0 if b >= 0 else shares[to])
                end[to] += 1
    return samples, weights, starts


def grow(
    data: Training, distinct: tuple[Array, ...], cases: Cases, options: Options, draw: Callable[[], Iterable[Codes]]
) -> tuple[Nodes, list[Cases]]:
    """Grow a tree, breadth first, and return its nodes and the cases at each; `distinct` as in `Table`.

    At each node `draw` yields sets of features, of which the first one with a split is split on.
    """
    max_depth = inf if options.max_depth is None else options.max_depth
    at, depth = [cases], [0]
    feature, cut, first, counts = [], [], [], []
    for node, here in enumerate(at):
        check_time()
        counts.append(np.bincount(data.y[here.samples], here.weights, data.n_classes).astype(float))
        split, value, total = -1, np.nan, counts[node].sum()
        # two branches need min_cases each, and cases of one class need no test
        large_enough, mixed = total >= 2 * options.min_cases - TINY, counts[node].max() < total - TINY
        if depth[node] < max_depth and large_enough and mixed:
            found = (best_split(data, here, float(options.min_cases), tried) for tried in draw())
            split, value = next((each for each in found if each[0] >= 0), (-1, np.nan))
        if not np.isnan(value):
            # the largest value of the whole table up to the midpoint
            value = float(distinct[split][np.searchsorted(distinct[split], value, side="right") - 1])
        feature.append(split)
        cut.append(value)
        first.append(len(at))
        if split >= 0:
            samples, weights, starts = divide(data.columns[split], data.n_values[split] or 2, value, here)
            at += [Cases(samples[a:b], weights[a:b]) for a, b in pairwise(starts)]
            depth += [depth[node] + 1] * (len(starts) - 1)
    return Nodes(np.array(feature), np.array(cut), np.array(first), np.array(counts)), at


def predict_errors(counts: Array, confidence: float) -> Array:
    """Predict the errors of leaves with the class weights `counts`, on as many new cases as they were trained on.

    With N cases of which E are not of the majority class, they are `N U`, where U is the upper limit of the binomial
    confidence interval for the error rate: the p at which E errors or fewer have probability `confidence`.

    >>> # Quinlan's U(0, 6), U(0, 9) and U(0, 1) at the confidence of 25 %
    >>> (predict_errors(np.array([[6.0, 0.0], [9.0, 0.0], [0.0, 1.0]]), 0.25) / [6, 9, 1]).round(3)
    array([0.206, 0.143, 0.75 ])
    """
    cases, right = counts.sum(axis=1), counts.max(axis=1)
    some = right > 0
    errors = np.zeros(len(counts))
    # the incomplete beta function I_p(E + 1, N - E) = 1 - confidence, which extends the binomial to parts of cases
    errors[some] = cases[some] * betaincinv(cases[some] - right[some] + 1, right[some], 1 - confidence)
    return errors


def prune(nodes: Nodes, cases: list[Cases], data: Training, confidence: float) -> Nodes:
    """Prune a tree and the cases at its nodes, as `grow` returns them, from the leaves to the root."""
    pruned = Nodes(nodes.feature.copy(), nodes.cut.copy(), nodes.first.copy(), nodes.counts.copy())
    # predicted errors of every node as a leaf, and of the subtree below it: the sum over its branches
    branches = np.where(data.n_values > 0, data.n_values, 2)
    as_leaf = predict_errors(nodes.counts, confidence)
    as_tree = as_leaf.copy()
    for node in np.flatnonzero(nodes.feature >= 0)[::-1]:
        check_time()
        first = nodes.first[node]
        as_tree[node] = as_tree[first : first + branches[nodes.feature[node]]].sum()
        while pruned.feature[node] >= 0:
            first = pruned.first[node]
            sizes = pruned.counts[first : first + branches[pruned.feature[node]]].sum(axis=1)
            largest = int(first + (sizes >= sizes.max() - TINY).argmax())
            # the largest branch with all cases of the node: its nodes, and their class weights
            below, counts = _reassign(pruned, data, largest, cases[node])
            as_branch = predict_errors(counts[pruned.feature[below] < 0], confidence).sum()
            if as_leaf[node] <= min(as_branch, as_tree[node]) + SLACK:
                pruned.feature[node], pruned.cut[node], as_tree[node] = -1, np.nan, as_leaf[node]
            elif as_branch <= as_tree[node] + SLACK:
                for field in (pruned.feature, pruned.cut, pruned.first):
                    field[node] = field[largest]
                pruned.counts[below], as_tree[node] = counts, as_branch
            else:
                break
    return _drop_unreachable(pruned, branches)


@njit(cache=True)
def _reassign(nodes: Nodes, data: Training, root: int, cases: Cases) -> tuple[Codes, Array]:
    """Send cases down the subtree at `root`; return its nodes and their class weights."""
    below, waiting = [root], [(0, cases)]
    found = np.zeros((len(nodes.feature), data.n_classes))
    while len(waiting) > 0:
        k, here = waiting.pop()
        for i, sample in enumerate(here.samples):
            found[k, data.y[sample]] += here.weights[i]
        f = nodes.feature[below[k]]
        if f >= 0:
            samples, weights, starts = divide(data.columns[f], data.n_values[f] or 2, nodes.cut[below[k]], here)
            for b in range(len(starts) - 1):
                part = slice(starts[b], starts[b + 1])
                waiting.append((len(below), Cases(samples[part], weights[part])))
                below.append(nodes.first[below[k]] + b)
    return np.array(below), found[: len(below)]


def _drop_unreachable(nodes: Nodes, branches: Codes) -> Nodes:
    """Number the nodes anew, breadth first, without those that pruning has cut off."""
    kept, first = [0], []
    for node in kept:
        first.append(len(kept))
        if nodes.feature[node] >= 0:
            kept += range(nodes.first[node], nodes.first[node] + branches[nodes.feature[node]])
    return Nodes(nodes.feature[kept], nodes.cut[kept], np.array(first), nodes.counts[kept])
