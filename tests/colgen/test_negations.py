"""Free weights over an oracle whose set is not closed under negation: both signs of the edges are priced."""

from dataclasses import dataclass

import numpy as np
import pytest
from brute_force import Tabulated, all_stumps, assert_optimum, assert_over_all, noisy, solve_all
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.colgen import Checkpoint, Column, Ending, Formulation, Priced, column_generation, iterate, oracles
from cvxens.colgen.masters import CvxpyMaster, fastest_master
from cvxens.colgen.protocols import BothSigns, with_signs
from cvxens.problems.losses import Hinge, Logistic, SquaredError
from cvxens.problems.penalties import L1, ElasticNet, RowNorms, SquaredL2


@dataclass(eq=False)
class OneSided:
    """The columns of H alone, without their negations, which it does not declare."""

    H: np.ndarray
    count: int = 3

    @property
    def sample(self):
        return self.H

    def price(self, s, exclude=()):
        closed = {h.index for h in exclude}
        edges = self.H.T @ s.reshape(len(s), -1)
        best = edges.max(axis=1)
        order = [int(j) for j in np.argsort(-best, kind="stable") if j not in closed][: self.count]
        columns = [Column(Tabulated(j, 1.0), self.H, float(best[j])) for j in order]
        return Priced(columns, float(best.max()), float((edges**2).sum()), columns[0].edge if columns else 0.0)


@dataclass(eq=False)
class Undeclared(OneSided):
    """Both signs, but it does not declare them."""

    def price(self, s, exclude=()):
        signs = np.where(self.H.T @ s >= 0, 1.0, -1.0)
        answer = OneSided(signs * self.H, self.count).price(s, exclude)
        found = ((c.hypothesis.index, c.edge) for c in answer.columns)
        columns = [Column(Tabulated(j, signs[j]), self.H, edge) for j, edge in found]
        return Priced(columns, answer.edge_bound, answer.edge_square_sum, answer.outside_bound)


def test_the_smallest_set_whose_hypotheses_all_point_the_wrong_way():
    """One hypothesis h = -y: w = -1 is the optimum, which its positive edges never show."""
    y = np.array([1.0, -1.0, 1.0, -1.0])
    oracle = OneSided(-y[:, None])
    run = assert_optimum(column_generation(Formulation(Hinge(5.0), L1()), oracle, y), 1.0)
    np.testing.assert_allclose(run.weights, [-1.0])
    assert_optimum(column_generation(Formulation(Hinge(5.0), L1(), nonnegative=True), oracle, y), 20.0)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("penalty", [L1(), SquaredL2(), ElasticNet(0.5, 0.5)], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("loss", [Hinge(0.7), Logistic(0.7)], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("oracle", [OneSided, Undeclared])
@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
def test_free_weights_reach_the_optimum_over_all_columns(seed, oracle, loss, penalty):
    X, y = noisy(20, 2, seed)
    H = all_stumps(X)
    run = assert_over_all(Formulation(loss, penalty, intercept=True), oracle(H), y, H=H, rel=2e-6, gap=2e-6)
    assert run.ending is Ending.OPTIMAL


def test_weights_of_one_sign_are_priced_once():
    X, y = noisy(20, 2, 3)
    H = all_stumps(X)
    run = assert_over_all(Formulation(Hinge(0.7), L1(), nonnegative=True, intercept=True), OneSided(H), y, H=H)
    assert all(column.hypothesis.sign == 1.0 for column in run.columns)


def test_what_an_oracle_declares_is_believed():
    X, _ = noisy()
    stumps = oracles.Stumps(X)
    assert with_signs(stumps) is stumps
    table = OneSided(X)
    assert isinstance(with_signs(table), BothSigns)
    assert with_signs(with_signs(table)).oracle is table


@given(seed=st.integers(0, 10**6), outputs=st.integers(1, 3))
def test_the_bounds_are_those_of_both_signs_and_no_hypothesis_comes_twice(seed, outputs):
    rng = np.random.default_rng(seed)
    H, s = rng.normal(size=(9, 6)), rng.normal(size=(9, outputs))
    for oracle in (OneSided(H, 6), Undeclared(H, 6)) if outputs == 1 else (OneSided(H, 6),):
        priced = with_signs(oracle).price(s[:, 0] if outputs == 1 else s)
        sizes = np.abs(H.T @ s).max(axis=1)
        assert priced.edge_bound == pytest.approx(sizes.max())
        assert priced.edge_square_sum == pytest.approx(((H.T @ s) ** 2).sum())
        assert [c.edge for c in priced.columns] == sorted((c.edge for c in priced.columns), reverse=True)
        assert priced.columns[0].edge == pytest.approx(sizes.max())
        if outputs == 1:
            assert len({c.hypothesis.index for c in priced.columns}) == len(priced.columns) == 6


def test_a_checkpoint_of_both_signs_resumes(tmp_path):
    X, y = noisy(20, 2, 5)
    formulation, H = Formulation(Hinge(0.7), L1(), intercept=True), all_stumps(X)
    whole = column_generation(formulation, OneSided(H, 1), y)
    kept = Checkpoint(tmp_path / "run", every_rounds=1)
    for rounds in (2, 4, None):
        run = column_generation(formulation, OneSided(H, 1), y, max_rounds=rounds, checkpoint=kept)
    assert_optimum(run, whole.certificate.primal, rel=1e-9)


def test_the_loop_by_itself_prices_both_signs():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    formulation = Formulation(Hinge(5.0), L1())
    for make in (fastest_master, CvxpyMaster):
        *_, last = iterate(make(formulation, y), OneSided(-y[:, None]))
        assert last.incumbent.solution.objective == pytest.approx(1.0)


@pytest.mark.thinned(1)
@pytest.mark.parametrize("penalty", [L1(0.8), SquaredL2(1.5), RowNorms(1.2), RowNorms(1.5, np.inf)], ids=str)
@pytest.mark.parametrize("columns_per_round", [1, None])
def test_with_several_outputs_a_hypothesis_and_its_negation_may_both_have_weights(penalty, columns_per_round):
    """With w >= 0, h improves one output and -h another; an oracle returns the one with the larger edge alone."""
    X, _ = noisy(14)
    T = np.random.default_rng(3).normal(size=(14, 3)).round(1)
    formulation = Formulation(SquaredError(1.0, T), penalty, nonnegative=True, outputs=3)
    assert_over_all(formulation, oracles.Stumps(X, columns_per_round=columns_per_round), tol=1e-7)


@pytest.mark.product(penalty=[SquaredL2(1.5), L1(0.8), RowNorms(1.2)], seed=[2, 9])
def test_columns_that_stay_open_hide_no_others(penalty, seed):
    """Rising stumps, w >= 0, three outputs: a stump with edges of both signs is answered again and again."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 5, (9, 2)).astype(float)
    X[0] = 6.0
    H, T = all_stumps(X)[:, :-1], random.normal(size=(9, 3))
    optimum = solve_all(H, 1.0, SquaredError(1.0, T), penalty, nonnegative=True, outputs=(3,))
    formulation = Formulation(SquaredError(1.0, T), penalty, nonnegative=True, outputs=3)
    run = column_generation(formulation, oracles.Stumps(X, signs=[1, 1], constant=False), tol=1e-7)
    assert run.certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert run.certificate.dual <= optimum * (1 + 1e-7)


@pytest.mark.parametrize("signs", [[0, 0], [1, 0], [1, -1]])
@given(seed=st.integers(0, 10**6), row_norm=st.sampled_from([1.0, 2.0]))
def test_rows_of_weights_of_one_sign_are_priced_by_their_edges_above_0(signs, seed, row_norm):
    """An oracle ranks by the norm of all edges of a row; with w >= 0 those of h above 0 count, and those of -h."""
    rng = np.random.default_rng(seed)
    X, s = rng.integers(0, 5, (9, 2)).astype(float), rng.normal(size=(9, 3))
    X[0] = 5.0
    every = all_stumps(X)
    at = np.r_[np.repeat([0, 1], [len(np.unique(x)) - 1 for x in X.T]), 2]
    sides = np.array([*signs, 0])[at]
    hypotheses = np.hstack([every[:, sides >= 0], -every[:, sides <= 0]])
    sizes = np.linalg.norm(np.maximum(hypotheses.T @ s, 0), row_norm, axis=1)
    oracle = with_signs(oracles.Stumps(X, signs=signs), free=False, several=True)
    priced = oracle.price(s, row_norm=row_norm)
    assert sizes.max() <= priced.edge_bound == priced.outside_bound <= sizes.max() * (1 + 1e-12)
    assert priced.columns[0].edge == pytest.approx(sizes.max())
    excluded = [priced.columns[0].hypothesis]
    values = excluded[0](X)
    rest = np.array([not np.array_equal(abs(column @ values), 9.0) for column in hypotheses.T])
    again = oracle.price(s, excluded, row_norm=row_norm)
    assert again.edge_bound == pytest.approx(sizes.max())
    assert again.outside_bound >= sizes[rest].max(initial=0.0)
    assert excluded[0] not in {column.hypothesis for column in again.columns}
