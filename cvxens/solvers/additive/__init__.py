"""Support vector machines with additive kernels: no Gram matrix, memory for the sample alone."""

from cvxens.solvers.additive.ensemble import Cells, StumpEnsemble
from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.additive.model import AdditiveModel
from cvxens.solvers.additive.problem import AdditiveSVM
from cvxens.solvers.additive.solution import AdditiveSolution, Ending, Level
from cvxens.solvers.additive.solve import solve_additive_path, solve_additive_svm

__all__ = [
    "AdditiveKernel",
    "AdditiveModel",
    "AdditiveSVM",
    "AdditiveSolution",
    "Cells",
    "Ending",
    "Level",
    "StumpEnsemble",
    "solve_additive_path",
    "solve_additive_svm",
]
