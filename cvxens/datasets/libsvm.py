"""The sparse text format of LIBSVM and SVMlight: a label, then ``index:value`` pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from itertools import islice

from cvxens.datasets.memory import numbered_names
from cvxens.datasets.record import Dataset
from cvxens.datasets.source import Source

LINE = re.compile(rb"[+-]?[\d.]\S*(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?")
LINES_TRIED = 20


def is_libsvm(content: bytes) -> bool:
    """Tell whether one of the first 20 lines is a number followed by ``index:value`` pairs."""
    lines = islice(re.finditer(rb"[^\r\n]+", content), LINES_TRIED)
    return any(LINE.fullmatch(line.group().strip()) for line in lines)


def read_libsvm(sources: Sequence[Source]) -> Dataset:
    """Read a training part and perhaps a test part, both with the features of the two together.

    Indices count from 1, or from 0 if index 0 occurs; the features are named ``x0``, ``x1``, ...

    Raises
    ------
    DataFileError
        If a line is malformed, its indices do not increase, or there are more than 2^22 features.
    """
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_files

    contents = [BytesIO(source.content) for source in sources]
    try:
        X, y, *test = load_svmlight_files(contents, zero_based="auto")
    except (ValueError, OverflowError) as error:
        raise sources[-1].error(
            f"found malformed LIBSVM text, here or in {sources[0].path} ({error})",
            "write each line as: label index:value index:value ..., with increasing indices",
        ) from None
    return Dataset(
        X=csr_array(X),
        y=y,
        feature_names=numbered_names(sources[0], X.shape[1]),
        name=sources[0].stem,
        X_test=csr_array(test[0]) if test else None,
        y_test=test[1] if test else None,
    )
