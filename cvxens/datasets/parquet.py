"""Parquet tables, read as the delimited text that they would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO

from cvxens.datasets.delimited import read_delimited
from cvxens.datasets.record import Dataset
from cvxens.datasets.source import Source


def is_parquet(content: bytes) -> bool:
    """Tell whether `content` starts like a Parquet file."""
    return content.startswith(b"PAR1")


def read_parquet(sources: Sequence[Source]) -> Dataset:
    """Read a table and perhaps a test table, as `read_delimited` does."""
    return read_delimited([as_text(source) for source in sources])


def as_text(source: Source) -> Source:
    """Return a Parquet table as comma-separated text, numbers exact; any other source as it is.

    Raises
    ------
    DataFileError
        There is no pyarrow, the file is damaged, or a column is not of numbers, text or truth values.
    """
    if not is_parquet(source.content):
        return source
    try:
        from pyarrow import ArrowException, csv, parquet
    except ImportError:
        raise source.error("found a Parquet file, but no pyarrow to read it", "install cvxens[parquet]") from None
    text = BytesIO()
    try:
        csv.write_csv(parquet.read_table(BytesIO(source.content)), text)
    except (ArrowException, OSError) as error:
        raise source.error(
            f"found a Parquet file that cannot be read as a table ({' '.join(str(error).split())})",
            "save columns of numbers, text or truth values",
        ) from None
    return replace(source, content=text.getvalue())
