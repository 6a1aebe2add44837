"""Exact proofs: against an exact simplex method, against enumeration, and against forgers."""

import ast
import copy
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import exact
import numpy as np
import pytest
from proof_mutations import (
    CODED,
    FORMULATIONS,
    INSEPARABLE,
    KERNELS,
    attack,
    is_true,
    make_any_proof,
    make_proof,
    seal,
    seal_data,
    small_sample,
)
from scipy.sparse import csr_array
from variants import list_stumps

from cvxens import FeatureBudget, LPBoostClassifier
from cvxens.colgen import Formulation, column_generation, oracles
from cvxens.errors import InvalidInput
from cvxens.hypotheses import TabulatedColumn
from cvxens.problems import formulations
from cvxens.problems.losses import Hinge, SquaredHinge
from cvxens.problems.penalties import L1
from cvxens.proofs import Layout, checker, prove
from cvxens.proofs.forms import simplest
from cvxens.proofs.programs import LinearProgram
from cvxens.proofs.vertices import solve_system

CHECKER = Path(checker.__file__)


def test_the_checker_is_one_short_file_on_the_standard_library():
    text = CHECKER.read_text()
    assert len(text.splitlines()) <= 355
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module.partition(".")[0])
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("seed", range(50))
def test_the_optimum_of_p4_is_that_of_an_exact_solver(seed):
    X, y = small_sample(seed, n_samples=5 + seed % 3, n_features=1 + seed % 2)
    C = Fraction(1 + seed % 4, 4)
    H = list_stumps(X)[0]
    best, *_ = exact.soft_margin(exact.fractions(np.hstack([H, -H])), exact.fractions(y), [C] * len(y))
    run = column_generation(formulations.soft_margin(C=float(C)), oracles.Stumps(X), y, tol=1e-9, exact=True)
    assert run.proof.objective == run.proof.bound == best


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_proof_is_near_the_run(name):
    X, y = small_sample(3)
    run = column_generation(FORMULATIONS[name], oracles.Stumps(X), y, tol=1e-9)
    proof = run.certificate.exact()
    assert 0 <= proof.relative_gap <= 2e-9
    assert float(proof.objective) == pytest.approx(FORMULATIONS[name].sense * run.certificate.primal, rel=1e-8)


@pytest.mark.parametrize("name", [*FORMULATIONS, *CODED, *KERNELS, *INSEPARABLE])
def test_a_proof_is_checked_by_the_file_alone_and_a_forged_one_is_refused_or_true(name, tmp_path):
    path = tmp_path / "data.csv"
    proof = make_any_proof(name, 5, path)
    proof.save(tmp_path / "proof.json")
    arguments = [sys.executable, "-I", str(CHECKER), str(tmp_path / "proof.json"), str(path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"PASS: {proof.claim}\n")
    assert name in CODED or is_true(proof.document, path)
    assert not attack(proof, path, n_mutations=50, seed=1)[1]


@pytest.mark.parametrize("change", ["a value", "a label", "a sample less", "a sample more", "another name"])
def test_a_proof_is_about_its_data_alone(change, tmp_path):
    proof = make_proof(formulations.soft_margin(C=0.3), seed=2)
    path = tmp_path / "data.csv"
    proof.save(tmp_path / "proof.json", path)
    lines = path.read_text().splitlines()
    cells = lines[1].split(",")
    lines = {
        "a value": [lines[0], ",".join([str(float(cells[0]) + 1e-9), *cells[1:]]), *lines[2:]],
        "a label": [lines[0], ",".join([*cells[:-1], str(-int(cells[-1]))]), *lines[2:]],
        "a sample less": lines[:-1],
        "a sample more": [*lines, lines[-1]],
        "another name": [lines[0].replace("x0", "x9"), *lines[1:]],
    }[change]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(checker.Refused):
        checker.check(proof.document, path)


def test_libsvm_files_are_read(tmp_path):
    X, y = small_sample(4)
    run = column_generation(formulations.soft_margin(C=0.3), oracles.Stumps(X), y, tol=1e-9)
    path = tmp_path / "data.libsvm"
    lines = (
        f"{int(sign)} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1) if value)
        for row, sign in zip(X.tolist(), y, strict=True)
    )
    path.write_text("".join(f"{line}\n" for line in lines))
    layout = Layout([1, 2], target=0, kind="libsvm", separator="", header=False)
    hypotheses = [column.hypothesis for column in run.columns]
    proof = prove(formulations.soft_margin(C=0.3), X, y, hypotheses, run.weights, u=run.u, layout=layout)
    assert checker.check(proof.document, path) == proof.claim


def test_weights_as_they_are_have_their_exact_distance():
    X, y = small_sample(6)
    model = LPBoostClassifier(C=0.3, tol=1e-2).fit(X, y)
    best, own = model.prove(X, y), model.prove(X, y, as_fitted=True)
    assert best.gap == 0
    assert own.objective >= best.objective
    assert own.relative_gap <= 1.1e-2
    assert own.bound <= best.objective
    assert model.prove(csr_array(X), y).objective == best.objective


def test_pools_are_proven_with_their_values_and_signs():
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=(12, 5)), np.where(np.arange(12) % 2, 1.0, -1.0)
    run = column_generation(Formulation(Hinge(0.4), L1()), oracles.Pool(H), y, tol=1e-9, exact=True)
    assert run.proof.gap == 0
    assert run.proof.document["formulation"]["hypotheses"] == "pool"


def test_a_pool_without_negations_is_another_set():
    H, y = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    pools = [oracles.Pool(H, negations=negations) for negations in (True, False)]
    runs = [column_generation(Formulation(Hinge(0.9), L1(), nonnegative=True), p, y, exact=True) for p in pools]
    sets = [run.proof.document["formulation"]["hypotheses"] for run in runs]
    assert sets == ["pool", "one-sided pool"]
    assert [float(run.proof.objective) for run in runs] == pytest.approx([run.certificate.primal for run in runs])
    assert runs[0].proof.objective < runs[1].proof.bound


def test_what_cannot_be_proven_exactly_is_named():
    X, y = small_sample(1)
    run = column_generation(Formulation(SquaredHinge(0.4), L1()), oracles.Stumps(X), y)
    with pytest.raises(InvalidInput, match="SquaredHinge"):
        run.certificate.exact()
    run = column_generation(formulations.soft_margin(C=0.3), oracles.Perceptrons(X, random_state=0), y, max_rounds=2)
    with pytest.raises(InvalidInput, match="no exact proof"):
        run.certificate.exact()
    with pytest.raises(InvalidInput, match="FeatureBudget whose bounds no exact proof knows"):
        LPBoostClassifier(C=0.3, constraints=[FeatureBudget(1.0)]).fit(X, y).prove(X, y)


@pytest.mark.parametrize("value", [0.05, 1 / 3, 1 / 569, 1e-300, 12345.678, 2.0**-1074, 5e20])
def test_the_simplest_rational_rounds_to_its_double(value):
    assert float(simplest(value)) == value


def test_systems_are_solved_without_flint_too(monkeypatch):
    A = np.array([[2, 1, 0], [1, -3, 1], [0, 1, 4]])
    rhs = [Fraction(1, 3), Fraction(2), Fraction(-1, 7)]
    found = solve_system(A, rhs)
    monkeypatch.setitem(sys.modules, "flint", None)
    assert solve_system(A, rhs) == found
    assert [sum(int(a) * x for a, x in zip(row, found, strict=True)) for row in A] == rhs
    assert solve_system(np.ones((2, 2), dtype=np.int64), rhs[:2]) is None


def forge(document, path, **changes):
    """Return a proof with other data and hashes that agree with them, as a forger makes it."""
    document = copy.deepcopy(document)
    data = document["data"]
    data |= changes
    data |= seal_data(path, data) | {"unused": data["unused"]}
    return seal(document, path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": ["x1", "x1"], "unused": ["x0"]}, "two features are one"),
        ({"features": ["x1", {"column": "x1", "codes": {"0.0": "0"}, "others": None}], "unused": ["x0"]}, "are one"),
        ({"features": ["x0", "target"], "unused": ["x1"]}, "the target is among the features"),
        ({"features": ["x0"]}, "other columns unused"),
        ({"features": ["x0", {"column": "x1", "codes": {}, "others": "nan"}]}, "a cell that is no number"),
    ],
    ids=["a feature twice", "a feature twice, coded", "the target", "a column left out", "not a number"],
)
def test_features_that_a_claim_would_hide_are_refused(changes, words, tmp_path):
    proof = make_proof(formulations.soft_margin(C=0.3), seed=2)
    path = tmp_path / "data.csv"
    proof.save(tmp_path / "proof.json", path)
    try:
        forged = forge(proof.document, path, **changes)
    except TypeError:
        forged = seal(copy.deepcopy(proof.document) | {"data": proof.document["data"] | changes}, path)
    with pytest.raises(checker.Refused, match=words):
        checker.check(forged, path)


def test_a_key_that_is_there_twice_is_refused(capsys, tmp_path):
    proof = make_proof(formulations.soft_margin(C=0.3), seed=2)
    proof.save(tmp_path / "proof.json", tmp_path / "data.csv")
    text = (tmp_path / "proof.json").read_text()
    for old, new in (("{", '{"claim": "all is well", '), ('"weight": "1"', '"weight": "9", "weight": "1"')):
        (tmp_path / "twice.json").write_text(text.replace(old, new, 1))
        assert checker.main([str(tmp_path / "twice.json"), str(tmp_path / "data.csv")]) == 1
    assert capsys.readouterr().out == 2 * "FAIL: the proof has a key twice\n"


@pytest.mark.parametrize(
    "change", ["0:1", "1:1 1:2", "01:1", "-1:1", "\u0661:1", "qid:1"], ids=["0", "twice", "01", "-1", "digits", "qid"]
)
def test_libsvm_indices_are_from_1_on_and_each_once(change, tmp_path):
    (tmp_path / "data").write_text(f"1 1:2\n-1 {change}\n", encoding="utf-8")
    with pytest.raises(checker.Refused, match="sample 2 has an index"):
        checker.read_columns(tmp_path / "data", "libsvm", "", False)


@pytest.mark.parametrize("text", ["1_0", "\u0665.0", "nan", "inf", "0x1", "1e999", "1,5", ""])
def test_numbers_are_decimal_digits(text):
    assert checker.parse(text) == text


def test_lines_have_a_cell_for_each_name(tmp_path):
    for line in ("1,2,3,4", "1,2"):
        (tmp_path / "data.csv").write_text(f"a,b,c\n1,2,3\n{line}\n")
        with pytest.raises(checker.Refused, match="too few or too many cells"):
            checker.read_columns(tmp_path / "data.csv", "csv", ",", True)


def test_a_header_more_or_less_is_another_count(tmp_path):
    """A first line that is taken for names is a sample less, and the claim says below what it counts."""
    proof = make_proof(formulations.soft_margin(C=0.3), seed=2)
    (tmp_path / "data.csv").write_text("0.5,0.25,7\n" + "1,2,-1\n3,4,1\n")
    claims = []
    for header, target, features in ((True, "7", ["0.5", "0.25"]), (False, 2, [0, 1])):
        data = proof.document["data"] | {
            "header": header,
            "target": target,
            "features": features,
            "samples": 2 + (not header),
        }
        claims.append(checker.state_claim(proof.document | {"data": data}, proof.objective, proof.bound))
    assert "these 2 samples of 2 features (below a line of names; target '7'," in claims[0]
    assert "these 3 samples of 2 features (from the first line on; target 2," in claims[1]


def test_a_claim_names_what_it_is_about():
    for price, weight, intercept in ((0.3, 1.0, False), (3e-9, 2.0, True)):
        proof = make_proof(Formulation(Hinge(price), L1(weight), intercept=intercept), seed=2)
        terms = f"hinge loss at {simplest(price)} a sample + l1 penalty of weight {simplest(weight)}, "
        assert f"{terms}with{'' if intercept else 'out'} an intercept, is at most" in proof.claim
        assert "target 'target', '-1' as -1, '1' as 1; columns not used: none)" in proof.claim


def test_a_stump_that_splits_nothing_is_no_hypothesis():
    """A constant among the stumps would be one more hypothesis than the bound is over."""
    X = [[0.0], [1.0], [2.0]]
    for threshold in ("-1.0", "0.0", "2.5"):
        with pytest.raises(checker.Refused, match="does not split"):
            checker.evaluate_scores(X, [{"feature": 0, "threshold": threshold, "weight": "1"}], "stumps")
    scores, _ = checker.evaluate_scores(X, [{"feature": 0, "threshold": "1.0", "weight": "1"}], "stumps")
    assert scores == [-1, 1, 1]


@pytest.mark.parametrize("off", [1, -1])
def test_an_intercept_asks_for_multipliers_that_are_balanced_to_the_last_unit(off):
    X, y = small_sample(3)
    proof = make_proof(FORMULATIONS["P4 with an intercept"], seed=3)
    document = copy.deepcopy(proof.document)
    q, *numerators = map(int, document["multipliers"])
    # one unit of a grid so fine that no other condition sees it
    fine, at = 10**30, next(i for i, v in enumerate(numerators) if v)
    shaved = [max(v * fine - (i == at), 0) for i, v in enumerate(numerators)]
    assert sum(v * int(sign) for v, sign in zip(shaved, y, strict=True)) in {1, -1}
    if (sum(v * int(sign) for v, sign in zip(shaved, y, strict=True)) > 0) != (off > 0):
        shaved = [
            v * fine - (i == next(k for k, u in enumerate(numerators) if u and y[k] != y[at]))
            for i, v in enumerate(numerators)
        ]
    document["multipliers"] = list(map(str, [q * fine, *shaved]))
    with pytest.raises(checker.Refused, match="sum of y u is not 0"):
        checker.evaluate(document, X.tolist(), y.astype(int).tolist())


def test_weights_that_cancel_are_of_the_sum_of_a_simplex():
    """Where the best margin is 0, h and -h have a half each: their weights are of the sum, and of no score."""
    H, y = np.array([[1.0, 2.0], [1.0, 2.0], [-1.0, 1.0], [-1.0, 1.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    for weights, objective in (([0.5, 0.5], 0), ([0.75, 0.25], Fraction(1, 2))):
        hypotheses = [TabulatedColumn(0, 2, 1), TabulatedColumn(0, 2, -1)]
        proof = prove(formulations.lpboost(D=0.5), H, y, hypotheses, weights, u=[0.25] * 4, over="pool", as_given=True)
        assert (proof.objective, proof.bound) == (objective, 0)
    run = column_generation(formulations.lpboost(D=0.5), oracles.Pool(H), y, exact=True)
    assert (run.proof.objective, run.proof.gap) == (0, 0)
    assert "RTP range 0 0" in to_text(run.proof)


def to_text(proof):
    """Return the linear program of a proof as VIPR has it."""
    return LinearProgram.from_document(proof.document, proof.X, proof.y, restricted=True).to_vipr()
