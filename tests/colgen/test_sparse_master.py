"""Smooth losses with an l1 penalty: Newton's proximal master against cvxpy, scikit-learn and a cold start."""

import numpy as np
import pytest
from brute_force import all_stumps, noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from cvxens.colgen import Column, Formulation, column_generation, formulations
from cvxens.colgen.masters import CvxpyMaster, HingeMaster, SparseMaster, fastest_master
from cvxens.colgen.masters.newton_masters import find_hessian
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Exponential, Hinge, Logistic, MulticlassExponential, SquaredHinge
from cvxens.problems.penalties import L1, SquaredL2
from cvxens.solvers.proximal_l1 import QuadraticModel, SparseProblem

SHAPES = st.tuples(st.integers(3, 30), st.integers(1, 40))
LOSSES = [Exponential, Logistic, SquaredHinge]


def drawn(seed, n, J):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, J))
    y = np.where(H[:, 0] + rng.normal(size=n) > 0.3, 1.0, -1.0)
    y[0], y[-1] = 1, -1
    return np.sign(H) if seed % 2 else H, y


def columns(H):
    return [Column(lambda _, h=h: h, None, 0.0) for h in H.T]


def solved(formulation, H, y, n_blocks=1, master=SparseMaster, **options):
    made = master(formulation, y, **options)
    for block in np.array_split(H, n_blocks, axis=1):
        made.add(columns(block))
        found = made.solve()
    return found


def of_three(C=0.5, *, nonnegative=False, seed=0, n=30):
    """MultiBoost's formulation with uneven prices, three classes and random labels, and the signs."""
    rng = np.random.default_rng(seed)
    labels = np.r_[0, 1, 2, rng.integers(3, size=n - 3)]
    loss = MulticlassExponential(C * rng.uniform(0.5, 2, n), labels, 3)
    return Formulation(loss, L1(0.8), outputs=3, nonnegative=nonnegative), np.ones((n, 1))


def gap(formulation, H, y, found):
    """The duality gap of the restricted problem by its definition."""
    loss, penalty = formulation.terms
    f = H @ found.w + found.b
    edges = H.T @ (y * found.u)
    excess = (edges if formulation.nonnegative else np.abs(edges)).max() / penalty.weight
    return loss.value(y * f) + penalty.weight * np.abs(found.w).sum() - loss.dual_value(found.u / max(1.0, excess))


@pytest.mark.parametrize("loss", LOSSES)
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), SHAPES, st.floats(-3, 3), st.tuples(st.booleans(), st.booleans()))
def test_the_duality_gap_closes(loss, seed, shape, exponent, forms):
    (intercept, nonnegative), (H, y) = forms, drawn(seed, *shape)
    formulation = Formulation(loss(10.0**exponent), L1(0.8), intercept=intercept, nonnegative=nonnegative)
    found = solved(formulation, H, y)
    assert gap(formulation, H, y, found) <= 1e-8 * found.objective
    assert found.u.min() >= 0
    assert not nonnegative or found.w.min() >= 0
    assert not intercept or abs(y @ found.u) <= 1e-9 * found.u.sum()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 25), st.floats(-2, 2), st.booleans())
def test_the_duality_gap_of_several_classes_closes(seed, J, exponent, nonnegative):
    formulation, y = of_three(10.0**exponent, nonnegative=nonnegative, seed=seed)
    H, _ = drawn(seed, len(y), J)
    found = solved(formulation, H, y)
    assert gap(formulation, H, y, found) <= 1e-8 * found.objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("C", [0.1, 50.0])
def test_both_masters_agree(loss, intercept, nonnegative, C):
    H, y = drawn(1, 40, 9)
    prices = C * np.random.default_rng(0).uniform(0.5, 2, 40)
    formulation = Formulation(loss(prices), L1(2.0), intercept=intercept, nonnegative=nonnegative)
    expected = solved(formulation, H, y, master=CvxpyMaster, solver="CLARABEL")
    found = solved(formulation, H, y)
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    assert found.objective <= expected.objective * (1 + 1e-9)
    assert_allclose(found.u, expected.u, atol=1e-3 * expected.u.max())


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("C", [0.1, 20.0])
def test_both_masters_agree_on_several_classes(nonnegative, C):
    formulation, y = of_three(C, nonnegative=nonnegative)
    H, _ = drawn(1, len(y), 8)
    expected = solved(formulation, H, y, master=CvxpyMaster, solver="CLARABEL")
    found = solved(formulation, H, y, 3)
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    assert_allclose(found.u, expected.u, atol=1e-3 * expected.u.max())


@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_the_logistic_optimum_is_that_of_scikit_learn(C):
    H, y = drawn(2, 80, 6)
    found = solved(Formulation(Logistic(C), L1()), H, y)
    machine = LogisticRegression(
        l1_ratio=1, C=C, solver="liblinear", tol=1e-10, max_iter=10_000, fit_intercept=False, random_state=0
    )
    assert_allclose(found.w, machine.fit(H, y).coef_[0], atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_growing_in_blocks_equals_all_at_once(loss):
    H, y = drawn(4, 50, 20)
    formulation = Formulation(loss(0.7), L1(), intercept=True)
    grown, cold = solved(formulation, H, y, 5), solved(formulation, H, y)
    assert grown.objective == pytest.approx(cold.objective, rel=1e-9)
    assert_allclose(grown.w, cold.w, atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_duplicated_negated_and_empty_columns_change_nothing(loss, nonnegative, intercept):
    H, y = drawn(3, 40, 7)
    formulation = Formulation(loss(2.0), L1(), nonnegative=nonnegative, intercept=intercept)
    once = solved(formulation, H, y)
    twice = solved(formulation, np.c_[H, np.zeros(40), H[:, ::-1]], y)
    assert twice.objective == pytest.approx(once.objective, rel=1e-8)
    negated = np.c_[H, -H]
    both = solved(formulation, negated, y)
    free = solved(Formulation(loss(2.0), L1(), intercept=intercept), H, y)
    assert both.objective == pytest.approx(free.objective, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_separable_samples_have_an_optimum_all_the_same(loss, C):
    y = np.repeat([1.0, -1.0], 10)
    H = np.c_[y, np.sign(np.random.default_rng(0).normal(size=(20, 5)))]
    formulation = Formulation(loss(C), L1(), intercept=True)
    found = solved(formulation, H, y)
    assert (y * (H @ found.w + found.b)).min() > 0
    assert gap(formulation, H, y, found) <= 1e-8 * found.objective


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_exactly_zero_where_the_penalty_is_too_strong(loss):
    H, y = drawn(5, 30, 6)
    largest = np.abs(H.T @ (y * loss(1.0).multipliers(np.zeros(30)))).max()
    assert not solved(Formulation(loss(1.0), L1(largest * 1.0001)), H, y).w.any()
    assert np.count_nonzero(solved(Formulation(loss(1.0), L1(largest * 0.999)), H, y).w) == 1


@pytest.mark.parametrize("kind", [Exponential, Logistic, SquaredHinge, MulticlassExponential])
def test_hessians_are_derivatives_of_the_edges(kind):
    rng = np.random.default_rng(0)
    H = rng.normal(size=(12, 4))
    labels = np.arange(12) % 3
    several = kind is MulticlassExponential
    loss = kind(1.7, labels, 3) if several else kind(1.7)
    n_outputs = 3 if several else 1
    j, k = np.array([0, 1, 1, 3]), np.array([0, 2, 0, 1]) % n_outputs
    W = 0.3 * rng.normal(size=(4, n_outputs))

    def multipliers(W):
        return loss.multipliers(H @ W if several else (H @ W)[:, 0]).reshape(-1, n_outputs)

    numerical = np.empty((4, 4))
    for a in range(4):
        ahead, back = W.copy(), W.copy()
        ahead[j[a], k[a]] += 1e-6
        back[j[a], k[a]] -= 1e-6
        numerical[a] = ((H.T @ multipliers(back) - H.T @ multipliers(ahead)) / 2e-6)[j, k]
    assert_allclose(find_hessian(loss)(multipliers(W), H[:, j].T, k), numerical, rtol=1e-5, atol=1e-5)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 8), st.booleans())
def test_the_quadratic_model_is_solved(seed, n, nonnegative):
    """Against scipy's bounded quasi-Newton method on the positive and negative parts."""
    rng = np.random.default_rng(seed)
    A, g, price = rng.normal(size=(n, n + 2)), 3 * rng.normal(size=n), rng.uniform(0.1, 2, n)
    B, w = A @ A.T, rng.normal(size=n)
    w = np.abs(w) if nonnegative else w
    low = np.full(n, 0.0 if nonnegative else -np.inf)
    v = QuadraticModel(B.copy(), price, low).minimise(w, g)

    def model(parts):
        d = parts[:n] - parts[n:] - w
        return g @ d + d @ B @ d / 2 + price @ (parts[:n] + parts[n:])

    bounds = [(0, None)] * n + [(0, 0 if nonnegative else None)] * n
    reference = minimize(model, np.zeros(2 * n), bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15})
    assert model(np.r_[np.maximum(v, 0), np.maximum(-v, 0)]) <= reference.fun + 1e-9 * max(1.0, abs(reference.fun))
    assert not nonnegative or v.min() >= 0


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_over_all_stumps_is_certified(loss, nonnegative):
    X, y = noisy()
    formulation = Formulation(loss(0.5), L1(), nonnegative=nonnegative)
    run = column_generation(formulation, Stumps(X), y, tol=1e-8)
    assert run.certificate.holds(1e-8)
    everything = solved(Formulation(loss(0.5), L1()), all_stumps(X), y)
    assert run.certificate.primal == pytest.approx(everything.objective, rel=1e-7)


def test_it_is_chosen_where_it_serves():
    y = np.array([1.0, -1.0])
    for loss in LOSSES:
        assert isinstance(fastest_master(Formulation(loss(1.0), L1()), y), SparseMaster)
    several = formulations.multiboost(1.0, np.array([0, 1, 2]))
    assert isinstance(fastest_master(several, several.signs(None)), SparseMaster)
    for other in (Formulation(Hinge(1.0), L1()), Formulation(Logistic(1.0), SquaredL2())):
        assert not SparseMaster.supports(other)


def test_an_interrupt_leaves_a_usable_master(monkeypatch):
    H, y = drawn(4, 30, 8)
    formulation = Formulation(Logistic(1.0), L1(), intercept=True)
    master = SparseMaster(formulation, y)
    master.add(columns(H))
    with monkeypatch.context() as patched:
        patched.setattr(SparseProblem, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            master.solve()
    assert master.solve().objective == pytest.approx(solved(formulation, H, y).objective, rel=1e-9)


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_loose_tolerance_is_kept_and_spares_steps(monkeypatch):
    H, y = drawn(6, 60, 30)
    formulation, steps, step = Formulation(Exponential(1.0), L1()), [], SparseProblem.step
    monkeypatch.setattr(SparseProblem, "step", lambda *given: steps.append(1) or step(*given))
    loose = solved(formulation, H, y, tol=0.05)
    n_loose = len(steps)
    tight = solved(formulation, H, y)
    assert 1e-9 * loose.objective < gap(formulation, H, y, loose) <= 0.05 * loose.objective
    assert n_loose < len(steps) - n_loose
    assert loose.objective >= tight.objective


@pytest.mark.parametrize(
    ("formulation", "tol", "message"),
    [
        (Formulation(Logistic(1.0), L1()), -1, r"^tol: found -1"),
        (Formulation(Hinge(1.0), L1()), 1e-9, r"^master: found SparseMaster for Hinge \+ L1"),
    ],
)
def test_what_cannot_be_used_is_named(formulation, tol, message):
    with pytest.raises(InvalidInput, match=message):
        SparseMaster(formulation, np.array([1.0, -1.0]), tol=tol)
    assert HingeMaster.supports(Formulation(Hinge(1.0), SquaredL2()))
