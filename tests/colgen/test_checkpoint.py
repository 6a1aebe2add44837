"""Checkpoints: runs cut anywhere go on with all that they have found; files of other problems are refused."""

import json
import os
from dataclasses import dataclass
from functools import wraps
from itertools import count
from math import inf
from pathlib import Path

import cvxpy as cp
import killed_run
import numpy as np
import pytest
from brute_force import Table, all_stumps, noisy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from killed_run import Events, Killed, goes_on, read_rows
from numpy.testing import assert_array_equal
from scipy.sparse import csc_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.tree import DecisionTreeClassifier

from benchmarks.smoothing import InOut, stabilised
from cvxens.colgen import Checkpoint, Ending, Formulation, column_generation, formulations, oracles
from cvxens.colgen.checkpoint import Keeper, decode, encode
from cvxens.colgen.masters import CvxpyMaster, HighsMaster
from cvxens.errors import DataFileError, InvalidInput, NotSeparable
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import ElasticNet
from cvxens.trees import Feature

FSYNC, REPLACE = os.fsync, os.replace
X, y = noisy(40, 3, seed=3)
H = all_stumps(X)
N = len(y)
SOFT = formulations.soft_margin(1.0)
CODES = np.where(y[:, None] > 0, [[1.0]], [[-1.0]])

ORACLES = {
    "Stumps": lambda: oracles.Stumps(X, columns_per_round=2),
    "Stumps, sparse": lambda: oracles.Stumps(csc_array(X), columns_per_round=2),
    "Perceptrons": lambda: oracles.Perceptrons(
        X, n_directions=20, refined=2, epochs=5, columns_per_round=3, random_state=4
    ),
    "Perceptrons, fixed": lambda: oracles.Perceptrons(
        X, n_directions=20, resample=False, columns_per_round=3, random_state=4
    ),
    "ParallelPerceptrons": lambda: oracles.ParallelPerceptrons(X, np.eye(3), columns_per_round=2),
    "Fourier": lambda: oracles.Fourier(X, pool=30, refine=2, columns_per_round=3, random_state=5),
    "Trees": lambda: oracles.Trees(X, max_depth=2),
    "DepthTwoTrees": lambda: oracles.DepthTwoTrees(X, columns_per_round=2),
    "KernelColumns": lambda: oracles.KernelColumns(rbf_kernel, X, columns_per_round=2),
    "Pool": lambda: oracles.Pool(H, columns_per_round=2),
    "Table": lambda: Table(H, 2),
}
FORMULATIONS = {
    "soft margin": (SOFT, y),
    "LPBoost": (formulations.lpboost(0.05), y),
    "exponential": (formulations.exponential(N, 0.1), y),
    "least squares": (formulations.simplex_least_squares(CODES, 0.1), None),
    "elastic net": (Formulation(Logistic(2.0), ElasticNet(1.0, 0.1), intercept=True), y),
}


def dying(oracle, at):
    """The oracle, which dies at the end of its call of a given number, when its generator has been used."""
    original, calls = oracle.price, count(1)

    @wraps(original)
    def price(*arguments, **told):
        priced = original(*arguments, **told)
        if next(calls) == at:
            raise Killed
        return priced

    oracle.price = price
    return oracle


def gap_to(run, whole):
    return abs(run.certificate.primal - whole.certificate.primal) / abs(whole.certificate.primal)


@pytest.mark.parametrize("name", ORACLES)
def test_resumed_with_any_oracle_it_has_what_was_found(tmp_path, name):
    make = ORACLES[name]
    whole = column_generation(SOFT, make(), y, max_columns=16)
    kept = Checkpoint(tmp_path / "run", every_rounds=1)
    assert len(whole.history) > 3
    for killed, n_rounds in enumerate((2, 3), start=1):
        with pytest.raises(Killed):
            # one question more is to read a file, and one more where hypotheses refer to functions
            column_generation(SOFT, dying(make(), 3 + killed // 2 * (name == "KernelColumns")), y, checkpoint=kept)
        assert len(read_rows(kept.path)) == n_rounds
    resumed = column_generation(SOFT, make(), y, max_columns=16, checkpoint=kept)
    assert [row.objective for row in resumed.history[:2]] == [row.objective for row in whole.history[:2]]
    assert resumed.certificate.primal <= min(row.objective for row in resumed.history) * (1 + 1e-12)
    assert len(resumed.columns) >= 16 or resumed.ending is whole.ending
    assert resumed.certificate.proven == whole.certificate.proven
    sample = resumed.columns[0].sample
    assert resumed.decision_function(sample).shape == whole.decision_function(sample).shape


@pytest.mark.thinned(2, name=FORMULATIONS, first=[1, 4, 9], start=["none", "own", "foreign"])
def test_resumed_with_any_formulation_it_ends_at_the_optimum(tmp_path, name, first, start):
    formulation, labels = FORMULATIONS[name]
    start = {
        "none": [],
        "own": [c.hypothesis for c in column_generation(formulation, oracles.Stumps(X), labels, max_columns=2).columns],
        "foreign": [c.hypothesis for c in oracles.Fourier(X, pool=9, random_state=0).price(y).columns],
    }[start]
    kept = Checkpoint(tmp_path / "run")

    def run(**limits):
        oracle = oracles.Stumps(X, columns_per_round=3)
        return column_generation(formulation, oracle, labels, tol=1e-7, start=start, **limits)

    whole, part = run(), run(max_columns=first, checkpoint=kept)
    assert len(part.history) < len(whole.history)
    again = run(checkpoint=kept)
    assert again.history[: len(part.history) - 1] == part.history[:-1]
    assert again.certificate.holds(1e-7)
    assert gap_to(again, whole) <= 1e-7
    assert {c.hypothesis for c in part.columns} <= {c.hypothesis for c in again.columns}


def test_without_a_seed_the_generators_go_on(tmp_path):
    kept = Checkpoint(tmp_path / "run")
    oracle = oracles.Perceptrons(X, n_directions=9, columns_per_round=1)
    column_generation(SOFT, oracle, y, max_columns=3, checkpoint=kept)
    other = oracles.Perceptrons(X, n_directions=9, columns_per_round=1)
    Keeper(kept, other, ()).read()
    assert other._random.bit_generator.state == oracle._random.bit_generator.state


CUTS = 12


@pytest.fixture(scope="module")
def whole():
    return killed_run.run()


def watch_writing(events, monkeypatch):
    monkeypatch.setattr(os, "replace", events.around(REPLACE))
    monkeypatch.setattr(os, "fsync", events.around(FSYNC))


@pytest.mark.parametrize("started", [False, True])
def test_killed_at_random_moments_it_goes_on(tmp_path, monkeypatch, whole, started):
    start = [column.hypothesis for column in whole.columns[::3]] if started else []
    whole = killed_run.run(start=start) if started else whole
    events = Events()
    watch_writing(events, monkeypatch)
    killed_run.run(Checkpoint(tmp_path / "counted", every_rounds=1), events, start=start)
    total = next(events.seen) - 1
    assert total > 4 * CUTS
    for at in np.random.default_rng(0).choice(total, CUTS, replace=False) + 1:
        kept = Checkpoint(tmp_path / f"run {at}", every_rounds=1)
        events = Events(at)
        watch_writing(events, monkeypatch)
        with pytest.raises(Killed):
            killed_run.run(kept, events, start=start)
        rows = read_rows(kept.path)
        assert goes_on(killed_run.run(kept, start=start), rows, whole), f"killed at event {at}"


def test_killed_again_and_again(tmp_path, monkeypatch, whole):
    kept, rows = Checkpoint(tmp_path / "run", every_rounds=2), []
    for at in (60, 40, 30, 20, 30):
        events = Events(at)
        watch_writing(events, monkeypatch)
        with pytest.raises(Killed):
            killed_run.run(kept, events)
        before, rows = rows, read_rows(kept.path)
        assert rows[: len(before)] == before
        assert len(rows) > len(before)
    run = killed_run.run(kept)
    assert [row.objective for row in run.history[: len(rows)]] == rows
    assert run.certificate.primal <= min(rows)
    assert run.ending in {Ending.EXHAUSTED, Ending.MAX_COLUMNS}


@pytest.mark.parametrize("seconds", [0.3, pytest.param(0.05, marks=pytest.mark.sweep)])
def test_killed_by_the_system(tmp_path, whole, seconds):
    kept = Checkpoint(tmp_path / "run")
    killed_run.killed_after(seconds, kept.path)
    rows = read_rows(kept.path)
    assert goes_on(killed_run.run(kept), rows, whole)


def test_what_is_done_is_returned_at_once(tmp_path):
    kept = Checkpoint(tmp_path / "run")
    whole = column_generation(SOFT, oracles.Stumps(X, columns_per_round=1), y, checkpoint=kept)
    before, asked = Path(kept.path).read_bytes(), count()

    class Counted(oracles.Stumps):
        def price(self, *arguments, **told):
            next(asked)
            return super().price(*arguments, **told)

    for limits in ({}, {"max_time": 1e-9}, {"max_columns": 1000}, {"tol": 0.1}, {"max_columns": 3}):
        again = column_generation(SOFT, Counted(X, columns_per_round=1), y, checkpoint=kept, **limits)
        assert again.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-12)
        assert again.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-12)
        assert_array_equal(again.weights, whole.weights)
        assert len(again.history) == len(whole.history)
    assert next(asked) == 5
    assert Path(kept.path).read_bytes() == before


def test_every_call_with_a_time_limit_gets_further(tmp_path):
    kept, whole = Checkpoint(tmp_path / "run"), column_generation(SOFT, oracles.Stumps(X, columns_per_round=1), y)
    for rounds in count(1):
        run = column_generation(SOFT, oracles.Stumps(X, columns_per_round=1), y, max_time=1e-9, checkpoint=kept)
        assert len(run.history) == rounds
        if run.ending is not Ending.MAX_TIME:
            break
    assert run.certificate.holds(1e-6)
    assert gap_to(run, whole) <= 1e-6
    assert rounds < 3 * len(whole.history)


def test_an_interrupt_is_written_down_and_one_before_the_first_round_returns_the_state_of_the_file(tmp_path):
    kept = Checkpoint(tmp_path / "run", every_seconds=inf)

    def interrupted(at):
        oracle, calls = oracles.Stumps(X, columns_per_round=1), count(1)
        price = oracle.price

        @wraps(price)
        def pressed(*arguments, **told):
            if next(calls) == at:
                raise KeyboardInterrupt
            return price(*arguments, **told)

        oracle.price = pressed
        return oracle

    first = column_generation(SOFT, interrupted(8), y, checkpoint=kept)
    assert (first.ending, len(first.history)) == (Ending.INTERRUPTED, 7)
    before = Path(kept.path).read_bytes()
    second = column_generation(SOFT, interrupted(2), y, checkpoint=kept)
    assert second.ending is Ending.INTERRUPTED
    assert_array_equal(second.weights, first.weights)
    assert second.certificate.primal == pytest.approx(first.certificate.primal, rel=1e-12)
    assert second.certificate.dual == pytest.approx(first.certificate.dual, rel=1e-12)
    assert Path(kept.path).read_bytes() == before
    final = column_generation(SOFT, oracles.Stumps(X, columns_per_round=1), y, checkpoint=kept)
    assert final.certificate.holds(1e-6)
    assert final.history[:6] == first.history[:6]


def test_classes_that_are_not_separable_stay_so(tmp_path):
    kept, labels = Checkpoint(tmp_path / "run"), np.append(y, -y[0])
    stumps = oracles.Stumps(np.vstack([X, X[:1]]))
    for _ in range(2):
        with pytest.raises(NotSeparable) as raised:
            column_generation(formulations.hard_margin(), stumps, labels, checkpoint=kept)
        assert raised.value.max_edge == pytest.approx(0.0, abs=1e-9)


@pytest.fixture
def file(tmp_path):
    """The file of an unfinished run, and a call that would resume it."""
    path = tmp_path / "run"

    def call(formulation=SOFT, oracle=None, labels=y, **options):
        stumps = oracle or oracles.Stumps(X, columns_per_round=2)
        return column_generation(formulation, stumps, labels, checkpoint=Checkpoint(path), **options)

    call(max_columns=8)
    return path, call


@pytest.mark.parametrize(
    "other",
    [
        {"formulation": formulations.soft_margin(1.5)},
        {"formulation": formulations.lpboost(0.1)},
        {"labels": -y},
        {"labels": y[:-1], "oracle": oracles.Stumps(X[:-1])},
        {"oracle": oracles.Stumps(X[:, ::-1], columns_per_round=2)},
        {"oracle": oracles.Stumps(X[:, :1])},
        {"oracle": oracles.Pool(10 * H)},
    ],
    ids=["price", "loss", "labels", "fewer samples", "features", "fewer features", "columns"],
)
def test_files_of_other_problems_are_refused(file, other):
    path, call = file
    before = path.read_bytes()
    with pytest.raises(
        DataFileError, match=r"^checkpoint: found the file of a run with another .*; give what that run"
    ):
        call(**other)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "other",
    [
        {"master": CvxpyMaster},
        {"master": stabilised(HighsMaster, InOut(0.5))},
        {"start": [oracles.Constant(1)]},
        {"oracle": oracles.Stumps(X, columns_per_round=1)},
    ],
    ids=["master", "stabilisation", "start", "columns_per_round"],
)
def test_the_way_may_change(file, other):
    """What is in the file is evaluated on the problem, whoever found it."""
    _, call = file
    whole = column_generation(SOFT, oracles.Stumps(X), y)
    again = call(**other)
    assert again.certificate.holds(1e-6)
    assert gap_to(again, whole) <= 1e-6


OWN = Formulation(lambda z: 0.5 * cp.sum(cp.pos(1 - z)), lambda w: 0.8 * cp.norm1(w))


@pytest.mark.parametrize(
    "other",
    [
        Formulation(lambda z: 0.6 * cp.sum(cp.pos(1 - z)), OWN.penalty),
        # the first multipliers, at w = 0, do not depend on it
        Formulation(OWN.loss, lambda w: 0.7 * cp.norm1(w)),
        Formulation(OWN.loss, OWN.penalty, constraints=lambda z: [z[0] <= -9]),
    ],
    ids=["loss", "penalty", "constraints"],
)
def test_expressions_are_told_apart_by_what_they_are(tmp_path, other):
    def run(formulation):
        kept = Checkpoint(tmp_path / "run")
        return column_generation(formulation, oracles.Stumps(X), y, checkpoint=kept, max_rounds=3)

    whole = run(OWN)
    with pytest.raises(DataFileError, match=r"^checkpoint: found the file of a run with another formulation"):
        run(other)
    again = Formulation(lambda z: 0.5 * cp.sum(cp.pos(1 - z)), lambda w: 0.8 * cp.norm1(w))
    assert run(again).certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-9)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_files_are_refused(file, data):
    path, call = file
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    cut = data.draw(st.booleans())
    flipped = whole[at] ^ data.draw(st.integers(1, 255))
    try:
        path.write_bytes(whole[:at] if cut else whole[:at] + bytes([flipped]) + whole[at + 1 :])
        with pytest.raises(
            DataFileError, match=r"^checkpoint: found (no checkpoint in|version \d+ of|.* truncated or)"
        ):
            call()
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"cvxens checkpoint 1 \n", "zip"])
def test_foreign_files_are_refused(file, content):
    path, call = file
    if content == "zip":
        np.savez(path.with_suffix(".npz"), header=np.zeros(3))
        content = path.with_suffix(".npz").read_bytes()
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=r"^checkpoint: found no checkpoint in .*run; name another file"):
        call()


@pytest.mark.parametrize("version", [4, 6])
def test_a_file_of_another_version_is_refused(file, version):
    path, call = file
    path.write_bytes(path.read_bytes().replace(b"checkpoint 5 ", b"checkpoint %d " % version, 1))
    with pytest.raises(DataFileError, match=rf"found version {version} of the format .* this release writes version 5"):
        call()
    assert [entry.name for entry in path.parent.iterdir()] == ["run"]


def test_hypotheses_that_no_file_can_hold_are_refused_in_the_first_round(tmp_path):
    calls = count()
    learner = oracles.SklearnLearner(DecisionTreeClassifier(max_depth=1), X)
    learn = learner._learn
    learner._learn = lambda s: (next(calls), learn(s))[1]
    message = "^checkpoint: found the hypothesis FittedClassifier, which a file cannot hold: DecisionTreeClassifier is"
    with pytest.raises(InvalidInput, match=message):
        column_generation(SOFT, learner, y, checkpoint=Checkpoint(tmp_path / "run"))
    assert next(calls) == 1
    with pytest.raises(InvalidInput, match="found the hypothesis function"):
        column_generation(SOFT, oracles.Pool.of([lambda X: X[:, 0]], X), y, checkpoint=Checkpoint(tmp_path / "run"))

    @dataclass(frozen=True)
    class Local:
        def __call__(self, X):
            return np.where(X[:, 0] > 4, 1.0, -1.0)

    with pytest.raises(InvalidInput, match=r"found the hypothesis Local.* is not a dataclass at the top of a loaded"):
        column_generation(SOFT, oracles.Pool.of([Local()], X), y, checkpoint=Checkpoint(tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []


def test_where_it_cannot_be_written(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataFileError, match=r"cannot be written .*No space left.*; make room"):
        column_generation(SOFT, oracles.Stumps(X), y, checkpoint=Checkpoint(tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"path": Path("none") / "run"}, "path: found no folder for it at"),
        ({"path": "."}, "path: found a folder at"),
        *(({"path": path}, "path: found .*; give the path of a file") for path in (None, 1, [])),
        *(({"every_rounds": rounds}, "every_rounds: found") for rounds in (0, 2.5)),
        *(({"every_seconds": seconds}, "every_seconds: found") for seconds in (0.0, np.nan)),
    ],
)
def test_places_and_periods_that_are_none(tmp_path, options, found):
    with pytest.raises(InvalidInput, match=f"^{found}"):
        Checkpoint(**{"path": tmp_path / "run", **options})


@pytest.mark.parametrize(("rounds", "written"), [(1, 12), (3, 5), (None, 2)])
def test_it_is_written_after_the_first_round_when_due_and_at_the_end(tmp_path, monkeypatch, rounds, written):
    times = []
    monkeypatch.setattr(os, "replace", lambda *paths: (times.append(paths), REPLACE(*paths))[1])
    kept = Checkpoint(tmp_path / "run", every_rounds=rounds, every_seconds=inf)
    run = column_generation(SOFT, oracles.Stumps(X, columns_per_round=1), y, max_columns=11, checkpoint=kept)
    assert len(run.history) == 12
    assert len(times) == written
    assert kept.due(0, inf)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda parts: st.lists(parts, max_size=4).map(tuple) | st.builds(Feature, st.text(), parts),
    max_leaves=20,
)


@given(VALUES)
def test_values_are_read_as_they_were_written(value):
    assert decode(json.loads(json.dumps(encode(value, {}))), {}) == value


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.array(True), np.array(["a", "bc"]), np.array(2**63 - 1)],
)
def test_arrays_are_read_as_they_were_written(array):
    again = decode(json.loads(json.dumps(encode(array, {}))), {})
    assert_array_equal(again, array, strict=True)


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, b"a", np.array([None]), oracles.Stumps, cp.Variable()],
    ids=lambda value: type(value).__name__,
)
def test_nothing_else_is_written(value):
    with pytest.raises(TypeError):
        encode((1, value) if value is not oracles.Stumps else [oracles.Stumps], {})


@pytest.mark.parametrize(
    "written",
    [
        *({"record": name, "of": ["true"]} for name in ("os:system", "os:path.join", "os", ":", "json:JSONDecoder")),
        {"record": f"{__name__}:Feature", "of": []},
        {"function": "os:getcwd"},
        [],
    ],
)
def test_forged_values_name_no_code(written):
    with pytest.raises((KeyError, TypeError)):
        decode(written, {})


def test_a_path_is_a_checkpoint(tmp_path):
    X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    file = str(tmp_path / "run")
    column_generation(formulations.soft_margin(C=2.0), oracles.Stumps(X), y, checkpoint=file)
    again = column_generation(formulations.soft_margin(C=2.0), oracles.Stumps(X), y, checkpoint=Checkpoint(file))
    assert again.certificate.primal == 3.0
