"""The experiments that there are."""

from __future__ import annotations

from collections.abc import Sequence

from cvxens.errors import InvalidInput
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.ll08_table2 import LL08_TABLE2
from cvxens.experiments.sl_table3 import SL_TABLE3
from cvxens.experiments.tk07_figure1 import TK07_FIGURE1
from cvxens.experiments.tt06_forest import TT06_FOREST

EXPERIMENTS: tuple[Experiment, ...] = (LL08_TABLE2, TK07_FIGURE1, TT06_FOREST, SL_TABLE3)
"""In the order of DESIGN's sources."""


def experiment_of(paper: str, table: str) -> Experiment:
    """The experiment of a paper and a table, whatever the case of the letters.

    Raises
    ------
    InvalidInput
        There is none; the error lists those that there are.

    Examples
    --------
    >>> experiment_of("LL08", "Table2").measure
    'test error, %'
    """
    return next(iter(of_paper(paper, table)))


def of_paper(paper: str, table: str | None = None) -> Sequence[Experiment]:
    """The experiments of a paper, or the one of a table.

    Raises
    ------
    InvalidInput
        There is none; the error lists those that there are.

    Examples
    --------
    >>> [experiment.name for experiment in of_paper("ll08")]
    ['ll08 table2']
    """
    words = [word.lower() for word in (paper, table) if word is not None]
    found = [each for each in EXPERIMENTS if [each.paper, each.table][: len(words)] == words]
    if not found:
        known = ", ".join(each.name for each in EXPERIMENTS)
        raise InvalidInput("experiment", f"found {' '.join(words)!r}", f"name one of {known}")
    return found
