"""The block-wise solver against LIBSVM and the reference problem, with a matrix in memory and with a small cache."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.datasets import make_threenorm, make_twonorm
from cvxens.errors import InvalidInput
from cvxens.kernels import Gaussian, SimplifiedPerceptron, SimplifiedStump
from cvxens.kernels.radial import SimplifiedGaussian, SimplifiedLaplacian
from cvxens.limits import limit_threads
from cvxens.problems import SVMDual
from cvxens.solvers import Ending, blockwise, solve_svm_path
from cvxens.solvers.blockwise import (
    KernelRows,
    KernelSVM,
    close_gap,
    optimise_block,
    solve_blockwise,
    solve_prices,
    sum_objective,
    sum_room,
)
from cvxens.solvers.svm_solution import SVMSolution

KERNELS = [SimplifiedStump(), SimplifiedPerceptron(), Gaussian(0.1)]
X, Y = make_threenorm(300, 5, random_state=0)


def by_pairs(K, point, bounds, n_steps):
    """The steps of `optimise_block`, by search over all pairs."""
    (v, r), (low, high) = point, bounds
    for _ in range(n_steps):
        up, down = np.flatnonzero(v < high), np.flatnonzero(v > low)
        i = up[r[up].argmax()]
        fall = np.maximum(r[i] - r[down], 0)
        curvature = K[i, i] + K[down, down] - 2 * K[i, down]
        j = down[(fall**2 / np.maximum(curvature, 1e-12)).argmax()]
        length = min((r[i] - r[j]) / (K[i, i] + K[j, j] - 2 * K[i, j]), high[i] - v[i], v[j] - low[j])
        v[[i, j]] += [length, -length]
        r -= length * (K[i] - K[j])


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK", 32)
    monkeypatch.setattr(blockwise, "WHOLE", 32)


def test_rows_that_are_evaluated_anew_change_nothing(small_blocks, monkeypatch):
    """On one thread and on two to the last bit."""
    monkeypatch.setattr(blockwise, "LARGE_BLOCK", 40)
    dense, found = solve_blockwise(KernelSVM.of(KERNELS[1](X), Y, 0.5), 1e-8), []
    for n_threads in (1, 2):
        rows = KernelRows.of(KERNELS[1], X)
        with limit_threads(n_threads):
            found.append(solve_blockwise(KernelSVM.of(rows, Y, 0.5), 1e-8))
        assert rows.K is None
        assert found[-1].history[-1].steps > 5
        assert found[-1].certificate.holds(1e-8)
    assert found[0].objective == pytest.approx(dense.objective, rel=1e-8)
    np.testing.assert_array_equal(found[0].u, found[1].u)
    exact = SVMDual(KERNELS[1](X), Y, 0.5).certify(u=found[0].u, b=found[0].b)
    assert exact.relative_gap <= found[0].certificate.relative_gap + 1e-12


SMOOTH = [SimplifiedPerceptron(), SimplifiedGaussian(0.1), SimplifiedLaplacian(0.1)]


@pytest.mark.parametrize("tol", [1e-2, 1e-7])
@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_single_precision_is_the_beginning_only(kernel, tol, small_blocks, monkeypatch):
    """Every level on the way bounds the optimum, and the last one is of double precision; on one thread and on two."""
    monkeypatch.setattr(blockwise, "SINGLE_BLOCK", 60)
    optimum, found = solve_blockwise(KernelSVM.of(kernel(X), Y, 0.5), 1e-10).objective, []
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            found.append(solve_blockwise(KernelSVM.of(KernelRows.of(kernel, X), Y, 0.5), tol))
    np.testing.assert_array_equal(found[0].u, found[1].u)
    low, high = optimum * (1 - 1e-9), optimum * (1 + 1e-9)
    assert all(level.bound <= low and high <= level.objective for level in found[0].history)
    exact = SVMDual(kernel(X), Y, 0.5).certify(u=found[0].u, b=found[0].b)
    assert exact.relative_gap <= found[0].certificate.relative_gap + 1e-12
    assert found[0].certificate.holds(tol)
    assert_allclose(found[0].f, kernel(X) @ (Y * found[0].u), rtol=1e-11)


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_an_interrupt_in_single_precision_counts_what_is_lost(calls, small_blocks):
    kernel, seen = SMOOTH[1], []
    problem = KernelSVM.of(KernelRows.of(kernel, X), Y, 0.5)
    block = problem.rows.single.block

    def interrupt(chosen):
        seen.append(chosen)
        if len(seen) > calls:
            raise KeyboardInterrupt
        return block(chosen)

    problem.rows.single.block = interrupt
    solution = solve_blockwise(problem, 1e-7)
    assert solution.ending is Ending.INTERRUPTED
    certificate, exact = solution.certificate, SVMDual(kernel(X), Y, 0.5).certify(u=solution.u, b=solution.b)
    assert problem.rows.single.error * solution.u.sum() <= solution.drift
    assert np.abs(solution.f - kernel(X) @ (Y * solution.u)).max() <= solution.drift
    assert certificate.dual - certificate.rounding <= exact.dual
    assert certificate.primal - certificate.rounding <= exact.primal <= certificate.primal + certificate.rounding


@given(st.integers(0, 10**6), st.floats(-1, 2), st.sampled_from([np.float32, np.float64]))
def test_a_block_is_settled_by_its_gap(seed, log_C, dtype):
    sample, y = make_twonorm(60, 3, random_state=seed)
    C = 10**log_C
    K, bounds = SMOOTH[seed % 3](sample).astype(dtype), np.stack([np.minimum(C * y, 0.0), np.maximum(C * y, 0.0)])
    point = np.stack([np.zeros(60), y])
    # of an objective outside that is far larger than its own
    gap, outside = 1e-2 * sum_room(point, bounds), -1e6 * sum_room(point, bounds)
    n_steps = close_gap(K, point, bounds, y, outside, gap / -outside, 0.0, 100_000)
    assert sum_room(point, bounds) <= 1.001 * gap or n_steps % 64
    v, r = point
    assert (bounds[0] <= v).all()
    assert (v <= bounds[1]).all()
    assert abs(v.sum()) <= 1e-12 * np.abs(v).sum()
    rounding = np.finfo(dtype).eps * (np.abs(K) @ np.abs(v) + 1).max()
    assert_allclose(r, y - K.astype(float) @ v, atol=4 * n_steps * rounding)


@given(st.integers(0, 10**6), st.booleans(), st.lists(st.integers(0, 19), min_size=1, max_size=60))
def test_rows_are_those_of_the_matrix(seed, own, asked):
    rng = np.random.default_rng(seed)
    sample = rng.normal(size=(20, 2))
    K, rows = KERNELS[2](sample), KernelRows.of(KERNELS[2].__call__ if own else KERNELS[2], sample)
    for first in range(0, len(asked), 7):
        chosen = np.unique(asked[first : first + 7])
        weights, f = rng.normal(size=len(chosen)), np.zeros(20)
        assert_allclose(rows.block(chosen), K[np.ix_(chosen, chosen)], atol=1e-12)
        rows.add(chosen, weights, f)
        assert_allclose(f, K[:, chosen] @ weights, atol=1e-12)
    v, V, (left, right) = rng.normal(size=20), rng.normal(size=(12, 2)), np.split(rng.permutation(20), [8])
    assert_allclose(rows.scores(v), K @ v, atol=1e-12)
    assert (rows.absolute_product(np.abs(v)) >= np.abs(K) @ np.abs(v) - 1e-12).all()
    assert_allclose(rows.cross(left, right, V), K[np.ix_(left, right)] @ V, atol=1e-12)
    assert_allclose(rows.among(np.sort(left)).scores(np.ones(8)), K[np.ix_(left, left)].sum(axis=1)[np.argsort(left)])


@pytest.mark.parametrize("seed", range(5))
def test_the_steps_are_those_of_a_search_over_all_pairs(seed):
    sample, y = make_twonorm(30, 3, random_state=seed)
    K, bounds = KERNELS[2](sample), np.stack([np.minimum(y, 0.0), np.maximum(y, 0.0)])
    fast, slow = (np.stack([np.zeros(30), y]) for _ in range(2))
    assert optimise_block(K, fast, bounds, 1e-3, 8) == 8
    by_pairs(K, slow, bounds, 8)
    assert_allclose(fast, slow, atol=1e-9)
    assert_allclose(fast[1], y - K @ fast[0], atol=1e-9)


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_the_gap_is_a_sum_of_terms_of_one_sign(seed, share_at_bounds):
    """At b between the largest and the smallest r: sum of (r - b)+ (high - v) + (b - r)+ (v - low)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    y, C, points = np.where(np.arange(n) % 2, 1.0, -1.0), 10 ** rng.uniform(-2, 2, n), rng.normal(size=(n, 3))
    K = Gaussian(0.1)(points)
    # multipliers that are balanced, some of them at 0
    u = C.min() * rng.random(n) * (rng.random(n) > share_at_bounds)
    total = min(u[y > 0].sum(), u[y < 0].sum())
    u = np.where(y > 0, u * total / max(u[y > 0].sum(), 1e-300), u * total / max(u[y < 0].sum(), 1e-300))
    v, bounds = y * u, np.stack([np.minimum(y * C, 0), np.maximum(y * C, 0)])
    f = K @ v
    point = np.stack([v, y - f])
    gap, objective = sum_room(point, bounds), sum_objective(point, y)
    b = ((y - f)[v < bounds[1]].max() + (y - f)[v > bounds[0]].min()) / 2
    slack = C @ np.maximum(0, 1 - y * (f + b))
    assert_allclose([objective, objective - gap], [v @ f / 2 - u.sum(), -(v @ f / 2 + slack)], rtol=1e-9, atol=1e-12)
    best = SVMDual(K, y, C).certify(u=u)
    assert objective - gap <= best.dual + 1e-9 * abs(best.dual)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(-4, 2))
def test_the_steps_end_where_the_gap_is_closed(seed, log_C):
    sample, y = make_twonorm(40, 3, random_state=seed)
    K, C = KERNELS[seed % 3](sample), 10**log_C
    point, bounds = np.stack([np.zeros(40), y]), C * np.stack([np.minimum(y, 0.0), np.maximum(y, 0.0)])
    close_gap(K, point, bounds, y, 0.0, 1e-4, 0.0, 10**6)
    certificate = SVMDual(K, y, C).certify(u=y * point[0])
    assert certificate.relative_gap <= 1e-4 + 1e-9
    assert_allclose(y - K @ point[0], point[1], atol=1e-9 * (1 + np.abs(point[1]).max()))


def test_steps_are_limited():
    point, bounds = np.stack([np.zeros(300), Y]), np.stack([np.minimum(Y, 0.0), np.maximum(Y, 0.0)])
    assert optimise_block(KERNELS[2](X), point, bounds, 1e-9, 5) == 5
    assert np.count_nonzero(point[0]) <= 10


def test_all_prices_by_one_loop_are_single_problems(monkeypatch):
    Cs, prices = 2.0 ** np.arange(-9, 4, 3), np.random.default_rng(0).uniform(0.5, 2, 300)
    for kernel in KERNELS:
        problem = KernelSVM.of(kernel(X), Y, prices)
        single = [solve_blockwise(problem.priced(C * prices), 1e-8) for C in Cs]
        found = solve_prices(problem, Cs, 1e-8)
        assert not any(isinstance(machine, SVMSolution) for machine in found)
        for C, machine, solution in zip(Cs, found, single, strict=True):
            certificate = problem.priced(C * prices).solution_at(Y * machine.v).certificate
            assert certificate.relative_gap == pytest.approx(machine.relative_gap, abs=1e-9)
            assert machine.relative_gap <= 1e-8
            assert certificate.primal == pytest.approx(solution.objective, rel=1e-7)
    # what the loop leaves open is solved by itself
    monkeypatch.setattr(blockwise, "STEPS", 0)
    assert all(isinstance(machine, SVMSolution) for machine in solve_prices(problem, Cs, 1e-8))


def test_a_start_at_other_prices_is_made_feasible():
    """Also where the prices of the samples do not change by one factor."""
    K, random = KERNELS[2](X[:60]), np.random.default_rng(0)
    before, after = (KernelSVM.of(K, Y[:60], random.uniform(0.1, 2.0, 60)) for _ in range(2))
    cold = solve_blockwise(after, 1e-9)
    warm = solve_blockwise(after, 1e-9, start=solve_blockwise(before, 1e-9))
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
    assert warm.certificate.holds(1e-8)
    assert (warm.u <= after.C).all()


def test_multipliers_out_of_balance_are_primal_infeasible():
    problem = KernelSVM.of(np.eye(4), [1.0, 1.0, 1.0, -1.0], 1.0)
    u = np.array([0.5, 0.5, 0.5, 0.5])
    residuals = problem.solution_at(u, problem.rows.scores(problem.y * u)).certificate.residuals
    assert residuals["primal feasibility"] == pytest.approx(0.5)


def test_scores_that_have_drifted_are_computed_anew(monkeypatch):
    K = KERNELS[0](X[:60])
    add = KernelRows.add

    def drifting(self, block, change, f):
        add(self, block, change, f)
        f += 1e-7 * np.abs(f).max()

    monkeypatch.setattr(KernelRows, "add", drifting)
    solution = solve_blockwise(KernelSVM.of(K, Y[:60], 1.0), 1e-4)
    assert_allclose(solution.f, K @ (Y[:60] * solution.u), atol=1e-10 * np.abs(solution.f).max())
    assert solution.objective == pytest.approx(SVMDual(K, Y[:60], 1.0).certify(u=solution.u).primal, rel=1e-12)


def test_an_interrupt_leaves_the_best_point(small_blocks, monkeypatch):
    rows, calls = KernelRows.of_matrix(KERNELS[0](X)), []

    def interrupt(chosen):
        calls.append(chosen)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return rows.K[np.ix_(chosen, chosen)]

    monkeypatch.setattr(rows, "block", interrupt)
    path = solve_svm_path(solve_blockwise, KernelSVM.of(rows, Y, 1.0), [1.0, 2.0], 1e-9)
    assert [s.ending for s in path] == [Ending.INTERRUPTED]
    assert len(path[0].history) == 4
    assert path[0].relative_gap == pytest.approx(min(level.relative_gap for level in path[0].history), rel=1e-9)


def test_a_tolerance_below_rounding_ends():
    solution = solve_blockwise(KernelSVM.of(KERNELS[0](X[:40]), Y[:40], 1.0), 1e-300)
    assert solution.ending in {Ending.ROUNDING, Ending.OPTIMAL}
    assert solution.relative_gap < 1e-10


def test_an_indefinite_kernel():
    with pytest.raises(InvalidInput, match="PSD"):
        solve_blockwise(KernelSVM.of([[0.0, 2.0], [2.0, 0.0]], [1.0, -1.0], 1.0))


def by_rows(K):
    """A kernel matrix whose rows are asked for."""
    places = np.arange(len(K))[:, None]
    return KernelRows.of(lambda i, j: K[np.ix_(i[:, 0].astype(int), j[:, 0].astype(int))], places)


@pytest.mark.product(rows=[KernelRows.of_matrix, by_rows], scale=[1e-100, 1.0, 1e100])
def test_rounding_makes_no_kernel_indefinite(rows, scale):
    """The optimal w is 0, so that K v = 0 and all that is left of v'K v is rounding of either sign."""
    for seed in range(20):
        a = np.random.default_rng(seed).normal(size=(3, 2))
        points = np.concatenate([a, -a, a * [1, -1], -a * [1, -1]])
        y = np.repeat([1.0, -1.0], 6)
        solution = solve_blockwise(KernelSVM.of(rows(scale * points @ points.T), y, 100 / scale), 1e-9)
        assert solution.certificate.holds(1e-9)
        assert solution.objective == pytest.approx(-1200 / scale, rel=1e-9)


def test_rounding_makes_no_kernel_of_rank_one_indefinite():
    for seed in range(100):
        x = np.random.default_rng(seed).uniform(0, 10, 20)
        y = np.where(np.floor(x) % 2 == 1, 1.0, -1.0)
        if abs(y.sum()) < len(y):
            assert solve_blockwise(KernelSVM.of(np.outer(x, x), y, 1.0), 1e-3).certificate.proven


@pytest.mark.product(rows=[KernelRows.of_matrix, by_rows], scale=[1e-100, 1.0, 1e100])
def test_kernels_that_are_indefinite_by_little_are_refused(rows, scale):
    """One direction has the eigenvalue -1e-6, among others of 1; labels make it the solver's."""
    for n in (2, 5, 12):
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        y -= y.mean()
        direction = np.outer(y, y) / (y @ y)
        K = np.ones((n, n)) - 1e-6 * direction
        with pytest.raises(InvalidInput, match="PSD"):
            KernelSVM.of(rows(scale * K), np.sign(y), 1 / scale).solution_at(np.abs(y) / scale)
