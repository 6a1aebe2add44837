"""Where compiled code is kept: beside the package or in the home folder as numba does, or for one process alone."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path


def find_cache_folder() -> None:
    """Give numba a folder for this process and those that it starts, where it would find none and refuse to compile.

    So it is for a user who can write neither to the package nor to a home folder, as in many containers.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    caches = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    beside = Path(__file__).parent / "__pycache__"
    if _can_write(beside) or (caches.is_absolute() and _can_write(caches / "numba")):
        return
    # nobody else may write to it: what is in there is run
    folder, owner = tempfile.mkdtemp(prefix="cvxens-"), os.getpid()
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)


def _can_write(folder: Path) -> bool:
    """Try it, as numba does: permissions are not all that may be in the way."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
