"""Where splits come from: generators, and random partitions of data sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler

from cvxens import datasets
from cvxens.experiments.experiment import Draw, Split
from cvxens.types import Array


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
        """Nothing."""
        return ()

    def open(self) -> Draw:
        """Nothing is to be read."""
        return self._draw

    def _draw(self, random: np.random.Generator) -> Split:
        X, y = self.make(self.n_samples, random_state=random)
        X_test, y_test = self.make(self.n_new, random_state=random)
        y[random.permutation(len(y))[: round(self.mislabelled * len(y))]] *= -1
        return scaled(X, y, X_test, y_test, random)


@dataclass(frozen=True)
class Partitioned:
    """A part of the samples to train on, the others to test on, without regard to the classes.

    Parameters
    ----------
    name : str
        Of the data set; a test part that it has is put to the other samples first.
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
        """The data set."""
        return (self.name,)

    def open(self) -> Draw:
        """Read the data set."""
        data = datasets.load(self.name)
        more = data.X_test is not None
        X = np.concatenate([data.X, data.X_test]) if more else data.X
        y = np.concatenate([data.y, data.y_test]) if more else data.y
        X = np.delete(np.asarray(X, np.float64), self.without, axis=1)

        def draw(random: np.random.Generator) -> Split:
            train, test = np.split(random.permutation(len(y)), [round(self.share * len(y))])
            return scaled(X[train], y[train], X[test], y[test], random)

        return draw


def scaled(X: Array, y: NDArray, X_test: Array, y_test: NDArray, random: np.random.Generator) -> Split:
    """Map every feature to [-1, 1] on the training part, linearly; a constant one to -1."""
    scaler: Any = MinMaxScaler((-1, 1)).fit(X)
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test, int(random.integers(2**31)))
