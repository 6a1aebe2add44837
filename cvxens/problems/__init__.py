"""The formulations: a loss, a penalty and a linear map, modelled in cvxpy and certified in numpy."""

from cvxens.problems.formulation import Formulation
from cvxens.problems.formulations import (
    SLSSVM,
    EntropyProjection,
    HardMarginBoosting,
    InfiniteSVM,
    LPBoost,
    RegularizedExpLoss,
    RegularizedLeastSquares,
    RhoSVM,
    SoftMarginBoosting,
    SVMDual,
    SVMPrimal,
    simplex_codes,
)
from cvxens.problems.maps import Columns, DenseColumns, Signed, StumpColumns
from cvxens.problems.problem import Evaluated, Problem
from cvxens.problems.soundness import Checked, check_formulation
from cvxens.problems.verify import certify, certify_problem

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

MarginProblem = Problem
"""The name of `Problem` in version 0.1."""

__all__ = [
    "FORMULATIONS", "SLSSVM", "Checked", "Columns", "DenseColumns", "EntropyProjection", "Evaluated", "Formulation",
    "HardMarginBoosting", "InfiniteSVM", "LPBoost", "MarginProblem", "Problem", "RegularizedExpLoss",
    "RegularizedLeastSquares", "RhoSVM", "SVMDual", "SVMPrimal", "Signed", "SoftMarginBoosting", "StumpColumns",
    "certify", "certify_problem", "check_formulation", "simplex_codes",
]  # fmt: skip
