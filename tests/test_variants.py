"""Variants in at most ten lines each: proven over all stumps, equal to an enumeration, written down in docs."""

import re
import runpy
from pathlib import Path

import pytest
import variants
from variants import VARIANTS, make_data, solve

DATA = make_data(16)
PAGE = Path(__file__).parent.parent / "docs" / "variants.py"


@pytest.mark.parametrize("name", VARIANTS)
def test_it_is_proven_and_is_the_optimum_over_all_columns(name):
    run, optimum = solve(name, DATA)
    assert run.certificate.holds(1e-6)
    assert run.certificate.primal == pytest.approx(optimum, rel=1e-6, abs=1e-9)


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


def test_the_command_tells_how_each_ends(capsys, monkeypatch):
    assert not variants.main(12, "lasso")
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("lasso   ")
    assert " proven gap" in told[0]
    assert told[1] == "1 variants, 0 not as they should be"
    monkeypatch.setitem(VARIANTS, "broken", variants.Variant("broken", "", "", lambda d: 1 / 0))
    assert variants.main(12, "broken")
    assert "broken                           ZeroDivisionError" in capsys.readouterr().out
