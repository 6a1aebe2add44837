"""Fitted models for other runtimes: ONNX, with the scores of `decision_function` in double precision.

A graph of operators on float64 grows by stumps, additive models and votes of pairs of classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from cvxens import __version__
from cvxens.errors import InvalidInput, refusing
from cvxens.estimators import (
    AdditiveRegressor,
    CGEnsSLSClassifier,
    InfiniteEnsembleSVC,
    InfiniteEnsembleSVR,
    LPBoostRegressor,
    PriceSearchCV,
)
from cvxens.estimators.boosting import Boosting, CodedBoosting
from cvxens.estimators.ensembles import Ensemble, OfAnyFormulation
from cvxens.estimators.expansions import ExpansionClassifier
from cvxens.hypotheses import Among, Branch, Hypothesis, Interval, LevelStump, Ramp, Rule, Scaled, find_step
from cvxens.kernels import Kernel
from cvxens.types import Array, Labels, Numbers

if TYPE_CHECKING:
    import onnx

__all__ = ["to_onnx"]

REFUSAL = "X must be finite, and within the ranges of the model"
"""The name of the node at which runtimes fail."""

REMEDY = "give an ensemble of stumps, or a machine whose kernel is a sum over features, such as 'stump'"

Scores: TypeAlias = tuple[list[str], Array]
"""The names of the scores of `decision_function`, and the lowest and highest values of features (2, n_features)."""


def import_onnx() -> Any:
    """Return the package, or raise InvalidInput where it is not installed."""
    try:
        import onnx
    except ImportError:
        raise InvalidInput("onnx", "found no such package", "install it: pip install 'cvxens[onnx]'") from None
    return onnx


class Graph:
    """Operators in the order of evaluation (NodeProto) and the constants that they use (TensorProto).

    Where `gaps` is True, values of X may be missing: NaN.
    """

    def __init__(self, *, gaps: bool) -> None:
        self.gaps = gaps
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def array(self, values: ArrayLike) -> str:
        """Add a constant, numbers of the type that they have, or text; returns its name."""
        name = f"constant {len(self.constants)}"
        self.constants.append(import_onnx().numpy_helper.from_array(np.asarray(values), name))
        return name

    def put(self, operator: str, *inputs: Any, result: str = "", label: str = "", **attributes: Any) -> str:
        """Add an operator of ONNX on named values or constants; returns the name of its result.

        `label` is what errors of a runtime call the node.
        """
        names = [value if isinstance(value, str) else self.array(value) for value in inputs]
        result = result or f"value {len(self.nodes)}"
        self.nodes.append(import_onnx().helper.make_node(operator, names, [result], label, **attributes))
        return result

    def total(self, terms: str) -> str:
        """Sum (n, n_terms) along its rows, one term after the other, so that it is what `+=` gives to the last bit."""
        return self.put("Gather", self.put("CumSum", terms, np.array(1)), np.array(-1), axis=1)

    def stack(self, columns: Sequence[str]) -> str:
        """Join values (n,) as columns (n, n_columns)."""
        return self.put("Concat", *(self.put("Unsqueeze", column, np.array([1])) for column in columns), axis=1)

    def combine(self, columns: Sequence[str], matrix: Numbers) -> list[str]:
        """Multiply values (n,), one for each column of a matrix, by its rows, which gives one for each row."""
        table = self.stack(columns)
        return [self.total(self.put("Mul", table, row)) for row in matrix]

    def add_steps(
        self, features: NDArray[np.int64], thresholds: Array, above: Array, below: Array, missing: Array
    ) -> list[str]:
        """Add scores `f_k(x) = sum_j (above[j, k] if x[features[j]] >= thresholds[j] else below[j, k])`, in this order.

        Where a feature is missing, its terms are missing[j, k]. There is at least one step.
        """
        values = self.put("Gather", "X", features, axis=1)
        reached = self.put("GreaterOrEqual", values, thresholds)
        terms = [self.put("Where", reached, *pair) for pair in zip(above.T, below.T, strict=True)]
        if self.gaps:
            gone = self.put("IsNaN", values)
            terms = [self.put("Where", gone, own, term) for own, term in zip(missing.T, terms, strict=True)]
        return [self.total(term) for term in terms]

    def read(self, feature: int) -> str:
        """Add the values (n,) of a feature."""
        return self.put("Gather", "X", np.array(feature), axis=1)

    def reach(self, feature: int, threshold: float) -> str:
        """Add the truth values (n,) of `x[feature] >= threshold`."""
        return self.put("GreaterOrEqual", self.read(feature), threshold)

    def choose(self, feature: int, held: str, inside: float | str, outside: float | str, missing: float | str) -> str:
        """Add the values (n,) `inside` where a truth value of a feature holds, else `outside`; `missing` at NaN."""
        values = self.put("Where", held, inside, outside)
        return self.put("Where", self.put("IsNaN", self.read(feature)), missing, values) if self.gaps else values

    def find(self, feature: int, levels: Sequence[int]) -> str:
        """Add the truth values (n,) of `x[feature] in levels`."""
        # nothing equals NaN
        codes = np.array(levels, np.float64) if levels else np.array([np.nan])
        found = self.put("Equal", self.put("Unsqueeze", self.read(feature), np.array([1])), codes)
        return self.put("Greater", self._count(found), 0.0)

    def _count(self, truths: str) -> str:
        """Count in every row of truth values (n, n_columns) those that hold."""
        return self.put("ReduceSum", self.put("Where", truths, 1.0, 0.0), np.array([1]), keepdims=0)

    def hold(self, truths: str) -> str:
        """Add the truth values (n,) that all of a row (n, n_columns) hold."""
        return self.put("Equal", self._count(self.put("Not", truths)), 0.0)

    def fill(self, feature: int, truths: str, *, missing: bool) -> str:
        """Put a truth value where a feature is missing into those (n,) of all samples."""
        if not self.gaps:
            return truths
        gone = self.put("IsNaN", self.read(feature))
        return self.put("Or", truths, gone) if missing else self.put("And", truths, self.put("Not", gone))

    def meet(self, conditions: Sequence[Interval | Among]) -> str:
        """Add the truth values (n,) that all of some conditions hold, of which there is one."""
        intervals = [condition for condition in conditions if isinstance(condition, Interval)]
        held = [self._meet_intervals(intervals)] if intervals else []
        for condition in conditions:
            if isinstance(condition, Among):
                found = self.find(condition.feature, condition.levels)
                found = found if condition.inside else self.put("Not", found)
                held.append(self.fill(condition.feature, found, missing=condition.missing))
        first, *rest = held
        for other in rest:
            first = self.put("And", first, other)
        return first

    def _meet_intervals(self, intervals: Sequence[Interval]) -> str:
        """Add the truth values (n,) of `low <= x[feature] < high` for all of some intervals, of which there is one."""
        features, lows, highs, missing = map(np.array, zip(*intervals, strict=True))
        values = self.put("Gather", "X", features, axis=1)
        within = self.put("And", self.put("GreaterOrEqual", values, lows), self.put("Less", values, highs))
        if self.gaps:
            within = self.put("Or", within, self.put("And", self.put("IsNaN", values), missing))
        return self.hold(within)

    def add_shapes(self, functions: Sequence[tuple[Array, Array]], intercept: float) -> list[str]:
        """Add `f(x) = intercept + sum_d g_d(x_d)`, each g_d linear between ascending knots and constant beyond.

        `functions` holds (knots, values) of every feature; where a knot stands twice, g_d jumps.
        """
        lines = [_find_lines(*function) for function in functions]
        knots, values, slopes = (np.concatenate(parts) for parts in zip(*lines, strict=True))
        ends = np.cumsum([len(own) for own, _, _ in lines])
        firsts, lasts = np.append(0, ends[:-1]), ends - 1
        x = self.put("Min", self.put("Max", "X", knots[firsts]), knots[lasts])
        # the places (n, n_features) of the last knots at or below x, by steps of half the size each time
        table, at = self.array(knots), self.array(firsts)
        for k in reversed(range(max(1, int((lasts - firsts).max()).bit_length()))):
            further = self.put("Min", self.put("Add", at, np.array(2**k)), lasts)
            reached = self.put("GreaterOrEqual", x, self.put("Gather", table, further))
            at = self.put("Where", reached, further, at)
        # g_d(x_d) = value + slope (x_d - knot) from there
        knot, value, slope = (self.put("Gather", each, at) for each in (table, values, slopes))
        rises = self.put("Mul", slope, self.put("Sub", x, knot))
        # the intercept goes to the first feature, whose sum is then the same to the last bit
        intercepts = np.append(intercept, np.zeros(len(firsts) - 1))
        return [self.total(self.put("Add", self.put("Add", value, rises), intercepts))]


def _find_lines(knots: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return knots, the values there, and the slopes after them; with a knot just below a jump at the first."""
    if len(knots) > 1 and knots[0] == knots[1]:
        knots, values = np.append(np.nextafter(knots[0], -np.inf), knots), np.append(values[0], values)
    widths = np.diff(knots)
    slopes = np.divide(np.diff(values), widths, out=np.zeros_like(widths), where=widths > 0)
    return knots, values, np.append(slopes, 0.0)


def to_onnx(model: BaseEstimator) -> onnx.ModelProto:
    """Return a fitted ensemble of stumps, trees of depth 2 and rules, or an additive model, as ONNX.

    The graph has one input, X (n, n_features) of float64. Of a classifier there are two outputs: `scores`, which is
    `decision_function`, and `label`, the class, of the type that `classes_` has; of a regressor, a ranker or a survival
    model there are the `scores` alone, which are what it predicts. Scores are added up in the order in which the
    estimator adds them, so they are its own to the last bit where the runtime adds in order, but for simplex codes,
    expansions in kernels, and means of counts and amounts, whose scores are equal up to rounding. Values on a threshold
    count as above it.

    A nominal feature, of a model that was fitted to a data frame with such columns, is given as the code of its level:
    0, 1, ... in the order of `features_`, which the property `columns` repeats. Where a model takes missing values,
    they are NaN, and so is a level that the fit has not seen. Values that `decision_function` refuses (infinity, NaN
    where no value may be missing, those outside the ranges of the kernel) and numbers that are no code of a level make
    the run fail at a node of the name "X must be finite, ...". A run takes memory for every sample and stump: score
    large samples in parts.

    Parameters
    ----------
    model : estimator
        A fitted ensemble whose weak learners are stumps, trees of depth 2 or rules; or a machine whose kernel is a sum
        over features, those that have `shape_functions_`: `InfiniteEnsembleSVC` and its cross-validation, `RhoSVC`,
        `RegAdaBoostClassifier`, `PartialSVMEnsembleClassifier` and `InfiniteEnsembleSVR`, with the kernels of stumps. A
        pipeline is not taken:
        export its last step, which sees what the steps before it make of X.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(it, path)`` or ``it.SerializeToString()`` write it. Its producer is cvxens, its properties are the
        `estimator`, the `certificate` as text, `input`, which says what values of X are, and as JSON, where there are
        any, the `feature_names`, and the `columns`: of each the list of its levels, null for one of numbers.

    Raises
    ------
    NotFittedError
        There is nothing to export yet.
    InvalidInput
        A model that is made of anything else; classes that are neither numbers nor text; or the package
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
    package = import_onnx()
    check_is_fitted(model)
    graph = Graph(gaps=_takes_gaps(model))
    (scores, box), classes = _add_scores(model, graph), _find_classes(model)
    inside, describe = _add_range(model, graph, box), package.helper.make_tensor_value_info
    shape = ("n", len(scores)) if len(scores) > 1 else ("n",)
    outputs = [describe("scores", package.TensorProto.DOUBLE, shape)]
    _add_outputs(graph, scores, inside, classes)
    if classes is not None:
        label_type = package.helper.np_dtype_to_tensor_dtype(classes.dtype)
        outputs.insert(0, describe("label", label_type, ("n",)))
    proto = package.helper.make_model(
        package.helper.make_graph(
            graph.nodes,
            "scores",
            [describe("X", package.TensorProto.DOUBLE, ("n", model.n_features_in_))],
            outputs,
            graph.constants,
        ),
        # the first operators that runtimes have since 2022, and the format that came with them
        opset_imports=[package.helper.make_opsetid("", 17)],
        ir_version=8,
        producer_name="cvxens",
        producer_version=__version__,
    )
    package.helper.set_model_props(proto, _describe(model))
    return proto


def _add_scores(model: BaseEstimator, graph: Graph) -> Scores:
    """Add the scores of a fitted estimator to a graph, in parts that ONNX has operators for."""
    match model:
        case OfAnyFormulation() if any(part._decide is not None for part in model._parts()):
            raise InvalidInput("model", "found a formulation whose variables of its own act by a function", REMEDY)
        case PriceSearchCV():
            return _add_scores(model.best_estimator_, graph)
        case CodedBoosting():
            # of two classes the score is half of F_1 - F_0
            scores, box = _add_vote(model, graph)
            return graph.combine(scores, np.array([[-0.5, 0.5]])) if len(model.classes_) == 2 else scores, box
        case CGEnsSLSClassifier():
            # the score of a class is the inner product of its code with the coordinates
            (scores, box), codes = _add_vote(model, graph), model.codes_
            return graph.combine(scores, codes[1:] if len(codes) == 2 else codes), box
        case AdditiveRegressor() if model._is_of_means():
            (score,), box = _add_vote(model, graph)
            return [graph.put("Exp", score)], box
        case LPBoostRegressor():
            scores, box = _add_vote(model, graph)
            # of several quantiles, which ascend
            return list(accumulate(scores, partial(graph.put, "Max"))), box
        case Ensemble() | Boosting():
            return _add_parts(model, graph, _add_vote)
        case InfiniteEnsembleSVC() | InfiniteEnsembleSVR() | ExpansionClassifier():
            return _add_parts(model, graph, _add_functions)
    found = f"found a {type(model).__name__}, which is not made of functions of one feature"
    raise InvalidInput("model", found, REMEDY)


def _add_parts(model: BaseEstimator, graph: Graph, add: Callable[[Any, Graph], Scores]) -> Scores:
    """Add the scores for two classes; or of several, each against the rest."""
    of_parts, boxes = zip(*(add(part, graph) for part in model._parts()), strict=True)
    scores, (lows, highs) = [score for part in of_parts for score in part], np.stack(boxes, axis=1)
    box = np.stack([lows.max(axis=0), highs.min(axis=0)])
    return scores, box


def _add_vote(model: BaseEstimator, graph: Graph) -> Scores:
    """Add a vote; the first weak learner takes the intercept along, whose sum is then the same to the last bit."""
    weights = model.weights_.reshape(len(model.weak_learners_), np.size(model.intercept_))
    kept = np.flatnonzero(weights.any(axis=1)).tolist()
    learners: list[Any] = [model.weak_learners_[j] for j in kept]
    box, found = _find_box(None, model.n_features_in_), [find_step(learner) for learner in learners]
    if None in found:
        values = [_add_learner(learner, graph) for learner in learners]
        intercept = np.atleast_1d(model.intercept_)
        return [_add_sum(graph, values, weights[kept, k], intercept[k]) for k in range(weights.shape[1])], box
    steps = []
    for j, step in zip(kept, filter(None, found), strict=True):
        steps.append((step.feature, step.threshold, *(value * weights[j] for value in step.values)))
    none = np.zeros(weights.shape[1])
    columns = zip(*(steps or [(0, 0.0, none, none, none)]), strict=True)
    features, thresholds, *terms = (np.array(column) for column in columns)
    for term in terms:
        term[0] += np.atleast_1d(model.intercept_)
    return graph.add_steps(features, thresholds, *terms), box


def _add_sum(graph: Graph, values: Sequence[str], weights: Array, intercept: float) -> str:
    """Add a score `b + w_1 h_1 + w_2 h_2 + ...`, in this order."""
    first, *rest = (graph.put("Mul", value, w) for value, w in zip(values, weights, strict=True))
    return graph.total(graph.stack([graph.put("Add", first, intercept), *rest]))


def _add_learner(hypothesis: Hypothesis, graph: Graph) -> str:
    """Add the values (n,) of a weak learner that is made of tests of single features."""
    match hypothesis:
        case _ if (step := find_step(hypothesis)) is not None:
            feature, threshold, *values = step
            return graph.choose(feature, graph.reach(feature, threshold), *map(float, values))
        case LevelStump(feature, levels, sign, missing):
            held = graph.find(feature, levels)
            return graph.choose(feature, held, float(sign), float(-sign), float(sign * missing))
        case Branch():
            asked, above, below = (_add_learner(part, graph) for part in vars(hypothesis).values())
            below = graph.put("Where", graph.put("Less", asked, 0.0), below, 0.0)
            return graph.put("Where", graph.put("Greater", asked, 0.0), above, below)
        case Rule(conditions, sign):
            return graph.put("Where", graph.meet(conditions), float(sign), 0.0)
        case Ramp():
            beyond = graph.put("Sub", graph.read(hypothesis.feature), hypothesis.threshold)
            part = graph.put("Max", graph.put("Mul", beyond, float(hypothesis.side)), 0.0)
            line = graph.put("Mul", part if hypothesis.side else beyond, hypothesis.slope)
            return graph.put("Where", graph.put("IsNaN", beyond), 0.0, line) if graph.gaps else line
        case Scaled():
            return graph.put("Mul", _add_learner(hypothesis.hypothesis, graph), float(hypothesis.factor))
    kind = type(hypothesis).__name__
    found = f"found a {kind} as a weak learner, which is no stump, tree of stumps or rule"
    raise InvalidInput("model", found, REMEDY)


def _add_functions(model: BaseEstimator, graph: Graph) -> Scores:
    """Add the functions of single features whose sum a machine is."""
    with refusing("model", f"found a {type(model).__name__} without functions", REMEDY, (AttributeError,)):
        functions = model.shape_functions_
    # beyond the ranges of the training sample an expansion is constant, as its kernel is
    return graph.add_shapes(functions, float(model.intercept_)), _find_box(model.kernel_, model.n_features_in_)


def _find_box(kernel: object, n_features: int) -> Array:
    """Return the lowest and the highest value of each feature, (2, n_features): those of a kernel, or any number."""
    box = kernel.domain(n_features) if isinstance(kernel, Kernel) else np.outer([-inf, inf], np.ones(n_features))
    largest = np.finfo(float).max
    return np.clip(box, -largest, largest)


def _find_classes(model: BaseEstimator) -> Labels | None:
    """Return the classes in a type that ONNX has; None where there are none."""
    if not is_classifier(model):
        return None
    classes = model.classes_
    for kinds, dtype in (("b", np.bool_), ("iu", np.int64), ("f", np.float64)):
        if classes.dtype.kind in kinds:
            return classes.astype(dtype)
    if all(isinstance(value, str) for value in classes.tolist()):
        return classes.astype(object)
    raise InvalidInput("model", f"found the classes {classes}", "fit with classes that are numbers or text")


def _find(model: BaseEstimator, attribute: str) -> Any:
    """Return an attribute that not all fitted models have, None where it is not there."""
    return getattr(model, attribute, None)


def _takes_gaps(model: BaseEstimator) -> bool:
    """Return True if values may be missing; what is no estimator of scikit-learn is refused later."""
    return isinstance(model, BaseEstimator) and bool(get_tags(model).input_tags.allow_nan)


def _add_range(model: BaseEstimator, graph: Graph, box: Array) -> str:
    """Add the truth values (n,) that all values of a sample are in the box, codes of levels, or missing if they may."""
    features = _find(model, "features_") or ()
    nominal = [j for j, feature in enumerate(features) if feature.categories is not None]
    low, high = box.copy()
    low[nominal], high[nominal] = 0.0, [features[j].n_values - 1 for j in nominal]
    within = graph.put("And", graph.put("GreaterOrEqual", "X", low), graph.put("LessOrEqual", "X", high))
    if nominal:
        numeric = ~np.isin(np.arange(len(features)), nominal)
        whole = graph.put("Equal", "X", graph.put("Floor", "X"))
        within = graph.put("And", within, graph.put("Or", whole, numeric))
    if graph.gaps:
        within = graph.put("Or", within, graph.put("IsNaN", "X"))
    return graph.hold(within)


def _add_outputs(graph: Graph, columns: Sequence[str], inside: str, classes: Labels | None) -> None:
    """Add scores and, where there are classes, the label: NaN and an error for samples outside the model's range."""
    several = len(columns) > 1
    # there is one zero, and none at the place of those outside
    zeros = graph.put("Gather", np.zeros(1), graph.put("Where", inside, np.array(0), np.array(1)), label=REFUSAL)
    shift = graph.put("Where", inside, zeros, np.nan)
    shift = graph.put("Unsqueeze", shift, np.array([1])) if several else shift
    scores = graph.put("Sub", graph.stack(columns) if several else columns[0], shift, result="scores")
    if classes is None:
        return
    if several:
        best = graph.put("ArgMax", scores, axis=1, keepdims=0)
    else:
        best = graph.put("Where", graph.put("Greater", scores, 0.0), np.array(1), np.array(0))
    graph.put("Gather", classes, best, result="label")


def _describe(model: BaseEstimator) -> dict[str, str]:
    """Return the properties of the file: estimator, certificate, and what the features are."""
    certificates = (_find(model, "best_estimator_") or model).certificate_
    text = "\n\n".join(map(str, certificates if isinstance(certificates, list) else [certificates]))
    names = _find(model, "feature_names_in_")
    named = {} if names is None else {"feature_names": json.dumps(names.tolist())}
    features, values = _find(model, "features_"), "numbers"
    if features is not None:
        named["columns"] = json.dumps({feature.name: feature.categories for feature in features})
        values = "numbers, or the codes 0, 1, ... of levels in the order that columns has them"
    gaps = "; NaN where missing" if _takes_gaps(model) else ""
    unseen = " or of no level in columns" if features is not None and gaps else ""
    return {"estimator": type(model).__name__, "certificate": text, "input": f"{values}{gaps}{unseen}", **named}
