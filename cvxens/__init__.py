"""Ensemble learning as convex modelling.

Write a formulation in cvxpy and get a boosting algorithm by column generation, a fast path for production, and
a proof of how far the answer is from the optimum over all hypotheses.

Rooms, in the order in which they build on each other: `cvxens.certificates`, `cvxens.problems`,
`cvxens.kernels`, `cvxens.colgen` and `cvxens.solvers`, `cvxens.estimators` and `cvxens.crosscheck`,
`cvxens.export`; beside them `cvxens.datasets` and `cvxens.plotting`. Each is imported when
it is first used.
"""

import lazy_loader

from cvxens.caching import find_cache_folder

__version__ = "0.1.0"

find_cache_folder()

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
