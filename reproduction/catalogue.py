"""The tables and figures of the papers, by name."""

from __future__ import annotations

from collections.abc import Sequence

from cvxens.errors import InvalidInput
from reproduction import (
    kie06,
    kie06_checks,
    ll08,
    ll08_checks,
    ll08_figures,
    sl,
    sl_checks,
    sl_cosines,
    sl_figures,
    tk07,
    tk07_checks,
    tk07_figure1,
    tt06,
    tt06_checks,
    tt06_figures,
)
from reproduction.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *ll08.TABLES,
    *ll08_figures.FIGURES,
    *ll08_checks.CHECKS,
    *tk07.TABLES,
    *tk07_figure1.FIGURES,
    *tk07_checks.CHECKS,
    *tt06.TABLES,
    *tt06_figures.FIGURES,
    *tt06_checks.CHECKS,
    *kie06.TABLES,
    *kie06_checks.CHECKS,
    *sl.TABLES,
    *sl_cosines.TABLES,
    *sl_figures.FIGURES,
    *sl_checks.CHECKS,
)
"""Every experiment, by paper."""

ALL = "all"


def experiment_of(paper: str, table: str) -> Experiment:
    """Return the experiment of a paper and a table; `InvalidInput` for none, whatever the case of the letters.

    Examples
    --------
    >>> experiment_of("LL08", "Table2").measure
    'test error, %'
    """
    return of_paper(paper, table)[0]


def of_paper(paper: str, table: str | None = None) -> Sequence[Experiment]:
    """Return the experiments of a paper, or the one of a table; "all" is any.

    Raises
    ------
    InvalidInput
        There is none; the error lists those that there are.

    Examples
    --------
    >>> [experiment.name for experiment in of_paper("ll08")][:2]
    ['ll08 table2', 'll08 table3']
    """
    words = [word.lower() for word in (paper, table) if word is not None]
    found = [
        each
        for each in EXPERIMENTS
        if all(word in {ALL, known} for word, known in zip(words, (each.paper, each.table), strict=False))
    ]
    if not found:
        known = ", ".join(each.name for each in EXPERIMENTS)
        raise InvalidInput("experiment", f"found {' '.join(words)!r}", f"name one of {known}")
    return found
