"""KIE06 Figure 1: Gram matrices of the slope data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvxens.estimators import AdaBoostClassifier
from cvxens.experiments import drawing, kie06
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import Outcome, rounded
from cvxens.experiments.splits import Split
from cvxens.kernels import DecisionStump, Gaussian, MiddleStump
from cvxens.types import Array


@dataclass(frozen=True)
class Gram:
    """A Gram matrix of the samples to train on, those of the class +1 first.

    The value is the mean of the entries within a class less that of those between classes.
    """

    kernel: str

    def __call__(self, split: Split, /) -> Outcome:
        """Evaluate the kernel, divided by its largest entry."""
        order = np.argsort(-split.y, kind="stable")
        X, y = split.X[order], split.y[order]
        K = self._evaluate(X, y)
        K = K / np.abs(K).max()
        same = np.equal.outer(y, y)
        return Outcome(float(K[same].mean() - K[~same].mean()), (), {"matrix": rounded(K, 2)})

    def _evaluate(self, X: Array, y: Array) -> Array:
        match self.kernel:
            case "ten stumps":
                rounds = AdaBoostClassifier(n_rounds=10).fit(X, y).history_
                H = np.column_stack([row.hypothesis(X) for row in rounds])
                return H @ H.T / H.shape[1]
            case "K_Cds":
                return MiddleStump(X)(X, X)
            case "K_ds":
                return DecisionStump()(X)
            case _:
                return Gaussian(1.0)(X, X)


TABLE = Experiment(
    paper="kie06",
    table="figure1",
    title="Gram matrices of the slope data, positive samples first",
    protocol="""
50 samples. (a) The weak-learner kernel of the first ten stumps of AdaBoost, (b) of all middle stumps, (c) K_ds, (d)
K_g; chosen here, as the paper does not say it: h = 1. The figures are the means of entries within classes less
those between them, with entries divided by the largest.
""",
    rows={"slope": kie06.SLOPE},
    columns={
        "(a) ten stumps": Gram("ten stumps"),
        "(b) K_Cds": Gram("K_Cds"),
        "(c) K_ds": Gram("K_ds"),
        "(d) K_g": Gram("K_g"),
    },
    measure="within less between",
    other_data={"slope": kie06.SLOPE_NOTE},
    draw=drawing.draw_matrices,
)
