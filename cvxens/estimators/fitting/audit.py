"""Certificates of an ensemble on data, or under weights, that it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from cvxens.certificates import Certificate
from cvxens.colgen import Column, Formulation, Hypothesis, Oracle
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges
from cvxens.types import Array
from cvxens.validation import finite_array


@dataclass(frozen=True)
class Task:
    """A formulation on a sample, over the hypotheses of an oracle.

    Parameters
    ----------
    formulation : Formulation
        The problem.
    oracle : Oracle
        Over the sample.
    X : ndarray or csc_array of shape (n_samples, n_features)
        The sample.
    y : ndarray of shape (n_samples,) or None
        Signs; None for a loss that holds its targets.
    """

    formulation: Formulation
    oracle: Oracle
    X: Any
    y: Array | None


def audit(
    task: Task, hypotheses: Sequence[Hypothesis], u: Array, *, weights: Any, intercept: Any = None
) -> Certificate:
    """Say how far weights of given hypotheses are from the optimum.

    Parameters
    ----------
    task : Task
        Of what optimum.
    hypotheses : sequence of Hypothesis
        At least one.
    u : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The dual point that the bound is from.
    weights : array-like of shape (n_hypotheses,) or (n_hypotheses, n_outputs)
        From anywhere; they are repaired to be feasible.
    intercept : float or array-like of shape (n_outputs,), optional
        The best one if it is not given.

    Returns
    -------
    Certificate
        Over every hypothesis of the oracle, if it bounds their edges.
    """
    if not hypotheses:
        raise InvalidInput("weak_learners_", "found none", "fit an ensemble that is not empty first")
    formulation = task.formulation
    restricted = Restricted(formulation, formulation.signs(task.y))
    restricted.add([Column(hypothesis, task.X, 0.0) for hypothesis in hypotheses])
    outputs = restricted.problem.outputs
    point = {"w": shaped("weights", weights, (len(hypotheses), *outputs)), "u": u}
    if intercept is not None and formulation.intercept:
        point["b"] = shaped("intercept", intercept, outputs)
    solution = restricted.evaluate(restricted.shifted(point))
    priced = task.oracle.price(restricted.y * u)
    bound = restricted.problem.bound(u, Edges(priced.edge_bound, priced.edge_square_sum))
    return Certificate.between(
        formulation.sense * solution.objective,
        formulation.sense * bound,
        maximise=formulation.maximise,
        residuals=restricted.residuals(solution, u, priced),
        repair={},
        rounding=restricted.rounding(solution, u),
        proven=formulation.has_conjugate and priced.edge_bound < inf,
        note="over every hypothesis of the oracle" if priced.edge_bound < inf else "the oracle cannot bound the edges",
    )


def shaped(argument: str, values: Any, shape: tuple[int, ...]) -> Array:
    """Return foreign values as an array of the shape of the fitted ones."""
    array = finite_array(argument, values)
    if array.shape != shape:
        raise InvalidInput(argument, f"found shape {array.shape}", f"give shape {shape}, as the fitted ones have")
    return array
