"""LL08 Table 2 anew on six of its data sets, 20 splits each, and the selection of parameters by scikit-learn beside it.

The figures are those of `cvxens reproduce ll08 table2`. On the first split of every data set GridSearchCV chooses the
parameters of SVC on the same kernel, computed beforehand, and trains it: its test error has to be ours, and its time is
set against ours, kernel matrices included on both sides, on one thread.

"+-" is the standard error over the splits, a star marks a published figure from memory that nobody has compared with
the print, "apart" is the difference to it in standard errors of the difference, and it "agrees" within two of these;
"s" is the median time of a split, "ours, first" and "peer, first" are the errors on the first split in percent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks import take_least
from cvxens.estimators.infinite_ensembles import PRICES, WIDTHS
from cvxens.experiments import Cell, Split, cells, experiment_of
from cvxens.experiments.run import draw_split, one_thread
from cvxens.types import Array

NAMES = ("heart", "pima", "german", "sonar", "ionosphere", "twonorm")
SPLITS = 20
REPETITIONS = 2
TABLE = experiment_of("ll08", "table2")

Kernel = Callable[[Array, Array], Array]

KERNELS: Mapping[str, tuple[Kernel, ...]] = {
    "SVM-Stump": (lambda X, Z: -cdist(X, Z, "cityblock"),),
    "SVM-Perc": (lambda X, Z: -cdist(X, Z),),
    "SVM-Dec": tuple(lambda X, Z, g=g: np.exp(-g * cdist(X, Z, "cityblock")) for g in WIDTHS),
}
"""The kernels to choose from, without constants."""


def peer(kernels: tuple[Kernel, ...], split: Split) -> float:
    """The test error of the kernel and the price that GridSearchCV finds best, in percent; the first of equals."""
    searches = []
    for kernel in kernels:
        search = GridSearchCV(SVC(kernel="precomputed", tol=1e-5), {"C": PRICES}, cv=5)
        searches.append((search.fit(kernel(split.X, split.X), split.y), kernel))
    search, kernel = max(searches, key=lambda found: (round(found[0].best_score_, 12), -found[0].best_params_["C"]))
    return 100 * float(np.mean(search.predict(kernel(split.X_test, split.X)) != split.y_test))


def beside(cell: Cell) -> dict[str, Any]:
    """Return the test errors of both on the first split, and the ratio of their times, where there is such a peer."""
    if cell.method not in KERNELS:
        return {}
    split = draw_split(TABLE.data[cell.data].open(), 0)
    with one_thread():
        seconds, ours = take_least(lambda: TABLE.methods[cell.method](split), REPETITIONS)
        theirs_seconds, theirs = take_least(lambda: peer(KERNELS[cell.method], split), REPETITIONS)
    return {"ours, first": ours, "peer, first": theirs, "peer / s": theirs_seconds / seconds}


def row(cell: Cell) -> dict[str, Any]:
    """Lay out a cell; a published figure that is still to be checked has a star."""
    published = cell.published
    figure = "" if published is None else f"{published.mean} ± {published.standard_error}{'*' * bool(published.note)}"
    return {
        "data": cell.data,
        "method": cell.method,
        "error %": cell.mean,
        "+-": cell.standard_error,
        "published": figure,
        "apart": "" if cell.distance is None else cell.distance,
        "agrees": "" if cell.agrees is None else cell.agrees,
        "s": cell.seconds,
        **beside(cell),
    }


def run() -> list[dict[str, Any]]:
    """Return a row for every data set and method."""
    return [row(cell) for cell in cells(TABLE, data=NAMES, splits=SPLITS)]
