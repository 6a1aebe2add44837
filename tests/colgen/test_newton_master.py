"""Newton's method for hinges and smooth losses with the penalties that it takes: against cvxpy and a cold start."""

import numpy as np
import pytest
from brute_force import as_columns, assert_optimum, interrupted
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import CvxpyMaster, NewtonMaster, fastest_master
from cvxens.colgen.masters.newton_masters import find_hessian
from cvxens.colgen.oracles import Stumps
from cvxens.problems.losses import Exponential, Hinge, Logistic, MulticlassExponential, SquaredError, SquaredHinge
from cvxens.problems.penalties import L1, RowNorms, SquaredL2
from cvxens.solvers.byte_rows import ListedRows, pack
from cvxens.solvers.newton import KeptCurvature, QuadraticModel, SmoothProblem, SparseProblem, find_root
from cvxens.solvers.proximal_hinge import HingePoint, ProximalHinge

SHAPES = st.tuples(st.integers(3, 30), st.integers(1, 40))
LOSSES = [Exponential, Logistic, SquaredHinge]
PENALTIES = [L1(0.8), SquaredL2(0.8)]
of_each = pytest.mark.parametrize("loss", LOSSES)
of_every = pytest.mark.parametrize(
    ("loss", "penalty"), [*((loss, penalty) for loss in LOSSES for penalty in PENALTIES), (Hinge, PENALTIES[1])]
)


def drawn(seed, n, J):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, J))
    y = np.where(H[:, 0] + rng.normal(size=n) > 0.3, 1.0, -1.0)
    y[0], y[-1] = 1, -1
    return np.sign(H) if seed % 2 else H, y


def solved(formulation, H, y, n_blocks=1, master=NewtonMaster, **options):
    made = master(formulation, y, **options)
    for block in np.array_split(H, n_blocks, axis=1):
        made.add(as_columns(block))
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
    primal = loss.value(y * (H @ found.w + found.b)) + penalty.value(found.w)
    edges = H.T @ (y * found.u)
    edges = np.maximum(edges, 0) if formulation.nonnegative else np.abs(edges)
    if isinstance(penalty, SquaredL2):
        return primal - loss.dual_value(found.u) + float((edges**2).sum()) / (2 * penalty.ridge)
    return primal - loss.dual_value(found.u / max(1.0, edges.max() / penalty.weight))


@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 8), st.integers(1, 3)),
    shared=st.booleans(),
    nonnegative=st.booleans(),
)
def test_models_are_minimised(seed, shape, shared, nonnegative):
    """Minus the slope of the model is in the subdifferential of the penalty, row by row."""
    random = np.random.default_rng(seed)
    (k, n_outputs), size = shape, random.choice([0.0, 0.5, 2.0], shape[0])
    size[0], nonnegative = 1.0, nonnegative and n_outputs == 1
    A = random.normal(size=(1 if shared else n_outputs, k, k + 2))
    B = A @ A.transpose(0, 2, 1)
    W, R = random.normal(size=shape), 3 * random.normal(size=shape)
    W = np.abs(W) if nonnegative else W
    V = QuadraticModel(B.copy(), size, np.full(k, 0.0 if nonnegative else -np.inf), little=0.0).minimise(W, R)
    slope = R + np.stack([B[t % len(B)] @ (V - W)[:, t] for t in range(n_outputs)], axis=1)
    norms = np.linalg.norm(V, axis=1)
    inside = norms > 0
    units = V[inside] / norms[inside, None]
    scale = 1 + np.abs(B).max() * np.abs(V).max() + np.abs(R).max()
    assert np.abs(slope[inside] + size[inside, None] * units).max(initial=0.0) <= 1e-8 * scale
    pull = -slope[~inside, 0] if nonnegative else np.linalg.norm(slope[~inside], axis=1)
    assert (pull <= size[~inside] + 1e-8 * scale).all()
    assert not nonnegative or V.min() >= 0


@given(st.integers(0, 10**6), st.booleans())
def test_products_that_are_kept_are_those_of_all_columns(seed, intercept):
    random, kept = np.random.default_rng(seed), KeptCurvature()
    rows, D = random.normal(size=(9, 20)), random.uniform(0.5, 1.0, 20)
    # as many columns as there are by then, curvatures that are near, and some that are not
    for n, drift in ((4, 0.0), (4, 0.01), (9, 0.06), (9, 1.0), (9, 0.01)):
        if drift == 1.0:
            D = 2 * D
        kept.follow(D * (1 + drift % 1 * random.choice([-1.0, 1.0], 20)))
        j = random.permutation(n)[: n // 2]
        X = np.vstack([rows[j], np.ones((int(intercept), 20))])
        assert_allclose(kept.find(ListedRows(20, map(pack, rows[:n])), j, intercept), (X * D) @ X.T, atol=1e-12)
        assert kept.is_near == (drift != 0.06)
    # models are blind along the way of a sample whose loss was linear, however little it adds
    D[:2] = 0.0, 1e-3
    kept.follow(D, 0.0)
    for entering, is_near in ((1, True), (0, False)):
        kept.follow(D + 1e-3 * np.eye(20)[entering])
        assert kept.is_near == is_near


@pytest.mark.thinned(1)
@of_every
@given(st.integers(0, 10**6), SHAPES, st.floats(-4, 3), st.tuples(st.booleans(), st.booleans()))
def test_the_duality_gap_closes(loss, penalty, seed, shape, exponent, forms):
    (intercept, nonnegative), (H, y) = forms, drawn(seed, *shape)
    formulation = Formulation(loss(10.0**exponent), penalty, intercept=intercept, nonnegative=nonnegative)
    found = solved(formulation, H, y)
    assert gap(formulation, H, y, found) <= 1e-8 * found.objective
    assert found.u.min() >= 0
    assert not nonnegative or found.w.min() >= 0
    assert not intercept or abs(y @ found.u) <= 1e-9 * found.u.sum()


@given(st.integers(0, 10**6), st.integers(1, 25), st.floats(-2, 2), st.booleans())
def test_the_duality_gap_of_several_classes_closes(seed, J, exponent, nonnegative):
    formulation, y = of_three(10.0**exponent, nonnegative=nonnegative, seed=seed)
    H, _ = drawn(seed, len(y), J)
    assert gap(formulation, H, y, found := solved(formulation, H, y)) <= 1e-8 * found.objective


@pytest.mark.product(penalty=PENALTIES, C=[1e-3, 0.05, 1.0, 1e3])
def test_the_logistic_optimum_is_that_of_scikit_learn(penalty, C):
    H, y = drawn(2, 80, 6)
    sparse = isinstance(penalty, L1)
    found = solved(Formulation(Logistic(C), penalty, intercept=not sparse), H, y)
    # C / 0.8 makes of a penalty of weight 0.8 one of weight 1
    options = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky", "random_state": 0}
    options |= {"l1_ratio": 1, "solver": "liblinear", "fit_intercept": False} if sparse else {}
    machine = LogisticRegression(C=C / 0.8, **options).fit(H, y)
    assert_allclose(found.w, machine.coef_[0], atol=1e-5)
    assert_allclose(found.b, 0.0 if sparse else machine.intercept_[0], atol=1e-5)


@of_every
def test_growing_in_blocks_equals_all_at_once(loss, penalty):
    H, y = drawn(4, 50, 20)
    formulation = Formulation(loss(0.7), penalty, intercept=True)
    grown, cold = solved(formulation, H, y, 5), solved(formulation, H, y)
    assert grown.objective == pytest.approx(cold.objective, rel=1e-9)
    assert_allclose(grown.w, cold.w, atol=1e-4)


@pytest.mark.product(intercept=[True, False], nonnegative=[True, False])
@of_each
def test_duplicated_negated_and_empty_columns_change_nothing(loss, nonnegative, intercept):
    H, y = drawn(3, 40, 7)
    formulation = Formulation(loss(2.0), L1(), nonnegative=nonnegative, intercept=intercept)
    once = solved(formulation, H, y)
    twice = solved(formulation, np.c_[H, np.zeros(40), H[:, ::-1]], y)
    assert twice.objective == pytest.approx(once.objective, rel=1e-8)
    both = solved(formulation, np.c_[H, -H], y)
    free = solved(Formulation(loss(2.0), L1(), intercept=intercept), H, y)
    assert both.objective == pytest.approx(free.objective, rel=1e-8)


@of_each
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_separable_samples_have_an_optimum_all_the_same(loss, C):
    y = np.repeat([1.0, -1.0], 10)
    H = np.c_[y, np.sign(np.random.default_rng(0).normal(size=(20, 5)))]
    formulation = Formulation(loss(C), L1(), intercept=True)
    found = solved(formulation, H, y)
    assert (y * (H @ found.w + found.b)).min() > 0
    assert gap(formulation, H, y, found) <= 1e-8 * found.objective


@of_each
def test_weights_are_exactly_zero_where_the_penalty_is_too_strong(loss):
    H, y = drawn(5, 30, 6)
    largest = np.abs(H.T @ (y * loss(1.0).multipliers(np.zeros(30)))).max()
    assert not solved(Formulation(loss(1.0), L1(largest * 1.0001)), H, y).w.any()
    assert np.count_nonzero(solved(Formulation(loss(1.0), L1(largest * 0.999)), H, y).w) == 1


@pytest.mark.parametrize("kind", [*LOSSES, MulticlassExponential])
def test_hessians_are_derivatives_of_the_edges(kind):
    rng = np.random.default_rng(0)
    H = rng.normal(size=(12, 4))
    several = kind is MulticlassExponential
    loss = kind(1.7, np.arange(12) % 3, 3) if several else kind(1.7)
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
    found = find_hessian(loss)(multipliers(W), H[:, j].T, k).reshape(4, 4)
    assert_allclose(found, numerical, rtol=1e-5, atol=1e-5)


def test_rows_and_squares_of_several_outputs_end_at_the_optimum():
    random = np.random.default_rng(5)
    X, targets = random.integers(0, 6, (24, 2)).astype(float), random.normal(size=(24, 2))
    loss = SquaredError(np.linspace(0.5, 2.0, 24), targets)
    formulation = Formulation(loss, RowNorms(2.0) + SquaredL2(0.5), intercept=True, outputs=2)
    assert isinstance(fastest_master(formulation, formulation.signs(None, 24)), NewtonMaster)
    kinds = (NewtonMaster, CvxpyMaster)
    found, known = (column_generation(formulation, Stumps(X), tol=1e-8, master=master) for master in kinds)
    assert_optimum(found, known.certificate.primal, gap=1e-7)


@pytest.mark.parametrize(
    ("loss", "penalty", "problem", "step"),
    [
        (Logistic, L1(), SparseProblem, "step"),
        (Logistic, SquaredL2(), SmoothProblem, "_step"),
        (Hinge, SquaredL2(), ProximalHinge, "_proximal"),
    ],
)
def test_an_interrupt_leaves_a_usable_master(monkeypatch, loss, penalty, problem, step):
    H, y = drawn(4, 30, 8)
    formulation = Formulation(loss(1.0), penalty, intercept=True)
    master = NewtonMaster(formulation, y)
    master.add(as_columns(H))
    with monkeypatch.context() as patched:
        patched.setattr(problem, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            master.solve()
    assert master.solve().objective == pytest.approx(solved(formulation, H, y).objective, rel=1e-9)


def test_a_loose_tolerance_is_kept_and_spares_steps(monkeypatch):
    H, y = drawn(6, 60, 30)
    formulation, steps, step = Formulation(Exponential(1.0), L1(0.8)), [], SparseProblem.step
    monkeypatch.setattr(SparseProblem, "step", lambda *given: steps.append(1) or step(*given))
    loose = solved(formulation, H, y, tol=0.05)
    n_loose = len(steps)
    tight = solved(formulation, H, y)
    assert 1e-9 * loose.objective < gap(formulation, H, y, loose) <= 0.05 * loose.objective
    assert n_loose < len(steps) - n_loose
    assert loose.objective >= tight.objective


KINDS = {
    "normal": lambda rng, n, J: rng.normal(size=(n, J)),
    "signs": lambda rng, n, J: np.sign(rng.normal(size=(n, J))),
    "duplicated columns": lambda rng, n, J: np.sign(rng.normal(size=(n, J)))[:, rng.integers(0, J, J)],
    "opposed columns": lambda rng, n, J: np.hstack([H := rng.normal(size=(n, J)), -H[:, : J // 2]]),
    "duplicated samples": lambda rng, n, J: rng.normal(size=(n, J)).round()[rng.integers(0, n, n)],
    "badly scaled": lambda rng, n, J: rng.normal(size=(n, J)) * 10.0 ** rng.uniform(-2, 2, J),
    "constant": lambda rng, n, J: np.ones((n, J)),
}


@pytest.mark.parametrize("nonnegative", [True, False])
@given(st.integers(0, 10**6), st.sampled_from(list(KINDS)), st.integers(2, 40), st.integers(1, 50), st.floats(-4, 3))
def test_the_gap_of_hinges_closes_whatever_the_columns(nonnegative, seed, kind, n, J, exponent):
    """By the definition of both objectives of LL08 P1; where w >= 0, negative edges take nothing off the bound."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
    y[0], y[-1] = 1, -1
    H, C = KINDS[kind](rng, n, J), 10.0**exponent
    found = solved(Formulation(Hinge(C), SquaredL2(), intercept=True, nonnegative=nonnegative), H, y)
    primal = C * np.maximum(1 - y * (H @ found.w + found.b), 0).sum() + found.w @ found.w / 2
    edges = H.T @ (y * found.u)
    dual = found.u.sum() - np.square(np.maximum(edges, 0) if nonnegative else edges).sum() / 2
    assert primal - dual <= 1e-7 * primal
    assert found.objective == pytest.approx(primal, rel=1e-9)
    assert not nonnegative or found.w.min() >= 0
    assert 0 <= found.u.min() <= found.u.max() <= C
    assert abs(y @ found.u) <= 1e-9 * found.u.sum()


def test_joined_points_have_the_better_weights_and_the_better_multipliers():
    light = HingePoint(np.ones(1), 1.0, np.zeros(2), primal=1.0, dual=0.0)
    tight = HingePoint(np.zeros(1), 2.0, np.ones(2), primal=2.0, dual=0.5)
    both = HingePoint(light.w, light.b, tight.u, light.primal, tight.dual)
    assert vars(light.combine(tight)) == vars(tight.combine(light)) == vars(both)
    assert vars(both.combine(light)) == vars(light.combine(both)) == vars(both.combine(tight)) == vars(both)


def solve_hinges(H, y, C, point=None):
    return ProximalHinge(y, np.full(len(y), C), 1.0, True, 1e-10).solve(H.T, point or HingePoint.zero(len(y)))


@pytest.mark.parametrize("order", [1, -1])
def test_a_start_from_another_price_ends_where_a_cold_one_does(order):
    H, y = drawn(8, 300, 10)
    warm = None
    for C in (2.0 ** np.arange(-8, 9, 2))[::order]:
        cold, warm = solve_hinges(H, y, C), solve_hinges(H, y, C, warm)
        assert warm.primal == pytest.approx(cold.primal, rel=1e-8)
        assert_allclose(warm.w, cold.w, atol=1e-3)


@pytest.mark.parametrize("start", ["zero", "bound", "random"])
def test_any_multipliers_may_be_started_from(start):
    H, y = drawn(12, 70, 4)
    rng = np.random.default_rng(0)
    u = {"zero": np.zeros(70), "bound": np.full(70, 0.3), "random": rng.uniform(0, 2, 70)}[start]
    point = solve_hinges(H, y, 0.3, HingePoint(rng.normal(size=2), 5.0, u, np.inf, -np.inf))
    assert point.primal == pytest.approx(solve_hinges(H, y, 0.3).primal, rel=1e-9)


def test_shrinking_leaves_the_solution_alone():
    rng = np.random.default_rng(1)
    H = rng.normal(size=(3000, 3))
    y = np.where(H[:, 0] + 0.3 * rng.normal(size=3000) > 0.2, 1.0, -1.0)
    point = solve_hinges(H, y, 2.0)
    assert point.gap <= 1e-10
    assert 0 < np.count_nonzero((point.u > 1e-9) & (point.u < 2 - 1e-9)) <= 4


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0, 5))
def test_roots_are_found_from_anywhere(root, start, kink):
    def slope(t):
        # flat pieces beside a steep one
        return float(np.clip(9 * (t - root), -1 - kink, 1)), 9.0 if -1 - kink < 9 * (t - root) < 1 else 0.0

    assert find_root(slope, start, tolerance=1e-9) == pytest.approx(root, abs=1e-9)
