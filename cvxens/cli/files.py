"""What commands read and write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cvxens import datasets
from cvxens.datasets import Dataset
from cvxens.errors import InvalidInput


def dataset_of(data: str | None, *, test: str | None = None, **options: Any) -> Dataset:
    """The data set of a file, or of a name; scikit-learn's breast-cancer data for None.

    Parameters
    ----------
    data, test : str or None
        The file, and one of the test part.
    **options
        How a table is to be read, as for `load_file`.
    """
    is_file = data is not None and (os.path.exists(data) or data != Path(data).stem)
    if is_file:
        return datasets.load_file(str(data), test=test, **options)
    asked = next((f"--{name}" for name, value in {"test": test, **options}.items() if value), None)
    if asked is not None:
        found = f"found for {'no file' if data is None else f'the data set of the name {data!r}'}"
        raise InvalidInput(asked, found, "name a file, or leave it out")
    return datasets.breast_cancer() if data is None else datasets.load(data)


def write(option: str, path: Path | None, text: str) -> None:
    """Write to the file, if there is one; an empty text before the work shows that it can be written."""
    if path is None:
        return
    with writing(option, path):
        path.write_text(text)


@contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """Name the option and the file where that cannot be written."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            option, f"found {str(path)!r}, which cannot be written ({error.strerror})", "name another file"
        ) from None
