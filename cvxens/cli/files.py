"""What commands read and write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cvxens import datasets
from cvxens.datasets import Dataset
from cvxens.errors import InvalidInput


def dataset_of(data: str | None) -> Dataset:
    """The data set of a file, or of a name; scikit-learn's breast-cancer data for None."""
    if data is None:
        return datasets.breast_cancer()
    is_file = os.path.exists(data) or data != Path(data).stem
    return datasets.load_file(data) if is_file else datasets.load(data)


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
