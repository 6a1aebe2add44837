"""What the boosting estimators share: rounds with limits, and the margin that their ensembles are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import exp, inf
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from cvxens.certificates import Certificate
from cvxens.colgen import (
    Boosted,
    BoostingRound,
    BoostingStep,
    Hypothesis,
    Oracle,
    column_generation,
    formulations,
    gathered,
)
from cvxens.colgen.adaboost import margin_certificate
from cvxens.estimators.fitting.progress import rounds_of, warn_of_ending
from cvxens.types import Array

Voting: TypeAlias = Callable[[Sequence[Hypothesis], Array], Mapping[str, Any]]
"""From hypotheses and their weights (n_hypotheses,) to weak learners, weights, intercept."""

TOL = 1e-3
"""The relative gap to which the largest margin is known that an ensemble is held against."""


def boost(estimator: Any, steps: Iterable[BoostingStep], n_rounds: int, n_samples: int, voting: Voting) -> Boosted:
    """Boost for at most `n_rounds`, within the limits of an estimator, and let its user follow.

    Where time is up, or on Ctrl-C, there is a ConvergenceWarning.
    """
    done: list[BoostingRound] = []
    with rounds_of(estimator) as rounds, threadpool_limits(1, "blas"):
        followed = rounds.over(_noted(steps, done), n_rounds, _told, lambda: voting(*_weighted(done)))
        boosted = gathered(followed, n_samples)
    reached = f"after {len(done)} of {n_rounds} rounds"
    warn_of_ending(estimator, rounds.ending, reached, "raise max_time, or lower n_rounds")
    return boosted


def _noted(steps: Iterable[BoostingStep], done: list[BoostingRound]) -> Iterator[BoostingStep]:
    """The same steps; their rounds, which are small, are put down."""
    for step in steps:
        done.append(step.round)
        yield step


def _told(step: BoostingStep) -> str:
    return f"edge {step.round.edge:.3g}, loss {exp(step.round.log_loss):.3g}"


def _weighted(done: Sequence[BoostingRound]) -> tuple[list[Hypothesis], Array]:
    """The hypotheses of rounds, each once, and their weights; a perfect one is all that counts."""
    if done[-1].weight == inf:
        return [done[-1].hypothesis], np.ones(1)
    weights = dict.fromkeys((row.hypothesis for row in done), 0.0)
    for row in done:
        weights[row.hypothesis] += row.weight
    return list(weights), np.array(list(weights.values()))


def certify_margins(z: Array, size: float, oracle: Oracle, y: Array, max_time: float) -> Certificate:
    """Hold an ensemble against the largest margin on a sample.

    Parameters
    ----------
    z : ndarray of shape (n_samples,)
        The margins y f of the ensemble.
    size : float
        The least sum of weights w >= 0 that f takes.
    oracle : Oracle
        Over the sample; it has -h for every h.
    y : ndarray of shape (n_samples,)
        Signs.
    max_time : float
        Seconds after which the bound is not improved any more.

    Returns
    -------
    Certificate
        Of ``max_a min_i y_i (H a)_i`` over the simplex. The bound is searched for, by LL08 P3, where f separates the
        classes; elsewhere it is the largest edge under equal weights of the samples.
    """
    # w = 0 is (h - h) / 2, a vote of the margin 0
    margin = float(z.min()) / size if size > 0 else 0.0
    bound = oracle.price(y / len(y)).edge_bound
    bounded = bound < inf
    if bounded and margin > 0:
        run = column_generation(formulations.hard_margin(), oracle, y, tol=TOL, max_time=max_time)
        # u of P3 has the sum 1 / edge
        bound = min(bound, 1 / run.certificate.dual) if run.certificate.dual > 0 else bound
    return margin_certificate(
        margin, bound, n_terms=2 * len(y), proven=bounded, unproven="the oracle cannot bound the edges"
    )
