"""Random problems, a number for each, held against the truth: what is wrong, and the number that draws it again.

``python tests/fuzz/fuzz.py WHAT COUNT [FIRST]`` checks so many of `CHECKS`.
"""

import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

import attacks
import formulations
import interactions
import numpy as np
import problems200
import variants

CHECKS = {
    "attacks": attacks.check,
    "solvers": attacks.check_solvers,
    "formulations": formulations.check,
    "interactions": interactions.check,
    "problems": problems200.check,
    "variants": variants.check,
}
"""From a number to what is wrong, empty where nothing is, and what is to be counted."""


def fuzz(what, numbers, tell=lambda line: None):
    """Check numbers; returns what is wrong by number, and the counts."""
    found, counts = {}, Counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in numbers:
            try:
                wrong, kinds = CHECKS[what](number)
                counts.update(kinds)
            except Exception as error:
                frames = traceback.extract_tb(error.__traceback__)
                last = [frame for frame in frames if "packages" not in frame.filename][-1]
                text = f"bare {type(error).__name__}: {error} in {last.filename}:{last.lineno}"
                wrong = text.replace("\n", " ")
            if wrong:
                found[number] = wrong
                tell(f"{number}  {wrong}\n")
    return found, counts


def main(what, count, first=0):
    start = time.perf_counter()
    found, counts = fuzz(what, range(first, first + count), sys.stdout.write)
    sys.stdout.write("".join(f"{n:8} {kind}\n" for kind, n in sorted(counts.items())))
    seconds = time.perf_counter() - start
    sys.stdout.write(f"{len(found)} of {count} {what} from {first} are wrong, {seconds:.0f} s\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
