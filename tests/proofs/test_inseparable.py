"""Exact proofs that no vote has margins above 0: against the largest margin by enumeration, and against forgers."""

import pickle
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from proof_mutations import INSEPARABLE, largest_margin

from cvxens.colgen import Formulation, column_generation, oracles
from cvxens.errors import InvalidInput, NotSeparable, SolverFailed
from cvxens.limits import TimeUp, limit_time
from cvxens.problems import HardMarginBoosting, formulations
from cvxens.problems.losses import HardMargin
from cvxens.problems.penalties import L1
from cvxens.proofs import prove_inseparable

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1.0, 1.0, 1.0, -1.0])
TWINS = np.array([[1.0, 2.0], [3.0, 0.5], [1.0, 2.0]]), np.array([1.0, 1.0, -1.0])


def multipliers(proof):
    numerators, denominator = proof.multipliers
    return [Fraction(v, denominator) for v in numerators]


@pytest.mark.parametrize(("sample", "u"), [(XOR, [1, 1, 1, 1]), (TWINS, [1, 0, 1])], ids=["XOR", "twins"])
def test_an_error_that_classes_are_not_separable_proves_it(sample, u):
    X, y = sample
    with pytest.raises(NotSeparable) as raised:
        column_generation(formulations.hard_margin(), oracles.Stumps(X), y)
    proof = raised.value.exact()
    assert multipliers(proof) == [Fraction(v, sum(u)) for v in u]
    assert proof.claim.endswith("no weighted vote has a margin above 0 on every sample.")
    with pytest.raises(InvalidInput, match="no values"):
        _ = proof.objective


@given(st.data(), st.sampled_from(sorted(INSEPARABLE)))
def test_there_is_a_proof_exactly_where_no_margin_is_above_0(data, name):
    formulation, over = INSEPARABLE[name]
    n = data.draw(st.integers(2, 9))
    X = data.draw(arrays(float, (n, 2), elements=st.integers(-2, 2).map(float)))
    y = np.where(data.draw(arrays(bool, n)), 1.0, -1.0)
    if "pool" in over:
        H = X
    else:
        H = [np.where(x >= v, 1.0, -1.0) for x in X.T for v in np.unique(x)[1:]]
        H = np.column_stack([*H, np.ones(n)] if "constant" in over else [*H, np.zeros(n)])
    margin = largest_margin({"hypotheses": over, "intercept": formulation.intercept}, H, y)
    # an intercept alone, within its limits, or small integers: margins are 0 or well above it
    assume(not 1e-9 < margin < 1e-6)
    try:
        proof = prove_inseparable(formulation, X, y, over=over)
    except InvalidInput:
        assert margin > 1e-9
    else:
        assert margin <= 1e-9
        assert sum(multipliers(proof)) == 1


@pytest.mark.parametrize("negations", [True, False])
def test_pools_of_any_doubles_are_proven(negations):
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=(60, 4)) * [1, 1e-6, 1e6, 3], np.where(np.arange(60) % 2, 1.0, -1.0)
    formulation = Formulation(HardMargin(), L1(), nonnegative=True)
    with pytest.raises(NotSeparable) as raised:
        column_generation(formulation, oracles.Pool(H, negations=negations), y)
    u = multipliers(raised.value.exact())
    edges = [sum(v * Fraction(h) * int(s) for v, h, s in zip(u, column, y, strict=True)) for column in H.T.tolist()]
    assert max(edges) <= 0
    assert not negations or min(edges) == 0
    # a vertex: no more multipliers than equations
    assert sum(v > 0 for v in u) <= 5


def test_separable_samples_and_other_losses_are_refused():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    with pytest.raises(InvalidInput, match="can be separated"):
        prove_inseparable(formulations.hard_margin(), X, y)
    with pytest.raises(InvalidInput, match="hinge"):
        prove_inseparable(formulations.soft_margin(1.0), *XOR)
    X, y = np.random.default_rng(0).normal(size=(3000, 100)), np.tile([1.0, -1.0], 1500)
    with limit_time(0.03), pytest.raises(TimeUp):
        prove_inseparable(formulations.hard_margin(), X, y, over="pool")


def test_an_error_of_another_process_or_set_has_no_proof():
    with pytest.raises(NotSeparable) as raised:
        column_generation(formulations.hard_margin(), oracles.Stumps(XOR[0]), XOR[1])
    with pytest.raises(InvalidInput, match="no exact proof"):
        pickle.loads(pickle.dumps(raised.value)).exact()


MIXED_UNITS = [
    ([[-1e-29, 3e-40, 5.0], [-6e-30, 1.4e-39, 14.0]], [-1.0, 1.0]),
    ([[1.6e-23, -1720.0], [4e-24, -23930.0], [2e-24, -6830.0], [-4e-24, -2930.0]], [1.0, -1.0, 1.0, -1.0]),
    ([[1.0, 1e12 + 2], [1.0, 1e12]], [1.0, -1.0]),
]


@pytest.mark.parametrize(("H", "y"), MIXED_UNITS)
def test_an_edge_in_other_units_is_not_taken_for_rounding(H, y):
    H, y = np.array(H), np.array(y)
    formulation = Formulation(HardMargin(), L1(), nonnegative=True)
    # a claim that the classes are not separable would be raised
    certificate = column_generation(formulation, oracles.Pool(H, negations=True), y, max_time=5).certificate
    assert not certificate.holds(1e-6) or certificate.primal > 1e3
    with suppress(SolverFailed):
        problem = HardMarginBoosting(np.hstack([H, -H]), y)
        assert problem.certify(problem.solve()).primal > 1e3
