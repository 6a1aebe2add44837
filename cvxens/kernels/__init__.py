"""Sets of hypotheses embodied as kernels.

``kernel(X, Z)`` is a matrix, so scikit-learn takes a kernel as a callable. Kernels add up with ``+`` (the union of
sets), multiply with ``*`` (exclusive or), are joined by `and_` and `or_`, and take positive factors; each has its
`total_mass`, says whether it is `neutral`, and samples its hypotheses. `kernel.Kernel` says what a kernel is.
"""

from cvxens.kernels.decision_stump import DecisionStump
from cvxens.kernels.decision_tree import DecisionTree
from cvxens.kernels.histogram_intersection import HistogramIntersection
from cvxens.kernels.linear import Linear
from cvxens.kernels.logic import and_, or_
from cvxens.kernels.middle_stump import MiddleStump
from cvxens.kernels.perceptron import Perceptron
from cvxens.kernels.precomputed import Precomputed
from cvxens.kernels.radial import Gaussian, Laplacian
from cvxens.kernels.simplified import SimplifiedGaussian, SimplifiedLaplacian, SimplifiedPerceptron, SimplifiedStump
from cvxens.kernels.stump import Stump
from cvxens.kernels.stump_region import StumpRegion
from cvxens.kernels.tree_ensemble import TreeEnsemble
from cvxens.kernels.weak_learner import WeakLearner

__all__ = [
    "DecisionStump",
    "DecisionTree",
    "Gaussian",
    "HistogramIntersection",
    "Laplacian",
    "Linear",
    "MiddleStump",
    "Perceptron",
    "Precomputed",
    "SimplifiedGaussian",
    "SimplifiedLaplacian",
    "SimplifiedPerceptron",
    "SimplifiedStump",
    "Stump",
    "StumpRegion",
    "TreeEnsemble",
    "WeakLearner",
    "and_",
    "or_",
]
