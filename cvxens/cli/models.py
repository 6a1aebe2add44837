"""Estimators by name, their parameters as they are typed, and what becomes of their warnings and errors."""

from __future__ import annotations

import warnings
from ast import literal_eval
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from math import nan
from typing import Any

import click

from cvxens import estimators
from cvxens.errors import CvxensError, InvalidInput
from cvxens.tables import NominalColumn, NumericColumn, TableEncoder


def named_estimator(name: str, parameters: Sequence[str]) -> Any:
    """An estimator of a name, in any case, with parameters such as "C=0.1".

    Raises
    ------
    InvalidInput
        There is no such estimator, or parameter.
    """
    kinds = {key: kind for key in estimators.__all__ if hasattr(kind := getattr(estimators, key), "fit")}
    found = next((kind for key, kind in kinds.items() if key.lower() == name.lower()), None)
    if found is None:
        close = [key for key in kinds if name.lower() in key.lower()] or get_close_matches(name, kinds, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"name one of {', '.join(kinds)}"
        raise InvalidInput("--model", f"found {name!r}", remedy)
    estimator = found()
    known = estimator.get_params(deep=False)
    for parameter in parameters:
        key, separator, value = parameter.partition("=")
        if key not in known or not separator:
            raise InvalidInput("--param", f"found {parameter!r}", f"give name=value for one of {', '.join(known)}")
        estimator.set_params(**{key: typed(value)})
    return estimator


def typed(text: str) -> Any:
    """A value as Python writes it: a number, True, None, a dict, ...; any other text stands for itself."""
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return text


@contextmanager
def told(argument: str) -> Iterator[list[str]]:
    """Print warnings as lines on standard error, and collect them; make errors that scikit-learn raises ours."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield messages
        except CvxensError:
            raise
        except (TypeError, ValueError) as error:
            raise InvalidInput(argument, f"found what the model cannot use ({error})", "change it") from None
        finally:
            messages += [str(warning.message) for warning in caught]
            for message in messages:
                click.echo(f"warning: {message}", err=True)


def encoder_of(model: Any) -> TableEncoder | None:
    """How a model takes tables: by the coding that it has learnt, or by the names that its features had in Python."""
    encoder: TableEncoder | None = getattr(model, "encoder_", None)
    if encoder is not None or not hasattr(model, "feature_names_in_"):
        return encoder
    nominal = {f.name: f.categories for f in getattr(model, "features_", ()) if f.categories is not None}
    names = [str(name) for name in model.feature_names_in_]
    columns = [NominalColumn(n, nominal[n]) if n in nominal else NumericColumn(n, nan) for n in names]
    return TableEncoder(tuple(columns), raw=True)


def certificates_of(found: Any) -> list[Any]:
    """The certificates of the sub-problems, or the only one."""
    return list(found) if isinstance(found, list | tuple) else [found]
