"""Whether a kernel matrix fits into memory."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np

from cvxens.errors import InvalidInput

SMALL = 2**26
"""Bytes that are allocated without asking."""

MEMINFO = Path("/proc/meminfo")
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")


def available() -> int:
    """Bytes that this process may still take, as far as the system tells: unused memory, a container's limit."""
    limits = []
    if hasattr(os, "sysconf"):
        limits += [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    if MEMINFO.exists():
        limits += [1024 * int(found) for found in re.findall(r"MemAvailable: +(\d+) kB", MEMINFO.read_text())]
    if CONTROL_GROUP.exists():
        limits += [int(found) for found in re.findall(r"\d+", CONTROL_GROUP.read_text())]
    return min(limits, default=sys.maxsize)


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
