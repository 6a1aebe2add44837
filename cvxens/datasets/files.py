"""Data files in memory: unpacked within what is left of it, and read where they are of numbers alone.

A `Source` is a file of any format, and raises the one error that all readers raise about it. Files of numbers are the
text format of LIBSVM and SVMlight, and archives of numpy arrays, which are `X` and `y`, or `X_train`, `y_train` and
perhaps `X_test`, `y_test`, or instead of each `X` the parts `data`, `indices`, `indptr`, `shape` of a CSR matrix
(`data_train`, ...). Optional ones are the texts `source`, `note` and `splits`, the `feature_names`, the class names
`labels` that whole numbers in `y` count, and row numbers `train_idx` and `test_idx`, each (n_splits, n_rows). Pickled
objects are never loaded.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import BytesIO
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np

from cvxens.datasets.dataset import Dataset, Split
from cvxens.errors import DataFileError, InvalidInput, refusing
from cvxens.limits import SMALL_ALLOCATION
from cvxens.storage import MEBIBYTE, PLAIN, UNREADABLE, Oversized, inflation_limit, read_bounded, read_file
from cvxens.types import Labels, Matrix

DENSE_LIMIT = 256 * MEBIBYTE
"""Bytes that a dense matrix may take if its file holds something smaller."""


@dataclass(frozen=True)
class Source:
    """A file that was read into memory, decompressed.

    `digest` is the SHA-256 of the file as it is stored, in hexadecimal, and `stored` the number of its bytes there.
    """

    path: Path
    digest: str
    content: bytes = field(repr=False)
    stored: int = 0

    @property
    def stem(self) -> str:
        """The file's name without any ending."""
        return self.path.name.split(".")[0] or self.path.name

    @property
    def format(self) -> str:
        """The format that the content shows; `DataFileError` for what is neither text nor "npz", "parquet", "xlsx"."""
        if self.binary == "xls":
            raise self.error("found an Excel workbook that is old or has a password", "save it as .xlsx or as CSV")
        if self.binary:
            return self.binary
        # the beginning of a list of records, or of a record
        if re.match(rb"\s*(\[\s*[\[{]|\{\s*[\"}])", self.content):
            return "json"
        lines = islice(re.finditer(rb"[^\r\n]+", self.content), 20)
        # without the separators of tables, in which moments such as 1.1.2020 12:30 have a colon too
        libsvm = rb"[+-]?[\d.][^\s,;|]*(\s+qid:\d+)?(\s+\d+:[^\s,;|]+)+\s*(#.*)?"
        if any(re.fullmatch(libsvm, line.group().strip()) for line in lines):
            return "libsvm"
        if b"\0" in self.content:
            remedy = "give CSV, JSON, LIBSVM/SVMlight, npz, Parquet or Excel; of text in UTF-16, say --encoding utf-16"
            raise self.error("found neither text nor a format that is known", remedy)
        return "text"

    @property
    def binary(self) -> str:
        """The format where it is none of text, "" where it may be."""
        if self.content.startswith(b"PK\x03\x04"):
            return "xlsx" if b"xl/workbook" in self.content else "npz"
        magic = {b"PAR1": "parquet", b"\xd0\xcf\x11\xe0": "xls"}
        return magic.get(self.content[:4], "")

    def recode(self, encoding: str = "") -> Source:
        """Return text of an encoding, by default that of the mark that it begins with, as UTF-8."""
        # the mark of UTF-16 begins one of UTF-32
        marks = {"utf-32": (b"\xff\xfe\0\0", b"\0\0\xfe\xff"), "utf-16": (b"\xff\xfe", b"\xfe\xff")}
        name = encoding or next((name for name, ends in marks.items() if self.content.startswith(ends)), "")
        if not name:
            return self
        if self.binary:
            raise self.error("found no text, but --encoding, which is of text", "leave that out")
        try:
            return replace(self, content=self.content.decode(name).encode())
        except UnicodeError as error:
            found = f"found bytes that are not {name} text ({error})"
            raise self.error(found, "name another --encoding, or save it as UTF-8") from None
        except (LookupError, ValueError):
            remedy = "name one that Python has, such as latin-1, cp1252 or utf-16"
            raise InvalidInput("encoding", f"found {encoding!r}", remedy) from None

    def error(self, found: str, remedy: str) -> DataFileError:
        """Return the error to raise about this file."""
        return DataFileError(str(self.path), found, remedy)

    def refusing(self, found: str, remedy: str, *others: type[Exception]) -> AbstractContextManager[None]:
        """Make an error about this file of what libraries raise, or `others`, where it is damaged or forged."""
        kinds: tuple[type[Exception], ...] = ArithmeticError, AttributeError, LookupError, *UNREADABLE, *others
        return refusing(str(self.path), found, remedy, kinds, raised=DataFileError)

    def check_inflated(
        self,
        size: int,
        what: str = "a packed table",
        remedy: str = "give a part of its rows or columns",
        allowed: int = SMALL_ALLOCATION,
    ) -> None:
        """Raise `DataFileError` if `what` this file holds would take too much for its own size."""
        if size > (limit := inflation_limit(self.stored, allowed)):
            sizes = f"{size / MEBIBYTE:,.0f} MiB, where the limit is {limit / MEBIBYTE:,.0f} MiB"
            raise self.error(f"found {self.stored / MEBIBYTE:,.1f} MiB with {what} of {sizes}", remedy)

    @property
    def is_utf8(self) -> bool:
        """True for text in UTF-8."""
        try:
            return bool(self.content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            return False

    def text(self) -> str:
        """Return the content as text; `DataFileError` if it is not UTF-8."""
        remedy = "save it as UTF-8, or say what it is, such as --encoding latin-1 or --encoding cp1252"
        with self.refusing("found bytes that are not UTF-8 text", remedy):
            return self.content.decode("utf-8-sig")

    def check_dense(self, shape: tuple[int, ...], dtype: np.dtype, remedy: str) -> None:
        """Raise `DataFileError` if a dense matrix of that shape would exceed `DENSE_LIMIT`."""
        needed = count_bytes(shape, dtype)
        if needed > DENSE_LIMIT:
            raise self.error(
                f"found {shape[0]} x {shape[1]} values, {needed / MEBIBYTE:,.0f} MiB as a dense {dtype} matrix "
                f"where the limit is {DENSE_LIMIT // MEBIBYTE} MiB",
                remedy,
            )


def count_bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Return the bytes of a dense matrix, in exact integers."""
    return int(shape[0]) * int(shape[1]) * dtype.itemsize


def open_source(path: str | os.PathLike[str], encoding: str = "") -> Source:
    """Read a plain, gzip, bzip2 or xz file, if memory is left for it and it inflates to at most 100 times its size.

    Text becomes UTF-8, of the `encoding` that is said, or that it begins with the mark of.

    `DataFileError` for every other one, and for one that is missing, unreadable, empty or damaged.
    """
    try:
        path = Path(path).expanduser()
        raw = read_file(path)
    except FileNotFoundError:
        raise DataFileError(str(path), "found no such file", "check the path") from None
    except IsADirectoryError:
        raise DataFileError(str(path), "found a directory", "name a file in it") from None
    except Oversized as error:
        raise DataFileError(str(path), f"found {error}", "give a part of it, or make room in memory") from None
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        found = f"found no readable file ({error})"
        raise DataFileError(str(path), found, "check the path and its permissions") from None
    content = _decompress(path, raw)
    if not content.strip():
        raise DataFileError(str(path), "found an empty file", "fetch or write it anew")
    return Source(path, sha256(raw).hexdigest(), content, len(raw)).recode(encoding)


def _decompress(path: Path, raw: bytes) -> bytes:
    """Return the bytes of a file, inflated if they are packed; `DataFileError` if they inflate to too much."""
    openers = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
    open_packed: Any = next((open_ for magic, open_ in openers.items() if raw.startswith(magic)), None)
    if open_packed is None:
        return raw
    try:
        return read_bounded(open_packed(BytesIO(raw)), inflation_limit(len(raw)))
    except Oversized as error:
        found = f"found a compressed file of {len(raw) / MEBIBYTE:,.1f} MiB that inflates to {error}"
        remedy = "inflate it yourself if you trust it, and give the file that comes of it"
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        found, remedy = f"found a damaged or truncated compressed file ({error})", "fetch it anew"
    raise DataFileError(str(path), found, remedy)


def read_libsvm(sources: Sequence[Source]) -> Dataset:
    """Read a training part and perhaps a test part, both with the features of the two together.

    Indices count from 1, or from 0 if index 0 occurs; the features are named ``x0``, ``x1``, ... `DataFileError` if a
    line is malformed, its indices do not increase, or there are more than 2^22 features.
    """
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_files

    found = f"found malformed LIBSVM text, here or in {sources[0].path}"
    remedy = "write each line as: label index:value index:value ..., with increasing indices"
    with sources[-1].refusing(found, remedy):
        X, y, *test = load_svmlight_files([BytesIO(source.content) for source in sources], zero_based="auto")
    X_test, y_test = (csr_array(test[0]), test[1]) if test else (None, None)
    names = _number_features(sources[0], X.shape[1])
    return Dataset(csr_array(X), y, names, sources[0].stem, X_test=X_test, y_test=y_test)


def read_npz(sources: Sequence[Source]) -> Dataset:
    """Read an archive, which holds its own test part if there is one.

    `DataFileError` if it is damaged, holds pickled objects, lacks the arrays named above, or declares arrays that are
    too large for the memory that is left, or more than a hundred times its own size and than 256 MiB.
    """
    source = sources[0]
    if len(sources) > 1:
        found = "found an npz archive beside a separate test file"
        raise sources[1].error(found, "put X_test and y_test into the one archive")
    arrays = read_arrays(source)
    parts = {end: features_of(source, arrays, end) for end in ("", "_train", "_test") if f"y{end}" in arrays}
    part = next((end for end in ("", "_train") if parts.get(end) is not None), None)
    if part is None:
        raise source.error(
            f"found no X and y, only the arrays {', '.join(arrays) or 'none'}",
            "save X and y, or X_train, y_train, X_test and y_test, or their CSR parts",
        )
    X, y, X_test = parts[part], arrays[f"y{part}"], parts.get("_test")
    if "feature_names" in arrays:
        names = tuple(map(str, np.ravel(arrays["feature_names"])))
    else:
        names = _number_features(source, (0, *X.shape)[-1])
    notes = [str(arrays[key]) for key in ("note", "splits") if key in arrays]
    if classes := [f"{i} = {label}" for i, label in enumerate(np.ravel(arrays.get("labels", [])))]:
        notes.append(f"y: {', '.join(classes)}")
    return Dataset(
        X=X,
        y=y,
        feature_names=names,
        name=source.stem,
        source=str(arrays.get("source", "")),
        X_test=X_test,
        y_test=None if X_test is None else arrays["y_test"],
        notes=tuple(notes),
        splits=_read_splits(source, arrays, y.size),
    )


def read_arrays(source: Source) -> dict[str, Labels]:
    """Read every array of an archive, once what all of them declare is known to fit; for errors see `read_npz`."""
    remedy = "save plain numeric arrays with numpy.savez_compressed"
    with source.refusing("found an npz archive that cannot be read", remedy):
        archive = ZipFile(BytesIO(source.content))
        members = archive.infolist()
        for member in members:
            _check_header(archive, member)
        remedy = "save the parts of a CSR matrix, a smaller type, or an archive without compression"
        declared = sum(member.file_size for member in members)
        source.check_inflated(declared, "declared arrays", remedy, DENSE_LIMIT)
        # a member read as a whole has its checksum tested before numpy sees it
        contents = ((member.filename, BytesIO(archive.read(member))) for member in members)
        return {name.removesuffix(".npy"): np.load(content, allow_pickle=False) for name, content in contents}


def features_of(source: Source, arrays: Mapping[str, Labels], suffix: str) -> Matrix:
    """Return X of the part whose arrays end so, None if it is not there; `DataFileError` for parts of no CSR matrix."""
    if f"X{suffix}" in arrays:
        return arrays[f"X{suffix}"]
    keys = [f"{stem}{suffix}" for stem in ("data", "indices", "indptr", "shape")]
    if not arrays.keys() >= {*keys}:
        return None
    from scipy.sparse import csr_array

    data, indices, indptr, shape = (arrays[key] for key in keys)
    with source.refusing("found parts of no CSR matrix", "save the parts of a valid csr_matrix"):
        X = csr_array((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=tuple(shape.tolist()))
        X.check_format(full_check=True)
    return X


def _number_features(source: Source, n_features: int) -> tuple[str, ...]:
    """Return the names ``x0``, ``x1``, ..., which take memory too; `DataFileError` beyond 2^22 features."""
    if n_features > 2**22:
        raise source.error(f"found {n_features} features", f"check the largest index; up to {2**22} are read")
    return tuple(f"x{j}" for j in range(n_features))


def _check_header(archive: ZipFile, member: ZipInfo) -> None:
    """Raise one of `UNREADABLE` unless a member is an array of plain values that takes just the bytes it declares.

    No more is inflated than its header, a few hundred bytes.
    """
    with archive.open(member) as stream:
        # numpy evaluates no more than 10,000 bytes of a header
        start = BytesIO(stream.read(2**16))
    version = np.lib.format.read_magic(start)
    # the third version is of names that are not Latin
    if version not in {(1, 0), (2, 0)}:
        raise ValueError(f"{member.filename} in version {version} of numpy's format")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(start)
    if dtype.kind not in PLAIN or not dtype.itemsize:
        raise ValueError(f"{member.filename} of type {dtype}, whose values are not plain")
    if start.tell() + prod(shape) * dtype.itemsize != member.file_size:
        raise ValueError(f"{member.filename} of shape {shape} and type {dtype} in {member.file_size} bytes")


def _read_splits(source: Source, arrays: Mapping[str, Labels], n_samples: int) -> tuple[Split, ...]:
    if not arrays.keys() >= {"train_idx", "test_idx"}:
        return ()
    rows = [arrays["train_idx"], arrays["test_idx"]]
    if any(r.ndim != 2 or r.dtype.kind not in "ui" or r.size == 0 or r.max() >= n_samples or r.min() < 0 for r in rows):
        found = "found train_idx and test_idx that are not row numbers of X"
        raise source.error(found, "save integers, (n_splits, n_rows)")
    return tuple(zip(*(r.astype(np.int64) for r in rows), strict=True))
