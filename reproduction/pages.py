"""Pages on what was measured: for each paper our figures beside the print, with verdicts and what is not there."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median

from reproduction.catalogue import EXPERIMENTS, of_paper
from reproduction.costs import Costs
from reproduction.experiment import BETTER, WITHIN, WORSE, Cell, Experiment, Trial
from reproduction.store import Store

EXPLANATIONS = Path(__file__).with_name("explanations.tsv")

PAPERS = {
    "ll08": "Lin & Li, *Support vector machinery for infinite ensemble learning*, JMLR 9 (2008)",
    "tk07": "Tsang & Kwok, *Ensembles of partially trained SVMs with multiplicative updates*, IJCAI 2007",
    "tt06": "Torkkola & Tuv, *Ensemble learning with supervised kernels*, ECML 2005",
    "kie06": "Kawakita, Ikeda & Eguchi, *A bridge between boosting and a kernel machine*, ISM memo 1006 (2006)",
    "sl": "Shen & Liu, *From kernel machines to ensemble learning*",
}

NOT_MEASURED = {
    "ll08": "Boosting of perceptrons is to take some 80 s a split of heart, by 50 of its 7,500 rounds. LPBoost of trees"
    " is to take ten minutes a split, by 40 s for each of some twenty ensembles of 1,000 columns; at one price it is"
    " measured in `tree_columns`.",
    "tk07": "Table 3 (times and numbers of iterations) is not in the text that we have, and is not measured.",
    "sl": "Figure 4 shows photographs that are not in the data directory. CGEns of Table I is to take some 70 s a split"
    " of heart, by one fit for each C; that of Table II, with 2,000 new cosines or perceptrons for each of its 500,"
    " minutes.",
}
"""What a paper has, and is not measured: for want of text or data, or as it takes long."""

MANY = 20
"""Splits from which on a verdict says something of a cell by itself."""

LEGEND = """
*Ours* is the mean over the splits, with its standard error; *print* is the paper's figure, with the standard error
after ±, or the standard deviation over its runs in brackets. *Verdict*: within two standard errors of the difference,
or better (lower) or worse than the print; where the print has no spread, its standard error is taken from our
deviation over splits and its number of runs. Fewer than ten splits are taken to deviate by no less than the drawing of
the test samples does, which makes it easier to agree: the share that counts is that of the cells of 20 splits or more.
A standard deviation over five runs, as SL prints it, is so uncertain that chance exceeds two standard errors of such a
mean in one cell of nine. *Gap* is the median relative gap of the certificates of the fits, and how many of them are
proven over every hypothesis of their set; methods without one have none. *Seconds* are the median processor time of a
split, the choice of parameters included.
"""


@dataclass(frozen=True)
class Explanation:
    """Why cells do not agree with the print, and the command that found it."""

    paper: str
    table: str
    row: str  # with * and ? for any
    column: str
    reason: str
    command: str

    def is_of(self, experiment: Experiment, cell: Cell) -> bool:
        """Return True if it explains a cell."""
        patterns = (self.paper, self.table, self.row, self.column)
        names = (experiment.paper, experiment.table, cell.row, cell.column)
        return all(map(fnmatchcase, names, patterns))


def read_explanations() -> list[Explanation]:
    """Read what is known of cells that do not agree."""
    with EXPLANATIONS.open(encoding="utf-8", newline="") as lines:
        return [Explanation(**line) for line in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def write_pages(directory: Path, experiments: Iterable[Experiment], store: Store, random_state: int = 0) -> list[Path]:
    """Write the page of every paper that the experiments are of, from the trials that are kept; returns the files.

    Figures are drawn beside it, and `README.md` counts the cells of all papers, table by table.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for paper in dict.fromkeys(each.paper for each in experiments):
        path = directory / f"{paper}.md"
        path.write_text("\n".join(_page(paper, directory, store, random_state)), encoding="utf-8")
        written.append(path)
    summary = directory / "README.md"
    summary.write_text("\n".join(_summary(store, random_state)), encoding="utf-8")
    return [*written, summary]


def _summary(store: Store, random_state: int) -> Iterator[str]:
    """Yield the lines of the page on all papers."""
    yield "# The papers, measured anew"
    yield ""
    yield "`make reproduce` writes these pages, from the trials that it keeps; nothing of them is typed."
    yield ""
    by_paper: dict[str, list[tuple[Experiment, Sequence[Cell]]]] = {}
    lines = []
    for each in EXPERIMENTS:
        cells = Cell.summarise(store.trials(each, random_state), each)
        if each.is_check:
            continue
        by_paper.setdefault(each.paper, []).append((each, cells))
        many = Counter(cell.verdict for cell in cells if cell.verdict and cell.n_splits >= MANY)
        few = Counter(cell.verdict for cell in cells if cell.verdict and cell.n_splits < MANY)
        verdicts = [f"{many[name]} + {few[name]}" if cells else "" for name in (WITHIN, BETTER, WORSE)]
        counts = (len(each.rows) * len(each.columns), len(cells), sum(cell.n_splits >= MANY for cell in cells))
        name = f"[{each.paper.upper()} {each.table}]({each.paper}.md)"
        lines.append(f"| {' | '.join([name, *map(str, counts), *verdicts, ', '.join(each.lacking)])} |")
    explanations = read_explanations()
    for paper, measured in by_paper.items():
        yield f"- [{paper.upper()}]({paper}.md). {' '.join(count_verdicts(*gather_verdicts(measured, explanations)))}"
    every = [pair for measured in by_paper.values() for pair in measured]
    yield f"- All. {' '.join(count_verdicts(*gather_verdicts(every, explanations)))}"
    yield ""
    yield (
        f"*Cells* are those of a table that data are here for, *many* have {MANY} splits or more. Verdicts are counted"
        " for these, + for those of fewer splits; cells that the print has no figure of, or a figure of something"
        " else, have none. Tables that share cells are counted once in the sums above."
    )
    yield ""
    yield "| table | cells | measured | many | within two | better | worse | not here |"
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    yield from lines
    yield ""


def _page(paper: str, directory: Path, store: Store, random_state: int) -> Iterator[str]:
    """Yield the lines of a page."""
    experiments = of_paper(paper)
    trials = {each.name: list(store.trials(each, random_state)) for each in experiments}
    cells = {each.name: Cell.summarise(trials[each.name], each) for each in experiments}
    yield f"# {paper.upper()}, measured anew"
    yield ""
    yield f"{PAPERS[paper]}."
    yield ""
    yield f"`make reproduce PAPER={paper}` writes this page, from the trials that it keeps; nothing of it is typed."
    yield ""
    explanations, told = read_explanations(), set[str]()
    shared, explained = gather_verdicts(((each, cells[each.name]) for each in experiments), explanations)
    yield from (f"- {line}" for line in count_verdicts(shared, explained))
    if paper in NOT_MEASURED:
        yield f"- {NOT_MEASURED[paper]}"
    yield ""
    yield LEGEND
    for each in experiments:
        yield ""
        yield f"## {each.table}: {each.title}"
        yield ""
        if each.protocol not in told:
            yield each.protocol
            yield ""
            told.add(each.protocol)
        if each.draw is not None and trials[each.name]:
            image = directory / f"{each.paper}_{each.table}.png"
            each.draw(_by_cell(trials[each.name]), image)
            yield f"![{each.title}]({image.name})"
            yield ""
        if each.measure:
            yield from _table(each, cells[each.name])
        yield from _remarks(each, cells[each.name], explanations)
        yield f"`python -m reproduction {each.paper} {each.table}` measures it."
    yield ""


def _by_cell(trials: Iterable[Trial]) -> Mapping[tuple[str, str], Sequence[Trial]]:
    found: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        found.setdefault((trial.row, trial.column), []).append(trial)
    return found


def gather_verdicts(
    measured: Iterable[tuple[Experiment, Sequence[Cell]]], explanations: Sequence[Explanation]
) -> tuple[list[Cell], int]:
    """Return the cells that have a verdict, and how many of those that are apart from the print are explained.

    Tables that share cells count them once, and checks are none of the print's.
    """
    found: dict[tuple[str, ...], Cell] = {}
    explained = set[tuple[str, ...]]()
    for experiment, cells in measured:
        for cell in () if experiment.is_check else cells:
            if cell.verdict:
                place = (experiment.paper, experiment.home or experiment.table, cell.row, cell.column)
                found[place] = cell
                if cell.is_apart and any(each.is_of(experiment, cell) for each in explanations):
                    explained.add(place)
    return list(found.values()), len(explained)


def count_verdicts(cells: Iterable[Cell], explained: int | None = None) -> Iterator[str]:
    """Yield sentences on how many cells agree, of all and of those of many splits, and how many others are explained.

    `explained` is None where that is not known.
    """
    cells = [cell for cell in cells if cell.verdict]
    for least, which in ((1, "All cells with a verdict"), (MANY, f"Those of {MANY} splits or more")):
        counts = Counter(cell.verdict for cell in cells if cell.n_splits >= least)
        total = sum(counts.values())
        if total:
            parts = ", ".join(f"{counts[name]} {name}" for name in (WITHIN, BETTER, WORSE))
            yield f"{which}: {total}, of which {parts} ({100 * counts[WITHIN] / total:.0f} % within two)."
        else:
            yield f"{which}: none."
    apart = sum(cell.is_apart for cell in cells)
    if apart and explained is not None:
        yield f"Of the {apart} that are apart from the print {explained} are explained by a measurement."
    single = sum(cell.n_splits == 1 for cell in cells)
    if single:
        yield f"{single} rest on one split."


def _table(experiment: Experiment, cells: Sequence[Cell]) -> Iterator[str]:
    if not cells:
        yield "Nothing has been measured yet."
        yield ""
        return
    yield f"| data | method | ours, {experiment.measure} | splits | print | apart | verdict | gap (proven) | seconds |"
    yield "|---|---|--:|--:|--:|--:|---|--:|--:|"
    for cell in cells:
        yield "| " + " | ".join(_fields(cell)) + " |"
    yield ""


def _fields(cell: Cell) -> list[str]:
    """Return what a line of a table says of a cell."""
    spread = "" if cell.standard_error is None else f" ± {cell.standard_error:.2f}"
    proven = "" if cell.gap is None else f"{cell.gap:.1e} ({cell.n_proven} of {cell.n_fits})"
    return [
        cell.row,
        cell.column,
        f"{cell.mean:.2f}{spread}",
        str(cell.n_splits),
        "" if cell.published is None else str(cell.published),
        "" if cell.distance is None or not cell.verdict else f"{cell.distance:.1f}",
        cell.verdict if cell.verdict in {WITHIN, ""} else f"**{cell.verdict}**",
        proven,
        f"{cell.seconds:.2f}",
    ]


def _remarks(experiment: Experiment, cells: Sequence[Cell], explanations: Sequence[Explanation]) -> Iterator[str]:
    """Yield why cells do not agree, on which other data rows are, and what is not there."""
    apart = [cell for cell in cells if cell.is_apart]
    for each in explanations:
        explained = [cell for cell in apart if each.is_of(experiment, cell)]
        if explained:
            names = ", ".join(f"{cell.row} {cell.column}" for cell in explained)
            yield f"- *{names}*: {each.reason} Found by `{each.command}`."
            apart = [cell for cell in apart if cell not in explained]
    if apart:
        names = ", ".join(f"{cell.row} {cell.column}" for cell in apart)
        yield f"- Apart from the print, and not explained: {names}."
    for row, why in experiment.other_data.items():
        yield f"- *{row}* is not quite the paper's: {why}."
    for row, why in experiment.lacking.items():
        yield f"- *{row}* is in the paper and not here: {why}."
    missing = list(list_missing(experiment, cells))
    if missing:
        yield f"- Not measured yet: {'; '.join(missing)}."
    warned = sum(cell.n_warnings for cell in cells)
    if warned:
        yield f"- {warned} warnings were told by fits; the files of the trials have their texts."
    yield ""


def list_missing(experiment: Experiment, cells: Sequence[Cell], costs: Costs | None = None) -> Iterator[str]:
    """Yield the columns that have not been measured on some rows, which, and how many seconds a split is to take."""
    costs = Costs.read() if costs is None else costs
    costs = costs.updated(Costs({(*experiment.place, cell.row, cell.column): cell.seconds for cell in cells}))
    measured = {(cell.row, cell.column) for cell in cells}
    for column in experiment.columns:
        left = [row for row in experiment.rows if (row, column) not in measured]
        guesses = [costs.guess((*experiment.place, row, column)) for row in left]
        known = [seconds for seconds in guesses if seconds is not None]
        if left:
            rows = "all" if len(left) == len(experiment.rows) else ", ".join(left)
            yield f"{column} on {rows}" + (f" (some {median(known):.2g} s a split)" if known else "")
