"""Parameters as fields: every estimator documents all of them, and the attributes of its fits, once."""

import inspect
import re
from dataclasses import KW_ONLY, dataclass, field

import pytest
from public_estimators import PUBLIC, fitted

from cvxens.estimators.base import estimator


def entries(kind, title):
    """The names that a section of a docstring lists, in its order."""
    section = re.search(rf"^{title}\n-+\n(.*?)(?:\n\n|\Z)", inspect.getdoc(kind), re.DOTALL | re.MULTILINE)
    return re.findall(r"^(\w+(?:, \w+)*) : ", section[1], re.MULTILINE) if section else []


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_documented_once(name):
    kind = type(PUBLIC[name])
    assert (
        sorted(entries(kind, "Parameters"))
        == sorted(inspect.signature(kind).parameters)
        == sorted(PUBLIC[name].get_params(deep=False))
    )


@pytest.mark.parametrize("name", PUBLIC)
def test_every_attribute_of_a_fit_is_documented_once(name):
    listed = entries(type(PUBLIC[name]), "Attributes")
    assert len(set(listed)) == len(listed)
    public = {found for found in vars(fitted(name)) if found.endswith("_") and not found.startswith("_")}
    assert public <= set(listed)


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_positional_comes_first(name):
    kind = type(PUBLIC[name])
    given = inspect.signature(kind).parameters.items()
    positional = [key for key, found in given if found.kind is not found.KEYWORD_ONLY]
    assert entries(kind, "Parameters")[: len(positional)] == positional


@dataclass(eq=False, repr=False)
class Base:
    """A base.

    Parameters
    ----------
    shared : int
        Of all.
    own : int
        Of the base.

    Attributes
    ----------
    found_ : int
        By the base.
    """

    found_: int = field(init=False)
    _: KW_ONLY
    shared: int = 1
    own: int = 2


@estimator
class Derived(Base):
    """One of them.

    Parameters
    ----------
    own : float
        Of the class.

    Notes
    -----
    The rest.
    """

    own: float = 0.5


def test_the_words_of_a_class_replace_those_of_its_bases():
    assert entries(Derived, "Parameters") == ["own", "shared"]
    assert "own : float\n    Of the class." in Derived.__doc__
    assert "Of the base" not in Derived.__doc__
    assert Derived.__doc__.index("Attributes") < Derived.__doc__.index("Notes")
    assert Derived.fitted == ("found_",)
    assert Base.__doc__.startswith("A base.\n\n    Parameters")
