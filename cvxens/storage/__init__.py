"""Files of plain arrays and JSON that hold no code: whole or refused, never half written."""

from cvxens.storage.archive import UNREADABLE
from cvxens.storage.bounded import Oversized, inflation_limit, read_bounded, read_file
from cvxens.storage.encoding import Encoding, Packing, loaded, loaded_record, nothing_else, qualified_name
from cvxens.storage.file import FileKind, as_path, check_place

__all__ = [
    "UNREADABLE",
    "Encoding",
    "FileKind",
    "Oversized",
    "Packing",
    "as_path",
    "check_place",
    "inflation_limit",
    "loaded",
    "loaded_record",
    "nothing_else",
    "qualified_name",
    "read_bounded",
    "read_file",
]
