"""Tables as people have them: what their columns are, and how these become features."""

from cvxens.tables.cells import Cells, OddCell, columns_of, is_frame, read_cells
from cvxens.tables.columns import DateColumn, LeftOutColumn, NominalColumn, NumericColumn
from cvxens.tables.encoder import TableEncoder
from cvxens.tables.learning import Choice
from cvxens.tables.numerals import NUMBER, Numerals

__all__ = [
    "NUMBER",
    "Cells",
    "Choice",
    "DateColumn",
    "LeftOutColumn",
    "NominalColumn",
    "Numerals",
    "NumericColumn",
    "OddCell",
    "TableEncoder",
    "columns_of",
    "is_frame",
    "read_cells",
]
