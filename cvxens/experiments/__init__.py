"""Tables and figures of the papers: our figures beside the published ones."""

from cvxens.experiments.catalogue import ALL, EXPERIMENTS, experiment_of, of_paper
from cvxens.experiments.experiment import Cell, Experiment, Trial
from cvxens.experiments.methods import ErrorOf, Method, Outcome, Proof
from cvxens.experiments.published import Published
from cvxens.experiments.run import Failure, Plan, Task, cells, tasks_of
from cvxens.experiments.splits import Draw, Generated, OwnTest, Partitioned, PerClass, Realised, Source, Split
from cvxens.experiments.store import Store

__all__ = [
    "ALL",
    "EXPERIMENTS",
    "Cell",
    "Draw",
    "ErrorOf",
    "Experiment",
    "Failure",
    "Generated",
    "Method",
    "Outcome",
    "OwnTest",
    "Partitioned",
    "PerClass",
    "Plan",
    "Proof",
    "Published",
    "Realised",
    "Source",
    "Split",
    "Store",
    "Task",
    "Trial",
    "cells",
    "experiment_of",
    "of_paper",
    "tasks_of",
]
