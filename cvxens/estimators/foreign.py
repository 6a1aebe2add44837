"""Models of other libraries: how far they are from the optimum of a formulation, and better weights for their parts.

None of the libraries is imported. A reader yields the parts of a model's raw score, trees of one split and constants.
What it knows to mean something else it refuses by name; for all the rest, the vote is held against the model's own raw
scores on the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import logit
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate, certify
from cvxens.colgen import Column, Formulation, Run, column_generation, formulations
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.estimators.ensembles import certify_ensemble
from cvxens.estimators.explanations import sum_votes
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.kernels import Gaussian
from cvxens.kernels.kernel import Kernel
from cvxens.problems import SVMDual
from cvxens.problems.duality import centres
from cvxens.proofs import Proof, prove, prove_kernel
from cvxens.rounding import dot
from cvxens.types import Array, Data, Given
from cvxens.validation import finite_array

Leaves: TypeAlias = tuple[int, float, float, float]
"""A tree of one split: feature, threshold as of ``x >= threshold``, the values below and above."""

ROUNDING = 1e-9
"""Scores that differ by this much, relative to the sum of the weights, are equal: both add up some thousand numbers."""


class Library(NamedTuple):
    """Reads models of a class: the parts of a raw score of two classes, and what the library computes of it."""

    parts: Callable[[Any], Iterator[Leaves | float]]
    raw_scores: Callable[[Any, Array], Any]


@dataclass(frozen=True)
class ForeignVote:
    """A vote with weights of at least 0 of distinct stumps, none the negation of another."""

    hypotheses: tuple[Hypothesis, ...]
    weights: Array

    @classmethod
    def read(cls, library: Library, model: object, X: Array) -> ForeignVote:
        """Take a model apart, and hold the vote against the model's own raw scores on X (n_samples, n_features)."""
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
        pairs = zip(found, signs, strict=True)
        hypotheses = [Constant(sign) if key is None else Stump(*key, sign) for key, sign in pairs]
        return cls(tuple(hypotheses), np.abs(list(found.values())))

    def __call__(self, X: Array) -> Array:
        """Score X (n_samples, n_features); returns (n_samples,)."""
        return sum_votes(X, self.hypotheses, self.weights, np.zeros(()))


def _read_adaboost(model: Any) -> Iterator[Leaves | float]:
    """Yield the stumps of an AdaBoost, whose leaves vote for a class with the weight of the stump."""
    for weight, estimator in zip(model.estimator_weights_, model.estimators_, strict=False):
        if not hasattr(estimator, "tree_"):
            raise InvalidInput("model", f"found an AdaBoost of {type(estimator).__name__}", "give one of stumps")
        votes = np.where(estimator.tree_.value[:, 0].argmax(axis=1) == 1, weight, -weight)
        yield _read_sklearn_tree(estimator.tree_, votes)


def _read_gradient_boosting(model: Any) -> Iterator[Leaves | float]:
    """Yield the stumps of a gradient boosting, times the learning rate, and the constant that it starts from."""
    if model.init not in {None, "zero"}:
        raise InvalidInput("model", f"found one with init={model.init!r}", "give one that starts from a constant")
    for (estimator,) in model.estimators_:
        yield _read_sklearn_tree(estimator.tree_, model.learning_rate * estimator.tree_.value[:, 0, 0])
    if model.init is None:
        # the log-odds of the prior, within rounding of 0 and 1, which the exponential loss halves
        eps = np.finfo(np.float64).eps
        prior = np.clip(model.init_.class_prior_[1], eps, 1 - eps)
        yield float(logit(prior)) / (2 if model.loss == "exponential" else 1)


def _read_sklearn_tree(tree: Any, values: Array) -> Leaves | float:
    if tree.node_count > 3:
        raise InvalidInput("model", f"found a tree of depth {tree.max_depth}", "give a model of stumps, max_depth=1")
    if tree.node_count == 1:
        return float(values[0])
    return int(tree.feature[0]), _find_first_above(tree.threshold[0]), float(values[1]), float(values[2])


def _find_first_above(threshold: float) -> float:
    """Return the least x that exceeds the threshold once rounded to single precision, as scikit-learn's trees do."""
    above = np.float32(threshold)
    if above <= threshold:
        above = np.nextafter(above, np.float32(inf))
    middle = (float(np.nextafter(above, np.float32(-inf))) + float(above)) / 2
    return middle if np.float32(middle) == above else float(np.nextafter(middle, inf))


def _read_lightgbm(model: Any) -> Iterator[Leaves | float]:
    """Yield the trees of a booster; x goes to the left child where ``x <= threshold``."""
    dumped = model.dump_model()
    objective = str(dumped.get("objective", "that of a function"))
    if dumped["num_tree_per_iteration"] != 1 or objective.split(maxsplit=1)[0] not in {"binary", "cross_entropy"}:
        raise InvalidInput("model", f"found the objective {objective!r}", "give a model of two classes, as 'binary' is")
    for tree in dumped["tree_info"]:
        root = tree["tree_structure"]
        if "leaf_value" in root:
            yield _read_leaf(root)
            continue
        children = root["left_child"], root["right_child"]
        if root["decision_type"] != "<=":
            raise InvalidInput("model", "found a split by categories", "give a model that was fitted to numbers")
        if not all("leaf_value" in child for child in children):
            raise InvalidInput("model", "found trees that are no stumps", "give a model of num_leaves=2")
        if root["missing_type"] == "Zero":
            raise InvalidInput("model", "found that it takes 0 as a missing value", "fit it with zero_as_missing=False")
        below, above = map(_read_leaf, children)
        yield root["split_feature"], float(np.nextafter(root["threshold"], inf)), below, above


def _read_leaf(leaf: Mapping[str, Any]) -> float:
    # a leaf of linear_tree=True has leaf_const + sum_j leaf_coeff_j x_j in place of the value
    if leaf.get("leaf_coeff"):
        raise InvalidInput("model", "found leaves with linear models in them", "fit it with linear_tree=False")
    return float(leaf.get("leaf_const", leaf["leaf_value"]))


LIBRARIES: Mapping[str, Library] = {
    "sklearn.AdaBoostClassifier": Library(
        # scikit-learn divides the sum of the votes by half the sum of their weights
        _read_adaboost,
        lambda model, X: model.decision_function(X) * model.estimator_weights_.sum() / 2,
    ),
    "sklearn.GradientBoostingClassifier": Library(_read_gradient_boosting, lambda model, X: model.decision_function(X)),
    "lightgbm.LGBMClassifier": Library(
        lambda model: _read_lightgbm(model.booster_), lambda model, X: model.predict(X, raw_score=True)
    ),
    "lightgbm.Booster": Library(_read_lightgbm, lambda model, X: model.predict(X, raw_score=True)),
}
"""Readers of models, by library and class."""

SVC = "sklearn.SVC"
"""The support vector machine that `certify_model` takes."""


def certify_model(
    model: object,
    X: Data,
    y: ArrayLike,
    formulation: Formulation | None = None,
    *,
    sample_weight: Given = None,
    tol: float = 1e-3,
    max_time: float = inf,
) -> Certificate:
    """Say how far a fitted model of another library is from the optimum of a formulation on a sample.

    - AdaBoost and gradient boosting of stumps (scikit-learn, LightGBM), for two classes: of `formulation`, over all
      stumps. The vote counts at its best scale, as these methods do not choose the formulation's; the bound is from
      column generation.
    - A support vector machine for two classes (scikit-learn's `SVC`): of its own problem, LL08 P2, where the slack of
      a sample has the price C times the weight of its class times its own.

    What is read from a model is held against the scores that the model itself computes on the sample, and refused where
    they differ. An SVC does not keep the weights of its samples, so prices are held against its multipliers: those
    that LIBSVM would not have stopped at are refused.

    Parameters
    ----------
    model : AdaBoostClassifier, GradientBoostingClassifier, LGBMClassifier, lightgbm.Booster or SVC
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Any sample; of an SVC its training sample.
    y : array-like of shape (n_samples,)
        Its classes.
    formulation : Formulation
        What the model is held against; of `cvxens.colgen.formulations`, or your own. None for an SVC.
    sample_weight : array-like of shape (n_samples,), optional
        Of an SVC the weights that it was fitted with, 0 or above. Other models are held against a formulation, which
        has the prices of the samples.
    tol, max_time : float
        The relative gap and the seconds at which to stop improving the bound.

    Returns
    -------
    Certificate
        `primal` is the model's objective, `dual` a bound on the optimum. Of a vote of stumps `exact()` proves the
        distance from the optimum in rational numbers: of the weights as they are, rounded to 44 digits; and of an SVC
        with the kernel "rbf", or a stump, perceptron, Laplacian or Gaussian one of `cvxens.kernels`.

    Raises
    ------
    InvalidInput
        A model that cannot be taken apart, one of more than two classes, an SVC that was fitted to another sample or
        with other prices.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from cvxens.colgen import formulations
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> certificate = certify_model(model, X, y, formulations.soft_margin(0.1))
    >>> certificate.proven, certificate.relative_gap > 0.01
    (True, True)
    """
    if _find_kind(model, {SVC}):
        if formulation is not None:
            raise InvalidInput("formulation", "found one for an SVC, which has its own problem", "leave it out")
        return _certify_svc(model, finite_array("X", X, ndim=2), y, sample_weight)
    if sample_weight is not None:
        remedy = "leave them out, and give the formulation a C with a price per sample"
        raise InvalidInput("sample_weight", "found weights beside a formulation, which has the prices", remedy)
    library = _find_library(model)
    if formulation is None:
        raise InvalidInput("formulation", "found none", "give one of cvxens.colgen.formulations")
    X, signs, vote = _read_vote(library, model, X, y, formulation)
    oracle = Stumps(X)
    run = column_generation(formulation, oracle, signs, tol=tol, max_time=max_time)
    restricted = Restricted(formulation, formulation.signs(signs))
    restricted.add([Column(hypothesis, X, 0.0) for hypothesis in vote.hypotheses])

    def objective(logarithm: float) -> float:
        return restricted.evaluate({"w": np.exp(logarithm) * vote.weights, "u": run.u}).objective

    # it is convex in the scale, so it has one valley in its logarithm; a margin of 1 needs weights of about 1 in sum,
    # and e^12, either way, is 160,000 times that
    middle = -np.log(vote.weights.sum())
    best = minimize_scalar(objective, bounds=(middle - 12, middle + 12), method="bounded")
    weights = np.exp(best.x) * vote.weights
    certificate = certify_ensemble(formulation, oracle, signs, vote.hypotheses, run.u, weights)
    prover = partial(_prove, formulation, oracle, signs, replace(vote, weights=weights), run, max_time)
    return replace(certificate, prover=prover)


def _prove(formulation: Formulation, oracle: Stumps, y: Array, vote: ForeignVote, near: Run, max_time: float) -> Proof:
    """Prove how far a vote is from the optimum over all stumps, in rational numbers; a run near it shortens the way."""
    start = [column.hypothesis for column in near.columns]
    # near enough to have the columns of the optimum
    run = column_generation(formulation, oracle, y, tol=1e-9, max_time=max_time, start=start, exact=True)
    assert oracle.statement is not None
    assert run.proof is not None
    over, X, _ = oracle.statement
    restricted = Restricted(formulation, formulation.signs(y))
    restricted.add([Column(hypothesis, X, 0.0) for hypothesis in vote.hypotheses])
    b = float(restricted.evaluate(restricted.shift({"w": vote.weights, "u": run.u})).b)
    # a stump whose threshold is beyond all values of this sample is a constant on it
    pairs = [(own, own(X)) for own in vote.hypotheses]
    hypotheses = [Constant(int(h[0])) if (h == h[0]).all() else own for own, h in pairs]
    return prove(formulation, X, y, hypotheses, vote.weights, b, u=run.proof, over=over, as_given=True)


def reweight(
    model: object, X: Data, y: ArrayLike, formulation: Formulation, *, tol: float = 1e-6, max_time: float = inf
) -> Run:
    """Return the optimal weights for the stumps of a fitted model of another library.

    Parameters
    ----------
    model, X, y, formulation
        As for `certify_model`; no SVC.
    tol, max_time : float
        The relative gap and the seconds at which to stop.

    Returns
    -------
    Run
        Over the stumps of the model and their negations; its certificate is of that set. `columns` and `weights`
        have those that entered, `decision_function` scores new samples.

    Raises
    ------
    InvalidInput
        A model that cannot be taken apart, or one of more than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from cvxens.colgen import formulations
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> run = reweight(model, X, y, formulations.soft_margin(0.1))
    >>> run.certificate.holds(1e-6), run.certificate.primal < certify_model(
    ...     model, X, y, formulations.soft_margin(0.1)
    ... ).primal
    (True, True)
    """
    X, signs, vote = _read_vote(_find_library(model), model, X, y, formulation)
    return column_generation(formulation, Pool.of(vote.hypotheses, X), signs, tol=tol, max_time=max_time)


def _find_library(model: object) -> Library:
    """Return what reads models of this class; InvalidInput if nothing does."""
    validation.made("model", model)
    kind = _find_kind(model, LIBRARIES)
    if kind is None:
        known = ", ".join(name.rpartition(".")[2] for name in [*LIBRARIES, SVC])
        remedy = f"give a fitted one of {known}; `certify` of ours"
        raise InvalidInput("model", f"found a {type(model).__name__}", remedy)
    return LIBRARIES[kind]


def _read_vote(
    library: Library, model: Any, X: Data, y: ArrayLike, formulation: Formulation
) -> tuple[Array, Array, ForeignVote]:
    """Return X, the signs of y, and the vote, without its constant where the formulation has an intercept."""
    validation.instance("formulation", formulation, Formulation)
    X = finite_array("X", X, ndim=2)
    # a booster of LightGBM, which has no `fit`, always is
    if hasattr(model, "fit"):
        check_is_fitted(model)
    signs = _find_signs(getattr(model, "classes_", np.unique(y)), y)
    validation.same_length("y", signs, len(X))
    vote = ForeignVote.read(library, model, X)
    if formulation.intercept:
        kept = [k for k, h in enumerate(vote.hypotheses) if not isinstance(h, Constant)]
        vote = replace(vote, hypotheses=tuple(vote.hypotheses[k] for k in kept), weights=vote.weights[kept])
    if not vote.hypotheses:
        raise InvalidInput("model", "found one without a stump", "fit it to a sample that it can learn from")
    return X, signs, vote


def _find_kind(model: object, known: Collection[str]) -> str | None:
    """Return the name of a model's class, or of a class that it is derived from, if known; no library is imported."""
    names = (f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(model).__mro__)
    return next((name for name in names if name in known), None)


def _find_signs(classes: Any, y: ArrayLike) -> Array:
    y = np.asarray(y)
    if len(classes) != 2 or not np.isin(y, classes).all():
        raise InvalidInput("y", f"found the classes {np.unique(y)} for a model of {classes}", "give the two of a model")
    return np.where(y == classes[1], 1.0, -1.0)


def _certify_svc(model: Any, X: Array, y: ArrayLike, sample_weight: Given) -> Certificate:
    check_is_fitted(model)
    signs, weights = _find_signs(model.classes_, y), validation.weights("sample_weight", sample_weight, len(X))
    validation.same_length("y", signs, len(X))
    prices = model.C * weights * np.where(signs > 0, model.class_weight_[1], model.class_weight_[0])
    # LIBSVM leaves out what has no price, and numbers the support vectors among the rest
    kept = np.flatnonzero(prices > 0)
    given = model.kernel == "precomputed"
    X, signs, prices = X[np.ix_(kept, kept)] if given else X[kept], signs[kept], prices[kept]
    found = model.shape_fit_[0] == len(weights) and model.support_.max() < len(X)
    # the model keeps its support vectors only if it computes the kernel itself
    if found and not given and not callable(model.kernel):
        found = np.array_equal(X[model.support_], model.support_vectors_)
    if not found:
        raise InvalidInput("X", "found another sample than that of the fit", "give the training sample")
    v = np.zeros(len(X))
    v[model.support_] = model.dual_coef_[0]
    if (v * signs < 0).any():
        raise InvalidInput("y", "found other classes than those of the fit", "give the classes of the training sample")
    b = float(model.intercept_[0])
    if model.kernel == "linear":
        # v sums to 0, so features far from 0 may be shifted to it: f loses a constant, which the intercept takes
        centre = centres(X.T)
        b += dot(centre, (X - centre).T @ v)
        K = (X - centre) @ (X - centre).T
    else:
        K = X if given else _evaluate_kernel(model, X)
    f = K @ v
    # what the numbers of f are made of; n_samples epsilon of it is rounding
    size = float((np.abs(K) @ np.abs(v)).max()) + abs(b) + abs(float(model.intercept_[0]))
    scored = not (given and len(kept) < len(weights))
    off = float(np.abs(model.decision_function(X) - (f + b)).max()) if scored else 0.0
    if not off <= ROUNDING * size:
        found = f"found scores that differ by {off:.3g} from those of its support vectors and its kernel"
        raise InvalidInput("model", found, "give an SVC as its fit left it, whose decision_function is scikit-learn's")
    _check_prices(model, np.abs(v), signs, f, prices, rounding=_bound_rounding(model, X) * size)
    certificate = certify(SVMDual(K, signs, prices), u=np.abs(v), b=b)
    weighted = "the given weights" if sample_weight is not None else "samples that weigh the same"
    kernel = Gaussian(float(model._gamma)) if model.kernel == "rbf" else model.kernel
    prover = None
    if isinstance(kernel, Kernel) and (stated := kernel.range_free_equivalent(X).state(X)) is not None:
        name, gamma, scales = stated
        told = formulations.svm(prices), X, signs, name, np.abs(v), b
        prover = partial(prove_kernel, *told, gamma=gamma, scales=scales)
    return replace(certificate, note=f"of LL08 P2 with C = {model.C:g} and {weighted}", prover=prover)


def _check_prices(model: Any, u: Array, y: Array, f: Array, prices: Array, *, rounding: float) -> None:
    """Raise where LIBSVM would not have stopped at u, with f = K (y u), had these been the prices.

    It stops when ``max (y_i - f_i)`` over the i that could move up exceeds ``min (y_i - f_i)`` over those that could
    move down by no more than its tol; u is moved up at +1 below its price and at -1 above 0.
    """
    above = u > prices * (1 + ROUNDING)
    remedy = "give those that the SVC was fitted with, as sample_weight"
    if above.any():
        found = f"found the multiplier {u[above].max():.6g} above its price, {prices[u == u[above].max()].max():.6g}"
        raise InvalidInput("sample_weight", found, remedy)
    if model.fit_status_ != 0:
        # max_iter ended it anywhere
        return
    full, used, pull = u >= prices * (1 - ROUNDING), u > 0, y - f
    up, down = np.where(y > 0, ~full, used), np.where(y > 0, used, ~full)
    if up.any() and down.any():
        violation = float(pull[up].max() - pull[down].min())
        if not violation <= model.tol + rounding:
            found = f"found multipliers that violate optimality by {violation:.3g}, the fit had tol = {model.tol:g}"
            raise InvalidInput("sample_weight", found, remedy)


def _bound_rounding(model: Any, X: Array) -> float:
    """Bound the rounding error of the kernel values that LIBSVM trains with, relative to the largest ones."""
    single = float(np.finfo(np.float32).eps)  # LIBSVM keeps them in single precision
    if model.kernel != "rbf":
        return single
    # d = |x - x'|^2 is evaluated as |x|^2 + |x'|^2 - 2 x'x', which is off by some 8 epsilon max |x|^2; exp(-gamma d) by
    # gamma times that
    return single + 8 * float(np.finfo(float).eps) * model._gamma * float((X**2).sum(axis=1).max())


def _evaluate_kernel(model: Any, X: Array) -> Array:
    if callable(model.kernel):
        return model.kernel(X, X)
    if model.kernel == "rbf":
        # the squares of differences, not differences of squares, which lose digits far from 0
        return np.exp(-model._gamma * cdist(X, X, "sqeuclidean"))
    constants = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
    return pairwise_kernels(X, metric=model.kernel, filter_params=True, **constants)
