"""The tables and figures of the papers, by name."""

from __future__ import annotations

from collections.abc import Sequence

from cvxens.errors import InvalidInput
from cvxens.experiments import (
    kie06_figure1,
    kie06_figure2,
    kie06_table1,
    ll08_figure1,
    ll08_figure2,
    ll08_figure3,
    ll08_hard_lpboost,
    ll08_ringnorm,
    ll08_table2,
    ll08_table3,
    ll08_table4,
    ll08_table5,
    ll08_table6,
    ll08_unscaled,
    ll08_w1a_prices,
    sl_figure1,
    sl_figure5,
    sl_table1,
    sl_table2,
    sl_table3,
    sl_table4,
    tk07_figure1,
    tk07_table2,
    tt06_figure1,
    tt06_figure2,
    tt06_figure3,
    tt06_table2,
)
from cvxens.experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    ll08_table2.TABLE,
    ll08_table3.TABLE,
    ll08_table4.TABLE,
    ll08_table5.TABLE,
    ll08_table6.TABLE,
    ll08_figure1.TABLE,
    ll08_figure2.TABLE,
    ll08_figure3.TABLE,
    ll08_hard_lpboost.TABLE,
    ll08_unscaled.TABLE,
    ll08_w1a_prices.TABLE,
    ll08_ringnorm.TABLE,
    tk07_figure1.TABLE,
    tk07_table2.TABLE,
    tt06_figure1.TABLE,
    tt06_figure2.TABLE,
    tt06_figure3.TABLE,
    tt06_table2.TABLE,
    kie06_table1.TABLE,
    kie06_figure1.TABLE,
    kie06_figure2.TABLE,
    sl_table1.TABLE,
    sl_table2.TABLE,
    sl_table3.TABLE,
    sl_table4.TABLE,
    sl_figure1.TABLE,
    sl_figure5.TABLE,
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
