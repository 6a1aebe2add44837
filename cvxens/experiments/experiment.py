"""What an experiment is: data to draw splits from, methods to measure on them, and the figures of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.experiments.record import Published
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class Split:
    """What a method is trained on and tested on.

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
        """Paper and table."""
        return f"{self.paper} {self.table}"


def error_of(make: Callable[[int], Any]) -> Method:
    """The test error in percent of what `make` returns for a seed: a classifier to fit."""

    def error(split: Split) -> float:
        model = make(split.random_state).fit(split.X, split.y)
        return 100.0 * float(np.mean(model.predict(split.X_test) != split.y_test))

    return error
