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


MUTANTS = [
    Mutant("cvxens/proofs/checker.py", "0 < place < len(X)", "0 <= place < len(X)", ("tests/proofs/test_proofs.py",)),
    Mutant(
        "cvxens/proofs/checker.py",
        "require(not intercept or sum(s) == 0",
        "require(not intercept or abs(sum(s)) <= 1",
        ("tests/proofs/test_proofs.py",),
    ),
    Mutant(
        "cvxens/proofs/checker.py",
        "require(target not in named[1:]",
        "require(True or target not in named[1:]",
        ("tests/proofs/test_proofs.py",),
    ),
    Mutant(
        "cvxens/proofs/checker.py",
        'strict=True))) == len(features), "two',
        'strict=True))) <= len(features), "two',
        ("tests/proofs/test_proofs.py",),
    ),
    Mutant(
        "cvxens/proofs/checker.py",
        "require(unused in (None,",
        "require(True or unused in (None,",
        ("tests/proofs/test_proofs.py",),
    ),
    Mutant("cvxens/proofs/checker.py", "len(pairs) == len(cells) and ", "", ("tests/proofs/test_proofs.py",)),
    Mutant("cvxens/proofs/checker.py", "[1-9][0-9]*", "[0-9]+", ("tests/proofs/test_proofs.py",)),
    Mutant(
        "cvxens/proofs/checker.py",
        "require(len(dict(pairs)) == len(pairs)",
        "require(len(dict(pairs)) <= len(pairs)",
        ("tests/proofs/test_proofs.py",),
    ),
    Mutant(
        "cvxens/proofs/checker.py",
        "len(row) == len(names) for row",
        "len(row) >= len(names) for row",
        ("tests/proofs/test_proofs.py",),
    ),
    Mutant(
        "cvxens/proofs/checker.py",
        "summed = size == d or (weights and size < d",
        "summed = size == d or (weights and size > d",
        ("tests/proofs/test_proofs.py",),
    ),
    Mutant(
        "cvxens/colgen/bands.py",
        "largest = max(largest, bound + plus + lost)",
        "largest = max(largest, bound + plus)",
        ("tests/colgen/test_bands.py",),
    ),
    Mutant(
        "cvxens/colgen/bands.py",
        "self.size / (abs(self.level) or 1.0)",
        "self.size / abs(self.level)",
        ("tests/colgen/test_bands.py",),
    ),
    Mutant(
        "cvxens/colgen/paths.py",
        "reached = np.min([knot.line(given) + knot.line.rounding for knot in knots], axis=0)",
        "reached = np.min([knot.line(given) - 10 * knot.line.rounding for knot in knots], axis=0)",
        ("tests/colgen/test_paths.py",),
    ),
    Mutant("cvxens/problems/losses.py", "<= SUMMED", "<= 10", ("tests/problems/test_check_formulation.py",)),
    Mutant(
        "cvxens/problems/problem.py", "if not kinked or", "if True or", ("tests/problems/test_derived_multipliers.py",)
    ),
    Mutant(
        "cvxens/certificates.py",
        "relative(gap, primal, dual, size)",
        "relative(gap, primal, dual)",
        ("tests/estimators/test_margins_near_0.py",),
    ),
    Mutant(
        "cvxens/estimators/classifiers.py",
        "np.argmax(right))) > 0",
        "np.argmax(right))) > 9",
        ("tests/estimators/test_margins_near_0.py",),
    ),
    Mutant(
        "cvxens/problems/soundness.py",
        "(shares[0] * slopes, shares[1] * larger)",
        "(shares[0] * slopes,)",
        ("tests/problems/test_check_formulation.py",),
    ),
    Mutant(
        "cvxens/colgen/oracles/levels.py",
        "[1 << k for k in range(n_groups)]",
        "(1 << np.arange(n_groups)).tolist()",
        (
            "tests/colgen/test_gaps_and_levels.py",
            "tests/estimators/test_nominal_columns.py",
        ),
    ),
    Mutant(
        "cvxens/estimators/rules.py",
        "votes[other] = votes[other] - moved",
        "votes[other] = votes[other] + moved",
        ("tests/estimators/test_rules_of_predictors.py",),
    ),
    Mutant(
        "cvxens/estimators/rules.py",
        "votes[()] = votes.get((), 0.0) + moved",
        "votes[()] = moved",
        ("tests/estimators/test_rules_of_predictors.py",),
    ),
    Mutant(
        "cvxens/estimators/rules.py",
        "(holds[side] ^ holds[each]).all()",
        "(holds[side] | holds[each]).all()",
        ("tests/estimators/test_rules_of_predictors.py",),
    ),
    Mutant(
        "cvxens/report/content.py",
        "of = given if unseen is None else unseen",
        "of = given",
        ("tests/report/test_report_content.py",),
    ),
    Mutant(
        "cvxens/tables/numerals.py",
        "len(units) != 1 or not decimals",
        "len(units) != 1",
        ("tests/datasets/test_foreign_tables.py",),
    ),
    Mutant(
        "cvxens/dask/additive.py",
        "near, 0, at.signed(shard, u)",
        "near, at.signed(shard, u), 0",
        ("tests/dask/test_dask_additive.py",),
    ),
    Mutant(
        "cvxens/dask/additive.py",
        "(f + self.others.f) / 2",
        "f / 2",
        (
            "tests/dask/test_dask_additive.py",
            "tests/solvers/test_additive_svm.py",
        ),
    ),
    Mutant("cvxens/dask/additive.py", "u[numbers] = given", "pass", ("tests/dask/test_dask_additive.py",)),
    Mutant(
        "cvxens/solvers/additive.py",
        "(state.f - others.f)[moving]",
        "state.f[moving]",
        (
            "tests/dask/test_dask_additive.py",
            "tests/solvers/test_additive_svm.py",
        ),
    ),
    Mutant("cvxens/dask/shards.py", "if len(given) != n_rows:", "if False:", ("tests/dask/test_dask_input.py",)),
    Mutant(
        "cvxens/solvers/svr.py",
        "if ending in {Ending.MAX_TIME",
        "if ending in {Ending.OPTIMAL",
        ("tests/estimators/test_deadlines.py",),
    ),
    Mutant(
        "cvxens/colgen/masters/linear_masters.py",
        "scale = -self.exponent if",
        "scale = self.exponent if",
        ("tests/colgen/test_highs_live.py",),
    ),
    Mutant(
        "cvxens/problems/linear_dual.py",
        "np.append(gains, -scale * self.limits / unit)",
        "np.append(gains, scale * self.limits / unit)",
        (
            "tests/problems/test_linear_dual.py",
            "tests/colgen/test_side_masters.py",
        ),
    ),
]


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
