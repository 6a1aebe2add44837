"""Sets of hypotheses embodied as kernels.

``kernel(X, Z)`` is a matrix, so scikit-learn takes a kernel as a callable. Kernels add up with ``+`` (the union of
sets), multiply with ``*`` (exclusive or), are joined by `and_` and `or_`, and take positive factors; each has its
`total_mass`, says whether it is `neutral`, and samples its hypotheses. `kernel.Kernel` says what a kernel is.
"""

from cvxens.kernels.finite import Linear, Precomputed, WeakLearner
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.logic import DecisionTree, StumpRegion, and_, or_
from cvxens.kernels.perceptron import Perceptron, SimplifiedPerceptron
from cvxens.kernels.radial import Gaussian, Laplacian, SimplifiedGaussian, SimplifiedLaplacian
from cvxens.kernels.stumps import DecisionStump, HistogramIntersection, MiddleStump, SimplifiedStump, Stump
from cvxens.kernels.tree_ensemble import TreeEnsemble

__all__ = [
    "DecisionStump", "DecisionTree", "Gaussian", "HistogramIntersection", "Kernel", "Laplacian", "Linear",
    "MiddleStump", "Perceptron", "Precomputed", "SimplifiedGaussian", "SimplifiedLaplacian", "SimplifiedPerceptron",
    "SimplifiedStump", "Stump", "StumpRegion", "TreeEnsemble", "WeakLearner", "and_", "or_",
]  # fmt: skip
