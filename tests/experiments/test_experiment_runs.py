"""Running experiments: the same splits for every method, names in order, and errors that say what to do."""

import numpy as np
import pytest
from data_directory import make_directory, numbered
from threadpoolctl import threadpool_info, threadpool_limits

from cvxens.datasets import make_twonorm
from cvxens.errors import CvxensError, DataFileError, InvalidInput
from cvxens.experiments import (
    EXPERIMENTS,
    Experiment,
    Generated,
    Partitioned,
    Published,
    cells,
    experiment_of,
    of_paper,
)
from cvxens.limits import available_threads

SMALL = Generated(make_twonorm, 20, 20)


def fingerprint(split):
    return float(np.sum(split.X) + np.sum(split.X_test) + np.sum(split.y * np.arange(len(split.y))))


def negated(split):
    return -fingerprint(split)


def experiment(**changes):
    options = {
        "data": {"first": SMALL, "second": Generated(make_twonorm, 30, 20)},
        "methods": {"sum": fingerprint, "minus": negated},
        "published": {("second", "sum"): Published(1.0, 0.1, "print")},
    }
    return Experiment("paper", "table", "title", "unit", "protocol", **(options | changes))


def values(**options):
    seen = []
    list(cells(experiment(), watch=seen.append, **options))
    return {(trial.data, trial.method, trial.split): trial.value for trial in seen}


def test_cells_come_row_by_row_with_their_published_figures():
    found = list(cells(experiment(), splits=2))
    places = [("first", "sum"), ("first", "minus"), ("second", "sum"), ("second", "minus")]
    assert [(cell.data, cell.method) for cell in found] == places
    assert [cell.published is None for cell in found] == [True, True, False, True]


def test_all_methods_see_the_same_splits():
    found = values(splits=3)
    assert len(found) == 12
    assert all(found[data, "minus", k] == -found[data, "sum", k] for data in ("first", "second") for k in range(3))
    assert len({abs(value) for value in found.values()}) == 6


@pytest.mark.parametrize("options", [{"splits": 2}, {"data": ["second"]}, {"methods": ["minus"]}])
def test_what_is_asked_for_does_not_change_the_splits(options):
    whole, part = values(splits=3), values(**({"splits": 3} | options))
    assert part.items() <= whole.items()
    assert len(part) < len(whole)


def test_the_seed_decides():
    assert values(splits=2) == values(splits=2, random_state=0)
    assert set(values(splits=2).values()).isdisjoint(values(splits=2, random_state=1).values())


def test_names_are_taken_in_the_order_of_the_experiment():
    found = cells(experiment(), data=["second", "first", "second"], methods=["minus"], splits=2)
    assert [cell.data for cell in found] == ["first", "second"]


def test_a_cell_is_the_mean_of_its_trials():
    found = values(splits=4, data=["first"], methods=["sum"])
    [cell] = cells(experiment(), data=["first"], methods=["sum"], splits=4)
    assert cell.mean == pytest.approx(np.mean(list(found.values())))
    assert cell.n_splits == 4


BAD = [
    ({"data": ["third"]}, "'third'; name some of first, second"),
    ({"data": []}, "found no name"),
    ({"methods": ["sum", "product"]}, "'product'; name some of sum, minus"),
    ({"splits": 1}, "splits: found 1"),
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
        cells(experiment(data=rows))
    assert str(error.value).startswith("CVXENS_DATA: found no data set heart, pima; ")
    assert str(error.value).endswith("or choose data that are generated: free")
    assert len(list(cells(experiment(data=rows), data=["there", "free"], methods=["minus"], splits=2))) == 2


def test_generated_data_need_no_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path / "nowhere"))
    assert len(list(cells(experiment(), splits=2))) == 4
    with pytest.raises(CvxensError, match="found no MANIFEST"):
        cells(experiment(data={"pima": Partitioned("pima")}))


def test_methods_run_on_one_thread_and_leave_the_rest_as_it_was():
    before = available_threads()

    def threads(_):
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return float(max([available_threads(), *blas]))

    with threadpool_limits(2, user_api="blas"):
        [cell] = cells(experiment(methods={"threads": threads}), data=["first"], splits=2)
        assert threads(None) == 2
    assert (cell.mean, cell.standard_error) == (1.0, 0.0)
    assert available_threads() == before


@pytest.mark.parametrize("each", EXPERIMENTS, ids=lambda each: each.name)
def test_experiments_are_found_and_publish_their_own_cells(each):
    assert experiment_of(each.paper.upper(), each.table.upper()) is each
    assert each in of_paper(each.paper)
    assert all(data in each.data and method in each.methods for data, method in each.published)
    assert each.title
    assert each.measure
    assert each.protocol


def test_names_are_their_own():
    assert len({each.name for each in EXPERIMENTS}) == len(EXPERIMENTS)


@pytest.mark.parametrize("words", [("nobody", "table2"), ("ll08", "table99"), ("nobody", None)])
def test_unknown_experiments(words):
    with pytest.raises(InvalidInput, match="name one of ll08 table2"):
        of_paper(*words)
