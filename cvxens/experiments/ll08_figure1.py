"""LL08 Figure 1: the XOR set, which no ensemble of stumps separates."""

from dataclasses import dataclass

import numpy as np

from cvxens.estimators import InfiniteEnsembleSVC
from cvxens.experiments import drawing
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import BoundaryOf, Outcome
from cvxens.experiments.splits import Generated, Split
from cvxens.types import Array
from cvxens.validation import RandomState, generator


def make_xor(n_samples: int, *, random_state: RandomState) -> tuple[Array, Array]:
    """Draw (-1, -1) and (1, 1) of the class -1, (-1, 1) and (1, -1) of the class +1, as many of each, in any order."""
    corners = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    rows = generator(random_state).permutation(np.arange(n_samples) % 4)
    return corners[rows], np.where(rows < 2, -1.0, 1.0)


@dataclass(frozen=True)
class LeastStump:
    """The least share of the samples in percent that a stump puts into the wrong class; 50 is that of a constant."""

    def __call__(self, split: Split, /) -> Outcome:
        """Try the thresholds between values, and both signs."""
        stumps = (np.where(x > t, 1.0, -1.0) for x in split.X.T for v in [np.unique(x)] for t in (v[:-1] + v[1:]) / 2)
        shares = [float((h * split.y < 0).mean()) for h in stumps]
        return Outcome(100 * min(min(share, 1 - share) for share in shares))


TABLE = Experiment(
    paper="ll08",
    table="figure1",
    title="the XOR set: every stump errs on half of it, and no price of slack lets the SVM over all stumps separate it",
    protocol="""
Four points, ten times each. The figures are shares of wrong answers among such points; 50 is as good as none.
""",
    rows={"XOR": Generated(make_xor, 40, 40)},
    columns={
        "best stump": LeastStump(),
        **{f"SVM-Stump, C = {C:g}": BoundaryOf(InfiniteEnsembleSVC("stump", C=C)) for C in (1.0, 1e3)},
        "SVM-Perc, C = 1000": BoundaryOf(InfiniteEnsembleSVC("perceptron", C=1e3)),
    },
    draw=drawing.draw_boundaries,
)
