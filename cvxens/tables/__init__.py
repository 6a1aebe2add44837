"""Tables as people have them: what their columns are, and how these become features."""

from cvxens.tables.cells import OddCell, columns_of, is_frame, read_cells, spell
from cvxens.tables.columns import MOST_CATEGORIES, LeftOutColumn, NominalColumn, NumericColumn, TableEncoder
from cvxens.tables.numerals import NUMBER, Dates, Numerals, choose_decimal_mark, recognise_numerals

__all__ = [
    "MOST_CATEGORIES",
    "NUMBER",
    "Dates",
    "LeftOutColumn",
    "NominalColumn",
    "Numerals",
    "NumericColumn",
    "OddCell",
    "TableEncoder",
    "choose_decimal_mark",
    "columns_of",
    "is_frame",
    "read_cells",
    "recognise_numerals",
    "spell",
]
