"""The fuzzer of formulations: it finds no lie in a part of them, and would find one."""

from dataclasses import replace

import formulations
import numpy as np
import pytest
from formulations import check, draw, find_truth, fuzz

PLACES, EACH = 6, 5


@pytest.mark.parametrize("place", range(PLACES))
def test_no_bound_is_above_the_optimum_and_no_end_is_false(place):
    found, kinds = fuzz(range(place, PLACES * EACH, PLACES))
    assert found == {}
    assert kinds["OPTIMAL, proven"] > EACH / 2


@pytest.mark.parametrize("number", [1145, 1180, 5324], ids=["rows", "squares", "a side of some features"])
def test_what_was_found_is_mended(number):
    """With w >= 0 over several outputs h and -h may both improve: runs ended early, or were called optimal."""
    wrong, kind = check(number)
    assert wrong == ""
    assert "OPTIMAL" in kind or "EXHAUSTED" in kind


def test_all_kinds_are_drawn():
    texts = " ".join(draw(number).text for number in range(300))
    for word in ("known", "expression", "union", "one-sided", "costs", "signs", "constrained", "outputs", "w >= 0"):
        assert word in texts


def test_a_number_draws_the_same_again():
    first, second = draw(5), draw(5)
    assert first.text == second.text
    assert np.array_equal(first.H, second.H)
    assert find_truth(first) == find_truth(second)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"dual": 1.01}, "above the optimum"),
        ({"primal": 0.99}, "below the optimum"),
        ({"primal": 1.01}, "OPTIMAL at"),
    ],
)
def test_lies_are_found(monkeypatch, changed, told):
    generate = formulations.column_generation

    def lie(*args, **kwargs):
        run = generate(*args, **kwargs)
        values = {name: factor * getattr(run.certificate, name) for name, factor in changed.items()}
        return replace(run, certificate=replace(run.certificate, **values))

    monkeypatch.setattr(formulations, "column_generation", lie)
    assert told in check(0)[0]


def test_errors_are_told(monkeypatch, capsys):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(formulations, "column_generation", broken)
    assert formulations.main(1)
    told = capsys.readouterr().out
    assert told.startswith("0  ZeroDivisionError: by zero [")
    assert told.endswith("ends: error 1\n")
