"""Models that are read from files: whole, or refused.

Records have the types that they are annotated with, and what compiled code takes on trust of them is looked at. Fitted
attributes have their types and sizes, and the model has to score a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from cvxens.certificates import Certificate
from cvxens.colgen import Hypothesis
from cvxens.errors import InvalidInput
from cvxens.estimators.files.typed import fits
from cvxens.kernels.tree_paths import ThresholdTrees
from cvxens.solvers import LeastSquaresExperts
from cvxens.solvers.additive import AdditiveModel
from cvxens.trees import Feature, Tree
from cvxens.types import Array


@singledispatch
def well_formed(record: Any) -> Any:
    """Return a record of a model, if the places in it that others of its numbers tell of are there.

    Raises
    ------
    ValueError
        They are not.
    """
    return record


@well_formed.register
def _(record: AdditiveModel) -> AdditiveModel:
    starts, knots, values = record.starts, record.knots, record.values
    same = (starts.ndim, starts.dtype.kind, knots.dtype, values.dtype) == (1, "i", float, float)
    if not (
        same
        and values.shape == knots.shape == (knots.size,)
        and starts[0] == 0
        and starts[-1] == knots.size
        and (np.diff(starts) > 0).all()
    ):
        raise ValueError("an additive model whose features do not have the knots one after the other")
    rises = np.delete(np.diff(knots), starts[1:-1] - 1)
    if not (np.isfinite(knots).all() and (rises > 0).all()):
        raise ValueError("an additive model whose knots do not ascend")
    return record


@well_formed.register
def _(record: Tree) -> Tree:
    feature, cut, first, counts = record.nodes
    inner = np.flatnonzero(feature >= 0)
    branches = record.branches[inner]
    shapes = {feature.shape, cut.shape, first.shape, counts.shape[:1]} == {(1 + branches.sum(),)}
    kinds = (feature.dtype.kind, cut.dtype, first.dtype.kind, counts.dtype) == ("i", float, "i", float)
    if not (shapes and kinds and counts.shape[1:] == (len(record.classes),)):
        raise ValueError("a tree whose nodes are not as many as their branches")
    # breadth first, so that children come one after the other and after their parents
    children = 1 + np.cumsum(branches) - branches
    nominal = np.array([record.features[d].categories is not None for d in feature[inner].tolist()], bool)
    if not ((first[inner] == children).all() and (children > inner).all() and (np.isnan(cut[inner]) == nominal).all()):
        raise ValueError("a tree whose branches do not lead to its nodes")
    return record


@well_formed.register
def _(record: ThresholdTrees) -> ThresholdTrees:
    for tree in record.trees:
        if len({part.shape for part in tree}) > 1 or [part.dtype.kind for part in tree] != ["i", "i", "i", "f", "b"]:
            raise ValueError("a tree whose nodes are not as many as its questions")
        inner = np.flatnonzero(tree.children_left >= 0)
        children = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
        # every node but the root is the child of one that comes before it
        once = np.array_equal(np.sort(children), np.arange(1, len(tree.feature)))
        asked = tree.feature[inner]
        if not (once and (children > np.tile(inner, 2)).all() and ((asked >= 0) & (asked < record.n_features)).all()):
            raise ValueError("a tree whose branches do not lead to its nodes")
    return record


FITTED: Mapping[str, Any] = {
    "classes_": NDArray[Any],
    "n_features_in_": int,
    "feature_names_in_": NDArray[np.object_],
    "features_": tuple[Feature, ...],
    "certificate_": Certificate,
    "history_": tuple[Any, ...],
    "weak_learners_": tuple[Hypothesis, ...],
    "weights_": NDArray[np.float64],
    "intercept_": NDArray[np.float64] | float,
    "dual_weights_": NDArray[np.float64],
    "support_": NDArray[np.intp],
    "dual_coef_": NDArray[np.float64],
    "support_vectors_": NDArray[Any],
    "C_": float,
    "n_iter_": int,
    "solver_": str,
    "experts_": LeastSquaresExperts,
    "X_fit_": NDArray[np.float64],
    "codes_": NDArray[np.float64],
    "_predictor": Callable[..., Any],
    "decomposition_": OneVsRestClassifier | OneVsOneClassifier,
    "best_params_": dict[str, float],
    "best_score_": float,
    "best_index_": int,
    "cv_results_": dict[str, Any],
    "n_splits_": int,
    "refit_time_": float,
}
"""Attributes of fitted estimators and their types; over sub-problems, a list of such."""

LARGE = 10**7
"""Features beyond which no sample is made up to try a model."""


def whole(estimator: Any) -> Any:
    """Return a fitted estimator that was read, if its attributes are of their types and sizes, and if it scores.

    Raises
    ------
    TypeError, ValueError
        They are not, or it does not.
    """
    state = vars(estimator)
    parts = getattr(state.get("decomposition_"), "estimators_", None)
    expected = (*getattr(type(estimator), "fitted", ()), *getattr(type(estimator), "derived", ()))
    lists = set(expected) if parts is not None else set()
    for name in expected:
        if name not in state:
            raise ValueError(f"{type(estimator).__name__} without {name}")
    for name, value in state.items():
        hint = FITTED.get(name, Any)
        each = value if name in lists and isinstance(value, list) else [value]
        if not all(fits(part, hint) for part in each) or (name in lists and each is not value):
            raise TypeError(f"{type(estimator).__name__}.{name} is of the type {type(value).__name__}")
        if name in lists and len(value) != len(parts or ()):
            raise ValueError(f"{type(estimator).__name__}.{name} for {len(value)} sub-problems of {len(parts or ())}")
    common = {name: value for name, value in state.items() if name not in lists}
    for k in range(len(parts or ())):
        _check_sizes({**{name: state[name][k] for name in lists}, "n_features_in_": state.get("n_features_in_")})
    _check_sizes(common)
    _try(estimator)
    return estimator


def _check_sizes(state: Mapping[str, Any]) -> None:
    """Raise unless what goes together is of one size."""
    found = {name: np.shape(value) for name, value in state.items() if isinstance(value, np.ndarray)}
    found |= {name: (len(state[name]),) for name in ("weak_learners_",) if name in state}
    classes = state.get("classes_")
    if classes is not None and (classes.ndim != 1 or len(classes) < 2 or (np.sort(classes) != classes).any()):
        raise ValueError("classes that are no ascending list of two or more")
    vectors = found.get("support_vectors_", (0, state.get("n_features_in_")))
    if vectors[1:] != (state.get("n_features_in_"),):
        raise ValueError(f"support vectors of the shape {vectors} for {state.get('n_features_in_')!r:.20} features")
    together = [
        ("weights_", "weak_learners_", slice(0, 1), slice(0, 1)),
        ("weights_", "intercept_", slice(1, None), slice(None)),
        ("dual_coef_", "support_", slice(None), slice(None)),
        ("support_vectors_", "support_", slice(0, 1), slice(None)),
    ]
    for first, second, part, of in together:
        if first in found and second in found and found[first][part] != found[second][of]:
            raise ValueError(f"{first} of the shape {found[first]} for {second} of the shape {found[second]}")


def _try(estimator: Any) -> None:
    """Score a sample as an estimator's own fit has seen it, and let each weak learner vote."""
    n_features = getattr(estimator, "n_features_in_", None)
    if not isinstance(n_features, int) or n_features < 1:
        raise ValueError(f"{type(estimator).__name__} for {n_features!r} features")
    seen = getattr(estimator, "support_vectors_", None)
    seen = [part for part in (seen if isinstance(seen, list) else [seen]) if part is not None and len(part)]
    if not seen and n_features > LARGE:
        return
    X = np.asarray(seen[0][:2], np.float64) if seen else np.zeros((2, n_features))
    if X.shape[1:] != (n_features,):
        raise ValueError(f"samples of {X.shape[1:]} features for {n_features}")
    try:
        scores = _scored(estimator, X)
        for hypothesis in () if hasattr(estimator, "decomposition_") else getattr(estimator, "weak_learners_", ()):
            hypothesis(X)
    except InvalidInput:
        # of a kernel with ranges of its own, in which 0 need not be
        if seen:
            raise
        return
    except Exception as error:
        raise ValueError(f"{type(estimator).__name__} that does not score: {type(error).__name__}: {error}") from None
    n_classes = len(getattr(estimator, "classes_", (0, 0)))
    if scores.shape != (len(X), n_classes)[: 1 + (n_classes > 2)] or scores.dtype.kind != "f":
        raise ValueError(f"{type(estimator).__name__} with scores of the shape {scores.shape} for {n_classes} classes")


def _scored(estimator: Any, X: Array) -> Array:
    """The scores, or predictions of a regressor, of samples as they come after all checks and codes."""
    if hasattr(estimator, "decomposition_"):
        return np.asarray(estimator.decomposition_.decision_function(X))
    score = getattr(estimator, "_scores", None) or getattr(estimator, "decision_function", None) or estimator.predict
    return np.asarray(score(X))
