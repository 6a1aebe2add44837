"""The formulations of the literature that are a loss and a penalty, ready for column generation."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import (
    EntropicMinimumMargin,
    Exponential,
    HardMargin,
    Hinge,
    MulticlassExponential,
    SoftMinimumMargin,
    SquaredError,
    adds_up,
)
from cvxens.problems.penalties import L1, Simplex, SquaredL2
from cvxens.problems.slssvm import checked_codes
from cvxens.types import Array

Prices: TypeAlias = float | Array
"""A number above 0, or one for every sample."""


def svm(C: Prices) -> Formulation:
    """LL08 P1, the problem of CGEns: hinge loss, 1/2 w'w, an intercept."""
    return Formulation(Hinge(validation.prices("C", C)), SquaredL2(), intercept=True)


def hard_margin() -> Formulation:
    """LL08 P3: margins of at least 1, sum w, w >= 0."""
    return Formulation(HardMargin(), L1(), nonnegative=True)


def soft_margin(C: Prices) -> Formulation:
    """LL08 P4: hinge loss, sum w, w >= 0."""
    return Formulation(Hinge(validation.prices("C", C)), L1(), nonnegative=True)


def lpboost(D: Prices) -> Formulation:
    """DBS02: the soft minimum margin, sum a = 1, a >= 0; a maximum. The prices D add up to at least 1."""
    return Formulation(SoftMinimumMargin(_caps(D)), Simplex(), nonnegative=True, maximise=True)


def erlpboost(D: Prices, eta: float) -> Formulation:
    """Warmuth, Glocer & Vishwanathan (2008): LPBoost whose sample weights pay 1/eta of their relative entropy."""
    loss = EntropicMinimumMargin(_caps(D), validation.positive("eta", eta))
    return Formulation(loss, Simplex(), nonnegative=True, maximise=True)


def _caps(D: Prices) -> Prices:
    """Prices of samples, which must add up to 1; a number for all is checked once it is known how many there are."""
    prices = validation.prices("D", D)
    if isinstance(prices, np.ndarray) and not adds_up(prices):
        found = f"found prices that add up to {float(prices.sum())!r}"
        raise InvalidInput("D", found, "give prices that add up to at least 1, or the problem is unbounded")
    return prices


def exponential(n_samples: int, lam: float) -> Formulation:
    """KIE06 (14) over columns, K = H H': the mean exponential loss, lam w'w."""
    return Formulation(Exponential(1 / n_samples), SquaredL2(2 * validation.positive("lam", lam)))


def simplex_least_squares(L: Any, C: Prices) -> Formulation:
    """SL (10), the problem of CGEns-SLS: C/2 |L - H W - 1 b'|^2 and 1/2 |W|^2, simplex codes L of the labels."""
    codes, prices = checked_codes(L), validation.prices("C", C)
    validation.same_length("C", np.atleast_1d(prices), len(codes) if np.ndim(prices) else None)
    loss = SquaredError(prices, codes)
    return Formulation(loss, SquaredL2(), intercept=True, outputs=codes.shape[1])


def multiboost(C: Prices, labels: NDArray[np.intp]) -> Formulation:
    """MultiBoost (Shen & Hao 2011): C sum_i sum_{k != y_i} exp(F_k - F_{y_i}) and sum |W|; labels from 0."""
    classes = np.unique(labels)
    if len(classes) < 2 or not np.array_equal(classes, np.arange(len(classes))):
        raise InvalidInput("labels", f"found {classes[:5]}", "give whole numbers from 0, two or more, none left out")
    loss = MulticlassExponential(validation.prices("C", C), np.asarray(labels, dtype=np.intp), len(classes))
    return Formulation(loss, L1(), outputs=len(classes))
