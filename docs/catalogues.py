"""Pages that are made of the library's own tables: notebooks, formulations, endings, and what example files print."""

from __future__ import annotations

import base64
import io
import re
import runpy
import textwrap
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import nbformat

from cvxens.limits import Ending
from cvxens.problems import FORMULATIONS, Problem

HERE = Path(__file__).parent

PAGE = """# {name}

{summary}

$$
{primal}
$$

**The dual.** From any $u$ that satisfies its constraints, a bound:

$$
{dual}
$$

```{{image}} /_static/pictures/{name}.png
:alt: The optimum of {name} on a small sample
```

| | |
|---|---|
| equation in the code | `{equation}` |
| source | {source} |
| loss | `{loss}` |
| penalty | `{penalty}` |
| map | {map} |
| oracle | {oracle} |
| master or fast path | {master} |
| estimator | {estimator} |

**Pricing and bound.** {pricing}
{erratum}
```{{eval-rst}}
.. autoclass:: cvxens.problems.{name}
   :no-index:
```

Attributes and methods: {{py:class}}`cvxens.problems.{name}`.
Column generation over it: [Column generation](/learn/column_generation.md).
"""


def gallery(pictures: Path) -> str:
    """Return cards of the notebooks, each with its first picture and the first sentences of its text."""
    pictures.mkdir(parents=True, exist_ok=True)
    cards = []
    for path in sorted((HERE.parent / "notebooks").glob("[!_]*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        title, _, text = cells[0].source.partition("\n")
        first = textwrap.shorten(re.split(r"\n\n|\$\$|:\n", text.strip())[0], 200, placeholder=" ...")
        outputs = (each.get("data", {}) for cell in cells for each in cell.get("outputs", []))
        image = next((data["image/png"] for data in outputs if "image/png" in data), None)
        lines = [f":::{{grid-item-card}} {title.lstrip('# ')}", f":link: /notebooks/{path.stem}", ":link-type: doc"]
        if image:
            (pictures / f"{path.stem}.png").write_bytes(base64.b64decode(image))
            lines.append(f":img-top: /_static/gallery/{path.stem}.png")
        cards.append("\n".join([*lines, "", first, ":::"]))
    return "::::{grid} 1 2 2 3\n:gutter: 3\n\n" + "\n\n".join(cards) + "\n::::\n"


def names_of(words: str) -> str:
    """Return class names in a cell as links into the reference, and other words as they are."""
    return re.sub(r"\b([A-Z][A-Za-z]+(?:Classifier|SVC|Regressor))\b", r"{py:class}`~cvxens.\1`", words)


def summary_of(kind: type[Problem]) -> str:
    """Return the first sentence of a class's docstring."""
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


def write_formulations(folder: Path) -> None:
    """Write a page for each formulation, one over all of them, and the table that the page of the pair has."""
    told: dict[str, Any] = tomllib.loads((folder / "formulations.toml").read_text())
    pages = folder / "formulations"
    pages.mkdir(exist_ok=True)
    rows = ["| formulation | equation | source | loss | penalty | map | estimator |", "|---|---|---|---|---|---|---|"]
    for kind in FORMULATIONS:
        name, of = kind.__name__, told[kind.__name__]
        of = {
            **of,
            "estimator": names_of(of["estimator"]),
            "erratum": f"\n**In print.** {of['erratum']}\n" if of["erratum"] else "",
        }
        text = PAGE.format(name=name, summary=summary_of(kind), equation=kind.equation, source=kind.source, **of)
        (pages / f"{name}.md").write_text(text)
        equation = kind.equation.replace("|", "\\|")
        cells = (
            f"[{name}](/know/formulations/{name}.md)",
            f"`{equation}`",
            kind.source,
            of["loss"],
            of["penalty"],
            of["map"],
        )
        rows.append(f"| {' | '.join(cells)} | {of['estimator']} |")
    table = "\n".join(rows) + "\n"
    (folder / "formulations_table.md").write_text(table)
    toc = "\n".join(f"formulations/{kind.__name__}" for kind in FORMULATIONS)
    head = (
        "# The formulations\n\nEvery formulation of the literature that this library stands on is a class on data, "
        "with its cvxpy problem and its certificate.\n"
    )
    (folder / "formulations.md").write_text(f"{head}\n{table}\n```{{toctree}}\n:hidden:\n\n{toc}\n```\n")


def write_endings(folder: Path) -> None:
    """Write the table of how runs end."""
    rows = [f"| `{ending.name}` | {ending.value} |" for ending in Ending]
    (folder / "endings.md").write_text("\n".join(["| ending | because |", "|---|---|", *rows]) + "\n")


def run_files(folder: Path) -> None:
    """Run the example files, where the package is loaded already, and keep what they print beside them."""
    for path in sorted(folder.glob("*.py")):
        printed, told = io.StringIO(), io.StringIO()
        with chdir(folder), redirect_stdout(printed), redirect_stderr(told):
            runpy.run_path(path.name, run_name="__main__")
        if told.getvalue():
            raise RuntimeError(f"{path.name}: {told.getvalue()}")
        path.with_suffix(".txt").write_text(printed.getvalue())


def write(folder: Path) -> None:
    """Write all of them."""
    write_formulations(folder)
    write_endings(folder)
    run_files(folder.parent / "do" / "files")
