"""Ensemble learning as convex modelling.

Write a formulation in cvxpy and get a boosting algorithm by column generation, a fast path for production, and
a proof of how far the answer is from the optimum over all hypotheses.

Rooms, in the order in which they build on each other: `cvxens.certificates`, `cvxens.problems`,
`cvxens.kernels`, `cvxens.colgen` and `cvxens.solvers`, `cvxens.estimators` and `cvxens.crosscheck`,
`cvxens.export`; beside them `cvxens.datasets` and `cvxens.plotting`. Each is imported when
it is first used.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

import lazy_loader

__version__ = "0.1.0"


def _find_cache_folder() -> None:
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


_find_cache_folder()

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
