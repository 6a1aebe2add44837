"""Columns of signs as sparse differences, along a tree of neighbours such as the stumps of one feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class Differences:
    """``H w = D v + t 1`` with a sparse D, for columns that are -a and +a, and others.

    Stumps of one feature differ from their neighbours on the few samples between the two thresholds, and nested sets on
    what one has more than the other: over 20 features a sample is in 20 differences, not in as many columns as there
    are. So the column of ones and the columns of signs, over their sizes a, are the nodes of a graph, the number of
    samples on which two of them, or one and the negation of the other, differ is the length of their edge, and D has
    the differences along the edges of the shortest tree that spans it. Any other column is in D as it is.

    With the parent p(j) of a column in the tree, ``h_j / a_j = sign_j h_p(j) / a_p(j) + D_j``. So w, v and t satisfy
    ``v_j = a_j w_j + sum over children c of j of sign_c v_c``, and t is such a sum over the children of the root.
    """

    D: csr_array  # sparse, (n_samples, n_columns)
    sizes: Array  # a, and 1 for columns that are no signs
    children: csr_array  # sparse, (1 + n_columns, n_columns): of the root and of each column, with their signs

    @classmethod
    def from_columns(cls, H: Array) -> Differences:
        """Find the shortest tree over the columns of H (n_samples, n_columns)."""
        n, k = H.shape
        of_signs = np.flatnonzero((H[0] != 0) & (np.abs(H) == np.abs(H[0])).all(axis=0))
        sizes = np.ones(k)
        sizes[of_signs] = np.abs(H[0, of_signs])
        signs = np.ones((1 + len(of_signs), n))
        signs[1:] = H.T[of_signs] / sizes[of_signs, np.newaxis]
        # counts up to 2^24 are exact in single precision, and the tree of larger ones need not be quite the shortest
        single = signs.astype(np.float32)
        agreement = (single @ single.T).astype(float)
        # (n - |agreement|) / 2 samples differ; one more, as an edge of length 0 would be none
        lengths = np.triu((n - np.abs(agreement)) / 2 + 1, 1)
        parents = breadth_first_order(minimum_spanning_tree(lengths), 0, directed=False)[1][1:]
        flips = np.where(agreement[np.arange(1, len(signs)), parents] < 0, -1.0, 1.0)
        D = sparse.lil_array((k, n))
        D[of_signs] = sparse.csr_array(signs[1:] - flips[:, np.newaxis] * signs[parents])
        others = np.setdiff1d(np.arange(k), of_signs)
        D[others] = H.T[others]
        nodes = np.append(0, 1 + of_signs)
        children = sparse.csc_array((flips, (nodes[parents], of_signs)), shape=(1 + k, k))
        return cls(sparse.csc_array(D.T), sizes, children)
