"""A fitted ensemble as a table, as text, and as importances of features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._optional_dependencies import check_pandas_support

from cvxens.colgen.oracles import Constant, Stump
from cvxens.colgen.oracles.trees import SignedTree
from cvxens.estimators.fitting.multiclass import names_of_parts
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]


def parts(ensemble: Any) -> Iterator[tuple[int, Any, Array]]:
    """The sub-problem, hypothesis and weights (n_outputs,) of every weak learner that has a weight."""
    several = hasattr(ensemble, "decomposition_")
    learners = ensemble.weak_learners_ if several else [ensemble.weak_learners_]
    weights = ensemble.weights_ if several else [ensemble.weights_]
    for problem, found in enumerate(zip(learners, weights, strict=True)):
        for hypothesis, w in zip(*found, strict=True):
            if np.any(w):
                yield problem, hypothesis, np.atleast_1d(w)


def importances(ensemble: Any) -> Array:
    """The share of each feature in the sum of |weights| of stumps and trees; the mean over the sub-problems."""
    n_problems = len(ensemble.weights_) if hasattr(ensemble, "decomposition_") else 1
    sums = np.zeros((n_problems, ensemble.n_features_in_))
    for problem, hypothesis, w in parts(ensemble):
        features, shares = shares_of(hypothesis)
        np.add.at(sums[problem], features, np.abs(w).sum() * shares)
    totals = sums.sum(axis=1, keepdims=True)
    return (sums / np.where(totals > 0, totals, 1.0)).mean(axis=0)


@singledispatch
def shares_of(hypothesis: Any) -> tuple[Indices, Array]:
    """The features that a hypothesis looks at, and the share of each look; (n_looks,) both.

    The tests of a tree have shares in proportion to the training weight that comes to them.
    """
    raise AttributeError(
        f"feature_importances_: {type(hypothesis).__name__} is neither a stump nor a tree; ensembles of these have them"
    )


@shares_of.register
def _(_hypothesis: Constant) -> tuple[Indices, Array]:
    return np.zeros(0, np.intp), np.zeros(0)


@shares_of.register
def _(hypothesis: Stump) -> tuple[Indices, Array]:
    return np.array([hypothesis.feature]), np.ones(1)


@shares_of.register
def _(hypothesis: SignedTree) -> tuple[Indices, Array]:
    nodes = hypothesis.tree.nodes
    tests = np.flatnonzero(nodes.feature >= 0)
    cases = nodes.counts[tests].sum(axis=1)
    return nodes.feature[tests], cases / max(float(cases.sum()), np.finfo(float).tiny)


def frame(ensemble: Any) -> Any:
    """The ensemble as a pandas data frame, see `Ensemble.to_frame`."""
    pd = check_pandas_support("to_frame")
    names = _names(ensemble)
    rows = [
        {"problem": problem, "hypothesis": _readable(hypothesis, names), **_weights(w), **_stump(hypothesis, names)}
        for problem, hypothesis, w in sorted(parts(ensemble), key=_rank)
    ]
    return pd.DataFrame(rows, columns=None if rows else ["problem", "hypothesis", "weight"])


def text(ensemble: Any, most: int) -> str:
    """The ensemble as lines, see `Ensemble.to_text`."""
    names = _names(ensemble)
    ranked = sorted(parts(ensemble), key=_rank)
    several = hasattr(ensemble, "decomposition_")
    heads = [f"[{name}] " for name in names_of_parts(ensemble.multi_class, ensemble.classes_)] if several else [""]
    lines = [
        f"{heads[problem]}{'  '.join(f'{value:+.6g}' for value in w)}  {_readable(hypothesis, names)}"
        for problem, hypothesis, w in ranked[:most]
    ]
    rest = len(ranked) - len(lines)
    return "\n".join([*lines, *([f"and {rest} more"] if rest else [])])


def _rank(part: tuple[int, Any, Array]) -> tuple[int, float]:
    problem, _, w = part
    return problem, -float(np.abs(w).max())


def _names(ensemble: Any) -> Mapping[int, str]:
    return dict(enumerate(getattr(ensemble, "feature_names_in_", ())))


@singledispatch
def _readable(hypothesis: Any, _names: Mapping[int, str]) -> str:
    """The text of a hypothesis, with the names of the features that have one."""
    return str(hypothesis)


@_readable.register
def _(hypothesis: Stump, names: Mapping[int, str]) -> str:
    d = hypothesis.feature
    return str(hypothesis).replace(f"x[{d}]", names.get(d, f"x[{d}]"), 1)


@_readable.register
def _(hypothesis: SignedTree, names: Mapping[int, str]) -> str:
    tree = hypothesis.tree
    features = (replace(feature, name=names.get(d, feature.name)) for d, feature in enumerate(tree.features))
    return str(replace(hypothesis, tree=replace(tree, features=tuple(features))))


def _weights(w: Array) -> dict[str, float]:
    if len(w) == 1:
        return {"weight": float(w[0])}
    return {f"weight_{k}": float(value) for k, value in enumerate(w)}


def _stump(hypothesis: Any, names: Mapping[int, str]) -> dict[str, Any]:
    if not isinstance(hypothesis, Stump):
        return {}
    feature = names.get(hypothesis.feature, hypothesis.feature)
    return {"feature": feature, "threshold": hypothesis.threshold, "sign": hypothesis.sign}
