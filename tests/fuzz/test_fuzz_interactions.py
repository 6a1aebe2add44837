"""Trees and rules: a part of the random cases, and that a wrong answer would be found."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from interactions import KINDS, check, check_pricing, draw, list_boxes, list_rules, list_tests, list_trees

from cvxens.colgen import Formulation, column_generation, formulations
from cvxens.colgen.oracles import Boxes, DepthTwoTrees, PairRules
from cvxens.errors import InvalidInput
from cvxens.problems import SLSSVM, SVMPrimal, simplex_codes
from cvxens.problems.losses import SquaredError
from cvxens.problems.penalties import RowNorms

PLACES, EACH = 4, 15


@pytest.mark.parametrize("place", range(PLACES))
def test_answers_are_those_of_the_whole_list(place):
    assert [text for number in range(place, PLACES * EACH, PLACES) for text in check(number)] == []


def test_all_kinds_are_drawn_the_same_again():
    cases = [draw(number) for number in range(100, 112)]
    texts = " ".join(case.text for case in cases)
    assert all(kind in texts for kind, *_ in KINDS)
    again = [draw(number) for number in range(100, 112)]
    assert all(np.array_equal(one.H, other.H) for one, other in zip(cases, again, strict=True))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"edge_bound": 0.9}, "a bound below the edge"),
        ({"outside_bound": 1.1}, "bound outside"),
        ({"edge_square_sum": 0.9}, "sum of squares"),
    ],
)
def test_lies_are_found(monkeypatch, changed, told):
    case = draw(4)
    answer = case.oracle.price

    def lie(s, exclude=()):
        priced = answer(s, exclude)
        return replace(priced, **{name: factor * getattr(priced, name) for name, factor in changed.items()})

    monkeypatch.setattr(case.oracle, "price", lie)
    assert told in " ".join(check_pricing(case, 4))


@pytest.mark.parametrize(
    ("make", "n_bins", "enumerate_all"), [(DepthTwoTrees, 2, list_trees), (PairRules, 3, list_rules)]
)
def test_penalties_on_squares_reach_the_optimum_over_all_as_they_are_written(make, n_bins, enumerate_all):
    random = np.random.default_rng(1)
    X = random.integers(0, 3, (30, 2)).astype(float)
    y = np.where(X[:, 0] * X[:, 1] + random.normal(size=30) > 1, 1.0, -1.0)
    oracle = make(X, n_bins=n_bins)
    listed = list(enumerate_all(list_tests(X, oracle), {(0, 1), (1, 0)}))
    H = np.array([[*(value(row) for _, value in listed), 1.0] for row in X.tolist()])
    assert oracle.n_hypotheses == H.shape[1]
    run = column_generation(formulations.svm(0.3), oracle, y, tol=1e-7)
    assert run.certificate.holds(1e-7)
    assert run.certificate.primal == pytest.approx(SVMPrimal(H, y, 0.3).solve().objective, rel=1e-6)
    codes = simplex_codes(3)[np.digitize(X[:, 0], [0.5, 1.5])]
    several = column_generation(formulations.simplex_least_squares(codes, 0.5), oracle, tol=1e-7)
    assert several.certificate.primal == pytest.approx(SLSSVM(H, codes, 0.5).solve().objective, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "enumerate_all"), [(DepthTwoTrees, list_trees), (Boxes, list_boxes), (PairRules, list_rules)]
)
def test_penalties_on_rows_of_weights_reach_the_optimum_over_all(make, enumerate_all):
    random = np.random.default_rng(2)
    X = random.integers(0, 3, (30, 2)).astype(float)
    L = np.column_stack([X[:, 0] * X[:, 1], X[:, 0] - X[:, 1]]) + random.normal(size=(30, 2))
    oracle = make(X, n_bins=3)
    listed = list(enumerate_all(list_tests(X, oracle), {(0, 1), (1, 0)}))
    H = np.array([[*(value(row) for _, value in listed), 1.0] for row in X.tolist()])
    W = cp.Variable((H.shape[1], 2))
    optimum = cp.Minimize(0.25 * cp.sum_squares(L - H @ W) + 2.0 * cp.sum(cp.norm(W, 2, axis=1)))
    truth = cp.Problem(optimum).solve(solver="CLARABEL")
    run = column_generation(Formulation(SquaredError(0.5, L), RowNorms(2.0), outputs=2), oracle, tol=1e-7)
    assert run.certificate.holds(1e-7)
    assert run.certificate.primal == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("make", [make for _, make, _ in KINDS])
@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite_are_refused_but_for_gaps(make, wrong):
    X, s = np.arange(12.0).reshape(6, 2), np.ones(6)
    with pytest.raises(InvalidInput, match="s: found"):
        make(X).price(np.where(np.arange(6) == 2, wrong, s))
    X[3:, 1] = wrong
    if np.isnan(wrong):
        assert make(X).price(X[:, 0] - 3.0).edge_bound < np.inf
        X[:, 1], X[:, 0] = np.nan, 1.0
    with pytest.raises(InvalidInput, match="X: found"):
        make(X)
