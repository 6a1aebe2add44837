"""The README's examples print what the README says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)


def run(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    return printed.getvalue()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize(("code", "expected"), EXAMPLES, ids=["a model", "a solver", "a loss"])
def test_an_example_prints_its_output(code: str, expected: str) -> None:
    """Examples print digits that last, so all is the same to the letter."""
    assert run(code) == expected
