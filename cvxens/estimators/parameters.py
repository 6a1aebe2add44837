"""Parameters of estimators: fields of dataclasses, declared once and documented once; and what former ones became.

A base class declares the parameters that its estimators share as keyword-only fields, and the fitted attributes as
fields that the constructor does not take, and documents both in its own docstring. `estimator` makes the class that
users see: scikit-learn finds the parameters in the signature of the constructor that `dataclass` writes, and readers
find all of them in the docstring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, dataclass_transform

from cvxens.docstrings import compose, read_entries
from cvxens.errors import InvalidInput

T = TypeVar("T")

STOP = "run cvxens.colgen.column_generation with callback=StopEarly(...), or stop by set_callbacks"

SEARCHED = "wrap it: cvxens.PriceSearchCV(model, {0}=...), or leave it out and give C='auto'"

FORMER = {
    **{name: SEARCHED.format(name) for name in ("cv", "scoring", "one_standard_error", "average")},
    "calibration": "wrap it: sklearn.calibration.CalibratedClassifierCV(model, ensemble=False)",
    "early_stopping": STOP,
    "validation_fraction": STOP,
    "n_iter_no_change": STOP,
    "multi_class": "each class is a problem against the rest; for pairs: sklearn.multiclass.OneVsOneClassifier(model)",
    "monotone": "give constraints=[Monotone({feature: 1})], of cvxens",
    "curvature": "give constraints=[Convex(feature)] or [Concave(feature)], of cvxens",
    "interactions": "give constraints=[Interactions(groups)], of cvxens",
}
"""What to do in place of the parameters that there were."""


class Shared:
    """What parameters mean that several bases declare.

    Parameters
    ----------
    oracle : str or callable
        The weak learners: "stumps" (all middle stumps), "quantile_stumps" (at most 32 per feature), "depth_two_trees"
        (all trees of depth 2 over at most 64 bins per feature), "depth_three_trees" (those of depth 3 over 16 bins),
        "pair_rules" (all rules of at most two conditions over 64 bins), "boxes" (all conjunctions of at most three
        intervals over 16 bins), "ramps" (straight lines that begin or end anywhere), "perceptrons", "fourier", "trees"
        (as C4.5 grows them), or a function from X to an oracle, such as ``oracles.Stumps`` or
        ``functools.partial(oracles.Boxes, max_length=2)``; boosting takes values within
        [-1, 1]. The first six take sparse X, and as "trees" does NaN: a missing value counts as above in some weak
        learners, as below in others, and there are tests for it. The first two and "trees" take data frames with
        columns of categories, strings or booleans, whose values `features_` then lists: of a nominal feature there are
        the tests of one level against the rest, or of any levels with
        ``functools.partial(oracles.Stumps, levels="subsets")``. Classifiers of scikit-learn, as in
        ``functools.partial(oracles.SklearnLearner, DecisionTreeClassifier(max_depth=2))``, take what they take by
        themselves, and oracles of your own are handed sparse X as it is (CSR or CSC). Those that are sampled or
        learned, such as perceptrons, Fourier features, "trees" and these classifiers, are heuristic: nothing is proven
        over all of them.
    random_state : int, RandomState instance or None
        Seed of an oracle that samples.
    max_time : float, optional
        Stop, with a ConvergenceWarning, after so many seconds; of each sub-problem where there are several. Ctrl-C
        does the same: what is done is kept. What is compiled at the first fit of all counts: up to some ten seconds.
    verbose : int
        1 shows progress on the standard error. From scikit-learn 1.9 on, its callbacks can follow: `set_callbacks`.
    class_weight : dict, "balanced" or None
        Factors on the price of a class's slack; "balanced" gives all classes the same sum. However light a class is, it
        decides among ensembles that are equal on the others: AdaBoost, LPBoost and MultiBoost, whose optima are of few
        stumps, put a threshold at the last sample of a class of 1e7 times the weight, and new ones beyond it go to the
        other class. So they fail scikit-learn's check_class_weight_classifiers (0.82 of new samples in place of 0.87;
        AdaBoostClassifier of scikit-learn has the same 0.82), which declares it as expected.
    n_jobs : int, optional
        Sub-problems fitted at a time, as joblib counts.
    """


def refuse_former(method: Callable[..., T]) -> Callable[..., T]:
    """Make a method raise `InvalidInput` for a parameter that is none any more, with what took its place."""

    @wraps(method)
    def refusing(self: Any, *args: Any, **given: Any) -> T:
        for name in FORMER.keys() & given.keys() - {own.name for own in fields(self)}:
            raise InvalidInput(name, f"found {given[name]!r:.100} for what is no parameter any more", FORMER[name])
        return method(self, *args, **given)

    return refusing


@dataclass_transform(eq_default=False)
def estimator(kind: type[T]) -> type[T]:
    """Make a dataclass of an estimator, and complete its docstring by the parameters and attributes that it inherits.

    Positional parameters come first, then those of the class itself, then those of its bases; last those that
    `Shared` documents, or the class variable `local`, where an estimator stands for one of that class on more than one
    machine.
    The class variable `fitted` gets the names of the fields that are no parameters.

    Examples
    --------
    >>> from dataclasses import field
    >>> @dataclass
    ... class Limited:
    ...     '''Fits with a limit.
    ...
    ...     Parameters
    ...     ----------
    ...     max_time : float
    ...         Seconds.
    ...     '''
    ...
    ...     max_time: float = field(default=10.0, kw_only=True)
    >>> @estimator
    ... class Machine(Limited):
    ...     '''A machine.
    ...
    ...     Parameters
    ...     ----------
    ...     C : float
    ...         The price of slack.
    ...     '''
    ...
    ...     C: float = 1.0
    >>> list(signature(Machine).parameters)
    ['C', 'max_time']
    >>> [line for line in Machine.__doc__.splitlines() if " : " in line]
    ['C : float', 'max_time : float']
    """
    kind = dataclass(eq=False, repr=False)(kind)
    for name in {"__init__", "set_params"} & set(dir(kind)):
        setattr(kind, name, refuse_former(getattr(kind, name)))
    positional = [name for name, found in signature(kind).parameters.items() if found.kind is not found.KEYWORD_ONLY]
    bases = [base for base in kind.__mro__ if is_dataclass(base)]
    fitted = [f.name for f in fields(kind) if not f.init and not f.name.startswith("_")]  # type: ignore[arg-type]
    like: type = getattr(kind, "local", object)
    rest = [*signature(kind).parameters], fitted if like is not object else []
    parameters, attributes = (
        dict.fromkeys([*first, *(name for base in bases for name in read_entries(base, title)), *last])
        for title, first, last in zip(("Parameters", "Attributes"), (positional, []), rest, strict=True)
    )
    compose(kind, Shared, like, Parameters=parameters, Attributes=attributes)
    kind.fitted = tuple(fitted)  # type: ignore[attr-defined]
    return kind
