"""Parquet tables, read as the delimited text that they would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO

from cvxens.datasets.delimited import read_delimited
from cvxens.datasets.record import Dataset
from cvxens.datasets.source import Source
from cvxens.storage import inflation_limit
from cvxens.storage.bounded import MEBIBYTE


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
    text, limit = BytesIO(), inflation_limit(source.stored)
    try:
        with parquet.ParquetFile(BytesIO(source.content)) as table:
            # a value takes two bytes as text, with its comma, however few it takes in the file
            groups = [table.metadata.row_group(i) for i in range(table.metadata.num_row_groups)]
            cells = table.metadata.num_rows * table.metadata.num_columns
            _check_size(source, max(2 * cells, *(group.total_byte_size for group in groups), 0), limit)
            with csv.CSVWriter(text, table.schema_arrow) as writer:
                for batch in table.iter_batches():
                    writer.write_batch(batch)
                    _check_size(source, text.tell(), limit)
    except (ArrowException, OSError) as error:
        raise source.error(
            f"found a Parquet file that cannot be read as a table ({' '.join(str(error).split())})",
            "save columns of numbers, text or truth values",
        ) from None
    return replace(source, content=text.getvalue())


def _check_size(source: Source, size: int, limit: int) -> None:
    if size > limit:
        raise source.error(
            f"found a Parquet file of {source.stored / MEBIBYTE:,.1f} MiB that takes {size / MEBIBYTE:,.0f} MiB "
            f"or more, where the limit is {limit / MEBIBYTE:,.0f} MiB",
            "give a part of its rows or columns",
        )
