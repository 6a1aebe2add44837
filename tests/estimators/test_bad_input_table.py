"""Bad inputs of every kind for every public estimator: each is refused by name, and leaves nothing behind."""

import inspect
from copy import copy
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from bad_inputs import (
    FITS,
    NEW_NAMES,
    NEW_SAMPLES,
    PARAMETERS,
    REGRESSIONS,
    SAMPLES,
    TAKES_CONSTANTS,
    TAKES_MISSING,
    TAKES_NOMINAL,
    WEIGHTS,
)
from public_estimators import CLASSIFIERS, PUBLIC, TARGETS, X, Y, fitted
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from cvxens.errors import InvalidInput

ERRORS = (ValueError, TypeError)
REGRESSORS = [name for name in PUBLIC if is_regressor(PUBLIC[name])]


def refusing(case):
    """The estimators that do not take missing values or nominal features, where the case is of these."""
    tags = {name: estimator.__sklearn_tags__().input_tags for name, estimator in PUBLIC.items()}
    takes = {
        name: (TAKES_MISSING if own.allow_nan else set())
        | (TAKES_NOMINAL if own.categorical else set())
        | ({"sparse with NaN"} if own.allow_nan and own.sparse else set())
        for name, own in tags.items()
    }
    return [name for name in PUBLIC if case not in takes[name]]


def assert_refuses(estimator, use, error, message):
    """`use` raises the error that says so, and the estimator is what it was."""
    before = dict(vars(estimator))
    with pytest.raises(error, match=message) as caught:
        use(estimator)
    assert vars(estimator).keys() == before.keys()
    assert all(vars(estimator)[name] is before[name] for name in before)
    return caught.value


def assert_refuses_to_fit(name, message, *data, **weights):
    """One that is not fitted is not fitted then; one that is says what it said."""
    assert_refuses(clone(PUBLIC[name]), lambda estimator: estimator.fit(*data, **weights), ERRORS, message)
    again = copy(fitted(name))
    assert_refuses(again, lambda estimator: estimator.fit(*data, **weights), ERRORS, message)
    np.testing.assert_array_equal(again.predict(X[:2]), fitted(name).predict(X[:2]))


@pytest.mark.parametrize("case", SAMPLES)
def test_samples(case):
    bad, message = SAMPLES[case]
    for name in refusing(case):
        assert_refuses_to_fit(name, message, bad, TARGETS[name])


@pytest.mark.parametrize("case", {**FITS, **REGRESSIONS})
def test_samples_with_classes_or_values(case):
    *data, message = FITS.get(case) or REGRESSIONS[case]
    for name in CLASSIFIERS if case in FITS else REGRESSORS:
        if not (case == "constant features" and name in TAKES_CONSTANTS):
            assert_refuses_to_fit(name, message, *data)


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights(case):
    weights, message = WEIGHTS[case]
    weighted = [name for name in PUBLIC if has_fit_parameter(PUBLIC[name], "sample_weight")]
    assert len(weighted) >= 9
    for name in weighted:
        if name in CLASSIFIERS or case != "none for a class":
            assert_refuses_to_fit(name, message, X, TARGETS[name], sample_weight=weights)


def test_every_parameter_has_wrong_values():
    named = {parameter for estimator in PUBLIC.values() for parameter in estimator.get_params(deep=False)}
    assert named == PARAMETERS.keys()


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("name", "parameter"), [(name, parameter) for name in PUBLIC for parameter in PUBLIC[name].get_params(deep=False)]
)
def test_parameters(name, parameter):
    kernel = {"kernel": "gaussian"} if parameter == "gamma" and name == "InfiniteEnsembleSVC" else {}
    default = getattr(type(PUBLIC[name])(), parameter)
    for value in PARAMETERS[parameter]:
        # None where it is the default, and the hard margin of TK07
        if value is not default and not (value is np.inf and default == np.inf):
            estimator = copy(fitted(name)).set_params(**kernel, **{parameter: value})
            fit = partial(type(estimator).fit, X=X, y=TARGETS[name])
            assert assert_refuses(estimator, fit, InvalidInput, rf"^{parameter}: found").argument == parameter


def used(model, use, *data):
    value = getattr(model, use)
    answer = value(*data) if callable(value) else value
    return list(answer) if inspect.isgenerator(answer) else answer


def uses_of_new_samples(name):
    uses = ("predict", "decision_function", "predict_proba", "staged_decision_function", "staged_predict")
    return [use for use in uses if hasattr(PUBLIC[name], use)]


@cache
def fitted_by_names(name):
    return clone(PUBLIC[name]).fit(pd.DataFrame(X, columns=["a", "b", "c"]), TARGETS[name])


@pytest.mark.parametrize("case", NEW_SAMPLES)
def test_new_samples(case):
    bad, message = NEW_SAMPLES[case]
    make = fitted_by_names if hasattr(bad, "columns") else fitted
    for name in refusing(case):
        for use in uses_of_new_samples(name):
            assert_refuses(copy(make(name)), lambda model, use=use: used(model, use, bad), ERRORS, message)


@pytest.mark.parametrize("case", NEW_NAMES)
def test_features_by_other_names(case):
    frame = pd.DataFrame(X, columns=NEW_NAMES[case])
    for name in PUBLIC:
        for use in uses_of_new_samples(name):
            model = copy(fitted_by_names(name))
            assert_refuses(model, lambda model, use=use: used(model, use, frame), ValueError, "feature names")


ARGUMENTS = {
    "bands": (X, Y),
    "certify": (X, Y),
    "prove": (X, Y),
    "predict": (X,),
    "decision_function": (X,),
    "predict_proba": (X,),
    "staged_decision_function": (X,),
    "staged_predict": (X,),
    "predict_cumulative_hazard_function": (X,),
    "predict_survival_function": (X,),
    "get_rules": (X, Y),
    "report": ("never_written.html",),
    "score": (X, Y),
    "save": ("nowhere",),
    "to_frame": (),
    "to_text": (),
}

BEFORE_A_FIT = {"get_params", "set_params", "get_metadata_routing", "load", "set_callbacks", "default_forest"}


def uses_of_a_fit(name):
    """The public methods and properties of an estimator that want it fitted."""
    others = {"fit", *BEFORE_A_FIT, *inspect.signature(type(PUBLIC[name])).parameters}
    for use, value in inspect.getmembers_static(type(PUBLIC[name])):
        own = not use.startswith("_") and use not in others and not use.endswith("_request")
        if own and (callable(value) or hasattr(value, "__get__")):
            yield use


AVAILABLE_IF = type(available_if(bool)(len))


@pytest.mark.parametrize("name", PUBLIC)
def test_unfitted_use(name):
    for use in uses_of_a_fit(name):
        offered = inspect.getattr_static(type(PUBLIC[name]), use)
        plain = isinstance(offered, property)
        if isinstance(offered, AVAILABLE_IF) and not hasattr(PUBLIC[name], use):
            # what a parameter would have to ask for is not there, and says of which
            assert_refuses(PUBLIC[name], lambda model, use=use: getattr(model, use), AttributeError, "has no")
            continue
        error = (NotFittedError, AttributeError) if plain else NotFittedError
        model = clone(PUBLIC[name])
        assert_refuses(model, lambda model, use=use: used(model, use, *ARGUMENTS.get(use, ())), error, "fitted")


def test_there_are_hundreds_of_kinds():
    assert len(PUBLIC) >= 15
    assert sum(map(len, (SAMPLES, FITS, REGRESSIONS, WEIGHTS, NEW_SAMPLES, NEW_NAMES))) >= 110
    assert sum(map(len, PARAMETERS.values())) >= 200
