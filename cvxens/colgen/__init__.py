"""Column generation: any formulation over any oracle's hypotheses, with a certificate."""

from cvxens.certificates import Round
from cvxens.colgen import masters, oracles
from cvxens.colgen.adaboost import Boosted, BoostingRound, BoostingStep, adaboost, boosting_steps, gathered, round_bound
from cvxens.colgen.checkpoint import Checkpoint
from cvxens.colgen.loop import Run, Step, column_generation, iterate
from cvxens.colgen.near_optimal import Band, Bands, Range, find_bands, near_optimal_range
from cvxens.colgen.paths import Path, PathPoint, solve_path
from cvxens.colgen.protocols import Column, Master, MasterSolution, Oracle, Priced, TabledSample
from cvxens.colgen.stopping import StopEarly
from cvxens.hypotheses import Hypothesis
from cvxens.limits import Ending
from cvxens.problems import formulations
from cvxens.problems.formulation import Formulation

__all__ = [
    "Band", "Bands", "Boosted", "BoostingRound", "BoostingStep", "Checkpoint", "Column", "Ending", "Formulation",
    "Hypothesis", "Master", "MasterSolution", "Oracle", "Path", "PathPoint", "Priced", "Range", "Round", "Run", "Step",
    "StopEarly", "TabledSample", "adaboost", "boosting_steps", "column_generation", "find_bands", "formulations",
    "gathered", "iterate", "masters", "near_optimal_range", "oracles", "round_bound", "solve_path",
]  # fmt: skip
