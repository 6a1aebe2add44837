"""LL08 Figures 1 to 3: the XOR set, ambiguous stumps, and boundaries."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from cvxens.datasets import make_twonorm
from cvxens.estimators import InfiniteEnsembleSVC
from cvxens.types import Array
from cvxens.validation import RandomState, generator
from reproduction import drawing, ll08
from reproduction.experiment import Experiment
from reproduction.methods import BoundaryOf, Outcome, rounded
from reproduction.splits import Generated, Split


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


def make_line(n_samples: int, *, random_state: RandomState) -> tuple[Array, Array]:
    """Draw one feature, uniform on [-1, 1]."""
    X = np.sort(generator(random_state).uniform(-1, 1, (n_samples, 1)), axis=0)
    return X, np.where(X[:, 0] > 0, 1.0, -1.0)


@dataclass(frozen=True)
class Ambiguous:
    """The stumps whose thresholds lie in one gap between samples, their average, and the one in the middle.

    The value is the largest distance of the mean of many such stumps from the average by its formula, flat, linear in
    the gap, flat.
    """

    n_thresholds: int = 100_000
    n_drawn: int = 5

    def __call__(self, split: Split, /) -> Outcome:
        """Take the widest gap."""
        x = split.X[:, 0]
        k = int(np.diff(x).argmax())
        low, high = x[k], x[k + 1]
        at = np.linspace(-1, 1, 401)
        thresholds = np.random.default_rng(split.random_state).uniform(low, high, self.n_thresholds)
        # the share of thresholds below each point, as the mean of sign(x - threshold)
        mean = 2 * np.searchsorted(np.sort(thresholds), at) / self.n_thresholds - 1
        average = np.clip(2 * (at - low) / (high - low) - 1, -1, 1)
        drawn = [np.where(at > t, 1.0, -1.0) for t in np.linspace(low, high, self.n_drawn + 2)[1:-1]]
        curves = {
            "(a) ambiguous stumps": drawn,
            "(b) their average": [average],
            "(c) the middle stump": [np.where(at > (low + high) / 2, 1.0, -1.0)],
        }
        shown = {name: [rounded(curve) for curve in family] for name, family in curves.items()}
        return Outcome(
            float(np.abs(mean - average).max()), (), {"at": rounded(at), "curves": shown, "samples": rounded(x)}
        )


FIGURES = (
    Experiment(
        paper="ll08",
        table="figure1",
        title="the XOR set: every stump errs on half of it, and no price lets the SVM over all stumps separate it",
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
    ),
    Experiment(
        paper="ll08",
        table="figure2",
        title="stumps that agree on all samples, their average, and the one in the middle",
        protocol="""
Eight samples of one feature, the thresholds of the widest gap between them. The figure is the largest distance between
the mean of 100,000 such stumps and the formula of their average.
""",
        rows={"one feature": Generated(make_line, 8, 8)},
        columns={"stumps": Ambiguous()},
        measure="distance",
        draw=drawing.draw_steps,
    ),
    Experiment(
        paper="ll08",
        table="figure3",
        title="boundaries of the methods of Table 2 on twonorm in two dimensions",
        protocol="""
300 samples to train on, 3,000 to test on; the best boundary is the falling diagonal, with an error of 2.28 %.
Parameters are chosen as in Table 2. The distance of the means is chosen here: that of
Breiman's formula, 2/sqrt(2) on each axis.
""",
        rows={"twonorm": Generated(partial(make_twonorm, n_features=2))},
        columns={name: BoundaryOf(method.estimator) for name, method in ll08.OF_STUMPS.items()},
        draw=drawing.draw_boundaries,
    ),
)
