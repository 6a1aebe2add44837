"""Which weak learners an ensemble is made of: oracles by name, or anybody's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import signature
from typing import Any, TypeAlias

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from cvxens import validation
from cvxens.colgen import Oracle
from cvxens.colgen.oracles import (
    Fourier,
    KernelColumns,
    ParallelPerceptrons,
    Perceptrons,
    Pool,
    QuantileStumps,
    SklearnLearner,
    Stumps,
    Trees,
)
from cvxens.errors import InvalidInput
from cvxens.estimators.samples import Accepts, Sample

OracleFactory: TypeAlias = Callable[..., Oracle]
"""Makes an oracle from the features of the training sample: `Stumps`, ``partial(Perceptrons, refined=1)``, ..."""

ORACLES: Mapping[str, OracleFactory] = {
    "stumps": Stumps,
    "quantile_stumps": QuantileStumps,
    "perceptrons": Perceptrons,
    "fourier": Fourier,
    "trees": Trees,
}
"""The oracles that have a name."""

ACCEPTS: Mapping[Any, Accepts] = {
    Stumps: Accepts(sparse=("csc",)),
    QuantileStumps: Accepts(sparse=("csc",)),
    Trees: Accepts(missing=True, nominal=True),
    **dict.fromkeys((Perceptrons, ParallelPerceptrons, Fourier, KernelColumns, Pool), Accepts()),
}
"""What our oracles take beyond dense finite numbers."""

AS_GIVEN = ("csr", "csc")
"""The formats of sparse matrices that others' oracles and learners are handed as they are."""

REMEDY = f"give one of {', '.join(map(repr, ORACLES))}, or a function from X to an oracle"
"""What to do about a parameter `oracle` that makes none."""


def find_accepted(oracle: str | OracleFactory) -> Accepts:
    """Return what X may be: a partial function takes what its function does, scikit-learn's what their tags say.

    An oracle that is not ours is handed sparse matrices as they are; what it cannot take, it has to refuse itself.
    """
    factory: Any = ORACLES.get(oracle) if isinstance(oracle, str) else oracle
    function = getattr(factory, "func", factory)
    if function is SklearnLearner:
        return _accepted_by(factory)
    known = (what for ours, what in ACCEPTS.items() if isinstance(function, type) and issubclass(function, ours))
    return next(known, Accepts(sparse=AS_GIVEN if callable(function) else ()))


def _accepted_by(factory: Any) -> Accepts:
    """Return what the learner of a partial `SklearnLearner` takes by its tags; dense finite numbers without one."""
    learners = [given for given in getattr(factory, "args", ()) if isinstance(given, BaseEstimator)]
    if not learners:
        return Accepts()
    tags = get_tags(learners[0]).input_tags
    return Accepts(sparse=AS_GIVEN if tags.sparse else (), missing=tags.allow_nan)


def make_oracle(
    oracle: str | OracleFactory, sample: Sample, *, columns_per_round: int | None = None, **offered: Any
) -> Oracle:
    """Make an oracle over a training sample.

    Parameters
    ----------
    oracle : str or callable
        A key of `ORACLES`, or a function from X to an oracle.
    sample : Sample
        The sample, whose features, masses and number of cases are offered as well.
    columns_per_round : int or None
        If given, the oracle must take it.
    **offered
        Further arguments; an oracle gets those that it takes, unless they are None or it is a partial function that has
        them already.

    Raises
    ------
    InvalidInput
        An unknown oracle, or one that cannot limit its columns per round.
    """
    factory: Any = ORACLES.get(oracle) if isinstance(oracle, str) else oracle
    takes = _arguments(factory, oracle)
    validation.random_state(offered.get("random_state"))
    offered |= {"features": sample.features, "sample_weight": sample.masses, "n_cases": sample.n_given}
    bound = getattr(factory, "keywords", {})
    chosen = {name: value for name, value in offered.items() if name in takes and name not in bound}
    if columns_per_round is not None:
        if "columns_per_round" not in takes:
            raise InvalidInput(
                "columns_per_round",
                f"found {columns_per_round!r} for an oracle that returns what it finds",
                "give None",
            )
        chosen["columns_per_round"] = columns_per_round
    made = factory(sample.X, **{name: value for name, value in chosen.items() if value is not None})
    if not callable(getattr(made, "price", None)):
        raise InvalidInput("oracle", f"found {oracle!r:.100}, which makes {made!r:.100}", REMEDY)
    return made


def _arguments(factory: Any, oracle: Any) -> Collection[str]:
    """Return the names of what a function takes."""
    try:
        return signature(factory).parameters
    except (TypeError, ValueError):
        raise InvalidInput("oracle", f"found {oracle!r:.100}", REMEDY) from None
