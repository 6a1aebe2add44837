"""Sets of hypotheses embodied as kernels."""

from cvxens.kernels.decision_stump import DecisionStump
from cvxens.kernels.decision_tree import DecisionTree
from cvxens.kernels.histogram_intersection import HistogramIntersection
from cvxens.kernels.linear import Linear
from cvxens.kernels.logic import and_, or_
from cvxens.kernels.middle_stump import MiddleStump
from cvxens.kernels.perceptron import Perceptron
from cvxens.kernels.precomputed import Precomputed
from cvxens.kernels.radial import Gaussian, Laplacian
from cvxens.kernels.simplified_perceptron import SimplifiedPerceptron
from cvxens.kernels.simplified_stump import SimplifiedStump
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
    "SimplifiedPerceptron",
    "SimplifiedStump",
    "Stump",
    "StumpRegion",
    "TreeEnsemble",
    "WeakLearner",
    "and_",
    "or_",
]
