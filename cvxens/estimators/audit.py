"""Certificates of an ensemble on data, or under weights, that it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from cvxens.certificates import Certificate
from cvxens.colgen import Column, Formulation, Hypothesis, Master, Oracle
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.types import Array
from cvxens.validation import finite_array


def audit(
    formulation: Formulation,
    oracle: Oracle,
    hypotheses: Sequence[Hypothesis],
    X: Any,
    y: Array | None,
    *,
    master: Callable[[Formulation, Array], Master],
    weights: Any,
    intercept: Any = None,
) -> Certificate:
    """Say how far weights of given hypotheses are from the optimum of a formulation over an oracle's.

    The primal value is that of the weights, repaired to be feasible. The dual point is that of the restricted optimum
    over these hypotheses, priced over all: the gap is that of the weights, and of the choice of hypotheses.

    Parameters
    ----------
    formulation : Formulation
        On the sample at hand.
    oracle : Oracle
        Over the sample at hand.
    hypotheses : sequence of Hypothesis
        At least one.
    X : ndarray or csc_array of shape (n_samples, n_features)
        The sample.
    y : ndarray of shape (n_samples,) or None
        Signs; None for a loss that holds its targets.
    master : callable
        Makes the master that solves the restricted problem.
    weights : array-like of shape (n_hypotheses,) or (n_hypotheses, n_outputs)
        From anywhere.
    intercept : float or array-like of shape (n_outputs,), optional
        The best one if it is not given.

    Returns
    -------
    Certificate
        Over every hypothesis of the oracle, if it bounds their edges.
    """
    if not hypotheses:
        raise InvalidInput("weak_learners_", "found none", "fit an ensemble that is not empty first")
    signs = formulation.signs(y)
    restricted, solver = Restricted(formulation, signs), master(formulation, signs)
    columns = [Column(hypothesis, X, 0.0) for hypothesis in hypotheses]
    restricted.add(columns)
    solver.add(columns)
    given = {"w": _shaped("weights", weights, (len(columns), *restricted.problem.outputs))}
    if intercept is not None and formulation.intercept:
        given["b"] = _shaped("intercept", intercept, restricted.problem.outputs)
    point = restricted.evaluate({**given, "u": solver.solve().u})
    priced = oracle.price(point.s)
    sense = formulation.sense
    return Certificate.between(
        sense * point.objective,
        sense * restricted.bound(point, priced),
        maximise=formulation.maximise,
        residuals=restricted.residuals(point, point.u, priced),
        repair={},
        proven=formulation.certified and priced.edge_bound < inf,
        note="over every hypothesis of the oracle" if priced.edge_bound < inf else "the oracle cannot bound the edges",
    )


def _shaped(argument: str, values: Any, shape: tuple[int, ...]) -> Array:
    array = finite_array(argument, values)
    if array.shape != shape:
        raise InvalidInput(argument, f"found shape {array.shape}", f"give shape {shape}, as the fitted ones have")
    return array
