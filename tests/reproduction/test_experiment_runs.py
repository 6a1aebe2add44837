"""Running experiments: the same splits for every method, from where it was left, and errors that say what to do."""

import json
import signal
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from data_directory import make_directory, numbered, press
from threadpoolctl import threadpool_info, threadpool_limits

from cvxens.datasets import make_twonorm
from cvxens.errors import CvxensError, DataFileError, InvalidInput
from cvxens.limits import available_threads
from reproduction import (
    EXPERIMENTS,
    Experiment,
    Generated,
    Outcome,
    OwnTest,
    Partitioned,
    Plan,
    Proof,
    Store,
    cells,
    experiment_of,
    of_paper,
    tasks_of,
)
from reproduction.costs import UNKNOWN, Costs
from reproduction.experiment import spell
from reproduction.run import _try_once
from reproduction.store import parse, spell_out

SMALL = Generated(make_twonorm, 20, 20)


@dataclass(frozen=True)
class Sum:
    """Tells splits apart."""

    sign: float = 1.0

    def __call__(self, split):
        total = float(np.sum(split.X) + np.sum(split.X_test) + np.sum(split.y * np.arange(len(split.y))))
        return Outcome(self.sign * total, (Proof(1.0, 1.0, 0.0, proven=True),), {"chosen": {"C": 0.1}})


def experiment(**changes):
    options = {
        "rows": {"first": SMALL, "second": Generated(make_twonorm, 30, 20)},
        "columns": {"sum": Sum(), "minus": Sum(-1.0)},
    }
    return Experiment("paper", "table", "title", "protocol", measure="unit", **(options | changes))


def values(**options):
    seen = []
    list(cells(experiment(), watch=seen.append, **options))
    return {(trial.row, trial.column, trial.split): trial.value for trial in seen}


def test_cells_come_row_by_row_and_are_means_of_trials():
    trials, found = values(splits=2), list(cells(experiment(), splits=2))
    places = [("first", "sum"), ("first", "minus"), ("second", "sum"), ("second", "minus")]
    assert [(cell.row, cell.column) for cell in found] == places
    for cell in found:
        assert cell.mean == pytest.approx(np.mean([trials[cell.row, cell.column, k] for k in range(2)]))
        assert cell.n_splits == 2
    asked = cells(experiment(), data=["second", "first", "second"], methods=["minus"], splits=2)
    assert [cell.row for cell in asked] == ["first", "second"]


def test_all_methods_see_the_same_splits():
    found = values(splits=3)
    assert len(found) == 12
    assert all(found[row, "minus", k] == -found[row, "sum", k] for row in ("first", "second") for k in range(3))
    assert len({abs(value) for value in found.values()}) == 6


@pytest.mark.parametrize("options", [{"splits": 2}, {"data": ["second"]}, {"methods": ["minus"]}])
def test_what_is_asked_for_does_not_change_the_splits(options):
    whole, part = values(splits=3), values(**({"splits": 3} | options))
    assert part.items() <= whole.items()
    assert len(part) < len(whole)


BAD = [
    ({"data": ["third"]}, "'third'; name some of first, second"),
    ({"data": []}, "found no name"),
    ({"methods": ["sum", "product"]}, "'product'; name some of sum, minus"),
    ({"splits": 0}, "splits: found 0"),
    ({"splits": 2.5}, "splits: found 2.5"),
    ({"random_state": -1}, "random_state: found -1"),
    ({"random_state": None}, "random_state: found None"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_arguments_are_told_of_before_anything_is_measured(options, message):
    with pytest.raises(InvalidInput) as error:
        cells(experiment(), **options)
    assert message in str(error.value)


def test_missing_data_are_named_with_those_that_need_none(tmp_path, monkeypatch):
    monkeypatch.setenv("CVXENS_DATA", str(make_directory(tmp_path, there=numbered(20))))
    rows = {"there": Partitioned("there"), "pima": Partitioned("pima"), "a": Partitioned("heart"), "free": SMALL}
    with pytest.raises(DataFileError) as error:
        cells(experiment(rows=rows))
    assert str(error.value).startswith("CVXENS_DATA: found no data set heart, pima; ")
    assert str(error.value).endswith("or choose data that are generated: free")
    assert len(list(cells(experiment(rows=rows), data=["there", "free"], methods=["minus"], splits=2))) == 2
    tasks, lacking = tasks_of([experiment(rows=rows)], splits=1)
    assert {task.row for task in tasks} == {"there", "free"}
    assert lacking == {"paper table, pima": ["pima"], "paper table, a": ["heart"]}
    # what is generated needs no directory
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path / "nowhere"))
    assert len(list(cells(experiment(), splits=2))) == 4
    with pytest.raises(CvxensError, match="found no MANIFEST"):
        cells(experiment(rows={"pima": Partitioned("pima")}))


def test_methods_run_on_one_thread_and_leave_the_rest_as_it_was():
    before = available_threads()

    def threads(_):
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return Outcome(float(max([available_threads(), *blas])))

    with threadpool_limits(2, user_api="blas"):
        [cell] = cells(experiment(columns={"threads": threads}), data=["first"], splits=2)
        assert threads(None).value == 2
    assert (cell.mean, cell.standard_error) == (1.0, 0.0)
    assert available_threads() == before


# trials on disk


def kept(store, table=None, **options):
    """Measure what is missing, in this process; returns the plan, and all values by key."""
    table = table or experiment()
    tasks, lacking = tasks_of([table], **options)
    plan = Plan.make(tasks, lacking, store)
    for task in plan.tasks:
        store.write(task.experiment, task.measure())
    return plan, {trial.key: trial.value for trial in store.trials(table)}


def test_a_run_goes_on_where_it_was_left_and_ends_as_a_whole_one(tmp_path):
    whole = kept(Store(tmp_path / "whole"), splits=3)[1]
    parts = Store(tmp_path / "parts")
    kept(parts, splits=1)
    kept(parts, splits=2, data=["second"])
    plan, found = kept(parts, splits=3)
    assert found == whole
    assert (len(plan.done), len(plan.tasks)) == (6, 6)
    assert kept(parts, splits=3)[0].tasks == []


def test_tables_share_cells(tmp_path):
    tables = [experiment(home="tables"), replace(experiment(home="tables"), table="other", reads="C")]
    tasks, _ = tasks_of(tables, splits=2)
    assert len(tasks) == 8
    assert len({task.key for task in tasks}) == 8


def test_a_trial_is_read_as_it_was_written(tmp_path):
    [task], _ = tasks_of([experiment()], data=["first"], methods=["sum"], splits=1)
    trial = task.measure()
    store = Store(tmp_path)
    path = store.write(task.experiment, trial)
    assert store.read(task.experiment, "first", "sum", 0) == trial
    assert parse(path, spell_out(trial)) == trial
    content = json.loads(path.read_text())
    assert (content["row"], content["split"], content["n_train"], content["n_test"]) == ("first", 0, 20, 20)
    assert content["proofs"] == [{"primal": 1.0, "dual": 1.0, "relative_gap": 0.0, "proven": True}]
    assert content["versions"].keys() >= {"cvxens", "numpy", "python"}
    assert not list(tmp_path.rglob("*.partial"))


def test_a_table_has_all_trials_of_its_paper_and_the_files_go(tmp_path):
    store = Store(tmp_path / "a")
    whole = kept(store, splits=2)[1]
    assert store.collect() == 8
    assert [path.name for path in store.directory.rglob("*") if path.is_file()] == ["paper.jsonl.gz"]
    for known in (store, Store(store.directory)):
        plan, found = kept(known, splits=2)
        assert (found, plan.tasks) == (whole, [])
    # trials that come later join it; in another order the table is the same, byte for byte
    kept(store, splits=3)
    assert (store.collect(), store.collect()) == (4, 0)
    other = Store(tmp_path / "b")
    kept(other, splits=3, data=["second"])
    other.collect()
    for trial in Store(store.directory).trials(experiment()):
        other.write(experiment(), trial)
    other.collect()
    assert other.table_path("paper").read_bytes() == store.table_path("paper").read_bytes()


def test_a_damaged_table_is_told_of_and_not_written_over(tmp_path):
    store = Store(tmp_path)
    kept(store, splits=1)
    store.collect()
    path = store.table_path("paper")
    path.write_bytes(damaged := path.read_bytes()[:-9])
    with pytest.raises(DataFileError, match="restore it"):
        Store(tmp_path).read(experiment(), "first", "sum", 0)
    [task], _ = tasks_of([experiment()], data=["first"], methods=["sum"], splits=1)
    other = Store(tmp_path)
    other.write(task.experiment, task.measure())
    with pytest.raises(DataFileError, match="restore it"):
        other.collect()
    assert path.read_bytes() == damaged


def warn(_split):
    for seconds in (1, 2.5):
        warnings.warn(f"slow, {seconds} s", RuntimeWarning, stacklevel=1)
    return Outcome(1.0)


def test_warnings_are_kept_and_not_shown(tmp_path):
    store, table = Store(tmp_path), experiment(columns={"warn": warn})
    kept(store, table, data=["first"], splits=1)
    [trial] = store.trials(table)
    assert trial.warnings == {"RuntimeWarning: slow, # s": 2}


DAMAGES = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda _text: b"",
    "another value": lambda text: text.replace(b'"value": ', b'"value": 1'),
    "a list": lambda _text: b"[]",
    "no digest": lambda text: text.replace(b"sha256", b"sha255"),
    "no text": lambda _text: b"\xff\xfe",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told_of_and_measured_anew(tmp_path, damage):
    store = Store(tmp_path)
    whole = kept(store, splits=1)[1]
    path = store.path(experiment(), "first", "sum", 0)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    plan, found = kept(store, splits=1)
    assert [str(path) in str(error) for error in plan.damaged] == [True]
    assert "it is measured anew" in str(plan.damaged[0])
    assert len(plan.tasks) == 1
    assert found == whole


def test_what_was_measured_otherwise_is_measured_anew(tmp_path):
    store = Store(tmp_path)
    kept(store, splits=1)
    plan, _ = kept(store, experiment(columns={"sum": Sum(2.0), "minus": Sum(-1.0)}), splits=1)
    assert ["another protocol" in str(error) for error in plan.damaged] == [True, True]
    assert {task.column for task in plan.tasks} == {"sum"}


def test_a_file_of_another_trial_is_none_of_this_one(tmp_path):
    store = Store(tmp_path)
    kept(store, splits=2)
    store.path(experiment(), "first", "sum", 0).replace(store.path(experiment(), "first", "sum", 1))
    with pytest.raises(DataFileError, match="found a trial of"):
        store.read(experiment(), "first", "sum", 1)


def test_in_little_time_what_is_cheap_goes_first(tmp_path, monkeypatch):
    seconds = {
        ("paper", "table", row, column): cost
        for row, column, cost in [("first", "sum", 1.0), ("first", "minus", 2.0), ("second", "sum", 30.0)]
    }
    monkeypatch.setattr(Costs, "read", classmethod(lambda cls: cls(seconds)))
    tasks, lacking = tasks_of([experiment()], splits=3)
    plan = Plan.make(tasks, lacking, Store(tmp_path), minutes=1.0)
    named = [(task.row, task.column, task.split) for task in plan.tasks]
    first = [("first", "sum", k) for k in range(3)]
    # nothing is known of the second row's other column but what it takes on the first, which says little
    assert set(named) == {*first, *(("first", "minus", k) for k in range(3)), ("second", "sum", 0)}
    assert named[0] == ("first", "sum", 0)
    assert named[-1] == ("second", "sum", 0)
    assert len(plan.left_out) == 5
    # twice the processes have twice the time
    assert len(Plan.make(tasks, lacking, Store(tmp_path), minutes=1.0, jobs=2).tasks) == 9
    whole = Plan.make(tasks, lacking, Store(tmp_path))
    assert {(task.row, task.column) for task in whole.tasks[-3:]} == {("second", "minus")}
    assert not whole.left_out
    assert Costs(seconds).of(("paper", "table", "second", "product")) == UNKNOWN


def test_what_has_no_known_time_is_tried_once_with_a_limit(tmp_path, monkeypatch):
    read = Costs.read
    monkeypatch.setattr(Costs, "read", lambda path=None: Costs({}) if path is None else read(path))
    store, given = Store(tmp_path), tasks_of([experiment_of("ll08", "figure2")], splits=2)
    plan = Plan.make(*given, store, minutes=15.0)
    assert [len(each) for each in (plan.tasks, plan.left_out, plan.limited)] == [1, 1, 1]
    assert "takes longer than 0.01 s" in _try_once(plan.tasks[0], store, 0.01).error
    assert not Plan.make(*given, store, minutes=15.0).limited
    [trial] = plan.run(store)
    assert trial.value == plan.tasks[0].measure().value


def test_costs_are_written_as_they_are_read(tmp_path):
    costs = Costs({("a", "b", "c", "d"): 1.5, ("a", "b", "c", "e"): 20.0})
    costs.write(tmp_path / "seconds.tsv")
    assert Costs.read(tmp_path / "seconds.tsv") == costs
    assert Costs.read().seconds.keys() <= {
        (*each.place, row, column) for each in EXPERIMENTS for row in each.rows for column in each.columns
    }


def test_side_by_side_it_is_the_same(tmp_path):
    tasks, lacking = tasks_of([experiment()], splits=2)
    plan = Plan.make(tasks, lacking, Store(tmp_path))
    found = {trial.key: trial.value for trial in plan.run(Store(tmp_path), jobs=2)}
    assert found == {task.key: task.measure().value for task in tasks}
    assert len(Plan.make(tasks, lacking, Store(tmp_path)).done) == 8


def test_nothing_is_begun_after_the_time_and_what_is_done_is_kept(tmp_path):
    tasks, lacking = tasks_of([experiment()], splits=2)
    for jobs in (1, 2):
        plan = replace(Plan.make(tasks, lacking, Store(tmp_path)), minutes=0.0)
        assert not list(plan.run(Store(tmp_path), jobs))
    measured = replace(Plan.make(tasks, lacking, Store(tmp_path)), minutes=0.1 / 60).run(Store(tmp_path))
    first = next(measured)
    time.sleep(0.1)
    assert not list(measured)
    assert [trial.key for trial in Plan.make(tasks, lacking, Store(tmp_path)).done] == [first.key]


def press_and_go_on(split):
    """As fits do that end early and hand over what they have."""
    try:
        press(split)
    except KeyboardInterrupt:
        return Outcome(0.0)


@pytest.mark.parametrize("pressed", [press, press_and_go_on])
def test_an_interrupted_run_goes_on(tmp_path, handler, pressed):
    """What was done is kept, whole; what was being measured is dropped, also where the fit has ended early."""
    store = Store(tmp_path)
    table = experiment(columns={"sum": Sum(), "pressed": pressed}, rows={"first": SMALL})
    tasks, lacking = tasks_of([table], splits=2)
    seen = []
    with pytest.raises(KeyboardInterrupt):
        seen.extend(trial.column for trial in Plan.make(tasks, lacking, store).run(store))
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(list(tmp_path.rglob("*.*"))) == len(list(store.trials(table))) == 1
    plan = Plan.make(tasks, lacking, store)
    assert sorted((task.column, task.split) for task in plan.tasks) == [("pressed", 0), ("pressed", 1), ("sum", 1)]


# the experiments


@pytest.mark.parametrize("each", EXPERIMENTS, ids=lambda each: each.name)
def test_experiments_are_found_by_their_names(each):
    assert experiment_of(each.paper.upper(), each.table.upper()) is each
    assert each in of_paper(each.paper)
    assert each in of_paper("all", "all")
    assert each.title
    assert each.measure
    assert "\n" not in each.protocol


def test_names_are_their_own():
    assert len({each.name for each in EXPERIMENTS}) == len(EXPERIMENTS)
    cells = [(each, row, column) for each in EXPERIMENTS for row in each.rows for column in each.columns]
    places = {(*each.place, row, column): each.protocol_of(row, column) for each, row, column in cells}
    files = {Store(Path()).path(each, row, column, 0) for each, row, column in cells}
    assert len(files) == len(places)
    # tables that share a cell measure the same
    for each in EXPERIMENTS:
        for row in each.rows:
            for column in each.columns:
                assert places[*each.place, row, column] == each.protocol_of(row, column)


def test_protocols_are_spelled_out_the_same_everywhere():
    texts = [spell((each.rows, each.columns)) for each in EXPERIMENTS]
    assert not any(" at 0x" in text for text in texts)


def test_data_with_a_test_part_of_their_own_have_one_split(tmp_path, monkeypatch):
    parts = numbered(20)
    parts |= {"X_test": parts["X"][:5], "y_test": parts["y"][:5]}
    monkeypatch.setenv("CVXENS_DATA", str(make_directory(tmp_path, own=parts)))
    tasks, _ = tasks_of([experiment(rows={"own": OwnTest("own")})], splits=7)
    assert [task.split for task in tasks] == [0, 0]
