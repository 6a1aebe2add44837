"""An experiment: data to draw splits from, methods to measure on them, and our figures beside those of the paper."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import partial
from inspect import signature
from math import hypot, nan, sqrt
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from reproduction.methods import Method, Proof
from reproduction.published import Published, read_published
from reproduction.splits import OwnTest, Source

LIMIT = 2.0
"""Standard errors of the difference up to which two figures agree."""

FEW = 10
"""Splits below which their standard deviation alone says little."""

CHECK = "a check of our own"
"""What titles of checks begin with."""

WITHIN, BETTER, WORSE = "within two", "better", "worse"


@dataclass(frozen=True, eq=False)
class Experiment:
    """One table or figure of a paper.

    Examples
    --------
    >>> from reproduction import experiment_of
    >>> experiment = experiment_of("ll08", "table2")
    >>> experiment.name, "heart" in experiment.rows, "SVM-Stump" in experiment.columns
    ('ll08 table2', True, True)
    >>> str(experiment.published["heart", "SVM-Stump"])
    '16.4 ± 0.27'
    """

    paper: str  # with the table, what it is called on the command line
    table: str
    title: str  # what is compared
    protocol: str  # how it is done here, and what the paper does not say
    rows: Mapping[str, Source] = field(repr=False)  # the data, as the paper calls them
    columns: Mapping[str, Method] = field(repr=False)  # the methods, as the paper calls them
    measure: str = "test error, %"  # the unit of the figures
    home: str = ""  # tables of a paper with the same methods on the same data share their cells under this name
    reads: str = ""  # the figure is this entry of `Outcome.more`; the value if empty
    against: str = ""  # the table whose print is beside it; its own if empty
    prints: Mapping[str, str] = field(default_factory=dict, repr=False)  # columns with the print of another one
    judged: bool = True  # False for figures that are not to be compared, such as seconds on other machines
    splits: int = 5  # of every cell, fixed before any is measured, so that no verdict has a say in it
    lacking: Mapping[str, str] = field(default_factory=dict, repr=False)  # rows of the paper without data, and why
    other_data: Mapping[str, str] = field(default_factory=dict, repr=False)  # rows on other data than the paper's
    draw: Callable[[Mapping[tuple[str, str], Sequence[Trial]], Any], None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # it is written in lines
        object.__setattr__(self, "protocol", " ".join(self.protocol.split()))

    @property
    def name(self) -> str:
        """The paper and the table, as the command line lists them."""
        return f"{self.paper} {self.table}"

    @property
    def is_check(self) -> bool:
        """True if it is no table or figure of the paper, but a check of our own on one."""
        return self.title.startswith(CHECK)

    @property
    def place(self) -> tuple[str, str]:
        """The paper, and where the cells are kept."""
        return self.paper, self.home or self.table

    @property
    def published(self) -> Mapping[tuple[str, str], Published]:
        """The figures that the paper prints, by row and column; none for figures."""
        return read_published().get((self.paper, self.against or self.table), {})

    def protocol_of(self, row: str, column: str) -> str:
        """Return a digest of what is measured in a cell: trials of another one are measured anew."""
        text = spell(self.rows[row]), spell(self.columns[column])
        return hashlib.sha256(repr(text).encode()).hexdigest()[:16]

    def is_counted(self, trial: Trial) -> bool:
        """Return True if a trial is of a cell of the table, and of one of its splits: whatever was measured beyond."""
        return (trial.paper, trial.home) == self.place and trial.split < self.splits

    def splits_of(self, row: str) -> int:
        """Return how many splits a cell of a row has when it is whole."""
        most = self.rows[row].most
        return self.splits if most is None else min(self.splits, most)

    def figure_of(self, trial: Trial) -> float:
        """Return the figure of a trial that the table shows."""
        return float(trial.more[self.reads]) if self.reads else trial.value


def variance_of_drawing(trial: Trial, percent: float) -> float:
    """Return the variance of an error in percent that the drawing of the test samples makes.

    That of a share p of n independent answers is p (100 - p) / n; of the mean of the shares of K classes, which a trial
    of balanced errors has with their sizes, it is the sum of theirs over K^2: the smallest class decides.
    """
    classes = trial.more.get("by class") or [(percent, trial.n_test)]
    return float(sum(share * (100 - share) / size for share, size in classes)) / len(classes) ** 2


FIRST_DEFAULTS = {name: {"kernel": "'stump'"} for name in ("InfiniteEnsembleSVC", "InfiniteEnsembleSVR")}
"""Defaults that are others now: a protocol that says such a parameter is the one that did not have to."""


def spell(thing: Any) -> str:
    """Spell out sources, methods and estimators with the parameters that are not as by default, alike in all processes.

    Examples
    --------
    >>> from cvxens.datasets import make_twonorm
    >>> from reproduction import Generated
    >>> spell(Generated(make_twonorm, mislabelled=0.1))
    'Generated(make=cvxens.datasets.synthetic.make_twonorm, mislabelled=0.1)'
    """
    if isinstance(thing, partial):
        return f"partial({', '.join(map(spell, (thing.func, thing.args, thing.keywords)))})"
    if isinstance(thing, BaseEstimator):
        parameters = thing.get_params(deep=False)
    elif is_dataclass(thing) and not isinstance(thing, type):
        parameters = {each.name: getattr(thing, each.name) for each in fields(thing) if each.init}
    elif isinstance(thing, Mapping):
        return f"{{{', '.join(f'{key!r}: {spell(value)}' for key, value in thing.items())}}}"
    elif isinstance(thing, list | tuple):
        return f"({', '.join(map(spell, thing))})"
    elif callable(thing):
        return f"{thing.__module__}.{thing.__qualname__}"
    else:
        return repr(thing)
    # a parameter that is new, and not used, is not another protocol
    defaults = {name: spell(each.default) for name, each in signature(type(thing)).parameters.items()}
    defaults |= FIRST_DEFAULTS.get(type(thing).__name__, {})
    spelled = {name: spell(value) for name, value in parameters.items()}
    changed = (f"{name}={text}" for name, text in spelled.items() if text != defaults.get(name))
    return f"{type(thing).__name__}({', '.join(changed)})"


@dataclass(frozen=True)
class Trial:
    """One method on one split of one data set: what is measured, what it took, and what proves it."""

    paper: str
    home: str  # the tables that the cell is of
    row: str
    column: str
    split: int  # its number, from 0
    random_state: int  # the seed that the split is drawn from, together with its number
    protocol: str  # the digest of what is measured
    value: float
    seconds: float  # processor time of training, selection of parameters included, and testing
    n_train: int
    n_test: int
    seed: int  # of the method
    proofs: tuple[Proof, ...] = ()  # of the fits that the value is of
    more: Mapping[str, Any] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)  # texts, and how often each was told
    versions: Mapping[str, str] = field(default_factory=dict)  # of the software

    @property
    def key(self) -> tuple[str, str, str, str, int, int]:
        """The place of the trial: paper, table, row, column, split and seed."""
        return self.paper, self.home, self.row, self.column, self.split, self.random_state


@dataclass(frozen=True)
class Cell:
    """Our figure of a cell, the mean over the splits, beside the published one.

    Standard errors are of the mean. Ours is from the deviation over the splits; of fewer than ten splits that is taken
    to be no less than the deviation of a share of the test samples, as if they alone were drawn. Where all splits have
    one test part, that deviation is added, and not averaged away by their number. One that the paper does not print is
    taken from our deviation and its number of runs.

    Examples
    --------
    >>> from reproduction import Published
    >>> cell = Cell("heart", "SVM-Stump", 16.9, 2.7, 20, 0.1, Published(16.4, 0.27, "standard error", 100))
    >>> cell.verdict, round(cell.distance, 2)
    ('within two', 0.76)
    """

    row: str
    column: str
    mean: float
    deviation: float | None  # over the splits, by n_splits - 1 degrees of freedom; None where it is not known
    n_splits: int
    seconds: float  # median processor time of a split
    published: Published | None = None  # where it is known
    judged: bool = True  # True if our figure and the published one are of the same thing
    gap: float | None = None  # median relative certified gap of the fits; None without certificates
    n_fits: int = 0  # fits that have a certificate
    n_proven: int = 0  # those whose bound holds over every hypothesis, and is within the optimum's own size of it
    n_warnings: int = 0  # warnings that were told
    shared: float = 0.0  # the standard deviation that the drawing of one test part gives all splits alike
    whole: int = 0  # splits that the table fixes for the cell; 0 where none are fixed

    @classmethod
    def from_trials(cls, trials: Sequence[Trial], experiment: Experiment) -> Cell:
        """Summarise the trials, one or more, of one method on one data set."""
        first = trials[0]
        values = np.array([experiment.figure_of(trial) for trial in trials])
        proofs = [proof for trial in trials for proof in trial.proofs]
        gaps = [np.inf if proof.relative_gap is None else proof.relative_gap for proof in proofs]
        n_splits, mean = len(values), float(values.mean())
        deviation, shared = (float(values.std(ddof=1)) if n_splits > 1 else None), 0.0
        if experiment.measure.endswith("%"):
            drawn = sqrt(float(np.mean([variance_of_drawing(trial, experiment.figure_of(trial)) for trial in trials])))
            if first.row in experiment.rows and isinstance(experiment.rows[first.row], OwnTest):
                deviation, shared = deviation or 0.0, drawn
            elif n_splits < FEW:
                # few splits may agree by chance
                deviation = max(deviation or 0.0, drawn)
        return cls(
            first.row,
            first.column,
            mean,
            deviation,
            n_splits,
            float(np.median([trial.seconds for trial in trials])),
            experiment.published.get((first.row, experiment.prints.get(first.column, first.column))),
            experiment.judged,
            float(np.median(gaps)) if gaps else None,
            len(proofs),
            # a bound below zero, or none, says nothing of an optimum that is no less: its relative gap is 1 or more
            sum(proof.proven and gap < 1 for proof, gap in zip(proofs, gaps, strict=True)),
            sum(sum(trial.warnings.values()) for trial in trials),
            shared,
            experiment.splits_of(first.row) if first.row in experiment.rows else 0,
        )

    @classmethod
    def summarise(cls, trials: Iterable[Trial], experiment: Experiment) -> list[Cell]:
        """Summarise the trials that are of an experiment, cell by cell in the order of its rows and columns."""
        by_cell: dict[tuple[str, str], list[Trial]] = {}
        for trial in trials:
            if (trial.paper, trial.home) == experiment.place:
                by_cell.setdefault((trial.row, trial.column), []).append(trial)
        places = ((row, column) for row in experiment.rows for column in experiment.columns)
        return [cls.from_trials(by_cell[place], experiment) for place in places if place in by_cell]

    @property
    def standard_error(self) -> float | None:
        """The standard error of our mean; None where no spread is known."""
        return None if self.deviation is None else hypot(self.deviation / sqrt(self.n_splits), self.shared)

    @property
    def joint_error(self) -> float:
        """The standard error of the difference, sqrt(se^2 + se_published^2); nan where one is not known."""
        if self.published is None or self.standard_error is None or self.deviation is None:
            return nan
        return hypot(self.standard_error, self.published.standard_error(hypot(self.deviation, self.shared)))

    @property
    def distance(self) -> float | None:
        """|ours - published| in standard errors of the difference; None where that is 0 or not known."""
        if self.published is None or not self.joint_error > 0:
            return None
        return abs(self.mean - self.published.value) / self.joint_error

    @property
    def z(self) -> float | None:
        """(ours - published) in standard errors of the difference; None where nothing is compared, or it is 0."""
        if self.published is None or not self.judged or self.distance is None:
            return None
        return float(np.copysign(self.distance, self.mean - self.published.value))

    @property
    def is_whole(self) -> bool:
        """True if it has all splits that its table fixes."""
        return self.n_splits >= self.whole

    @property
    def verdict(self) -> str:
        """Within two standard errors of the difference, else better or worse; empty where nothing is compared."""
        if self.published is None or not self.judged or np.isnan(self.joint_error):
            return ""
        difference = self.mean - self.published.value
        if abs(difference) <= LIMIT * self.joint_error:
            return WITHIN
        return BETTER if difference < 0 else WORSE

    @property
    def is_apart(self) -> bool:
        """True if it is better or worse than the print."""
        return self.verdict in {BETTER, WORSE}

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as JSON has it."""
        found = {"standard_error": self.standard_error, "distance": self.distance, "verdict": self.verdict}
        return asdict(self) | found | {"gap": None if self.gap is None or np.isinf(self.gap) else self.gap}
