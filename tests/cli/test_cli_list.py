"""`cvxens list` leaves nothing out, and says of everything where it is from."""

import inspect

import pytest
from command_line import python, run

from cvxens import kernels, problems, solvers
from cvxens.cli.listing import SOURCES
from cvxens.colgen import masters, oracles
from cvxens.problems import FORMULATIONS, Problem

ORACLES = [name for name in oracles.__all__ if hasattr(getattr(oracles, name), "price")]
MASTERS = [name for name in masters.__all__ if inspect.isclass(getattr(masters, name))]


def test_every_concrete_problem_is_a_formulation():
    exported = [getattr(problems, name) for name in problems.__all__]
    concrete = [it for it in exported if inspect.isclass(it) and issubclass(it, Problem) and not inspect.isabstract(it)]
    assert set(concrete) == set(FORMULATIONS)
    assert len(FORMULATIONS) == len(set(FORMULATIONS))


def test_every_oracle_and_master_is_registered():
    assert list(oracles.ORACLES) == sorted(ORACLES, key=oracles.ORACLES.index)
    assert {master.__name__ for master in masters.MASTERS} == set(MASTERS)


def test_sources_are_complete_and_current():
    assert SOURCES.keys() == {*ORACLES, *MASTERS, *solvers.__all__}
    assert all(SOURCES.values())
    assert all(formulation.source and formulation.equation for formulation in FORMULATIONS)
    assert all(getattr(kernels, name).source for name in kernels.__all__)


@pytest.fixture(scope="module")
def listed():
    done = python("-c", "from cvxens.cli import main; main()", "list")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


NAMES = [formulation.__name__ for formulation in FORMULATIONS]


@pytest.mark.parametrize("name", [*NAMES, *kernels.__all__, *ORACLES, *MASTERS, *solvers.__all__])
def test_everything_is_listed_on_a_line_of_its_own(listed, name):
    lines = [line.split() for line in listed.splitlines()]
    assert [words[0] for words in lines if words].count(name) == 1


def test_each_has_its_source(listed):
    unwrapped = " ".join(listed.split())
    for source in [*SOURCES.values(), *(formulation.source for formulation in FORMULATIONS)]:
        assert source.split()[0] in unwrapped


def test_in_this_process_too(capsys):
    status, out, err = run(capsys, "list")
    assert (status, err) == (0, "")
    for title in ("Formulations", "Kernels", "Oracles", "Masters", "Fast solvers"):
        assert title in out
