"""Oracles: weak learners that price their hypotheses, one file each."""

from cvxens.colgen.oracles.stumps import Constant, Stump, Stumps

__all__ = ["Constant", "Stump", "Stumps"]
