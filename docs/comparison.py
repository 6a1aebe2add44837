"""Write what `python -m benchmarks readable_models` has kept as comparison.md beside this file."""

import json
import sys
from collections import defaultdict
from math import isfinite
from pathlib import Path
from statistics import mean, median, stdev

here = Path(__file__).parent
FILE = here.parent / ".benchmarks" / "readable_models.jsonl"

REGRESSION_FILE = FILE.with_name("readable_regressors.jsonl")

OURS, MEAN = "AdditiveClassifier", "PriceSearchCV(AdditiveClassifier(), average=True)"
"""Our default, and the mean of the ensembles at all good prices."""

REGRESSORS = """`AdditiveRegressor` as it is, for squared errors, on Friedman's three problems (400 samples with his
noise, 2,000 to test on) and the diabetes data; measured by `python -m benchmarks readable_regressors`. Cells have the
share of the variance that is explained, terms and CPU seconds; a fit that is not there has not been measured."""

HEAD = """# Readable models beside their peers

Classifiers as they are, without a parameter set, on data sets of numbers with at most {most} samples for the fit, over
{splits} of each: too few to tell methods apart that are close.
"""

DETAILS = """A fit gets two thirds of a set. `AdditiveClassifier` is ours: the sum of steps, lines and pairs that is
optimal at the price that its cross-validation finds best, proven to a relative gap of 1e-3; with
`average=True` the mean of those at all prices that are about as good. On 19 other tables, where some
twenty ways to average were tried, this one erred least often, on 0.26 +- 0.10 percent of the samples
less than the one optimum, with a quarter more terms; that the one optimum is the default is for its
proof and its fewer terms. EBM is the explainable boosting machine of interpret-core, with its pairs.
Terms are what a reader looks at: main effects and pairs; of the others coefficients, leaves of trees
and support vectors. Times are CPU seconds of one thread, on a machine that was busy with other work.

Measured by `python -m benchmarks readable_models`, and written by `python docs/comparison.py`.
{machine}; commit {commit}."""


def write(rows):
    """Return the page."""
    # ours first, which readers look for
    methods = sorted(dict.fromkeys(row["method"] for row in rows), key=lambda name: (name != OURS, name != MEAN))
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
    told = {
        "splits": " or ".join("one random split" if count == 1 else f"{count}" for count in counts),
        "most": max(row["samples"] for row in rows),
        "machine": " and ".join(sorted({row["machine"].partition(", ")[0] for row in rows})),
        "commit": " and ".join(sorted({row["commit"] for row in ours})),
    }
    lines = [
        HEAD.format(**told),
        "## In short",
        "",
        "| | " + " | ".join(methods) + " |",
        "|---|" + "---|" * len(methods),
    ]
    for title, column, rise in (("error", "error", 1), ("log loss", "log loss", 1), ("AUC", "AUC", -1)):
        shown = [method for method in methods if all(isfinite(average(data, method, column)) for data in splits)]
        ranks = {method: [] for method in shown}
        for data in splits:
            values = {method: rise * average(data, method, column) for method in shown}
            for method, value in values.items():
                # our two are ranked one at a time, beside all others
                left_out = OURS if method == MEAN else MEAN
                rivals = [other for name, other in values.items() if name != left_out]
                below, same = (sum(op(other, value) for other in rivals) for op in (less, equal))
                ranks[method].append(below + (same + 1) / 2)
        cells = [f"{mean(ranks[method]):.2f}" if method in ranks else "" for method in methods]
        lines.append(f"| mean rank, {title}, of {len(set(shown) - {MEAN})} | " + " | ".join(cells) + " |")
    for title, column, how in (("terms", "terms", "{:.0f}"), ("CPU s", "CPU s", "{:.2g}")):
        cells = [how.format(mean(average(data, method, column) for data in splits)) for method in methods]
        lines.append(f"| mean {title} | " + " | ".join(cells) + " |")
    lines += ["", f"Over {len(splits)} data sets, all that every method has been measured on.", ""]
    lines += ["In ranks our two stand one at a time beside all others.", "", DETAILS.format(**told), ""]
    for method in (OURS, MEAN):
        gaps = [row["gap"] for row in ours if row["method"] == method]
        if gaps:
            lines += [
                f"Certified relative gaps of `{method}`: {median(gaps):.1g} in the median, {max(gaps):.1g} at most."
            ]
        for title, column in (("error in percent", "error"), ("log loss", "log loss")):
            scale = 100 if column == "error" else 1
            beyond = [scale * (average(data, method, column) - average(data, "EBM", column)) for data in splits]
            spread = stdev(beyond) / len(beyond) ** 0.5
            lines.append(
                f"Its {title} less EBM's is {mean(beyond):.2g} in the mean, with a standard error of {spread:.2g}."
            )
        lines.append("")
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


def write_regressors(rows):
    """Return the section on regressors."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    by_key = {(row["data"], row["split"], row["method"]): row for row in rows}
    lines = ["", "## Regressors", "", REGRESSORS, ""]
    lines += ["| data | split | " + " | ".join(methods) + " |", "|---|---|" + "---|" * len(methods)]
    for data, split in sorted(dict.fromkeys((row["data"], row["split"]) for row in rows)):
        found = [by_key.get((data, split, method)) for method in methods]
        cells = [f"{row['R2']:.3f}, {row['terms']}, {row['CPU s']:.2g}" if row else "" for row in found]
        lines.append(f"| {data} | {split} | " + " | ".join(cells) + " |")
    gaps = [row["gap"] for row in rows if isfinite(row["gap"])]
    return "\n".join([*lines, "", f"The largest certified relative gap of ours is {max(gaps):.1g}."]) + "\n"


def less(a, b):
    """Tell if a value is lower than another, beyond rounding."""
    return a < b - 1e-12


def equal(a, b):
    """Tell if two values are the same up to rounding."""
    return abs(a - b) <= 1e-12


if __name__ == "__main__":
    if not FILE.exists():
        sys.exit(f"found no {FILE.name}: run `python -m benchmarks readable_models` first")
    text = write([json.loads(line) for line in FILE.read_text().splitlines()])
    if REGRESSION_FILE.exists():
        text += write_regressors([json.loads(line) for line in REGRESSION_FILE.read_text().splitlines()])
    (here / "comparison.md").write_text(text)
