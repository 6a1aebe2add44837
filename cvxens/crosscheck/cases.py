"""How each formulation is put to the test: its problem on a sample, and the fast way to solve it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cvxens.certificates import Certificate
from cvxens.colgen import Ending, Formulation, Run, column_generation, formulations
from cvxens.colgen.masters import HighsMaster
from cvxens.colgen.oracles import Stumps
from cvxens.crosscheck.row import Side
from cvxens.crosscheck.sample import Sample
from cvxens.errors import NotSeparable
from cvxens.kernels import Stump
from cvxens.problems import (
    SLSSVM,
    EntropyProjection,
    HardMarginBoosting,
    InfiniteSVM,
    LPBoost,
    Problem,
    RegularizedExpLoss,
    RegularizedLeastSquares,
    RhoSVM,
    Signed,
    SoftMarginBoosting,
    StumpColumns,
    SVMDual,
    SVMPrimal,
)
from cvxens.solvers import (
    solve_entropy_projection,
    solve_regularized_exp_loss,
    solve_regularized_least_squares,
    solve_rho_svm,
    solve_slssvm,
    solve_svm_dual,
    solve_svm_primal,
)
from cvxens.types import Array, Solution

Answer = tuple[Side, Certificate]


@dataclass(frozen=True)
class Case:
    """One formulation on one sample.

    Parameters
    ----------
    problem : Problem
        What the reference solves.
    fast : callable
        Solves the same by the fast path; returns its answer and the certificate of it.
    over : str
        What the hypotheses are.
    """

    problem: Problem
    fast: Callable[[], Answer]
    over: str


def kernel_side(problem: Problem, solve: Callable[..., Solution], over: str) -> Case:
    """A case whose fast path is one of `cvxens.solvers`."""

    def fast() -> Answer:
        start = time.perf_counter()
        solution = solve(problem)
        seconds = time.perf_counter() - start
        return Side(solution.solver, solution.objective, seconds), problem.certify(solution)

    return Case(problem, fast, over)


def by_columns(problem: Problem, formulation: Formulation, sample: Sample, over: str = "all stumps") -> Case:
    """A case whose fast path is column generation over all stumps, with HiGHS; the oracle is compiled beforehand."""
    oracle = Stumps(sample.X)
    oracle.price(sample.y)

    def fast() -> Answer:
        start = time.perf_counter()
        try:
            run = generate(formulation, oracle, sample.y)
            objective, certificate = run.certificate.primal, run.certificate
        except NotSeparable as proof:
            objective, certificate = np.inf, infeasible(proof)
        return Side("HiGHS columns", objective, time.perf_counter() - start), certificate

    return Case(problem, fast, over)


def generate(formulation: Formulation, oracle: Stumps, y: Array) -> Run:
    """Run column generation with HiGHS to the end, or not at all."""
    run = column_generation(formulation, oracle, y, tol=1e-9, master=HighsMaster)
    if run.ending is Ending.INTERRUPTED:
        raise KeyboardInterrupt
    return run


def infeasible(proof: NotSeparable) -> Certificate:
    """The certificate of infeasibility: the Farkas vector's largest edge, at most 0 up to rounding, is its residual."""
    residuals = {"Farkas vector": max(0.0, proof.max_edge)}
    return Certificate(np.inf, np.inf, 0.0, 0.0, residuals, {}, True, "no feasible point, by the Farkas vector")


def svm_primal(sample: Sample) -> Case:
    """P1 over all stumps; C is one over the mean diagonal of H H', so that the scale of H is of no account."""
    H = StumpColumns(sample.X)
    return kernel_side(SVMPrimal(H, sample.y, 1 / H.shape[1]), solve_svm_primal, "all stumps")


def svm_dual(sample: Sample) -> Case:
    """P2 with the stump kernel, C one over its mean diagonal."""
    K = sample.stump_kernel
    return kernel_side(SVMDual(K, sample.y, 1 / _mean_diagonal(K)), solve_svm_dual, "stump kernel")


def infinite_svm(sample: Sample) -> Case:
    """P5 on the cells of the stump kernel, with the C of P2."""
    C = 1 / _mean_diagonal(sample.stump_kernel)
    return kernel_side(InfiniteSVM(Stump().cells(sample.X), sample.y, C), solve_svm_primal, "all stumps, cells")


def hard_margin_boosting(sample: Sample) -> Case:
    """P3 over all stumps."""
    problem = HardMarginBoosting(Signed(StumpColumns(sample.X)), sample.y)
    return by_columns(problem, formulations.hard_margin(), sample)


def soft_margin_boosting(sample: Sample) -> Case:
    """P4 over all stumps, C = 20/n."""
    C = 20 / len(sample.y)
    problem = SoftMarginBoosting(Signed(StumpColumns(sample.X)), sample.y, C)
    return by_columns(problem, formulations.soft_margin(C), sample)


def lpboost(sample: Sample) -> Case:
    """LPBoost over all stumps, in the parametrisation that makes it P4: D = C/U, so that its optimum is 1/U."""
    C = 20 / len(sample.y)
    U = generate(formulations.soft_margin(C), Stumps(sample.X), sample.y).certificate.primal
    D = C / U
    problem = LPBoost(Signed(StumpColumns(sample.X)), sample.y, D)
    return by_columns(problem, formulations.lpboost(D), sample, "all stumps, D = C/U of P4")


def rho_svm(sample: Sample) -> Case:
    """The rho-SVM with squared slacks: a hundredth of the mean diagonal is added to the stump kernel's."""
    return kernel_side(RhoSVM(_softened(sample), sample.y), solve_rho_svm, "stump kernel, squared slacks")


def entropy_projection(sample: Sample) -> Case:
    """A projection as multiplicative updates take them, half way to the smallest margin.

    Its weights grow from sample to sample, so that margins differ even where all samples are alike to the kernel.
    """
    K, y, n = _softened(sample), sample.y, len(sample.y)
    alpha_t = np.arange(1, n + 1) * 2 / (n * (n + 1))
    q = y * (K @ (y * alpha_t))
    problem = EntropyProjection(K, y, alpha_t, float(q @ alpha_t + q.min()) / 2)
    return kernel_side(problem, solve_entropy_projection, "stump kernel, squared slacks")


def regularized_exp_loss(sample: Sample) -> Case:
    """KIE06 with the stump kernel, lam a thousandth of its mean diagonal."""
    K = sample.stump_kernel
    problem = RegularizedExpLoss(K, sample.y, 1e-3 * _mean_diagonal(K))
    return kernel_side(problem, solve_regularized_exp_loss, "stump kernel")


def slssvm(sample: Sample) -> Case:
    """Simplex least squares over all stumps, C one over the mean diagonal of H H'; two classes have one output."""
    H = StumpColumns(sample.X)
    return kernel_side(SLSSVM(H, sample.y[:, None], 1 / H.shape[1]), solve_slssvm, "all stumps")


def regularized_least_squares(sample: Sample) -> Case:
    """Least squares with the stump kernel, gamma a thousandth of its mean diagonal."""
    K = sample.stump_kernel
    problem = RegularizedLeastSquares(K, sample.y, 1e-3 * _mean_diagonal(K))
    return kernel_side(problem, solve_regularized_least_squares, "stump kernel")


def _softened(sample: Sample) -> Array:
    K = sample.stump_kernel
    return K + 0.01 * _mean_diagonal(K) * np.eye(len(K))


def _mean_diagonal(K: Array) -> float:
    return float(np.diag(K).mean())


CASES: Mapping[type[Problem], Callable[[Sample], Case]] = {
    SVMPrimal: svm_primal,
    SVMDual: svm_dual,
    HardMarginBoosting: hard_margin_boosting,
    SoftMarginBoosting: soft_margin_boosting,
    InfiniteSVM: infinite_svm,
    LPBoost: lpboost,
    RhoSVM: rho_svm,
    EntropyProjection: entropy_projection,
    RegularizedExpLoss: regularized_exp_loss,
    SLSSVM: slssvm,
    RegularizedLeastSquares: regularized_least_squares,
}
"""A case for every formulation; a test sees to it that none is missing."""
