"""Fitted models in files without pickle: arrays and JSON, no code; whole, or refused.

A file names estimators, records and functions, and may name no more than `cvxens.estimators.trusted` lists and the
reader trusts. What it holds is checked in three steps: every record has the types that it is annotated with, and its
indices lead where they should (`cvxens.types.FieldsOnly.check`, as compiled code follows them without a look); fitted
attributes have their types and fit together in size; and the model has to score a sample.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from inspect import signature
from types import NoneType, UnionType
from typing import Any, Self, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.utils.validation import _is_fitted as is_fitted
from sklearn.utils.validation import check_is_fitted

from cvxens.errors import DataFileError, InvalidInput
from cvxens.kernels import TreeEnsemble
from cvxens.kernels.tree_ensemble import ThresholdTrees
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
from cvxens.trees import Feature
from cvxens.types import FieldsOnly

FILE = FileKind("model", 2, "save the model anew")

Trusted: TypeAlias = Iterable[Callable[..., Any]]
"""Classes and functions."""

NAMEABLE: dict[str, Any] = {}
"""The classes and functions that a file may name, by their names there; `cvxens.estimators.trusted` lists them."""

MATRICES: Mapping[str, Any] = {"csc": csc_array, "csr": csr_array}
"""The sparse matrices that a file can hold."""

NOT_KEPT = {"_metadata_request", "_skl_callbacks", "_sklearn_output_config"}
"""Attributes that scikit-learn sets beside parameters and fitted attributes."""

LEARNT: Mapping[str, Any] = {
    "classes_": NDArray[Any],
    "n_features_in_": int,
    "feature_names_in_": NDArray[np.object_],
    "features_": tuple[Feature, ...],
    "estimators_": list[Any],
}
"""The types of the attributes that a fit sets beside those that the class declares as fields."""

SAME_SIZE = (
    ("weights_", slice(0, 1), "weak_learners_", slice(0, 1)),
    ("weights_", slice(1, None), "intercept_", slice(None)),
    ("dual_coef_", slice(None), "support_", slice(None)),
    ("support_vectors_", slice(0, 1), "support_", slice(None)),
)
"""Pairs of attributes, and the parts of their shapes that are the same."""

OF_SAMPLES = ("dual_weights_", "dual_coef_", "support_", "support_vectors_", "n_iter_")
"""What a model need not have: it is of single samples, which a fit over shards does not gather, or of its solver."""

LARGE = 10**7
"""Features beyond which no sample is made up to try a model."""

NUMBERS_AND_TEXT: Mapping[Any, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
    str: (str,),
}
"""The types that count as a number, a truth value or text."""

ARRAY_KINDS: Mapping[str, str] = {"f": "f", "i": "iu", "u": "iu", "b": "b", "O": "OU", "U": "U"}
"""The kinds of arrays that count as one of a kind."""


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
        encoding = _ModelEncoding({})
        header = encoding.write_estimator(self)
        FILE.write(as_path("path", path), header, encoding.arrays)

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
    header, arrays = FILE.read(path)
    try:
        model = _ModelEncoding(arrays, trusted).follow_reference(header)
    except DataFileError:
        raise
    except (*UNREADABLE, AttributeError, LookupError) as error:
        raise FILE.damaged(path, f"{type(error).__name__}: {error}") from None
    if not isinstance(model, Persistent) or not is_fitted(model):
        raise FILE.damaged(path, "it holds no fitted estimator")
    return model


class _ModelEncoding(Encoding):
    """JSON for estimators and what they are made of, with the arrays beside it, to which writing adds."""

    arrays: dict[str, NDArray]

    def __init__(self, arrays: dict[str, NDArray], trusted: Trusted = ()) -> None:
        super().__init__(
            self.refer_to, self.follow_reference, arrays=arrays, name=self.name_of, find=self.checked_record
        )
        self.names = {thing: name for name, thing in NAMEABLE.items()}
        self.trusted = {qualified_name(thing): thing for thing in trusted}

    def name_of(self, thing: Any) -> str:
        """Return the name of a class or function: a short one if models are made of it, else the qualified one."""
        return self.names.get(thing) or qualified_name(thing)

    def find_named(self, name: str) -> Any:
        """Return the class or function of a name; `DataFileError` for one that the file may not name."""
        if name not in NAMEABLE and name not in self.trusted:
            raise DataFileError(
                "model",
                f"found that it names {name}, which is not trusted",
                "if you do trust it, load with trusted=[it]",
            )
        return NAMEABLE.get(name) or self.trusted[name]

    def write_estimator(self, estimator: Any) -> dict[str, Any]:
        """Write the class, parameters and fitted attributes of an estimator."""
        kind = type(estimator)
        kept = {name: value for name, value in vars(estimator).items() if _is_kept(kind, name)}
        written = {}
        for name, value in kept.items():
            try:
                written[name] = self.write(_without_forest(value))
            except TypeError as error:
                raise InvalidInput(
                    name,
                    f"found what a file cannot hold: {error}",
                    "make it of numbers, strings, arrays, dataclasses of such, and functions at the top of a module",
                ) from None
        return {"estimator": self.name_of(kind), "of": written}

    def write(self, value: Any) -> Any:
        """Turn a value into what `json` can write; estimators are records, but have more than their fields."""
        return {"other": self.write_estimator(value)} if isinstance(value, Persistent) else super().write(value)

    def refer_to(self, value: Any) -> Any:
        """Write what is neither plain nor a record: a partial call, a sparse matrix or a function."""
        if isinstance(value, partial):
            parts = [value.func, value.args, value.keywords]
            return {"partial": [self.write(part) for part in parts]}
        if issparse(value) and value.format in MATRICES:
            parts = [value.data, value.indices, value.indptr, tuple(value.shape)]
            return {"matrix": value.format, "of": [self.write(part) for part in parts]}
        if callable(value) and hasattr(value, "__qualname__"):
            if loaded(qualified_name(value)) is value:
                return {"name": self.name_of(value)}
            raise TypeError(f"{qualified_name(value)} is not at the top of a module")
        return nothing_else(value)

    def follow_reference(self, reference: Any) -> Any:
        """Read what `refer_to` wrote."""
        match reference:
            case {"estimator": str(name), "of": dict(state)}:
                return self.read_estimator(name, {key: self.read(value) for key, value in state.items()})
            case {"partial": [function, arguments, keywords]}:
                return partial(self.read(function), *self.read(arguments), **self.read(keywords))
            case {"matrix": str(kind), "of": [*parts]}:
                data, indices, indptr, shape = map(self.read, parts)
                matrix = MATRICES[kind]((data, indices, indptr), shape=shape)
                matrix.check_format(full_check=True)
                return matrix
            case {"name": str(name)}:
                return self.find_named(name)
        raise TypeError(f"found {reference!r:.100}")

    def checked_record(self, name: str) -> Callable[..., Any]:
        """Return what makes a dataclass or named tuple of its parts, and checks it."""
        # other records of cvxens are harmless too, such as the losses of a formulation
        kind = loaded_record(name) if name.startswith("cvxens.") else self.find_named(name)

        def make(*parts: Any) -> Any:
            record = check_types(kind(*parts))
            if isinstance(record, FieldsOnly):
                record.check()
            return record

        return make

    def read_estimator(self, name: str, state: Mapping[str, Any]) -> Any:
        """Make an estimator of parameters and attributes; one that is fitted has to be whole."""
        kind = self.find_named(name)
        if not set(signature(kind).parameters) <= state.keys() or not all(_is_kept(kind, key) for key in state):
            raise TypeError(f"{name} with {', '.join(state)}")
        estimator = kind.__new__(kind)
        vars(estimator).update(state)
        _check_encoder(estimator)
        if isinstance(estimator, Persistent) and is_fitted(estimator):
            check_model(estimator)
        return estimator


def _is_kept(kind: type, name: str) -> bool:
    """True for a parameter, and for an attribute that a fit has set and that hides nothing of the class."""
    return name in signature(kind).parameters or not (name in NOT_KEPT or hasattr(kind, name))


def _without_forest(value: Any) -> Any:
    """Return an attribute; of a supervised kernel with the trees alone, which are all that it needs of a forest."""
    if isinstance(value, TreeEnsemble) and hasattr(value.forest, "apply"):
        return replace(value, forest=ThresholdTrees.from_forest(value.forest))
    return value


def _check_encoder(estimator: Any) -> None:
    """Raise a TypeError unless the encoder of an estimator, if there is one, makes features that it knows."""
    encoder = vars(estimator).get("encoder_")
    if encoder is None:
        return
    names = vars(estimator).get("feature_names_in_")
    known = list(encoder.feature_names) if isinstance(encoder, TableEncoder) else None
    fits = known is not None and len(known) == estimator.n_features_in_
    if not fits or (names is not None and list(names) != known):
        raise TypeError("an encoder that is not of the model's features")


def check_model(estimator: Any) -> None:
    """Raise a TypeError or ValueError unless a fitted estimator's attributes fit together and it scores a sample."""
    kind: Any = type(estimator)
    state, parts = vars(estimator), vars(estimator).get("estimators_")
    expected = getattr(kind, "fitted", ())
    if missing := [name for name in expected if name not in state and name not in OF_SAMPLES]:
        raise ValueError(f"{kind.__name__} without {', '.join(missing)}")
    parameters = signature(kind).parameters
    types = {**LEARNT, **{name: hint for name, hint in find_types(kind).items() if name not in parameters}}
    # of several sub-problems, fitted attributes are lists
    lists = set(expected) & set(state) if parts is not None else set()
    for name, value in state.items():
        each = value if name in lists else [value]
        if not (isinstance(each, list) and all(matches(one, types.get(name, Any)) for one in each)):
            raise TypeError(f"{kind.__name__}.{name} is of the type {type(value).__name__}")
        if name in lists and len(each) != len(parts or ()):
            raise ValueError(f"{kind.__name__}.{name} for {len(each)} sub-problems of {len(parts or ())}")
    common = {name: value for name, value in state.items() if name not in lists}
    for k in range(len(parts or ())):
        _check_sizes({**{name: state[name][k] for name in lists}, "n_features_in_": state.get("n_features_in_")})
    _check_sizes(common)
    _try_scoring(estimator)


def _check_sizes(state: Mapping[str, Any]) -> None:
    """Raise a ValueError unless attributes that go together are of one size."""
    shapes = {name: np.shape(value) for name, value in state.items() if isinstance(value, np.ndarray)}
    if "weak_learners_" in state:
        shapes["weak_learners_"] = (len(state["weak_learners_"]),)
    classes = state.get("classes_")
    if classes is not None and (classes.ndim != 1 or len(classes) < 2 or (np.sort(classes) != classes).any()):
        raise ValueError("classes that are no ascending list of two or more")
    vectors = shapes.get("support_vectors_", (0, state.get("n_features_in_")))
    if vectors[1:] != (state.get("n_features_in_"),):
        raise ValueError(f"support vectors of the shape {vectors} for {state.get('n_features_in_')!r:.20} features")
    for first, part, second, other in SAME_SIZE:
        if first in shapes and second in shapes and shapes[first][part] != shapes[second][other]:
            raise ValueError(f"{first} of the shape {shapes[first]} for {second} of the shape {shapes[second]}")


def _try_scoring(estimator: Any) -> None:
    """Raise a ValueError unless a sample as an estimator's own fit has seen it has scores, of each weak learner too."""
    kind, n_features = type(estimator).__name__, getattr(estimator, "n_features_in_", None)
    if not isinstance(n_features, int) or n_features < 1:
        raise ValueError(f"{kind} for {n_features!r} features")
    seen = getattr(estimator, "support_vectors_", None)
    seen = [part for part in (seen if isinstance(seen, list) else [seen]) if part is not None and len(part)]
    if not seen and n_features > LARGE:
        return
    X = np.asarray(seen[0][:2], np.float64) if seen else np.zeros((2, n_features))
    try:
        if hasattr(estimator, "_raw_scores"):
            scores = np.asarray(estimator._to_scores(estimator._raw_scores(X)))
        else:
            scores = np.asarray(getattr(estimator, "decision_function", estimator.predict)(X))
        # parts of sub-problems have been tried by themselves
        for hypothesis in () if hasattr(estimator, "estimators_") else getattr(estimator, "weak_learners_", ()):
            hypothesis(X)
    except InvalidInput:
        # a kernel with ranges of its own, in which 0 need not be
        if seen:
            raise
        return
    except Exception as error:
        raise ValueError(f"{kind} that does not score: {type(error).__name__}: {error}") from None
    n_classes = len(getattr(estimator, "classes_", (0, 0)))
    several = (n_classes,) if n_classes > 2 else ()
    if hasattr(estimator, "weights_") and not hasattr(estimator, "classes_"):
        several = np.shape(estimator.weights_)[1:]
    if scores.shape != (len(X), *several) or scores.dtype.kind != "f":
        raise ValueError(f"{kind} with scores of the shape {scores.shape} for {n_classes} classes")


def check_types(record: Any) -> Any:
    """Return a dataclass or named tuple whose parts are of its annotated types; a TypeError names one that is not.

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stump
    >>> check_types(Stump(0, 0.5, 1))
    Stump(feature=0, threshold=0.5, sign=1, missing=0)
    >>> check_types(Stump("0", 0.5, 1))
    Traceback (most recent call last):
    TypeError: Stump.feature is of the type str
    """
    kind: Any = type(record)
    for name, hint in find_types(kind).items():
        value = getattr(record, name)
        if not matches(value, hint):
            raise TypeError(f"{kind.__name__}.{name} is of the type {type(value).__name__}")
    return record


@cache
def find_types(kind: Any) -> dict[str, Any]:
    """Return the annotated types of the fields of a dataclass or named tuple."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", ())
    return {name: hints[name] for name in names if name in hints}


def matches(value: Any, hint: Any) -> bool:
    """Return True if a value is of an annotated type.

    Numbers that are whole count as floats, and truth values as no numbers; those of numpy are arrays too. Of an array
    the kind of its numbers counts, and of a protocol that its members are there.

    Examples
    --------
    >>> matches((1.0, 2), tuple[float, ...]), matches((1.0, "2"), tuple[float, ...]), matches(None, int | None)
    (True, False, True)
    """
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin in {Union, UnionType}:
        return any(matches(value, part) for part in parts)
    if origin is Callable:
        return callable(value)
    if origin is np.ndarray and isinstance(value, np.generic):
        value = np.asarray(value)
    if origin is not None:
        return isinstance(value, origin) and _parts_match(value, origin, parts)
    if hint in NUMBERS_AND_TEXT:
        return isinstance(value, NUMBERS_AND_TEXT[hint]) and (hint is bool or not isinstance(value, bool | np.bool_))
    if getattr(hint, "_is_protocol", False):
        return all(hasattr(value, member) for member in _members(hint))
    return isinstance(value, NoneType if hint is None else hint)


def _parts_match(value: Any, origin: Any, parts: tuple[Any, ...]) -> bool:
    """Return True if what a container holds is of the types in the brackets of its annotation."""
    if origin is np.ndarray:
        kind = get_args(parts[1])[0]
        return kind is Any or isinstance(kind, TypeVar) or value.dtype.kind in ARRAY_KINDS[np.dtype(kind).kind]
    if issubclass(origin, tuple) and parts[-1] is not ...:
        return len(value) == len(parts) and all(map(matches, value, parts))
    if issubclass(origin, Mapping):
        return all(matches(key, parts[0]) and matches(each, parts[1]) for key, each in value.items())
    return not issubclass(origin, Sequence) or all(matches(each, parts[0]) for each in value)


@cache
def _members(protocol: Any) -> frozenset[str]:
    """Return the names that an object of a protocol has."""
    named = (name for kind in protocol.__mro__ if getattr(kind, "_is_protocol", False) for name in vars(kind))
    return frozenset(name for name in named if name == "__call__" or not name.startswith("_"))


def loaded_estimators() -> Iterator[type]:
    """Yield every estimator of ours that is loaded, and the classes they are derived from."""
    left: list[type] = [Persistent]
    seen = set()
    while left:
        kind = left.pop()
        if kind not in seen:
            yield kind
        seen.add(kind)
        left += kind.__subclasses__()
