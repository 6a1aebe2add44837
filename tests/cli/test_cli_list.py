"""`cvxens list` leaves nothing out, and says of everything where it is from."""

import importlib.util
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest
from command_line import run

from cvxens import estimators, kernels, problems, solvers
from cvxens.cli.reports import read_names
from cvxens.colgen import masters, oracles
from cvxens.problems import FORMULATIONS, Problem
from cvxens.solvers import additive


def exported(room, attribute):
    """The classes and functions that a room exports and that have an attribute, by name."""
    things = {name: getattr(room, name) for name in room.__all__}
    return {name: thing for name, thing in things.items() if callable(thing) and hasattr(thing, attribute)}


ESTIMATORS = exported(estimators, "fit")
KERNELS = {name: getattr(kernels, name) for name in kernels.__all__ if name != "Kernel"}
ORACLES = exported(oracles, "price")
MASTERS = exported(masters, "bound")
SOURCES = {name: source for entries in read_names().values() for name, _, source in entries}
SOLVERS = [name for room in (solvers, additive) for name in room.__all__ if inspect.isfunction(getattr(room, name))]


def test_every_concrete_problem_is_a_formulation():
    things = [getattr(problems, name) for name in problems.__all__]
    kinds = {it for it in things if inspect.isclass(it) and issubclass(it, Problem) and not inspect.isabstract(it)}
    assert kinds - {Problem} == set(FORMULATIONS)
    assert len(FORMULATIONS) == len(set(FORMULATIONS))


def test_every_function_of_the_solvers_has_a_source():
    assert [name for name in SOLVERS if not SOURCES.get(name)] == []


@pytest.mark.parametrize("things", [ESTIMATORS, KERNELS, ORACLES, MASTERS])
def test_all_else_says_itself_where_it_is_from(things):
    assert len(things) > 3
    assert [name for name, thing in things.items() if not getattr(thing, "source", "")] == []


def test_every_master_that_is_chosen_from_is_exported():
    assert {master.__name__ for master in masters.MASTERS} <= MASTERS.keys()


def test_every_formulation_has_an_equation_and_a_source():
    assert all(formulation.source and formulation.equation for formulation in FORMULATIONS)


def test_the_file_says_what_the_rooms_say():
    spec = importlib.util.spec_from_file_location("names", Path(__file__).parents[2] / "docs" / "names.py")
    spec.loader.exec_module(names := importlib.util.module_from_spec(spec))
    assert read_names() == names.describe_rooms(), "run python docs/names.py"


NAMES = [*ESTIMATORS, *(formulation.__name__ for formulation in FORMULATIONS), *KERNELS, *ORACLES, *MASTERS, *SOLVERS]


def test_everything_is_listed_on_a_line_of_its_own_with_its_source(capsys):
    status, listed, err = run(capsys, "list")
    assert (status, err) == (0, "")
    # names are two spaces from the margin, and what is wrapped is further in
    shown = Counter(line.split()[0] for line in listed.splitlines() if re.match(r"  \S", line))
    assert {name: shown[name] for name in NAMES} == dict(Counter(NAMES))
    unwrapped = " ".join(listed.split())
    things = [*ESTIMATORS.values(), *FORMULATIONS, *KERNELS.values(), *ORACLES.values(), *MASTERS.values()]
    for source in [*map(SOURCES.get, SOLVERS), *(thing.source for thing in things)]:
        assert source.split()[0] in unwrapped
