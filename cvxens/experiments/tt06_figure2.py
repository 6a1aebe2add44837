"""TT06 Figure 2: similarity matrices of Iris, with and without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from cvxens.datasets import add_noise_features
from cvxens.experiments import drawing
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import Outcome, rounded
from cvxens.experiments.splits import Partitioned, Split
from cvxens.kernels import Linear, TreeEnsemble


@dataclass(frozen=True)
class IrisMatrix:
    """A similarity matrix of Iris, by class, of every other sample.

    The value is the mean of the entries within a class less that of those between classes, over the largest.
    """

    forest: bool
    n_noise: int = 0

    def __call__(self, split: Split, /) -> Outcome:
        """Evaluate the kernel."""
        order = np.argsort(split.y, kind="stable")
        X, y = split.X[order], split.y[order]
        if self.n_noise:
            X = add_noise_features(X, self.n_noise, random_state=split.random_state)
        if self.forest:
            grown = RandomForestClassifier(random_state=split.random_state).fit(X, y)
            K = TreeEnsemble(grown, kind="depth")(X, X)
        else:
            K = Linear(np.eye(X.shape[1]))(X - X.mean(axis=0), X - X.mean(axis=0))
        K = K / np.abs(K).max()
        same = np.equal.outer(y, y)
        return Outcome(float(K[same].mean() - K[~same].mean()), (), {"matrix": rounded(K[::2, ::2], 2)})


TABLE = Experiment(
    paper="tt06",
    table="figure2",
    title="similarity matrices of Iris, linear and by a forest, of its four features and with 40 of noise",
    protocol="""
All samples but one, by class. Chosen here, as the paper does not say it: the noise is normal, with the means and the
spreads of the four features, and the linear kernel is of centred features. The figures are the means of entries within
classes less those between them, with entries divided by the largest.
""",
    rows={"Iris": Partitioned("iris", 149, scaled=False)},
    columns={
        "linear": IrisMatrix(forest=False),
        "forest": IrisMatrix(forest=True),
        "linear, 40 of noise": IrisMatrix(forest=False, n_noise=40),
        "forest, 40 of noise": IrisMatrix(forest=True, n_noise=40),
    },
    measure="within less between",
    draw=drawing.draw_matrices,
)
