"""Linear programs of proofs in other formats: read by their grammars, and derived again in fractions."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from proof_mutations import FORMULATIONS, INSEPARABLE, make_inseparable_proof, make_proof, small_sample

from cvxens.colgen import Formulation, column_generation, oracles
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1
from cvxens.proofs import programs

LINEAR = ["P4", "LPBoost", "P4 with an intercept"]


class Vipr:
    """A VIPR certificate of a linear program, read by cert_spec_v1_0 of github.com/ambros-gleixner/VIPR.

    It is verified as viprchk does: solutions are feasible, every derived constraint is dominated by a suitable linear
    combination of earlier ones, and the last one dominates the relation to prove. Of the reasons it knows "lin".
    """

    def __init__(self, text):
        lines = text.splitlines()
        while lines[0].startswith("%"):
            lines.pop(0)
        self.tokens = " ".join(lines).split()
        self.expect("VER", "1.0", "VAR")
        self.names = [self.take() for _ in range(self.index())]
        assert len(set(self.names)) == len(self.names)
        self.expect("INT", "0", "OBJ", "min")
        self.objective = self.entries()
        self.expect("CON")
        n_constraints, n_bounds = self.index(), self.index()
        self.constraints = [self.constraint() for _ in range(n_constraints)]
        assert all(len(entries) == 1 for _, _, entries in self.constraints[:n_bounds])
        self.expect("RTP")
        self.range = None
        if self.take() == "range":
            self.range = self.value(), self.value()
        self.expect("SOL")
        self.solutions = [(self.take(), self.entries())[1] for _ in range(self.index())]
        self.expect("DER")
        self.derived = [self.derivation(len(self.constraints) + d) for d in range(self.index())]
        assert not self.tokens

    def take(self):
        return self.tokens.pop(0)

    def expect(self, *words):
        for word in words:
            assert self.take() == word

    def index(self):
        token = self.take()
        assert re.fullmatch(r"\d+", token)
        return int(token)

    def value(self):
        token = self.take()
        assert re.fullmatch(r"-?\d+(/\d+)?", token)
        return Fraction(token)

    def entries(self):
        pairs = [(self.index(), self.value()) for _ in range(self.index())]
        assert len(dict(pairs)) == len(pairs)
        assert all(j < len(self.names) for j, _ in pairs)
        return {j: value for j, value in pairs if value}

    def constraint(self):
        assert self.take()
        sense = {"E": 0, "L": -1, "G": 1}[self.take()]
        rhs = self.value()
        if self.tokens[0] == "OBJ":
            self.take()
            return sense, rhs, self.objective
        return sense, rhs, self.entries()

    def derivation(self, index):
        constraint = self.constraint()
        self.expect("{", "lin")
        reasons = [(self.index(), self.value()) for _ in range(self.index())]
        assert all(i < index for i, _ in reasons)
        self.expect("}", "-1")
        return constraint, reasons

    def verify(self):
        """Return what is proven: the range of the optimum, or None for infeasibility."""
        for x in self.solutions:
            assert all(
                {0: left == rhs, 1: left >= rhs, -1: left <= rhs}[sense]
                for sense, rhs, entries in self.constraints
                for left in [sum(v * x.get(j, 0) for j, v in entries.items())]
            )
        known = list(self.constraints)
        for constraint, reasons in self.derived:
            senses = {known[i][0] * (1 if m > 0 else -1) for i, m in reasons if m} - {0}
            assert len(senses) <= 1
            left = {}
            for i, m in reasons:
                for j, v in known[i][2].items():
                    left[j] = left.get(j, 0) + m * v
            rhs = sum(m * known[i][1] for i, m in reasons)
            combined = min(senses, default=0), rhs, {j: v for j, v in left.items() if v}
            assert dominates(combined, constraint)
            known.append(constraint)
        if self.range is None:
            assert is_absurd(known[-1])
            return None
        least, most = self.range
        assert dominates(known[-1], (1, least, self.objective))
        assert min(sum(v * x.get(j, 0) for j, v in self.objective.items()) for x in self.solutions) <= most
        return self.range


def is_absurd(constraint):
    sense, rhs, entries = constraint
    return not entries and ((sense >= 0 and rhs > 0) or (sense <= 0 and rhs < 0))


def dominates(one, other):
    if is_absurd(one):
        return True
    (sense, rhs, entries), (of_other, bound, others) = one, other
    rank = {1: sense >= 0 and rhs >= bound, -1: sense <= 0 and rhs <= bound, 0: sense == 0 and rhs == bound}
    return entries == others and rank[of_other]


def read_rational(text):
    """As `ratFromWire` reads it: no sign but -, no leading zeros."""
    assert isinstance(text, str)
    assert re.fullmatch(r"-?(0|[1-9]\d*)(/[1-9]\d*)?", text)
    return Fraction(text)


def verify_lean(request, response):
    """Return the status that Lean's checker certifies.

    Both are read by docs/json-contract.md of github.com/kim-em/lp-backend-soplex-json (d1d18e0) and verified as
    `checkOptimal` and `checkInfeasible` of leanprover/lp-verify do: signed multipliers are those of lower and of upper
    bounds of rows, and variables have none.
    """
    assert request.keys() == {"options", "problem"}
    assert request["options"] == {
        "sense": "minimize",
        "presolve": False,
        "simplex": "auto",
        "iterLimit": None,
        "timeLimitMs": None,
    }
    problem = request["problem"]
    keys = ["numConstraints", "numVars", "c", "objOffset", "a", "rowBounds", "colBounds"]
    assert problem.keys() == set(keys)
    m, n, c, offset, a, row_bounds, column_bounds = (problem[key] for key in keys)
    assert type(m) is int
    assert type(n) is int
    assert len(c) == len(column_bounds) == n
    assert len(row_bounds) == m
    assert len({(i, j) for i, j, _ in a}) == len(a)
    assert all(type(i) is int and type(j) is int and 0 <= i < m and 0 <= j < n for i, j, _ in a)
    c, a = [read_rational(v) for v in c], [(i, j, read_rational(v)) for i, j, v in a]
    bounds = [[None if v is None else read_rational(v) for v in pair] for pair in row_bounds]
    assert column_bounds == [[None, None]] * n
    assert read_rational(offset) == 0
    assert response.keys() == {"status", "certificate"}
    assert response["certificate"].keys() == {"primal", "dual"}
    dual = [read_rational(v) for v in response["certificate"]["dual"]]
    assert len(dual) == m
    lower, upper = [max(v, 0) for v in dual], [max(-v, 0) for v in dual]
    assert all(low is not None or not v for (low, _), v in zip(bounds, lower, strict=True))
    assert all(high is not None or not v for (_, high), v in zip(bounds, upper, strict=True))
    edges, products = [Fraction(0)] * n, [Fraction(0)] * m
    for i, j, v in a:
        edges[j] += v * dual[i]
    combined = sum(v * (low or 0) for (low, _), v in zip(bounds, lower, strict=True))
    combined -= sum(v * (high or 0) for (_, high), v in zip(bounds, upper, strict=True))
    if response["status"] == "infeasible":
        assert response["certificate"]["primal"] is None
        assert not any(edges)
        assert combined > 0
        return "infeasible"
    x = [read_rational(v) for v in response["certificate"]["primal"]]
    for i, j, v in a:
        products[i] += v * x[j]
    assert all(
        (low is None or low <= v) and (high is None or v <= high)
        for v, (low, high) in zip(products, bounds, strict=True)
    )
    assert edges == c
    assert sum(v * at for v, at in zip(c, x, strict=True)) == combined
    return response["status"]


def write(proof, path, **kwargs):
    """Write both formats; return what is proven by each."""
    proof.to_vipr(path / "proof.vipr", **kwargs)
    request, response = (json.loads(p.read_text()) for p in proof.to_lean(path / "proof", **kwargs))
    return Vipr((path / "proof.vipr").read_text()).verify(), verify_lean(request, response)


@pytest.mark.product(restricted=[False, True], name=LINEAR)
def test_programs_are_derived_again_from_both_formats(name, restricted, tmp_path):
    proof = make_proof(FORMULATIONS[name], seed=3)
    assert proof.gap == 0
    assert write(proof, tmp_path, restricted=restricted) == ((proof.bound, proof.objective), "optimal")


@pytest.mark.parametrize("name", INSEPARABLE)
def test_that_there_are_no_margins_is_derived_again(name, tmp_path):
    assert write(make_inseparable_proof(name, seed=4), tmp_path) == (None, "infeasible")


def test_prices_per_sample_and_pools_with_a_gap_are_a_range(tmp_path):
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=(10, 4)), np.where(np.arange(10) % 2, 1.0, -1.0)
    formulation = Formulation(Hinge(rng.integers(1, 5, 10) / 8), L1(), nonnegative=True)
    proof = column_generation(formulation, oracles.Pool(H, negations=False), y, tol=1e-9, exact=True).proof
    proof.to_vipr(tmp_path / "proof.vipr")
    assert Vipr((tmp_path / "proof.vipr").read_text()).verify() == (proof.bound, proof.objective)
    if proof.gap:
        with pytest.raises(InvalidInput, match="gap"):
            proof.to_lean(tmp_path / "proof")


@pytest.mark.parametrize("seed", range(40))
def test_a_certificate_with_another_number_is_refused_or_proves_what_is_true(seed, tmp_path):
    proof = make_proof(FORMULATIONS["P4"], seed=3)
    proof.to_vipr(tmp_path / "proof.vipr", restricted=True)
    head, _, rest = (tmp_path / "proof.vipr").read_text().partition("RTP")
    tokens = re.split(r"(\s+)", rest)
    numbers = [k for k, token in enumerate(tokens) if re.fullmatch(r"-?\d+(/\d+)?", token)]
    rng = np.random.default_rng(seed)
    k = numbers[rng.integers(len(numbers))]
    tokens[k] = str(Fraction(tokens[k]) + Fraction(int(rng.choice([-1, 1])), int(rng.choice([1, 10**9]))))
    try:
        proven = Vipr(f"{head}RTP{''.join(tokens)}").verify()
    except (AssertionError, IndexError, KeyError):
        return
    assert proven[0] <= proof.bound <= proven[1]


def test_what_is_no_linear_program_or_too_large_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match="linear program"):
        make_proof(FORMULATIONS["P1"], seed=0).to_vipr(tmp_path / "proof.vipr")
    monkeypatch.setattr(programs, "LARGEST_EXPORT", 10)
    with pytest.raises(InvalidInput, match="restricted"):
        make_proof(FORMULATIONS["P4"], seed=0).to_vipr(tmp_path / "proof.vipr")


def test_repeated_stumps_are_one_variable(tmp_path):
    X, y = small_sample(2)
    run = column_generation(FORMULATIONS["P4"], oracles.Stumps(X), y, tol=1e-9)
    proof = run.certificate.exact()
    names = Vipr((proof.to_vipr(tmp_path / "a.vipr"), (tmp_path / "a.vipr").read_text())[1]).names
    n_stumps = sum(len(np.unique(x)) - 1 for x in X.T) + 1
    assert len(names) == 2 * n_stumps + len(y)
