"""Fast solvers, one file per problem; each takes the problem and returns a Solution that the problem certifies."""

from collections.abc import Mapping

from cvxens.solvers.experts import (
    LeastSquaresExperts,
    draw_members,
    iterated_least_squares_experts,
    least_squares_experts,
)
from cvxens.solvers.incomplete_cholesky import LowRankKernel, incomplete_cholesky
from cvxens.solvers.least_squares import solve_regularized_least_squares, solve_slssvm
from cvxens.solvers.regularized_exp_loss import (
    RegAdaBoostRound,
    bound_error,
    reg_adaboost_rounds,
    solve_reg_adaboost,
    solve_regularized_exp_loss,
)
from cvxens.solvers.rho_svm import (
    LowRankRhoSVM,
    PartialSVMEnsemble,
    Update,
    adaptive_updates,
    fixed_updates,
    growing_updates,
    partial_svms,
    solve_entropy_projection,
    solve_low_rank_rho_svm,
    solve_rho_svm,
    update_bound,
)
from cvxens.solvers.svm import solve_svm_dual, solve_svm_primal
from cvxens.solvers.svm_path import SVMPath, svm_path
from cvxens.solvers.svm_solution import Ending, SVMSolution, solve_svm_path

SOLVERS: Mapping[str, str] = {
    "adaptive_updates": "TK07 Algorithm 1",
    "bound_error": "KIE06 Proposition 2, corrected",
    "draw_members": "TT06 section 4",
    "fixed_updates": "Kivinen & Warmuth 1997; Cristianini, Campbell & Shawe-Taylor 1999",
    "growing_updates": "an extension of TK07 Algorithm 1",
    "incomplete_cholesky": "Fine & Scheinberg, JMLR 2 (2001)",
    "iterated_least_squares_experts": "TT06 (5), section 4",
    "least_squares_experts": "TT06 (5), section 4",
    "partial_svms": "TK07 Algorithm 1, section 3.2",
    "reg_adaboost_rounds": "KIE06 (16)-(18)",
    "solve_entropy_projection": "TK07 (7)-(10)",
    "solve_low_rank_rho_svm": "TK07 (2), section 3.3; Newton's method",
    "solve_reg_adaboost": "KIE06 (15)-(18)",
    "solve_regularized_exp_loss": "KIE06 (15); Newton's method",
    "solve_regularized_least_squares": "TT06 (5)-(7)",
    "solve_rho_svm": "TK07 (2)",
    "solve_slssvm": "SL (11)",
    "solve_svm_dual": "LL08 P2",
    "solve_svm_path": "LL08 P2, section 7",
    "solve_svm_primal": "LL08 P1, P5",
    "svm_path": "Hastie, Rosset, Tibshirani & Zhu, JMLR 5 (2004)",
    "update_bound": "TK07 section 2.4, after (19)",
}
"""The functions of this room, and where they are from."""

__all__ = [
    "SOLVERS",
    "Ending",
    "LeastSquaresExperts",
    "LowRankKernel",
    "LowRankRhoSVM",
    "PartialSVMEnsemble",
    "RegAdaBoostRound",
    "SVMPath",
    "SVMSolution",
    "Update",
    "adaptive_updates",
    "bound_error",
    "draw_members",
    "fixed_updates",
    "growing_updates",
    "incomplete_cholesky",
    "iterated_least_squares_experts",
    "least_squares_experts",
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
    "solve_svm_path",
    "solve_svm_primal",
    "svm_path",
    "update_bound",
]
