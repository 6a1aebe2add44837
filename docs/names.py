"""Write what `cvxens list` prints into its file, from what the rooms export: `python docs/names.py`.

Sources of functions, which have no attributes, stand in the file itself, and stay.
"""

import csv
from inspect import getdoc, isfunction

from cvxens import estimators, kernels, solvers
from cvxens.cli.reports import FILE, read_names
from cvxens.colgen import masters, oracles
from cvxens.problems import FORMULATIONS
from cvxens.solvers import additive


def write():
    """Write every group to the file, a line for each name."""
    rows = [(title, *entry) for title, entries in describe_rooms().items() for entry in entries]
    with FILE.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
        writer.writerow(("group", "name", "what it is", "source"))
        writer.writerows(rows)


def describe_rooms():
    """Return every group as the rooms say it themselves."""
    kept = {name: source for entries in read_names().values() for name, _, source in entries}
    return {
        "Estimators (cvxens)": describe(estimators),
        "Formulations (cvxens.problems)": [(each.__name__, each.equation, each.source) for each in FORMULATIONS],
        "Kernels (cvxens.kernels)": describe(kernels),
        "Oracles (cvxens.colgen.oracles)": describe(oracles),
        "Masters (cvxens.colgen.masters)": describe(masters),
        "Solvers (cvxens.solvers)": describe(solvers, kept),
        "Solvers (cvxens.solvers.additive)": describe(additive, kept),
    }


def describe(room, kept=None):
    """Return name, first sentence and source of the things of a room that have one, or of functions, with sources."""
    things = {name: vars(room)[name] for name in room.__all__}
    if kept is None:
        sources = {name: thing.source for name, thing in things.items() if hasattr(thing, "source")}
    else:
        sources = {name: kept.get(name, "") for name, thing in things.items() if isfunction(thing)}
    summaries = {name: str(getdoc(things[name])).partition("\n\n")[0] for name in sources}
    return [(name, " ".join(summaries[name].split()), source) for name, source in sources.items()]


if __name__ == "__main__":
    write()
