"""Variables of a loss's own in any units: the same problem, so the same optimum, and no proof beyond it."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cvxens.colgen import Formulation, column_generation, oracles
from cvxens.estimators.ensembles import certify_ensemble
from cvxens.problems import Problem
from cvxens.problems.conic import ConicFunction, canonicalise
from cvxens.problems.modelling import Term
from cvxens.problems.penalties import L1

LOSSES = {
    "hinge": lambda m: cp.sum(cp.pos(1 - m)),
    "logistic": lambda m: cp.sum(cp.logistic(-m)),
    "squares": lambda m: cp.sum_squares(1 - m),
    "largest": lambda m: cp.max(cp.pos(1 - m)),
    "norm": lambda m: cp.norm2(1 - m),
}
TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def sample(seed, n=18):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 2)).astype(float)
    A = np.column_stack([rng.normal(size=n), np.ones(n), rng.random(n) < 0.4])[:, rng.permutation(3)]
    y = np.where(X[:, 0] + A.sum(axis=1) + 0.7 * rng.normal(size=n) > 2, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, A[:, : rng.integers(1, 4)], y


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=4)
@given(
    seed=st.integers(0, 10**6),
    exponents=st.lists(st.integers(-15, 8), min_size=3, max_size=3),
    max_rounds=st.sampled_from([None, None, 1, 3]),
    signed=st.booleans(),
)
def test_no_proof_is_on_the_wrong_side_of_the_optimum_in_any_units(name, seed, exponents, max_rounds, signed):
    (X, A, y), loss = sample(seed), LOSSES[name]
    units, own = 10.0 ** np.array(exponents[: A.shape[1]]), cp.Variable(A.shape[1])
    of_linear = y if signed else np.ones(len(y))
    formulation = Formulation(lambda z: loss(z + cp.multiply(of_linear, (A * units) @ own)), L1(0.5), intercept=True)
    run = column_generation(formulation, oracles.Stumps(X), y, tol=1e-6, max_rounds=max_rounds)
    stumps = [np.where(X[:, j] >= v, 1.0, -1.0) for j in range(2) for v in np.unique(X[:, j])[1:]]
    w, b, natural = cp.Variable(len(stumps)), cp.Variable(), cp.Variable(A.shape[1])
    z = cp.multiply(y, np.column_stack(stumps) @ w + b) + cp.multiply(of_linear, A @ natural)
    reference = cp.Problem(cp.Minimize(loss(z) + 0.5 * cp.norm1(w)))
    optimum = reference.solve(**TIGHT)
    assume(reference.status == "optimal")
    certificate, room = run.certificate, 1e-7 * max(1.0, optimum)
    assert certificate.primal >= optimum - room
    if certificate.proven:
        assert certificate.dual - certificate.rounding <= optimum + room
    assert certificate.proven == (not certificate.condition)


@pytest.mark.thinned(1, unit=[1e-15, 1e-8, 1.0, 1e8], name=LOSSES)
def test_optima_are_proven_whatever_the_unit(name, unit):
    X, A, y = sample(1)
    own, loss = cp.Variable(), LOSSES[name]

    def certify(linear):
        formulation = Formulation(lambda z: loss(z + cp.multiply(y, linear * own)), L1(0.5), intercept=True)
        return column_generation(formulation, oracles.Stumps(X), y, tol=1e-6).certificate

    found = certify(unit * A[:, 0])
    assert found.holds(1e-5)
    assert found.primal == pytest.approx(certify(A[:, 0]).primal, rel=2e-6)


def test_thresholds_and_dummies_beside_an_intercept_are_proven():
    """Their equations depend on that of the intercept."""
    X, _, y = sample(3)
    groups = np.eye(3)[np.arange(len(y)) % 3]
    threshold, effects = cp.Variable(), cp.Variable(3)
    for shift in (lambda: threshold * np.ones(len(y)), lambda: groups @ effects):
        for loss in LOSSES.values():
            formulation = Formulation(lambda z, loss=loss, of=shift: loss(z + cp.multiply(y, of())), L1(0.5), True)
            certificate = column_generation(formulation, oracles.Stumps(X), y, tol=1e-6).certificate
            assert certificate.holds(1e-6), certificate


def test_forms_in_balanced_units_are_the_same_form():
    rng = np.random.default_rng(0)
    z, own = cp.Variable(5), cp.Variable(2)
    units = np.array([1e-12, 1e7])
    objective = cp.sum(cp.logistic(rng.normal(size=(5, 2)) @ cp.multiply(units, own) - z)) + cp.norm2(z)
    constraints = [1e-9 * cp.sum(z) <= 3e-9, cp.norm2(cp.multiply(units, own)) <= 1]
    form, *_ = canonicalise(cp.Problem(cp.Minimize(objective), constraints))
    balanced, of_x = form.balance()
    x = rng.normal(size=len(form.c))
    s, balanced_s = form.b - form.A @ (of_x * x), balanced.b - balanced.A @ x
    # powers of 2, the same ones within a cone
    factors = balanced_s[s != 0] / s[s != 0]
    assert (np.log2(np.abs(balanced.A.data)) > -40).all()
    np.testing.assert_allclose(factors, np.exp2(np.round(np.log2(factors))), rtol=1e-9)
    assert form.c @ (of_x * x) == pytest.approx(balanced.c @ x, rel=1e-14)
    largest = abs(balanced.A).max(axis=0).toarray()
    assert (largest > 1e-3).all()
    assert (largest < 1e3).all()


def test_inequalities_that_a_variable_of_no_cost_satisfies_are_left_out():
    own = cp.Variable(4)
    conic = ConicFunction.from_term(
        lambda z: Term(cp.sum(cp.pos(1 - z)) + 0 * cp.norm1(own - z), (own[0] >= z[1],)), (4,)
    )
    # t >= 1 - z and t >= 0 alone
    assert conic.form.cones.nonnegative == len(conic.form.b) == 8
    assert conic.prove_at(np.array([0.0, 2.0, 1.0, -1.0])).strict


@pytest.mark.parametrize("kind", ["parameter", "closure"])
def test_a_number_that_changes_between_runs_is_read_again(kind):
    X, _, y = sample(0)
    price, held = cp.Parameter(nonneg=True), {}
    loss = LOSSES["logistic"]

    def set_price(C):
        price.value = held["C"] = C

    set_price(1.0)
    C_of = price if kind == "parameter" else None
    formulation = Formulation(lambda z: (held["C"] if C_of is None else C_of) * loss(z), L1(1.0), intercept=True)
    for C in (1.0, 3.0, 0.3):
        set_price(C)
        run = column_generation(formulation, oracles.Stumps(X), y, tol=1e-6)
        found = run.certificate
        fresh = Formulation(lambda z, C=C: C * loss(z), L1(1.0), intercept=True)
        assert found.holds(1e-6)
        again = column_generation(fresh, oracles.Stumps(X), y, tol=1e-6)
        assert found.primal == pytest.approx(again.certificate.primal, rel=1e-6)
        # a problem over fixed columns, and a certificate of an ensemble, share the formulation with others
        H = np.column_stack([X[:, 0], -X[:, 1]])
        known = Problem(fresh, H, y).solve()
        again, expected = (Problem(each, H, y).certify(known) for each in (formulation, fresh))
        assert again.primal == pytest.approx(expected.primal, rel=1e-9)
        assert again.dual == pytest.approx(expected.dual, rel=1e-6)
        again, expected = (
            certify_ensemble(each, oracles.Stumps(X), y, [oracles.Constant(1)], run.u, [0.1], 0.0)
            for each in (formulation, fresh)
        )
        assert again.primal == pytest.approx(expected.primal, rel=1e-9)


def test_a_parameter_without_a_value_is_named():
    X, _, y = sample(0)
    price = cp.Parameter(nonneg=True, name="price")
    formulation = Formulation(lambda z: price * cp.sum(cp.logistic(-z)), L1(1.0))
    with pytest.raises(ValueError, match="the parameter 'price' without a value"):
        column_generation(formulation, oracles.Stumps(X), y)
