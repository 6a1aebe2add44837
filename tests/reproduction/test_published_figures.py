"""The published figures: complete, of known kinds, and those that were wrong before are right."""

from collections import Counter

import pytest

from reproduction import EXPERIMENTS
from reproduction.published import read_published

PUBLISHED = read_published()

SIZES = {
    ("ll08", "table2"): 18 * 4,
    ("ll08", "table3"): 18 * 3,
    ("ll08", "table4"): 18 * 3,
    ("ll08", "table5"): 18 * 4,
    ("ll08", "table6"): 3 * 4,
    ("tk07", "table2"): 11 * 5,
    ("tt06", "table2"): 5 * 4 - 2,
    ("kie06", "table1"): 7 * 4,
    ("sl", "table1"): 13 * 4,
    ("sl", "table2"): 13 * 7,
    ("sl", "table3"): 14 * 4,
    ("sl", "table4"): 2,
}


def test_every_table_is_whole():
    assert {table: len(figures) for table, figures in PUBLISHED.items()} == SIZES


def test_figures_that_were_wrong_are_as_printed():
    figures = PUBLISHED["ll08", "table2"]
    assert str(figures["australian", "SVM-Stump"]) == "14.4 ± 0.21"
    assert str(figures["pima", "SVM-Stump"]) == "24.1 ± 0.23"


def test_a_standard_deviation_is_none_of_the_mean():
    figure = PUBLISHED["sl", "table1"]["heart", "CGEns"]
    assert (figure.kind, figure.runs) == ("standard deviation", 5)
    assert figure.standard_error(0.0) == pytest.approx(4.51 / 5**0.5)
    assert Counter(
        figure.kind for (paper, _), table in PUBLISHED.items() if paper == "sl" for figure in table.values()
    ) == {"standard deviation": 52 + 91 + 56 + 2}


@pytest.mark.parametrize("table", PUBLISHED, ids=" ".join)
def test_spreads_and_runs_are_known(table):
    for figure in PUBLISHED[table].values():
        assert (figure.spread is None) == (figure.kind == "none")
        assert figure.kind in {"standard error", "standard deviation", "none"}
        assert figure.runs >= 1
        assert figure.value >= 0


def test_tables_repeat_each_other_but_for_what_the_print_has_twice():
    apart = {
        (place, PUBLISHED["ll08", table][place].value, PUBLISHED["ll08", "table5"][place].value)
        for table in ("table2", "table3", "table4")
        for place in PUBLISHED["ll08", table].keys() & PUBLISHED["ll08", "table5"].keys()
        if PUBLISHED["ll08", table][place].value != PUBLISHED["ll08", "table5"][place].value
    }
    assert apart == {(("w1a", "SVM-Perc"), 1.91, 1.92)}


@pytest.mark.parametrize("each", EXPERIMENTS, ids=lambda each: each.name)
def test_cells_of_a_table_are_named_as_printed(each):
    """So that every figure of the print stands beside ours, or is told of as lacking."""
    rows = {row for row, _ in each.published}
    ours = each.rows.keys() | each.lacking.keys()
    # checks of our own are of some of them
    assert not rows or rows == ours or (each.against and ours < rows)
    printed = {column for _, column in each.published}
    ours = {each.prints.get(column, column) for column in each.columns}
    assert not printed or (ours & printed if each.against else ours <= printed)
