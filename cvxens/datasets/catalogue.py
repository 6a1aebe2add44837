"""Data sets by name: those of a data directory, and one that is always there."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from cvxens import validation
from cvxens.datasets.dataset import Dataset
from cvxens.datasets.files import open_source
from cvxens.datasets.reading import read_sources
from cvxens.errors import DataFileError, InvalidInput

VARIABLE = "CVXENS_DATA"
MANIFEST = "MANIFEST.tsv"


@dataclass(frozen=True)
class Entry:
    """The files of one data set: its training part, perhaps a test part; SHA-256 digests, "" where not known."""

    files: tuple[Path, ...]
    digests: tuple[str, ...]
    source: str


def breast_cancer() -> Dataset:
    """Return the Wisconsin diagnostic breast cancer data that scikit-learn carries.

    569 samples, 30 features of cell nuclei (Street, Wolberg & Mangasarian, 1993). The labels are
    scikit-learn's: 0 = malignant (212), 1 = benign (357); so `Dataset.as_signs` makes benign +1.

    Examples
    --------
    >>> breast_cancer().X.shape
    (569, 30)
    """
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return Dataset(
        X=bunch.data,
        y=bunch.target.astype(np.int64),
        feature_names=tuple(map(str, bunch.feature_names)),
        name="breast_cancer",
        source="UCI Wisconsin diagnostic breast cancer, as carried by scikit-learn",
        notes=("y: 0 = malignant, 1 = benign",),
    )


def available() -> tuple[str, ...]:
    """Return the names that `load` knows, in alphabetical order.

    Raises
    ------
    DataFileError
        If the environment variable CVXENS_DATA names no directory with a valid MANIFEST.tsv.

    Examples
    --------
    >>> "breast_cancer" in available()
    True
    """
    return tuple(sorted({"breast_cancer", *_entries()}))


def load(name: str, *, sparse: bool = False) -> Dataset:
    """Return a data set by its name.

    Names are looked up in the file MANIFEST.tsv (tab-separated, with the columns `name` and `file`, and
    perhaps `source` and `sha256`) of the directory that the environment variable CVXENS_DATA names; if
    it is not set, of ``../shared/data`` beside a source checkout. Where a manifest has ``NAME_train`` and
    ``NAME_test``, ``NAME`` is the two together, the test part encoded like the training part.
    `breast_cancer` needs no directory.

    Parameters
    ----------
    name : str
        One of `available`.
    sparse : bool
        Hand over `X` and `X_test` as `scipy.sparse.csr_array` instead of dense arrays.

    Returns
    -------
    Dataset
        See `load_file` for what is done to its values.

    Raises
    ------
    InvalidInput
        If the name is unknown; the error lists names close to it.
    DataFileError
        If its file is missing, malformed, or does not have the SHA-256 digest of the manifest.

    Examples
    --------
    >>> load("breast_cancer").as_signs().y[:3]
    array([-1., -1., -1.])
    """
    validation.instance("name", name, str)
    if name == "breast_cancer":
        data = breast_cancer()
        return data.as_csr() if sparse else data
    entries = _entries()
    if name not in entries:
        raise _unknown(name, available())
    entry = entries[name]
    sources = [open_source(path) for path in entry.files]
    for source, digest in zip(sources, entry.digests, strict=True):
        if digest and source.digest != digest.lower():
            digests = f"SHA-256 {source.digest[:12]}... where the manifest says {digest[:12]}..."
            raise source.error(f"found a damaged file, {digests}", "fetch it anew")
    return replace(read_sources(sources, sparse=sparse), name=name, source=entry.source)


def _directory() -> Path | None:
    """Return the directory of CVXENS_DATA, else the development one, else None."""
    if stated := os.environ.get(VARIABLE):
        return Path(stated).expanduser()
    beside_checkout = Path(__file__).resolve().parents[3] / "shared" / "data"
    return beside_checkout if (beside_checkout / MANIFEST).is_file() else None


def _entries() -> dict[str, Entry]:
    """Read the manifest; a training part and a test part make a set of their own beside the two."""
    directory = _directory()
    if directory is None:
        return {}
    manifest = directory / MANIFEST
    if not manifest.is_file():
        found = f"found no {MANIFEST} in {directory}"
        raise DataFileError(VARIABLE, found, f"set {VARIABLE} to a directory that has one")
    single = {}
    for row in csv.DictReader(open_source(manifest).text().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        if not row.get("name") or not row.get("file"):
            found = "found a line without a name or a file"
            raise DataFileError(str(manifest), found, "separate the columns name and file by tabs")
        single[row["name"]] = Entry((directory / row["file"],), (row.get("sha256") or "",), row.get("source") or "")
    pairs = {}
    for stem in (name.removesuffix("_train") for name in single if name.endswith("_train")):
        if f"{stem}_test" in single:
            train, test = single[f"{stem}_train"], single[f"{stem}_test"]
            source = f"{train.source}; {test.source}"
            pairs[stem] = Entry(train.files + test.files, train.digests + test.digests, source)
    return pairs | single


def _unknown(name: str, known: Collection[str]) -> InvalidInput:
    """Return the error about a name that no data set has, with names close to it."""
    if _directory() is None:
        found = f"found {name!r}, but no data directory; without one there is only breast_cancer"
        return InvalidInput("name", found, f"set {VARIABLE} to a directory with a {MANIFEST}, or use load_file(path)")
    close = ", ".join(get_close_matches(name, known, n=5, cutoff=0.5))
    return InvalidInput(
        "name",
        f"found {name!r}, which is none of the {len(known)} known data sets",
        (f"did you mean {close}? " if close else "") + "available() lists the names, load_file(path) reads a file",
    )
