"""Variants in at most ten lines each: proven over all stumps, equal to an enumeration, written down in docs."""

import re
import runpy
from pathlib import Path

import pytest
import variants
from variants import VARIANTS, check

PAGE = Path(__file__).parent.parent / "docs" / "variants.py"


# neighbours are alike
@pytest.mark.thinned(name=VARIANTS, where=lambda name: list(VARIANTS).index(name) % 3 > 0)
def test_it_is_proven_and_is_the_optimum_over_all_columns(name):
    assert check(list(VARIANTS).index(name)) == ("", [name])


def test_every_page_tells_how_many_there_are():
    root = PAGE.parent.parent
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    told = [n for page in pages for n in re.findall(r"\[([^]]*)\]\([\w./]*variants\.md\)", page.read_text())]
    counts = [n.removesuffix(" variants") for n in told if n.endswith(" variants")]
    assert len(counts) >= 3
    assert set(counts) == {str(len(VARIANTS))}


def test_they_have_at_most_ten_lines():
    assert max(len(each.code.splitlines()) for each in VARIANTS.values()) <= 10
    assert len({each.formula for each in VARIANTS.values()}) == len(VARIANTS)


def test_the_page_is_up_to_date():
    page = runpy.run_path(str(PAGE))
    assert page["write"]() == PAGE.with_suffix(".md").read_text()


def test_what_is_wrong_is_told(monkeypatch):
    solve = variants.solve
    monkeypatch.setattr(variants, "solve", lambda name, d: (solve(name, d)[0], 0.0))
    wrong, _ = check(0)
    assert wrong.startswith("soft_margin_boosting: ")
    assert " for 0, OPTIMAL" in wrong
