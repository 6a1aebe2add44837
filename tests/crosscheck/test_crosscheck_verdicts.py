"""A row disagrees when either road goes wrong, and agrees where both find that there is no road."""

import json
from dataclasses import replace
from math import inf, isnan, nan

import numpy as np
import pytest
from breast_cancer_rows import breast_cancer_sample
from scipy.optimize import minimize

from cvxens import crosscheck as module
from cvxens import problems
from cvxens.certificates import Certificate
from cvxens.colgen import formulations
from cvxens.crosscheck import CASES, SOLVERS, Row, Sample, Side, crosscheck, solve_fast
from cvxens.errors import SolverFailed
from cvxens.types import Attempt

HOLDS = Certificate(1.0, 1.0, 0.0, 0.0, {"stationarity": 0.0}, {}, True)
DOCUMENTED = {"formulation", "source", "reference", "fast", "relative_difference", "certificate", "agrees", "note"}
OF_A_SIDE = {"solver", "objective", "seconds"}
OF_A_CERTIFICATE = {"primal", "dual", "gap", "relative_gap", "rounding", "kkt_residual", "proven", "condition"}


@pytest.fixture(scope="module")
def sample():
    return breast_cancer_sample(60, 4)


@pytest.fixture(scope="module")
def conflicting():
    """The first samples again, with the other label."""
    X = np.random.default_rng(0).random((30, 3))
    y = np.where(X[:, 0] + 0.2 * X[:, 1] > 0.6, 1.0, -1.0)
    return Sample.from_arrays(np.vstack([X, X[:4]]), np.concatenate([y, -y[:4]]))


def row(reference=1.0, fast=1.0, certificate=HOLDS):
    return Row("SVMDual", "LL08 P2", Side("CLARABEL", reference, 0.1), Side("SVC", fast, 0.2), certificate)


def only(sample, formulation):
    [checked] = crosscheck(sample, [formulation])
    return checked


def generate_instead(monkeypatch, change):
    """Let the fast path by column generation solve another formulation than the problem's."""
    original = module.generate
    monkeypatch.setattr(module, "generate", lambda right, *rest, **options: original(change(right), *rest, **options))


def strict(checked):
    return json.loads(json.dumps(checked.to_dict(), allow_nan=False))


@pytest.mark.parametrize(
    ("reference", "fast", "difference", "agrees"),
    [
        (1.0, 1.0, 0.0, True),
        (1.0, 1.0 + 9e-6, 9e-6, True),
        (1.0, 1.0 + 2e-5, 2e-5, False),
        (-1e6, -1e6 - 2.0, 2e-6, True),
        (1e-4, 1.1e-4, 1 / 11, False),
        (1.0, -1.0, 2.0, False),
        (3e-11, -2e-12, 0.0, True),
        (0.0, 2e-8, 1.0, False),
        (inf, inf, 0.0, True),
        (inf, 1.0, inf, False),
        (1.0, inf, inf, False),
        (inf, -inf, inf, False),
        (nan, 1.0, inf, False),
        (nan, nan, inf, False),
    ],
)
def test_difference_and_verdict(reference, fast, difference, agrees):
    checked = row(reference, fast)
    assert checked.relative_difference == pytest.approx(difference, rel=1e-3)
    assert checked.agrees is agrees


@pytest.mark.parametrize(
    "certificate",
    [
        replace(HOLDS, proven=False),
        replace(HOLDS, relative_gap=2e-5),
        replace(HOLDS, relative_gap=-1e-3),
        replace(HOLDS, relative_gap=inf),
        replace(HOLDS, relative_gap=nan),
    ],
)
def test_a_certificate_that_does_not_hold_disagrees(certificate):
    assert not row(certificate=certificate).agrees


def test_the_dictionary_has_what_is_documented():
    written = strict(row(inf, nan, replace(HOLDS, primal=inf, dual=-inf, gap=nan, residuals={"a": 1e-9, "b": 2e-9})))
    assert written.keys() == DOCUMENTED
    assert written["reference"] == {"solver": "CLARABEL", "objective": None, "seconds": 0.1}
    assert written["fast"] == {"solver": "SVC", "objective": None, "seconds": 0.2}
    assert written["certificate"] == {
        "primal": None,
        "dual": None,
        "gap": None,
        "relative_gap": 0.0,
        "rounding": 0.0,
        "kkt_residual": 2e-9,
        "proven": True,
        "condition": "",
    }
    assert written["relative_difference"] is None
    assert written["agrees"] is False


@pytest.mark.parametrize("formulation", problems.FORMULATIONS)
def test_every_row_is_strict_json(conflicting, formulation):
    written = strict(only(conflicting, formulation))
    assert written.keys() == DOCUMENTED
    assert written["reference"].keys() == written["fast"].keys() == OF_A_SIDE
    assert written["certificate"].keys() == OF_A_CERTIFICATE
    assert written["agrees"] is True


def test_not_separable_agrees_that_there_is_no_feasible_point(conflicting):
    checked = only(conflicting, problems.HardMarginBoosting)
    assert checked.reference.solver == "Farkas vector"
    assert checked.reference.objective == checked.fast.objective == inf
    assert checked.relative_difference == 0
    assert checked.certificate.residuals["Farkas vector"] <= 1e-9
    assert "no feasible point" in checked.certificate.note
    assert checked.agrees
    written = strict(checked)
    assert written["reference"]["objective"] is None
    assert written["fast"]["objective"] is None
    assert written["relative_difference"] == 0


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.repeat(np.arange(5.0), 2)[:, None], np.tile([1.0, -1.0], 5)),
        ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [1.0, -1.0, -1.0, 1.0]),
        ([[0.0], [1.0]], [1.0, -1.0]),
        ([[1.0], [np.nextafter(1.0, 2.0)]], [1.0, -1.0]),
        (np.arange(12.0)[:, None], np.where(np.arange(12) == 3, 1.0, -1.0)),
        ([[0.0, 7.0, 0.0], [1.0, 7.0, 1.0], [2.0, 7.0, 2.0], [2.0, 7.0, 2.0]], [1.0, -1.0, 1.0, 1.0]),
        ([[-1e308], [1e308], [0.0]], [1.0, -1.0, 1.0]),
        ([[1e-300], [2e-300], [3e-300]], [1.0, -1.0, 1.0]),
    ],
    ids=["all conflict", "xor", "two", "adjacent floats", "one positive", "constant and twice", "huge", "tiny"],
)
def test_degenerate_data_agree_throughout(X, y):
    checked = list(crosscheck(Sample.from_arrays(X, y)))
    assert [one.formulation for one in checked if not one.agrees] == []
    assert len(checked) == len(problems.FORMULATIONS)


@pytest.mark.parametrize(
    ("formulation", "make"),
    [
        # slack at nu in place of its inverse, a price that is doubled, and slack where there is to be none
        (
            problems.LPBoost,
            lambda s: formulations.lpboost(max(1 / (CASES[problems.LPBoost][0](s).D * len(s.y)), 1 / 60)),
        ),
        (problems.SoftMarginBoosting, lambda sample: formulations.soft_margin(2 * 20 / len(sample.y))),
        (problems.HardMarginBoosting, lambda sample: formulations.soft_margin(1.0)),
    ],
)
def test_the_answer_to_another_formulation_disagrees(sample, conflicting, monkeypatch, formulation, make):
    given = conflicting if formulation is problems.HardMarginBoosting else sample
    assert only(given, formulation).agrees
    wrong = make(given)
    # the soft margin that the parameters of LPBoost are made of stays
    generate_instead(monkeypatch, lambda it: wrong if it.maximise or formulation is not problems.LPBoost else it)
    checked = only(given, formulation)
    assert checked.relative_difference > 1e-3
    assert not checked.agrees


def without_balance(problem, found):
    Q = problem.K * np.outer(problem.y, problem.y)
    u = minimize(
        lambda u: (u @ Q @ u / 2 - u.sum(), Q @ u - 1),
        np.zeros(len(problem.y)),
        jac=True,
        bounds=[(0, problem.C)] * len(problem.y),
    ).x
    return replace(found, objective=u @ Q @ u / 2 - u.sum(), variables={"u": u}, duals={"b": np.zeros(())})


def without_intercept(problem, found):
    parts = {"variables": dict(found.variables), "duals": dict(found.duals)}
    for part in parts.values():
        part.update({"b": np.zeros(())} if "b" in part else {})
    return replace(found, **parts)


def negating(array):
    return lambda problem, found: replace(found, duals={**found.duals, array: -found.duals[array]})


def lying(problem, found):
    return replace(found, objective=-1.0)


@pytest.mark.parametrize(
    ("formulation", "spoil", "is_off", "gap_above"),
    [
        (problems.SVMDual, without_balance, True, -inf),
        (problems.SVMPrimal, without_intercept, False, 1e-5),
        (problems.SVMDual, without_intercept, False, 1e-5),
        (problems.RhoSVM, negating("u"), False, 1e-3),
        (problems.RegularizedExpLoss, negating("u"), False, 1e-3),
        (problems.SLSSVM, negating("U"), False, 1e-3),
        (problems.EntropyProjection, negating("eta"), False, 1e-3),
        (problems.SVMDual, lying, True, -inf),
    ],
)
def test_a_wrong_answer_disagrees_by_its_objective_or_its_certificate(
    sample, monkeypatch, formulation, spoil, is_off, gap_above
):
    original = SOLVERS[formulation]
    monkeypatch.setitem(SOLVERS, formulation, lambda problem: spoil(problem, original(problem)))
    checked = only(sample, formulation)
    assert (checked.relative_difference > 1e-5) == is_off
    assert checked.certificate.relative_gap > gap_above
    assert checked.certificate.holds(1e-6) or spoil is not lying
    assert not checked.agrees


def failing(*_, **__):
    raise SolverFailed([Attempt("First", "stalled", 0.1), Attempt("Second", "error", 0.2, "singular")])


@pytest.mark.parametrize("side", ["fast", "reference"])
def test_a_side_that_fails_disagrees_and_the_rest_goes_on(sample, monkeypatch, side):
    if side == "fast":
        monkeypatch.setitem(SOLVERS, problems.SVMDual, failing)
    else:
        monkeypatch.setattr(problems.SVMDual, "build", failing)
    failed, other = crosscheck(sample, [problems.SVMDual, problems.SLSSVM])
    assert getattr(failed, side).solver == "failed"
    assert isnan(getattr(failed, side).objective)
    assert failed.note.endswith("First stalled, Second error")
    assert not failed.agrees
    assert failed.certificate.proven == (side == "reference")
    assert strict(failed)[side]["objective"] is None
    assert (strict(failed)["certificate"]["kkt_residual"] is None) == (side == "fast")
    assert other.agrees


@pytest.mark.parametrize("formulation", [problems.SoftMarginBoosting, problems.LPBoost, problems.HardMarginBoosting])
def test_an_interrupt_within_column_generation_interrupts(sample, monkeypatch, formulation):
    original = module.Stumps.price
    calls = []

    def interrupted(oracle, s, exclude=()):
        calls.append(s)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(oracle, s, exclude=exclude)

    monkeypatch.setattr(module.Stumps, "price", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve_fast(CASES[formulation][0](sample), sample)
    assert len(calls) == 4
