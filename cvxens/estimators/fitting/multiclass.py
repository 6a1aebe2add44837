"""Several classes from a method for two, by scikit-learn's own one-vs-rest and one-vs-one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import has_fit_parameter

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.estimators.fitting.callbacks import parts_of_fit
from cvxens.estimators.fitting.sample import Sample
from cvxens.estimators.fitting.weak_learners import over_codes
from cvxens.types import Array

Part: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.int_]]
"""Which samples a sub-problem has, and their classes in it, 0 and 1."""


def _rest(labels: NDArray[np.intp], n_classes: int) -> Iterator[Part]:
    for k in range(n_classes):
        yield np.full(len(labels), True), (labels == k).astype(int)


def _pairs(labels: NDArray[np.intp], n_classes: int) -> Iterator[Part]:
    for first, second in combinations(range(n_classes), 2):
        rows = (labels == first) | (labels == second)
        yield rows, (labels[rows] == second).astype(int)


SCHEMES: Mapping[str, tuple[Any, Callable[[NDArray[np.intp], int], Iterator[Part]]]] = {
    "ovr": (OneVsRestClassifier, _rest),
    "ovo": (OneVsOneClassifier, _pairs),
}
"""scikit-learn's decomposition, and its sub-problems in its order."""

REQUESTS = "_metadata_request"
"""What ``set_fit_request`` leaves on an estimator; it refers back to it, which writers such as skops do not end on."""


def combined(multi_class: str, scores: Array, n_classes: int) -> Array:
    """Return scikit-learn's scores of classes, (n_samples, n_classes), from those of sub-problems (n_samples, n_parts).

    Those of one-vs-rest are the scores themselves; pairs vote, and the sums of their scores settle ties.
    """
    return scores if multi_class == "ovr" else _ovr_decision_function((scores > 0).astype(int), scores, n_classes)


def scheme_of(multi_class: Any) -> tuple[Any, Callable[[NDArray[np.intp], int], Iterator[Part]]]:
    """The decomposition of a name."""
    return SCHEMES[validation.one_of("multi_class", multi_class, SCHEMES)]


def sides_of(multi_class: str, classes: Sequence[Any]) -> list[tuple[str, str]]:
    """What the sub-problems tell apart, in their order: the names of the sides of negative and of positive scores.

    Examples
    --------
    >>> sides_of("ovr", ["cat", "cow", "dog"])
    [('rest', 'cat'), ('rest', 'cow'), ('rest', 'dog')]
    >>> sides_of("ovo", ["cat", "cow", "dog"])
    [('cat', 'cow'), ('cat', 'dog'), ('cow', 'dog')]
    """
    names = [str(label) for label in classes]
    return [("rest", name) for name in names] if multi_class == "ovr" else list(combinations(names, 2))


def check_decomposition(estimator: Any) -> None:
    """Check the parameters of a decomposition, whether there are sub-problems or not."""
    scheme_of(estimator.multi_class)
    validation.n_jobs(estimator.n_jobs)


def n_parts(estimator: Any, n_classes: int) -> int:
    """The number of sub-problems."""
    return sum(1 for _ in scheme_of(estimator.multi_class)[1](np.arange(n_classes), n_classes))


def decompose(estimator: Any, sample: Sample, fitted: tuple[str, ...]) -> dict[str, Any]:
    """Fit one clone of `estimator` per sub-problem.

    Parameters
    ----------
    estimator : classifier
        For two classes, with the parameters `multi_class` and `n_jobs`; the weights of the samples go to a `fit` that
        takes `sample_weight`.
    sample : Sample
        Of three classes or more.
    fitted : tuple of str
        The fitted attributes of the clones that are to be collected.

    Returns
    -------
    dict
        `decomposition_`, scikit-learn's classifier, and each fitted attribute as a list over the sub-problems.
        `dual_weights_` are those of all given samples, 0 for samples that a sub-problem does not have.
    """
    scheme, parts_of = scheme_of(estimator.multi_class)
    with config_context(enable_metadata_routing=True):
        binary = clone(estimator)
        weighted = has_fit_parameter(binary, "sample_weight")
        if weighted:
            binary.set_fit_request(sample_weight=True)
        binary.set_params(**({"class_weight": None} if "class_weight" in binary.get_params() else {}))
        binary.set_params(**estimator._for_parts(sample))
        if sample.features is not None:
            binary.set_params(oracle=over_codes(estimator.oracle, sample.features))
        decomposition = scheme(binary, n_jobs=estimator.n_jobs)
        with parts_of_fit(estimator, binary):
            decomposition.fit(sample.X, sample.labels, **({"sample_weight": sample.weights} if weighted else {}))
    for part in (binary, *decomposition.estimators_):
        vars(part).pop(REQUESTS, None)
    collected = {name: [getattr(part, name) for part in decomposition.estimators_] for name in fitted}
    parts = zip(parts_of(sample.labels, len(sample.classes)), collected["dual_weights_"], strict=True)
    collected["dual_weights_"] = [sample.spread(_within(rows, u)) for (rows, _), u in parts]
    return {"decomposition_": decomposition, **collected}


def _within(rows: NDArray[np.bool_], u: Array) -> Array:
    everywhere = np.zeros(len(rows))
    everywhere[rows] = u
    return everywhere


def each(argument: str, values: Any, n: int) -> Any:
    """Return what was given for each of n sub-problems, if it was."""
    if len(values) != n:
        raise InvalidInput(argument, f"found {len(values)} for {n} sub-problems", "give one for each, in a list")
    return values


def certify_parts(estimator: Any, sample: Sample, **given: Any) -> list[Any]:
    """Certify every sub-problem of a fitted decomposition on a sample; what is `given` is None, or a list over them."""
    _, parts_of = scheme_of(estimator.multi_class)
    priced = has_fit_parameter(estimator, "sample_weight")
    n = len(estimator.decomposition_.estimators_)
    given = {name: each(name, values, n) for name, values in given.items() if values is not None}
    certificates = []
    for k, (rows, labels) in enumerate(parts_of(sample.labels, len(sample.classes))):
        weights = {"sample_weight": sample.weights[rows]} if priced else {}
        of_part = {name: values[k] for name, values in given.items()}
        part = estimator.decomposition_.estimators_[k]
        certificates.append(part.certify(sample.X[np.flatnonzero(rows)], labels, **weights, **of_part))
    return certificates
