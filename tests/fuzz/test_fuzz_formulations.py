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


FOUND = {
    "rows": 1145,
    "squares": 1180,
    "a side of some features": 5324,
    "weights that begin on a simplex": 8005,
    "the same where a constant score is at a limit": 8017,
    "squares of edges below 0": 8090,
    "the same of stumps": 20476,
    "the same over several outputs": 20261,
    "edges below 0 in rows": 8027,
    "the same in a union": 20490,
    "h and -h of some features alone": 20248,
}


@pytest.mark.parametrize("number", FOUND.values(), ids=FOUND)
def test_what_was_found_is_mended(number):
    assert check(number) == ("", "OPTIMAL, proven")


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
