"""Tables and figures of the papers: our figures beside the published ones."""

from reproduction.catalogue import ALL, EXPERIMENTS, experiment_of, of_paper
from reproduction.experiment import Cell, Experiment, Trial
from reproduction.methods import ErrorOf, Method, Outcome, Proof
from reproduction.published import Published
from reproduction.run import Failure, Plan, Task, cells, tasks_of
from reproduction.splits import Draw, Generated, OwnTest, Partitioned, PerClass, Realised, Source, Split
from reproduction.store import Store

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
