"""Where samples come from: generated, partitioned at random, with a test part of their own, or as published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from cvxens import datasets
from cvxens.errors import InvalidInput
from cvxens.types import Array, Labels


@dataclass(frozen=True, eq=False)
class Split:
    """Samples to train a method on, and to test it on."""

    X: Array = field(repr=False)  # features (n_samples, n_features)
    y: Labels = field(repr=False)  # classes (n_samples,)
    X_test: Array = field(repr=False)  # (n_new, n_features)
    y_test: Labels = field(repr=False)  # (n_new,)
    random_state: int  # seed for a method that draws


Draw: TypeAlias = Callable[[int, np.random.Generator], Split]
"""Draws the split of a number, from 0."""


class Source(Protocol):
    """Where the splits of a data set come from."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the data sets that have to be in the data directory."""

    @property
    def most(self) -> int | None:
        """The number of splits that a source has; None where any number can be drawn."""

    def open(self) -> Draw:
        """Read what is needed, once; returns what draws splits."""

    def __hash__(self) -> int:
        """Sources are values, so that each is opened once."""


@dataclass(frozen=True)
class Generated:
    """New samples for every split, as they are made: their features are not scaled.

    Examples
    --------
    >>> from cvxens.datasets import make_twonorm
    >>> split = Generated(make_twonorm, n_samples=50, n_new=100).open()(0, np.random.default_rng(0))
    >>> split.X.shape, split.X_test.shape
    ((50, 20), (100, 20))
    """

    make: Callable[..., tuple[Array, Array]]  # as `make_twonorm`
    n_samples: int = 300  # to train on
    n_new: int = 3000  # to test on
    mislabelled: float = 0.0  # share of the labels to train on, -1 and +1, that are turned round
    needs: ClassVar[tuple[str, ...]] = ()
    most: ClassVar[int | None] = None

    def open(self) -> Draw:
        """Return what draws splits; nothing is to be read."""
        return self._draw

    def _draw(self, _number: int, random: np.random.Generator) -> Split:
        X, y = self.make(self.n_samples, random_state=random)
        X_test, y_test = self.make(self.n_new, random_state=random)
        y[random.permutation(len(y))[: round(self.mislabelled * len(y))]] *= -1
        return Split(X, y, X_test, y_test, draw_seed(random))


@dataclass(frozen=True)
class OneDraw:
    """New samples for every split, of one draw: the first to train on, the others to test on.

    Examples
    --------
    >>> from reproduction.samples import make_random_function
    >>> split = OneDraw(make_random_function, 50, 100).open()(0, np.random.default_rng(0))
    >>> split.X.shape, split.X_test.shape
    ((50, 20), (100, 20))
    """

    make: Callable[..., tuple[Array, Array]]  # as `make_random_function`
    n_samples: int  # to train on
    n_new: int  # to test on
    needs: ClassVar[tuple[str, ...]] = ()
    most: ClassVar[int | None] = None

    def open(self) -> Draw:
        """Return what draws splits; nothing is to be read."""
        return self._draw

    def _draw(self, _number: int, random: np.random.Generator) -> Split:
        X, y = self.make(self.n_samples + self.n_new, random_state=random)
        n = self.n_samples
        return Split(X[:n], y[:n], X[n:], y[n:], draw_seed(random))


@dataclass(frozen=True)
class Partitioned:
    """A part of the samples to train on, others to test on, without regard to the classes.

    Examples
    --------
    >>> split = Partitioned("breast_cancer").open()(0, np.random.default_rng(0))
    >>> split.X.shape, split.X_test.shape
    ((341, 30), (228, 30))
    """

    name: str  # the data set; a test part that it has is put to the other samples first
    train: float = 0.6  # below 1 the share of the samples to train on, rounded down; else their number
    n_test: int | None = None  # at most so many of the others to test on
    scaled: bool = True  # True if features are mapped to [-1, 1] on the part to train on
    without: tuple[int, ...] = ()  # columns that are no features
    against_others: tuple[Any, ...] = ()  # classes that together are +1, the others -1; the classes themselves if empty
    most: ClassVar[int | None] = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The name of the data set."""
        return (self.name,)

    def open(self) -> Draw:
        """Read the data set; returns what draws splits."""
        data = datasets.load(self.name)
        more = data.X_test is not None
        X = np.concatenate([data.X, data.X_test]) if more else data.X
        y = np.concatenate([data.y, data.y_test]) if more else data.y
        X = np.delete(X, self.without, axis=1)
        if self.against_others:
            y = np.where(np.isin(y, self.against_others), 1.0, -1.0)
        n_train = int(self.train * len(y) if self.train < 1 else self.train)

        def draw(_number: int, random: np.random.Generator) -> Split:
            train, test = np.split(random.permutation(len(y)), [n_train])
            test = test[: self.n_test]
            parts = (np.asarray(X[part], np.float64) for part in (train, test))
            return _split(next(parts), y[train], next(parts), y[test], self.scaled, random)

        return draw


@dataclass(frozen=True)
class OwnTest:
    """The part to train on and the part to test on that a data set comes with: one split, for one or several runs.

    Runs differ by the seed of the method alone: their deviation is that of its draws, not that of other samples.

    Examples
    --------
    >>> OwnTest("a1a").needs, OwnTest("a1a").most, OwnTest("arcene", runs=20).most
    (('a1a',), 1, 20)
    """

    name: str
    scaled: bool = True  # True if features are mapped to [-1, 1] on the part to train on
    runs: int = 1  # more than one of methods that draw

    @property
    def needs(self) -> tuple[str, ...]:
        """The name of the data set."""
        return (self.name,)

    @property
    def most(self) -> int:
        """The number of runs."""
        return self.runs

    def open(self) -> Draw:
        """Read the data set; returns what hands it over."""
        data, test = _load_parts(self.name)
        return lambda _number, random: _split(data.X, data.y, *test, self.scaled, random)


@dataclass(frozen=True)
class PerClass:
    """As many samples of each class to train on, at random out of those to train on; the own test part to test on.

    Examples
    --------
    >>> PerClass("mnist", 1000).needs
    ('mnist',)
    """

    name: str
    n_samples: int  # of each class
    scaled: bool = True  # True if features are mapped to [-1, 1] on the part to train on
    most: ClassVar[int | None] = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The name of the data set."""
        return (self.name,)

    def open(self) -> Draw:
        """Read the data set; returns what draws splits."""
        data, test = _load_parts(self.name)

        def draw(_number: int, random: np.random.Generator) -> Split:
            order = random.permutation(len(data.y))
            rows = np.concatenate([order[data.y[order] == label][: self.n_samples] for label in np.unique(data.y)])
            return _split(data.X[rows], data.y[rows], *test, self.scaled, random)

        return draw


PUBLISHED = 10
"""Published partitions of a set that the data directory has, where it has them."""


@dataclass(frozen=True)
class Realised:
    """The published partitions of a set of Raetsch's collection, with its features as they are published.

    After the last partition that the data directory has, others of the same sizes are drawn at random.

    Examples
    --------
    >>> Realised("heart").needs, Realised("heart", published=True).most
    (('raetsch_heart',), 10)
    """

    name: str
    published: bool = False  # True if there are no splits but the published ones

    @property
    def needs(self) -> tuple[str, ...]:
        """The name of the data set in the data directory."""
        return (f"raetsch_{self.name}",)

    @property
    def most(self) -> int | None:
        """The number of published partitions, where there are to be no others."""
        return PUBLISHED if self.published else None

    def open(self) -> Draw:
        """Read the data set; returns what draws splits."""
        data = datasets.load(*self.needs)
        X, n_train = np.asarray(data.X, np.float64), len(data.splits[0][0])

        def draw(number: int, random: np.random.Generator) -> Split:
            known = number < len(data.splits)
            train, test = data.splits[number] if known else np.split(random.permutation(len(data.y)), [n_train])
            return Split(X[train], data.y[train], X[test], data.y[test], draw_seed(random))

        return draw


def draw_seed(random: np.random.Generator) -> int:
    """Draw the seed of a method."""
    return int(random.integers(2**31))


def _load_parts(name: str) -> tuple[datasets.Dataset, tuple[Any, Labels]]:
    """Read a data set, and its samples and classes to test on."""
    data = datasets.load(name)
    if data.y_test is None:
        raise InvalidInput("data", f"found {name!r}, which has no test part", "name one that has")
    return data, (data.X_test, data.y_test)


def _split(X: Any, y: Labels, X_test: Any, y_test: Labels, scaled: bool, random: np.random.Generator) -> Split:
    """Map every feature to [-1, 1] on the part to train on, linearly, a constant one to -1, if `scaled`."""
    if scaled:
        scaler: Any = MinMaxScaler((-1, 1)).fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Split(X, y, X_test, y_test, draw_seed(random))
