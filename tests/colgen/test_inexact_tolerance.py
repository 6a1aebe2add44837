"""Masters of squared penalties are solved as far as the columns found warrant, and to the end where asked again."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from brute_force import PlainTable, Table, all_stumps, noisy
from hypothesis import given
from hypothesis import strategies as st

from cvxens.colgen import Checkpoint, Formulation, MasterSolution, Priced, column_generation, formulations
from cvxens.colgen.masters import NewtonMaster
from cvxens.colgen.restricted import COARSE, FINE, SHARE, InexactTolerance
from cvxens.problems.losses import Logistic, SquaredHinge
from cvxens.problems.penalties import SquaredL2

X, y = noisy(60, 3, seed=1)
H = all_stumps(X)
MASTERS = {
    "hinge": (formulations.svm(0.3), NewtonMaster),
    "logistic": (Formulation(Logistic(0.5), SquaredL2(), intercept=True), NewtonMaster),
    "squared hinge": (Formulation(SquaredHinge(0.2), SquaredL2(0.5)), NewtonMaster),
}
ORACLES = {
    "told": lambda: Table(H, 5),
    "deaf": lambda: PlainTable(H, 5),
    "without bounds": lambda: PlainTable(H, 5, bounded=False),
}


def solution(objective):
    none = np.zeros(0)
    return MasterSolution(none, none, none, none, objective, 0.0)


class Found:
    def __init__(self, edge):
        self.edge = edge


def test_what_columns_can_gain_is_half_their_squared_edges():
    tolerance = InexactTolerance(SquaredL2(2.0), 1e-9, 0.1)
    assert (tolerance.next(3), tolerance.is_exact) == (1e-9, True)
    tolerance.learn(solution(1000.0), Priced([Found(2.0), Found(4.0)]))
    assert tolerance.gap == pytest.approx((4 + 16) / 4 / 1000)
    assert tolerance.next(5) == pytest.approx(0.0005)
    assert not tolerance.is_exact
    tolerance.learn(solution(1000.0), Priced([Found(2.0)]))
    assert tolerance.gap == pytest.approx(0.0005 + 4 / 4 / 1000)


def test_columns_that_nobody_has_priced_are_weighed_finely_and_none_is_ever_coarse():
    tolerance = InexactTolerance(SquaredL2(), 1e-9, 0.5)
    tolerance.learn(solution(1.0), Priced([Found(1.0), Found(1.0)]))
    assert tolerance.next(2) == COARSE
    tolerance.learn(solution(1.0), Priced([Found(1.0), Found(1.0)]))
    assert tolerance.next(5) == FINE
    assert tolerance.next(5) == pytest.approx(FINE**2)


@given(st.floats(0, 100), st.floats(0, 0.9))
def test_asked_again_with_nothing_new_it_comes_to_be_exact(edge, share):
    tolerance = InexactTolerance(SquaredL2(), 1e-9, share)
    tolerance.learn(solution(1.0), Priced([Found(edge)]))
    allowed = [tolerance.next(1)]
    while not tolerance.is_exact:
        tolerance.learn(solution(1.0), Priced([Found(edge)]))
        allowed.append(tolerance.next(1))
    assert allowed[-1] == 1e-9
    assert all(later < earlier for earlier, later in pairwise(allowed))


@pytest.mark.product(name=MASTERS, oracle=ORACLES)
def test_runs_end_at_the_optimum_of_exact_masters_and_never_rise(name, oracle):
    formulation, master = MASTERS[name]
    loose, exact = (
        column_generation(formulation, ORACLES[oracle](), y, tol=1e-8, master=partial(master, share=share))
        for share in (SHARE, 0.0)
    )
    assert loose.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-7)
    assert loose.ending is exact.ending
    objectives = [row.objective for row in loose.history]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(objectives))


@pytest.mark.parametrize("name", MASTERS)
def test_a_run_goes_the_same_way_to_any_tolerance_and_can_be_resumed_to_a_finer_one(tmp_path, name):
    formulation, _ = MASTERS[name]
    kept = Checkpoint(tmp_path / "run")
    for tol in (1e-1, 1e-3, 1e-6):
        part = column_generation(formulation, Table(H, 5), y, tol=tol, checkpoint=kept)
        assert part.certificate.relative_gap <= tol
    whole, loose = (column_generation(formulation, Table(H, 5), y, tol=tol) for tol in (1e-6, 1e-3))
    assert [row.objective for row in loose.history] == [row.objective for row in whole.history[: len(loose.history)]]
    assert part.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-6)
