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


FAULTS = {
    ("proofs/checker.py", "proofs/test_proofs.py"): [
        ("0 < place < len(X)", "0 <= place < len(X)"),
        ("require(not intercept or sum(s) == 0", "require(not intercept or abs(sum(s)) <= 1"),
        ("require(target not in named[1:]", "require(True or target not in named[1:]"),
        ('strict=True))) == len(features), "two', 'strict=True))) <= len(features), "two'),
        ("require(unused in (None,", "require(True or unused in (None,"),
        ("len(pairs) == len(cells) and ", ""),
        ("[1-9][0-9]*", "[0-9]+"),
        ("require(len(dict(pairs)) == len(pairs)", "require(len(dict(pairs)) <= len(pairs)"),
        ("len(row) == len(names) for row", "len(row) >= len(names) for row"),
        ("summed = size == d or (weights and size < d", "summed = size == d or (weights and size > d"),
    ],
    ("colgen/near_optimal.py", "colgen/test_bands.py"): [
        ("largest = max(largest, bound + plus + lost)", "largest = max(largest, bound + plus)"),
        ("size / (abs(level) or 1.0)", "size / abs(level)"),
    ],
    ("colgen/paths.py", "colgen/test_paths.py"): [
        (
            "reached = np.min([knot.line(given) + knot.line.rounding for knot in knots], axis=0)",
            "reached = np.min([knot.line(given) - 10 * knot.line.rounding for knot in knots], axis=0)",
        )
    ],
    ("problems/losses.py", "problems/test_check_formulation.py"): [("- 1) <= 1e-9", "- 1) <= 10")],
    ("problems/problem.py", "problems/test_derived_multipliers.py"): [("if not kinked or", "if True or")],
    ("certificates.py", "estimators/test_margins_near_0.py"): [
        ("relative(gap, primal, dual, size)", "relative(gap, primal, dual)")
    ],
    ("estimators/classifiers.py", "estimators/test_margins_near_0.py"): [
        ("np.argmax(right))) > 0", "np.argmax(right))) > 9")
    ],
    ("problems/soundness.py", "problems/test_check_formulation.py"): [
        ("(shares[0] * slopes, shares[1] * larger)", "(shares[0] * slopes,)")
    ],
    ("colgen/oracles/levels.py", "colgen/test_gaps_and_levels.py", "estimators/test_nominal_columns.py"): [
        ("[1 << k for k in range(n_groups)]", "(1 << np.arange(n_groups)).tolist()")
    ],
    ("estimators/explanations.py", "estimators/test_rules_of_predictors.py"): [
        ("votes[other] = votes[other] - moved", "votes[other] = votes[other] + moved"),
        ("votes[()] = votes.get((), 0.0) + moved", "votes[()] = moved"),
        ("(holds[side] ^ holds[each]).all()", "(holds[side] | holds[each]).all()"),
    ],
    ("report/__init__.py", "report/test_report_content.py"): [
        ("self.given if self.unseen is None else self.unseen", "self.given")
    ],
    ("tables/numerals.py", "datasets/test_data_files.py"): [("len(units) != 1 or not decimals", "len(units) != 1")],
    ("dask/additive.py", "dask/test_dask_additive.py"): [
        ("near, 0, at.round(shard, loss.multipliers(z))", "near, at.round(shard, loss.multipliers(z)), 0"),
        ("u[numbers] = given", "pass"),
    ],
    ("dask/additive.py", "dask/test_dask_additive.py", "solvers/test_additive_svm.py"): [
        ("(f + self.others.f) / 2", "f / 2")
    ],
    ("solvers/additive.py", "dask/test_dask_additive.py", "solvers/test_additive_svm.py"): [
        ("(state.f - others.f)[moving]", "state.f[moving]")
    ],
    ("dask/shards.py", "dask/test_dask_input.py"): [("if len(given) != values.shape[1]:", "if False:")],
    ("colgen/masters/linear_masters.py", "colgen/test_highs_live.py"): [
        ("scale = -self.exponent if", "scale = self.exponent if")
    ],
    ("problems/linear_dual.py", "problems/test_linear_dual.py", "colgen/test_side_masters.py"): [
        ("np.append(gains, -scale * self.limits / unit)", "np.append(gains, scale * self.limits / unit)")
    ],
    ("problems/sides.py", "colgen/test_side_masters.py"): [("-pi * self.limits)", "-0.5 * pi * self.limits)")],
    ("problems/conic.py", "problems/test_conic.py"): [
        ("bound - moved, v, moved", "bound + moved, v, moved"),
        ("return chosen if exact else None", "return chosen"),
    ],
    ("problems/verified.py", "problems/test_verified.py"): [
        ("(left > rounding)", "(left > -1.0)"),
        ("lost = sparse", "lost = 0.0 * sparse"),
        (" + 2 * sparse.csc_array(errors.T)", ""),
        ("(1 + self.relative) * (abs(self.inverses) @ missed)", "abs(self.inverses @ missed)"),
    ],
    ("problems/cones.py", "problems/test_conic.py"): [(" >= of_cone)", " >= 0 * of_cone)")],
    ("problems/problem.py", "problems/test_conic.py"): [("off = loss.displacement(shrunk)", "off = 0.0")],
    ("problems/constraints.py", "colgen/test_formulation_constraints.py", "colgen/test_constraints_in_any_units.py"): [
        ("HELD = 1e-12", "HELD = 1e-6")
    ],
    ("problems/conic.py", "colgen/test_constraints_in_any_units.py", "colgen/test_own_units.py"): [
        ("4 * np.rint(", "0 * np.rint(")
    ],
    ("problems/penalties.py", "colgen/test_constraints_in_any_units.py"): [
        ("max(largest - 1.0, lowest), 1.0", "lowest, 1.0")
    ],
    ("certificates.py", "certificates/test_certificate.py", "certificates/test_certify.py"): [
        ("proven = proven and finite and gap >= 0 and not condition", "proven = proven and finite and gap >= 0")
    ],
}
"""By a file of the package and the files of tests of which one has to fail: texts, and what they become."""

MUTANTS = [
    Mutant(f"cvxens/{file}", text, becomes, tuple(f"tests/{name}" for name in tests))
    for (file, *tests), faults in FAULTS.items()
    for text, becomes in faults
]


def passes(tests, root, seconds=SECONDS):
    """True if all of some test files pass in a copy of the package; tests that hang do not."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(root), "CI": "true"}
    options = {"cwd": root, "env": environment, "timeout": seconds}
    try:
        ended = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    except subprocess.TimeoutExpired:
        return False
    # 1: tests failed; else they have not run
    assert ended.returncode in {0, 1}, f"{tests}\n{ended.stdout}\n{ended.stderr}"
    return ended.returncode == 0


def is_killed(mutant, root):
    """True if a mutant's tests fail in a copy of the package, which is as before afterwards."""
    path, before = mutant.apply(root)
    try:
        return not passes(mutant.tests, root)
    finally:
        path.write_text(before)


def run_all(mutants, jobs):
    """Yield mutants with whether each was killed, of as many at a time as there are copies."""
    with TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        copies = [Path(scratch, str(k)) for k in range(jobs)]
        for copy in copies:
            copy.mkdir()
            for name in COPIED:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, copy / name, ignore=IGNORED)
                else:
                    shutil.copy(ROOT / name, copy)

        def run_share(k):
            if not (share := mutants[k::jobs]):
                return []
            # what fails by itself finds nothing
            files = sorted({name for each in share for name in each.tests})
            assert passes(files, copies[k], SECONDS * len(files)), f"some of {files} fail without a mutant"
            return [(each, is_killed(each, copies[k])) for each in share]

        for share in pool.map(run_share, range(jobs)):
            yield from share


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
