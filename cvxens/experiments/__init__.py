"""Tables and figures of the papers: our figures beside the published ones."""

from cvxens.experiments.catalogue import EXPERIMENTS, experiment_of, of_paper
from cvxens.experiments.experiment import (
    Cell,
    Draw,
    Experiment,
    Generated,
    Method,
    Partitioned,
    Published,
    Source,
    Split,
    Trial,
)
from cvxens.experiments.run import cells

__all__ = [
    "EXPERIMENTS",
    "Cell",
    "Draw",
    "Experiment",
    "Generated",
    "Method",
    "Partitioned",
    "Published",
    "Source",
    "Split",
    "Trial",
    "cells",
    "experiment_of",
    "of_paper",
]
