"""Fitted models in files of skops: without pickle, whole or refused, and read they run nothing.

A file names the classes and functions that a model is made of, and may name no more than `cvxens.estimators.trusted`
lists and the reader trusts. Records whose indices compiled code follows look where these lead when they are made
(`cvxens.types.FieldsOnly.check`), and a model has to score a sample.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _is_fitted as is_fitted
from sklearn.utils.validation import check_is_fitted

from cvxens.errors import DataFileError, InvalidInput
from cvxens.kernels import TreeEnsemble
from cvxens.kernels.tree_ensemble import ThresholdTrees
from cvxens.storage import Oversized, as_path, inflation_limit, read_file, write_whole
from cvxens.tables import TableEncoder

T = TypeVar("T")

Place: TypeAlias = str | os.PathLike[str]

Trusted: TypeAlias = Iterable[Callable[..., object]]
"""Classes and functions."""

KNOWN: set[str] = {"functools.partial"}
"""The names of what a file may name: `cvxens.estimators.trusted` adds ours; a partial call is of one of these."""

FORMER = b"cvxens model "
"""What files of models began with before they were files of skops."""


def save_model(model: BaseEstimator, path: Place) -> None:
    """Write the fitted estimator to a file of skops, which is replaced as a whole or not at all.

    `load` and `load_model` read it, and so does ``skops.io.load``. Not kept are requests of metadata and callbacks
    of scikit-learn, and of a supervised kernel's forest all but the trees.

    Parameters
    ----------
    path : str or path
        The file.

    Raises
    ------
    NotFittedError
        There is nothing to save yet.
    InvalidInput
        A parameter or attribute that no file can hold, such as a lambda. DataFileError, if the file cannot be
        written.
    """
    check_is_fitted(model)
    path, kept = as_path("path", path), _leave_out(model)
    content = _write(kept)
    if isinstance(content, Exception):
        found = ((name, _write(value)) for name, value in vars(kept).items())
        name, error = next(((name, each) for name, each in found if isinstance(each, Exception)), ("model", content))
        remedy = "make it of numbers, strings, arrays, dataclasses of such, and functions at the top of a module"
        raise InvalidInput(name, f"found what a file cannot hold: {error}", remedy)
    write_whole("model", path, content)


def load_as(kind: type[T], path: Place, *, trusted: Trusted = ()) -> T:
    """Read an estimator of this class that `save` wrote; `cvxens.load_model` says more."""
    model = load_model(path, trusted=trusted)
    if not isinstance(model, kind):
        found = f"found a {type(model).__name__} in {path}"
        raise DataFileError("model", found, f"load it as one, not {kind.__name__}")
    return model


def is_ours(value: object) -> bool:
    """Return True for estimators that files are written of."""
    return getattr(type(value), "save", None) is save_model


def load_model(path: Place, *, trusted: Trusted = ()) -> BaseEstimator:
    """Read a fitted estimator that its `save` wrote.

    Nothing in the file is run. It can name estimators, records and oracles of cvxens, and no more: that is what
    estimators are made of, unless they were given anything else.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of classes and functions
        Others that the file may name: your own oracle, the class of its hypotheses, a function to a formulation.

    Returns
    -------
    estimator
        It predicts what the saved one predicts, to the last bit.

    Raises
    ------
    DataFileError
        The file cannot be read, is of another kind, truncated or damaged, or names what is not trusted.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(tol=0.1).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     again = load_model(f"{folder}/model")
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    from skops.io import loads

    content = _read(as_path("path", path))
    known = {*KNOWN, *(f"{each.__module__}.{each.__qualname__}" for each in trusted)}
    try:
        unknown = sorted(set(_name_types(content)) - known)
        model = None if unknown else loads(content, trusted=sorted(known))
        is_model = is_ours(model) and is_fitted(model)
        if is_model:
            # of a search, what it has found
            tried = vars(model).get("best_estimator_", model)
            _check_encoder(tried)
            _try_scoring(tried)
    except Exception as error:
        # whatever a damaged or forged file makes zipfile, json, numpy, skops and the records themselves raise
        why = f"{path} truncated or damaged ({type(error).__name__}: {error!s:.200})"
        raise _error(why, "save the model anew") from error
    if unknown:
        found = f"that it names {unknown[0]}, which is not trusted"
        raise _error(found, "if you do trust it, load with trusted=[it]")
    if not is_model:
        raise _error(f"no fitted estimator of cvxens in {path}", "name another file")
    return model


def _read(path: Path) -> bytes:
    """Return the content of a file that may be one of a model."""
    try:
        content = read_file(path)
    except (OSError, ValueError) as error:
        raise _error(f"that {path} cannot be read ({error})", "name another file") from error
    if content.startswith(FORMER):
        raise _error(f"a model in {path} as cvxens wrote it before it took files of skops", "fit and save it anew")
    if not content.startswith(b"PK"):
        raise _error(f"no model in {path}", "name another file")
    return content


def _error(found: str, remedy: str) -> DataFileError:
    return DataFileError("model", f"found {found}", remedy)


def _name_types(content: bytes) -> list[str]:
    """Return the types that a file of skops names and skops does not know; `Oversized` if it inflates too far."""
    from skops.io import get_untrusted_types

    with ZipFile(BytesIO(content)) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > inflation_limit(len(content)):
        raise Oversized(inflation_limit(len(content)), size)
    return list(get_untrusted_types(data=content))


def _write(value: object) -> bytes | Exception:
    """Return a file of skops that has been read again, or the error that one of the two raised."""
    from skops.io import dumps, loads

    try:
        content: bytes = dumps(value, compression=ZIP_DEFLATED)
        # what cannot be found by its name, such as a lambda, shows when it is read
        loads(content, trusted=_name_types(content))
    except Exception as error:
        return error
    return content


def _leave_out(value: object) -> Any:
    """Return an estimator, or what is in one, as a file keeps it."""
    if is_ours(value):
        kept = copy(value)
        # what scikit-learn sets beside parameters and fitted attributes
        beside = {"_metadata_request", "_skl_callbacks", "_sklearn_output_config"}
        parts = {name: _leave_out(part) for name, part in vars(value).items() if name not in beside}
        vars(kept).clear()
        vars(kept).update(parts)
        return kept
    if isinstance(value, list):
        return [_leave_out(part) for part in value]
    if isinstance(value, TreeEnsemble) and hasattr(value.forest, "apply"):
        # the trees alone are all that a supervised kernel needs of a forest
        return replace(value, forest=ThresholdTrees.from_forest(value.forest))
    return value


def _check_encoder(estimator: BaseEstimator) -> None:
    """Raise a TypeError unless the encoder of an estimator, if there is one, makes features that it knows."""
    encoder = vars(estimator).get("encoder_")
    if encoder is None:
        return
    names = vars(estimator).get("feature_names_in_")
    known = list(encoder.feature_names) if isinstance(encoder, TableEncoder) else None
    fits = known is not None and len(known) == estimator.n_features_in_
    if not fits or (names is not None and list(names) != known):
        raise TypeError("an encoder that is not of the model's features")


def _try_scoring(estimator: BaseEstimator) -> None:
    """Raise a ValueError unless a sample as an estimator's own fit has seen it has scores, of each weak learner too."""
    kind, held = type(estimator).__name__, vars(estimator)
    n_features, classes = held.get("n_features_in_"), held.get("classes_", (0, 0))
    if not isinstance(n_features, int) or n_features < 1:
        raise ValueError(f"{kind} for {n_features!r} features")
    if len(classes) < 2:
        raise ValueError(f"{kind} of {len(classes)} classes")
    seen = held.get("support_vectors_")
    seen = [part for part in (seen if isinstance(seen, list) else [seen]) if part is not None and len(part)]
    if not seen and n_features > 10**7:
        # no sample is made up of so many
        return
    X = np.asarray(seen[0][:2], np.float64) if seen else np.zeros((2, n_features))
    try:
        scores = np.asarray(estimator._to_scores(estimator._raw_scores(X)))
        # parts of sub-problems have been tried by themselves
        for hypothesis in () if "estimators_" in held else held.get("weak_learners_", ()):
            hypothesis(X)
    except InvalidInput:
        # a kernel with ranges of its own, in which 0 need not be
        if seen:
            raise
        return
    several = (len(classes),) if len(classes) > 2 else ()
    if "weights_" in held and "classes_" not in held:
        several = np.shape(estimator.weights_)[1:]
    if scores.shape != (len(X), *several) or scores.dtype.kind != "f":
        raise ValueError(f"{kind} with scores of the shape {scores.shape} for {len(classes)} classes")
