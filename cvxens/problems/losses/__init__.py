"""Losses on margins, each with its conjugate in numpy."""

from cvxens.problems.losses.entropic_minimum_margin import EntropicMinimumMargin
from cvxens.problems.losses.hard_margin import HardMargin
from cvxens.problems.losses.hinge import Hinge
from cvxens.problems.losses.multiclass_exponential import MulticlassExponential
from cvxens.problems.losses.protocol import Loss
from cvxens.problems.losses.smooth import Exponential, Logistic, SquaredHinge
from cvxens.problems.losses.soft_minimum_margin import SoftMinimumMargin
from cvxens.problems.losses.squared_error import SquaredError

__all__ = [
    "EntropicMinimumMargin",
    "Exponential",
    "HardMargin",
    "Hinge",
    "Logistic",
    "Loss",
    "MulticlassExponential",
    "SoftMinimumMargin",
    "SquaredError",
    "SquaredHinge",
]
