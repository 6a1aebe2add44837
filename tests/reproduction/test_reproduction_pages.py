"""Pages and figures of what was measured: drawn from trials, explained where somebody has found the reason."""

import shlex
from dataclasses import replace

import numpy as np
import pytest

from reproduction import EXPERIMENTS, Cell, Published, Store, drawing, experiment_of, of_paper, tasks_of
from reproduction.costs import Costs
from reproduction.experiment import Trial
from reproduction.pages import (
    PAPERS,
    Explanation,
    count_verdicts,
    gather_verdicts,
    list_missing,
    read_explanations,
    write_pages,
)

QUICK = [("ll08", "figure1"), ("ll08", "figure2"), ("kie06", "figure1"), ("tt06", "figure1")]


@pytest.mark.parametrize("names", QUICK, ids=" ".join)
def test_figures_are_drawn_from_trials(tmp_path, names):
    table, store = experiment_of(*names), Store(tmp_path / "cells")
    for task in tasks_of([table], splits=1)[0]:
        store.write(table, task.measure())
    page, summary = write_pages(tmp_path, [table], store)
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


def test_xor_is_not_for_stumps():
    table = experiment_of("ll08", "figure1")
    found = {task.column: task.measure().value for task in tasks_of([table], splits=1)[0]}
    assert found == {
        "best stump": 50.0,
        "SVM-Stump, C = 1": 50.0,
        "SVM-Stump, C = 1000": 50.0,
        "SVM-Perc, C = 1000": 0.0,
    }


def test_the_mean_of_ambiguous_stumps_is_the_average():
    [task], _ = tasks_of([experiment_of("ll08", "figure2")], splits=1)
    assert task.measure().value < 0.02


def test_gram_matrices_are_of_the_classes():
    trials = [task.measure() for task in tasks_of([experiment_of("kie06", "figure1")], splits=1)[0]]
    for trial in trials:
        K = np.array(trial.more["matrix"])
        assert K.shape == (50, 50)
        np.testing.assert_allclose(K, K.T)
        assert K.max() == 1
        assert trial.value > 0


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_a_page_before_anything_is_measured(tmp_path, paper):
    page, _ = write_pages(tmp_path, of_paper(paper), Store(tmp_path / "cells"))
    text = page.read_text()
    for each in of_paper(paper):
        assert f"## {each.table}: {each.title}" in text
    assert text.count("Nothing has been measured yet.") == len(of_paper(paper))


def cell(ours, n_splits=20):
    return Cell("heart", "SVM", ours, 1.0, n_splits, 1.0, Published(10.0, 0.1, "standard error", 100))


def test_verdicts_are_counted():
    first, many, single = count_verdicts([cell(10.0), cell(10.1), cell(5.0), cell(20.0, 1)])
    assert first == "All cells with a verdict: 4, of which 2 within two, 1 better, 1 worse (50 % within two)."
    assert many == "Those of 20 splits or more: 3, of which 2 within two, 1 better, 0 worse (67 % within two)."
    assert single == "1 rest on one split."


def test_what_is_apart_and_explained_is_counted_once():
    tables = [experiment_of("ll08", name) for name in ("table2", "table5", "hard_lpboost")]
    reason = Explanation("ll08", "table5", "heart", "SVM-Stump", "It is so.", "python -m reproduction ll08 table5")
    apart, explained = (replace(cell(5.0), row="heart", column=name) for name in ("SVM-Dec", "SVM-Stump"))
    measured = [(tables[0], [explained]), (tables[1], [apart, explained, cell(10.0)]), (tables[2], [apart])]
    verdicts, n_explained = gather_verdicts(measured, [reason])
    assert (len(verdicts), n_explained) == (3, 1)
    told = list(count_verdicts(verdicts, n_explained))
    assert told[2:] == ["Of the 2 that are apart from the print 1 are explained by a measurement."]


@pytest.mark.parametrize("each", read_explanations(), ids=lambda each: f"{each.paper} {each.table} {each.column}")
def test_what_explains_a_cell_is_an_experiment(each):
    words = shlex.split(each.command)
    assert words[:3] == ["python", "-m", "reproduction"]
    assert experiment_of(words[3], words[4]) in EXPERIMENTS
    table = experiment_of(each.paper, each.table)
    cells = [Cell(row, column, 1.0, 1.0, 2, 1.0) for row in table.rows for column in table.columns]
    assert any(each.is_of(table, found) for found in cells)
    assert each.reason.endswith(".")


def test_what_is_not_measured_says_what_it_takes():
    table = experiment_of("kie06", "figure2")
    assert next(list_missing(table, [], Costs({}))) == "AdaBoost on all"
    known = Costs({("kie06", "figure2", "slope", "AdaBoost"): 4.0})
    assert next(list_missing(table, [], known)) == "AdaBoost on all (some 4 s a split)"
    tables = experiment_of("ll08", "table2")
    cells = [Cell("heart", column, 1.0, 1.0, 2, 7.0) for column in tables.columns]
    assert next(list_missing(tables, cells, Costs({}))).endswith("a1a, splice, svmguide1, w1a (some 7 s a split)")


def test_checks_are_not_counted():
    assert experiment_of("ll08", "hard_lpboost").is_check
    assert not experiment_of("ll08", "table2").is_check
