"""Support vector machines with any kernel, by blocks: no more of the Gram matrix than there is room for."""

from cvxens.solvers.blockwise.problem import KernelSVM
from cvxens.solvers.blockwise.rows import CachedRows, DenseRows, Rows, expand
from cvxens.solvers.blockwise.solve import solve_blockwise, solve_blockwise_path

__all__ = [
    "CachedRows",
    "DenseRows",
    "KernelSVM",
    "Rows",
    "expand",
    "solve_blockwise",
    "solve_blockwise_path",
]
