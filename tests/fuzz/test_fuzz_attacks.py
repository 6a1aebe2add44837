"""The attack on certificates: it finds nothing in a part of its problems, and would find what is wrong."""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import attacks
import exact
import numpy as np
import pytest
from attacks import KINDS, Claim, attack, lies
from scipy.optimize import linprog

from cvxens import certify
from cvxens.certificates import Certificate
from cvxens.errors import InvalidInput
from cvxens.problems import FORMULATIONS, SVMDual, SVMPrimal

PER_PLACE = 12
"""Problems of every place among the kinds; `make fuzz` has 20,000 in all."""


@pytest.mark.parametrize("place", range(len(KINDS)), ids=lambda place: f"{place}-{KINDS[place].__name__}")
def test_no_certificate_lies(place):
    found, counts = attack(range(place, PER_PLACE * len(KINDS), len(KINDS)))
    assert found == {}
    kind = KINDS[place].__name__
    assert counts[kind, "proven"] >= PER_PLACE / 3


def test_every_formulation_is_attacked(monkeypatch):
    problems = set()
    monkeypatch.setattr(attacks, "certified", lambda random, known: problems.add(type(known.problem)) or ())
    for number in range(3 * len(KINDS)):
        if KINDS[number % len(KINDS)] not in (attacks.machine, attacks.generation, attacks.foreign):
            with suppress(InvalidInput):
                list(attacks.claims(number))
    assert problems == set(FORMULATIONS)


def test_a_number_draws_the_same_claims_again():
    first, second = ([str(claim.certificate) for claim in attacks.claims(18)] for _ in range(2))
    assert first == second


TRUE = Certificate.between(1.0, 1.0, residuals={}, repair={})
ONE = Fraction(1)


def test_the_truth_is_no_lie():
    assert lies(Claim(TRUE, ONE, ONE, point=ONE)) == []
    assert lies(Claim(replace(TRUE, proven=False, primal=0.5), ONE, ONE)) == []
    wide = Certificate.between(1.0, 0.5, residuals={}, repair={})
    assert lies(Claim(wide, Fraction(3, 4), Fraction(3, 4), point=ONE)) == []


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


def test_rounding_that_is_said_is_no_lie():
    for values in ({"primal": 0.9}, {"dual": 1.1}):
        assert lies(Claim(replace(TRUE, **values, relative_gap=1.0, rounding=0.11), ONE, ONE)) == []


def test_a_certificate_made_of_rounding_is_found():
    """What was the fault: cancellation in a kernel with an offset, and a negative gap that counted as 0."""
    K, y = 1e15 + np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    honest = certify(SVMDual(K, y, 10.0), u=[0.999, 0.999])
    value, _, _ = exact.svm_dual(exact.fractions(K), exact.fractions(y), [Fraction(10)] * 2)
    assert value == -1
    assert lies(Claim(honest, value, value)) == []
    off = replace(honest, primal=-1.01, dual=-1.01, relative_gap=0.0, rounding=0.0)
    assert len(lies(Claim(off, value, value))) == 2


def test_errors_and_slowness_are_told(monkeypatch, capsys):
    def broken(random):
        raise ZeroDivisionError("by zero")
        yield

    monkeypatch.setattr(attacks, "KINDS", (broken,))
    assert attacks.main(2)
    told = capsys.readouterr().out
    assert told.startswith("0  broken: bare ZeroDivisionError: by zero in ")
    assert "2 lies in 2 problems from 0" in told
    monkeypatch.setattr(attacks, "KINDS", (lambda random: iter([Claim(TRUE, ONE, ONE)]),))
    assert not attacks.main(1)
    monkeypatch.setattr(attacks, "SLOW", -1.0)
    assert "took 0 s" in next(iter(attack([0])[0].values()))


# -------------------------------------------------------------------------------------------------- the exact solver


@pytest.mark.parametrize("seed", range(20))
def test_exact_linear_programs_agree_with_highs(seed):
    random = np.random.default_rng(seed)
    n, m = random.integers(2, 6, 2)
    A, b, c = (random.integers(-3, 4, shape).astype(float) for shape in ((m, n), m, n))
    found = exact.minimise(None, *(exact.fractions(values) for values in (c, A, b)))
    peer = linprog(c, A_ub=-A, b_ub=-b, method="highs")
    assert (found is None) == (peer.status in (2, 3, 4))
    if found is not None:
        assert float(found[0]) == pytest.approx(peer.fun, abs=1e-9)
        assert exact.dot(exact.fractions(b), found[2]) == found[0]


@pytest.mark.parametrize("seed", range(10))
def test_exact_quadratic_programs_fulfil_their_conditions(seed):
    random = np.random.default_rng(seed)
    H = exact.fractions(random.integers(-3, 4, (4, 2)).astype(float))
    y, C = exact.fractions(np.array([1.0, -1.0, 1.0, -1.0])), [Fraction(1, 3), *[Fraction(2)] * 3]
    K = [[a + 7 for a in row] for row in exact.gram(H)]
    value, u, b = exact.svm_dual(K, y, C)
    f = exact.product(K, [a * s for a, s in zip(u, y, strict=True)])
    assert exact.dot(u, y) == 0
    for multiplier, price, score, sign in zip(u, C, f, y, strict=True):
        margin = sign * (score + b)
        assert 0 <= multiplier <= price
        assert multiplier == price or margin >= 1
        assert multiplier == 0 or margin <= 1
    certificate = SVMPrimal([[float(a) for a in row] for row in H], [1, -1, 1, -1], 1.0).certify(
        SVMPrimal([[float(a) for a in row] for row in H], [1, -1, 1, -1], 1.0).solve()
    )
    same, _, _ = exact.svm_dual(exact.gram(H), y, [ONE] * 4)
    assert certificate.primal == pytest.approx(-float(same), rel=1e-6, abs=1e-6)
    assert value <= 0


def test_degenerate_programs_do_not_cycle():
    """Beale's example, on which the simplex method with the plainest rule cycles."""
    c = [Fraction(-3, 4), Fraction(150), Fraction(-1, 50), Fraction(6)]
    A = [
        [Fraction(-1, 4), Fraction(60), Fraction(1, 25), Fraction(-9)],
        [Fraction(-1, 2), Fraction(90), Fraction(1, 50), Fraction(-3)],
        [Fraction(0), Fraction(0), Fraction(-1), Fraction(0)],
    ]
    value, x, _ = exact.minimise(None, c, A, [Fraction(0), Fraction(0), Fraction(-1)])
    assert value == Fraction(-1, 20)
    assert x == [Fraction(1, 25), 0, 1, 0]


def test_brackets_of_what_has_logarithms_are_tight():
    K, y = exact.fractions(np.array([[2.0, 1.0], [1.0, 3.0]])), exact.fractions(np.array([1.0, -1.0]))
    low, high, eta = exact.regularized_exp_loss(K, y, Fraction(1, 100))
    assert abs(high - low) < high / 10**30
    assert abs(exact.exp_loss_at(K, y, Fraction(1, 100), eta) - high) < high / 10**30
    value, at = exact.entropy_projection([ONE, 2 * ONE], [ONE / 2, ONE / 2], Fraction(5, 4), equality=True)
    # alpha = (3/4, 1/4): 3/4 ln 3/2 + 1/4 ln 1/2, and eta = ln 3
    assert float(value) == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(0.5), rel=1e-14)
    assert float(at) == pytest.approx(np.log(3), rel=1e-14)
    assert float(exact.exponential_less_one(Fraction(-1, 2))) == pytest.approx(np.expm1(-0.5), rel=1e-15)
    assert float(exact.exponential_less_one(Fraction(-1, 10**40))) == -1e-40
