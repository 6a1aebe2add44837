"""Tables as people have them: what their columns are, and how these become features."""

from cvxens.tables.cells import MISSING_IN_MEMORY, OddCell, columns_of, is_frame, read_cells, read_columns, spell
from cvxens.tables.columns import (
    MOST_CATEGORIES,
    Feature,
    LeftOutColumn,
    NominalColumn,
    NumericColumn,
    TableEncoder,
    encode,
    encode_columns,
    find_features,
    find_words,
)
from cvxens.tables.numerals import NUMBER, Dates, Numerals, choose_decimal_mark, recognise_numerals

__all__ = [
    "MISSING_IN_MEMORY",
    "MOST_CATEGORIES",
    "NUMBER",
    "Dates",
    "Feature",
    "LeftOutColumn",
    "NominalColumn",
    "Numerals",
    "NumericColumn",
    "OddCell",
    "TableEncoder",
    "choose_decimal_mark",
    "columns_of",
    "encode",
    "encode_columns",
    "find_features",
    "find_words",
    "is_frame",
    "read_cells",
    "read_columns",
    "recognise_numerals",
    "spell",
]
