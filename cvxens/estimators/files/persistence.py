"""Fitted models in files without pickle: arrays and JSON, no code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from inspect import signature
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import _is_fitted as is_fitted
from sklearn.utils.validation import check_is_fitted

from cvxens.colgen import oracles
from cvxens.errors import DataFileError, InvalidInput
from cvxens.estimators.files.moved import moved_record
from cvxens.estimators.files.typed import check_types
from cvxens.estimators.files.well_formed import well_formed, whole
from cvxens.estimators.fitting.weak_learners import ORACLES
from cvxens.kernels import TreeEnsemble
from cvxens.kernels.tree_paths import ThresholdTrees
from cvxens.storage import (
    UNREADABLE,
    Encoding,
    FileKind,
    as_path,
    loaded,
    loaded_record,
    nothing_else,
    qualified_name,
)
from cvxens.tables import TableEncoder

FILE = FileKind("model", 1, "save the model anew")

Trusted: TypeAlias = Iterable[Callable[..., Any]]
"""Classes and functions."""

MATRICES: Mapping[str, Any] = {"csc": csc_array, "csr": csr_array}
"""The sparse matrices that a file can hold."""

NOT_KEPT = {"_metadata_request", "_skl_callbacks", "_sklearn_output_config"}
"""What scikit-learn sets beside parameters and fitted attributes."""


class Persistent:
    """An estimator that can be written to a file and read again, without pickle."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, which is replaced as a whole or not at all.

        The file has the parameters and fitted attributes, as arrays and JSON; `load` and `load_model` read it. Not kept
        are requests of metadata and callbacks of scikit-learn, and of a supervised kernel's forest all but the trees.
        What this cannot write, such as a forest that was given as a parameter, skops can: see
        `cvxens.estimators.TRUSTED_TYPES`.

        Parameters
        ----------
        path : str or path
            The file.

        Raises
        ------
        NotFittedError
            There is nothing to save yet.
        InvalidInput
            A parameter or attribute that only code could make again, such as a lambda, or a classifier of another
            library. DataFileError, if the file cannot be written.
        """
        check_is_fitted(self)
        writer = _Writer()
        header = np.frombuffer(json.dumps(writer.estimator(self)).encode(), np.uint8)
        FILE.write(as_path("path", path), {"header": header, **writer.arrays})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trusted: Trusted = ()) -> Self:
        """Read an estimator of this class that `save` wrote; `cvxens.load_model` says more."""
        model = load_model(path, trusted=trusted)
        if not isinstance(model, cls):
            raise DataFileError(
                "model", f"found a {type(model).__name__} in {path}", f"load it as one, not {cls.__name__}"
            )
        return model


def load_model(path: str | os.PathLike[str], *, trusted: Trusted = ()) -> Any:
    """Read a fitted estimator that its `save` wrote.

    Nothing in the file is run. It can name estimators, records and oracles of cvxens, and no more: that is what
    estimators are made of, unless they were given anything else.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of classes and functions
        Your own ones that the file may name: an oracle, the class of its hypotheses, a function to a formulation.

    Returns
    -------
    estimator
        It predicts what the saved one predicts, to the last bit.

    Raises
    ------
    DataFileError
        The file cannot be read, is of another kind or version, truncated or damaged, or names what is not trusted.

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
    path = as_path("path", path)
    arrays = FILE.read(path)
    try:
        header = json.loads(arrays["header"].tobytes())
        model = _Reader(arrays, trusted).follow(header)
    except DataFileError:
        raise
    except (*UNREADABLE, AttributeError, LookupError) as error:
        raise FILE.damaged(path, f"{type(error).__name__}: {error}") from None
    if not isinstance(model, Persistent) or not is_fitted(model):
        raise FILE.damaged(path, "it holds no fitted estimator")
    return model


class _Archive:
    """Arrays beside the text, numbered.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Those that are there.
    """

    def __init__(self, arrays: dict[str, NDArray]) -> None:
        self.arrays = arrays

    def pack(self, array: NDArray) -> dict[str, Any]:
        """Its name."""
        name = f"array {len(self.arrays)}"
        self.arrays[name] = array
        return {"array": name}

    def unpack(self, written: Mapping[str, Any]) -> NDArray:
        """The array of that name."""
        return self.arrays[written["array"]]


class _Writer:
    """From an estimator to JSON, and the arrays beside it."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray] = {}
        self.encoding = Encoding(self.refer, nothing_else, packing=_Archive(self.arrays))

    def estimator(self, estimator: Any) -> dict[str, Any]:
        """Its class, parameters and fitted attributes."""
        kind = type(estimator)
        state = {name: value for name, value in vars(estimator).items() if _is_kept(kind, name)}
        return {
            "estimator": qualified_name(kind),
            "of": {name: self.attribute(name, value) for name, value in state.items()},
        }

    def attribute(self, name: str, value: Any) -> Any:
        """The value of an attribute."""
        try:
            return self.encoding.write(without_forest(value))
        except TypeError as error:
            raise InvalidInput(
                name,
                f"found what a file cannot hold: {error}",
                "make it of numbers, strings, arrays, dataclasses of such, and functions at the top of a module",
            ) from None

    def refer(self, value: Any) -> Any:
        """What is neither plain nor a record."""
        if isinstance(value, partial):
            parts = [value.func, value.args, value.keywords]
            return {"partial": [self.encoding.write(part) for part in parts]}
        if isinstance(value, tuple(_estimators())):
            return self.estimator(value)
        if issparse(value) and value.format in MATRICES:
            parts = [value.data, value.indices, value.indptr, tuple(value.shape)]
            return {"matrix": value.format, "of": [self.encoding.write(part) for part in parts]}
        if callable(value) and hasattr(value, "__qualname__"):
            name = qualified_name(value)
            if loaded(name) is value:
                return {"name": name}
            raise TypeError(f"{name} is not at the top of a module")
        return nothing_else(value)


class _Reader:
    """From JSON and the arrays beside it to an estimator.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Of the file.
    trusted : iterable of classes and functions
        What the file may name beyond what cvxens has.
    """

    def __init__(self, arrays: dict[str, NDArray], trusted: Trusted) -> None:
        self.trusted = {qualified_name(thing): thing for thing in trusted}
        self.encoding = Encoding(nothing_else, self.follow, packing=_Archive(arrays), find=self.record)

    def follow(self, reference: Any) -> Any:
        """What is neither plain nor a record."""
        read = self.encoding.read
        match reference:
            case {"estimator": str(name), "of": dict(state)}:
                return self.estimator(name, {key: read(value) for key, value in state.items()})
            case {"partial": [function, arguments, keywords]}:
                return partial(read(function), *read(arguments), **read(keywords))
            case {"matrix": str(kind), "of": [*parts]}:
                return _matrix(kind, *map(read, parts))
            case {"name": str(name)}:
                return self.named(name, _known())
        raise TypeError(f"found {reference!r:.100}")

    def record(self, name: str) -> Any:
        """What makes a dataclass or named tuple."""
        moved = moved_record(name)
        kind = moved or (loaded_record(name) if name.startswith("cvxens.") else self.named(name, {}))
        return lambda *parts: well_formed(check_types(kind(*parts)))

    def estimator(self, name: str, state: Mapping[str, Any]) -> Any:
        """An estimator of these parameters and attributes."""
        kind = self.named(name, {qualified_name(kind): kind for kind in _estimators()})
        if not set(signature(kind).parameters) <= state.keys() or not all(_is_kept(kind, key) for key in state):
            raise TypeError(f"{name} with {', '.join(state)}")
        estimator = kind.__new__(kind)
        vars(estimator).update(state)
        if "columns_" in state:
            # version 0.1 kept medians and levels of a table's columns under this name
            del estimator.columns_
            estimator.encoder_ = TableEncoder.from_learnt(state["columns_"])
        check_encoder(estimator)
        # within a decomposition there is one that is not fitted, of which the others are clones
        return whole(estimator) if isinstance(estimator, Persistent) and is_fitted(estimator) else estimator

    def named(self, name: str, known: Mapping[str, Any]) -> Any:
        """A class or function that may be named."""
        if name not in known and name not in self.trusted:
            raise DataFileError(
                "model",
                f"found that it names {name}, which is not trusted",
                "if you do trust it, load with trusted=[it]",
            )
        return known.get(name) or self.trusted[name]


def check_encoder(estimator: Any) -> None:
    """Raise a TypeError unless the encoder of an estimator, if there is one, makes features that it knows."""
    encoder = vars(estimator).get("encoder_")
    if encoder is None:
        return
    names = vars(estimator).get("feature_names_in_")
    known = list(encoder.feature_names) if isinstance(encoder, TableEncoder) else None
    fits = known is not None and len(known) == estimator.n_features_in_
    if not fits or (names is not None and list(names) != known):
        raise TypeError("an encoder that is not of the model's features")


@singledispatch
def without_forest(value: Any) -> Any:
    """An attribute; of a kernel the trees alone, which are all that it needs of a forest of scikit-learn."""
    return value


@without_forest.register
def _(value: TreeEnsemble) -> TreeEnsemble:
    return replace(value, forest=ThresholdTrees.of(value.forest)) if hasattr(value.forest, "apply") else value


def _matrix(kind: str, data: Any, indices: Any, indptr: Any, shape: Sequence[int]) -> Any:
    matrix = MATRICES[kind]((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _is_kept(kind: type, name: str) -> bool:
    """Whether an attribute is a parameter, or one that a fit has set and that hides nothing of the class."""
    return name in signature(kind).parameters or not (name in NOT_KEPT or hasattr(kind, name))


def loaded_estimators() -> Iterator[type]:
    """Every estimator of ours that is loaded, and what they are derived from."""
    left: list[type] = [Persistent]
    while left:
        kind = left.pop()
        yield kind
        left += kind.__subclasses__()


def _estimators() -> Iterator[type]:
    """Those of scikit-learn that ours are made of, and ours."""
    yield from (OneVsOneClassifier, OneVsRestClassifier, LabelBinarizer)
    yield from loaded_estimators()


def _known() -> dict[str, Any]:
    """The classes and functions that parameters may name: oracles, and what parameters are by default."""
    defaults = [parameter.default for kind in _estimators() for parameter in signature(kind).parameters.values()]
    things = [*ORACLES.values(), *(getattr(oracles, name) for name in oracles.__all__), *defaults]
    return {qualified_name(thing): thing for thing in things if hasattr(thing, "__qualname__")}
