"""An experiment: data to draw splits from, methods to measure on them, and our figures beside those of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import hypot
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler

from cvxens import datasets
from cvxens.types import Array

TO_BE_CHECKED = "from memory of the print, to be checked"
"""The note of a figure that nobody has compared with the paper."""

LIMIT = 2.0
"""Standard errors of the difference up to which two figures agree."""


@dataclass(frozen=True, eq=False)
class Split:
    """Samples to train a method on, and to test it on."""

    X: Array = field(repr=False)  # scaled features (n_samples, n_features)
    y: NDArray = field(repr=False)  # classes (n_samples,)
    X_test: Array = field(repr=False)  # (n_new, n_features)
    y_test: NDArray = field(repr=False)  # (n_new,)
    random_state: int  # seed for a method that draws


Draw: TypeAlias = Callable[[np.random.Generator], Split]
"""Draws a split."""

Method: TypeAlias = Callable[[Split], float]
"""Trains and tests on a split; returns the figure that is measured."""


class Source(Protocol):
    """Where the splits of a data set come from."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the data sets that have to be in the data directory."""

    def open(self) -> Draw:
        """Read what is needed, once; returns what draws splits."""


@dataclass(frozen=True)
class Generated:
    """New samples for every split.

    Examples
    --------
    >>> from cvxens.datasets import make_twonorm
    >>> split = Generated(make_twonorm, n_samples=50, n_new=100).open()(np.random.default_rng(0))
    >>> split.X.shape, split.X_test.shape, split.X.min(), split.X.max().round(12)
    ((50, 20), (100, 20), np.float64(-1.0), np.float64(1.0))
    """

    make: Callable[..., tuple[Array, Array]]  # as `make_twonorm`
    n_samples: int = 300  # to train on
    n_new: int = 3000  # to test on
    mislabelled: float = 0.0  # share of the labels to train on, -1 and +1, that are turned round
    needs: ClassVar[tuple[str, ...]] = ()

    def open(self) -> Draw:
        """Return what draws splits; nothing is to be read."""
        return self._draw

    def _draw(self, random: np.random.Generator) -> Split:
        X, y = self.make(self.n_samples, random_state=random)
        X_test, y_test = self.make(self.n_new, random_state=random)
        y[random.permutation(len(y))[: round(self.mislabelled * len(y))]] *= -1
        return _scale(X, y, X_test, y_test, random)


@dataclass(frozen=True)
class Partitioned:
    """A part of the samples to train on, the others to test on, without regard to the classes.

    Examples
    --------
    >>> split = Partitioned("breast_cancer").open()(np.random.default_rng(0))
    >>> split.X.shape, split.X_test.shape
    ((341, 30), (228, 30))
    """

    name: str  # the data set; a test part that it has is put to the other samples first
    share: float = 0.6  # the part to train on
    without: tuple[int, ...] = ()  # columns that are no features

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
        X = np.delete(np.asarray(X, np.float64), self.without, axis=1)

        def draw(random: np.random.Generator) -> Split:
            train, test = np.split(random.permutation(len(y)), [round(self.share * len(y))])
            return _scale(X[train], y[train], X[test], y[test], random)

        return draw


def _scale(X: Array, y: NDArray, X_test: Array, y_test: NDArray, random: np.random.Generator) -> Split:
    """Map every feature to [-1, 1] on the training part, linearly; a constant one to -1."""
    scaler: Any = MinMaxScaler((-1, 1)).fit(X)
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test, int(random.integers(2**31)))


@dataclass(frozen=True)
class Published:
    """A figure as a paper prints it, in the unit of the experiment.

    Examples
    --------
    >>> Published(2.86, 0.04, "a paper").note
    'from memory of the print, to be checked'
    """

    mean: float
    standard_error: float  # of the mean
    source: str  # the paper, and the column of its table
    checked: bool = False  # True if the figure was compared with the print

    @property
    def note(self) -> str:
        """A reservation; empty once the figure is checked."""
        return "" if self.checked else TO_BE_CHECKED


@dataclass(frozen=True)
class Trial:
    """One method on one split of one data set: the value in the unit of the experiment, and what it took."""

    data: str
    method: str
    split: int  # its number, from 0
    value: float
    seconds: float  # wall-clock time of training, selection of parameters included, and testing


@dataclass(frozen=True)
class Cell:
    """Our figure of a cell, the mean over the splits, beside the published one.

    Examples
    --------
    >>> cell = Cell("heart", "SVM-Stump", 16.9, 0.6, 20, 0.1, Published(16.4, 0.27, "a paper"))
    >>> cell.agrees, round(cell.distance, 2)
    (True, 0.76)
    """

    data: str  # the row
    method: str  # the column
    mean: float
    standard_error: float  # of the mean, by n_splits - 1 degrees of freedom
    n_splits: int  # 2 or more
    seconds: float  # median wall-clock time of a split
    published: Published | None = None  # where it is known

    @classmethod
    def from_trials(cls, trials: Sequence[Trial], published: Published | None) -> Cell:
        """Summarise the trials, two or more, of one method on one data set."""
        values = np.array([trial.value for trial in trials])
        n_splits, seconds = len(values), float(np.median([trial.seconds for trial in trials]))
        error = float(values.std(ddof=1) / np.sqrt(n_splits))
        return cls(trials[0].data, trials[0].method, float(values.mean()), error, n_splits, seconds, published)

    @property
    def distance(self) -> float | None:
        """|ours - published| in standard errors of the difference, sqrt(se^2 + se_published^2); None without a figure.

        None as well where both standard errors are 0.
        """
        if self.published is None or not self._error:
            return None
        return abs(self.mean - self.published.mean) / self._error

    @property
    def agrees(self) -> bool | None:
        """True if |ours - published| <= 2 sqrt(se^2 + se_published^2); None without a published figure."""
        if self.published is None:
            return None
        return abs(self.mean - self.published.mean) <= LIMIT * self._error

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as JSON has it."""
        published = None if self.published is None else {**asdict(self.published), "note": self.published.note}
        return {**asdict(self), "published": published, "distance": self.distance, "agrees": self.agrees}

    @property
    def _error(self) -> float:
        """The standard error of the difference."""
        return hypot(self.standard_error, 0.0 if self.published is None else self.published.standard_error)


@dataclass(frozen=True, eq=False)
class Experiment:
    """One table or figure of a paper.

    Examples
    --------
    >>> from cvxens.experiments import experiment_of
    >>> experiment = experiment_of("ll08", "table2")
    >>> experiment.name, "heart" in experiment.data, "SVM-Stump" in experiment.methods
    ('ll08 table2', True, True)
    """

    paper: str  # with the table, what it is called on the command line
    table: str
    title: str  # what is compared
    measure: str  # the unit of the figures
    protocol: str  # how it is done here, and what of the paper's protocol is not known
    data: Mapping[str, Source] = field(repr=False)  # the rows
    methods: Mapping[str, Method] = field(repr=False)  # the columns
    published: Mapping[tuple[str, str], Published] = field(default_factory=dict, repr=False)  # by row and column

    @property
    def name(self) -> str:
        """The paper and the table, as the command line lists them."""
        return f"{self.paper} {self.table}"


def measure_error(make: Callable[[int], Any]) -> Method:
    """Return a method: the test error in percent of the classifier that `make` returns for a seed."""

    def error(split: Split) -> float:
        model = make(split.random_state).fit(split.X, split.y)
        return 100.0 * float(np.mean(model.predict(split.X_test) != split.y_test))

    return error
