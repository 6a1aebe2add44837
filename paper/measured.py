"""Write the numbers, the tables and the example of the paper from what measured or tested them.

`python paper/measured.py` writes `numbers.tex` and `example.txt` into this folder, from pages that benchmarks and tests
hold, and from `figure.json`. `paper.tex` has no digit outside of formulas; `find_typed` says where one is.
"""

import json
import re
from pathlib import Path
from textwrap import wrap

HERE = Path(__file__).parent
ROOT = HERE.parent

NUMBERS = {
    "variants": ("docs/variants.md", r"^(\d+) formulations"),
    "problems": ("Makefile", r"PROBLEMS \?= (\d+)"),
    "forgeries": ("Makefile", r"MUTATIONS \?= (\d+)"),
    "cells": ("docs/reproduction/README.md", r"- All\. .*?All cells with a verdict: (\d+)"),
    "cells within": ("docs/reproduction/README.md", r"- All\. .*? of which (\d+) within two"),
    "cells fewer": ("docs/reproduction/README.md", r"- All\. .*? (\d+) have fewer splits yet"),
    "cells worse": ("docs/reproduction/README.md", r"- All\. .*? better, (\d+) worse"),
    "tables": ("docs/comparison.md", r"Over (\d+) tables for classification"),
    "error": ("docs/comparison.md", r"Its error in percent less EBM's is ([\d.]+) in"),
    "error spread": ("docs/comparison.md", r"Its error in percent less EBM's is .*? of ([\d.]+)\.\n"),
    "log loss": ("docs/comparison.md", r"Its log loss less EBM's is -([\d.]+) in"),
    "log loss spread": ("docs/comparison.md", r"Its log loss less EBM's is .*? of ([\d.]+)\.\n"),
    "AUC": ("docs/comparison.md", r"Its AUC less EBM's is -([\d.]+) in"),
    "AUC spread": ("docs/comparison.md", r"Its AUC less EBM's is .*? of ([\d.]+)\.\n"),
    "largest gap": ("docs/comparison.md", r"gaps of `AdditiveClassifier`: .*?, ([\d.]+) at most"),
    "warm": ("docs/know/numerics.md", r"`AdditiveClassifier` ([\d.]+) \("),
    "cold": ("docs/know/numerics.md", r"`AdditiveClassifier` [\d.]+ \(([\d.]+)\)"),
    "growth": ("docs/know/growth.md", r"samples \(from 10,000 on\).*\| ([\d.]+) \| [\d.]+ \|"),
    "rows": ("docs/know/speed.md", r"\| ([\d,]+) x 10 \| \d+ \| 0\.\d+, 0\.\d+ \| \| \|"),
    "rows ours": ("docs/know/speed.md", r"\| [\d,]+ x 10 \| (\d+) \| 0\.\d+, 0\.\d+ \| \| \|"),
    "rows LightGBM": ("docs/know/speed.md", r"\| [\d,]+ x 10 \| \d+ \| 0\.\d+, 0\.\d+ \| \| \| ([\d.]+)"),
}
"""The files that the numbers stand in, and where there."""

SPEED = ("stump_search", "interactions", "lpboost_masters", "hinge_masters", "additive_svm", "kernel_svm")
"""The benchmarks of the table of times, each with its first row."""

METHODS = ("AdditiveClassifier", "EBM", "CatBoost", "LightGBM")
"""The columns that are shown of `docs/comparison.md`."""

TYPED = re.compile(r"\$.*?\$|\\\[.*?\\\]|\\(?:cite\w*|num|label|ref|input|url|vspace|cmd)\*?\{.*?\}|%.*?\n", re.DOTALL)
"""Where digits are not said to the reader as a measurement: formulas, names, lengths, comments."""


def read(name):
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def find(file, pattern):
    """Return the number that a pattern finds in a file, with a space between thousands."""
    found = re.search(pattern, read(file), flags=re.MULTILINE)
    if found is None:
        raise SystemExit(f"{file}: found nothing like {pattern}")
    number = found[1].replace(",", "")
    return f"{int(number):,}".replace(",", r"\,") if number.isdigit() and len(number) > 4 else number


def read_rows(file, title):
    """Return the rows of the table that begins with a row of these words, cells apart."""
    lines = read(file).partition(title)[1:]
    rows = "".join(lines).partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if not row.startswith("|---")]


def escape(text):
    """Return a cell of Markdown as TeX."""
    text = text.replace("HistGradientBoosting", "Hist\\-Gradient\\-Boosting")
    text = re.sub(r"([%&#_])", r"\\\1", re.sub(r"`(.*?)`", r"\1", text))
    text = re.sub(r"\b1e-0?(\d+)", r"$10^{-\1}$", text.replace("+-", "$\\pm$"))
    text = re.sub(r"\b(\d)e-0?(\d+)", r"$\1\\cdot10^{-\2}$", text)
    text = re.sub(r"(\d),(\d{3})", r"\1\\,\2", text)
    return re.sub(r"(\d) x (\d)", r"\1\\,$\\times$\\,\2", text)


def make_rows(rows):
    """Return rows of a table in TeX, with a dash where nothing stands."""
    cells = [[escape(cell) or "--" * bool(at) for at, cell in enumerate(row)] for row in rows]
    return "\n".join(" & ".join(row) + r" \\" for row in cells)


def make_speed():
    """Return the table of times: the first row of each benchmark, without what is in brackets."""
    rows = read_rows("docs/know/speed.md", "| what | beside | ratio of times | NAME |")[1:]
    first = [next(row for row in rows if row[3] == f"`{name}`") for name in SPEED]
    return make_rows([[re.sub(r" \(with.*?\)|; where no greedy.*", "", cell) for cell in row] for row in first])


def make_comparison():
    """Return the table of readable models beside their peers."""
    head, *rows = read_rows("docs/comparison.md", "| | AdditiveClassifier |")
    of = [head.index(name) for name in METHODS]
    return make_rows([[row[0], *(row[at] for at in of)] for row in (["", *head[1:]], *rows)])


def make_others():
    """Return the table of other libraries."""
    return make_rows(read_rows("docs/know/when_not.md", "| | states its objective |"))


def count_estimators():
    """Return how many estimators the page that is read off them lists."""
    return len(set(re.findall(r"^\| (?:\[)?`(\w+)`", read("docs/estimators.md"), flags=re.MULTILINE)))


def write_numbers():
    """Return `numbers.tex`."""
    numbers = {name: find(*where) for name, where in NUMBERS.items()}
    numbers["estimators"] = str(count_estimators())
    numbers["checker lines"] = str(read("cvxens/proofs/checker.py").count("\n"))
    fitted = json.loads((HERE / "figure.json").read_text())
    numbers |= {f"figure: {name}": escape(value) for name, value in fitted.items()}
    lines = ["% written by `python paper/measured.py`"]
    lines += [rf"\expandafter\def\csname number:{name}\endcsname{{{value}}}" for name, value in numbers.items()]
    tables = {"speed": make_speed(), "comparison": make_comparison(), "others": make_others()}
    lines += [f"\\expandafter\\def\\csname table:{name}\\endcsname{{%\n{rows}}}" for name, rows in tables.items()]
    return "\n".join(lines) + "\n"


def write_example():
    """Return the README's example of a loss of one's own, with what it prints."""
    section = read("README.md").partition("## Your loss as a boosting algorithm")[2]
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", section, flags=re.DOTALL).groups()
    lines = [part for line in printed.splitlines() for part in wrap(line, 100, subsequent_indent="  ")]
    return code + "".join(f"# {line}\n" for line in lines)


def find_typed():
    """Return the lines of the text, without what `TYPED` matches, that have a digit."""
    body = read("paper/paper.tex").partition(r"\begin{document}")[2]
    return [line for line in TYPED.sub("", body).splitlines() if re.search(r"\d", line)]


if __name__ == "__main__":
    (HERE / "numbers.tex").write_text(write_numbers(), encoding="utf-8")
    (HERE / "example.txt").write_text(write_example(), encoding="utf-8")
    if typed := find_typed():
        raise SystemExit("paper.tex: found digits outside of formulas, say them by \\num{...}:\n" + "\n".join(typed))
