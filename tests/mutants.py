"""Faults that tests have to find: each is put into a copy of the package, and its tests have to fail there.

``python tests/mutants.py [WORDS]`` runs all of them, or those in whose file or text one of the words is; the exit
status is 1 where one survives. A mutant is what would make a certificate claim too much.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COPIED = ("cvxens", "tests", "docs", "notebooks", "reproduction", "pyproject.toml", "README.md", "CONTRIBUTING.md")
IGNORED = shutil.ignore_patterns("__pycache__", "_build", "trials")
SECONDS = 600
"""The time that a mutant's tests have; one that makes them hang counts as found."""


class Mutant(NamedTuple):
    """A text of a file, what it becomes, and the test files of which one has to fail."""

    file: str
    text: str
    becomes: str
    tests: tuple[str, ...]

    def __str__(self):
        return f"{self.file}: {self.text.strip()!r} -> {self.becomes.strip()!r}"

    def apply(self, root):
        """Change the file below a root; the text is there once."""
        path = root / self.file
        before = path.read_text()
        assert before.count(self.text) == 1, f"{self}: found {before.count(self.text)} times"
        path.write_text(before.replace(self.text, self.becomes))
        return path, before


MUTANTS = []


def run(mutant, root):
    """True if the mutant's tests fail in a copy of the package, which is as before afterwards."""
    path, before = mutant.apply(root)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *mutant.tests]
    environment = os.environ | {"PYTHONPATH": str(root), "CI": "true"}
    try:
        options = {"cwd": root, "env": environment, "timeout": SECONDS}
        ended = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(before)
    # 1: tests failed; else they have not run
    assert ended.returncode in {0, 1}, f"{mutant}\n{ended.stdout}\n{ended.stderr}"
    return ended.returncode == 1


def run_all(mutants, jobs):
    """Yield mutants with whether each was killed, of as many at a time as there are copies."""
    with TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        copies = [Path(scratch, str(k)) for k in range(jobs)]
        for copy in copies:
            copy.mkdir()
            for name in COPIED:
                source = ROOT / name
                ignore = shutil.ignore_patterns("__pycache__", "_build", "trials")
                _ = (
                    shutil.copytree(source, copy / name, ignore=ignore)
                    if source.is_dir()
                    else shutil.copy(source, copy)
                )
        # copies take turns, each with mutants of its own
        shares = [
            pool.submit(lambda k=k: [(each, run(each, copies[k])) for each in mutants[k::jobs]]) for k in range(jobs)
        ]
        for share in shares:
            yield from share.result()


def main(words):
    chosen = [each for each in MUTANTS if not words or any(word in str(each) for word in words)]
    survivors = []
    for mutant, killed in run_all(chosen, int(os.environ.get("JOBS", "2"))):
        print("killed  " if killed else "SURVIVED", mutant, flush=True)
        survivors += [] if killed else [mutant]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
