"""SL Figure 1: a disc, the boundary of CGEns, and errors against iterations."""

from __future__ import annotations

import numpy as np

from cvxens.estimators import AdaBoostClassifier, CGEnsClassifier
from cvxens.experiments import drawing
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import BoundaryOf, CurveOf
from cvxens.experiments.splits import Generated
from cvxens.types import Array
from cvxens.validation import RandomState, generator

AT = (1, 2, 5, 10, 20, 50, 100, 200)


def make_disc(n_samples: int, *, random_state: RandomState) -> tuple[Array, Array]:
    """Draw from the normal law in the plane; +1 within the radius that half of the samples are within, on average."""
    X = generator(random_state).standard_normal((n_samples, 2))
    return X, np.where((X**2).sum(axis=1) < 2 * np.log(2), 1.0, -1.0)


CGENS = CGEnsClassifier(C=0.1, oracle="stumps", min_edge=1e-3)

TABLE = Experiment(
    paper="sl",
    table="figure1",
    title="a disc: the boundary of CGEns, and the errors of CGEns and AdaBoost against iterations",
    protocol="""
300 samples to train on and 3,000 to test on. Stumps; CGEns by Algorithm 1 as printed. Chosen here, as the paper does
not say it: the sizes, the radius, C = 0.1, and an epsilon of 0.001. The figures are the test errors after 200
iterations.
""",
    rows={"disc": Generated(make_disc)},
    columns={
        "CGEns": BoundaryOf(CGENS.set_params(max_columns=AT[-1])),
        "CGEns, errors": CurveOf(CGENS, "max_columns", AT),
        "AdaBoost, errors": CurveOf(AdaBoostClassifier(), "n_rounds", AT),
    },
    draw=drawing.draw_boundary_and_errors,
)
