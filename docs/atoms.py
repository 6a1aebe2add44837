"""Write which cvxpy expressions are proven, how, and in what time, as know/atoms.md: `python docs/atoms.py`.

Seconds are those that `python -m benchmarks atoms --json docs/atoms.json` wrote beside this file.
"""

import json
import sys
import warnings
from pathlib import Path

from threadpoolctl import threadpool_limits

here = Path(__file__).parent
sys.path.insert(0, str(here.parent))

from benchmarks import atoms  # noqa: E402
from cvxens.colgen import masters  # noqa: E402
from cvxens.datasets import make_threenorm  # noqa: E402
from cvxens.errors import SolverFallbackWarning  # noqa: E402
from cvxens.problems.losses import Hinge  # noqa: E402
from cvxens.problems.penalties import StructuredExpression  # noqa: E402
from cvxens.problems.sides import SideLoss  # noqa: E402
from cvxens.problems.sums import ReadCVaR, ReadHinges  # noqa: E402

TOL = 1e-2

HEAD = """# Expressions: what is proven, and how fast

Losses of margins `z`, scores `f` or several scores `F`, penalties of weights `w` or `W`, and constraints, as cvxpy's
expressions. `python docs/atoms.py` solves every row over all stumps of {n:,} samples to a relative gap of {tol:g} and
writes whether the bound is proven, what was read off the expression, which master solves it, and what the certificate
names as its ground. Losses stand beside the l1 norm, penalties beside the logistic loss (those of several outputs
beside squared errors), constraints beside hinges. Other letters are constants:
{data}; `eta` is a variable.

- **hinges**, **worst hinges**: kinks, prices and knots are read off the conic form; bounds are the library's own.
- **smooth sum**: one smooth function of every sample, with prices and targets of its own; slopes, curvatures and
  bounds are from a table of its conjugate.
- **conic**: the loss stays a conic program, solved in every round; multipliers are repaired and checked.
- **sides**: rows of linear constraints beside such a loss, or bounds on its hinges, each with a multiplier.
- Of a penalty, **conjugate** is one that is derived from the tree of the expression; a name is that of a known class.
- **but for sizes**: proven for variables of the loss up to ten times as large as those that were found.

Seconds are of the processor, for threenorm with 20 features to a certified gap of {gap:g}, by
`python -m benchmarks atoms` ({machine}; {when}). "More than {limit:.0f} s" is what was stopped there, or would take so
long in proportion to the samples of the size before; an empty cell has not been measured. What has no bound ran until
no hypothesis would improve it.

| expression | proven | read as | master | ground | {sizes} |
|---|---|---|---|---|{rules}|
"""


def describe(atom, X, y):
    """Return the cells of an expression but for its seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SolverFallbackWarning)
        run = atom.solve(X, y, TOL)
    certificate, (formulation, _, signs) = run.certificate, run.origin
    loss, penalty = formulation.read(signs).terms
    inner = loss.loss if isinstance(loss, SideLoss) else loss
    kinds = {ReadHinges: "hinges", Hinge: "hinges", ReadCVaR: "worst hinges"}
    road = kinds.get(type(inner), "conic" if inner.curvature is None else "smooth sum")
    road = f"sides of {road}" if isinstance(loss, SideLoss) else road
    if atom.kind == "penalty":
        road = "conjugate" if isinstance(penalty, StructuredExpression) else type(penalty).__name__
        road = road if formulation.has_conjugate else "nothing"
    proven = "yes" if certificate.proven else "but for sizes" if certificate.condition else "no"
    master = type(masters.fastest_master(formulation, signs)).__name__.removesuffix("Master")
    return atom.text, proven, road, master, certificate.note.removeprefix("over every hypothesis of the oracle, ")


def describe_all(some=slice(None)):
    """Return the cells of some expressions, each solved on a small sample."""
    X, y = make_threenorm(1_000, random_state=0)
    with threadpool_limits(1):
        return [describe(atom, X[:, :2].round(), y) for atom in atoms.ATOMS[some]]


def write(records, found):
    """Return the page, with the seconds of records of the benchmark, of which later ones may be of some sizes alone."""
    rows = []
    for text, *cells in found:
        seconds = {
            row["n"]: row["seconds"] for record in records for row in record["rows"] if row["expression"] == text
        }
        times = write_times(seconds, atoms.SIZES, atoms.SECONDS)
        rows.append(" | ".join([f"| `{text}`", *cells, *times]) + " |")
    head = HEAD.format(
        n=1_000,
        tol=TOL,
        gap=atoms.TOL,
        data=" ".join((atoms.make_data.__doc__ or "").split("They are ")[1].split()).rstrip("."),
        machine=records[0]["machine"],
        when=records[0]["when"],
        limit=atoms.SECONDS,
        sizes=" | ".join(f"{n:,}" for n in atoms.SIZES),
        rules="|".join(["---"] * len(atoms.SIZES)),
    )
    return head + "\n".join(rows) + "\n"


def write_times(seconds, sizes, limit):
    """Write the seconds of every size with two digits, or in words where they are, or would be, above the limit."""
    words, expected = [], 0.0
    for k, n in enumerate(sizes):
        expected = seconds.get(n, expected * n / sizes[max(k - 1, 0)])
        if n not in seconds and expected <= limit:
            # not measured, and so nothing is known of larger ones
            expected = 0.0
        digits = "" if expected == 0 else f"{expected:.2g}" if expected < 10 else f"{expected:.0f}"
        words.append(f"more than {limit:.0f} s" if expected > limit else digits)
    return words


if __name__ == "__main__":
    records = json.loads((here / "atoms.json").read_text())
    (here / "know" / "atoms.md").write_text(write(records, describe_all()))
