"""Where soft margins and LPBoost over all stumps of a large sample begin: with an ensemble made of all of them at once.

Column generation learns thresholds a few at a time, and its programs cost the number of columns squared, and more: at
20,000 x 10 and nu = 0.3, where the optimum has some 3,000 stumps, the gap was 0.29 after 56 rounds and 40 seconds of a
processor. A first-order method over all stumps at once (`solvers.additive_hinge`) knows neither. What it finds is
evaluated, priced and certified as anything else, and what is left of the gap is for the interior-point method.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from cvxens.colgen.masters.linear_masters import InteriorPointMaster
from cvxens.colgen.protocols import declared
from cvxens.hypotheses import Hypothesis
from cvxens.limits import time_left
from cvxens.problems.formulation import Formulation
from cvxens.solvers.additive_hinge import AdditiveHinge, StepSums

LEAST_SAMPLES = 5000
"""Samples below which columns that come one after the other are as fast."""


def can_begin_with_stumps(formulation: Formulation, oracle: Any) -> bool:
    """Return True for hinges of margins or their soft minimum, with w >= 0, over all stumps."""
    if declared(oracle, "every_step") is None:
        return False
    one_sided = formulation.nonnegative and not formulation.intercept and formulation.outputs is None
    if not one_sided or not InteriorPointMaster.supports(formulation):
        return False
    loss, penalty = formulation.terms
    dual = loss.linear_dual
    assert dual is not None
    [first, *others] = dual.hinges
    reach_1 = not others and first.sign > 0 and bool(np.all(np.equal(first.knots, 1.0)))
    return penalty.total is not None or (dual.is_separable and reach_1)


def begin_with_stumps(master: Any, oracle: Any, tol: float) -> Sequence[Hypothesis]:
    """Let a master begin near an ensemble of all stumps, whose relative gap is below `tol`; returns its stumps.

    There are none where nothing was found, or features are so much alike that the interior-point method is faster.
    """
    penalty, loss, y = master.penalty, master.loss, master.restricted.y
    # in units of the weight of the penalty, where it is no game
    unit = 1.0 if penalty.total is not None else penalty.edge_limit
    prices = np.broadcast_to(np.asarray(loss.linear_dual.hinges[0].prices / unit, np.float64), y.shape)
    sums, game = StepSums.from_features(oracle.every_step), penalty.total is not None
    size = master.restricted.formulation.find_size(1.0)
    method = AdditiveHinge(sums, y, prices, constant=oracle.constant, game=game, size=size)
    # evaluation adds to the gap; from 5e-5 on the interior-point method takes no longer. Half of the time is left to
    # price and to certify. The norm of sums of functions is 1.2 to 2 on threenorm of 10 to 100 features; on MNIST it is
    # 6.8, and the method takes a processor 77 seconds to 1.5e-3
    goal, time, most_norm = max(0.7 * tol, 5e-5), time_left(), 4.0
    lead = method.solve(goal, time / 2 if time < inf else -inf, most_norm)
    if method.norm > most_norm or not len(lead.weights) or lead.gap == inf:
        return []
    stumps = oracle.make_stumps(lead.features, lead.places, lead.signs)
    weights = lead.weights * (penalty.total / lead.weights.sum() if game else 1.0)
    master.begin_near(dict(zip(stumps, weights.tolist(), strict=True)), loss.repair(unit * lead.u, None))
    return stumps
