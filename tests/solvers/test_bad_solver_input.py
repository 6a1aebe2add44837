"""Fast solvers refuse what they cannot solve, by the name of the argument."""

import numpy as np
import pytest

from cvxens import solvers
from cvxens.errors import InvalidInput
from cvxens.kernels import Laplacian, Stump
from cvxens.problems import (
    SLSSVM,
    EntropyProjection,
    RegularizedExpLoss,
    RegularizedLeastSquares,
    RhoSVM,
    SVMDual,
    SVMPrimal,
)

X = np.arange(6.0)[:, None]
Y = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0])
K = Laplacian(0.5)(X, X)
CODES = np.stack([Y, -Y], axis=1)[:, :1]

PROBLEMS = {
    "solve_entropy_projection": EntropyProjection(K, Y, np.full(6, 1 / 6), 0.1),
    "solve_reg_adaboost": RegularizedExpLoss(K, Y, 0.1),
    "solve_regularized_exp_loss": RegularizedExpLoss(K, Y, 0.1),
    "solve_regularized_least_squares": RegularizedLeastSquares(K, Y, 0.1),
    "solve_rho_svm": RhoSVM(K, Y),
    "solve_slssvm": SLSSVM(X, CODES, 1.0),
    "solve_svm_dual": SVMDual(K, Y, 1.0),
    "solve_svm_primal": SVMPrimal(X, Y, 1.0),
}

NO_PROBLEMS = [None, "svm", 3, K, SVMDual, Stump()]

CLOSED = {"solve_regularized_least_squares", "solve_slssvm"}

NOT_POSITIVE = [None, 0, -1e-9, np.nan, "small", True, [1e-6], 10**400]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_solver_wants_its_own_problem(name):
    others = [problem for problem in PROBLEMS.values() if type(problem) is not type(PROBLEMS[name])]
    for wrong in [*NO_PROBLEMS, *others]:
        with pytest.raises(InvalidInput, match=r"^problem: found"):
            getattr(solvers, name)(wrong)


@pytest.mark.parametrize("name", sorted(PROBLEMS.keys() - CLOSED))
def test_tolerances(name):
    for wrong in NOT_POSITIVE:
        with pytest.raises(InvalidInput, match=r"^tol: found"):
            getattr(solvers, name)(PROBLEMS[name], tol=wrong)


@pytest.mark.parametrize("kernel", [None, "laplacian", 3, K, Stump, int, Laplacian])
def test_kernels_that_are_no_functions(kernel):
    with pytest.raises(InvalidInput, match=r"^kernel: found"):
        solvers.incomplete_cholesky(kernel, X, 3)


@pytest.mark.parametrize("returned", [None, 1.0, np.ones(6), np.ones((2, 2)), np.full((6, 6), np.nan), "K"])
def test_kernels_that_return_no_matrix(returned):
    with pytest.raises(InvalidInput, match=r"^kernel: found"):
        solvers.incomplete_cholesky(lambda X, Z: returned, X, 3)


@pytest.mark.parametrize("n_jobs", [0, 0.5, "two", np.inf, [1], 10**400])
def test_numbers_of_jobs_of_experts(n_jobs):
    with pytest.raises(InvalidInput, match=r"^n_jobs: found"):
        solvers.least_squares_experts(K, Y, 0.1, np.full((6, 2), True), n_jobs=n_jobs)


@pytest.mark.parametrize("C_max", [0, -1.0, np.nan, -np.inf, "far", None, [1.0], np.ones(2)])
def test_ends_of_a_path(C_max):
    with pytest.raises(InvalidInput, match=r"^C_max: found"):
        solvers.svm_path(K, Y, C_max=C_max)


@pytest.mark.parametrize("kernel", [None, K, "kernel", Laplacian(0.5)])
def test_kernels_of_low_rank(kernel):
    with pytest.raises(InvalidInput, match=r"^K: found"):
        solvers.solve_low_rank_rho_svm(kernel, Y)
