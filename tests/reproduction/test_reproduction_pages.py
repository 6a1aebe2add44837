"""Pages and figures of what was measured: drawn from trials, explained where somebody has found the reason."""

from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, Cell, Published, Store, drawing, experiment_of, of_paper, tasks_of
from reproduction.claims import CLAIMS, compare, compare_last, compare_points
from reproduction.costs import Costs
from reproduction.experiment import Trial
from reproduction.pages import (
    PAPERS,
    Explanation,
    Measured,
    count_verdicts,
    gather_verdicts,
    list_missing,
    read_explanations,
    write_pages,
)

ROOT = Path(__file__).parents[2]
KEPT = Store(ROOT / "reproduction" / "trials")

QUICK = [("ll08", "figure1"), ("ll08", "figure2"), ("kie06", "figure1"), ("tt06", "figure1")]


@pytest.mark.parametrize("names", QUICK, ids=" ".join)
def test_figures_are_drawn_from_trials(tmp_path, names):
    table, store = experiment_of(*names), Store(tmp_path / "cells")
    for task in tasks_of([table], splits=1)[0]:
        store.write(table, task.measure())
    page, summary, _ = write_pages(tmp_path, [table], store)
    assert f"| [{table.paper.upper()} {table.table}]({table.paper}.md) |" in summary.read_text()
    image = tmp_path / f"{table.paper}_{table.table}.png"
    assert image.read_bytes().startswith(b"\x89PNG")
    assert image.stat().st_size < 200_000
    assert f"({image.name})" in page.read_text()
    before = image.read_bytes()
    write_pages(tmp_path, [table], store)
    assert image.read_bytes() == before


SHOWN = {
    **{
        name: [1.0, 2.0]
        for name in ("at", "objective", "samples", "similarity", "seconds", "shares", "test", "training")
    },
    **{name: [[0.0, 1.0], [1.0, 0.0]] for name in ("X", "matrix", "range", "scores")},
    "y": [-1.0, 1.0],
    "curves": {"one": [[0.0, 1.0]]},
}
"""What the figures are drawn from."""


DRAWN = {each.draw: each for each in EXPERIMENTS if each.draw is not None}.values()
"""A figure of every kind."""


@pytest.mark.parametrize("table", DRAWN, ids=lambda each: each.name)
def test_figures_are_drawn_of_what_is_there_and_of_many_splits(tmp_path, monkeypatch, table):
    """As after a Ctrl-C, one cell is all; and `make reproduce` has five splits of what the papers show one of."""
    monkeypatch.setattr(drawing, "RESOLUTION", 10)
    place, path = (next(iter(table.rows)), next(iter(table.columns))), tmp_path / "figure.png"
    for shown in (SHOWN, SHOWN | {"scores": None}) if table.draw is drawing.draw_boundaries else (SHOWN,):
        more = {name: value for name, value in shown.items() if value is not None}
        trial = Trial(*table.place, *place, 0, 0, "", 1.0, 0.1, n_train=2, n_test=2, seed=0, more=more)
        table.draw({place: [trial, replace(trial, split=1)]}, path)
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_a_page_before_anything_is_measured(tmp_path, paper):
    page, *_ = write_pages(tmp_path, of_paper(paper), Store(tmp_path / "cells"))
    text = page.read_text()
    for each in of_paper(paper):
        assert f"## {each.table}: {each.title}" in text
    assert text.count("Nothing has been measured yet.") == len(of_paper(paper))


def cell(ours, n_splits=20):
    return Cell("heart", "SVM", ours, 1.0, n_splits, 1.0, Published(10.0, 0.1, "standard error", 100))


def test_verdicts_are_counted():
    first, many, left = count_verdicts([cell(10.0), cell(10.1), cell(5.0), replace(cell(20.0, 1), whole=5)])
    assert first == "All cells with a verdict: 4, of which 2 within two, 1 better, 1 worse (50 % within two)."
    assert many == "Those of 20 splits or more: 3, of which 2 within two, 1 better, 0 worse (67 % within two)."
    assert left == "1 have fewer splits yet than their table fixes."


def test_tables_that_share_cells_count_them_once_by_the_one_of_most_splits():
    table2, table5, check = (experiment_of("ll08", name) for name in ("table2", "table5", "hard_lpboost"))
    few, many = (replace(cell(5.0, n), row="heart", column="SVM-Stump") for n in (5, 20))
    other = replace(cell(5.0), row="heart", column="SVM-Dec")
    found = gather_verdicts([(table2, [few]), (table5, [other, many]), (check, [replace(other, row="sonar")])])
    assert [each for _, each in found.values()] == [many, other]


def trials_of(table, row, column, value, n_splits=5, **more):
    spread = [0.0, 0.1, -0.1, 0.2, -0.2]
    return [
        Trial(*table.place, row, column, k, 0, "", value + spread[k % 5], 1.0, 100, 1000, 7, more=more)
        for k in range(n_splits)
    ]


def test_the_number_of_splits_is_fixed_for_a_table_and_what_is_beyond_is_not_counted(tmp_path):
    table, store = experiment_of("sl", "table1"), Store(tmp_path)
    for each in trials_of(table, "heart", "SVM", 17.0, 5) + trials_of(table, "heart", "SVM", 90.0, 9)[5:]:
        store.write(table, replace(each, protocol=table.protocol_of("heart", "SVM")))
    assert len(list(store.trials(table))) == 9
    [found] = Measured.read(store).cells[table.name]
    assert (found.n_splits, found.mean, found.is_whole) == (table.splits, pytest.approx(17.0), True)


def test_cells_of_a_table_have_the_same_splits_the_first():
    measured = Measured.read(KEPT)
    for table in EXPERIMENTS:
        splits = {}
        for trial in measured.trials[table.name]:
            splits.setdefault((trial.row, trial.column), []).append(trial.split)
        for (row, _), numbers in splits.items():
            assert numbers == list(range(len(numbers)))
            assert len(numbers) <= table.splits_of(row)


def test_pages_of_a_clone_are_those_committed_byte_for_byte(tmp_path):
    written = write_pages(tmp_path, EXPERIMENTS, KEPT)
    for path in written:
        assert path.read_bytes() == (ROOT / "docs" / "reproduction" / path.name).read_bytes(), path.name
    names = [{path.name for path in folder.iterdir()} for folder in (tmp_path, ROOT / "docs" / "reproduction")]
    assert names[0] == names[1]


STATES = [
    ("to 10", [cell(10.1)], "reproduced by a change"),
    ("to 10", [cell(9.0)], "narrowed down"),
    ("to 10", [], "open"),
    ("to 10", [cell(10.1, 5)], "open"),
    ("to *", [cell(10.1), cell(9.0)], "narrowed down"),
]


@pytest.mark.parametrize(("column", "checked", "state"), STATES)
def test_the_state_of_what_is_apart_is_computed_from_the_trials_of_its_check(column, checked, state):
    reason = Explanation("ll08", "table2", "heart", "SVM", "steps", "", column, "Why.")
    checks = [replace(each, column="to 10", published=None) for each in checked]
    found, figures = reason.judge(cell(5.0), {("ll08", "steps"): checks})
    assert found == state
    assert all(f"{each.mean:.2f}" in figures for each in checked)


def test_pages_say_the_state_and_the_shift_of_a_column(tmp_path):
    table, check, store = experiment_of("tk07", "table2"), experiment_of("tk07", "stops"), Store(tmp_path / "cells")
    for of, column, value in ((table, "proposed ensemble", 26.5), (check, "ensemble, to 0.01", 24.8)):
        for row in ("diabetis", "german"):
            for each in trials_of(of, row, column, value, 20):
                store.write(of, replace(each, protocol=of.protocol_of(row, column)))
    text = write_pages(tmp_path, [table], store)[0].read_text()
    assert "- Of the 2 that are apart from the print: 1 reproduced by a change, 1 narrowed down, 0 open." in text
    assert "- *diabetis proposed ensemble*, worse: **reproduced by a change**. Tried: " in text
    first, second = (each.z for each in Measured.read(store).cells[table.name])
    assert f"| table2 | proposed ensemble | 2 of 8 | **{(first + second) / 2:+.1f} ± 0.7** | 0 |" in text
    assert 'Claim: "The ensemble performs much better than the rho-SVM." **not measured yet**.' in text


def test_what_explains_a_cell_is_an_experiment():
    for each in read_explanations():
        table, check = experiment_of(each.paper, each.table), experiment_of(each.paper, each.check)
        places = [(row, column) for row in table.rows for column in table.columns]
        assert check.is_check
        assert each.reason.endswith(".")
        assert any(
            each.is_of(table, Cell(row, column, 1.0, 1.0, 2, 1.0))
            and any(fnmatchcase(name, each.of_row or row) for name in check.rows)
            and any(fnmatchcase(name, each.of_column or column) for name in check.columns)
            for row, column in places
        ), each


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda each: f"{each.paper} {each.table} {each.text[:30]}")
def test_claims_are_of_tables_and_may_fail(claim):
    """Columns in the order of their figures, and in the other one, so that what compares columns comes to both ends."""
    table = experiment_of(claim.paper, claim.table)
    found = []
    for order in (list(table.columns), list(table.columns)[::-1]):
        measured = {}
        for k, column in enumerate(order):
            more = {key: [10.0 * k + 2, 10.0 * k + 1] for key in ("objective", "training", "test", "seconds")}
            more |= {"at": [1.0, 2.0], "shares": list(range(60)), "matrix": [[1.0, 0.0], [0.0, 1.0]]}
            more |= {"seconds of the choice": 1.0 + k, "seconds of the last": 1.0 + k}
            more |= {"scores": [[(-1.0) ** (i * j * k) for i in range(6)] for j in range(6)]}
            measured |= {(row, column): trials_of(table, row, column, 10.0 * k + 1, **more) for row in table.rows}
        found.append(claim.decide(measured))
    assert all(each.words for each in found)
    if isinstance(claim.decide, partial) and claim.decide.func in {compare, compare_points, compare_last}:
        assert {each.holds for each in found} == {True, False}
    for place, trials in measured.items():
        claim.decide({place: trials})


def test_what_is_not_measured_says_what_it_takes():
    table = experiment_of("kie06", "figure2")
    assert next(list_missing(table, [], Costs({}))) == "AdaBoost on all"
    known = Costs({("kie06", "figure2", "slope", "AdaBoost"): 4.0})
    assert next(list_missing(table, [], known)) == "AdaBoost on all (some 4 s a split)"
    tables = experiment_of("ll08", "table2")
    cells = [Cell("heart", column, 1.0, 1.0, 2, 7.0) for column in tables.columns]
    assert next(list_missing(tables, cells, Costs({}))).endswith("a1a, splice, svmguide1, w1a (some 7 s a split)")
