"""Artificial samples: two-class problems whose best possible error is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxens.types import Array
from cvxens.validation import RandomState, generator, whole


def make_twonorm(
    n_samples: int = 300, n_features: int = 20, *, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Draw two normal classes on either side of the origin.

    ``x | y ~ N(y (a, ..., a), I)`` with ``a = 2 / sqrt(n_features)``. The best classifier is the sign of
    ``sum_d x_d``, with the error Phi(-2) = 2.28 % for every `n_features`.

    Parameters
    ----------
    n_samples : int
        Number of samples, at least 2.
    n_features : int
        Number of features, at least 1.
    random_state : int, Generator, RandomState or None
        Seed or source of randomness; the same seed gives the same samples, bit for bit.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1, independent and equally likely, conditional on both being present (a draw of
        labels that are all alike is drawn again).

    Raises
    ------
    InvalidInput
        If a number is too small or not an integer, or `random_state` is none of the above.

    References
    ----------
    L. Breiman, *Bias, variance, and arcing classifiers*, report 460, UC Berkeley (1996); *Arcing
    classifiers*, Annals of Statistics 26 (1998).

    Examples
    --------
    >>> X, y = make_twonorm(100, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 20), [-1.0, 1.0])
    """
    rng, y = draw_labels(n_samples, random_state)
    X = rng.standard_normal((n_samples, whole("n_features", n_features)))
    return X + 2 / np.sqrt(n_features) * y[:, None], y


def make_threenorm(
    n_samples: int = 300, n_features: int = 20, *, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Draw a class of two normal parts and a class of one between them.

    With ``a = 2 / sqrt(n_features)``: for y = +1, x is N((a, ..., a), I) or N((-a, ..., -a), I), each with
    probability 1/2; for y = -1, x is N((a, -a, a, -a, ...), I). The best possible error is 10.5 % at 20
    features.

    Of Breiman (1996, 1998), as `make_twonorm`, which says what the arguments are, what is returned and raised.

    Examples
    --------
    >>> X, y = make_threenorm(100, 5, random_state=0)
    >>> X.shape
    (100, 5)
    """
    rng, y = draw_labels(n_samples, random_state)
    X = rng.standard_normal((n_samples, whole("n_features", n_features)))
    sides = rng.choice([-1.0, 1.0], n_samples)
    alternating = np.where(np.arange(n_features) % 2, -1.0, 1.0)
    return X + 2 / np.sqrt(n_features) * np.where(y[:, None] > 0, sides[:, None], alternating), y


def make_ringnorm(
    n_samples: int = 300, n_features: int = 20, *, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Draw a narrow normal class inside a wide one.

    For y = +1, x is N(0, 4 I); for y = -1, x is N((a, ..., a), I) with ``a = 2 / sqrt(n_features)``. The
    best possible error is 1.2 % at 20 features (Breiman reports 1.3 %).

    Of Breiman (1996), as `make_twonorm`, which says what the arguments are, what is returned and raised. Some packages
    put the narrow class at 1 / sqrt(n_features).

    Examples
    --------
    >>> X, y = make_ringnorm(100, random_state=0)
    >>> bool(X[y > 0].std() > X[y < 0].std())
    True
    """
    rng, y = draw_labels(n_samples, random_state)
    X = rng.standard_normal((n_samples, whole("n_features", n_features)))
    return np.where(y[:, None] > 0, 2 * X, X + 2 / np.sqrt(n_features)), y


def draw_labels(n_samples: int, random_state: RandomState, positive: float = 0.5) -> tuple[np.random.Generator, Array]:
    """Return the source of randomness, and labels drawn from it."""

    def draw(rng: np.random.Generator, n: int) -> tuple[None, Array]:
        return None, np.where(rng.random(n) < positive, 1.0, -1.0)

    rng, _, y = draw_both(draw, n_samples, random_state)
    return rng, y


def draw_both(draw: Any, n_samples: int, random_state: RandomState) -> tuple[np.random.Generator, Any, Array]:
    """Draw samples and labels until both labels are present; returns the source of randomness with them."""
    whole("n_samples", n_samples, 2)
    rng = generator(random_state)
    while True:
        X, y = draw(rng, n_samples)
        if y.min() < y.max():
            return rng, X, y
