"""Pages on what was measured: for each paper our figures beside the print, with verdicts and what is not there."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from math import sqrt
from pathlib import Path
from statistics import median

from reproduction.catalogue import ALL, of_paper
from reproduction.claims import CLAIMS, Claim, Finding
from reproduction.costs import Costs
from reproduction.experiment import BETTER, WITHIN, WORSE, Cell, Experiment, Trial
from reproduction.store import Store

EXPLANATIONS = Path(__file__).with_name("explanations.tsv")
DATA = Path(__file__).with_name("data.tsv")

PAPERS = {
    "ll08": "Lin & Li, *Support vector machinery for infinite ensemble learning*, JMLR 9 (2008)",
    "tk07": "Tsang & Kwok, *Ensembles of partially trained SVMs with multiplicative updates*, IJCAI 2007",
    "tt06": "Torkkola & Tuv, *Ensemble learning with supervised kernels*, ECML 2005",
    "kie06": "Kawakita, Ikeda & Eguchi, *A bridge between boosting and a kernel machine*, ISM memo 1006 (2006)",
    "sl": "Shen & Liu, *From kernel machines to ensemble learning*",
}

NOT_MEASURED = {
    "tk07": "Table 3 (times and numbers of iterations) is not in the text that we have, and is not measured.",
    "sl": "Figure 4 shows photographs that are not in the data directory.",
}
"""What a paper has, and is not measured, for want of text or data."""

BY_CHANGE, NARROWED, OPEN = "reproduced by a change", "narrowed down", "open"
"""States of a cell that is apart from the print, counted from the trials of checks."""

WRITTEN = (
    "All figures, verdicts, counts and states are computed from the trials in `reproduction/trials`; protocols, claims"
    " and reasons are written by hand in `reproduction`."
)

MANY = 20
"""Splits from which on a verdict says something of a cell by itself."""

LEGEND = """
*Ours* is the mean over the splits, with its standard error; *print* is the paper's figure, with the standard error
after ±, or the standard deviation over its runs in brackets. The number of *splits* is fixed for a table before
anything is measured, and a cell that has fewer yet shows how many of how many. *Verdict*: within two standard errors
of the difference, or better (lower) or worse than the print; where the print has no spread, its standard error is
taken from our deviation over splits and its number of runs. Fewer than ten splits are taken to deviate by no less than
the drawing of the test samples does, of balanced errors class by class, which makes it easier to agree; runs on one
test part share it, and their number averages nothing of that away. A standard deviation over five runs, as SL prints
it, is so uncertain that chance exceeds two standard errors of such a mean in one cell of nine. *z* is the distance in
standard errors of the difference, above 0 where ours is larger; its mean over a column, without any shift, is 0 within
1/sqrt(n). *Gap* is the median relative gap of the certificates of the fits, and how many of them are proven over every
hypothesis of their set by a bound that says something, to a gap below 1; methods without a certificate have none.
*Seconds* are the median processor time of a split, the choice of parameters included. A cell that is apart from the
print is *reproduced by a change* where a check with that one change has a figure within two standard errors of the
print in that very cell; *narrowed down* where checks were measured that it is not reproduced by; else *open*.
"""


@dataclass(frozen=True)
class Explanation:
    """What a cell that does not agree with the print may depend on, and the check that is to tell."""

    paper: str
    table: str
    row: str  # with * and ? for any
    column: str
    check: str  # the table of the check
    of_row: str  # of the check; that of the cell if empty
    of_column: str  # of the check; that of the cell if empty. With * and ? several, of which none is picked
    reason: str  # in words, without figures: these are computed

    def is_of(self, experiment: Experiment, cell: Cell) -> bool:
        """Return True if it is of a cell."""
        patterns = (self.paper, self.table, self.row, self.column)
        names = (experiment.paper, experiment.table, cell.row, cell.column)
        return all(map(fnmatchcase, names, patterns))

    def judge(self, cell: Cell, checks: Mapping[tuple[str, str], Sequence[Cell]]) -> tuple[str, str]:
        """Return the state of a cell that is apart, and the figures of the check that say so.

        A change reproduces the print if it was named beforehand: of several columns none is picked for its figure.
        """
        row, column = self.of_row or cell.row, self.of_column or cell.column
        found = [
            each
            for each in checks.get((self.paper, self.check), ())
            if fnmatchcase(each.row, row) and fnmatchcase(each.column, column)
        ]
        told = [
            replace(each, published=cell.published, judged=True)
            for each in sorted(found, key=lambda each: each.mean)
            if cell.published is not None
        ]
        if not told:
            return OPEN, "not measured"
        fewest = min(each.n_splits for each in told)
        if len(told) == 1:
            figures = f"{told[0].column} {_figure(told[0].mean)} over {fewest}, {told[0].verdict or 'no verdict'}"
        else:
            figures = f"{_figure(told[0].mean)} ({told[0].column}) to {_figure(told[-1].mean)} ({told[-1].column})"
        if fewest < cell.n_splits:
            # fewer splits agree more easily
            return OPEN, f"{figures}; {fewest} splits yet of {cell.n_splits}"
        named = "*" not in column and told[0].verdict == WITHIN
        return (BY_CHANGE if named else NARROWED), figures


def _figure(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.1e}"


def read_explanations() -> list[Explanation]:
    """Read what is known of cells that do not agree."""
    with EXPLANATIONS.open(encoding="utf-8", newline="") as lines:
        return [Explanation(**line) for line in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


@dataclass(frozen=True)
class Measured:
    """What the pages are written from: the trials and the cells of every experiment, each to the splits it fixes."""

    trials: Mapping[str, Sequence[Trial]]  # by the name of the experiment
    cells: Mapping[str, Sequence[Cell]]

    @classmethod
    def read(cls, store: Store, random_state: int = 0) -> Measured:
        """Read all trials that are kept."""
        trials = {
            each.name: [trial for trial in store.trials(each, random_state) if each.is_counted(trial)]
            for each in of_paper(ALL)
        }
        return cls(trials, {each.name: Cell.summarise(trials[each.name], each) for each in of_paper(ALL)})

    @cached_property
    def states(self) -> Mapping[tuple[str, str, str, str], tuple[str, Sequence[tuple[Explanation, str]]]]:
        """The state of every cell of a table that is apart from the print, and what its checks have."""
        checks = {(each.paper, each.table): self.cells[each.name] for each in of_paper(ALL)}
        explanations, found = read_explanations(), {}
        for experiment in of_paper(ALL):
            for cell in self.cells[experiment.name]:
                if experiment.is_check or not cell.is_apart:
                    continue
                judged = [(each, *each.judge(cell, checks)) for each in explanations if each.is_of(experiment, cell)]
                states = {state for _, state, _ in judged}
                state = next((each for each in (BY_CHANGE, NARROWED) if each in states), OPEN)
                place = (experiment.paper, experiment.table, cell.row, cell.column)
                found[place] = state, [(each, figures) for each, _, figures in judged]
        return found


def write_pages(directory: Path, experiments: Iterable[Experiment], store: Store, random_state: int = 0) -> list[Path]:
    """Write the page of every paper that the experiments are of, from the trials that are kept; returns the files.

    Figures are drawn beside it, `README.md` counts the cells of all papers, table by table, and `data.md` says where
    the data sets are from.
    """
    directory.mkdir(parents=True, exist_ok=True)
    measured = Measured.read(store, random_state)
    pages = {
        f"{paper}.md": _page(paper, directory, measured) for paper in dict.fromkeys(each.paper for each in experiments)
    }
    pages |= {"README.md": _summary(measured), "data.md": _data()}
    written = []
    for name, lines in pages.items():
        written.append(directory / name)
        written[-1].write_text("\n".join(lines), encoding="utf-8")
    return written


def _data() -> Iterator[str]:
    """Yield the lines of the page on the data sets, by the file that says where they are from."""
    with DATA.open(encoding="utf-8", newline="") as lines:
        sets = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    used: dict[str, list[str]] = {}
    for each in of_paper(ALL):
        for source in each.rows.values():
            for name in source.needs:
                used.setdefault(name, []).append(each.paper.upper())
    yield "# Where the data are from"
    yield ""
    yield (
        "The sets of the tables, each a file in the directory that CVXENS_DATA names, beside a `MANIFEST.tsv` with the"
        " columns `name` and `file`. *Source* is the public repository and the file there, or the package, that it was"
        " made from; *sha256* is that of the file as the trials here have read it. Sets that are generated need none."
    )
    yield ""
    yield "| set | of | samples | features | source | file | bytes | sha256 |"
    yield "|---|---|---|--:|---|---|--:|---|"
    for line in sets:
        papers = ", ".join(dict.fromkeys(used.get(line["name"], ())))
        fields = [line[name] for name in ("rows", "columns", "source", "file", "bytes", "sha256")]
        yield f"| {' | '.join([line['name'], papers, *fields])} |"
    yield ""


def _summary(measured: Measured) -> Iterator[str]:
    """Yield the lines of the page on all papers."""
    yield "# The papers, measured anew"
    yield ""
    yield f"`make pages` writes these pages. {WRITTEN} Where the data are from is [a page of its own](data.md)."
    yield ""
    by_paper: dict[str, list[Experiment]] = {}
    lines = []
    for each in of_paper(ALL):
        cells = measured.cells[each.name]
        if each.is_check:
            continue
        by_paper.setdefault(each.paper, []).append(each)
        verdicts = Counter(cell.verdict for cell in cells)
        told = [str(verdicts[name]) if cells else "" for name in (WITHIN, BETTER, WORSE)]
        counts = (len(each.rows) * len(each.columns), len(cells), sum(cell.is_whole for cell in cells), each.splits)
        name = f"[{each.paper.upper()} {each.table}]({each.paper}.md)"
        lines.append(f"| {' | '.join([name, *map(str, counts), *told, ', '.join(each.lacking)])} |")
    for paper, experiments in by_paper.items():
        yield f"- [{paper.upper()}]({paper}.md). {' '.join(_counts(experiments, measured))}"
    yield f"- All. {' '.join(_counts(of_paper(ALL), measured))}"
    yield ""
    yield (
        "*Cells* are those of a table that data are here for, *whole* have all splits that are fixed for the table."
        " Cells that the print has no figure of, or one of something else, have no verdict. Tables that share cells are"
        " counted once in the sums above, by the one of most splits."
    )
    yield ""
    yield "| table | cells | measured | whole | splits | within two | better | worse | not here |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|---|"
    yield from lines
    yield ""


def _counts(experiments: Iterable[Experiment], measured: Measured) -> Iterator[str]:
    """Yield sentences on the cells of experiments, on those that are apart, and on claims."""
    experiments = list(experiments)
    cells = gather_verdicts((each, measured.cells[each.name]) for each in experiments)
    printed = {
        (*each.place, *place) for each in experiments if not each.is_check and each.judged for place in _of(each)
    }
    yield f"Measured: {len(cells)} of the {len(printed)} cells that are printed and have data here."
    yield from count_verdicts(cells.values())
    states = Counter(measured.states[place][0] for place in map(_place, cells.items()) if place in measured.states)
    if states:
        told = ", ".join(f"{states[state]} {state}" for state in (BY_CHANGE, NARROWED, OPEN))
        yield f"Of the {states.total()} that are apart from the print: {told}."
    findings = [found for each in experiments for _, found in _claims_of(each, measured)]
    if findings:
        decided = [found for found in findings if found is not None]
        come = sum(found.holds for found in decided)
        yield (
            f"Of {len(findings)} claims of the prose and of figures {come} come out, {len(decided) - come} do not, and"
            f" {len(findings) - len(decided)} are not measured yet."
        )


def _of(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield the cells that the print has a figure of, and that are of data here."""
    for row, column in experiment.published:
        if row in experiment.rows and column in experiment.columns and not experiment.against:
            yield row, column


def _place(found: tuple[tuple[str, ...], tuple[Experiment, Cell]]) -> tuple[str, str, str, str]:
    experiment, cell = found[1]
    return experiment.paper, experiment.table, cell.row, cell.column


def _claims_of(experiment: Experiment, measured: Measured) -> list[tuple[Claim, Finding | None]]:
    """Return what the paper says of a table, and what is found."""
    by_cell = _by_cell(measured.trials[experiment.name])
    of_table = [each for each in CLAIMS if (each.paper, each.table) == (experiment.paper, experiment.table)]
    return [(each, each.decide(by_cell) if by_cell else None) for each in of_table]


def _page(paper: str, directory: Path, measured: Measured) -> Iterator[str]:
    """Yield the lines of a page."""
    experiments = of_paper(paper)
    yield f"# {paper.upper()}, measured anew"
    yield ""
    yield f"{PAPERS[paper]}."
    yield ""
    yield f"`make pages` writes this page. {WRITTEN}"
    yield ""
    yield from (f"- {line}" for line in _counts(experiments, measured))
    if paper in NOT_MEASURED:
        yield f"- {NOT_MEASURED[paper]}"
    yield ""
    yield from _shifts(experiments, measured)
    yield LEGEND
    told = set[str]()
    for each in experiments:
        yield ""
        yield f"## {each.table}: {each.title}"
        yield ""
        if each.protocol not in told:
            yield each.protocol
            yield ""
            told.add(each.protocol)
        if each.draw is not None and measured.trials[each.name]:
            image = directory / f"{each.paper}_{each.table}.png"
            each.draw(_by_cell(measured.trials[each.name]), image)
            yield f"![{each.title}]({image.name})"
            yield ""
        if each.measure:
            yield from _table(each, measured.cells[each.name])
        yield from _remarks(each, measured)
        yield f"`python -m reproduction {each.paper} {each.table}` measures it."
    yield ""


def _shifts(experiments: Iterable[Experiment], measured: Measured) -> Iterator[str]:
    """Yield a table of the mean z of every column: a shift that verdicts of single cells do not see."""
    yield "| table | method | cells | mean z | within two |"
    yield "|---|---|--:|--:|--:|"
    for each in experiments:
        for column in each.columns:
            cells = [cell for cell in measured.cells[each.name] if cell.column == column and cell.z is not None]
            z = [cell.z for cell in cells if cell.z is not None]
            if z:
                error = 1 / sqrt(len(z))
                shift = f"{sum(z) / len(z):+.1f} ± {error:.1f}"
                told = f"**{shift}**" if abs(sum(z)) > 2 * sqrt(len(z)) else shift
                within = sum(cell.verdict == WITHIN for cell in cells)
                name = f"{each.table}, a check" if each.is_check else each.table
                yield f"| {name} | {column} | {len(z)} of {len(each.rows)} | {told} | {within} |"
    yield ""


def _by_cell(trials: Iterable[Trial]) -> Mapping[tuple[str, str], Sequence[Trial]]:
    found: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        found.setdefault((trial.row, trial.column), []).append(trial)
    return found


def gather_verdicts(
    measured: Iterable[tuple[Experiment, Sequence[Cell]]],
) -> dict[tuple[str, ...], tuple[Experiment, Cell]]:
    """Return the cells that have a verdict, and their tables, by what is measured.

    Tables that share cells count them once, the one of most splits, and checks are none of the print's.
    """
    found: dict[tuple[str, ...], tuple[Experiment, Cell]] = {}
    for experiment, cells in measured:
        for cell in () if experiment.is_check else cells:
            place = (*experiment.place, cell.row, cell.column)
            if cell.verdict and (place not in found or found[place][1].n_splits < cell.n_splits):
                found[place] = experiment, cell
    return found


def count_verdicts(cells: Iterable[Cell | tuple[Experiment, Cell]]) -> Iterator[str]:
    """Yield sentences on how many cells agree, of all and of those of many splits."""
    found = [cell for each in cells for cell in [each if isinstance(each, Cell) else each[1]] if cell.verdict]
    for least, which in ((1, "All cells with a verdict"), (MANY, f"Those of {MANY} splits or more")):
        counts = Counter(cell.verdict for cell in found if cell.n_splits >= least)
        total = sum(counts.values())
        if total:
            parts = ", ".join(f"{counts[name]} {name}" for name in (WITHIN, BETTER, WORSE))
            yield f"{which}: {total}, of which {parts} ({100 * counts[WITHIN] / total:.0f} % within two)."
        else:
            yield f"{which}: none."
    left = sum(not cell.is_whole for cell in found)
    if left:
        yield f"{left} have fewer splits yet than their table fixes."


def _table(experiment: Experiment, cells: Sequence[Cell]) -> Iterator[str]:
    if not cells:
        yield "Nothing has been measured yet."
        yield ""
        return
    yield f"| data | method | ours, {experiment.measure} | splits | print | z | verdict | gap (proven) | seconds |"
    yield "|---|---|--:|--:|--:|--:|---|--:|--:|"
    for cell in cells:
        yield "| " + " | ".join(_fields(cell)) + " |"
    yield ""


def _fields(cell: Cell) -> list[str]:
    """Return what a line of a table says of a cell."""
    spread = "" if cell.standard_error is None else f" ± {_figure(cell.standard_error)}"
    proven = "" if cell.gap is None else f"{cell.gap:.1e} ({cell.n_proven} of {cell.n_fits})"
    return [
        cell.row,
        cell.column,
        f"{_figure(cell.mean)}{spread}",
        str(cell.n_splits) if cell.is_whole else f"{cell.n_splits} of {cell.whole}",
        "" if cell.published is None else str(cell.published),
        "" if cell.z is None or not cell.verdict else f"{cell.z:+.1f}",
        cell.verdict if cell.verdict in {WITHIN, ""} else f"**{cell.verdict}**",
        proven,
        f"{cell.seconds:.2f}",
    ]


def _remarks(experiment: Experiment, measured: Measured) -> Iterator[str]:
    """Yield what the paper claims, why cells do not agree, on which other data rows are, and what is not there."""
    cells = measured.cells[experiment.name]
    for claim, found in _claims_of(experiment, measured):
        verdict = "not measured yet" if found is None else "comes out" if found.holds else "does not come out"
        yield f'- Claim: "{claim.text}" **{verdict}**{"" if found is None else f": {found.words}"}.'
    for cell in cells:
        state, judged = measured.states.get((experiment.paper, experiment.table, cell.row, cell.column), ("", ()))
        if state:
            reasons = [f"{each.reason.rstrip('.')} (`{each.check}`: {figures})" for each, figures in judged]
            tried = f"Tried: {'; '.join(reasons)}." if reasons else "Nothing was tried."
            yield f"- *{cell.row} {cell.column}*, {cell.verdict}: **{state}**. {tried}"
    for row, why in experiment.other_data.items():
        yield f"- On *{row}*: {why}."
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
