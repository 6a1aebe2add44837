"""Decision trees in the manner of C4.5, over tables of numeric and nominal features with missing values."""

from cvxens.tables import Feature, Table, match
from cvxens.trees.c45 import fit_forest, fit_tree
from cvxens.trees.tree import Rule, Tree

__all__ = ["Feature", "Rule", "Table", "Tree", "fit_forest", "fit_tree", "match"]
