"""Trees and rules: a part of the random cases, and that a wrong answer would be found."""

from dataclasses import replace

import numpy as np
import pytest
from interactions import KINDS, check, check_pricing, draw

PLACES, EACH = 4, 30


@pytest.mark.parametrize("place", range(PLACES))
def test_answers_are_those_of_the_whole_list(place):
    assert [text for number in range(place, PLACES * EACH, PLACES) for text in check(number)] == []


def test_all_kinds_are_drawn_the_same_again():
    cases = [draw(number) for number in range(100, 112)]
    texts = " ".join(case.text for case in cases)
    assert all(kind in texts for kind, *_ in KINDS)
    again = [draw(number) for number in range(100, 112)]
    assert all(np.array_equal(one.H, other.H) for one, other in zip(cases, again, strict=True))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"edge_bound": 0.9}, "a bound below the edge"),
        ({"outside_bound": 1.1}, "bound outside"),
        ({"edge_square_sum": 0.9}, "sum of squares"),
    ],
)
def test_lies_are_found(monkeypatch, changed, told):
    case = draw(4)
    answer = case.oracle.price

    def lie(s, exclude=()):
        priced = answer(s, exclude)
        return replace(priced, **{name: factor * getattr(priced, name) for name, factor in changed.items()})

    monkeypatch.setattr(case.oracle, "price", lie)
    assert told in " ".join(check_pricing(case, 4))
