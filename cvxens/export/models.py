"""Which models can be exported, and what their scores are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.estimators import CGEnsSLSClassifier, InfiniteEnsembleSVC, InfiniteEnsembleSVCCV
from cvxens.estimators.boosting import CodedBoosting
from cvxens.estimators.expansions import KernelExpansion
from cvxens.estimators.votes import Vote
from cvxens.export.boxes import box_of, everywhere
from cvxens.export.scores import Scorer, Shapes, Steps, by_pairs, combined, joined
from cvxens.types import Array

REMEDY = "give an ensemble of stumps, or a machine whose kernel is a sum over features, such as 'stump'"
"""What can be exported."""


@dataclass(frozen=True, eq=False)
class Exportable:
    """What `decision_function` does.

    Parameters
    ----------
    scorer : Scorer
        The scores.
    box : ndarray of shape (2, n_features)
        The lowest and highest values that the model takes.
    """

    scorer: Scorer
    box: Array


@singledispatch
def exportable(model: Any) -> Exportable:
    """What a fitted estimator does, in parts that ONNX has operators for.

    Raises
    ------
    InvalidInput
        It is none that can be exported.
    """
    raise InvalidInput(
        "model", f"found a {type(model).__name__}, which is not made of functions of one feature", REMEDY
    )


@exportable.register
def _(model: Vote) -> Exportable:
    return _of_parts(model, _vote)


@exportable.register
def _(model: CodedBoosting) -> Exportable:
    vote = _vote(model)
    halved = combined(vote.scorer, np.array([[-0.5, 0.5]]))
    return Exportable(halved if len(model.classes_) == 2 else vote.scorer, vote.box)


@exportable.register
def _(model: CGEnsSLSClassifier) -> Exportable:
    vote, codes = _vote(model), model.codes_
    return Exportable(combined(vote.scorer, codes[1:] if len(codes) == 2 else codes), vote.box)


@exportable.register
def _(model: InfiniteEnsembleSVC) -> Exportable:
    return _of_parts(model, _shapes)


@exportable.register
def _(model: KernelExpansion) -> Exportable:
    return _of_parts(model, _expansion)


@exportable.register
def _(model: InfiniteEnsembleSVCCV) -> Exportable:
    return exportable(model.best_estimator_)


def _of_parts(model: Any, part: Callable[[Any], Exportable]) -> Exportable:
    """A model for two classes; or one of several, by scikit-learn's one-vs-rest or one-vs-one."""
    if not hasattr(model, "estimators_"):
        return part(model)
    parts = [part(binary) for binary in model.estimators_]
    scorer = joined([exported.scorer for exported in parts])
    lows, highs = zip(*(exported.box for exported in parts), strict=True)
    box = np.stack([np.max(lows, axis=0), np.min(highs, axis=0)])
    return Exportable(by_pairs(scorer, len(model.classes_)) if model.multi_class == "ovo" else scorer, box)


def _vote(model: Any) -> Exportable:
    weights = model.weights_.reshape(len(model.weak_learners_), np.size(model.intercept_))
    used = np.flatnonzero(weights.any(axis=1)).tolist()
    steps = [_step(model.weak_learners_[j], weights[j]) for j in used]
    return Exportable(_steps(steps, np.atleast_1d(model.intercept_)), everywhere(model.n_features_in_))


def _steps(steps: Sequence[tuple[int, float, Array, Array]], intercept: Array) -> Steps:
    """Steps in order; the first one takes the intercept along, whose sum is then the same to the last bit."""
    features, thresholds, above, below = map(
        np.array, zip(*(steps or [(0, 0.0, 0 * intercept, 0 * intercept)]), strict=True)
    )
    above[0] += intercept
    below[0] += intercept
    return Steps(features, thresholds, above, below)


def _step(hypothesis: Any, weights: Array) -> tuple[int, float, Array, Array]:
    """The feature and threshold of a hypothesis, and what it adds above and below."""
    step = getattr(hypothesis, "step", None)
    if step is None:
        found = f"found a {type(hypothesis).__name__} as a weak learner, which is no stump"
        raise InvalidInput("model", found, REMEDY)
    return step.feature, step.threshold, step.above * weights, step.below * weights


def _shapes(model: Any) -> Exportable:
    box = box_of(model.kernel_, model.n_features_in_)
    return Exportable(Shapes(_functions(model), float(model.intercept_)), box)


def _expansion(model: Any) -> Exportable:
    kernel, n_features = model.kernel_, model.n_features_in_
    box = box_of(kernel.function, n_features) if kernel.box is None else everywhere(n_features)
    return Exportable(Shapes(_functions(model), float(model.intercept_)), box)


def _functions(model: Any) -> Any:
    """The functions of single features whose sum the model is."""
    try:
        return model.shape_functions_
    except AttributeError as error:
        raise InvalidInput("model", f"found that {error}", REMEDY) from None
