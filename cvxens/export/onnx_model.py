"""Fitted models as ONNX."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cvxens import __version__
from cvxens.errors import InvalidInput
from cvxens.export.graph import Graph, onnx
from cvxens.export.models import exportable
from cvxens.types import Array

OPERATORS = 17
"""The version of ONNX's operators: the first runtimes that have it are of 2022."""

FORMAT = 8
"""The version of ONNX's format that came with it."""

REFUSAL = "X must be finite, and within the ranges of the model"
"""What errors of runtimes name."""


def to_onnx(model: Any) -> Any:
    """Return a fitted ensemble of stumps, or an additive model, as ONNX.

    The graph has one input, X (n, n_features) of float64, and two outputs: `scores`, which is `decision_function`, and
    `label`, the class, of the type that `classes_` has. Scores are added up in the order in which the estimator adds
    them, so they are its own to the last bit where the runtime adds in order, but for simplex codes and for expansions
    in kernels, whose scores are equal up to rounding. Values on a threshold count as above it. Values that
    `decision_function` refuses, NaN, infinity and those outside the ranges of the kernel, make the run fail at a node
    of the name "X must be finite, ...". A run takes memory for every sample and stump: score large samples in parts.

    Parameters
    ----------
    model : estimator
        A fitted ensemble whose weak learners are stumps; or a machine whose kernel is a sum over features, those that
        have `shape_functions_`: `InfiniteEnsembleSVC` and its cross-validation, `RhoSVC`, `RegAdaBoostClassifier` and
        `PartialSVMEnsembleClassifier`, with the kernels of stumps. A pipeline is not taken: export its last step, which
        sees what the steps before it make of X.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(it, path)`` or ``it.SerializeToString()`` write it. Its producer is cvxens, its properties are the
        `estimator`, the `certificate` as text, and the `feature_names` as JSON where there are any.

    Raises
    ------
    NotFittedError
        There is nothing to export yet.
    InvalidInput
        A model that is not made of functions of one feature; classes that are neither numbers nor text; or the package
        onnx is missing.

    Examples
    --------
    >>> from onnxruntime import InferenceSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier().fit(X, y)
    >>> session = InferenceSession(to_onnx(model).SerializeToString())
    >>> label, scores = session.run(["label", "scores"], {"X": X})
    >>> bool((label == model.predict(X)).all() and (scores == model.decision_function(X)).all())
    True
    """
    package, graph = onnx(), Graph()
    check_is_fitted(model)
    exported, classes = exportable(model), _classes(model)
    scores = exported.scorer(graph, "X")
    _finish(graph, scores, _within(graph, exported.box), classes)
    describe = package.helper.make_tensor_value_info
    shape = ("n", len(classes)) if len(scores) > 1 else ("n",)
    label_type = package.helper.np_dtype_to_tensor_dtype(classes.dtype)
    proto = package.helper.make_model(
        package.helper.make_graph(
            graph.nodes,
            "scores",
            [describe("X", package.TensorProto.DOUBLE, ("n", model.n_features_in_))],
            [describe("label", label_type, ("n",)), describe("scores", package.TensorProto.DOUBLE, shape)],
            graph.constants,
        ),
        opset_imports=[package.helper.make_opsetid("", OPERATORS)],
        ir_version=FORMAT,
        producer_name="cvxens",
        producer_version=__version__,
    )
    package.helper.set_model_props(proto, _properties(model))
    return proto


def _classes(model: Any) -> NDArray:
    """The classes as ONNX has them."""
    classes = model.classes_
    for kinds, dtype in (("b", np.bool_), ("iu", np.int64), ("f", np.float64)):
        if classes.dtype.kind in kinds:
            return classes.astype(dtype)
    if all(isinstance(value, str) for value in classes.tolist()):
        return classes.astype(object)
    raise InvalidInput("model", f"found the classes {classes}", "fit with classes that are numbers or text")


def _within(graph: Graph, box: Array) -> str:
    """Which samples are finite and within the box, (n,) of bool."""
    low, high = box
    inside = graph.put("And", graph.put("GreaterOrEqual", "X", low), graph.put("LessOrEqual", "X", high))
    outside = graph.put("ReduceSum", graph.put("Where", inside, 0.0, 1.0), np.array([1]), keepdims=0)
    return graph.put("Equal", outside, 0.0)


def _finish(graph: Graph, columns: Sequence[str], inside: str, classes: NDArray) -> None:
    """Add the outputs: NaN and no class, but an error, for samples that are not inside."""
    if len(columns) == 1:
        (scores,) = columns
        best = graph.put("Where", graph.put("Greater", scores, 0.0), np.array(1), np.array(0))
        graph.put("Where", inside, scores, np.nan, result="scores")
    else:
        scores = graph.side_by_side(columns)
        best = graph.put("ArgMax", scores, axis=1, keepdims=0)
        graph.put("Where", graph.put("Unsqueeze", inside, np.array([1])), scores, np.nan, result="scores")
    known = graph.put("Where", inside, best, np.array(len(classes)))
    graph.put("Gather", classes, known, result="label", label=REFUSAL)


def _properties(model: Any) -> dict[str, str]:
    fitted = getattr(model, "best_estimator_", model)
    certificates = fitted.certificate_ if isinstance(fitted.certificate_, list) else [fitted.certificate_]
    told = {"estimator": type(model).__name__, "certificate": "\n\n".join(map(str, certificates))}
    names = getattr(model, "feature_names_in_", None)
    return told if names is None else {**told, "feature_names": json.dumps(names.tolist())}
