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
from cvxens.solvers.additive import AdditiveKernel, AdditiveModel, AdditiveSVM, solve_additive_svm
from cvxens.solvers.blockwise import KernelSVM, solve_blockwise
from cvxens.solvers.rho_svm import uniform

X = np.arange(6.0)[:, None]
Y = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0])
K = Laplacian(0.5)(X, X)
CODES = np.stack([Y, -Y], axis=1)[:, :1]
MEMBERS = np.full((6, 2), True)
LOW_RANK = solvers.incomplete_cholesky(Laplacian(0.5), X, 3)
ADDITIVE = AdditiveSVM.of(X, Y, 0.1)
MODEL = AdditiveModel.of(solve_additive_svm(ADDITIVE))
BLOCKS = KernelSVM.of(K, Y, 1.0)

PROBLEMS = {
    "solve_entropy_projection": EntropyProjection(K, Y, np.full(6, 1 / 6), 0.1),
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


def prime(updates, **options):
    """Begin with updates, which look at their arguments then."""
    return next(updates(np.copy, uniform(2), **options))


EXPERTS = {"K": K, "Y": Y, "gamma": 0.01, "members": MEMBERS}
FACTORED = {"kernel": Laplacian(0.5), "X": np.linspace(0, 6, 100)[:, np.newaxis], "rank": 30}
STUMPS = {"X": X, "y": Y, "C": 1.0}

REFUSED = [
    (KernelSVM.of, {"y": Y, "C": 1.0}, "K", [K[:5], np.triu(K)]),
    (KernelSVM.of, {"K": K, "C": 1.0}, "y", [np.ones(6), Y[:-1]]),
    (KernelSVM.of, {"K": K, "y": Y}, "C", [0.0, np.ones(3)]),
    (solve_blockwise, {"problem": BLOCKS}, "tol", [0.0]),
    (solve_blockwise, {"problem": BLOCKS}, "max_time", [-1.0]),
    (
        solvers.incomplete_cholesky,
        FACTORED,
        "kernel",
        [
            *(None, "laplacian", 3, K, Stump, int, Laplacian, Stump()),
            *(lambda X, Z, found=found: found for found in (None, 1.0, np.ones(6), np.ones((2, 2)), "K")),
            *(lambda X, Z: np.full((6, 6), np.nan), lambda X, Z: Laplacian(0.5)(X, Z)[:, :1]),
            # no PSD ones
            *(lambda X, Z: -Laplacian(0.5)(X, Z), lambda X, Z: np.cos(3 * (X + Z.T)) + 0.1),
        ],
    ),
    (solvers.incomplete_cholesky, FACTORED, "rank", [0]),
    (solvers.incomplete_cholesky, FACTORED, "tol", [0.0]),
    (solvers.incomplete_cholesky, FACTORED, "X", [X[0]]),
    (LOW_RANK.softened, {}, "ridge", [0.0]),
    (solvers.solve_low_rank_rho_svm, {"y": Y}, "K", [None, K, "kernel", Laplacian(0.5)]),
    (solvers.solve_low_rank_rho_svm, {"K": LOW_RANK}, "y", [Y[:-1]]),
    (solvers.solve_low_rank_rho_svm, {"K": LOW_RANK, "y": Y}, "tol", [0.0]),
    (solvers.solve_low_rank_rho_svm, {"K": LOW_RANK, "y": Y}, "max_updates", [-1]),
    (solvers.solve_rho_svm, {"problem": RhoSVM(K, Y)}, "warm_gap", [np.nan, None]),
    (solvers.solve_rho_svm, {"problem": RhoSVM(K, Y)}, "max_updates", [-1, 2.5]),
    (solvers.partial_svms, {"y": Y}, "K", [np.diag([np.nan, *Y[1:]]), K[:, :5], K[0], np.triu(K), -np.eye(6), None]),
    (solvers.partial_svms, {"K": K}, "y", [Y[:-1]]),
    (solvers.partial_svms, {"K": K, "y": Y}, "tol", [0.0]),
    (solvers.partial_svms, {"K": K, "y": Y}, "epsilon", [-1.0]),
    (solvers.partial_svms, {"K": K, "y": Y}, "max_updates", [0]),
    (solvers.partial_svms(K, Y, max_updates=1).decision_function, {}, "rows", [np.ones((3, 5)), np.ones(6)]),
    (prime, {"updates": solvers.adaptive_updates}, "epsilon", [0.0]),
    (prime, {"updates": solvers.adaptive_updates}, "least_epsilon", [-1.0, 0.0]),
    (solvers.update_bound, {"n_samples": 10}, "nu", [0.0]),
    (solvers.update_bound, {"nu": 0.1}, "n_samples", [1]),
    (
        solvers.draw_members,
        {"n_samples": 10, "n_experts": 3},
        "sample_share",
        [0, -0.5, 1.1, (0.9, 0.5), (0.0, 0.5), (0.5, 0.9, 1.0), "half", None, np.nan, True, ()],
    ),
    (solvers.draw_members, {"n_experts": 3, "sample_share": 0.5}, "n_samples", [0, -1, 2.5, "a", None]),
    (
        solvers.least_squares_experts,
        EXPERTS,
        "K",
        [K[0], -K, K - 0.5, np.where(K < 0.5, 0, K), np.triu(K), np.where(K == 1, np.nan, K)],
    ),
    (solvers.iterated_least_squares_experts, EXPERTS, "tol", [0]),
    *(
        (experts, EXPERTS, argument, wrong)
        for experts in (solvers.least_squares_experts, solvers.iterated_least_squares_experts)
        for argument, wrong in {
            "K": [K[:, :5]],
            "Y": [Y[:5], np.ones((6, 2, 2)), np.full(6, np.inf)],
            "gamma": [0, np.nan],
            "members": [MEMBERS[:5], MEMBERS[:, 0], MEMBERS.astype(int), MEMBERS[:, :0], MEMBERS & [True, False]],
            "n_jobs": [0, 0.5, "two", np.inf, [1], 10**400],
        }.items()
    ),
    (AdditiveKernel.of, {"X": [[0.0, 1.0], [1.0, 0.0]]}, "scale", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan]]),
    (AdditiveSVM.of, STUMPS, "y", [Y[:-1], np.ones(6)]),
    (AdditiveSVM.of, STUMPS, "C", [0.0, np.ones(3), -np.ones(6)]),
    (AdditiveSVM.of, STUMPS, "X", [np.full((6, 1), np.nan)]),
    (AdditiveSVM.of, {**STUMPS, "X": AdditiveKernel.of(X)}, "scale", [np.ones(1)]),
    (solve_additive_svm, {"problem": ADDITIVE}, "tol", [0.0]),
    (solve_additive_svm, {"problem": ADDITIVE}, "start", [np.ones(3), solve_additive_svm(ADDITIVE.among([0, 1, 2]))]),
    (solve_additive_svm, {"problem": ADDITIVE}, "max_time", [-1.0]),
    (solve_additive_svm, {"problem": ADDITIVE}, "max_steps", [0]),
    (solve_additive_svm, {"problem": ADDITIVE}, "sample_size", [-1]),
    (solve_additive_svm, {"problem": ADDITIVE, "sample_size": 5}, "random_state", ["a"]),
    (solvers.solve_svm_path, {"solve": solve_additive_svm, "problem": ADDITIVE}, "Cs", [[1.0, 0.0]]),
    (MODEL.cells.sample, {}, "k", [0, 1.5, True]),
    (MODEL, {}, "X", [np.ones((2, 4))]),
]


@pytest.mark.parametrize(("solve", "given", "argument", "wrong"), REFUSED)
def test_what_cannot_be_worked_with_is_named(solve, given, argument, wrong):
    for value in wrong:
        with pytest.raises(InvalidInput, match=f"^{argument}: found"):
            solve(**{**given, argument: value})
