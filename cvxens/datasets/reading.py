"""From a file to a `Dataset`, and to samples that a model predicts for; tables are text, JSON, Parquet or Excel's.

A `FileTable` holds a table as it stands in its file, as a data frame whose index is the lines or rows of the file;
`cvxens.tables` says what its columns are. Text is split by Python's `csv`: `pandas.read_csv` mends in silence what has
to be refused (short lines, repeated names), and does not tell the line of a row.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from typing import Any, NamedTuple

import numpy as np

from cvxens import validation
from cvxens.datasets import files
from cvxens.datasets.dataset import Dataset, clean_labels
from cvxens.datasets.files import Source, count_bytes, features_of, open_source, read_arrays, read_libsvm, read_npz
from cvxens.errors import InvalidInput
from cvxens.limits import available_memory
from cvxens.storage import MEBIBYTE
from cvxens.tables import (
    MOST_CATEGORIES,
    NUMBER,
    Numerals,
    OddCell,
    TableEncoder,
    choose_decimal_mark,
    columns_of,
    read_cells,
    recognise_numerals,
    spell,
)
from cvxens.types import Frame, Labels, Matrix

BYTES_A_CELL = 128
"""Memory that a cell takes at the most while it is parsed: a string, places in three lists, and a share of its line."""


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
    encoding: str | None = None,
) -> Dataset:
    r"""Read a data set from a file: CSV, JSON, Excel, Parquet, LIBSVM or npz, plain or packed by gzip, bzip2, xz.

    - Delimited text: a header, the target in the last column. Missing values are empty cells, ``?``, and what pandas
      takes for such. Columns of numbers, also with thousands separators, decimal commas or percent signs, are taken as
      they are, missing ones replaced by the median. Any other column becomes one 0/1 feature ``column=level`` per
      level, with a level ``?`` for missing ones. Left out are columns without a value, dates, and identifiers (texts
      that are all different, or more than 20 levels with less than two samples each; whole numbers that are all
      different under a name such as "id"). `notes` lists all of this.
    - LIBSVM: one line per sample, ``label index:value ...``.
    - npz: arrays as listed in `cvxens.datasets.files`; pickled objects are never loaded.
    - JSON: a list of records, ``[{"age": 31, "class": "yes"}, ...]``, or a record per line.
    - Parquet: a table as that of delimited text; needs pyarrow, ``pip install cvxens[parquet]``.
    - Excel (.xlsx): the first sheet, with a header; needs openpyxl, ``pip install cvxens[excel]``.

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
    encoding : str, optional
        That of text, such as "latin-1"; by default UTF-8, and UTF-16 or UTF-32 where the file begins with their mark.

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
    options = TableOptions(target, tuple(drop), tuple(keep), sep, decimal, tuple(na), encoding)
    sources = [open_source(part, encoding or "") for part in (path, *([] if test is None else [test]))]
    return read_sources(sources, sparse=sparse, options=options)


def read_sources(sources: Sequence[Source], *, sparse: bool = False, options: TableOptions | None = None) -> Dataset:
    """Read a training part and perhaps a test part from open files; see `load_file`."""
    first, last = sources[0], sources[-1]
    options = options or TableOptions()
    if last.format != first.format:
        raise last.error(f"found another format than in {first.path}", "give both parts in one format")
    if first.format in {"npz", "libsvm"} and options != TableOptions():
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


def _read_tables(sources: Sequence[Source], options: TableOptions) -> Dataset:
    """Read a training table and perhaps a test table, whose columns may be in another order, encoded like it."""
    table, *tests = [read_table(sources[0], options)]
    encoder = table.learn()
    for source in sources[1:]:
        needed = [encoder.target, *(column.name for column in encoder.used)]
        tests.append(read_table(source, replace(options, target=encoder.target, drop=()), needed))
        for name in needed:
            if name not in tests[0].names:
                found = f"found another header than in {sources[0].path}, without {name!r}"
                raise source.error(found, "give both parts its columns")
    (X, y), *parts = [(t.features(encoder).to_numpy(np.float64), t.labels(encoder.target)) for t in (table, *tests)]
    notes, names = (*table.notes, *encoder.notes), encoder.feature_names
    data = Dataset(X, y, names, sources[0].stem, notes=notes, encoder=encoder, table=table)
    return replace(data, X_test=parts[0][0], y_test=parts[0][1], table_test=tests[0]) if parts else data


def _clean_labels(source: Source, data: Dataset) -> Dataset:
    """Make the labels of both parts the same kind."""
    with source.refusing("found unusable labels", "give one label per sample, a finite number or text"):
        labels = clean_labels(np.concatenate([data.y, *([] if data.y_test is None else [data.y_test])]))
    n = len(data.y)
    return replace(data, y=labels[:n], y_test=None if data.y_test is None else labels[n:])


def _check_part(source: Source, part: str, X: Matrix, n_samples: int, feature_names: Sequence[str]) -> None:
    """Raise unless `X` is a matrix of finite numbers, one row per label and one column per name."""
    if X.ndim != 2 or X.shape != (n_samples, len(feature_names)) or 0 in X.shape:
        raise source.error(
            f"found {part} of shape {X.shape} with {n_samples} labels and {len(feature_names)} feature names",
            "give a matrix (n_samples, n_features) with one label per row",
        )
    if X.dtype.kind not in "buif":
        raise source.error(f"found {part} of type {X.dtype}", "save numbers")
    odd = np.nonzero(~np.isfinite(X))[1] if isinstance(X, np.ndarray) else X.indices[~np.isfinite(X.data)]
    if len(odd):
        found = f"found NaN or infinity in the feature {feature_names[odd[0]]} of {part}"
        raise source.error(found, "remove or impute them")


def _make_dense(sources: Sequence[Source], data: Dataset) -> Dataset:
    """Return dense features: float64 if all parts fit into `DENSE_LIMIT` so, else of the type that the file has."""
    from scipy.sparse import issparse

    parts, double = [part for part in (data.X, data.X_test) if part is not None], np.dtype(np.float64)
    fits = all(count_bytes(part.shape, double) <= files.DENSE_LIMIT for part in parts)
    dtype = double if fits else np.result_type(*(part.dtype for part in parts))
    dense = []
    for source, X in zip((sources[0], sources[-1]), parts, strict=False):
        if issparse(X):
            source.check_dense(X.shape, dtype, "ask for sparse=True to get a CSR matrix")
        dense.append(np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=dtype))
    size = count_bytes(dense[0].shape, double) / MEBIBYTE
    note = f"X is kept as {dtype}, as in the file; as float64 it would take {size:,.0f} MiB"
    notes = data.notes if dtype == np.float64 else (*data.notes, note)
    return replace(data, X=dense[0], X_test=dense[1] if len(dense) > 1 else None, notes=notes)


class Samples(NamedTuple):
    """Samples to predict for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or data frame
        Finite numbers; of a model whose learners take categories and missing values, a data frame with these.
    y : ndarray of shape (n_samples,), or None
        The labels, where there are any.
    remarks : tuple of str
        What is not as it was in the training sample: other columns, unseen levels, missing values.
    separator : str
        What separates the cells of delimited text; "" of other files.
    """

    X: Matrix | Frame
    y: Labels | None
    remarks: tuple[str, ...] = ()
    separator: str = ""


def load_samples(path: str | os.PathLike[str], n_features: int, encoder: TableEncoder | None = None) -> Samples:
    r"""Read samples, with or without their labels, for a model that was fitted to a file.

    Parameters
    ----------
    path : str or path-like
        A table with the columns that the model knows, in any order, and perhaps others and the target; LIBSVM; or npz
        with `X` and perhaps `y` (of one with a test part, that part).
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
        samples = _read_samples(source, n_features)
    elif encoder is None:
        raise source.error("found a table for a model that was fitted to none", "give LIBSVM or npz")
    else:
        samples = _read_table_samples(source, encoder)
    X, y = samples.X, samples.y
    if isinstance(X, np.ndarray) and not (
        X.ndim == 2 and X.shape[1] == n_features and X.dtype.kind in "buif" and np.isfinite(X).all()
    ):
        found = f"found X of shape {X.shape} and type {X.dtype}"
        raise source.error(found, f"give finite numbers, {n_features} features per sample")
    if y is not None and y.shape != X.shape[:1]:
        raise source.error(f"found y of shape {y.shape} for {len(X)} samples", "give one label per sample, or none")
    return samples._replace(y=None if y is None else clean_labels(y))


def _read_samples(source: Source, n_features: int) -> Samples:
    """Read samples of LIBSVM, padded to the features of the model, or the part of an archive that comes first."""
    if source.format == "libsvm":
        data = read_libsvm([source])
        # the features after the last one that these samples have are 0
        missing = n_features - data.X.shape[1]
        X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
        return Samples(np.pad(X, ((0, 0), (0, max(missing, 0)))), data.y)
    arrays = read_arrays(source)
    for suffix in ("", "_test", "_train"):
        X = features_of(source, arrays, suffix)
        if X is not None:
            X = X if isinstance(X, np.ndarray) else X.toarray()
            return Samples(X, arrays.get(f"y{suffix}"), (f"of the archive's parts, X{suffix} is taken",) * bool(suffix))
    raise source.error(f"found no X, only {', '.join(arrays) or 'nothing'}", "save X, and y if it is known")


def _read_table_samples(source: Source, encoder: TableEncoder) -> Samples:
    """Read a table with the columns that a model knows, and with its target, where that is there."""
    if encoder.encoding and not source.binary and not source.is_utf8:
        source = source.recode(encoder.encoding)
    # what separated the cells in the fit, if it is found in these
    separator = encoder.separator if encoder.separator.encode() in source.content else ""
    known = [encoder.target, *(column.name for column in encoder.used)]
    table = read_table(source, TableOptions(sep=separator or None, na=encoder.na), known)
    if not encoder.target:
        # fitted in Python, to columns without a target: the one other column, if it is the last, is that
        others = [name for name in table.names if name not in {column.name for column in encoder.columns}]
        encoder = replace(encoder, target=others[0] if others == [table.names[-1]] else "")
    X, y, remarks = table.features(encoder), None, encoder.remarks(table.frame)
    if (target := encoder.target) in table.names:
        missing = table.cells(target).isna()
        y = None if missing.any() else table.labels(target)
        remark = f"{target}: {missing.sum()} of {len(missing)} values of the target are missing, so there is no score"
        remarks = (remark, *remarks) if missing.any() else remarks
    return Samples(X if encoder.raw else X.to_numpy(np.float64), y, remarks, table.separator)


@dataclass(frozen=True)
class TableOptions:
    """Requests on how a table is read; `load_file` says what the fields are."""

    target: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    sep: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.decimal is not None:
            validation.one_of("decimal", self.decimal, (".", ","))
        if self.sep is not None and len(self.separator) != 1:
            raise InvalidInput("sep", f"found {self.sep!r}", "give one character, or 'tab' or 'space'")

    @property
    def separator(self) -> str:
        """The separator as a character, "" if it is to be found out."""
        return {"tab": "\t", r"\t": "\t", "space": " "}.get(self.sep or "", self.sep or "")


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table as it stands in its file: a data frame of pandas, whose columns are of text if the file is.

    The index of `frame` has the line of a text file, else the row below the names, that each sample is from; `options`
    say how it was asked to be read, `separator` what separates its cells if it is text, and `notes` what was left out
    on the way: comments, a column of row numbers.
    """

    source: Source
    frame: Any
    options: TableOptions
    separator: str = ""
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(columns_of(self.frame))

    @property
    def target(self) -> str:
        """The name of the target: that asked for, else the last, unless another one is called "target"."""
        names, target = self.names, self.options.target
        if target is not None:
            if target not in names:
                raise self.source.error(f"found no column {target!r} for --target", f"name one of {', '.join(names)}")
            return target
        named = [name for name in names if name.lower() in {"target", "class", "label", "y"}]
        if named and names[-1] not in named:
            raise self.source.error(
                f"found {names[-1]!r} as the last column, which is the target by default, beside a column {named[0]!r}",
                f"name the target: --target {named[0]}, or --target {names[-1]}",
            )
        return names[-1]

    def learn(self, *, raw: bool = False) -> TableEncoder:
        """Learn how the columns become features; for errors see `features`."""
        asked, target = self.options, self.target
        with self._errors():
            encoder = TableEncoder.learn(
                self.frame,
                target=target,
                raw=raw,
                na=asked.na,
                keep=asked.keep,
                decimal=asked.decimal,
                separator=self.separator,
            )
        for name in asked.keep:
            if name not in {column.name for column in encoder.columns}:
                raise self.source.error(f"found no column {name!r} for --keep", "name a column that is there")
        return replace(encoder, separator=asked.separator, encoding=asked.encoding or "")

    def features(self, encoder: TableEncoder) -> Any:
        """Return the features of the table as a data frame.

        `DataFileError` if a column is missing or has a cell that it cannot have, or if there is no feature, or no room.
        """
        if not encoder.feature_names:
            raise self.source.error("found no column that can be a feature", "give columns of numbers or of categories")
        shape = len(self.frame), len(encoder.feature_names)
        self.source.check_dense(shape, np.dtype(np.float64), "leave out nominal columns that have many categories")
        with self._errors():
            return encoder.transform(self.frame)

    def cells(self, name: str) -> Any:
        """Return a column as `cvxens.tables.read_cells` does."""
        with self._errors():
            return read_cells(columns_of(self.frame)[name], self.options.na)

    def labels(self, target: str) -> Labels:
        """Return the column of that name as labels; `DataFileError` if one is missing."""
        cells = self.cells(target)
        for row in np.flatnonzero(cells.isna())[:1].tolist():
            raise self.source.error(f"found no target in {self._place(row)}", f"fill in {target!r}, or drop the line")
        if cells.dtype.kind == "f":
            return np.asarray(cells)
        labels = spell(cells).astype(str)
        distinct = set(labels.tolist())
        mark = self.options.decimal or choose_decimal_mark([distinct], self.separator)
        # a few of them are classes, whatever they are called
        numerals = recognise_numerals(distinct, mark) if len(distinct) > MOST_CATEGORIES else None
        return labels if numerals is None or numerals == Numerals() else numerals.parse(labels.tolist())

    def drop(self, names: Collection[str]) -> FileTable:
        """Return the table without these columns; `DataFileError` if one is not there."""
        for name in names:
            if name not in self.names:
                found = f"found no column {name!r} for --drop"
                raise self.source.error(found, f"name some of {', '.join(self.names)}")
        kept = [key for key in self.frame.columns if str(key) not in names]
        notes = [f"{name}: left out, as asked" for name in names]
        return replace(self, frame=self.frame[kept], notes=(*self.notes, *notes))

    def _place(self, row: int) -> str:
        return f"{'line' if self.separator else 'row'} {self.frame.index[row]}"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Make errors about cells and columns into errors about their places in this file."""
        try:
            yield
        except OddCell as error:
            found = f"found {error.odd} in {self._place(error.row)}, in {error.column}"
            raise self.source.error(found, error.remedy) from None
        except InvalidInput as error:
            raise self.source.error(error.found, error.remedy) from None


def read_table(source: Source, options: TableOptions, known: Collection[str] = ()) -> FileTable:
    """Read a table as it stands in its file, without the columns that are to be dropped; see `read_delimited`."""
    readers = {"parquet": read_parquet, "xlsx": read_workbook, "json": read_records}
    if source.format not in readers:
        return read_delimited(source, options, known).drop(options.drop)
    frame, *notes = readers[source.format](source)
    frame.index = range(1, len(frame) + 1)
    return FileTable(source, frame, options, notes=tuple(notes)).drop(options.drop)


def read_records(source: Source) -> tuple[Any, ...]:
    """Read JSON: a list of records, each with the names of its columns, or a record per line.

    `DataFileError` if it is none; a name that a record has not is missing in it.
    """
    import json

    import pandas as pd

    text = source.text()
    _check_room(source, text.count(",") + 1)
    remedy = "write a list of records or a record per line, as DataFrame.to_json(FILE, orient='records') does"
    with source.refusing("found JSON that is no table", remedy):
        lines = (line for line in text.splitlines() if line.strip())
        records = json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in lines]
        flat = (isinstance(one, dict) and not any(isinstance(v, dict | list) for v in one.values()) for one in records)
        if not all(flat):
            raise ValueError("an entry is no record of single values")
    return (pd.DataFrame(records),)


def read_workbook(source: Source) -> tuple[Any, ...]:
    """Read the first sheet of an Excel workbook, whose first line has the names of the columns, and notes on it.

    `DataFileError` if there is no openpyxl, or the file is damaged, too large or has no such names.
    """
    from zipfile import ZipFile

    import pandas as pd

    with source.refusing("found an Excel workbook that cannot be read", "save the sheet as CSV"):
        # what cells take in memory beside their text in the file, at the most
        size = 8 * sum(part.file_size for part in ZipFile(BytesIO(source.content)).infolist())
        source.check_inflated(size)
        try:
            with pd.ExcelFile(BytesIO(source.content), engine="openpyxl") as book:
                sheet, *others = book.sheet_names
                # pandas would call repeated names apart
                rows = pd.read_excel(book, header=None, dtype=object).dropna(how="all")
        except ImportError:
            remedy = "install cvxens[excel], or save the sheet as CSV"
            raise source.error("found an Excel workbook, but no openpyxl to read it", remedy) from None
    if len(rows) < 2:
        raise source.error(f"found no table in the first sheet, {sheet!r}", "put names and samples into it")
    names = ["" if pd.isna(name) else str(name).strip() for name in rows.iloc[0]]
    _check_names(source, names)
    notes = (f"the first sheet, {sheet!r}: {len(others)} more are not read",) * bool(others)
    return rows.iloc[1:].set_axis(names, axis=1), *notes


def read_parquet(source: Source) -> tuple[Any, ...]:
    """Read a table, numbers exact; an index that pandas stored is no column.

    `DataFileError` if there is no pyarrow, or the file is damaged, too large or has a column of nested values.
    """
    try:
        from pyarrow import ArrowException, parquet, types
    except ImportError:
        raise source.error("found a Parquet file, but no pyarrow to read it", "install cvxens[parquet]") from None
    remedy = "save columns of numbers, text or truth values"
    with source.refusing("found a Parquet file that cannot be read as a table", remedy, ArrowException):
        file = parquet.ParquetFile(BytesIO(source.content))
        # a value takes eight bytes in memory, however few it takes in the file
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        cells = file.metadata.num_rows * file.metadata.num_columns
        source.check_inflated(max(8 * cells, sum(group.total_byte_size for group in groups)))
        table = file.read()
        source.check_inflated(table.nbytes)
        for column in table.schema:
            if types.is_nested(column.type):
                raise ValueError(f"nested values in the column {column.name!r}")
        return (table.to_pandas(),)


def read_delimited(source: Source, options: TableOptions, known: Collection[str] = ()) -> FileTable:
    """Read a table of text: a header, one line per sample.

    Blank lines are passed over, and so are lines that begin with ``#``, but for a header in that guise. A first column
    without a name whose cells are whole numbers, all different, holds the numbers of the rows, and is left out. A row
    with one of the `known` names is a header whatever else is in it. `DataFileError` if there is no header or nothing
    below it, rows differ in length, or names are missing or repeated.
    """
    import pandas as pd

    separator, rows = _split(source, options)
    rows, n_comments = _drop_comments(rows)
    header, cells = (rows[0][1] if rows else []), [row for _, row in rows[1:]]
    known = {*known, *([] if options.target is None else [options.target])}
    if len(header) < 2 and not known.intersection(header):
        raise source.error("found one column only", "separate columns by commas, or name what separates them by --sep")
    if not (known.intersection(header) or _is_header(header, cells)):
        raise source.error(
            "found numbers in the first line, so no header",
            "put a line of column names first, or, if it is one, name the target in it by --target",
        )
    if not cells:
        raise source.error("found a header only", "give at least two samples below it")
    if len(cells) > 1 and all(len(row) == len(header) + 1 for row in cells):
        # R writes the names of rows without a name for their column
        header = ["", *header]
    for line, row in rows[1:]:
        if len(row) != len(header):
            found = f"found {len(row)} cells in line {line} under a header of {len(header)}"
            raise source.error(found, "give every line one cell per name")
    frame = pd.DataFrame(cells, [line for line, _ in rows[1:]], header, dtype=object)
    first = [row[0] for row in cells]
    notes = (f"{n_comments} line{'s' * (n_comments > 1)} beginning with # left out as comments",) * bool(n_comments)
    if header[0] == "" and len(set(first)) == len(first) and all(cell.isdecimal() for cell in first):
        frame, notes = frame.iloc[:, 1:], (*notes, "the first column, without a name: left out, it counts the rows")
    _check_names(source, list(frame.columns))
    return FileTable(source, frame, options, separator, notes)


def _check_names(source: Source, names: Sequence[str]) -> None:
    if len(set(names)) < len(names) or "" in names:
        raise source.error("found a header with empty or repeated names", "give each column a name of its own")


def _check_room(source: Source, n_cells: int) -> None:
    if n_cells * BYTES_A_CELL > (left := available_memory()):
        raise source.error(
            f"found some {n_cells:,} cells, which take {n_cells * BYTES_A_CELL / MEBIBYTE:,.0f} MiB to parse where "
            f"{left / MEBIBYTE:,.0f} MiB are left",
            "give a part of the rows, or an npz archive of numbers",
        )


def _split(source: Source, options: TableOptions) -> tuple[str, list[tuple[int, list[str]]]]:
    """Return the separator, and the rows that are not blank."""
    text = source.text()
    first = next((line for line in StringIO(text) if line.strip() and not line.lstrip().startswith("#")), "")
    separator = options.separator or max(",;\t|", key=first.count)
    if options.separator and first and separator not in first:
        raise source.error(f"found no {separator!r} in the first line", "name what separates the cells by --sep")
    _check_room(source, text.count(separator) + text.count("\n") + text.count("\r") + 1)
    reader = csv.reader(_unquote_comments(text), delimiter=separator, strict=True, skipinitialspace=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise source.error(f"found malformed text in line {reader.line_num} ({error})", "correct that line") from None
    return separator, [(line, row) for line, row in rows if row not in ([], [""])]


def _unquote_comments(text: str) -> Iterator[str]:
    """Yield lines, comments without quotation marks: those in them enclose nothing."""
    enclosed = False
    for line in StringIO(text, newline=""):
        if not enclosed and line.lstrip().startswith("#"):
            yield line.replace('"', "")
        else:
            enclosed ^= bool(line.count('"') % 2)
            yield line


def _drop_comments(rows: Sequence[tuple[int, list[str]]]) -> tuple[list[tuple[int, list[str]]], int]:
    """Return rows without those that begin with #, and the number of these; a header that does is uncovered."""
    marked = [row[0].startswith("#") for _, row in rows]
    kept = [row for row, comment in zip(rows, marked, strict=True) if not comment]
    if not any(marked):
        return kept, 0
    first = marked.index(False) if kept else len(marked)
    if first and kept:
        # the comment above the first row is the header, if it has a cell for each of its cells, and that is none
        line, above = rows[first - 1]
        header, *cells = (row for _, row in kept)
        if len(above) == len(header) > 1 and not _is_header(header, cells):
            return [(line, [above[0].lstrip("#").strip(), *above[1:]]), *kept], sum(marked) - 1
    # a column whose texts all begin with # is no comment
    return (kept, sum(marked)) if len(kept) > 1 else (list(rows), 0)


def _is_header(header: Sequence[str], cells: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row is one of names: no number is in it, and inf is a name.

    Whole numbers are names too where they count from 0, as pandas does, and what is beside them is not found again in
    the column below.
    """
    numbers = [j for j, name in enumerate(header) if NUMBER.fullmatch(name) and not name.isalpha()]
    if not numbers:
        return True
    counted = [header[j] for j in numbers] == [str(k) for k in range(len(numbers))]
    words = [j for j in range(len(header)) if j not in numbers and header[j]]
    again = any(header[j] == row[j] for j in words for row in cells if j < len(row))
    return counted and len(numbers) > 1 and not again
