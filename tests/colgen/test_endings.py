"""Runs without a bound end by themselves, and say why; what counts as prices that add up to 1."""

from dataclasses import replace
from functools import partial
from math import inf, nextafter

import numpy as np
import pytest
from brute_force import Table, noisy
from hypothesis import given
from hypothesis import strategies as st

from cvxens.colgen import Checkpoint, Ending, Round, column_generation, formulations
from cvxens.colgen.loop import PATIENCE, UNBOUNDED_ROUNDS, RunLimits
from cvxens.colgen.masters import HighsMaster
from cvxens.colgen.oracles import Fourier, Perceptrons, Stumps, Trees
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.problems import LPBoost
from cvxens.problems.losses import SoftMinimumMargin

X, y = noisy(40, 3, seed=2)
ORACLES = {
    "perceptrons": partial(Perceptrons, X, n_directions=20, columns_per_round=2),
    "fourier": partial(Fourier, X, pool=20, columns_per_round=2),
    "trees": partial(Trees, X, max_depth=2),
}


def rows(*objectives):
    return [Round(value, -inf, inf, k, 0.0) for k, value in enumerate(objectives)]


def seeded(name):
    return ORACLES[name](random_state=0) if name != "trees" else ORACLES[name]()


@pytest.mark.thinned(1, name=ORACLES)
@pytest.mark.parametrize(
    "formulation", [formulations.svm(1.0), formulations.soft_margin(0.3), formulations.lpboost(0.1)], ids=str
)
def test_a_run_without_a_bound_ends_by_itself(name, formulation):
    run = column_generation(formulation, seeded(name), y, tol=1e-2)
    assert run.ending in {Ending.STALLED, Ending.EXHAUSTED, Ending.MAX_ROUNDS}
    assert len(run.history) <= UNBOUNDED_ROUNDS
    assert not run.certificate.proven
    assert run.certificate.note.startswith("the oracle cannot bound the edges")
    assert ("has stopped improving" in run.certificate.note) == (run.ending is Ending.STALLED)


def test_it_stalls_in_the_first_round_that_makes_it_so():
    for formulation in (formulations.soft_margin(0.3), formulations.lpboost(0.1)):
        run = column_generation(formulation, seeded("perceptrons"), y, tol=0.05, patience=4)
        assert run.ending is Ending.STALLED
        best = np.minimum.accumulate([formulation.sense * row.objective for row in run.history])
        stalled = [k > 4 and best[k - 5] - best[k - 1] <= 0.05 * abs(best[k - 1]) for k in range(1, len(best) + 1)]
        assert stalled.index(True) == len(best) - 1


def test_limits_without_a_bound():
    reached = partial(RunLimits(0.1, patience=3).reached, bounded=False)
    assert reached(rows(9.0, 1.0, 1.0, 1.0)) is None
    assert reached(rows(9.0, 1.0, 1.0, 1.0, 1.0)) is Ending.STALLED
    assert reached(rows(9.0, 1.2, 1.1, 1.1, 1.1)) is Ending.STALLED
    assert reached(rows(9.0, 1.2, 1.1, 1.1, 1.0)) is None
    assert reached(rows(9.0, 1.0, 1.5, 1.4, 1.3)) is Ending.STALLED
    assert reached(rows(9.0, 1.0, 1.0, 1.0, 1.0), bounded=True) is None
    assert reached(rows(inf, inf, inf, inf, inf)) is None
    assert reached(rows(inf, inf, inf, inf, 1.0)) is None
    assert reached(rows(0.0, 1.0, 1.0, 1.0, 1.0), sense=-1.0) is Ending.STALLED
    assert reached(rows(0.0, 1.0, 1.0, 1.0, 1.2), sense=-1.0) is None
    assert reached(rows(0.0, 0.0, 0.0, 0.0, 0.0)) is Ending.STALLED
    # the gain counts relative to the objective
    assert reached(rows(9e3, 1.05e3, 1e3, 1e3, 1e3)) is Ending.STALLED
    assert reached(rows(9e-3, 1.2e-3, 1e-3, 1e-3, 1e-3)) is None


def test_the_number_of_rounds_is_limited_where_nothing_else_ends_a_run():
    falling = rows(*(2.0**-k for k in range(UNBOUNDED_ROUNDS)))
    open_ended, few, more, many, one = (
        partial(RunLimits(1e-6, **options).reached, bounded=False)
        for options in (
            {},
            {"max_rounds": 3},
            {"max_rounds": 9 * UNBOUNDED_ROUNDS},
            {"max_columns": UNBOUNDED_ROUNDS + 1},
            {"max_columns": 1},
        )
    )
    assert open_ended(falling) is Ending.MAX_ROUNDS
    assert open_ended(falling[1:]) is None
    assert RunLimits(1e-6).reached([Round(1.0, 0.5, 0.5, 9, 0.0)] * 3 * UNBOUNDED_ROUNDS) is None
    assert few(falling[:3]) is RunLimits(1e-6, max_rounds=3).reached(rows(3.0, 2.0, 1.0)) is Ending.MAX_ROUNDS
    assert few(falling[:2]) is None
    assert more(falling) is None
    # whoever asks for more columns than that has the rounds for them, and for fewer no fewer rounds
    assert many(falling) is None
    without_columns = [replace(row, size=0) for row in falling]
    assert one(without_columns[1:]) is None
    assert one(without_columns) is Ending.MAX_ROUNDS
    run = column_generation(formulations.svm(1.0), Stumps(X, columns_per_round=1), y, tol=1e-9, max_rounds=2)
    assert (run.ending, len(run.history)) == (Ending.MAX_ROUNDS, 2)
    assert PATIENCE < UNBOUNDED_ROUNDS


def test_the_gap_that_ends_a_run_contains_the_rounding():
    def ending(bound, rounding):
        """Of a run whose first bound is given, over a hypothesis of margin 1: the objective is 1."""
        rounded.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Restricted, "rounding", lambda *_: rounded.append(1) or rounding)
            master = partial(Bounded, at=bound)
            table = Table(np.array([[1.0], [-1.0]]), 1)
            return column_generation(SEPARABLE, table, [1.0, -1.0], tol=1e-3, master=master).ending

    rounded = []
    assert ending(0.9999, 1e-4) is Ending.OPTIMAL
    assert ending(0.9999, 1e-2) is Ending.EXHAUSTED
    assert ending(1.0001, 2e-4) is Ending.OPTIMAL
    assert ending(1.0001, 0.0) is Ending.VIOLATED
    assert ending(5.0, 0.0) is Ending.VIOLATED
    assert rounded
    assert ending(0.5, 0.0) is Ending.EXHAUSTED
    assert len(rounded) == 1, "of the certificate alone"


SEPARABLE = formulations.soft_margin(2.0)


class Bounded(HighsMaster):
    """A master whose bound is given, once it has a column."""

    def __init__(self, *problem, at):
        super().__init__(*problem)
        self.at = at

    def bound(self, solution, priced):
        return self.at if len(solution.w) else -inf


@pytest.mark.parametrize("name", ["perceptrons", "trees"])
def test_a_run_that_stalled_is_returned_from_its_file_and_goes_on_under_other_limits(tmp_path, name):
    formulation, kept = formulations.soft_margin(0.3), Checkpoint(tmp_path / "run")
    limits = {"tol": 0.05, "patience": 3, "checkpoint": kept}
    first, again = (column_generation(formulation, seeded(name), y, **limits) for _ in range(2))
    assert first.ending is again.ending
    assert [row.objective for row in first.history] == [row.objective for row in again.history]
    assert again.certificate.primal == pytest.approx(first.certificate.primal, rel=1e-12)
    further = column_generation(formulation, seeded(name), y, tol=1e-9, patience=9, max_rounds=30, checkpoint=kept)
    assert len(further.history) > len(first.history)
    assert further.certificate.primal <= first.certificate.primal


def test_a_finished_run_is_asked_for_its_rounding_under_a_larger_tolerance(tmp_path):
    kept, formulation = Checkpoint(tmp_path / "run"), formulations.svm(1.0)
    part = column_generation(formulation, Stumps(X), y, tol=1e-9, max_rounds=8, checkpoint=kept)
    tol = 1.5 * part.certificate.relative_gap
    run = column_generation(formulation, Stumps(X), y, tol=tol, checkpoint=kept)
    assert run.ending is Ending.OPTIMAL
    assert run.certificate.holds(tol)
    assert run.history[-1].relative_gap == pytest.approx(run.certificate.relative_gap)
    assert run.history[-1].relative_gap > part.history[-1].relative_gap


@given(st.integers(2, 5000), st.integers(0, 2**32 - 1))
def test_prices_add_up_to_1_but_for_their_own_rounding(n, seed):
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    u = np.full(n, 1 / n)
    weights = np.random.default_rng(seed).random(n) + 0.01
    for enough in (1 / n, 1 / (1.0 * n), nextafter(1 / n, 1)):
        LPBoost(labels[:, None], labels, enough)
        SoftMinimumMargin(enough).repair(u, None)
    for D in (weights / weights.sum(), weights / sum(weights.tolist())):
        formulations.lpboost(D)
        formulations.erlpboost(D, 5.0)
        SoftMinimumMargin(D).repair(u, None)
    for share in (1 - 1e-13, 1 - 9e-13, 0.5):
        with pytest.raises(InvalidInput, match=r"^D: found"):
            LPBoost(labels[:, None], labels, share / n)
        with pytest.raises(InvalidInput, match=r"^D: found"):
            SoftMinimumMargin(share / n).repair(u, None)
        for make in (formulations.lpboost, partial(formulations.erlpboost, eta=5.0)):
            with pytest.raises(InvalidInput, match=r"^D: found prices that add up to"):
                make(share * weights / weights.sum())
    problem = LPBoost(labels[:, None], labels, 1 / n)
    with pytest.raises(InvalidInput, match=r"^D: found"):
        problem.D = (1 - 9e-13) / n


def test_prices_count_by_their_sum_not_by_their_number():
    """Two samples of price 0.5 and a hundred of price 1e-9: the mean is small, the sum is not."""
    D = np.r_[0.5, 0.5, np.full(100, 1e-9)]
    formulations.lpboost(D)
    with pytest.raises(InvalidInput, match=r"^D: found prices that add up to"):
        formulations.lpboost(D / 1.01)
    labels = np.where(np.arange(40) % 2, 1.0, -1.0)
    with pytest.raises(InvalidInput, match=r"^D: found"):
        column_generation(formulations.lpboost((1 - 9e-13) / 40), Stumps(X), labels)
