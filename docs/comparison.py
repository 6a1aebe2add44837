"""Write what `python -m benchmarks readable_models` has kept as comparison.md beside this file."""

import json
import sys
from collections import defaultdict
from math import isfinite
from pathlib import Path
from statistics import mean

here = Path(__file__).parent
FILE = here.parent / ".benchmarks" / "readable_models.jsonl"

HEAD = """# Readable models beside their peers

Classifiers as they are, without a parameter set, on data sets of numbers, over {splits} of each: a fit gets
two thirds of a set, at most {most} samples. `AdditiveClassifier` is ours: proven, to a relative gap of 1e-3,
to be optimal among all sums of steps, lines and pairs at the price that its cross-validation chose. EBM is
the explainable boosting machine of interpret-core, with its pairs. Terms are what a reader looks at: main
effects and pairs; of the others coefficients, leaves of trees and support vectors. Times are CPU seconds of
one thread, on a machine that was busy with other work.

Measured by `python -m benchmarks readable_models`, and written by `python docs/comparison.py`.
{machine}; commit {commit}.
"""


def write(rows):
    """Return the page."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    by_key = {(row["data"], row["split"], row["method"]): row for row in rows}
    parts = dict.fromkeys((row["data"], row["split"]) for row in rows)
    whole = [part for part in parts if all((*part, method) in by_key for method in methods)]
    splits = defaultdict(list)
    for data, split in whole:
        splits[data].append(split)

    def average(data, method, column):
        found = [by_key[data, split, method][column] for split in splits[data]]
        return mean(found) if all(map(isfinite, found)) else float("nan")

    counts = sorted({len(own) for own in splits.values()})
    ours = [row for row in rows if isfinite(row["gap"])]
    text = HEAD.format(
        splits=" or ".join("one random split" if count == 1 else f"{count}" for count in counts),
        most=max(row["samples"] for row in rows),
        machine=" and ".join(sorted({row["machine"].partition(", ")[0] for row in rows})),
        commit=" and ".join(sorted({row["commit"] for row in ours})),
    )
    lines = [text, "## In short", "", "| | " + " | ".join(methods) + " |", "|---|" + "---|" * len(methods)]
    for title, column, rise in (("error", "error", 1), ("log loss", "log loss", 1), ("AUC", "AUC", -1)):
        shown = [method for method in methods if all(isfinite(average(data, method, column)) for data in splits)]
        ranks = {method: [] for method in shown}
        for data in splits:
            values = {method: rise * average(data, method, column) for method in shown}
            for method, value in values.items():
                below, same = (sum(op(other, value) for other in values.values()) for op in (less, equal))
                ranks[method].append(below + (same + 1) / 2)
        cells = [f"{mean(ranks[method]):.2f}" if method in ranks else "" for method in methods]
        lines.append(f"| mean rank, {title}, of {len(shown)} | " + " | ".join(cells) + " |")
    for title, column, how in (("terms", "terms", "{:.0f}"), ("CPU s", "CPU s", "{:.2g}")):
        cells = [how.format(mean(average(data, method, column) for data in splits)) for method in methods]
        lines.append(f"| mean {title} | " + " | ".join(cells) + " |")
    lines += ["", f"Over {len(splits)} data sets, all that every method has been measured on.", ""]
    if ours:
        lines += [f"The largest certified relative gap of ours is {max(row['gap'] for row in ours):.1g}.", ""]
    for title, column, how in (
        ("Test error in percent", "error", lambda value: f"{100 * value:.1f}"),
        ("Log loss", "log loss", lambda value: f"{value:.3f}" if isfinite(value) else ""),
        ("Terms", "terms", lambda value: f"{value:.0f}"),
        ("CPU seconds", "CPU s", lambda value: f"{value:.2g}"),
    ):
        lines += [f"## {title}", "", "| data | samples x features | splits | " + " | ".join(methods) + " |"]
        lines.append("|---|---|---|" + "---|" * len(methods))
        for data, own in splits.items():
            row = by_key[data, own[0], methods[0]]
            cells = [how(average(data, method, column)) for method in methods]
            sizes = f"{row['samples']} x {row['features']}"
            lines.append(f"| {data} | {sizes} | {len(own)} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def less(a, b):
    """Tell if a value is lower than another, beyond rounding."""
    return a < b - 1e-12


def equal(a, b):
    """Tell if two values are the same up to rounding."""
    return abs(a - b) <= 1e-12


if __name__ == "__main__":
    if not FILE.exists():
        sys.exit(f"found no {FILE.name}: run `python -m benchmarks readable_models` first")
    (here / "comparison.md").write_text(write([json.loads(line) for line in FILE.read_text().splitlines()]))
