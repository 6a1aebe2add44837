"""Checkpoints: runs cut anywhere and resumed take the way of an uninterrupted one; other files are refused."""

import io
import os
from dataclasses import dataclass, replace
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
from killed_run import Events, Killed, identical
from numpy.testing import assert_array_equal
from scipy.sparse import csc_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen import Checkpoint, Column, Ending, Formulation, Priced, column_generation, formulations
from cvxens.colgen.checkpoint import FILE, Saved, digest
from cvxens.colgen.masters import CvxpyMaster, HighsMaster
from cvxens.colgen.oracles import (
    Constant,
    Fourier,
    KernelColumns,
    ParallelPerceptrons,
    Perceptrons,
    Pool,
    SklearnLearner,
    Stumps,
    Trees,
)
from cvxens.colgen.stabilisation import Averaged, InOut, stabilised
from cvxens.errors import DataFileError, InvalidInput, NotSeparable
from cvxens.storage import Encoding, nothing_else
from cvxens.trees import Feature

FSYNC, REPLACE = os.fsync, os.replace
X, y = noisy(40, 3, seed=3)
H = all_stumps(X)
N = len(y)
SOFT = formulations.soft_margin(1.0)
CODES = np.where(y[:, None] > 0, [[1.0]], [[-1.0]])

ORACLES = {
    "Stumps": lambda: Stumps(X, columns_per_round=2),
    "Stumps, sparse": lambda: Stumps(csc_array(X), columns_per_round=2),
    "Perceptrons": lambda: Perceptrons(X, n_directions=20, refined=2, epochs=5, columns_per_round=3, random_state=4),
    "Perceptrons, fixed": lambda: Perceptrons(X, n_directions=20, resample=False, columns_per_round=3, random_state=4),
    "ParallelPerceptrons": lambda: ParallelPerceptrons(X, np.eye(3), columns_per_round=2),
    "Fourier": lambda: Fourier(X, pool=30, refine=2, columns_per_round=3, random_state=5),
    "Trees": lambda: Trees(X, max_depth=2),
    "KernelColumns": lambda: KernelColumns(rbf_kernel, X, columns_per_round=2),
    "Pool": lambda: Pool(H, columns_per_round=2),
    "Table": lambda: Table(H, 2),
}
FORMULATIONS = {
    "soft margin": (SOFT, y),
    "LPBoost": (formulations.lpboost(0.05), y),
    "exponential": (formulations.exponential(N, 0.1), y),
    "least squares": (formulations.simplex_least_squares(CODES, 0.1), None),
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


@pytest.mark.parametrize("name", ORACLES)
def test_resumed_with_any_oracle_it_takes_the_same_way(tmp_path, name):
    make = ORACLES[name]
    whole = column_generation(SOFT, make(), y, max_columns=16)
    kept = Checkpoint(tmp_path / "run", every_rounds=1)
    assert len(whole.history) > 3
    for _ in range(2):
        with pytest.raises(Killed):
            column_generation(SOFT, dying(make(), 3), y, max_columns=16, checkpoint=kept)
    resumed = column_generation(SOFT, make(), y, max_columns=16, checkpoint=kept)
    assert identical(resumed, whole)
    assert_array_equal(
        resumed.decision_function(resumed.columns[0].sample), whole.decision_function(whole.columns[0].sample)
    )


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("first", [1, 4, 9])
def test_resumed_with_any_formulation_it_takes_the_same_way(tmp_path, name, first):
    formulation, labels = FORMULATIONS[name]
    limits = {"tol": 1e-9, "max_columns": 40}
    whole = column_generation(formulation, Stumps(X, columns_per_round=3), labels, **limits)
    kept = Checkpoint(tmp_path / "run")
    part = column_generation(
        formulation, Stumps(X, columns_per_round=3), labels, tol=1e-9, max_columns=first, checkpoint=kept
    )
    assert len(part.history) < len(whole.history)
    again = column_generation(formulation, Stumps(X, columns_per_round=3), labels, **limits, checkpoint=kept)
    assert identical(again, whole)


@pytest.mark.parametrize("name", ["soft margin", "exponential", "least squares"])
@pytest.mark.parametrize("foreign", [False, True])
def test_resumed_from_starting_columns_it_takes_the_same_way(tmp_path, name, foreign):
    formulation, labels = FORMULATIONS[name]
    first = column_generation(formulation, Stumps(X, columns_per_round=2), labels, max_columns=12)
    start = [c.hypothesis for c in first.columns]
    start += [c.hypothesis for c in Fourier(X, pool=9, random_state=0).price(y).columns] if foreign else []

    def run(oracle, **options):
        return column_generation(formulation, oracle, labels, tol=1e-9, start=start, max_columns=40, **options)

    whole, kept = run(Stumps(X, columns_per_round=2)), Checkpoint(tmp_path / "run", every_rounds=1)
    assert len(whole.history) >= 3
    for at in (2, 3):
        with pytest.raises(Killed):
            run(dying(Stumps(X, columns_per_round=2), at), checkpoint=kept)
    assert identical(run(Stumps(X, columns_per_round=2), checkpoint=kept), whole)
    assert identical(run(Stumps(X, columns_per_round=2), checkpoint=kept), whole)
    start = start[:-1]
    with pytest.raises(DataFileError, match="found the file of a run with another start; give what that run was given"):
        run(Stumps(X, columns_per_round=2), checkpoint=kept)


def test_without_a_seed_the_generator_is_that_of_the_file(tmp_path):
    kept = Checkpoint(tmp_path / "run")
    for rows in (3, 12):
        run = column_generation(
            SOFT, Perceptrons(X, n_directions=9, columns_per_round=1), y, max_columns=rows, checkpoint=kept
        )
    state = Saved.read(kept.path).state["generators"][0][0]
    oracle = Perceptrons(X, n_directions=9, columns_per_round=1)
    oracle._random.bit_generator.state = Encoding(nothing_else, nothing_else).read(state)
    assert identical(column_generation(SOFT, oracle, y, max_columns=12), run)


CUTS = 25


@pytest.fixture(scope="module")
def whole():
    return killed_run.run()


def events_of_a_run(folder, monkeypatch, start=()):
    events = Events()
    watch_writing(events, monkeypatch)
    killed_run.run(Checkpoint(folder / "counted", every_rounds=1), events, start=start)
    return next(events.seen) - 1


def watch_writing(events, monkeypatch):
    monkeypatch.setattr(os, "replace", events.around(REPLACE))
    monkeypatch.setattr(os, "fsync", events.around(FSYNC))


def test_killed_at_random_moments_it_takes_the_same_way(tmp_path, monkeypatch, whole):
    total = events_of_a_run(tmp_path, monkeypatch)
    assert total > 10 * CUTS
    for at in np.random.default_rng(0).choice(total, CUTS, replace=False) + 1:
        kept = Checkpoint(tmp_path / f"run {at}", every_rounds=1)
        events = Events(at)
        watch_writing(events, monkeypatch)
        with pytest.raises(Killed):
            killed_run.run(kept, events)
        assert identical(killed_run.run(kept), whole), f"killed at event {at}"


def test_killed_at_random_moments_after_a_start_it_takes_the_same_way(tmp_path, monkeypatch, whole):
    start = [column.hypothesis for column in whole.columns[::3]]
    started = killed_run.run(start=start)
    assert not identical(started, whole)
    total = events_of_a_run(tmp_path, monkeypatch, start)
    for at in np.random.default_rng(1).choice(total, 10, replace=False) + 1:
        kept = Checkpoint(tmp_path / f"run {at}", every_rounds=1)
        events = Events(at)
        watch_writing(events, monkeypatch)
        with pytest.raises(Killed):
            killed_run.run(kept, events, start=start)
        assert identical(killed_run.run(kept, start=start), started), f"killed at event {at}"


def test_killed_again_and_again(tmp_path, monkeypatch, whole):
    kept = Checkpoint(tmp_path / "run", every_rounds=2)
    for at in (60, 70, 50, 90, 100):
        events = Events(at)
        watch_writing(events, monkeypatch)
        with pytest.raises(Killed):
            killed_run.run(kept, events)
    assert identical(killed_run.run(kept), whole)


def test_killed_by_the_system(tmp_path, whole):
    for seconds in (0.05, 0.15, 0.3):
        kept = Checkpoint(tmp_path / str(seconds))
        killed_run.killed_after(seconds, kept.path)
        assert identical(killed_run.run(kept), whole)


def test_what_is_done_is_returned_at_once(tmp_path):
    kept = Checkpoint(tmp_path / "run")
    whole = column_generation(SOFT, Stumps(X, columns_per_round=1), y, checkpoint=kept)
    calls = count()

    class Counted(HighsMaster):
        def solve(self):
            next(calls)
            return super().solve()

    Counted.__module__, Counted.__qualname__ = HighsMaster.__module__, HighsMaster.__qualname__
    before = Path(kept.path).read_bytes()
    for limits in ({}, {"max_time": 1e-9}, {"max_columns": 1000}):
        again = column_generation(SOFT, Stumps(X, columns_per_round=1), y, master=Counted, checkpoint=kept, **limits)
        assert identical(again, whole)
        assert again.history == whole.history
    assert next(calls) == 3
    assert Path(kept.path).read_bytes() == before


def test_looser_limits_end_earlier_and_leave_the_file_alone(tmp_path):
    kept = Checkpoint(tmp_path / "run")
    column_generation(SOFT, Stumps(X, columns_per_round=1), y, checkpoint=kept)
    before = Path(kept.path).read_bytes()
    for limits in ({"tol": 0.1}, {"max_columns": 3}):
        early = column_generation(SOFT, Stumps(X, columns_per_round=1), y, checkpoint=kept, **limits)
        assert identical(early, column_generation(SOFT, Stumps(X, columns_per_round=1), y, **limits))
    assert Path(kept.path).read_bytes() == before


def test_every_call_with_a_time_limit_gets_further(tmp_path):
    kept, whole = Checkpoint(tmp_path / "run"), column_generation(SOFT, Stumps(X, columns_per_round=1), y)
    for rounds in range(1, len(whole.history) + 1):
        run = column_generation(SOFT, Stumps(X, columns_per_round=1), y, max_time=1e-9, checkpoint=kept)
        assert len(run.history) == rounds
        assert (run.ending is Ending.MAX_TIME) == (rounds < len(whole.history))
    assert identical(run, whole)


@pytest.mark.parametrize(("method", "at"), [("solve", 3), ("bound", 2), ("bound", 7)])
def test_an_interrupt_is_written_down_and_one_while_catching_up_returns_the_file_s_state(tmp_path, method, at):
    kept = Checkpoint(tmp_path / "run", every_seconds=inf)

    def interrupted(oracle, at):
        price, calls = oracle.price, count(1)

        @wraps(price)
        def pressed(*arguments, **told):
            if next(calls) == at:
                raise KeyboardInterrupt
            return price(*arguments, **told)

        oracle.price = pressed
        return oracle

    def master_interrupted(formulation, signs):
        made, calls = HighsMaster(formulation, signs), count(1)
        original = getattr(made, method)

        def pressed(*arguments):
            if next(calls) == at:
                raise KeyboardInterrupt
            return original(*arguments)

        setattr(made, method, pressed)
        return made

    first = column_generation(SOFT, interrupted(Stumps(X, columns_per_round=1), 8), y, checkpoint=kept)
    assert (first.ending, len(first.history)) == (Ending.INTERRUPTED, 7)
    before = Path(kept.path).read_bytes()
    second = column_generation(SOFT, Stumps(X, columns_per_round=1), y, master=master_interrupted, checkpoint=kept)
    assert identical(second, first)
    assert Path(kept.path).read_bytes() == before
    final = column_generation(SOFT, Stumps(X, columns_per_round=1), y, checkpoint=kept)
    assert identical(final, column_generation(SOFT, Stumps(X, columns_per_round=1), y))
    assert final.history[:7] == first.history


def test_classes_that_are_not_separable_stay_so(tmp_path):
    kept, labels = Checkpoint(tmp_path / "run"), np.append(y, -y[0])
    for _ in range(2):
        with pytest.raises(NotSeparable) as raised:
            column_generation(formulations.hard_margin(), Stumps(np.vstack([X, X[:1]])), labels, checkpoint=kept)
        assert raised.value.max_edge == pytest.approx(0.0, abs=1e-9)


@pytest.fixture
def file(tmp_path):
    """The file of an unfinished run, and a call that would resume it."""
    path = tmp_path / "run"

    def call(formulation=SOFT, oracle=None, labels=y, **options):
        stumps = oracle or Stumps(X, columns_per_round=2)
        return column_generation(formulation, stumps, labels, checkpoint=Checkpoint(path), **options)

    call(max_columns=8)
    return path, call


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"formulation": formulations.soft_margin(1.5)}, "another formulation; give what that run was given"),
        ({"labels": -y}, "another labels"),
        ({"oracle": Pool(H)}, "another oracle"),
        ({"master": CvxpyMaster}, "another master"),
        ({"formulation": formulations.lpboost(0.1), "labels": -y}, "another formulation and labels"),
        ({"master": stabilised(HighsMaster, InOut(0.5))}, "another stabilisation"),
        ({"master": stabilised(CvxpyMaster, InOut(0.5))}, "another master and stabilisation"),
        ({"start": [Constant(1)]}, "another start"),
        ({"oracle": Stumps(X + 1e-12, columns_per_round=2)}, "another sample or oracle"),
        ({"oracle": Stumps(X[:, ::-1], columns_per_round=2)}, "another sample or oracle"),
        ({"oracle": Stumps(X, columns_per_round=1)}, "another sample or oracle"),
    ],
)
def test_files_of_other_runs_are_refused(file, other, what):
    path, call = file
    before = path.read_bytes()
    with pytest.raises(DataFileError, match=f"^checkpoint: found the file of a run with {what}"):
        call(**other)
    assert path.read_bytes() == before


OWN = Formulation(lambda z: 0.5 * cp.sum(cp.pos(1 - z)), lambda w: 0.8 * cp.norm1(w))


@pytest.mark.parametrize(
    "other",
    [
        Formulation(lambda z: 0.6 * cp.sum(cp.pos(1 - z)), OWN.penalty),
        # the first multipliers, at w = 0, do not depend on it
        Formulation(OWN.loss, lambda w: 0.7 * cp.norm1(w)),
        Formulation(OWN.loss, OWN.penalty, constraints=lambda z: [z[0] <= 0.9]),
    ],
    ids=["loss", "penalty", "constraints"],
)
def test_expressions_are_told_apart_by_what_they_are(tmp_path, other):
    """Every lambda has the same name, so a finished run would have been returned for another formulation."""

    def run(formulation):
        return column_generation(formulation, Stumps(X), y, checkpoint=Checkpoint(tmp_path / "run"), max_rounds=3)

    whole = run(OWN)
    with pytest.raises(DataFileError, match=r"^checkpoint: found the file of a run with another formulation; give"):
        run(other)
    again = Formulation(lambda z: 0.5 * cp.sum(cp.pos(1 - z)), lambda w: 0.8 * cp.norm1(w))
    assert run(again).certificate.primal == whole.certificate.primal


@pytest.mark.parametrize("other", [InOut(0.5), Averaged(0.3), None])
def test_a_run_with_another_rule_of_stabilisation_is_refused(tmp_path, other):
    def run(rule, **limits):
        master = HighsMaster if rule is None else stabilised(HighsMaster, rule)
        oracle, kept = Stumps(X, columns_per_round=2), Checkpoint(tmp_path / "run")
        return column_generation(SOFT, oracle, y, master=master, checkpoint=kept, **limits)

    run(InOut(0.3), max_columns=4)
    with pytest.raises(DataFileError, match=r"^checkpoint: found the file of a run with another stabilisation; give"):
        run(other)
    whole = column_generation(SOFT, Stumps(X, columns_per_round=2), y, master=stabilised(HighsMaster, InOut(0.3)))
    assert identical(run(InOut(0.3)), whole)


def test_a_master_that_takes_another_way_is_told_of(file):
    _, call = file

    def master(formulation, signs):
        made = HighsMaster(formulation, signs)
        solve = made.solve
        made.solve = lambda: replace(solution := solve(), s=solution.s + (made.restricted.n_columns > 0) * 1e-15)
        return made

    with pytest.raises(DataFileError, match="run with other multipliers from answer 2 on"):
        call(master=master)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


def test_a_file_of_a_later_version_is_refused(file):
    path, call = file
    path.write_bytes(path.read_bytes().replace(b"checkpoint 4 ", b"checkpoint 5 ", 1))
    with pytest.raises(DataFileError, match=r"found version 5 of the format .* this one writes version 4"):
        call()
    assert FILE.version == 4


def test_the_file_has_no_pickle_and_names_no_code(file):
    path, _ = file
    content = path.read_bytes()
    with np.load(io.BytesIO(content[content.index(b"\n") + 1 :]), allow_pickle=False) as archive:
        assert {array.dtype.kind for array in archive.values()} <= set("iuf")
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["run"]


def test_hypotheses_that_no_file_can_hold_are_refused_in_the_first_round(tmp_path):
    calls = count()
    learner = SklearnLearner(DecisionTreeClassifier(max_depth=1), X)
    learn = learner._learn
    learner._learn = lambda s: (next(calls), learn(s))[1]
    message = "^checkpoint: found the hypothesis FittedClassifier, which a file cannot hold: DecisionTreeClassifier is"
    with pytest.raises(InvalidInput, match=message):
        column_generation(SOFT, learner, y, checkpoint=Checkpoint(tmp_path / "run"))
    assert next(calls) == 1
    with pytest.raises(InvalidInput, match="found the hypothesis function"):
        column_generation(SOFT, Pool.of([lambda X: X[:, 0]], X), y, checkpoint=Checkpoint(tmp_path / "run"))

    @dataclass(frozen=True)
    class Local:
        def __call__(self, X):
            return np.ones(len(X))

    with pytest.raises(InvalidInput, match=r"found the hypothesis Local.* is not a dataclass at the top of a loaded"):
        column_generation(SOFT, Pool.of([Local()], X), y, checkpoint=Checkpoint(tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []


def test_a_sample_that_changes_is_refused(tmp_path):
    class Copying(Table):
        def price(self, s, exclude=()):
            priced = super().price(s, exclude)
            return Priced([Column(c.hypothesis, c.sample.copy(), c.edge) for c in priced.columns], priced.edge_bound)

    with pytest.raises(InvalidInput, match="its sample is none of the first round's"):
        column_generation(SOFT, Copying(H, 1), y, checkpoint=Checkpoint(tmp_path / "run"))


def test_where_it_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match=r"^path: found no folder for it at"):
        Checkpoint(tmp_path / "none" / "run")
    with pytest.raises(InvalidInput, match=r"^path: found a folder at"):
        Checkpoint(tmp_path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataFileError, match=r"cannot be written .*No space left.*; make room"):
        column_generation(SOFT, Stumps(X), y, checkpoint=Checkpoint(tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [None, 1, []])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InvalidInput, match=r"^path: found .*; give the path of a file"):
        Checkpoint(path)


@pytest.mark.parametrize(
    "options", [{"every_rounds": 0}, {"every_rounds": 2.5}, {"every_seconds": 0.0}, {"every_seconds": np.nan}]
)
def test_periods_that_are_none(tmp_path, options):
    with pytest.raises(InvalidInput, match=f"^{next(iter(options))}: found"):
        Checkpoint(tmp_path / "run", **options)


@pytest.mark.parametrize(("rounds", "written"), [(1, 12), (3, 5), (None, 2)])
def test_it_is_written_after_the_first_round_when_due_and_at_the_end(tmp_path, monkeypatch, rounds, written):
    times = []
    monkeypatch.setattr(os, "replace", lambda *paths: (times.append(paths), REPLACE(*paths))[1])
    kept = Checkpoint(tmp_path / "run", every_rounds=rounds, every_seconds=inf)
    run = column_generation(SOFT, Stumps(X, columns_per_round=1), y, max_columns=11, checkpoint=kept)
    assert len(run.history) == 12
    assert len(times) == written
    assert kept.due(0, inf)


def test_digests_tell_contents_apart():
    parts = [1, 1.0, True, "1", None, (1,), ((1,),), np.array(1), np.array([1]), np.array([1.0]), csc_array([[1.0]])]
    parts += [csc_array([[0.0, 1.0]]), Feature("1"), SOFT, formulations.soft_margin(2.0), np.cos, np.sin, object()]
    assert len({digest(part) for part in parts}) == len(parts)
    assert digest(formulations.soft_margin(1.0)) == digest(SOFT)


def test_a_path_is_a_checkpoint_and_anything_else_is_named(tmp_path):
    X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    file = str(tmp_path / "run")
    column_generation(formulations.soft_margin(C=2.0), Stumps(X), y, checkpoint=file)
    again = column_generation(formulations.soft_margin(C=2.0), Stumps(X), y, checkpoint=Checkpoint(file))
    assert again.certificate.primal == 3.0
    for name in ("checkpoint", "callback", "master"):
        with pytest.raises(InvalidInput, match=f"^{name}: "):
            column_generation(formulations.soft_margin(C=2.0), Stumps(X), y, **{name: 3})
