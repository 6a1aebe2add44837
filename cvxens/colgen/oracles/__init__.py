"""Oracles: weak learners that price their hypotheses, one file each."""

from cvxens.colgen.oracles.fourier import Fourier
from cvxens.colgen.oracles.kernel_columns import KernelColumns
from cvxens.colgen.oracles.perceptrons import ParallelPerceptrons, Perceptrons
from cvxens.colgen.oracles.pool import Pool
from cvxens.colgen.oracles.quantile_stumps import QuantileStumps
from cvxens.colgen.oracles.sklearn_learner import SklearnLearner
from cvxens.colgen.oracles.stumps import Stumps
from cvxens.colgen.oracles.trees import Trees
from cvxens.hypotheses import Constant, Stump

__all__ = [
    "Constant",
    "Fourier",
    "KernelColumns",
    "ParallelPerceptrons",
    "Perceptrons",
    "Pool",
    "QuantileStumps",
    "SklearnLearner",
    "Stump",
    "Stumps",
    "Trees",
]
