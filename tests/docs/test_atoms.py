"""The page of expressions is what `docs/atoms.py` writes of its record; one row of five is solved again."""

import json
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date():
    page, text = runpy.run_path(str(DOCS / "atoms.py")), (DOCS / "know" / "atoms.md").read_text()
    found = [tuple(line[3:].split(" | ")[:5]) for line in text.splitlines() if line.startswith("| `")]
    found = [(code.rstrip("`"), *cells) for code, *cells in found]
    assert [code for code, *_ in found] == [atom.text for atom in page["atoms"].ATOMS]
    assert page["write"](json.loads((DOCS / "atoms.json").read_text()), found) == text
    assert page["describe_all"](slice(4, None, 5)) == found[4::5]
