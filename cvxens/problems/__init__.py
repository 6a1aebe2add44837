"""The formulations: one class each, a cvxpy problem that certifies any solution of it."""

from cvxens.problems.entropy_projection import EntropyProjection
from cvxens.problems.hard_margin_boosting import HardMarginBoosting
from cvxens.problems.infinite_svm import InfiniteSVM
from cvxens.problems.lpboost import LPBoost
from cvxens.problems.maps import Columns, DenseColumns, Signed, StumpColumns
from cvxens.problems.margin_problem import MarginProblem
from cvxens.problems.problem import Problem
from cvxens.problems.regularized_exp_loss import RegularizedExpLoss
from cvxens.problems.regularized_least_squares import RegularizedLeastSquares
from cvxens.problems.rho_svm import RhoSVM
from cvxens.problems.slssvm import SLSSVM, simplex_codes
from cvxens.problems.soft_margin_boosting import SoftMarginBoosting
from cvxens.problems.svm_dual import SVMDual
from cvxens.problems.svm_primal import SVMPrimal

FORMULATIONS: tuple[type[Problem], ...] = (
    SVMPrimal,
    SVMDual,
    HardMarginBoosting,
    SoftMarginBoosting,
    InfiniteSVM,
    LPBoost,
    RhoSVM,
    EntropyProjection,
    RegularizedExpLoss,
    SLSSVM,
    RegularizedLeastSquares,
)
"""Every formulation, in the order of the literature it is from."""

__all__ = [
    "FORMULATIONS",
    "SLSSVM",
    "Columns",
    "DenseColumns",
    "EntropyProjection",
    "HardMarginBoosting",
    "InfiniteSVM",
    "LPBoost",
    "MarginProblem",
    "Problem",
    "RegularizedExpLoss",
    "RegularizedLeastSquares",
    "RhoSVM",
    "SVMDual",
    "SVMPrimal",
    "Signed",
    "SoftMarginBoosting",
    "StumpColumns",
    "simplex_codes",
]
