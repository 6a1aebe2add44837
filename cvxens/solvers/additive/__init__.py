"""Support vector machines with additive kernels: no Gram matrix, memory for the sample alone."""

from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.additive.problem import AdditiveSVM
from cvxens.solvers.additive.solution import AdditiveSolution, Ending, Level
from cvxens.solvers.additive.solve import solve_additive_path, solve_additive_svm

__all__ = [
    "AdditiveKernel",
    "AdditiveSVM",
    "AdditiveSolution",
    "Ending",
    "Level",
    "solve_additive_path",
    "solve_additive_svm",
]
