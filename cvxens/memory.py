"""The memory that this process may still take, as system and container tell it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

SMALL = 2**26
"""Bytes that are allocated without asking."""

MEMINFO = Path("/proc/meminfo")
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")


def available() -> int:
    """Return the bytes that are left, as far as the system tells: unused memory, a container's limit.

    Examples
    --------
    >>> available() > 0
    True
    """
    limits = []
    if hasattr(os, "sysconf"):
        limits += [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    if MEMINFO.exists():
        limits += [1024 * int(found) for found in re.findall(r"MemAvailable: +(\d+) kB", MEMINFO.read_text())]
    if CONTROL_GROUP.exists():
        limits += [int(found) for found in re.findall(r"\d+", CONTROL_GROUP.read_text())]
    return min(limits, default=sys.maxsize)
