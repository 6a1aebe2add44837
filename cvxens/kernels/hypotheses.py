"""The hypotheses that kernels embody, as samplers draw them: hashable functions with a readable `str`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cvxens.types import Array

SHOWN = 5


class Hypothesis(Hashable, Protocol):
    """A function from samples to the reals: hashable, with a readable `str`."""

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples,)."""


@dataclass(frozen=True)
class LinearForm:
    """h(x) = sum_k weights_k x[features_k].

    Parameters
    ----------
    features : tuple of int
        Columns of X.
    weights : tuple of float
        One per column.

    Examples
    --------
    >>> form = LinearForm((0, 2), (1.0, -0.5))
    >>> print(form, form([[1.0, 9.0, 4.0]]))
    x[0] - 0.5 x[2] [-1.]
    """

    features: tuple[int, ...]
    weights: tuple[float, ...]

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples,)."""
        return np.asarray(X, np.float64)[:, list(self.features)] @ np.array(self.weights)

    def __str__(self) -> str:
        factors = [f"{w:+.4g} ".replace("1 ", "") if abs(w) == 1 else f"{w:+.4g} " for w in self.weights]
        terms = [f"{factor}x[{d}]" for factor, d in zip(factors, self.features, strict=True)]
        text = " ".join(terms[:SHOWN] + ["+ ..."] * (len(terms) > SHOWN))
        return text.replace(" +", " + ").replace(" -", " - ").removeprefix("+")


@dataclass(frozen=True)
class Threshold:
    """h(x) = above if form(x) >= threshold else below: a stump on one feature, a perceptron on several.

    Parameters
    ----------
    form : LinearForm
        What is compared.
    threshold : float
        A sample on it counts as above.
    above, below : float
        The two values.

    Examples
    --------
    >>> stump = Threshold(LinearForm((1,), (1.0,)), 0.5)
    >>> print(stump, stump([[0.0, 0.2], [0.0, 0.7]]))
    x[1] >= 0.5 -> +1, else -1 [-1.  1.]
    """

    form: LinearForm
    threshold: float
    above: float = 1.0
    below: float = -1.0

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples,)."""
        return np.where(self.form(X) >= self.threshold, self.above, self.below)

    def __str__(self) -> str:
        return f"{self.form} >= {self.threshold:.6g} -> {self.above:+g}, else {self.below:+g}"


@dataclass(frozen=True)
class Wave:
    """h(x) = sqrt(2) cos(form(x) + phase).

    Parameters
    ----------
    form : LinearForm
        The frequencies.
    phase : float
        In [0, 2 pi).

    Examples
    --------
    >>> wave = Wave(LinearForm((0,), (2.0,)), 0.0)
    >>> print(wave, wave([[0.0]]).round(3))
    sqrt(2) cos(2 x[0] + 0) [1.414]
    """

    form: LinearForm
    phase: float

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples,)."""
        return np.sqrt(2) * np.cos(self.form(X) + self.phase)

    def __str__(self) -> str:
        return f"sqrt(2) cos({self.form} + {self.phase:.4g})"


@dataclass(frozen=True)
class Connective:
    """How -1/+1 values, false and true, combine into one.

    Parameters
    ----------
    word : str
        Its name.
    combine : callable
        Of two arrays of values.
    empty : float
        The value of nothing: what combines with any value to that value.

    Examples
    --------
    >>> print(XOR.combine(1.0, -1.0), AND.combine(1.0, -1.0), OR.combine(1.0, -1.0))
    1.0 -1.0 1.0
    """

    word: str
    combine: Callable[[Any, Any], Any]
    empty: float


def _unlike(a: Any, b: Any) -> Any:
    return -a * b


AND = Connective("and", np.minimum, 1.0)
OR = Connective("or", np.maximum, -1.0)
XOR = Connective("xor", _unlike, -1.0)


@dataclass(frozen=True)
class Formula:
    """h(x) = sign times -1/+1-valued parts joined by AND, OR or XOR.

    Parameters
    ----------
    connective : Connective
        What joins them.
    parts : tuple of Hypothesis
        Any number of them.
    sign : int
        +1 or -1.

    Examples
    --------
    >>> a, b = (Threshold(LinearForm((d,), (1.0,)), 0.5) for d in (0, 1))
    >>> Formula(AND, (a, b))([[0, 0], [0, 1], [1, 0], [1, 1]])
    array([-1., -1., -1.,  1.])
    """

    connective: Connective
    parts: tuple[Hypothesis, ...]
    sign: int = 1

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples,)."""
        values = np.full(len(X), self.connective.empty)
        for part in self.parts:
            values = self.connective.combine(values, part(X))
        return self.sign * values

    def __str__(self) -> str:
        nothing = f"{self.connective.empty:+g}"
        text = f" {self.connective.word} ".join(f"({part})" for part in self.parts) or nothing
        return text if self.sign > 0 else f"not ({text})"
