"""The differential fuzzer: it finds nothing in a part of its problems, and would find what is wrong."""

from dataclasses import replace

import fuzzer
import numpy as np
import pytest
from fuzzer import KINDS, check, draw_problem, fuzz

from cvxens.errors import NotSeparable
from cvxens.problems import FORMULATIONS

FIRST, PER_KIND = 0, 40


def test_every_formulation_is_drawn():
    assert {type(draw_problem(number).problem) for number in range(len(KINDS))} >= set(FORMULATIONS)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda kind: f"{kind}-{KINDS[kind].__name__}")
def test_no_disagreement(kind):
    found, alone = fuzz(range(FIRST + kind, FIRST + PER_KIND * len(KINDS), len(KINDS)))
    assert found == {}
    assert sum(alone.values()) < PER_KIND / 2


def test_a_number_draws_the_same_problem_again():
    for number in (1, 4, 14):
        first, second = (
            draw_problem(number).problem.H.scores(np.ones(draw_problem(number).problem.H.shape[1])) for _ in range(2)
        )
        assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda objective, certificate: (objective * (1 + 3e-6) + 1e-9, certificate), "off 3"),
        (lambda objective, certificate: (objective, replace(certificate, proven=False)), "gap inf"),
        (lambda objective, certificate: (objective, replace(certificate, gap=1e-5 * objective)), "gap 1e-05"),
        (lambda objective, certificate: (objective, replace(certificate, gap=-1e-3)), "gap inf"),
    ],
)
def test_what_is_wrong_is_found(monkeypatch, answer, told):
    problem = draw_problem(0)
    scaled = replace(problem, scale=0.0, fast=lambda: answer(*problem.fast()))
    monkeypatch.setattr(fuzzer, "draw_problem", lambda number: scaled)
    assert told in check(0)[0]


@pytest.mark.parametrize("error", [NotSeparable(np.ones(2) / 2, 0.0), ZeroDivisionError("by zero")])
def test_errors_are_disagreements(monkeypatch, error):
    problem = draw_problem(0)

    def fast():
        raise error

    monkeypatch.setattr(fuzzer, "draw_problem", lambda number: replace(problem, fast=fast))
    assert check(0)[0]


def test_the_program_tells_what_it_found(capsys, monkeypatch):
    assert not fuzzer.main(3)
    assert capsys.readouterr().out.startswith("0 disagreements in 3 problems from 0")
    monkeypatch.setattr(fuzzer, "check", lambda number: ("off", number != 1))
    assert fuzzer.main(2)
    told = capsys.readouterr().out
    assert told.startswith("0  svm_primal: off\n1  svm_by_columns: off\n2 disagreements")
    assert told.endswith("reference: svm_by_columns 1\n")
