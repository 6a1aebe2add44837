"""From a file to a `Dataset`: the formats are told apart by what the file holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.datasets.delimited import is_delimited, read_delimited
from cvxens.datasets.labels import clean_labels
from cvxens.datasets.libsvm import is_libsvm, read_libsvm
from cvxens.datasets.memory import MEBIBYTE, as_dense, dense_bytes, dense_dtype
from cvxens.datasets.npz import is_npz, read_npz
from cvxens.datasets.parquet import is_parquet, read_parquet
from cvxens.datasets.record import Dataset
from cvxens.datasets.source import Source, open_source
from cvxens.datasets.table import Options, RawTable, without
from cvxens.tables import TableEncoder


def load_file(
    path: str | os.PathLike[str],
    *,
    test: str | os.PathLike[str] | None = None,
    sparse: bool = False,
    target: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    na: Sequence[str] = (),
) -> Dataset:
    r"""Read a data set from a file: CSV, LIBSVM/SVMlight, npz or Parquet, plain or packed by gzip, bzip2, xz.

    - Delimited text: a header, the target in the last column. Missing values are empty cells, ``?``, and what pandas
      takes for such. Columns of numbers, also with thousands separators, decimal commas or percent signs, are taken as
      they are, missing ones replaced by the median. Any other column becomes one 0/1 feature ``column=level`` per
      level, with a level ``?`` for missing ones. Left out are columns without a value, dates, and identifiers (texts
      that are all different, or more than 20 levels with less than two samples each; whole numbers that are all
      different under a name such as "id"). `notes` lists all of this.
    - LIBSVM: one line per sample, ``label index:value ...``.
    - npz: arrays as listed in `cvxens.datasets.npz`; pickled objects are never loaded.
    - Parquet: a table as that of delimited text; needs pyarrow, ``pip install cvxens[parquet]``.

    Parameters
    ----------
    path : str or path-like
        The file; its ending does not matter.
    test : str or path-like, optional
        A second file in the same format, the test part. It is encoded like the first one: same features,
        same medians; a level that only it has is 0 in every feature.
    sparse : bool
        Hand over `X` and `X_test` as float64 `scipy.sparse.csr_array` instead of dense arrays.
    target : str, optional
        Of a table, the column to predict; the last one by default.
    drop, keep : sequence of str
        Of a table, columns to leave out, and columns not to leave out though they look like dates or identifiers.
    sep : str, optional
        What separates the cells of text: one character, "tab" or "space"; by default found out.
    decimal : {".", ","}, optional
        The decimal mark of numbers in text; by default found out.
    na : sequence of str
        Further texts that stand for missing values in a table.

    Returns
    -------
    Dataset
        At least two samples of at least two different labels, all features finite.

    Raises
    ------
    DataFileError
        If a file is missing, damaged, malformed, or too large to be made dense.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("age,town,class\n31,Ulm,yes\n?,Bonn,no\n45,Ulm,no\n")
    ...     data = load_file(path)
    >>> data.feature_names
    ('age', 'town=Bonn', 'town=Ulm')
    >>> data.X.tolist()
    [[31.0, 0.0, 1.0], [38.0, 1.0, 0.0], [45.0, 0.0, 1.0]]
    """
    options = Options(target, tuple(drop), tuple(keep), sep, decimal, tuple(na))
    sources = [open_source(part) for part in (path, *([] if test is None else [test]))]
    return read_sources(sources, sparse=sparse, options=options)


def read_sources(sources: Sequence[Source], *, sparse: bool = False, options: Options | None = None) -> Dataset:
    """Read a training part and perhaps a test part from open files; see `load_file`."""
    formats = [_reader(source) for source in sources]
    for source, reader in zip(sources, formats, strict=True):
        if reader is not formats[0]:
            raise source.error(f"found another format than in {sources[0].path}", "give both parts in one format")
    data = _with_clean_labels(sources[0], formats[0](sources, options or Options()))
    _check(sources[0], "X", data.X, len(data.y), data.feature_names)
    if data.y_test is not None:
        _check(sources[-1], "X_test", data.X_test, len(data.y_test), data.feature_names)
    if len(np.unique(data.y)) < 2:
        raise sources[0].error(
            f"found one label only, {data.y[0]}", "give samples of at least two classes, the target last"
        )
    return as_csr(data) if sparse else _dense(sources, data)


def read_table(source: Source, options: Options, known: Collection[str] = ()) -> RawTable:
    """Read a table as it stands in its file, without the columns that are to be dropped."""
    table = read_parquet(source, options) if is_parquet(source.content) else read_delimited(source, options, known)
    return without(table, options.drop)


def read_tables(sources: Sequence[Source], options: Options) -> Dataset:
    """Read a training table and perhaps a test table that is encoded like it.

    Raises
    ------
    DataFileError
        A table cannot be read, or the test table lacks columns of the training table.
    """
    table = read_table(sources[0], options)
    encoder = table.learn()
    tables = [table, *(read_test(source, encoder, options, table) for source in sources[1:])]
    X, *X_test = [each.features(encoder).to_numpy(np.float64) for each in tables]
    y, *y_test = [each.labels() for each in tables]
    return Dataset(
        X=X,
        y=y,
        feature_names=encoder.feature_names,
        name=sources[0].stem,
        X_test=X_test[0] if X_test else None,
        y_test=y_test[0] if y_test else None,
        notes=(*table.notes, *encoder.notes),
        encoder=encoder,
        table=table,
        table_test=tables[1] if X_test else None,
    )


def read_test(source: Source, encoder: TableEncoder, options: Options, train: RawTable) -> RawTable:
    """Read a test table, whose columns may be in another order."""
    options = replace(options, target=encoder.target, drop=())
    needed = [encoder.target, *(column.name for column in encoder.used)]
    table = read_table(source, options, needed)
    if absent := [name for name in needed if name not in table.names]:
        raise source.error(
            f"found another header than in {train.source.path}, without {absent[0]!r}", "give both parts its columns"
        )
    return table


def _no_tables(sources: Sequence[Source], options: Options) -> Sequence[Source]:
    if options != Options():
        asked = ", ".join(f"--{name}" for name, value in vars(options).items() if value)
        raise sources[0].error(f"found no table, but {asked}, which names columns or cells", "leave that out")
    return sources


def _read_npz(sources: Sequence[Source], options: Options) -> Dataset:
    return read_npz(_no_tables(sources, options))


def _read_libsvm(sources: Sequence[Source], options: Options) -> Dataset:
    return read_libsvm(_no_tables(sources, options))


READERS: tuple[tuple[Callable[[bytes], bool], Callable[[Sequence[Source], Options], Dataset]], ...] = (
    (is_npz, _read_npz),
    (is_parquet, read_tables),
    (is_libsvm, _read_libsvm),
    (is_delimited, read_tables),
)
"""Pairs (recognises the content, reads it); the first that recognises the file reads it."""


def _reader(source: Source) -> Callable[[Sequence[Source], Options], Dataset]:
    for recognises, read in READERS:
        if recognises(source.content):
            return read
    raise source.error("found neither text nor an npz archive", "give CSV, LIBSVM/SVMlight, npz or Parquet")


def _with_clean_labels(source: Source, data: Dataset) -> Dataset:
    parts = [part for part in (data.y, data.y_test) if part is not None]
    try:
        labels = clean_labels(np.concatenate(parts))
    except ValueError as error:
        raise source.error(
            f"found unusable labels ({error})", "give one label per sample, a finite number or text"
        ) from None
    y, *y_test = np.split(labels, np.cumsum([len(part) for part in parts])[:-1])
    return replace(data, y=y, y_test=y_test[0] if y_test else None)


def _check(source: Source, part: str, X: Any, n_samples: int, feature_names: Sequence[str]) -> None:
    """Raise unless `X` is a matrix of finite numbers, one row per label and one column per name."""
    if X.ndim != 2 or X.shape != (n_samples, len(feature_names)) or 0 in X.shape:
        raise source.error(
            f"found {part} of shape {X.shape} with {n_samples} labels and {len(feature_names)} feature names",
            "give a matrix (n_samples, n_features) with one label per row",
        )
    if X.dtype.kind not in "buif":
        raise source.error(f"found {part} of type {X.dtype}", "save numbers")
    for j in _not_finite(X)[:1]:
        raise source.error(
            f"found NaN or infinity in the feature {feature_names[j]} of {part}", "remove or impute them"
        )


def _not_finite(X: Any) -> NDArray:
    """Return the columns that hold NaN or infinity."""
    from scipy.sparse import issparse

    return X.indices[~np.isfinite(X.data)] if issparse(X) else np.nonzero(~np.isfinite(X))[1]


def as_csr(data: Dataset) -> Dataset:
    """Return `data` with float64 CSR features."""
    from scipy.sparse import csr_array

    X_test = None if data.X_test is None else csr_array(data.X_test, dtype=np.float64)
    return replace(data, X=csr_array(data.X, dtype=np.float64), X_test=X_test)


def _dense(sources: Sequence[Source], data: Dataset) -> Dataset:
    parts = [part for part in (data.X, data.X_test) if part is not None]
    dtype = dense_dtype(parts)
    X, *X_test = [as_dense(source, part, dtype) for source, part in zip((sources[0], sources[-1]), parts, strict=False)]
    size = dense_bytes(X.shape, np.dtype(np.float64)) / MEBIBYTE
    note = f"X is kept as {dtype}, as in the file; as float64 it would take {size:,.0f} MiB"
    notes = data.notes if dtype == np.float64 else (*data.notes, note)
    return replace(data, X=X, X_test=X_test[0] if X_test else None, notes=notes)
