"""Artificial samples of papers: waves, KIE06's slope, TT06's discs, random functions and features that tell nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxens.datasets.synthetic import draw_both, draw_labels
from cvxens.errors import InvalidInput
from cvxens.types import Array
from cvxens.validation import RandomState, finite_array, generator, number, one_of, whole


def make_waveform(n_samples: int = 300, *, random_state: RandomState = None) -> tuple[Array, Array]:
    """Draw noisy mixtures of two out of three triangular waves, one pair of waves against the other two.

    With ``h1(j) = max(6 - |j - 11|, 0)``, ``h2(j) = h1(j - 4)``, ``h3(j) = h1(j + 4)`` for j = 1, ..., 21,
    ``x_j = v h(j) + (1 - v) h'(j) + e_j``, v uniform on [0, 1], e_j ~ N(0, 1). For y = +1 the pair (h, h')
    is (h1, h3); for y = -1 it is (h1, h2) or (h2, h3). The three pairs are equally likely.

    The arguments are those of `make_twonorm`, which says what is returned and raised; there are 21 features, and labels
    are +1 with probability 1/3, if both are present. Of L. Breiman, J. Friedman, R. Olshen & C. Stone,
    *Classification and regression trees* (1984), section 2.6.2; as two classes: G. Rätsch, T. Onoda & K.-R. Müller,
    *Soft margins for AdaBoost*, Machine Learning 42 (2001).

    Examples
    --------
    >>> X, y = make_waveform(100, random_state=0)
    >>> X.shape
    (100, 21)
    """
    rng, y = draw_labels(n_samples, random_state, positive=1 / 3)
    peaks = np.array([11, 15, 7])
    waves = np.maximum(6 - np.abs(np.arange(1, 22) - peaks[:, None]), 0)
    other = rng.choice([0, 2], n_samples)
    first, second = np.where(y > 0, 0, other), np.where(y > 0, 2, 1)
    v = rng.random((n_samples, 1))
    return v * waves[first] + (1 - v) * waves[second] + rng.standard_normal((n_samples, 21)), y


def make_slope(
    n_samples: int = 50, *, mislabelled: float = 0.1, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Draw two classes in a square, on either side of a sloping line, some with the wrong label.

    x is uniform on [-1, 1]^2, y the sign of ``x_1 + x_2``, turned round with a probability, which is the best possible
    error. KIE06 has a "slope data" set of two features with wrong labels, 50 of its samples to train on, and does not
    say how it is drawn (section 4, Figure 2 and Table 1): that the line is the diagonal and one label in ten wrong is
    chosen here. `mislabelled` is the probability of a wrong label, from 0 to below 1/2; the others are arguments of
    `make_twonorm`, which says what is returned and raised.

    Examples
    --------
    >>> X, y = make_slope(1000, random_state=0)
    >>> float((np.sign(X.sum(axis=1)) == y).mean())
    0.892
    """
    if not 0 <= number("mislabelled", mislabelled) < 0.5:
        raise InvalidInput("mislabelled", f"found {mislabelled!r}", "give a probability of at least 0 and below 1/2")

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        X = rng.uniform(-1, 1, (n, 2))
        return X, np.where(X.sum(axis=1) > 0, 1.0, -1.0) * np.where(rng.random(n) < mislabelled, -1.0, 1.0)

    return draw_both(draw, n_samples, random_state)[1:]


def make_three_circles(n_samples: int = 1000, *, random_state: RandomState = None) -> tuple[Array, Array]:
    """Draw the union of three discs in a square, against the rest of it, without noise.

    x is uniform on [0, 1]^2; y = +1 within the discs around (0.3, 0.7), (0.7, 0.65) and (0.5, 0.3) of the radii 0.2,
    0.15 and 0.2, which are disjoint. TT06 shows similarities on such a set (Figure 1), and does not say where its discs
    are. The arguments are those of `make_twonorm`, which says what is returned and raised.

    Examples
    --------
    >>> X, y = make_three_circles(10_000, random_state=0)
    >>> round(float((y > 0).mean()), 3), round(np.pi * (0.2**2 + 0.15**2 + 0.2**2), 3)
    (0.326, 0.322)
    """
    centres, radii = np.array([[0.3, 0.7], [0.7, 0.65], [0.5, 0.3]]), np.array([0.2, 0.15, 0.2])

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        X = rng.random((n, 2))
        distances = np.sqrt(((X[:, None] - centres) ** 2).sum(axis=2))
        return X, np.where((distances < radii).any(axis=1), 1.0, -1.0)

    return draw_both(draw, n_samples, random_state)[1:]


def make_random_function(
    n_samples: int = 500,
    n_features: int = 20,
    n_relevant: int = 10,
    *,
    target: str = "classes",
    mixed: bool = False,
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """Draw a random function of some of the features, and samples of it, without noise.

    The function is ``sum_l a_l exp(-1/2 (z - m_l)'V_l (z - m_l))`` over 20 terms, a_l uniform on [-1, 1]. A term takes
    z from the relevant features: floor(3/2 + r) of them, r exponential with mean 2, and at most all, drawn at random.
    m_l is standard normal, ``V_l = Q diag(d) Q'`` with Q a random rotation, and the roots of d are uniform on [0.1, 2].
    The features are standard normal.

    Parameters
    ----------
    n_samples : int
        Number of samples, at least 2; those to train and to test on are of one draw, as another has another function.
    n_features, n_relevant : int
        Number of features, and of those that matter, the first ones; at least 1.
    target : {"classes", "numbers"}
        Whether y is the label +1 where the function is above its median over the samples, else -1, or its value. TT06
        cuts it into two levels, and does not say where.
    mixed : bool
        Whether half of the features, drawn at random, are cut into levels 0, 1, ... that have equal shares of the
        samples: 2 to 10 of them, uniformly.
    random_state : int, Generator, RandomState or None
        Seed or source of randomness; the same seed gives the same samples, bit for bit.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,)
        Labels or values.

    Raises
    ------
    InvalidInput
        If a number is too small or not an integer, or another argument is none of the above.

    References
    ----------
    J. H. Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of Statistics 29 (2001); with
    these numbers TT06 Figure 3.

    Examples
    --------
    >>> X, y = make_random_function(100, mixed=True, random_state=0)
    >>> X.shape, float(y.mean()), sum(len(np.unique(x)) <= 10 for x in X.T)
    ((100, 20), 0.0, 10)
    """
    n_samples, n_features = whole("n_samples", n_samples, 2), whole("n_features", n_features)
    n_relevant = whole("n_relevant", n_relevant)
    if n_relevant > n_features:
        raise InvalidInput("n_relevant", f"found {n_relevant} of {n_features} features", "give at most n_features")
    one_of("target", target, ["classes", "numbers"])
    rng = generator(random_state)
    X = rng.standard_normal((n_samples, n_features))
    value = np.zeros(n_samples)
    for weight in rng.uniform(-1, 1, 20):
        size = min(int(1.5 + rng.exponential(2.0)), n_relevant)
        z = X[:, rng.choice(n_relevant, size, replace=False)] - rng.standard_normal(size)
        # columns of an orthogonal factor of normal numbers, signs made uniform, are a random rotation
        Q, R = np.linalg.qr(rng.standard_normal((size, size)))
        turned = z @ (Q * np.sign(np.diag(R))) * rng.uniform(0.1, 2.0, size)
        value += weight * np.exp(-0.5 * (turned**2).sum(axis=1))
    if mixed:
        for feature in rng.choice(n_features, n_features // 2, replace=False):
            n_levels = int(rng.integers(2, 11))
            X[:, feature] = X[:, feature].argsort().argsort() * n_levels // n_samples
    return X, value if target == "numbers" else np.where(value > np.median(value), 1.0, -1.0)


def add_noise_features(X: Any, n_noise: int = 40, *, random_state: RandomState = None) -> Array:
    """Append features that tell nothing: normal, with the mean and the spread of the features of X, in their turn.

    TT06 adds 40 of them to Iris, and does not say how they are distributed.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples.
    n_noise : int
        Number of features to append, at least 1.
    random_state : int, Generator, RandomState or None
        Seed or source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_features + n_noise)

    References
    ----------
    TT06 Figure 2.

    Examples
    --------
    >>> X = add_noise_features([[1.0, 10.0], [3.0, 30.0]], 3, random_state=0)
    >>> X.shape, X[:, 0]
    ((2, 5), array([1., 3.]))
    """
    X = finite_array("X", X, ndim=2)
    turn = np.arange(whole("n_noise", n_noise)) % X.shape[1]
    noise = generator(random_state).standard_normal((len(X), n_noise))
    return np.hstack([X, X.mean(axis=0)[turn] + X.std(axis=0)[turn] * noise])
