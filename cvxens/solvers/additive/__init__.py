"""Support vector machines with additive kernels: no Gram matrix, memory for the sample alone."""

from collections.abc import Mapping

from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.additive.model import AdditiveModel, Cells, StumpEnsemble
from cvxens.solvers.additive.problem import AdditiveSVM
from cvxens.solvers.additive.solve import solve_additive_path, solve_additive_svm

SOLVERS: Mapping[str, str] = {
    "solve_additive_path": "LL08 P2; proximal Newton steps",
    "solve_additive_svm": "LL08 P2; proximal Newton steps",
}
"""The functions of this room, and where they are from."""

__all__ = [
    "SOLVERS",
    "AdditiveKernel",
    "AdditiveModel",
    "AdditiveSVM",
    "Cells",
    "StumpEnsemble",
    "solve_additive_path",
    "solve_additive_svm",
]
