"""Archives of numpy arrays; pickled objects in them are never loaded.

The arrays are `X` and `y`, or `X_train`, `y_train` and perhaps `X_test`, `y_test`, or instead of each `X`
the parts `data`, `indices`, `indptr`, `shape` of a CSR matrix (`data_train`, ...). Optional ones are the
texts `source`, `note` and `splits`, the `feature_names`, the class names `labels` that whole numbers in
`y` count, and row numbers `train_idx` and `test_idx`, each (n_splits, n_rows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from math import prod
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from cvxens.datasets.memory import DENSE_LIMIT, MEBIBYTE, numbered_names
from cvxens.datasets.record import Dataset, Split
from cvxens.datasets.source import Source
from cvxens.errors import DataFileError
from cvxens.storage import PLAIN, UNREADABLE, inflation_limit

Arrays = Mapping[str, NDArray]

HEADERS: Mapping[tuple[int, int], Callable[[Any], tuple[tuple[int, ...], bool, np.dtype]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""What reads shape, order and type, by the version of numpy's format; the third is of names that are not Latin."""

LONGEST_HEADER = 2**16
"""Bytes at the start of an array that have its header, of which numpy evaluates no more than 10,000."""


def is_npz(content: bytes) -> bool:
    """Tell whether `content` starts like a zip archive."""
    return content.startswith(b"PK\x03\x04")


def read_npz(sources: Sequence[Source]) -> Dataset:
    """Read an archive, which holds its own test part if there is one.

    Raises
    ------
    DataFileError
        If the archive is damaged, holds pickled objects, lacks the arrays named above, or declares arrays that are too
        large for the memory that is left, or more than a hundred times its own size and than 256 MiB.
    """
    source = sources[0]
    for other in sources[1:]:
        raise other.error(
            "found an npz archive beside a separate test file", "put X_test and y_test into the one archive"
        )
    arrays = arrays_of(source)
    train = _labelled(source, arrays, "") or _labelled(source, arrays, "_train")
    if train is None:
        raise source.error(
            f"found no X and y, only the arrays {', '.join(arrays) or 'none'}",
            "save X and y, or X_train, y_train, X_test and y_test, or their CSR parts",
        )
    X, y = train
    X_test, y_test = _labelled(source, arrays, "_test") or (None, None)
    names: Iterable[str] = (
        np.ravel(arrays["feature_names"]) if "feature_names" in arrays else numbered_names(source, (0, *X.shape)[-1])
    )
    return Dataset(
        X=X,
        y=y,
        feature_names=tuple(map(str, names)),
        name=source.stem,
        source=str(arrays.get("source", "")),
        X_test=X_test,
        y_test=y_test,
        notes=_notes(arrays),
        splits=_splits(source, arrays, y.size),
    )


def arrays_of(source: Source) -> dict[str, NDArray]:
    """Read every array of an archive, once what all of them declare is known to fit into memory."""
    try:
        archive = ZipFile(BytesIO(source.content))
        members = archive.infolist()
        for member in members:
            check_header(archive, member)
    except UNREADABLE as error:
        raise _unreadable(source, error) from None
    declared, limit = sum(member.file_size for member in members), inflation_limit(source.stored, DENSE_LIMIT)
    if declared > limit:
        raise source.error(
            f"found an npz archive of {source.stored / MEBIBYTE:,.1f} MiB that declares arrays of "
            f"{declared / MEBIBYTE:,.0f} MiB, where the limit is {limit / MEBIBYTE:,.0f} MiB",
            "save the parts of a CSR matrix, a smaller type, or an archive without compression",
        )
    # a member read as a whole has its checksum tested before numpy sees it
    try:
        contents = ((member.filename, BytesIO(archive.read(member))) for member in members)
        return {name.removesuffix(".npy"): np.load(content, allow_pickle=False) for name, content in contents}
    except UNREADABLE as error:
        raise _unreadable(source, error) from None


def _unreadable(source: Source, error: Exception) -> DataFileError:
    return source.error(
        f"found an npz archive that cannot be read ({error})",
        "save plain numeric arrays with numpy.savez_compressed",
    )


def check_header(archive: ZipFile, member: ZipInfo) -> None:
    """Raise unless a member is an array of plain values that takes just the bytes that the archive declares.

    No more is inflated than its header, a few hundred bytes.

    Raises
    ------
    ValueError
        It is not. One of UNREADABLE, if it has no header.
    """
    with archive.open(member) as stream:
        start = BytesIO(stream.read(LONGEST_HEADER))
    version = np.lib.format.read_magic(start)
    if version not in HEADERS:
        raise ValueError(f"{member.filename} in version {version} of numpy's format")
    shape, _, dtype = HEADERS[version](start)
    if dtype.kind not in PLAIN or not dtype.itemsize:
        raise ValueError(f"{member.filename} of type {dtype}, whose values are not plain")
    if start.tell() + prod(shape) * dtype.itemsize != member.file_size:
        raise ValueError(f"{member.filename} of shape {shape} and type {dtype} in {member.file_size} bytes")


def _dense(X: NDArray) -> NDArray:
    return X


def _csr(data: NDArray, indices: NDArray, indptr: NDArray, shape: NDArray) -> Any:
    from scipy.sparse import csr_array

    X = csr_array((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=tuple(shape.tolist()))
    X.check_format(full_check=True)
    return X


MATRICES: tuple[tuple[tuple[str, ...], Callable[..., Any]], ...] = (
    (("X",), _dense),
    (("data", "indices", "indptr", "shape"), _csr),
)


def _labelled(source: Source, arrays: Arrays, suffix: str) -> tuple[Any, NDArray] | None:
    X = features_of(source, arrays, suffix) if f"y{suffix}" in arrays else None
    return None if X is None else (X, arrays[f"y{suffix}"])


def features_of(source: Source, arrays: Arrays, suffix: str) -> Any:
    """Return X of the part whose arrays end so, None if it is not there.

    Raises
    ------
    DataFileError
        Its parts are of no CSR matrix.
    """
    for stems, build in MATRICES:
        keys = [stem + suffix for stem in stems]
        if arrays.keys() >= {*keys}:
            try:
                return build(*(arrays[key] for key in keys))
            except (TypeError, ValueError) as error:
                raise source.error(
                    f"found parts of no CSR matrix ({error})", "save the parts of a valid csr_matrix"
                ) from None
    return None


def _notes(arrays: Arrays) -> tuple[str, ...]:
    texts = [str(arrays[key]) for key in ("note", "splits") if key in arrays]
    names = [f"{i} = {label}" for i, label in enumerate(np.ravel(arrays.get("labels", [])))]
    return (*texts, *([f"y: {', '.join(names)}"] if names else []))


def _splits(source: Source, arrays: Arrays, n_samples: int) -> tuple[Split, ...]:
    if not arrays.keys() >= {"train_idx", "test_idx"}:
        return ()
    rows = [arrays["train_idx"], arrays["test_idx"]]
    if any(r.ndim != 2 or r.dtype.kind not in "ui" or r.size == 0 or r.max() >= n_samples or r.min() < 0 for r in rows):
        raise source.error(
            "found train_idx and test_idx that are not row numbers of X", "save integers, (n_splits, n_rows)"
        )
    return tuple(zip(*(r.astype(np.int64) for r in rows), strict=True))
