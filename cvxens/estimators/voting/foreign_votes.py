"""Votes of stumps, taken out of models of other libraries; none of them is imported for it.

A reader yields the parts of a model's raw score: trees of one split and constants. What it knows to mean something else
it refuses by name; for all the rest, the vote is held against the model's own raw scores on the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.types import Array

Leaves: TypeAlias = tuple[int, float, float, float]
"""A tree of one split: feature, threshold as of ``x >= threshold``, the values below and above."""


ROUNDING = 1e-9
"""Scores that differ by this much, relative to the sum of the weights, are equal: both add up some thousand numbers."""


class Library(NamedTuple):
    """How models of a class are read.

    Parameters
    ----------
    parts : callable
        From a fitted model of two classes to the parts of its raw score.
    raw_scores : callable
        From a model and X to the raw scores (n_samples,) that the library itself computes.
    """

    parts: Callable[[Any], Iterator[Leaves | float]]
    raw_scores: Callable[[Any, Array], Any]


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
    def read(cls, library: Library, model: Any, X: Array) -> ForeignVote:
        """Take a model apart, and hold the vote against the model's own raw scores on X (n_samples, n_features).

        Raises
        ------
        InvalidInput
            A model that is more than stumps and constants.
        """
        vote = cls.of(library.parts(model))
        told = np.asarray(library.raw_scores(model, X), dtype=np.float64)
        off = float(np.abs(vote(X) - told).max())
        # not <=, so that scores that are no numbers are refused as well
        if not off <= ROUNDING * max(float(vote.weights.sum()), float(np.abs(told).max())):
            raise InvalidInput(
                "model",
                f"found raw scores that differ by {off:.3g} from those of the stumps that were read from it",
                "give a model that is a weighted sum of stumps on numbers, and nothing else",
            )
        return vote

    @classmethod
    def of(cls, parts: Iterable[Leaves | float]) -> ForeignVote:
        """Add up trees of one split and constants."""
        sums: dict[tuple[int, float] | None, float] = {}
        always = 0.0
        for part in parts:
            feature, threshold, below, above = part if isinstance(part, tuple) else (0, inf, part, part)
            always += (above + below) / 2
            sums[feature, threshold] = sums.get((feature, threshold), 0.0) + (above - below) / 2
        found = {key: value for key, value in {**sums, None: always}.items() if value}
        signs = [1 if value > 0 else -1 for value in found.values()]
        hypotheses = [
            Constant(sign) if key is None else Stump(*key, sign) for key, sign in zip(found, signs, strict=True)
        ]
        return cls(tuple(hypotheses), np.abs(list(found.values())))

    def __call__(self, X: Array) -> Array:
        """Score X (n_samples, n_features); returns (n_samples,)."""
        voices = zip(self.weights, self.hypotheses, strict=True)
        return sum((w * h(X) for w, h in voices), np.zeros(len(X)))

    def without_constant(self) -> ForeignVote:
        """The vote of the stumps alone, for formulations that have an intercept."""
        kept = [k for k, h in enumerate(self.hypotheses) if not isinstance(h, Constant)]
        return replace(self, hypotheses=tuple(self.hypotheses[k] for k in kept), weights=self.weights[kept])


def _adaboost(model: Any) -> Iterator[Leaves | float]:
    check_is_fitted(model)
    for weight, estimator in zip(model.estimator_weights_, model.estimators_, strict=False):
        if not hasattr(estimator, "tree_"):
            raise InvalidInput("model", f"found an AdaBoost of {type(estimator).__name__}", "give one of stumps")
        votes = np.where(estimator.tree_.value[:, 0].argmax(axis=1) == 1, weight, -weight)
        yield _sklearn_tree(estimator.tree_, votes)


def _adaboost_scores(model: Any, X: Array) -> Array:
    """What the votes add up to; scikit-learn divides that by half the sum of the weights."""
    scores: Array = model.decision_function(X) * model.estimator_weights_.sum() / 2
    return scores


def _gradient_boosting(model: Any) -> Iterator[Leaves | float]:
    check_is_fitted(model)
    if model.init not in {None, "zero"}:
        raise InvalidInput("model", f"found one with init={model.init!r}", "give one that starts from a constant")
    for (estimator,) in model.estimators_:
        yield _sklearn_tree(estimator.tree_, model.learning_rate * estimator.tree_.value[:, 0, 0])
    if model.init is None:
        # the log-odds of the prior, within rounding of 0 and 1, which the exponential loss halves
        eps = np.finfo(np.float64).eps
        prior = np.clip(model.init_.class_prior_[1], eps, 1 - eps)
        yield float(logit(prior)) / (2 if model.loss == "exponential" else 1)


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


def _gradient_boosting_scores(model: Any, X: Array) -> Any:
    return model.decision_function(X)


def _lightgbm_model(model: Any) -> Iterator[Leaves | float]:
    return _lightgbm(model.booster_)


def _lightgbm_model_scores(model: Any, X: Array) -> Any:
    return _lightgbm_scores(model.booster_, X)


def _lightgbm_scores(model: Any, X: Array) -> Any:
    return model.predict(X, raw_score=True)


def _lightgbm(model: Any) -> Iterator[Leaves | float]:
    dumped = model.dump_model()
    objective = str(dumped.get("objective", "that of a function"))
    if dumped["num_tree_per_iteration"] != 1 or objective.split(maxsplit=1)[0] not in {"binary", "cross_entropy"}:
        raise InvalidInput("model", f"found the objective {objective!r}", "give a model of two classes, as 'binary' is")
    for tree in dumped["tree_info"]:
        root = tree["tree_structure"]
        if "leaf_value" in root:
            yield _leaf_value(root)
            continue
        children = root["left_child"], root["right_child"]
        if root["decision_type"] != "<=":
            raise InvalidInput("model", "found a split by categories", "give a model that was fitted to numbers")
        if not all("leaf_value" in child for child in children):
            raise InvalidInput("model", "found trees that are no stumps", "give a model of num_leaves=2")
        if root["missing_type"] == "Zero":
            raise InvalidInput("model", "found that it takes 0 as a missing value", "fit it with zero_as_missing=False")
        below, above = map(_leaf_value, children)
        yield root["split_feature"], float(np.nextafter(root["threshold"], inf)), below, above


def _leaf_value(leaf: Mapping[str, Any]) -> float:
    # a leaf of linear_tree=True has leaf_const + sum_j leaf_coeff_j x_j in place of the value
    if leaf.get("leaf_coeff"):
        raise InvalidInput("model", "found leaves with linear models in them", "fit it with linear_tree=False")
    return float(leaf.get("leaf_const", leaf["leaf_value"]))


LIBRARIES: Mapping[str, Library] = {
    "sklearn.AdaBoostClassifier": Library(_adaboost, _adaboost_scores),
    "sklearn.GradientBoostingClassifier": Library(_gradient_boosting, _gradient_boosting_scores),
    "lightgbm.LGBMClassifier": Library(_lightgbm_model, _lightgbm_model_scores),
    "lightgbm.Booster": Library(_lightgbm, _lightgbm_scores),
}
"""How models are taken apart, by library and class."""
