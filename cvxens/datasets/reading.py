"""From a file to a `Dataset`, and to samples that a model predicts for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvxens.datasets import files
from cvxens.datasets.arrays import features_of, read_arrays, read_libsvm, read_npz
from cvxens.datasets.dataset import Dataset, clean_labels
from cvxens.datasets.files import MEBIBYTE, Source, count_bytes, open_source
from cvxens.datasets.tabular import FileTable, Options, read_table
from cvxens.tables import TableEncoder, columns_of, read_cells


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
    - npz: arrays as listed in `cvxens.datasets.arrays`; pickled objects are never loaded.
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
    first, last = sources[0], sources[-1]
    options = options or Options()
    if last.format != first.format:
        raise last.error(f"found another format than in {first.path}", "give both parts in one format")
    if first.format in {"npz", "libsvm"} and options != Options():
        asked = ", ".join(f"--{name}" for name, value in vars(options).items() if value)
        raise first.error(f"found no table, but {asked}, which names columns or cells", "leave that out")
    readers = {"npz": read_npz, "libsvm": read_libsvm}
    data = readers[first.format](sources) if first.format in readers else _read_tables(sources, options)
    data = _clean_labels(first, data)
    _check_part(first, "X", data.X, len(data.y), data.feature_names)
    if data.y_test is not None:
        _check_part(last, "X_test", data.X_test, len(data.y_test), data.feature_names)
    if len(np.unique(data.y)) < 2:
        raise first.error(f"found one label only, {data.y[0]}", "give samples of at least two classes, the target last")
    return data.as_csr() if sparse else _make_dense(sources, data)


def _read_tables(sources: Sequence[Source], options: Options) -> Dataset:
    """Read a training table and perhaps a test table, whose columns may be in another order, encoded like it."""
    tables = [read_table(sources[0], options)]
    encoder = tables[0].learn()
    for source in sources[1:]:
        needed = [encoder.target, *(column.name for column in encoder.used)]
        tables.append(read_table(source, replace(options, target=encoder.target, drop=()), needed))
        for name in needed:
            if name not in tables[1].names:
                found = f"found another header than in {sources[0].path}, without {name!r}"
                raise source.error(found, "give both parts its columns")
    X, *X_test = [table.features(encoder).to_numpy(np.float64) for table in tables]
    y, *y_test = [table.labels(encoder.target) for table in tables]
    return Dataset(
        X=X,
        y=y,
        feature_names=encoder.feature_names,
        name=sources[0].stem,
        X_test=X_test[0] if X_test else None,
        y_test=y_test[0] if y_test else None,
        notes=(*tables[0].notes, *encoder.notes),
        encoder=encoder,
        table=tables[0],
        table_test=tables[1] if X_test else None,
    )


def _clean_labels(source: Source, data: Dataset) -> Dataset:
    """Make the labels of both parts the same kind."""
    parts = [part for part in (data.y, data.y_test) if part is not None]
    try:
        labels = clean_labels(np.concatenate(parts))
    except ValueError as error:
        found = f"found unusable labels ({error})"
        raise source.error(found, "give one label per sample, a finite number or text") from None
    y, *y_test = np.split(labels, np.cumsum([len(part) for part in parts])[:-1])
    return replace(data, y=y, y_test=y_test[0] if y_test else None)


def _check_part(source: Source, part: str, X: Any, n_samples: int, feature_names: Sequence[str]) -> None:
    """Raise unless `X` is a matrix of finite numbers, one row per label and one column per name."""
    from scipy.sparse import issparse

    if X.ndim != 2 or X.shape != (n_samples, len(feature_names)) or 0 in X.shape:
        raise source.error(
            f"found {part} of shape {X.shape} with {n_samples} labels and {len(feature_names)} feature names",
            "give a matrix (n_samples, n_features) with one label per row",
        )
    if X.dtype.kind not in "buif":
        raise source.error(f"found {part} of type {X.dtype}", "save numbers")
    odd = X.indices[~np.isfinite(X.data)] if issparse(X) else np.nonzero(~np.isfinite(X))[1]
    if len(odd):
        found = f"found NaN or infinity in the feature {feature_names[odd[0]]} of {part}"
        raise source.error(found, "remove or impute them")


def _make_dense(sources: Sequence[Source], data: Dataset) -> Dataset:
    """Return dense features: float64 if all parts fit into `DENSE_LIMIT` so, else of the type that the file has."""
    from scipy.sparse import issparse

    parts = [part for part in (data.X, data.X_test) if part is not None]
    double = np.dtype(np.float64)
    fits = all(count_bytes(part.shape, double) <= files.DENSE_LIMIT for part in parts)
    dtype = double if fits else np.result_type(*(part.dtype for part in parts))
    dense = []
    for source, X in zip((sources[0], sources[-1]), parts, strict=False):
        if issparse(X):
            source.check_dense(X.shape, dtype, "ask for sparse=True to get a CSR matrix")
        dense.append(np.ascontiguousarray(X.toarray() if issparse(X) else X, dtype=dtype))
    size = count_bytes(dense[0].shape, double) / MEBIBYTE
    note = f"X is kept as {dtype}, as in the file; as float64 it would take {size:,.0f} MiB"
    notes = data.notes if dtype == np.float64 else (*data.notes, note)
    return replace(data, X=dense[0], X_test=dense[1] if len(dense) > 1 else None, notes=notes)


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
    if source.format in {"npz", "libsvm"}:
        X, y, remarks = _read_samples(source, n_features)
    elif encoder is None:
        raise source.error("found a table for a model that was fitted to none", "give LIBSVM or npz")
    else:
        X, y, remarks = _read_table_samples(source, encoder)
    if isinstance(X, np.ndarray) and not (
        X.ndim == 2 and X.shape[1] == n_features and X.dtype.kind in "buif" and np.isfinite(X).all()
    ):
        found = f"found X of shape {X.shape} and type {X.dtype}"
        raise source.error(found, f"give finite numbers, {n_features} features per sample")
    if y is not None and y.shape != X.shape[:1]:
        raise source.error(f"found y of shape {y.shape} for {len(X)} samples", "give one label per sample, or none")
    return Samples(X, None if y is None else clean_labels(y), remarks)


def _read_samples(source: Source, n_features: int) -> Samples:
    """Read samples of LIBSVM, padded to the features of the model, or the part of an archive that comes first."""
    if source.format == "libsvm":
        data = read_libsvm([source])
        # the features after the last one that these samples have are 0
        missing = n_features - data.X.shape[1]
        return Samples(np.pad(data.X.toarray(), ((0, 0), (0, max(missing, 0)))), data.y)
    arrays = read_arrays(source)
    for suffix in ("", "_test", "_train"):
        X = features_of(source, arrays, suffix)
        if X is not None:
            X = X.toarray() if hasattr(X, "toarray") else X
            return Samples(X, arrays.get(f"y{suffix}"), (f"of the archive's parts, X{suffix} is taken",) * bool(suffix))
    raise source.error(f"found no X, only {', '.join(arrays) or 'nothing'}", "save X, and y if it is known")


def _read_table_samples(source: Source, encoder: TableEncoder) -> Samples:
    """Read a table with the columns that a model knows, and with its target, where that is there."""
    # what separated the cells in the fit, if it is found in these
    separator = encoder.separator if encoder.separator.encode() in source.content else ""
    known = [encoder.target, *(column.name for column in encoder.used)]
    table = read_table(source, Options(sep=separator or None, na=encoder.na), known)
    if not encoder.target:
        # fitted in Python, to columns without a target: the one other column, if it is the last, is that
        others = [name for name in table.names if name not in {column.name for column in encoder.columns}]
        encoder = replace(encoder, target=others[0] if others == [table.names[-1]] else "")
    X = table.features(encoder)
    y, remarks = _read_target(table, encoder.target)
    return Samples(X if encoder.raw else X.to_numpy(np.float64), y, (*remarks, *encoder.remarks(table.frame)))


def _read_target(table: FileTable, target: str) -> tuple[NDArray | None, tuple[str, ...]]:
    """Return the labels, if all are there, or a remark that some are missing."""
    if target not in table.names:
        return None, ()
    missing = read_cells(columns_of(table.frame)[target], table.options.na).isna()
    if not missing.any():
        return table.labels(target), ()
    remark = f"{target}: {missing.sum()} of {len(missing)} values of the target are missing, so there is no score"
    return None, (remark,)
