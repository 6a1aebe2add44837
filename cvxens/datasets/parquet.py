"""Parquet tables."""

from __future__ import annotations

from io import BytesIO

from cvxens.datasets.source import Source
from cvxens.datasets.table import Options, RawTable
from cvxens.storage import MEBIBYTE, inflation_limit


def is_parquet(content: bytes) -> bool:
    """Tell whether `content` starts like a Parquet file."""
    return content.startswith(b"PAR1")


def read_parquet(source: Source, options: Options) -> RawTable:
    """Read a table, numbers exact; an index that pandas stored is no column.

    Raises
    ------
    DataFileError
        There is no pyarrow, the file is damaged, or a column is not of numbers, text, truth values or dates.
    """
    try:
        from pyarrow import ArrowException, parquet, types
    except ImportError:
        raise source.error("found a Parquet file, but no pyarrow to read it", "install cvxens[parquet]") from None
    limit = inflation_limit(source.stored)
    try:
        file = parquet.ParquetFile(BytesIO(source.content))
        # a value takes eight bytes in memory, however few it takes in the file
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        cells = file.metadata.num_rows * file.metadata.num_columns
        _check_size(source, max(8 * cells, sum(group.total_byte_size for group in groups)), limit)
        table = file.read()
        _check_size(source, table.nbytes, limit)
        nested = [field.name for field in table.schema if types.is_nested(field.type)]
        frame = None if nested else table.to_pandas()
    except (ArrowException, OSError) as error:
        raise source.error(
            f"found a Parquet file that cannot be read as a table ({' '.join(str(error).split())})",
            "save columns of numbers, text or truth values",
        ) from None
    if nested:
        raise source.error(
            f"found a Parquet file that cannot be read as a table (nested values in the column {nested[0]!r})",
            "save columns of numbers, text or truth values",
        )
    return RawTable(source, frame, None, options)


def _check_size(source: Source, size: int, limit: int) -> None:
    if size > limit:
        raise source.error(
            f"found a Parquet file of {source.stored / MEBIBYTE:,.1f} MiB that takes {size / MEBIBYTE:,.0f} MiB "
            f"or more, where the limit is {limit / MEBIBYTE:,.0f} MiB",
            "give a part of its rows or columns",
        )
