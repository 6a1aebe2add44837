"""What the papers say of their figures and tables in words, and what our trials say to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from scipy.ndimage import label

from reproduction.experiment import Trial
from reproduction.published import read_published

Trials = Mapping[tuple[str, str], Sequence[Trial]]
"""By row and column."""


FEWEST = 5
"""Points of a figure from which on they say something."""


@dataclass(frozen=True)
class Finding:
    """What trials say to a claim."""

    holds: bool
    words: str  # the numbers that it is decided by


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper on one of its tables or figures, and how numbers decide it.

    Examples
    --------
    >>> claim = Claim("paper", "table", "A is usually better than B.", partial(compare, first="A", second="B"))
    >>> def trial(column, value):
    ...     return Trial("paper", "table", "heart", column, 0, 0, "", value, 1.0, 10, 10, 0)
    >>> claim.decide({("heart", "A"): [trial("A", 1.0)], ("heart", "B"): [trial("B", 2.0)]})
    Finding(holds=True, words='A has the lower mean error than B on 1 of 1 sets')
    """

    paper: str
    table: str
    text: str
    decide: Callable[[Trials], Finding | None]  # None where too little is measured


def pair(trials: Trials, row: str, first: str, second: str, figure: Callable[[Trial], float]) -> Any:
    """Return the figures of two columns on the splits that both have, shaped (2, n_splits); None without any."""
    values = [{trial.split: figure(trial) for trial in trials.get((row, name), ())} for name in (first, second)]
    both = sorted(values[0].keys() & values[1].keys())
    return np.array([[of_splits[split] for split in both] for of_splits in values]) if both else None


def value_of(trial: Trial) -> float:
    """Return the figure of a trial that most claims are of."""
    return trial.value


def compare(
    trials: Trials,
    first: str,
    second: str,
    rows: str = "",
    least: float = 0.5,
    most: float = 1.0,
    printed: tuple[str, str] | None = None,
    figure: Callable[[Trial], float] = value_of,
    what: str = "mean error",
) -> Finding | None:
    """Count the sets where the first column is lower than the second, on the splits that both have.

    It holds where their share is above `least`, or all, and at most `most`.

    Parameters
    ----------
    rows : str
        What ends the names of the sets that are meant.
    printed : (paper, table), optional
        Where the print has figures of both, whose count is given beside.
    """
    names = [row for row in dict.fromkeys(row for row, _ in trials) if row.endswith(rows)]
    pairs = {row: found for row in names if (found := pair(trials, row, first, second, figure)) is not None}
    if not pairs:
        return None
    lower = sum(bool(np.subtract(*found.mean(axis=1)) < 0) for found in pairs.values())
    words = f"{first} has the lower {what} than {second} on {lower} of {len(pairs)} sets"
    if printed is not None:
        table = read_published()[printed]
        there = [row for row in pairs if (row, first) in table and (row, second) in table]
        fewer = sum(table[row, first].value < table[row, second].value for row in there)
        words += f", in print on {fewer} of {len(there)}"
    share = lower / len(pairs)
    return Finding((share > least or share == 1) and share <= most, words)


def compare_points(trials: Trials, row: str) -> Finding | None:
    """Count the points of TT06 Figure 3 above the diagonal: splits on which the experts have the lower error."""
    found = pair(trials, row, "experts", "forest", value_of)
    if found is None or found.shape[1] < FEWEST:
        return None
    above, total = int((found[0] < found[1]).sum()), found.shape[1]
    means = found.mean(axis=1)
    words = (
        f"points above the diagonal: {above} of {total}; means of experts and forest {means[0]:.3g} and {means[1]:.3g}"
    )
    return Finding(above > 0.9 * total, words)


def compare_gains(trials: Trials, target: str) -> Finding | None:
    """Compare by how much the experts are better than forests, in percent, on mixed and on continuous inputs."""
    gains = []
    for inputs in ("mixed", "continuous"):
        found = pair(trials, f"{target}, {inputs}", "experts", "forest", value_of)
        if found is None or found.shape[1] < FEWEST:
            return None
        experts, forest = found.mean(axis=1)
        gains.append(100 * float(1 - experts / forest))
    words = f"experts have errors {gains[0]:.1f} % lower than forests on mixed, {gains[1]:.1f} % on continuous inputs"
    return Finding(gains[0] > gains[1] and gains[0] > 0, words)


def count_alike(trials: Trials, first: str, second: str, least: float = 0.75) -> Finding | None:
    """Count the sets where two columns differ by at most two standard errors of the mean difference over splits."""
    alike, total, differences = 0, 0, []
    for row in dict.fromkeys(row for row, _ in trials):
        found = pair(trials, row, first, second, value_of)
        if found is not None and found.shape[1] > 1:
            difference = found[0] - found[1]
            error = float(difference.std(ddof=1)) / sqrt(len(difference))
            alike += abs(float(difference.mean())) <= 2 * error
            differences.append(abs(float(difference.mean())))
            total += 1
    if not total:
        return None
    words = f"{first} and {second} differ by at most two standard errors on {alike} of {total} sets,"
    return Finding(alike >= least * total, f"{words} by {np.mean(differences):.2f} points on average")


def some_lower(trials: Trials, columns: Sequence[str], than: str) -> Finding | None:
    """Count for each of several columns the sets where it is lower than another one."""
    found = [compare(trials, column, than) for column in columns]
    known = [each for each in found if each is not None]
    if len(known) < len(columns):
        return None
    return Finding(all(" on 0 of " not in each.words for each in known), "; ".join(each.words for each in known))


def count_best(trials: Trials, column: str, least: float = 0.5) -> Finding | None:
    """Count the sets where a column has the lowest mean of all columns that are measured there, at least two others."""
    best, total = 0, 0
    for row in dict.fromkeys(row for row, _ in trials):
        means = {name: np.mean([trial.value for trial in found]) for (of, name), found in trials.items() if of == row}
        if column in means and len(means) > 2:
            total += 1
            best += min(means, key=means.__getitem__) == column
    return Finding(best > least * total, f"{column} has the lowest mean on {best} of {total} sets") if total else None


def compare_values(trials: Trials, order: Sequence[str], what: str) -> Finding | None:
    """Compare the means of the columns of one row, which are to ascend."""
    [row] = dict.fromkeys(row for row, _ in trials)
    if any((row, name) not in trials for name in order):
        return None
    means = [float(np.mean([trial.value for trial in trials[row, name]])) for name in order]
    words = ", ".join(f"{name} {mean:.3g}" for name, mean in zip(order, means, strict=True))
    return Finding(sorted(means) == means, f"{what}: {words}")


def compare_seconds(trials: Trials, fast: Sequence[str], slow: Sequence[str], times: float) -> Finding | None:
    """Say how many times as long the choice of parameters of the slow columns takes, at least and at most."""
    ratios = []
    for row in dict.fromkeys(row for row, _ in trials):
        medians = {
            name: float(np.median([trial.more["seconds of the choice"] for trial in trials[row, name]]))
            for name in (*fast, *slow)
            if (row, name) in trials
        }
        ratios += [medians[b] / medians[a] for a in fast for b in slow if a in medians and b in medians]
    if not ratios:
        return None
    return Finding(min(ratios) >= times, f"the slow take {min(ratios):.1f} to {max(ratios):.1f} times as long")


def all_equal(trials: Trials, expected: Mapping[str, float], slack: float = 0.0) -> Finding | None:
    """Check the figures of columns, which the paper has exactly."""
    found = {name: [trial.value for trial in each] for (_, name), each in trials.items() if name in expected}
    if found.keys() < expected.keys():
        return None
    holds = all(abs(value - expected[name]) <= slack for name, values in found.items() for value in values)
    return Finding(holds, ", ".join(f"{name} {np.mean(values):.3g}" for name, values in found.items()))


def all_above(trials: Trials, least: float) -> Finding:
    """Check that the mean figure of every column is above a number."""
    means = {name: float(np.mean([trial.value for trial in found])) for (_, name), found in trials.items()}
    words = ", ".join(f"{name} {mean:.3g}" for name, mean in means.items())
    return Finding(min(means.values()) > least, words)


def compare_matrices(trials: Trials, first: str, second: str, least: float) -> Finding | None:
    """Correlate the entries of two matrices of the first split."""
    [row] = dict.fromkeys(row for row, _ in trials)
    if any((row, name) not in trials for name in (first, second)):
        return None
    entries = [np.ravel(trials[row, name][0].more["matrix"]) for name in (first, second)]
    correlation = float(np.corrcoef(entries)[0, 1])
    return Finding(correlation >= least, f"correlation of the entries of {first} and {second}: {correlation:.3f}")


def count_regions(trials: Trials, smooth: str, rough: str) -> Finding | None:
    """Count the regions that boundaries cut the plane into, on average over splits: a smooth one makes two."""
    counts = {}
    for name in (smooth, rough):
        found = next((each for (_, column), each in trials.items() if column == name), ())
        if not found:
            return None
        signs = [np.array(trial.more["scores"]) > 0 for trial in found]
        counts[name] = float(np.mean([label(each)[1] + label(~each)[1] for each in signs]))
    words = f"regions of the plane on average: {smooth} {counts[smooth]:.1f}, {rough} {counts[rough]:.1f}"
    return Finding(counts[smooth] <= 3 and counts[smooth] < counts[rough], words)


def compare_updates(trials: Trials) -> Finding | None:
    """Count the fixed eta whose objective is above that of the adaptive ones when these have ended."""
    faster, words = [], []
    for row in dict.fromkeys(row for row, _ in trials):
        if (row, "adaptive") not in trials:
            continue
        adaptive = np.array(trials[row, "adaptive"][0].more["objective"])
        for (of, name), found in trials.items():
            if of == row and name != "adaptive":
                fixed = np.array(found[0].more["objective"])
                faster.append(bool(adaptive[-1] < fixed[min(len(adaptive), len(fixed)) - 1]))
        words.append(f"{row}: {len(adaptive)} updates to {adaptive[-1]:.2g}")
    if not faster:
        return None
    told = f"after as many updates the adaptive are below a fixed eta in {sum(faster)} of {len(faster)} curves"
    return Finding(all(faster), f"{told} ({'; '.join(words)})")


def find_overshooting(trials: Trials) -> Finding | None:
    """Say which fixed eta end above the least objective that they went through, by more than a hundredth of it."""
    over, under = list[tuple[bool, str]](), list[tuple[bool, str]]()
    for (row, name), found in trials.items():
        if name != "adaptive":
            curve = found[0].more["objective"]
            small = float(name.partition("= ")[2]) <= 0.01
            (under if small else over).append((curve[-1] > 1.01 * min(curve), f"{row} {name}"))
    if not over or not under:
        return None
    told = ", ".join(name for left, name in [*over, *under] if left) or "none"
    holds = any(left for left, _ in over) and not any(left for left, _ in under)
    return Finding(holds, f"overshoot: {told}")


def compare_curves(trials: Trials, first: str, second: str, entry: str) -> Finding | None:
    """Count the numbers of iterations where the first curve is no higher than the second, on average over splits."""
    curves = {name: found for (_, name), found in trials.items() if name in (first, second)}
    if len(curves) < 2:
        return None
    a, b = (np.mean([trial.more[entry] for trial in curves[name]], axis=0) for name in (first, second))
    fewer = int((a <= b).sum())
    return Finding(
        fewer > len(a) / 2, f"{first} is no higher than {second} at {fewer} of {len(a)} numbers of iterations"
    )


def compare_times(trials: Trials) -> Finding | None:
    """Say how many times as long LPBoost takes as CGEns, for all iterations, by the number of samples."""
    words, ratios = [], []
    for row in dict.fromkeys(row for row, _ in trials):
        found = pair(trials, row, "LPBoost", "CGEns", lambda trial: float(trial.more["seconds of the last"]))
        if found is not None:
            ratios.append(float(np.median(found[0]) / np.median(found[1])))
            words.append(f"{row} {ratios[-1]:.2g}")
    return Finding(ratios[-1] > 10, f"times of LPBoost over those of CGEns: {', '.join(words)}") if ratios else None


def compare_last(trials: Trials, column: str, entry: str, others: Iterable[str]) -> Finding | None:
    """Compare the last entry of a curve with those of other columns."""
    means = {name: float(np.mean([trial.more[entry][-1] for trial in found])) for (_, name), found in trials.items()}
    others = [name for name in others if name in means]
    if column not in means or not others:
        return None
    words = ", ".join(f"{name} {means[name]:.3g}" for name in (column, *others))
    return Finding(all(means[column] < means[name] for name in others), f"{entry} at the end: {words}")


def find_features(trials: Trials, column: str | None, features: Sequence[int], n_most: int = 15) -> Finding | None:
    """Say which features, numbered from 1, are among those that a column, or every one, takes most."""
    shares = {
        name: np.mean([trial.more["shares"] for trial in found], axis=0)
        for (_, name), found in trials.items()
        if column in (None, name)
    }
    if not shares or (column is None and len(shares) < 2):
        return None
    ranks = {
        name: {feature: int((each > each[feature - 1]).sum()) + 1 for feature in features}
        for name, each in shares.items()
    }
    words = "; ".join(
        f"{name} has them in places {', '.join(str(place) for place in of.values())}" for name, of in ranks.items()
    )
    return Finding(all(place <= n_most for of in ranks.values() for place in of.values()), words)


def compare_boosting(paper: str, table: str, machine: str, learner: str) -> list[Claim]:
    """Return what LL08 7.1 says of an SVM and of boosting over the same hypotheses."""
    said = partial(partial, compare, printed=(paper, table))
    return [
        Claim(
            paper,
            table,
            f"{machine} is usually better than AdaBoost.",
            said(first=machine, second=f"AdaBoost-{learner}"),
        ),
        Claim(
            paper, table, f"{machine} is usually better than LPBoost.", said(first=machine, second=f"LPBoost-{learner}")
        ),
        *(
            Claim(
                paper,
                table,
                f"On noisy sets {machine} is always better than {name}.",
                said(first=machine, second=f"{name}-{learner}", rows="-n", least=1.0),
            )
            for name in ("AdaBoost", "LPBoost")
        ),
        Claim(
            paper,
            table,
            "LPBoost is at best comparable to AdaBoost, and that on few sets.",
            said(first=f"LPBoost-{learner}", second=f"AdaBoost-{learner}", least=-1.0, most=0.4),
        ),
    ]


CLAIMS: tuple[Claim, ...] = (
    *compare_boosting("ll08", "table2", "SVM-Stump", "Stump"),
    Claim(
        "ll08",
        "table2",
        "SVM-Stump often outperforms SVM-Mid.",
        partial(compare, first="SVM-Stump", second="SVM-Mid", printed=("ll08", "table2")),
    ),
    Claim(
        "ll08",
        "table2",
        "SVM-Mid often performs better than AdaBoost-Stump.",
        partial(compare, first="SVM-Mid", second="AdaBoost-Stump", printed=("ll08", "table2")),
    ),
    *compare_boosting("ll08", "table3", "SVM-Perc", "Perc"),
    *compare_boosting("ll08", "table4", "SVM-Dec", "Dec"),
    Claim(
        "ll08",
        "table5",
        "SVM-Perc and SVM-Gauss are almost indistinguishable on real-world sets.",
        lambda trials: count_alike(
            {place: found for place, found in trials.items() if "norm" not in place[0]}, "SVM-Perc", "SVM-Gauss"
        ),
    ),
    Claim(
        "ll08",
        "table5",
        "SVM-Stump, SVM-Perc and SVM-Dec outperform SVM-Gauss on some sets.",
        partial(some_lower, columns=("SVM-Stump", "SVM-Perc", "SVM-Dec"), than="SVM-Gauss"),
    ),
    Claim(
        "ll08",
        "table6",
        "SVM-Stump and SVM-Perc are much faster to select than SVM-Dec and SVM-Gauss (12 to 19 times).",
        partial(compare_seconds, fast=("SVM-Stump", "SVM-Perc"), slow=("SVM-Dec", "SVM-Gauss"), times=4.0),
    ),
    Claim(
        "ll08",
        "figure1",
        "Every stump errs on half of the XOR set, and so does the SVM over all of them at any price.",
        partial(
            all_equal,
            expected={
                "best stump": 50,
                "SVM-Stump, C = 1": 50,
                "SVM-Stump, C = 1000": 50,
                "SVM-Perc, C = 1000": 0,
            },
        ),
    ),
    Claim(
        "ll08",
        "figure2",
        "The mean of ambiguous stumps is flat, linear, flat.",
        # of 100,000 thresholds: five standard errors of a mean of signs
        partial(all_equal, expected={"stumps": 0.0}, slack=5 / sqrt(100_000)),
    ),
    Claim(
        "ll08",
        "figure3",
        "SVM-Stump is near the optimum, SVM-Mid slightly worse, AdaBoost and LPBoost have no decent boundary.",
        partial(
            compare_values,
            order=("SVM-Stump", "SVM-Mid", "AdaBoost-Stump", "LPBoost-Stump"),
            what="test errors, the optimum's 2.28",
        ),
    ),
    Claim("tk07", "figure1", "The adaptive scheme always converges much faster.", compare_updates),
    Claim(
        "tk07", "figure1", "A fixed eta of 0.02 or more overshoots, one of 0.01 or less does not.", find_overshooting
    ),
    Claim(
        "tk07",
        "table2",
        "The ensemble performs much better than the rho-SVM.",
        partial(compare, first="proposed ensemble", second="rho-SVM", printed=("tk07", "table2"), least=0.9),
    ),
    Claim(
        "tk07",
        "table2",
        "Its accuracy is comparable to, or sometimes even better than, that of SVM (BEST).",
        partial(compare, first="proposed ensemble", second="SVM (BEST)", printed=("tk07", "table2"), least=0.0),
    ),
    Claim("tt06", "figure1", "The kernel follows the three discs.", partial(all_above, least=90.0)),
    Claim(
        "tt06",
        "figure2",
        "A forest tells classes apart better than a linear kernel.",
        partial(compare_values, order=("linear", "forest"), what="within less between"),
    ),
    Claim(
        "tt06",
        "figure2",
        "A forest is tolerant to 40 features of noise.",
        partial(compare_values, order=("linear, 40 of noise", "forest, 40 of noise"), what="within less between"),
    ),
    *(
        Claim(
            "tt06",
            "figure3",
            f"The experts outperform the forest on practically any task ({target}, {inputs} inputs).",
            partial(compare_points, row=f"{target}, {inputs}"),
        )
        for target in ("classes", "numbers")
        for inputs in ("continuous", "mixed")
    ),
    *(
        Claim(
            "tt06",
            "figure3",
            f"The improvement with inputs of mixed types is especially dramatic ({target}).",
            partial(compare_gains, target=target),
        )
        for target in ("classes", "numbers")
    ),
    Claim(
        "tt06",
        "table2",
        "Experts with the forest's kernel are better than the forest.",
        partial(compare, first="Supervised kernel RLSC ensemble", second="Random Forest", printed=("tt06", "table2")),
    ),
    Claim(
        "kie06",
        "figure1",
        "The Gram matrices of K_Cds and K_ds are quite similar.",
        partial(compare_matrices, first="(b) K_Cds", second="(c) K_ds", least=0.9),
    ),
    Claim(
        "kie06",
        "figure2",
        "AdaBoost follows the wrong labels, and K_Cds draws a smooth boundary past them.",
        partial(count_regions, smooth="RegAdaBoost K_Cds", rough="AdaBoost"),
    ),
    Claim(
        "kie06",
        "table1",
        "RegAdaBoost with K_Cds is better than AdaBoost on almost all sets.",
        partial(compare, first="RegAdaBoost K_Cds", second="AdaBoost", printed=("kie06", "table1"), least=0.8),
    ),
    Claim(
        "kie06",
        "table1",
        "K_Cds and K_ds have quite similar performance.",
        partial(count_alike, first="RegAdaBoost K_Cds", second="RegAdaBoost K_ds"),
    ),
    *(
        Claim(
            "sl",
            "table1",
            f"CGEns is better than {name}.",
            partial(compare, first="CGEns", second=name, printed=("sl", "table1")),
        )
        for name in ("AdaBoost", "LPBoost")
    ),
    Claim("sl", "table3", "CGEns-SLS achieves overall best performance.", partial(count_best, column="CGEns-SLS")),
    Claim(
        "sl",
        "table4",
        "CGEns is slightly better than AdaBoost.",
        partial(compare, first="CGEns", second="AdaBoost", printed=("sl", "table4")),
    ),
    *(
        Claim(
            "sl",
            "table2",
            f"CGEns over perceptrons is better than {name} over them.",
            partial(compare, first="CGEns (perceptrons)", second=f"{name} (perceptrons)", printed=("sl", "table2")),
        )
        for name in ("AdaBoost", "LPBoost")
    ),
    *(
        Claim(
            "sl",
            "figure1",
            f"CGEns converges faster than AdaBoost ({entry} error).",
            partial(compare_curves, first="CGEns, errors", second="AdaBoost, errors", entry=entry),
        )
        for entry in ("training", "test")
    ),
    Claim(
        "sl",
        "figure2",
        "CGEns is about 15 times faster than LPBoost (500 iterations), 26 times with 60,000 samples.",
        compare_times,
    ),
    Claim(
        "sl",
        "figure3",
        "CGEns-SLS has the lowest test error.",
        partial(compare_last, column="CGEns-SLS", entry="test", others=("AdaBoost.ECC", "AdaBoost.MH", "MultiBoost")),
    ),
    Claim(
        "sl",
        "figure3",
        "CGEns-SLS is more efficient than AdaBoost.MH and MultiBoost.",
        partial(compare_last, column="CGEns-SLS", entry="seconds", others=("AdaBoost.MH", "MultiBoost")),
    ),
    Claim(
        "sl",
        "figure5",
        'Both methods take 16 ("free"), 25 ("hp") and 52 ("!") often.',
        partial(find_features, column=None, features=(16, 25, 52)),
    ),
    Claim(
        "sl",
        "figure5",
        'CGEns takes 7 ("remove"), 19 ("you") and 53 ("$") often.',
        partial(find_features, column="CGEns", features=(7, 19, 53)),
    ),
    Claim(
        "sl",
        "figure5",
        'AdaBoost takes 27 ("george"), 42 ("meeting") and 46 ("edu") often.',
        partial(find_features, column="AdaBoost", features=(27, 42, 46)),
    ),
)
"""Every claim, by paper and table."""
