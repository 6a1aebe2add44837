"""LL08 Figure 2: ambiguous stumps, their average, and the middle stump."""

from dataclasses import dataclass

import numpy as np

from cvxens.experiments import drawing
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import Outcome, rounded
from cvxens.experiments.splits import Generated, Split
from cvxens.types import Array
from cvxens.validation import RandomState, generator


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


TABLE = Experiment(
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
)
