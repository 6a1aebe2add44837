"""Decision trees in the manner of C4.5, over tables of numeric and nominal features with missing values."""

from cvxens.trees.fit import fit_tree
from cvxens.trees.tables import Feature, Table, match, read_csv
from cvxens.trees.text import Rule
from cvxens.trees.tree import Tree

__all__ = ["Feature", "Rule", "Table", "Tree", "fit_tree", "match", "read_csv"]
