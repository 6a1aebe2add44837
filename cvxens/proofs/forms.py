"""Formulations, points and features in the checker's words: rational prices, weights and multipliers, and numbers.

The checker knows stumps of numbers alone. Those of a column with gaps are stumps of two features: in one, missing
values are the least number of the column, so below every threshold; in the other they are above all, so that one
threshold more tells them from the others. The test of a level is the stump of its indicator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, lcm
from typing import Any, NamedTuple

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.hypotheses import LevelStump, Stump
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Exponential, HardMargin, Hinge, Logistic, SoftMinimumMargin
from cvxens.problems.penalties import L1, Simplex, SquaredL2
from cvxens.proofs import checker
from cvxens.types import Array

LOSSES: Mapping[type, tuple[str, Callable[..., Any]]] = {
    Hinge: ("hinge", lambda loss: loss.C),
    HardMargin: ("hard", lambda _: 1.0),
    SoftMinimumMargin: ("soft minimum", lambda loss: loss.D),
    Exponential: ("exponential", lambda loss: loss.C),
    Logistic: ("logistic", lambda loss: loss.C),
}
PENALTIES: Mapping[type, tuple[str, Callable[..., float]]] = {
    L1: ("l1", lambda penalty: penalty.weight),
    SquaredL2: ("squared l2", lambda penalty: penalty.weight),
    Simplex: ("simplex", lambda _: 1.0),
}

LINEAR = {("hinge", "l1"), ("hard", "l1"), ("soft minimum", "simplex")}
"""Losses and penalties whose minimum over columns is a linear program that is solved and written here."""

Term = tuple[int | None, float | None, float]
"""A feature and a threshold with the weight of that stump; None for both stands for the constant +1."""

Key = tuple[int | None, float | None]
"""The feature and the threshold of a term."""


@dataclass(frozen=True)
class Form:
    """A formulation in the checker's words, with rational prices, one for each sample."""

    loss: str
    prices: list[Fraction]
    penalty: str
    weight: Fraction
    intercept: bool
    hypotheses: str
    gamma: Fraction = Fraction(0)
    scales: Sequence[float] = ()

    @classmethod
    def from_formulation(cls, formulation: Formulation, n_samples: int, over: str) -> Form:
        """Read a formulation; InvalidInput for terms that no exact proof is known for."""
        if over not in checker.HYPOTHESES:
            raise InvalidInput("over", f"found {over!r}", f"name one of {', '.join(checker.HYPOTHESES)}")
        loss, penalty = formulation.terms
        for name, term, known in (("loss", loss, LOSSES), ("penalty", penalty, PENALTIES)):
            if type(term) not in known:
                remedy = f"give one of {', '.join(kind.__name__ for kind in known)}: others cannot be proven exactly"
                raise InvalidInput("formulation", f"found the {name} {type(term).__name__}", remedy)
        (loss_name, price), (penalty_name, weight) = LOSSES[type(loss)], PENALTIES[type(penalty)]
        prices = _read_prices(np.ravel(price(loss)).tolist())
        return cls(
            loss_name,
            prices * n_samples if len(prices) == 1 else prices,
            penalty_name,
            simplest(weight(penalty)),
            formulation.intercept,
            over,
        )

    @property
    def is_pool(self) -> bool:
        """True if the hypotheses are the columns of X."""
        return "pool" in self.hypotheses

    def to_document(self) -> dict[str, Any]:
        """Return the formulation as a proof file has it."""
        numerators, denominator = to_integers(self.prices[:1] if len(set(self.prices)) == 1 else self.prices)
        return {
            "loss": self.loss,
            "prices": list(map(str, [denominator, *numerators])),
            "penalty": self.penalty,
            "weight": str(self.weight),
            "intercept": self.intercept,
            "hypotheses": self.hypotheses,
            "gamma": str(self.gamma),
            "scales": [str(Fraction(scale)) for scale in self.scales],
        }


def _read_prices(given: Sequence[float]) -> list[Fraction]:
    """Return the simplest rationals that round to doubles, if they have a common denominator of a decent size."""
    prices = [simplest(value) for value in given]
    # of more binary digits they are dyadic
    if lcm(*(price.denominator for price in prices)).bit_length() > 1000:
        return list(map(Fraction, given))
    return prices


@dataclass(frozen=True)
class Point:
    """Rational weights of terms, intercept, and multipliers as integers over one denominator.

    The terms are None of a function in the space of a kernel, which the multipliers make; the intercept is None where
    they prove that no weights are feasible.
    """

    terms: list[tuple[int | None, float | None, Fraction]] | None
    intercept: Fraction | None
    numerators: list[int]
    denominator: int

    def to_model(self) -> dict[str, Any] | None:
        """Return the model as a proof file has it: integers over one denominator."""
        if self.intercept is None:
            return None
        terms = self.terms if self.terms is not None else []
        (b, *weights), denominator = to_integers([self.intercept, *(weight for *_, weight in terms)])
        listed = [
            {"feature": feature, "threshold": None if threshold is None else repr(threshold), "weight": str(weight)}
            for (feature, threshold, _), weight in zip(terms, weights, strict=True)
        ]
        found = listed if self.terms is not None else None
        return {"denominator": str(denominator), "intercept": str(b), "terms": found}


def simplest(value: float) -> Fraction:
    """Return the rational with the smallest denominator, a power of ten at most, that rounds to a double.

    Somebody who writes 0.05 means 1/20, and 1/569 is not the double that it rounds to.

    Examples
    --------
    >>> simplest(0.05), simplest(1 / 569), simplest(3.0)
    (Fraction(1, 20), Fraction(1, 569), Fraction(3, 1))
    """
    exact = Fraction(value)
    for digits in range(1, 18):
        near = exact.limit_denominator(10**digits)
        if float(near) == value:
            return near
    return exact


def to_integers(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return numerators over one denominator, and it."""
    denominator = lcm(*(value.denominator for value in values))
    return [int(value * denominator) for value in values], denominator


# Features: how the columns of a sample become numbers ----------------------------------------------------------------

MISSING = -1
"""The group of the samples whose value is missing, beside the codes of levels."""


@dataclass(frozen=True)
class Reading:
    """A feature of a proof, made of a column of the sample.

    Parameters
    ----------
    column : int
        Of the sample.
    missing : float, optional
        The number that a missing value counts as.
    side : int
        -1 if that is below every threshold, +1 if it is above all others, 0 of a column without gaps.
    level : int, optional
        Of a column of codes, the level of which this is the indicator; -1 for missing values.
    others : tuple of int
        The other levels of the column.

    Examples
    --------
    >>> Reading(0, missing=3.0, side=1).read(np.array([[2.0], [np.nan]]))
    array([2., 3.])
    """

    column: int
    missing: float | None = None
    side: int = 0
    level: int | None = None
    others: tuple[int, ...] = ()

    @classmethod
    def of_numbers(cls, column: int, values: Array) -> list[Reading]:
        """Return the readings of a column of numbers; none if all are missing."""
        known = values[~np.isnan(values)]
        if len(known) == len(values) or not len(known):
            return [cls(column)] * bool(len(known))
        top = float(known.max())
        # the next whole number reads well, where it is another number
        beyond = max(float(np.floor(top)) + 1, float(np.nextafter(top, inf)))
        return [cls(column, float(known.min()), -1), cls(column, beyond, 1)]

    @classmethod
    def of_levels(cls, column: int, groups: tuple[int, ...]) -> list[Reading]:
        """Return the indicators of levels; of two one is enough."""
        readings = [cls(column, level=g, others=tuple(o for o in groups if o != g)) for g in groups]
        return readings[:1] if len(groups) == 2 else readings

    def read(self, X: Array) -> Array:
        """Return the feature, shape (n_samples,)."""
        values = X[:, self.column]
        gaps = np.isnan(values)
        if self.level is not None:
            return (gaps if self.level == MISSING else values == self.level).astype(np.float64)
        return values if self.missing is None else np.where(gaps, self.missing, values)

    def read_stump(self, hypothesis: Stump | LevelStump) -> tuple[float, float] | None:
        """Return threshold and sign of the stump of this feature that a hypothesis is on the sample, if it is one."""
        if hypothesis.feature != self.column:
            return None
        if isinstance(hypothesis, Stump):
            same = self.level is None and self.side in {0, hypothesis.missing}
            return (hypothesis.threshold, hypothesis.sign) if same else None
        if self.level is None:
            # of no level, it tells missing values from others
            if self.side != 1 or self.missing is None or hypothesis.levels or hypothesis.missing != 1:
                return None
            return self.missing, hypothesis.sign
        inside = {*hypothesis.levels, *[MISSING] * (hypothesis.missing > 0)}
        if self.level in inside and not inside & {*self.others}:
            return 1.0, hypothesis.sign
        return (1.0, -hypothesis.sign) if self.level not in inside and inside >= {*self.others} else None


class Statement(NamedTuple):
    """What a proof is over: the name of the set of hypotheses, and the features, with what they are made of."""

    over: str
    X: Array
    readings: tuple[Reading, ...]

    @classmethod
    def from_sample(cls, over: str, X: Array, readings: Iterable[Reading] | None = None) -> Statement:
        """Read features of a sample; by default its columns, as they are."""
        if readings is None:
            X = np.ascontiguousarray(X, dtype=np.float64) + 0.0
            return cls(over, X, tuple(map(Reading, range(X.shape[1]))))
        chosen = tuple(readings)
        return cls(over, np.column_stack([reading.read(X) for reading in chosen]) + 0.0, chosen)
