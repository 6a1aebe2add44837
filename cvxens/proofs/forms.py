"""Formulations and points in the checker's words: rational prices, weights and multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Exponential, HardMargin, Hinge, Logistic, SoftMinimumMargin
from cvxens.problems.penalties import L1, Simplex, SquaredL2
from cvxens.proofs import checker

LOSSES = {
    Hinge: ("hinge", "C"),
    HardMargin: ("hard", None),
    SoftMinimumMargin: ("soft minimum", "D"),
    Exponential: ("exponential", "C"),
    Logistic: ("logistic", "C"),
}
PENALTIES = {L1: ("l1", "weight"), SquaredL2: ("squared l2", "weight"), Simplex: ("simplex", None)}

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

    @classmethod
    def from_formulation(cls, formulation: Formulation, n_samples: int, over: str, gamma: float = 0.0) -> Form:
        """Read a formulation; InvalidInput for terms that no exact proof is known for."""
        if over not in checker.HYPOTHESES:
            raise InvalidInput("over", f"found {over!r}", f"name one of {', '.join(checker.HYPOTHESES)}")
        loss, penalty = formulation.terms
        for name, term, known in (("loss", loss, LOSSES), ("penalty", penalty, PENALTIES)):
            if type(term) not in known:
                remedy = f"give one of {', '.join(kind.__name__ for kind in known)}: others cannot be proven exactly"
                raise InvalidInput("formulation", f"found the {name} {type(term).__name__}", remedy)
        (loss_name, price), (penalty_name, weight) = LOSSES[type(loss)], PENALTIES[type(penalty)]
        prices = _read_prices(np.ravel(getattr(loss, price) if price else 1.0).tolist())
        return cls(
            loss_name,
            prices * n_samples if len(prices) == 1 else prices,
            penalty_name,
            simplest(getattr(penalty, weight)) if weight else Fraction(1),
            formulation.intercept,
            over,
            simplest(gamma) if gamma else Fraction(0),
        )

    @property
    def is_linear(self) -> bool:
        """True if the minimum over columns is a linear program."""
        return (self.loss, self.penalty) in LINEAR

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
