"""The fuzzers: they find nothing in a part of their problems, and would find what is wrong."""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import attacks
import cvxpy as cp
import exact
import formulations
import fuzz
import interactions
import numpy as np
import pytest
from attacks import KINDS, PROBLEMS, Claim, lies
from interactions import list_boxes, list_rules, list_tests, list_trees
from problems200 import FAMILIES

from cvxens import certify
from cvxens.certificates import Certificate
from cvxens.colgen import Formulation, column_generation
from cvxens.colgen import formulations as known
from cvxens.colgen.oracles import Boxes, DepthTwoTrees, PairRules
from cvxens.errors import InvalidInput, NotSeparable
from cvxens.problems import FORMULATIONS, SLSSVM, SVMDual, SVMPrimal, simplex_codes
from cvxens.problems.losses import SquaredError
from cvxens.problems.penalties import RowNorms

PARTS = {
    "attacks": (len(KINDS), 6),
    "solvers": (len(PROBLEMS), 6),
    "formulations": (3, 5),
    "interactions": (2, 12),
    "problems": (3, len(FAMILIES) // 3),
}
"""Places to begin at, and numbers from each; `make fuzz` has 20,000 of all."""

PROVEN = {"attacks": ": proven", "formulations": "OPTIMAL, proven", "problems": ": proven"}
"""What at least a third of the numbers is counted as."""


@pytest.mark.parametrize(("what", "place"), [(what, place) for what in PARTS for place in range(PARTS[what][0])])
def test_nothing_is_wrong(what, place):
    places, each = PARTS[what]
    found, counts = fuzz.fuzz(what, range(place, places * each, places))
    assert found == {}
    told = sum(n for kind, n in counts.items() if kind.endswith(PROVEN.get(what, "")))
    assert told >= each / 3


FOUND = {
    "rows": 1145,
    "squares": 1180,
    "a side of some features": 5324,
    "weights that begin on a simplex": 8005,
    "the same where a constant score is at a limit": 8017,
    "squares of edges below 0": 8090,
    "the same of stumps": 20476,
    "the same over several outputs": 20261,
    "edges below 0 in rows": 8027,
    "the same in a union": 20490,
    "h and -h of some features alone": 20248,
    "a later proof of the same multipliers": 547170,
}


@pytest.mark.parametrize("number", FOUND.values(), ids=FOUND)
def test_what_was_found_is_mended(number):
    assert formulations.check(number) == ("", ["OPTIMAL, proven"])


def test_a_tree_of_one_output_has_its_largest_edge_under_any():
    assert [interactions.check(number)[0] for number in (777152, 777296, 777308, 778008)] == [""] * 4


def test_everything_is_drawn(monkeypatch):
    drawn = []
    for number in range(3 * len(PROBLEMS)):
        for is_mild in (False, True):
            with suppress(InvalidInput):
                kind = PROBLEMS[number % len(PROBLEMS)]
                drawn.append(type(getattr(kind(np.random.default_rng(number), is_mild), "problem", None)))
    assert set(drawn) >= set(FORMULATIONS)
    texts = " ".join(formulations.draw(number).text for number in range(300))
    for word in ("known", "expression", "union", "one-sided", "costs", "signs", "constrained", "outputs", "w >= 0"):
        assert word in texts
    texts = " ".join(interactions.draw(number).text for number in range(100, 112))
    assert all(kind in texts for kind, *_ in interactions.KINDS)


def test_a_number_draws_the_same_again():
    for draw in (
        lambda k: [str(claim.certificate) for claim in attacks.claims(k)],
        lambda k: attacks.soft_margin(np.random.default_rng(k), True).columns.tolist(),
        lambda k: (formulations.draw(k).H.tolist(), formulations.find_truth(formulations.draw(k))),
        lambda k: interactions.draw(k).H.tolist(),
    ):
        assert draw(18) == draw(18)


TRUE = Certificate.between(1.0, 1.0)
ONE = Fraction(1)


def test_the_truth_is_no_lie():
    assert lies(Claim(TRUE, ONE, ONE, point=ONE)) == []
    assert lies(Claim(replace(TRUE, proven=False, primal=0.5), ONE, ONE)) == []
    wide = Certificate.between(1.0, 0.5)
    assert lies(Claim(wide, Fraction(3, 4), Fraction(3, 4), point=ONE)) == []
    # nor is rounding that is said
    for values in ({"primal": 0.9}, {"dual": 1.1}):
        assert lies(Claim(replace(TRUE, **values, relative_gap=1.0, rounding=0.11), ONE, ONE)) == []


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (Claim(replace(TRUE, primal=0.9), ONE, ONE), "primal 0.9 beyond"),
        (Claim(replace(TRUE, dual=1.1), ONE, ONE), "dual 1.1 beyond"),
        (Claim(replace(TRUE, primal=1.1), ONE, ONE, maximise=True), "primal 1.1 beyond"),
        (Claim(replace(TRUE, dual=0.9), ONE, ONE, maximise=True), "dual 0.9 beyond"),
        (Claim(TRUE, ONE, ONE, point=Fraction(11, 10)), "the point has 1.1"),
        (Claim(TRUE, ONE / 2, ONE / 2), "HOLDS(1e-09) at 1, 1, optimum 0.5"),
        (Claim(replace(TRUE, primal=10.0, dual=9.0), ONE, ONE), "HOLDS"),
        (Claim(TRUE, None, None), "infeasible"),
        (Claim(replace(TRUE, primal=np.inf), ONE, ONE), "proven with the values inf"),
        (Claim(None, wrong="scores off"), "scores off"),
    ],
)
def test_lies_are_found(claim, told):
    assert told in "; ".join(lies(claim))


def test_a_certificate_made_of_rounding_is_found():
    """What was the fault: cancellation in a kernel with an offset, and a negative gap that counted as 0."""
    K, y = 1e15 + np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    honest = certify(SVMDual(K, y, 10.0), u=[0.999, 0.999])
    value, _, _ = exact.svm_dual(exact.fractions(K), exact.fractions(y), [Fraction(10)] * 2)
    assert value == -1
    assert lies(Claim(honest, value, value)) == []
    off = replace(honest, primal=-1.01, dual=-1.01, relative_gap=0.0, rounding=0.0)
    assert len(lies(Claim(off, value, value))) == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda objective, certificate: (objective * (1 + 3e-6) + 1e-9, certificate), " against "),
        (lambda objective, certificate: (objective, replace(certificate, proven=False)), "proven False"),
        (lambda objective, certificate: (objective, replace(certificate, gap=1e-5 * objective)), "with the gap"),
        (lambda objective, certificate: (objective, replace(certificate, gap=-1e-3)), "with the gap -0.001"),
    ],
)
def test_wrong_answers_of_solvers_are_found(monkeypatch, answer, told):
    solve = attacks.solve_at_once
    monkeypatch.setattr(attacks, "solve_at_once", lambda problem: answer(*solve(problem)))
    assert told in attacks.check_solvers(0)[0]


@pytest.mark.parametrize("error", [NotSeparable(np.ones(2) / 2, 0.0), ZeroDivisionError("by zero")])
def test_errors_of_solvers_are_told(monkeypatch, capsys, error):
    def broken(problem):
        raise error

    monkeypatch.setattr(attacks, "solve_at_once", broken)
    assert fuzz.main("solvers", 1)
    told = capsys.readouterr().out
    assert told.startswith(("0  svm_primal: not separable", "0  bare ZeroDivisionError: by zero in "))
    assert "1 of 1 solvers from 0 are wrong" in told


def test_slowness_is_told(monkeypatch):
    monkeypatch.setattr(attacks, "claims", lambda number: [Claim(TRUE, ONE, ONE)])
    assert fuzz.fuzz("attacks", [0])[0] == {}
    monkeypatch.setattr(attacks, "SLOW", -1.0)
    assert "took 0 s" in fuzz.fuzz("attacks", [0])[0][0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"dual": 1.01}, "above the optimum"), ({"primal": 0.99}, "below the optimum"), ({"primal": 1.01}, "OPTIMAL at")],
)
def test_wrong_runs_are_found(monkeypatch, changed, told):
    generate = formulations.column_generation

    def lie(*args, **kwargs):
        run = generate(*args, **kwargs)
        values = {name: factor * getattr(run.certificate, name) for name, factor in changed.items()}
        return replace(run, certificate=replace(run.certificate, **values))

    monkeypatch.setattr(formulations, "column_generation", lie)
    assert told in formulations.check(0)[0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"edge_bound": 0.9}, "a bound below the edge"),
        ({"outside_bound": 1.1}, "bound outside"),
        ({"edge_square_sum": 0.9}, "sum of squares"),
    ],
)
def test_wrong_answers_of_oracles_are_found(monkeypatch, changed, told):
    case = interactions.draw(4)
    answer = case.oracle.price

    def lie(s, exclude=()):
        priced = answer(s, exclude)
        return replace(priced, **{name: factor * getattr(priced, name) for name, factor in changed.items()})

    monkeypatch.setattr(case.oracle, "price", lie)
    assert told in " ".join(interactions.check_pricing(case, 4))


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
    run = column_generation(known.svm(0.3), oracle, y, tol=1e-7)
    assert run.certificate.holds(1e-7)
    assert run.certificate.primal == pytest.approx(SVMPrimal(H, y, 0.3).solve().objective, rel=1e-6)
    codes = simplex_codes(3)[np.digitize(X[:, 0], [0.5, 1.5])]
    several = column_generation(known.simplex_least_squares(codes, 0.5), oracle, tol=1e-7)
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


@pytest.mark.product(make=[make for _, make, _ in interactions.KINDS], wrong=[np.inf, -np.inf, np.nan])
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
