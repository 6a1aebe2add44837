"""The selection of parameters in LL08's Tables 2 to 4 on six of their data sets, and that of scikit-learn beside it.

On the first split GridSearchCV chooses the parameters of SVC on the same kernel, computed beforehand, and trains it:
its test error has to be ours, and its time is set against ours, kernel matrices included on both sides, on one thread.
The tables themselves are measured by `python -m reproduction ll08 all`; docs/reproduction/ll08.md has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks import take_least
from cvxens.types import Array
from reproduction import Split, ll08
from reproduction.ll08 import PRICES, WIDTHS
from reproduction.run import draw_split, one_thread

NAMES = ("heart", "pima", "german", "sonar", "ionosphere", "twonorm")
REPETITIONS = 2

Kernel = Callable[[Array, Array], Array]

METHODS: Mapping[str, tuple[Any, tuple[Kernel, ...], tuple[float, ...]]] = {
    "SVM-Stump": (ll08.METHODS["SVM-Stump"], (lambda X, Z: -cdist(X, Z, "cityblock"),), PRICES),
    "SVM-Perc": (ll08.METHODS["SVM-Perc"], (lambda X, Z: -cdist(X, Z),), PRICES),
    "SVM-Dec": (
        ll08.METHODS["SVM-Dec"],
        tuple(lambda X, Z, g=g: np.exp(-g * cdist(X, Z, "cityblock")) for g in WIDTHS),
        ll08.LARGE_PRICES,
    ),
}
"""Ours, the kernels to choose from, without constants, and the prices."""


def peer(kernels: tuple[Kernel, ...], prices: tuple[float, ...], split: Split) -> float:
    """The test error of the kernel and the price that GridSearchCV finds best, in percent; the first of equals."""
    searches = []
    for kernel in kernels:
        search = GridSearchCV(SVC(kernel="precomputed", tol=1e-5), {"C": prices}, cv=5)
        searches.append((search.fit(kernel(split.X, split.X), split.y), kernel))
    search, kernel = max(searches, key=lambda found: (round(found[0].best_score_, 12), -found[0].best_params_["C"]))
    return 100 * float(np.mean(search.predict(kernel(split.X_test, split.X)) != split.y_test))


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every data set and method."""
    for name in NAMES:
        split = draw_split(ll08.DATA[name], 0)
        for method, (ours, kernels, prices) in METHODS.items():
            with one_thread():
                seconds, outcome = take_least(partial(ours, split), REPETITIONS)
                theirs_seconds, theirs = take_least(partial(peer, kernels, prices, split), REPETITIONS)
            yield {
                "data": name,
                "method": method,
                "ours, %": outcome.value,
                "peer, %": theirs,
                "gap": outcome.proofs[0].relative_gap,
                "s": seconds,
                "peer / s": theirs_seconds / seconds,
            }
