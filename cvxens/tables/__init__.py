"""Tables as people have them: what their columns are, and how these become features."""

from cvxens.tables.columns import (
    MOST_CATEGORIES,
    Feature,
    OddCell,
    Table,
    TableColumn,
    TableEncoder,
    columns_of,
    encode,
    find_features,
    find_words,
    is_frame,
    match,
    read_cells,
    spell,
)
from cvxens.tables.numerals import NUMBER, Dates, Numerals, choose_decimal_mark, recognise_numerals

__all__ = [
    "MOST_CATEGORIES",
    "NUMBER",
    "Dates",
    "Feature",
    "Numerals",
    "OddCell",
    "Table",
    "TableColumn",
    "TableEncoder",
    "choose_decimal_mark",
    "columns_of",
    "encode",
    "find_features",
    "find_words",
    "is_frame",
    "match",
    "read_cells",
    "recognise_numerals",
    "spell",
]
