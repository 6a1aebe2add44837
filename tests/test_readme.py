"""The README's examples print what the README says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def run(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    return printed.getvalue()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize(
    ("code", "expected"), EXAMPLES, ids=["ten lines", "for scikit-learn", "certify", "other libraries"]
)
def test_an_example_prints_its_output(code: str, expected: str) -> None:
    """Words are the same to the letter; numbers of any weight to four digits, rounding errors to their smallness."""
    printed = run(code)
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", expected)
    found, wanted = ([float(n) for n in NUMBER.findall(text)] for text in (printed, expected))
    assert found == pytest.approx(wanted, rel=1e-4, abs=2e-5)
