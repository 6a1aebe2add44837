"""Sets of hypotheses embodied as kernels."""

from cvxens.kernels.logic import and_, or_
from cvxens.kernels.middle_stump import MiddleStump
from cvxens.kernels.perceptron import Perceptron
from cvxens.kernels.simplified_perceptron import SimplifiedPerceptron
from cvxens.kernels.simplified_stump import SimplifiedStump
from cvxens.kernels.stump import Stump

__all__ = ["MiddleStump", "Perceptron", "SimplifiedPerceptron", "SimplifiedStump", "Stump", "and_", "or_"]
