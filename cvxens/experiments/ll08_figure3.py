"""LL08 Figure 3: boundaries of the four methods of Table 2."""

from functools import partial

from cvxens.datasets import make_twonorm
from cvxens.experiments import drawing, ll08
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import BoundaryOf
from cvxens.experiments.splits import Generated

TABLE = Experiment(
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
)
