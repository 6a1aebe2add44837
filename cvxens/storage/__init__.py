"""Files of plain arrays and JSON that hold no code: whole or refused, never half written."""

from cvxens.storage.archive import UNREADABLE
from cvxens.storage.encoding import Encoding, Packing, loaded, loaded_record, nothing_else, qualified_name
from cvxens.storage.file import FileKind, as_path, check_place

__all__ = [
    "UNREADABLE",
    "Encoding",
    "FileKind",
    "Packing",
    "as_path",
    "check_place",
    "loaded",
    "loaded_record",
    "nothing_else",
    "qualified_name",
]
