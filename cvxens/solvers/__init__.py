"""Fast solvers, one file per problem; each takes the problem and returns a Solution that the problem certifies."""

from cvxens.limits import Ending
from cvxens.solvers.experts import (
    LeastSquaresExperts,
    draw_members,
    iterated_least_squares_experts,
    least_squares_experts,
)
from cvxens.solvers.incomplete_cholesky import LowRankKernel, incomplete_cholesky
from cvxens.solvers.least_squares import solve_regularized_least_squares, solve_slssvm
from cvxens.solvers.regularized_exp_loss import RegAdaBoostRound, reg_adaboost_rounds, solve_regularized_exp_loss
from cvxens.solvers.rho_svm import (
    LowRankRhoSVM,
    PartialSVMEnsemble,
    Update,
    adaptive_updates,
    growing_updates,
    partial_svms,
    solve_entropy_projection,
    solve_low_rank_rho_svm,
    solve_rho_svm,
    update_bound,
)
from cvxens.solvers.svm import solve_svm_dual, solve_svm_primal
from cvxens.solvers.svm_solution import SVMSolution, solve_svm_path

__all__ = [
    "Ending", "LeastSquaresExperts", "LowRankKernel", "LowRankRhoSVM", "PartialSVMEnsemble", "RegAdaBoostRound",
    "SVMSolution", "Update", "adaptive_updates", "draw_members", "growing_updates",
    "incomplete_cholesky", "iterated_least_squares_experts", "least_squares_experts", "partial_svms",
    "reg_adaboost_rounds", "solve_entropy_projection", "solve_low_rank_rho_svm",
    "solve_regularized_exp_loss", "solve_regularized_least_squares", "solve_rho_svm", "solve_slssvm", "solve_svm_dual",
    "solve_svm_path", "solve_svm_primal", "update_bound",
]  # fmt: skip
