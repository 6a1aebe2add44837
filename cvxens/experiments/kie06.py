"""What the table and the figures of KIE06 have in common: grids and methods."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.model_selection import GridSearchCV

from cvxens.datasets import make_slope
from cvxens.estimators import AdaBoostClassifier, RegAdaBoostClassifier
from cvxens.experiments.methods import ErrorOf, StagedCV
from cvxens.experiments.splits import Generated

FOLDS = 10

ROUNDS = range(10, 301, 10)

PENALTIES = tuple(10.0**k for k in range(-6, 1))

WIDTHS = tuple(10.0**k for k in range(-3, 2))

SLOPE = Generated(make_slope, 50, 1000)

SLOPE_NOTE = "the paper shows its samples and does not say how they are drawn: ours are on either side of a diagonal"


def choose(kernel: str, **grid: tuple[float, ...]) -> ErrorOf:
    """Return RegAdaBoost with a kernel, lambda (and gamma) by cross-validation."""
    model = RegAdaBoostClassifier(kernel=kernel, max_rank=600)
    return ErrorOf(GridSearchCV(model, {"lam": PENALTIES, **grid}, cv=FOLDS))


METHODS: Mapping[str, ErrorOf] = {
    "AdaBoost": ErrorOf(StagedCV(AdaBoostClassifier(), ROUNDS, FOLDS)),
    "RegAdaBoost K_Cds": choose("middle-stump"),
    "RegAdaBoost K_ds": choose("decision-stump"),
    "RegAdaBoost K_g": choose("gaussian", gamma=WIDTHS),
}
