"""Proofs over given columns: of certificates of problems, at vertices of pools, with hypotheses priced in integers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from proof_mutations import small_sample

from cvxens import certificates, certify
from cvxens.colgen import Formulation, column_generation, oracles
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Stump
from cvxens.problems import (
    HardMarginBoosting,
    LPBoost,
    Problem,
    SoftMarginBoosting,
    StumpColumns,
    SVMDual,
    SVMPrimal,
    formulations,
)
from cvxens.problems.losses import Hinge, SoftMinimumMargin, SquaredHinge
from cvxens.problems.penalties import L1, Simplex, SquaredL2
from cvxens.proofs import checker, prove
from cvxens.proofs.forms import Form
from cvxens.proofs.vertices import Pricing

RNG = np.random.default_rng(0)
Y = np.where(np.arange(12) % 2, 1.0, -1.0)
H = RNG.normal(size=(12, 5))

PROBLEMS = {
    "P4": SoftMarginBoosting(H, Y, C=0.5),
    "P4 with votes": SoftMarginBoosting(np.sign(H), Y, C=0.5),
    "LPBoost": LPBoost(H, Y, D=0.2),
    "P3": HardMarginBoosting(Y[:, None] * np.abs(H), Y),
    "both signs": Problem(Formulation(Hinge(0.5), L1(0.5), intercept=True), H, Y),
    "prices for each": Problem(Formulation(Hinge(RNG.integers(1, 9, 12) / 8), L1()), H, Y),
    "stumps": Problem(formulations.soft_margin(0.5), StumpColumns(H), Y),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_linear_programs_over_columns_are_solved_over_the_rationals(name, tmp_path):
    problem = PROBLEMS[name]
    solution = problem.solve()
    certificate = problem.certify(solution)
    proof = certificate.exact()
    assert proof.gap == 0
    assert float(proof.objective) == pytest.approx(problem.formulation.sense * certificate.primal, rel=1e-6)
    proof.save(tmp_path / "proof.json", tmp_path / "data.csv")
    assert checker.check(proof.document, tmp_path / "data.csv") == proof.claim


def test_other_problems_over_columns_are_proven_as_they_are():
    problem = SVMPrimal(H, Y, C=0.5)
    proof = certify(problem, w=np.full(5, 0.1), b=0.2).exact()
    assert float(proof.objective) == pytest.approx(problem.value({"w": np.full(5, 0.1), "b": np.array(0.2)}))
    assert proof.bound <= problem.solve().objective <= proof.objective
    assert problem.certify(problem.solve()).exact().relative_gap < 1e-8


def test_what_is_not_over_columns_is_named(monkeypatch):
    with pytest.raises(InvalidInput, match="prove_kernel"):
        certify(SVMDual(H @ H.T, Y, C=1.0), u=np.zeros(12)).exact()
    with pytest.raises(InvalidInput, match="SquaredHinge"):
        certify(Problem(Formulation(SquaredHinge(1.0), L1()), H, Y), w=np.zeros(5)).exact()
    monkeypatch.setattr(certificates, "PROVERS", [])
    with pytest.raises(InvalidInput, match=r"import cvxens\.proofs"):
        certify(PROBLEMS["P4"], w=np.zeros(5)).exact()


@pytest.mark.parametrize("formulation", [
    Formulation(SoftMinimumMargin(0.3), Simplex(), intercept=True, nonnegative=True),
    Formulation(SoftMinimumMargin(0.3), SquaredL2(), intercept=True),
    Formulation(Hinge(0.5), Simplex(), nonnegative=True),
])  # fmt: skip
def test_pairs_of_terms_that_no_paper_has_are_proven(formulation):
    X, y = small_sample(3)
    proof = column_generation(formulation, oracles.Stumps(X), y, tol=1e-9, exact=True).proof
    assert 0 <= proof.relative_gap < 1e-8


@given(st.integers(0, 10**6), st.sampled_from(list(checker.HYPOTHESES)[:4]))
def test_the_best_hypotheses_are_those_of_an_enumeration(seed, over):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (7, 3)) / 2.0
    s = rng.integers(-9, 10, 7).tolist()
    form = Form.from_formulation(formulations.soft_margin(1.0), 7, over)
    found = Pricing.from_sample(form, X).price(s)
    for j, x in enumerate(X.T):
        values = [x] if "pool" in over else [np.where(x >= v, 1.0, -1.0) for v in np.unique(x)[1:]]
        edges = [sum(Fraction(h) * e for h, e in zip(each, s, strict=True)) for each in values]
        best = max(edges if over == "one-sided pool" else map(abs, edges), default=None)
        assert best == max((edge for (feature, _), (edge, _) in found.items() if feature == j), default=None)
    assert ((None, None) in found) == (over == "stumps and constant")


def test_stumps_of_one_gap_are_one_hypothesis():
    X, y = small_sample(1)
    gap = np.unique(X[:, 0])[:2]
    stumps = [Stump(0, float(gap[0] + share * (gap[1] - gap[0])), 1) for share in (0.25, 0.5, 1.0)]
    svm = formulations.svm(0.5)
    proofs = [
        prove(svm, X, y, hypotheses, weights, u=np.full(8, 0.1), over="stumps", as_given=True)
        for hypotheses, weights in ((stumps, [0.25, 0.25, 0.5]), (stumps[:1], [1.0]))
    ]
    assert proofs[0].objective == proofs[1].objective
    twice = [*proofs[1].document["model"]["terms"]] * 2
    with pytest.raises(checker.Refused, match="two weights"):
        checker.evaluate_scores(X.tolist(), twice, "stumps")


def test_prices_without_a_short_common_denominator_are_the_doubles_that_they_are():
    prices = np.random.default_rng(0).random(300)
    form = Form.from_formulation(Formulation(Hinge(prices), L1()), 300, "stumps")
    assert form.prices == list(map(Fraction, prices.tolist()))
    assert Form.from_formulation(Formulation(Hinge(prices[:2]), L1()), 2, "stumps").prices != form.prices[:2]
