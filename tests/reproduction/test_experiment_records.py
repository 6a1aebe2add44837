"""A cell's mean, standard error and verdict against the textbook formulas."""

import json
from dataclasses import replace
from math import sqrt
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.datasets import make_twonorm
from reproduction import Cell, Experiment, Generated, OwnTest, Proof, Published, Trial

numbers = st.floats(0, 100)
TABLE = Experiment("paper", "table", "title", "protocol", {"heart": Generated(make_twonorm)}, {"SVM": len})
PROVEN, OPEN = Proof(1.0, 0.5, 0.5, proven=True), Proof(1.0, None, None, proven=False)


def trials(values, seconds=1.0, **changes):
    return [
        Trial("paper", "table", "heart", "SVM", split, 0, "digest", value, seconds, 30, 100, 7, **changes)
        for split, value in enumerate(values)
    ]


def cell(ours, error, published, n_splits=20):
    return Cell("heart", "SVM", ours, error * sqrt(n_splits), n_splits, 1.0, published)


def printed(value, error):
    return Published(value, error, "standard error", 100)


@given(st.lists(numbers, min_size=10, max_size=30))
def test_mean_and_standard_error(values):
    found = Cell.from_trials(trials(values), TABLE)
    assert (found.row, found.column, found.n_splits) == ("heart", "SVM", len(values))
    assert found.mean == pytest.approx(mean(values))
    assert found.standard_error == pytest.approx(stdev(values) / len(values) ** 0.5, abs=1e-12)


@given(st.lists(numbers, min_size=1, max_size=9))
def test_few_splits_deviate_by_no_less_than_the_drawing_of_the_test_samples(values):
    found = Cell.from_trials(trials(values), TABLE)
    drawn = sqrt(mean(value * (100 - value) / 100 for value in values))
    assert found.deviation == pytest.approx(max(drawn, stdev(values) if len(values) > 1 else 0.0))


def test_balanced_errors_are_drawn_class_by_class_and_one_test_part_is_not_averaged_away():
    """A balanced error of 30 and 10 % of 34 and 316 samples; seeds on one test part average their own spread alone."""
    classes = {"by class": [[30.0, 34], [10.0, 316]]}
    drawn = sqrt(30 * 70 / 34 + 10 * 90 / 316) / 2
    assert Cell.from_trials(trials([20.0], more=classes), TABLE).deviation == pytest.approx(drawn)
    own = replace(TABLE, rows={"heart": OwnTest("heart", runs=4)})
    found = Cell.from_trials(trials([19.0, 21.0, 19.0, 21.0], more=classes), own)
    assert found.standard_error == pytest.approx(np.hypot(stdev([19, 21, 19, 21]) / 2, drawn))
    assert found.deviation < drawn < found.standard_error


def test_one_split_of_what_is_no_share_has_no_spread():
    found = Cell.from_trials(trials([3.0]), replace(TABLE, measure="seconds"))
    assert (found.standard_error, found.verdict, found.distance) == (None, "", None)
    # a figure may be another than the value, and the time is the median, so that the first split does not count
    reading = replace(TABLE, reads="seconds of the choice", measure="seconds")
    timed = [replace(each, seconds=s) for each in trials([1.0], more={reading.reads: 7.0}) for s in (10.0, 1.0, 3.0)]
    found = Cell.from_trials(timed, reading)
    assert (found.mean, found.deviation, found.seconds) == (7.0, 0.0, 3.0)


@given(numbers, numbers, st.floats(0.01, 5), st.floats(0, 5))
def test_the_verdict_takes_both_standard_errors(ours, theirs, error, published_error):
    found = cell(ours, error, printed(theirs, published_error))
    joint = np.hypot(error, published_error)
    assert found.distance == pytest.approx(abs(ours - theirs) / joint)
    # on the limit rounding decides
    if abs(abs(ours - theirs) - 2 * joint) > 1e-9:
        apart = "better" if ours < theirs else "worse"
        assert found.verdict == ("within two" if abs(ours - theirs) < 2 * joint else apart)


@pytest.mark.parametrize(
    ("ours", "verdict"), [(20.0, "within two"), (20.1, "worse"), (0.0, "within two"), (-0.1, "better")]
)
def test_three_and_four_make_five(ours, verdict):
    found = cell(ours, 3.0, printed(10.0, 4.0))
    assert (found.verdict, found.distance > 2.0) == (verdict, verdict != "within two")


@pytest.mark.parametrize(
    ("published", "error"),
    [
        (Published(10.0, 4.0, "standard error", 100), 4.0),
        (Published(10.0, 4.0, "standard deviation", 25), 0.8),
        (Published(10.0, None, "none", 16), 0.5),
    ],
)
def test_the_spread_of_the_print_is_what_it_says(published, error):
    assert published.standard_error(2.0) == error
    assert cell(10.0, 2.0, published, n_splits=1).joint_error == pytest.approx(np.hypot(2.0, error))


def test_verdicts_of_no_distance():
    found = cell(16.0, 1.0, None)
    assert (found.distance, found.verdict, found.to_dict()["published"]) == (None, "", None)
    assert replace(cell(16.0, 1.0, printed(1.0, 0.1)), judged=False).verdict == ""
    # without any spread only equals agree
    for ours, verdict in ((1.0, "within two"), (1.1, "worse")):
        found = cell(ours, 0.0, printed(1.0, 0.0))
        assert (found.distance, found.verdict) == (None, verdict)


def test_proofs_and_warnings_are_counted():
    found = Cell.from_trials(trials([1.0, 2.0], proofs=(PROVEN, OPEN), warnings={"slow": 3}), TABLE)
    assert (found.n_fits, found.n_proven, found.n_warnings) == (4, 2, 6)
    assert Cell.from_trials(trials([1.0], proofs=(PROVEN,)), TABLE).gap == 0.5
    # a bound that says less than that the optimum is no less than nothing proves none, as where rho* = 0
    assert Cell.from_trials(trials([1.0], proofs=(replace(PROVEN, relative_gap=3e4),)), TABLE).n_proven == 0
    # a gap that is not finite is larger than any
    assert Cell.from_trials(trials([1.0], proofs=(OPEN, OPEN, PROVEN)), TABLE).gap == np.inf
    assert Cell.from_trials(trials([1.0]), TABLE).gap is None


def test_json_holds_what_the_cell_says():
    found = replace(cell(16.0, 1.0, printed(15.0, 0.5)), gap=np.inf)
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (read["mean"], read["standard_error"], read["verdict"]) == (16.0, 1.0, "within two")
    assert read["distance"] == pytest.approx(found.distance)
    assert read["published"] == {"value": 15.0, "spread": 0.5, "kind": "standard error", "runs": 100}
    assert read["gap"] is None
