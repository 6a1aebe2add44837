"""Whether a kernel matrix fits into memory."""

from __future__ import annotations

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.memory import SMALL, available


def check_room(n_rows: int, n_columns: int, dtype: np.dtype) -> None:
    """Raise unless a dense (n_rows, n_columns) matrix fits into the memory that is left.

    Raises
    ------
    InvalidInput
        Says how much memory it would take, and what to do without it.
    """
    needed = n_rows * n_columns * dtype.itemsize
    if needed > SMALL and needed > (room := available()):
        raise InvalidInput(
            "X",
            f"found {n_rows:,} x {n_columns:,} samples, whose {dtype} kernel matrix takes {needed / 2**30:,.1f} GiB "
            f"where {room / 2**30:,.1f} GiB are left",
            "evaluate some rows at a time, give float32 samples, which take half of a float64 matrix, or train with "
            "a solver that needs no kernel matrix, as there is for stump kernels",
        )
