"""Proofs about kernels: entries against eighty digits, sorting against all pairs, machines, and forgers."""

import json
import time
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from proof_mutations import FORMULATIONS, KERNELS, make_kernel_proof, make_proof, seal, small_sample
from sklearn.svm import SVC

from cvxens import InfiniteEnsembleSVC, certify_model
from cvxens.colgen import formulations
from cvxens.errors import InvalidInput
from cvxens.kernels import Perceptron, Stump
from cvxens.proofs import checker, prove_kernel

PRECISE = Context(prec=80)

tables = st.integers(1, 3).flatmap(
    lambda d: st.lists(
        st.tuples(*[st.sampled_from([0.0, 0.1, 0.3, -2.0, 1e-12, 7.5]) | st.floats(-50, 50) for _ in range(d)]),
        min_size=2,
        max_size=6,
    )
)


def multiply_precisely(X, v, kernel, gamma):
    """Evaluate K v by its formula to eighty digits."""
    rows = [list(map(Fraction, row)) for row in X]

    def entry(a, b):
        power = 1 if "stump" in kernel or "laplacian" in kernel else 2
        distance = sum((abs(p - q) ** power for p, q in zip(a, b, strict=True)), Fraction(0))
        if "stump" in kernel:
            return -distance
        if "perceptron" in kernel:
            return -Fraction(PRECISE.sqrt(divide(distance)))
        return Fraction(PRECISE.exp(divide(-gamma * distance))) - 1

    return [sum((entry(a, b) * c for b, c in zip(rows, v, strict=True)), Fraction(0)) for a in rows]


def divide(value):
    """Divide a rational number out."""
    return PRECISE.divide(Decimal(value.numerator), Decimal(value.denominator))


@pytest.mark.parametrize("kernel", checker.KERNELS)
@given(X=tables, seed=st.integers(0, 10**6), gamma=st.fractions(Fraction(1, 1000), 50))
def test_products_are_within_the_error_that_is_counted(kernel, X, seed, gamma):
    v = np.random.default_rng(seed).integers(-(10**6), 10**6, len(X)).tolist()
    v[-1] -= sum(v)
    gamma = gamma if kernel in checker.KERNELS[2:] else Fraction(0)
    f, off, unit = checker.multiply_kernel(X, v, kernel, gamma)
    exact = multiply_precisely(X, v, kernel, gamma)
    tiny = Fraction(1, 10**60)
    assert all(abs(Fraction(a, unit) - b) <= Fraction(off, unit) + tiny for a, b in zip(f, exact, strict=True))
    assert off == 0 or "stump" not in kernel


@pytest.mark.parametrize("name", KERNELS)
def test_a_proof_about_a_kernel_is_near_the_optimum(name):
    proof = make_kernel_proof(name, seed=4)
    assert 0 < proof.relative_gap < 1e-5
    assert "by u'Ku" in proof.claim


def forge(proof, path, change):
    """Return what the checker says of a proof that was changed and sealed again."""
    document = json.loads(json.dumps(proof.document))
    change(document)
    with pytest.raises((checker.Refused, ValueError, TypeError, ArithmeticError)) as refused:
        checker.check(seal(document, path), path)
    return str(refused.value)


def test_what_forgers_of_kernels_try(tmp_path):
    proof, path = make_kernel_proof("gaussian kernel", seed=6), tmp_path / "data.csv"
    proof.save(tmp_path / "proof.json", path)

    def nudge(document):
        document["multipliers"][1] = str(int(document["multipliers"][1]) + 1)

    def exceed(document):
        denominator, *u = map(int, document["multipliers"])
        # both classes by as much, so that they stay balanced
        document["multipliers"] = list(map(str, [denominator, *(v + 3 * denominator for v in u)]))

    def drop_intercept(document):
        document["formulation"]["intercept"] = False

    assert "y u is not 0" in forge(proof, path, nudge)
    assert "above its price" in forge(proof, path, exceed)
    assert "penalty for a kernel" in forge(proof, path, drop_intercept)
    update = lambda document: document["formulation"].update(scales=["1", "1"])  # noqa: E731
    assert "scales" in forge(proof, path, update)
    for width in ["1e400", "NaN", "inf", "0x1p3", "1_0", "٣", " 1", "1/0", "-1", "0", None, 0.5, "9" * 5000]:
        assert forge(proof, path, lambda document, width=width: document["formulation"].update(gamma=width))


def test_features_in_another_order_are_other_data(tmp_path):
    proof, path = make_kernel_proof("laplacian kernel", seed=6), tmp_path / "data.csv"
    proof.save(tmp_path / "proof.json", path)
    document = json.loads(json.dumps(proof.document))
    document["data"]["features"].reverse()
    with pytest.raises(checker.Refused, match="features are others"):
        checker.check(seal(document, path), path)


@pytest.mark.parametrize("where", ["gamma", "weight", "prices", "multipliers", "intercept", "samples"])
def test_numbers_that_would_cost_hours_are_refused_at_once(where, tmp_path):
    proof = make_kernel_proof("gaussian kernel", seed=6)
    proof.save(tmp_path / "proof.json", tmp_path / "data.csv")
    document, many = json.loads(json.dumps(proof.document)), "7" * 1_000_000
    place = {"prices": document["formulation"], "multipliers": document, "intercept": document["model"]}.get(
        where, document["data"] if where == "samples" else document["formulation"]
    )
    place[where] = [many] * 9 if isinstance(place[where], list) else many
    text = json.dumps(seal(document, tmp_path / "data.csv"))
    (tmp_path / "proof.json").write_text(text.replace(f'"samples": "{many}"', f'"samples": {many}'))
    start = time.perf_counter()
    assert checker.main([str(tmp_path / "proof.json"), str(tmp_path / "data.csv")]) == 1
    assert time.perf_counter() - start < 5


def test_exponentials_that_are_nearly_0_cost_nothing(tmp_path):
    proof = make_proof(FORMULATIONS["exponential"], seed=2)
    proof.save(tmp_path / "proof.json", tmp_path / "data.csv")
    document = json.loads(json.dumps(proof.document))
    for term in document["model"]["terms"]:
        term["weight"] += "0" * 3000
    start = time.perf_counter()
    with pytest.raises((checker.Refused, ArithmeticError)):
        checker.check(seal(document, tmp_path / "data.csv"), tmp_path / "data.csv")
    assert checker.bound_above("exp", Fraction(-(10**1500))) > 0
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("kernel", ["decision-stump", "stump", "perceptron", "laplacian", "gaussian"])
def test_machines_are_proven_as_fitted_and_at_their_optimum(kernel, tmp_path):
    X, y = small_sample(2, n_samples=24)
    model = InfiniteEnsembleSVC(kernel=kernel, C=1.5, tol=1e-2).fit(X, y)
    best, own = model.prove(X, y), model.prove(X, y, as_fitted=True)
    assert 0 <= best.relative_gap < 2e-9
    assert best.bound <= own.objective
    assert own.relative_gap <= 1.1e-2
    assert float(own.objective) == pytest.approx(-model.certificate_.dual, rel=1e-6)
    assert float(own.bound) == pytest.approx(-model.certificate_.primal, rel=1e-6)
    best.save(tmp_path / "proof.json", tmp_path / "data.csv")
    assert checker.check(best.document, tmp_path / "data.csv") == best.claim


def test_weights_of_samples_are_prices():
    X, y = small_sample(3, n_samples=12)
    weights = np.arange(1.0, 13.0)
    model = InfiniteEnsembleSVC(C=0.25, class_weight={-1.0: 2.0}).fit(X, y, sample_weight=weights)
    proof = model.prove(X, y, sample_weight=weights)
    unit, *prices = map(int, proof.document["formulation"]["prices"])
    assert [price / unit for price in prices] == (0.25 * weights * np.where(y < 0, 2, 1)).tolist()
    assert proof.relative_gap < 2e-9


def test_machines_of_another_library_are_proven():
    X, y = small_sample(4, n_samples=20)
    for kernel in ("rbf", Stump(), Perceptron()):
        certificate = certify_model(SVC(C=2.0, kernel=kernel, tol=1e-2).fit(X, y), X, y)
        proof = certificate.exact()
        assert float(proof.objective) == pytest.approx(-certificate.dual, rel=1e-6)
        assert float(proof.bound) == pytest.approx(-certificate.primal, rel=1e-6)
    with pytest.raises(InvalidInput, match="no exact proof"):
        certify_model(SVC(kernel="poly").fit(X, y), X, y).exact()


def test_what_cannot_be_proven_of_machines_is_named():
    X, y = small_sample(1)
    model = InfiniteEnsembleSVC(kernel="middle-stump").fit(X, y)
    with pytest.raises(InvalidInput, match="MiddleStump"):
        model.prove(X, y)
    with pytest.raises(InvalidInput, match=r"prove\(X, y\)"):
        model.certificate_.exact()
    model = InfiniteEnsembleSVC().fit(X, y)
    with pytest.raises(InvalidInput, match="weight of 0"):
        model.prove(X, y, sample_weight=np.arange(8.0))
    with pytest.raises(InvalidInput, match="7 samples where the fit had 8"):
        model.prove(X[:-1], y[:-1], as_fitted=True)
    three = np.arange(8) % 3
    with pytest.raises(InvalidInput, match="3 classes"):
        InfiniteEnsembleSVC().fit(X, three).prove(X, three)
    svm = formulations.svm(1.0)
    for kernel, gamma, words in [("linear", None, "give one of"), ("stump", 1.0, "gamma"), ("gaussian", None, "gamma")]:
        with pytest.raises(InvalidInput, match=words):
            prove_kernel(svm, X, y, kernel, np.ones(8), gamma=gamma)
    for kernel, scales in [("perceptron", [1.0] * X.shape[1]), ("stump", [1.0]), ("stump", [-1.0] * X.shape[1])]:
        with pytest.raises(InvalidInput, match="scales"):
            prove_kernel(svm, X, y, kernel, np.ones(8), scales=scales)
    with pytest.raises(InvalidInput, match="penalty for a kernel"):
        prove_kernel(formulations.soft_margin(1.0), X, y, "stump", np.ones(8))
