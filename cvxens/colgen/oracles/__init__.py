"""Oracles: weak learners that price their hypotheses."""

from cvxens.colgen.oracles.depth_trees import DepthThreeTrees, DepthTwoTrees
from cvxens.colgen.oracles.gauges import FeatureGroups, KernelBalls
from cvxens.colgen.oracles.learners import SklearnLearner, Trees
from cvxens.colgen.oracles.pool import KernelColumns, Pool
from cvxens.colgen.oracles.quantile_stumps import QuantileStumps
from cvxens.colgen.oracles.ramps import Ramps
from cvxens.colgen.oracles.rules import Boxes, PairRules
from cvxens.colgen.oracles.sampled import Fourier, ParallelPerceptrons, Perceptrons
from cvxens.colgen.oracles.stumps import Stumps
from cvxens.colgen.oracles.unions import AdditiveTerms, Costed, Rows, Union
from cvxens.hypotheses import Constant, LevelStump, Stump

__all__ = [
    "AdditiveTerms", "Boxes", "Constant", "Costed", "DepthThreeTrees", "DepthTwoTrees", "FeatureGroups", "Fourier",
    "KernelBalls", "KernelColumns", "LevelStump", "PairRules", "ParallelPerceptrons", "Perceptrons", "Pool",
    "QuantileStumps", "Ramps", "Rows", "SklearnLearner", "Stump", "Stumps", "Trees", "Union",
]  # fmt: skip
