"""What the columns of a run have to do with single features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.types import Array

if TYPE_CHECKING:
    from cvxens.colgen import Run

NEGLIGIBLE = 1e-6
"""A weight of at most this share of the largest one counts as 0: masters that stop inside leave such weights."""


@dataclass(frozen=True)
class WeightedStump:
    """A stump of a run: weight * (sign if x[feature] >= threshold else -sign)."""

    feature: int
    threshold: float
    sign: float
    weight: float


def one_output(run: Run) -> Array:
    """Return the weights of a run, shape (n_columns,), if it has one output."""
    if run.weights.ndim != 1:
        found = f"found {run.weights.shape[1]} outputs"
        raise InvalidInput("run", found, "give a run whose formulation has one output")
    return run.weights


def used_stumps(run: Run) -> list[WeightedStump]:
    """Return the stumps whose weight is not negligible; constants are left out."""
    weights = one_output(run)
    used = np.flatnonzero(np.abs(weights) > NEGLIGIBLE * np.abs(weights).max(initial=0.0))
    return [stump for j in used.tolist() for stump in _as_stump(run.columns[j].hypothesis, float(weights[j]))]


def _as_stump(hypothesis: Any, weight: float) -> Iterator[WeightedStump]:
    match hypothesis:
        case object(feature=int(feature), threshold=threshold, sign=sign):
            yield WeightedStump(feature, float(threshold), float(sign), weight)
        case object(__match_args__=("sign",)):
            return
        case _:
            found = f"found the hypothesis {hypothesis}, which is neither a stump nor a constant"
            raise InvalidInput("run", found, "give a run of stumps")
