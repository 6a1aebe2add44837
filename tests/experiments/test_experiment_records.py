"""A cell's mean, standard error and verdict against the textbook formulas."""

import json
from statistics import mean, median, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.experiments import Cell, Published, Trial

numbers = st.floats(0, 100)


def trials(values, seconds=1.0):
    return [Trial("heart", "SVM", split, value, seconds) for split, value in enumerate(values)]


def cell(ours, error, published):
    return Cell("heart", "SVM", ours, error, 20, 1.0, published)


@settings(deadline=None, max_examples=50)
@given(st.lists(numbers, min_size=2, max_size=30))
def test_mean_and_standard_error(values):
    found = Cell.from_trials(trials(values), None)
    assert (found.data, found.method, found.n_splits) == ("heart", "SVM", len(values))
    assert found.mean == pytest.approx(mean(values))
    assert found.standard_error == pytest.approx(stdev(values) / len(values) ** 0.5, abs=1e-12)


def test_the_time_is_the_median_so_that_the_first_split_does_not_count():
    times = [10.0, 1.0, 3.0]
    found = Cell.from_trials([Trial("a", "b", k, 0.0, seconds) for k, seconds in enumerate(times)], None)
    assert found.seconds == median(times)


@settings(deadline=None, max_examples=100)
@given(numbers, numbers, st.floats(0.01, 5), st.floats(0, 5))
def test_agreement_takes_both_standard_errors(ours, theirs, error, published_error):
    found = cell(ours, error, Published(theirs, published_error, "print"))
    joint = np.sqrt(error**2 + published_error**2)
    assert found.distance == pytest.approx(abs(ours - theirs) / joint)
    assert found.agrees == (abs(ours - theirs) <= 2 * np.hypot(error, published_error))


def test_three_and_four_make_five():
    assert cell(20.0, 3.0, Published(10.0, 4.0, "print")).agrees is True
    assert cell(20.1, 3.0, Published(10.0, 4.0, "print")).agrees is False
    assert cell(20.0, 3.0, Published(10.0, 4.0, "print")).distance == 2.0


@pytest.mark.parametrize(("ours", "agrees"), [(1.0, True), (1.1, False)])
def test_without_any_spread_only_equals_agree(ours, agrees):
    found = cell(ours, 0.0, Published(1.0, 0.0, "print"))
    assert (found.distance, found.agrees) == (None, agrees)


def test_without_a_published_figure_there_is_no_verdict():
    found = cell(16.0, 1.0, None)
    assert (found.distance, found.agrees, found.to_dict()["published"]) == (None, None, None)


def test_a_figure_from_memory_says_so():
    assert "to be checked" in Published(1.0, 0.1, "print").note
    assert Published(1.0, 0.1, "print", checked=True).note == ""


def test_json_holds_what_the_cell_says():
    found = cell(16.0, 1.0, Published(15.0, 0.5, "print"))
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (read["mean"], read["standard_error"], read["agrees"]) == (16.0, 1.0, True)
    assert read["distance"] == pytest.approx(found.distance)
    assert read["published"]["checked"] is False
    assert "to be checked" in read["published"]["note"]
