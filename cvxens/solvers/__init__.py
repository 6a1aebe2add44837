"""Fast solvers, one file per problem; each takes the problem and returns a Solution that the problem certifies."""

from cvxens.solvers.entropy_projection import solve_entropy_projection
from cvxens.solvers.incomplete_cholesky import LowRankKernel, incomplete_cholesky
from cvxens.solvers.least_squares import solve_regularized_least_squares, solve_slssvm
from cvxens.solvers.partial_svms import PartialSVMEnsemble, partial_svms
from cvxens.solvers.reg_adaboost import RegAdaBoostRound, reg_adaboost_rounds, solve_reg_adaboost
from cvxens.solvers.regularized_exp_loss import solve_regularized_exp_loss
from cvxens.solvers.rho_svm import solve_rho_svm
from cvxens.solvers.rho_svm_low_rank import LowRankRhoSVM, solve_low_rank_rho_svm
from cvxens.solvers.rho_svm_updates import Update, adaptive_updates, fixed_updates, update_bound
from cvxens.solvers.svm import solve_svm_dual, solve_svm_primal
from cvxens.solvers.svm_path import SVMPath, svm_path

__all__ = [
    "LowRankKernel",
    "LowRankRhoSVM",
    "PartialSVMEnsemble",
    "RegAdaBoostRound",
    "SVMPath",
    "Update",
    "adaptive_updates",
    "fixed_updates",
    "incomplete_cholesky",
    "partial_svms",
    "reg_adaboost_rounds",
    "solve_entropy_projection",
    "solve_low_rank_rho_svm",
    "solve_reg_adaboost",
    "solve_regularized_exp_loss",
    "solve_regularized_least_squares",
    "solve_rho_svm",
    "solve_slssvm",
    "solve_svm_dual",
    "solve_svm_primal",
    "svm_path",
    "update_bound",
]
