"""Samples to predict for, read the way that a model's training sample was."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvxens.datasets.labels import clean_labels
from cvxens.datasets.libsvm import is_libsvm, read_libsvm
from cvxens.datasets.npz import arrays_of, features_of, is_npz
from cvxens.datasets.reading import read_table
from cvxens.datasets.source import Source, open_source
from cvxens.datasets.table import Options, RawTable
from cvxens.tables import TableEncoder, columns_of, read_cells


class Samples(NamedTuple):
    """Samples to predict for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or data frame
        Finite numbers; of a model whose learners take categories and gaps, a data frame with these.
    y : ndarray of shape (n_samples,), or None
        The labels, where there are any.
    remarks : tuple of str
        What is not as it was in the training sample: other columns, unseen levels, missing values.
    """

    X: Any
    y: NDArray | None
    remarks: tuple[str, ...] = ()


def load_samples(path: str | os.PathLike[str], n_features: int, encoder: TableEncoder | None = None) -> Samples:
    r"""Read samples, with or without their labels, for a model that was fitted to a file.

    Parameters
    ----------
    path : str or path-like
        Delimited text or Parquet with the columns that the model knows, in any order, and perhaps others and the
        target; LIBSVM; or npz with `X` and perhaps `y` (of one with a test part, that part).
    n_features : int
        The number of features of the model.
    encoder : TableEncoder, optional
        `Dataset.encoder` of what it was fitted to; None if that was no table.

    Returns
    -------
    Samples
        Features, labels and remarks.

    Raises
    ------
    DataFileError
        The file cannot be read, or does not have the features of the model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from cvxens.datasets import load_file
    >>> with TemporaryDirectory() as folder:
    ...     fitted, new = Path(folder) / "people.csv", Path(folder) / "new.csv"
    ...     _ = fitted.write_text("town,age,class\nUlm,31,yes\nBonn,45,no\nBonn,38,no\n")
    ...     _ = new.write_text("age;size;town\n?;2;Ulm\n28;1;Rome\n")
    ...     samples = load_samples(new, 3, load_file(fitted).encoder)
    >>> samples.X
    array([[ 0.,  1., 38.],
           [ 0.,  0., 28.]])
    >>> print("\n".join(samples.remarks))
    size: not in the table of the fit, so not used
    town: 1 value of no level of the fit (Rome), taken as none of them
    age: 1 value missing, taken as 38
    """
    source = open_source(path)
    if is_npz(source.content) or is_libsvm(source.content):
        X, y, remarks = _read_arrays(source, n_features)
        _check(source, X, n_features)
    elif encoder is None:
        raise source.error("found a table for a model that was fitted to none", "give LIBSVM or npz")
    else:
        X, y, remarks = _read_table(source, encoder)
        if not encoder.raw:
            X = X.to_numpy(np.float64)
            _check(source, X, n_features)
    if y is not None and y.shape != X.shape[:1]:
        raise source.error(f"found y of shape {y.shape} for {len(X)} samples", "give one label per sample, or none")
    return Samples(X, None if y is None else clean_labels(y), remarks)


def _check(source: Source, X: NDArray, n_features: int) -> None:
    if X.ndim != 2 or X.shape[1] != n_features or X.dtype.kind not in "buif" or not np.isfinite(X).all():
        raise source.error(
            f"found X of shape {X.shape} and type {X.dtype}", f"give finite numbers, {n_features} features per sample"
        )


def _read_arrays(source: Source, n_features: int) -> Samples:
    if is_libsvm(source.content):
        data = read_libsvm([source])
        missing = n_features - data.X.shape[1]
        return Samples(np.pad(data.X.toarray(), ((0, 0), (0, max(missing, 0)))), data.y)
    arrays = arrays_of(source)
    for suffix in ("", "_test", "_train"):
        X = features_of(source, arrays, suffix)
        if X is not None:
            X = X.toarray() if hasattr(X, "toarray") else X
            return Samples(X, arrays.get(f"y{suffix}"), (f"of the archive's parts, X{suffix} is taken",) * bool(suffix))
    raise source.error(f"found no X, only {', '.join(arrays) or 'nothing'}", "save X, and y if it is known")


def _read_table(source: Source, encoder: TableEncoder) -> Samples:
    known = [column.name for column in encoder.used]
    table = read_table(source, Options(sep=_separator(source, encoder), na=encoder.na), [*known, encoder.target])
    if not encoder.target:
        # saved by version 0.1, which did not keep the name: the one other column, the last, was the target
        others = [name for name in table.names if name not in {column.name for column in encoder.columns}]
        encoder = replace(encoder, target=others[0] if others == [table.names[-1]] else "")
    X = table.features(encoder)
    y, told = _labels(table, encoder.target)
    return Samples(X, y, (*told, *encoder.remarks(table.frame)))


def _labels(table: RawTable, target: str) -> tuple[NDArray | None, tuple[str, ...]]:
    if target not in table.names:
        return None, ()
    cells = read_cells(columns_of(table.frame)[target], table.options.na)
    missing = int(cells.missing.sum())
    if missing:
        told = f"{target}: {missing} of {len(cells.missing)} values of the target are missing, so there is no score"
        return None, (told,)
    return table.labels_of(target), ()


def _separator(source: Source, encoder: TableEncoder) -> str | None:
    """What separated the cells in the fit, if it is found in these."""
    return encoder.separator if encoder.separator and encoder.separator.encode() in source.content else None
