"""The only input checks: each returns the clean array or raises one clear error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence, Sized
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.types import Array

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def positive(argument: str, value: object) -> float:
    """Return `value` as a float if it is a finite number above 0."""
    if not _is_number(value) or value <= 0:
        raise InvalidInput(argument, f"found {value!r}", "give a finite number above 0")
    return float(value)


def prices(argument: str, value: object) -> float | Array:
    """Return `value` as a float above 0, or as an array of one such number per sample."""
    if np.asarray(value).ndim == 0:
        return positive(argument, value)
    array = finite_array(argument, value, ndim=1)
    if array.min() <= 0:
        raise InvalidInput(argument, f"found {array.min():g}", "give finite numbers above 0, or one for all samples")
    return array


def sample_prices(argument: str, value: object, n_samples: int) -> Array:
    """Return `value`, a number above 0 for all samples or one for each, as an array (n_samples,)."""
    array = np.asarray(prices(argument, value))
    if array.ndim:
        same_length(argument, array, n_samples)
    return np.broadcast_to(array, n_samples).copy()


def limit(argument: str, value: object) -> float:
    """Return `value` as a float if it is a number above 0, perhaps infinity."""
    return inf if isinstance(value, float) and value == inf else positive(argument, value)


def number(argument: str, value: object) -> float:
    """Return `value` as a float if it is a finite number."""
    if not _is_number(value):
        raise InvalidInput(argument, f"found {value!r}", "give a finite number")
    return float(value)


def whole(argument: str, value: object, least: int = 1) -> int:
    """Return `value` as an int if it is a whole number of at least `least`."""
    if not _is_whole(value) or value < least:
        raise InvalidInput(argument, f"found {value!r}", f"give a whole number of at least {least}")
    if value > sys.maxsize:
        raise InvalidInput(argument, "found a number beyond 64 bits", f"give at most {sys.maxsize}")
    return int(value)


def n_jobs(value: object) -> int | None:
    """Return `value` if it is a number of jobs as joblib counts: None, or a whole number other than 0."""
    if value is None:
        return None
    if not _is_whole(value) or value == 0 or abs(value) > sys.maxsize:
        raise InvalidInput("n_jobs", f"found {value!r:.100}", "give a whole number other than 0, or None")
    return int(value)


def one_of(argument: str, value: object, names: Iterable[str]) -> str:
    """Return `value` if it is one of the names."""
    known = list(names)
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(argument, f"found {value!r}", f"give one of {', '.join(map(repr, known))}")
    return value


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for a seed, from a generator (itself), from a RandomState, or for None (fresh entropy)."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidInput(
            "random_state", f"found {random_state!r}", "give an integer of at least 0, a numpy Generator, or None"
        ) from None


def instance(argument: str, value: object, *kinds: type) -> None:
    """Raise unless `value` is an instance of one of the classes."""
    if not isinstance(value, kinds):
        names = " or ".join(dict.fromkeys(kind.__name__ for kind in kinds))
        raise InvalidInput(argument, f"found {value!r:.100}", f"give a {names}")


def made(argument: str, value: object) -> None:
    """Raise if `value` is a class where an object of it is meant."""
    if isinstance(value, type):
        found, remedy = f"found the class {value.__name__}", f"give an object of it, made by {value.__name__}(...)"
        raise InvalidInput(argument, found, remedy)


def offers(argument: str, value: object, *members: str) -> None:
    """Raise unless `value` is an object, not a class, with those members."""
    missing = [name for name in members if not hasattr(value, name)]
    if isinstance(value, type) or missing:
        without = f" without {' and '.join(missing)}" if missing else ""
        raise InvalidInput(argument, f"found {value!r:.100}{without}", f"give an object with {' and '.join(members)}")


def random_state(value: Any) -> RandomState:
    """Return `value` if a generator can be made from it; nothing is drawn."""
    if not isinstance(value, np.random.RandomState):
        generator(value)
    return value


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and isfinite(value)
    except OverflowError:
        return False


def feature_index(argument: str, feature: object, names: Sequence[str], n_features: int) -> int:
    """Return the index of a feature that is given by its name or by its index.

    Examples
    --------
    >>> feature_index("monotone", "dose", ["age", "dose"], 2), feature_index("monotone", 0, [], 2)
    (1, 0)
    """
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < n_features:
        return int(feature)
    known = f"the names {', '.join(names[:5])}{', ...' * (len(names) > 5)} or " if len(names) else ""
    remedy = f"give {known}indices from 0 to {n_features - 1}"
    raise InvalidInput(argument, f"found the feature {feature!r:.100}", remedy)


def finite_array(
    argument: str, values: object, ndim: int | None = None, infinite: bool = False, gaps: bool = False
) -> Array:
    """Return `values` as a non-empty float64 array of `ndim` dimensions without NaN and infinity, unless allowed."""
    if hasattr(values, "toarray"):
        raise InvalidInput(argument, "found a sparse matrix", f"give a dense one, {argument}.toarray()")
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array):
            raise TypeError("complex numbers")
        if array.dtype.kind in "SUmM":
            raise TypeError(f"values of type {array.dtype}")
        array = array.astype(np.float64, copy=False)
    except (OverflowError, TypeError, ValueError) as error:
        found = f"found something that is not numeric ({error})"
        raise InvalidInput(argument, found, "give an array of numbers") from None
    if ndim is not None and array.ndim != ndim:
        found = f"found {array.ndim} dimensions, shape {array.shape}"
        raise InvalidInput(argument, found, f"give an array of {ndim} dimensions")
    if array.size == 0:
        raise InvalidInput(argument, f"found no data, shape {array.shape}", "give at least one number")
    allowed = ~np.isnan(array) if infinite else ~np.isinf(array) if gaps else np.isfinite(array)
    if not allowed.all():
        at = tuple(int(i) for i in np.argwhere(~allowed)[0])
        where, remedy = (f" at {list(at)}", "remove or impute NaN and infinity") if at else ("", "give a finite number")
        remedy = "give finite numbers, and NaN where one is missing" if gaps else remedy
        raise InvalidInput(argument, f"found {array[at]}{where}", remedy)
    return array


def samples(X: object, argument: str = "X", *, gaps: bool = False) -> Array:
    """Return `X` as a (n_samples, n_features) array of two samples or more; finite, not all alike, or with `gaps`."""
    X = finite_array(argument, X, ndim=2, gaps=gaps)
    if len(X) < 2:
        raise InvalidInput(argument, "found one sample", "give at least two samples")
    if not gaps and (X[0] == X).all():
        found = "found all rows alike, so every feature is constant"
        raise InvalidInput(argument, found, "give at least one feature that varies")
    return X


def signs(y: object, n_samples: int | None = None, argument: str = "y") -> Array:
    """Return labels `y` in {-1, +1}, both present, one per sample, as float64."""
    y = finite_array(argument, y, ndim=1)
    same_length(argument, y, n_samples)
    found = np.unique(y)
    if len(found) == 1:
        raise InvalidInput(argument, f"found one class only, {found[0]:g}", "give samples of both classes, -1 and +1")
    if not np.array_equal(found, [-1.0, 1.0]):
        listed = ", ".join(f"{v:g}" for v in found[:5]) + (", ..." if len(found) > 5 else "")
        raise InvalidInput(argument, f"found the labels {{{listed}}}", "give two classes, coded as -1 and +1")
    return y


def labels(argument: str, values: object, n_samples: int | None = None) -> NDArray[np.generic]:
    """Return labels of any type as an array of shape (n_samples,)."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInput(argument, f"found no labels ({error})", "give one label per sample") from None
    if array.ndim != 1:
        raise InvalidInput(argument, f"found {array.ndim} dimensions, shape {array.shape}", "give one label per sample")
    same_length(argument, array, n_samples)
    return array


def same_length(argument: str, values: Sized, n_samples: int | None) -> None:
    """Raise unless `values` has one row per sample."""
    if n_samples is not None and len(values) != n_samples:
        raise InvalidInput(argument, f"found {len(values)} rows for {n_samples} samples", "give one row per sample")


def one_each(argument: str, values: Sized, n: int, of: str) -> None:
    """Raise unless there are `n` values, one for each of what `of` names."""
    if len(values) != n:
        raise InvalidInput(argument, f"found {len(values)} values for {n} {of}s", f"give one per {of}")


def weights(argument: str, values: object, n: int, of: str = "sample") -> Array:
    """Return one finite number of at least 0 for each of what `of` names, not all of them 0; 1 each of none given."""
    if values is None:
        return np.ones(n)
    array = finite_array(argument, values, ndim=1)
    one_each(argument, array, n, of)
    if array.min() < 0 or array.max() <= 0:
        raise InvalidInput(argument, f"found {array.min():g} to {array.max():g}", "give numbers >= 0, not all zero")
    return array


def positive_each(argument: str, values: object, n: int, of: str) -> Array:
    """Return one finite number above 0 for each of what `of` names."""
    array = finite_array(argument, values, ndim=1)
    one_each(argument, array, n, of)
    if array.min() <= 0:
        raise InvalidInput(argument, f"found {array.min():g}", f"give a number above 0 for each {of}")
    return array


def count_rows(values: Any) -> int:
    """Return the number of rows of an array, a matrix, a frame or a list."""
    shape = getattr(values, "shape", None)
    return int(shape[0]) if shape else len(values)


def signed_weights(s: object, n_samples: int) -> Array:
    """Return signed weights of shape (n_samples,) or (n_samples, n_outputs) as (n_samples, n_outputs)."""
    s = finite_array("s", s)
    if s.ndim not in {1, 2}:
        raise InvalidInput("s", f"found shape {s.shape}", "give (n_samples,) or (n_samples, n_outputs)")
    same_length("s", s, n_samples)
    return s.reshape(n_samples, -1)


def symmetric(K: object, argument: str = "K") -> Array:
    """Return `K` as a square symmetric float64 array."""
    K = finite_array(argument, K, ndim=2)
    if K.shape[0] != K.shape[1]:
        raise InvalidInput(argument, f"found shape {K.shape}", "give a square kernel matrix, (n_samples, n_samples)")
    skew = float(np.abs(K - K.T).max())
    if skew > 1e-8 * max(float(np.abs(K).max()), np.finfo(float).tiny):
        raise InvalidInput(argument, f"found |K - K'| up to {skew:.3g}", "give a symmetric kernel matrix")
    return (K + K.T) / 2
