"""Votes of stumps, taken out of models of other libraries; none of them is imported for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from cvxens.colgen import Hypothesis
from cvxens.colgen.oracles import Constant, Stump
from cvxens.errors import InvalidInput
from cvxens.types import Array

Leaves: TypeAlias = tuple[int, float, float, float]
"""A tree of one split: feature, threshold as of ``x >= threshold``, the values below and above."""


@dataclass(frozen=True)
class ForeignVote:
    """A weighted vote of stumps, taken from a model of another library.

    Parameters
    ----------
    hypotheses : tuple of Stump or Constant
        Distinct, none the negation of another.
    weights : ndarray of shape (n_hypotheses,)
        At least 0.
    """

    hypotheses: tuple[Hypothesis, ...]
    weights: Array

    @classmethod
    def of(cls, parts: Iterable[Leaves | float], *, constant: bool) -> ForeignVote:
        """Add up trees of one split and constants; without the constant hypothesis if it is not wanted."""
        sums: dict[tuple[int, float] | None, float] = {}
        always = 0.0
        for part in parts:
            feature, threshold, below, above = part if isinstance(part, tuple) else (0, inf, part, part)
            always += (above + below) / 2
            sums[feature, threshold] = sums.get((feature, threshold), 0.0) + (above - below) / 2
        found = {key: value for key, value in {**sums, None: always * constant}.items() if value}
        signs = [1 if value > 0 else -1 for value in found.values()]
        hypotheses = [
            Constant(sign) if key is None else Stump(*key, sign) for key, sign in zip(found, signs, strict=True)
        ]
        return cls(tuple(hypotheses), np.abs(list(found.values())))


def _adaboost(model: Any) -> Iterator[Leaves | float]:
    check_is_fitted(model)
    for weight, estimator in zip(model.estimator_weights_, model.estimators_, strict=False):
        if not hasattr(estimator, "tree_"):
            raise InvalidInput("model", f"found an AdaBoost of {type(estimator).__name__}", "give one of stumps")
        votes = np.where(estimator.tree_.value[:, 0].argmax(axis=1) == 1, weight, -weight)
        yield _sklearn_tree(estimator.tree_, votes)


def _gradient_boosting(model: Any) -> Iterator[Leaves | float]:
    check_is_fitted(model)
    if model.init not in {None, "zero"}:
        raise InvalidInput("model", f"found one with init={model.init!r}", "give one that starts from a constant")
    for (estimator,) in model.estimators_:
        yield _sklearn_tree(estimator.tree_, model.learning_rate * estimator.tree_.value[:, 0, 0])
    if model.init is None:
        # the log-odds of the prior, which the exponential loss halves
        yield float(logit(model.init_.class_prior_[1])) / (2 if model.loss == "exponential" else 1)


def _sklearn_tree(tree: Any, values: Array) -> Leaves | float:
    if tree.node_count > 3:
        raise InvalidInput("model", f"found a tree of depth {tree.max_depth}", "give a model of stumps, max_depth=1")
    if tree.node_count == 1:
        return float(values[0])
    return int(tree.feature[0]), _first_above_in_single(tree.threshold[0]), float(values[1]), float(values[2])


def _first_above_in_single(threshold: float) -> float:
    """The least x that exceeds the threshold when it is rounded to single precision, as scikit-learn's trees do."""
    above = np.float32(threshold)
    if above <= threshold:
        above = np.nextafter(above, np.float32(inf))
    middle = (float(np.nextafter(above, np.float32(-inf))) + float(above)) / 2
    return middle if np.float32(middle) == above else float(np.nextafter(middle, inf))


def _lightgbm_model(model: Any) -> Iterator[Leaves | float]:
    return _lightgbm(model.booster_)


def _lightgbm(model: Any) -> Iterator[Leaves | float]:
    dumped = model.dump_model()
    if dumped["num_tree_per_iteration"] != 1 or "binary" not in dumped["objective"]:
        raise InvalidInput("model", f"found the objective {dumped['objective']!r}", "give a model of two classes")
    for tree in dumped["tree_info"]:
        root = tree["tree_structure"]
        if "leaf_value" in root:
            yield float(root["leaf_value"])
            continue
        children = root["left_child"], root["right_child"]
        if root["decision_type"] != "<=" or not all("leaf_value" in child for child in children):
            raise InvalidInput("model", "found trees that are no stumps", "give a model of num_leaves=2 on numbers")
        below, above = (float(child["leaf_value"]) for child in children)
        yield root["split_feature"], float(np.nextafter(root["threshold"], inf)), below, above


VOTES: Mapping[str, Callable[[Any], Iterator[Leaves | float]]] = {
    "sklearn.AdaBoostClassifier": _adaboost,
    "sklearn.GradientBoostingClassifier": _gradient_boosting,
    "lightgbm.LGBMClassifier": _lightgbm_model,
    "lightgbm.Booster": _lightgbm,
}
"""How models are taken apart, by library and class."""
