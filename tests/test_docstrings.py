"""Docstrings made of parts: formulations and kernels list every parameter once, whatever base documents it."""

import inspect
import re

import pytest

from cvxens import kernels
from cvxens.docstrings import documented
from cvxens.problems import FORMULATIONS, EntropyProjection

KERNELS = [getattr(kernels, name) for name in kernels.__all__ if inspect.isclass(getattr(kernels, name))]


def listed(kind):
    """The names of the section Parameters, in its order."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n|\Z)", inspect.getdoc(kind), re.DOTALL | re.MULTILINE)
    entries = re.findall(r"^(\w+(?:, \w+)*) : ", section[1], re.MULTILINE) if section else []
    return [name for entry in entries for name in entry.split(", ")]


@pytest.mark.parametrize("kind", [*FORMULATIONS, *(kind for kind in KERNELS if kind is not kernels.Kernel)])
def test_every_parameter_is_listed_once_in_the_order_of_the_signature(kind):
    assert listed(kind) == list(inspect.signature(kind).parameters)


@pytest.mark.parametrize("kind", [kind for kind in FORMULATIONS if kind is not EntropyProjection])
def test_a_loss_with_a_penalty_shows_its_equation_and_source(kind):
    assert f"\n\n``{kind.equation}`` ({kind.source}).\n\n" in kind.__doc__


class Base:
    """A base.

    Parameters
    ----------
    low, high : float
        The ends.
    scale : float
        Of the base.

    Notes
    -----
    Its own.
    """


@documented
class Derived(Base):
    """One of them.

    Parameters
    ----------
    scale : int
        Of the class.

    Examples
    --------
    Some.
    """

    def __init__(self, scale, high): ...


def test_own_words_come_before_those_of_bases_and_only_what_there_is_is_listed():
    assert Derived.__doc__ == (
        "One of them.\n\n"
        "Parameters\n----------\nscale : int\n    Of the class.\nhigh : float\n    The ends.\n\n"
        "Examples\n--------\nSome."
    )
    assert listed(Base) == ["low", "high", "scale"]
