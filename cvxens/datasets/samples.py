"""Samples to predict for, read the way that a model's training sample was."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.datasets.delimited import read_samples
from cvxens.datasets.encoding import Learnt
from cvxens.datasets.labels import clean_labels
from cvxens.datasets.libsvm import is_libsvm, read_libsvm
from cvxens.datasets.npz import arrays_of, is_npz
from cvxens.datasets.parquet import as_text
from cvxens.datasets.source import Source, open_source
from cvxens.types import Array

Samples = tuple[Array, NDArray | None]


def load_samples(path: str | os.PathLike[str], n_features: int, columns: Mapping[str, Learnt]) -> Samples:
    r"""Read samples, with or without their labels, for a model that was fitted to a file.

    Parameters
    ----------
    path : str or path-like
        Delimited text with the columns that the model knows, in any order, and perhaps a target as the last one;
        LIBSVM; Parquet; or npz with `X` and perhaps `y`.
    n_features : int
        The number of features of the model.
    columns : mapping of str to float or tuple of str
        `Dataset.columns` of what it was fitted to; empty if that was no table.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Finite.
    y : ndarray of shape (n_samples,), or None
        The labels, where there are any.

    Raises
    ------
    DataFileError
        The file cannot be read, or does not have the features of the model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("town,age\nUlm,31\nBonn,?\n")
    ...     load_samples(path, 3, {"age": 38.0, "town": ("Bonn", "Ulm")})
    (array([[31.,  0.,  1.],
           [38.,  1.,  0.]]), None)
    """
    source = open_source(path)
    X, y = _read(source, n_features, columns)
    if X.ndim != 2 or X.shape[1] != n_features or X.dtype.kind not in "buif" or not np.isfinite(X).all():
        raise source.error(
            f"found X of shape {X.shape} and type {X.dtype}", f"give finite numbers, {n_features} features per sample"
        )
    if y is not None and y.shape != X.shape[:1]:
        raise source.error(f"found y of shape {y.shape} for {len(X)} samples", "give one label per sample, or none")
    return X, None if y is None else clean_labels(y)


def _read(source: Source, n_features: int, columns: Mapping[str, Learnt]) -> tuple[Any, NDArray | None]:
    if is_npz(source.content):
        arrays = arrays_of(source)
        if "X" not in arrays:
            raise source.error(f"found no X, only {', '.join(arrays) or 'nothing'}", "save X, and y if it is known")
        return arrays["X"], arrays.get("y")
    if is_libsvm(source.content):
        data = read_libsvm([source])
        missing = n_features - data.X.shape[1]
        return np.pad(data.X.toarray(), ((0, 0), (0, max(missing, 0)))), data.y
    if not columns:
        raise source.error("found a table for a model that was fitted to none", "give LIBSVM or npz")
    return read_samples(as_text(source), columns)
