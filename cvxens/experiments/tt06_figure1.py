"""TT06 Figure 1: similarity to a point by a forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from cvxens.datasets import make_three_circles
from cvxens.experiments import drawing
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import Outcome, rounded
from cvxens.experiments.splits import Generated, Split
from cvxens.kernels import TreeEnsemble


@dataclass(frozen=True)
class Similarity:
    """The similarity (9) of all samples to one of a class.

    The value is the share of the ten samples most similar to it, of the other ones, that are of its class, in percent.
    """

    label: int

    def __call__(self, split: Split, /) -> Outcome:
        """Grow a forest, and evaluate its kernel."""
        forest = RandomForestClassifier(random_state=split.random_state).fit(split.X, split.y)
        at = int(np.flatnonzero(split.y == self.label)[0])
        k = TreeEnsemble(forest, kind="depth")(split.X, split.X[[at]])[:, 0]
        nearest = np.argsort(-np.delete(k, at))[:10]
        share = 100 * float(np.mean(np.delete(split.y, at)[nearest] == self.label))
        return Outcome(share, (), {"X": rounded(split.X), "similarity": rounded(k), "at": rounded(split.X[at])})


TABLE = Experiment(
    paper="tt06",
    table="figure1",
    title="the similarity of samples to one of them, by a forest on three discs",
    protocol="""
1,000 samples in a square, those within three discs of one class; a forest of 100 trees, similarity (9); light is
similar. Chosen here, as the paper does not say it: where the discs are, and the number of trees. The figures are the
shares of the ten most similar samples that are of the same class.
""",
    rows={"three circles": Generated(make_three_circles, 1000, 2)},
    columns={"a sample in a disc": Similarity(1), "a sample outside": Similarity(-1)},
    measure="of the same class, %",
    draw=drawing.draw_similarities,
)
