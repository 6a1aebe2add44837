"""An experiment: data to draw splits from, methods to measure on them, and the figures of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler

from cvxens import datasets
from cvxens.experiments.record import Published
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class Split:
    """Samples to train a method on, and to test it on.

    Parameters
    ----------
    X, X_test : ndarray of shape (n_samples, n_features) and (n_new, n_features)
        Features, scaled.
    y, y_test : ndarray of shape (n_samples,) and (n_new,)
        Classes.
    random_state : int
        Seed for a method that draws.
    """

    X: Array = field(repr=False)
    y: NDArray = field(repr=False)
    X_test: Array = field(repr=False)
    y_test: NDArray = field(repr=False)
    random_state: int


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

    Parameters
    ----------
    make : callable
        As `make_twonorm`.
    n_samples, n_new : int
        Samples to train on and to test on.
    mislabelled : float
        Share of the labels to train on, -1 and +1, that are turned round.

    Examples
    --------
    >>> from cvxens.datasets import make_twonorm
    >>> split = Generated(make_twonorm, n_samples=50, n_new=100).open()(np.random.default_rng(0))
    >>> split.X.shape, split.X_test.shape, split.X.min(), split.X.max().round(12)
    ((50, 20), (100, 20), np.float64(-1.0), np.float64(1.0))
    """

    make: Callable[..., tuple[Array, Array]]
    n_samples: int = 300
    n_new: int = 3000
    mislabelled: float = 0.0

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the data sets that it reads: none, as it generates its samples."""
        return ()

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

    Parameters
    ----------
    name : str
        The data set; a test part that it has is put to the other samples first.
    share : float
        The part to train on.
    without : tuple of int
        Columns that are no features.

    Examples
    --------
    >>> split = Partitioned("breast_cancer").open()(np.random.default_rng(0))
    >>> split.X.shape, split.X_test.shape
    ((341, 30), (228, 30))
    """

    name: str
    share: float = 0.6
    without: tuple[int, ...] = ()

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


@dataclass(frozen=True, eq=False)
class Experiment:
    """One table or figure of a paper.

    Parameters
    ----------
    paper, table : str
        What it is called on the command line.
    title, measure : str
        What is compared, and the unit of the figures.
    protocol : str
        How it is done here, and what of the paper's protocol is not known.
    data : mapping of str to Source
        The rows.
    methods : mapping of str to Method
        The columns.
    published : mapping of (data, method) to Published
        The figures that are known.

    Examples
    --------
    >>> from cvxens.experiments import experiment_of
    >>> experiment = experiment_of("ll08", "table2")
    >>> experiment.name, "heart" in experiment.data, "SVM-Stump" in experiment.methods
    ('ll08 table2', True, True)
    """

    paper: str
    table: str
    title: str
    measure: str
    protocol: str
    data: Mapping[str, Source] = field(repr=False)
    methods: Mapping[str, Method] = field(repr=False)
    published: Mapping[tuple[str, str], Published] = field(default_factory=dict, repr=False)

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
