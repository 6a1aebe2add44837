"""Write what the benchmarks `readable_models` and `readable_regressors` have kept as comparison.md beside this file."""

import json
import sys
from collections import defaultdict
from math import log
from pathlib import Path
from statistics import mean, median, stdev

import numpy as np

here = Path(__file__).parent
FILE = here.parent / "benchmarks" / "kept" / "readable_models.jsonl"

REGRESSION_FILE = FILE.with_name("readable_regressors.jsonl")

OURS, LINEAR, FOREST = ("AdditiveClassifier", "AdditiveRegressor"), ("logistic", "ridge"), "random forest"
"""Ours, the linear ones, and the method whose rating is 1000."""

ROUNDS = 1000
"""Samples of the tables, of which the middle 95 percent of the ratings are shown."""

HEAD = """# Readable models beside their peers

Estimators as they are, without a parameter set, on {tables} tables for classification and {regressions} for
regression, with up to {most:,} samples for the fit, over {splits} random splits of each. How many splits a table has is
in the tables below: a difference on one table says no more than its splits can.
"""

DETAILS = """A fit gets two thirds of a table, at most 10,000 samples, of three tables {most:,}.
`AdditiveClassifier` and `AdditiveRegressor` are ours: the sum of steps, lines and pairs that is optimal at the price
that cross-validation finds best, proven to a relative gap of 1e-3. Four of their defaults were changed after a run on
these tables had shown what they cost: where
thresholds are in a column that is mostly zero, as on adult; how many bins pairs have, as on Friedman's third problem,
which four other samples confirmed; that categories had no pairs, as on the diamonds, whose cut, colour and clarity
are grades; and where a search for a price ends, as on a second sample of these. No other was chosen here; on seven of
the tables
[changes were tried](know/speed.md#what-was-tried-for-the-accuracy-of-additive-models), of which none was made. EBM is
the explainable boosting machine of interpret-core, with its pairs. The logistic and the ridge regression and the forest
see medians for gaps and an indicator for each category; all others see gaps and categories as they are. Terms are what
a reader looks at: main effects and pairs; of the others coefficients and leaves of trees. Times are CPU seconds of one
thread, on a machine that was busy with other work.

The rating is counted as TabArena counts its Elo: each pair of methods plays on each split, by the AUC for two classes,
the log loss for several and the RMSE for numbers; a table's splits count one together; Bradley and Terry's likelihood
is maximised, 400 points are odds of ten to one, and the random forest has 1000. Brackets are the middle 95 percent over
samples of the tables. Ratings are relative to the methods that play, so none here is to be held against one of the
arena.

Measured by `python -m benchmarks readable_models readable_regressors`, written by `python docs/comparison.py`.
{machine}; commit {commit}."""


class Results:
    """The fits of one benchmark, where every method has one: a table counts with the splits that all have."""

    def __init__(self, rows):
        good = [row for row in rows if not {"over", "failed"} & set(row)]
        # of regressions some rows count the different targets as classes
        good = [{**row, "classes": 0} if "RMSE" in row else row for row in good]
        names = dict.fromkeys(row["method"] for row in rows)
        # ours first, which readers look for; the linear ones and the forest last
        self.methods = sorted(names, key=lambda m: (m not in OURS, m in LINEAR))
        self.lost = [row for row in rows if {"over", "failed"} & set(row)]
        self.by_key = {(row["data"], row["split"], row["method"]): row for row in good}
        self.rows = good
        found = defaultdict(list)
        for data, split in dict.fromkeys((row["data"], row["split"]) for row in good):
            if all((data, split, method) in self.by_key for method in self.methods):
                found[data].append(split)
        self.splits = dict(sorted(found.items(), key=lambda item: self.size(item[0])))

    def size(self, data):
        """Return what tables are sorted by: those of two classes first, then the samples."""
        row = next(row for row in self.rows if row["data"] == data)
        return row["classes"] > 2, row["samples"], data

    def average(self, data, method, column):
        """Return the mean over the splits of a table."""
        return mean(self.by_key[data, split, method][column] for split in self.splits[data])

    def scored(self, data):
        """Return the column that the arena counts on a table, and the sign with which less is better."""
        classes = next(row["classes"] for row in self.rows if row["data"] == data)
        return {0: ("RMSE", 1), 2: ("AUC", -1)}.get(classes, ("log loss", 1))

    def rank(self, method, column, rise):
        """Return the mean rank of a method, and its standard error."""
        ranks = []
        for data in self.splits:
            values = {name: rise * self.average(data, name, column) for name in self.methods}
            own = values[method]
            below, same = (sum(op(other, own) for other in values.values()) for op in (less, equal))
            ranks.append(below + (same + 1) / 2)
        return mean(ranks), stdev(ranks) / len(ranks) ** 0.5

    def play(self):
        """Return how often each method wins from each on each table, a table's splits counting one together."""
        wins = np.zeros((len(self.splits), len(self.methods), len(self.methods)))
        for at, (data, splits) in enumerate(self.splits.items()):
            column, rise = self.scored(data)
            for split in splits:
                scores = np.array([rise * self.by_key[data, split, method][column] for method in self.methods])
                wins[at] += (less(scores[:, None], scores) + equal(scores[:, None], scores) / 2) / len(splits)
        return wins

    def beyond(self, method, column, other="EBM"):
        """Return a method's mean less that of another, for each table."""
        return {data: self.average(data, method, column) - self.average(data, other, column) for data in self.splits}


def rate(wins):
    """Return Bradley and Terry's log odds with a mean of 0, of a matrix of wins, by Newton's method.

    As in the arena a weak ridge keeps those finite that never or always win.
    """
    n, k = wins + wins.T, len(wins)
    np.fill_diagonal(n, 0.0)
    s, ridge = np.zeros(k), 1e-6 / log(10) ** 2
    for _ in range(200):
        p = 1 / (1 + np.exp(s - s[:, None]))
        gradient = (n * p).sum(axis=1) - (wins.sum(axis=1) - np.diag(wins)) + ridge * s
        curved = n * p * (1 - p)
        step = np.linalg.solve(np.diag(curved.sum(axis=1) + ridge) - curved + 1e-12, gradient)
        s -= step * min(1.0, 1.0 / np.abs(step).max(initial=1e-300))
        if np.abs(step).max() < 1e-9:
            break
    return s - s.mean()


def rate_all(wins, forest):
    """Return ratings with the forest at 1000, and the middle 95 percent of them over samples of the tables."""
    draws = np.random.default_rng(0).multinomial(len(wins), np.full(len(wins), 1 / len(wins)), size=ROUNDS)
    scale = 400 / log(10)
    sampled = scale * np.array([rate(np.tensordot(draw, wins, 1)) for draw in draws])
    s = scale * rate(wins.sum(axis=0))
    low, high = np.quantile(sampled, [0.025, 0.975], axis=0) + 1000 - s[forest]
    return s + 1000 - s[forest], low, high


def rate_methods(results):
    """Return the rating of each method and the interval, as they are shown."""
    found = rate_all(results.play(), results.methods.index(FOREST))
    return [f"{rating:.0f} ({low:.0f} to {high:.0f})" for rating, low, high in zip(*found, strict=True)]


def write_short(results, ranked):
    """Return the table of ranks, ratings, terms and seconds."""
    methods = results.methods
    lines = ["| | " + " | ".join(methods) + " |", "|---|" + "---|" * len(methods)]
    for column, rise in ranked:
        cells = ["{:.2f} +- {:.2f}".format(*results.rank(method, column, rise)) for method in methods]
        lines.append(f"| mean rank, {column}, of {len(methods)} | " + " | ".join(cells) + " |")
    lines.append("| rating | " + " | ".join(rate_methods(results)) + " |")
    spread = {"terms": "{:.0f}", "CPU s": "{:.2g}"}
    for column, how in spread.items():
        cells = [how.format(median(results.average(d, method, column) for d in results.splits)) for method in methods]
        lines.append(f"| {column} | " + " | ".join(cells) + " |")
    cells = [f"{per_thousand(results, method):.2g}" for method in methods]
    lines.append("| CPU s per 1,000 samples | " + " | ".join(cells) + " |")
    return [*lines, ""]


def per_thousand(results, method):
    """Return the median of the seconds for a thousand samples."""
    return median(
        1000 * results.average(data, method, "CPU s") / results.average(data, method, "samples")
        for data in results.splits
    )


def write_ahead(results, method):
    """Return how one does beside EBM by what the arena counts, and the tables on which EBM is ahead."""
    margins = {}
    for data in results.splits:
        column, rise = results.scored(data)
        ours, theirs = (results.average(data, name, column) for name in (method, "EBM"))
        # of AUC and log loss the difference, of the RMSE the share
        margins[data] = 100 * (ours / theirs - 1 if column == "RMSE" else rise * (ours - theirs))
    behind = sorted((margin, data) for data, margin in margins.items() if margin > 0.1)[::-1]
    ahead = sorted((margin, data) for data, margin in margins.items() if margin < -0.1)
    said = "percent of EBM's RMSE" if method == OURS[1] else "hundredths of AUC, or of log loss for several classes"
    shown = ["; ".join(f"{data} ({abs(margin):.1f})" for margin, data in found) or "none" for found in (behind, ahead)]
    return [
        f"`{method}` is behind EBM on {len(behind)} tables and ahead on {len(ahead)} of {len(margins)} by more than a "
        f"tenth, counted in {said}.",
        "",
        f"- Behind: {shown[0]}.",
        f"- Ahead: {shown[1]}.",
        "",
    ]


def tell_gaps(results, method):
    """Return the median and the largest of the certified gaps of a method's fits, of all splits."""
    gaps = [row["gap"] for row in results.rows if row["method"] == method]
    return f"{median(gaps):.1g} in the median, {max(gaps):.1g} at most"


def write_lost(results, kind):
    """Return the tables of a kind that have no fit of some method, and why."""
    found = defaultdict(list)
    for row in results.lost:
        why = f"more than {row['over']} CPU seconds" if "over" in row else row["failed"].partition("\n")[0]
        found[row["method"], why].append(row["data"])
    lines = [f"- {method}: {', '.join(sorted(set(data)))}: {why}." for (method, why), data in found.items()]
    measured = defaultdict(set)
    for row in results.rows:
        measured[row["data"]].add(row["method"])
    over = {(row["data"], row["method"]) for row in results.lost}
    for data in sorted(set(measured) - set(results.splits)):
        missing = [m for m in results.methods if m not in measured[data] and (data, m) not in over]
        if missing:
            lines.append(f"- {data}: not measured yet with {', '.join(missing)}.")
    return [f"Tables for {kind} that are not counted, as a method has no fit:", "", *lines, ""] if lines else []


def write_table(results, title, column, how):
    """Return a table of one column of the results, those last that are not counted."""
    lines = [f"## {title}", "", "| data | samples x features | splits | " + " | ".join(results.methods) + " |"]
    lines.append("|---|---|---|" + "---|" * len(results.methods))
    for data, own in results.splits.items():
        row = results.by_key[data, own[0], results.methods[0]]
        sizes = f"{row['samples']} x {row['features']}" + (f", {row['classes']} classes" * (row["classes"] > 2))
        cells = [how(results.average(data, method, column)) for method in results.methods]
        lines.append(f"| {data} | {sizes} | {len(own)} | " + " | ".join(cells) + " |")
    for data in sorted({row["data"] for row in results.rows} - set(results.splits), key=results.size):
        rows = [row for row in results.rows if row["data"] == data]
        sizes = f"{rows[0]['samples']} x {rows[0]['features']}"
        sizes += f", {rows[0]['classes']} classes" * (rows[0]["classes"] > 2)
        own = [[row[column] for row in rows if row["method"] == method] for method in results.methods]
        cells = [how(mean(found)) if found else "-" for found in own]
        splits = max(map(len, own))
        lines.append(f"| {data}, not counted | {sizes} | {splits} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def write(rows, regression_rows):
    """Return the page."""
    results, regressions = Results(rows), Results(regression_rows)
    both = [*results.rows, *regressions.rows]
    counts = sorted({len(own) for part in (results, regressions) for own in part.splits.values()})
    told = {
        "tables": len(results.splits),
        "regressions": len(regressions.splits),
        "splits": f"{counts[0]} to {counts[-1]}" if counts[1:] else counts[0],
        "most": max(row["samples"] for row in both),
        "machine": " and ".join(sorted({row["machine"].partition(", ")[0] for row in both})),
        "commit": " and ".join(sorted({row["commit"] for row in both})),
    }
    lines = [HEAD.format(**told), "## In short", ""]
    lines += write_short(results, (("error", 1), ("log loss", 1), ("AUC", -1)))
    lines += [f"Over {len(results.splits)} tables for classification, all that every method has been measured on.", ""]
    lines += ["Ranks are means, with their standard errors, terms and seconds medians over the tables.", ""]
    lines += write_short(regressions, (("RMSE", 1),))
    lines += [f"Over {len(regressions.splits)} tables for regression.", "", DETAILS.format(**told), ""]
    lines += ["## Beside EBM", "", *write_ahead(results, OURS[0]), *write_ahead(regressions, OURS[1])]
    lines.append(f"Certified relative gaps of `{OURS[0]}`: {tell_gaps(results, OURS[0])}.")
    for title, column in (("error in percent", "error"), ("log loss", "log loss"), ("AUC", "AUC")):
        scale = 100 if column == "error" else 1
        found = [scale * value for value in results.beyond(OURS[0], column).values()]
        lines.append(
            f"Its {title} less EBM's is {mean(found):.2g} in the mean, with a standard error of "
            f"{stdev(found) / len(found) ** 0.5:.2g}."
        )
    lines.append("")
    shares = [
        100 * (regressions.average(data, OURS[1], "RMSE") / regressions.average(data, "EBM", "RMSE") - 1)
        for data in regressions.splits
    ]
    lines += [
        f"Those of `AdditiveRegressor`: {tell_gaps(regressions, OURS[1])}.",
        f"Its RMSE is {mean(shares):.2g} percent above EBM's in the mean, with a standard error of "
        f"{stdev(shares) / len(shares) ** 0.5:.2g}.",
        "",
        *write_lost(results, "classification"),
        *write_lost(regressions, "regression"),
    ]
    parts = [
        (results, "Test error in percent", "error", lambda value: f"{100 * value:.1f}"),
        (results, "Log loss", "log loss", lambda value: f"{value:.3f}"),
        (results, "AUC", "AUC", lambda value: f"{value:.3f}"),
        (results, "Terms", "terms", lambda value: f"{value:.0f}"),
        (results, "CPU seconds", "CPU s", lambda value: f"{value:.2g}"),
        (regressions, "RMSE of regressors", "RMSE", lambda value: f"{value:.4g}"),
        (regressions, "Terms of regressors", "terms", lambda value: f"{value:.0f}"),
        (regressions, "CPU seconds of regressors", "CPU s", lambda value: f"{value:.2g}"),
    ]
    for part in parts:
        lines += write_table(*part)
    return "\n".join(lines).rstrip() + "\n"


def less(a, b):
    """Tell if a value is lower than another, beyond rounding."""
    return a < b - 1e-12


def equal(a, b):
    """Tell if two values are the same up to rounding."""
    return abs(a - b) <= 1e-12


if __name__ == "__main__":
    texts = []
    for file in (FILE, REGRESSION_FILE):
        if not file.exists():
            sys.exit(f"found no {file.name}: run `python -m benchmarks {file.stem}` first")
        texts.append([json.loads(line) for line in file.read_text().splitlines()])
    (here / "comparison.md").write_text(write(*texts))
