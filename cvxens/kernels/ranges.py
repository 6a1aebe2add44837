"""The range of each feature, given or read off a sample, and the stumps within it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Stump
from cvxens.kernels.kernel import Kernel, shares
from cvxens.types import Array


@dataclass(frozen=True)
class Ranges:
    """Lowest and highest value of each feature.

    Parameters
    ----------
    low, high : array-like of shape (n_features,), optional
        Those of a sample where they are not given.
    """

    low: Any = None
    high: Any = None

    def box(self) -> Array:
        """(low, high) as given, shape (2, n_features)."""
        if self.low is None or self.high is None:
            raise InvalidInput("low", "found no ranges", "give low and high, or take kernel.within(X)")
        low = validation.finite_array("low", self.low, ndim=1)
        high = _end("high", self.high, len(low))
        if (low > high).any():
            feature = int(np.argmax(low > high))
            found = f"found {low[feature]:g} for feature {feature}, above its high of {high[feature]:g}"
            raise InvalidInput("low", found, "give low <= high")
        return np.stack([low, high])

    def of(self, X: Array) -> Array:
        """(low, high) for a sample, which must be within what is given; shape (2, n_features)."""
        low = X.min(axis=0) if self.low is None else _end("low", self.low, X.shape[1])
        high = X.max(axis=0) if self.high is None else _end("high", self.high, X.shape[1])
        if (low > X).any() or (high < X).any():
            feature = int(np.argmax(((low > X) | (high < X)).any(axis=0)))
            raise InvalidInput(
                "X",
                f"found feature {feature} from {X[:, feature].min():g} to {X[:, feature].max():g}",
                f"stay within the kernel's range of {low[feature]:g} to {high[feature]:g}, or widen it",
            )
        return np.stack([low, high])


class Ranged(Kernel):
    """A kernel whose ranges, `low` and `high`, are given or those of the sample that it is evaluated on."""

    low: Any
    high: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", hashable(self.low))
        object.__setattr__(self, "high", hashable(self.high))

    @property
    def fixed(self) -> bool:
        """Whether both ends of the ranges are given."""
        return self.low is not None and self.high is not None

    def box(self) -> Array:
        """(low, high) as given, shape (2, n_features)."""
        return Ranges(self.low, self.high).box()

    def ranges(self, X: Array) -> Array:
        """(low, high) for a sample, shape (2, n_features)."""
        return Ranges(self.low, self.high).of(X)

    def within(self, X: Any) -> Self:
        """The kernel within the ranges of `X`, where none are given."""
        low, high = self.ranges(validation.finite_array("X", X, ndim=2))
        ranged: Self = replace(cast("Any", self), low=low, high=high)
        return ranged


def draw_places(box: Array, masses: Array, n: int, random: np.random.Generator) -> tuple[NDArray[np.intp], Array]:
    """Draw `n` features in proportion to their masses, and thresholds uniformly in their ranges."""
    features = random.choice(box.shape[1], size=validation.whole("n", n), p=shares(masses))
    low, high = box[:, features]
    return features, low + (high - low) * random.random(n)


def signed_stumps(features: NDArray[np.intp], thresholds: Array, random: np.random.Generator) -> tuple[Stump, ...]:
    """Return stumps at these places, of either sign."""
    signs = random.choice([1, -1], size=len(features))
    drawn = zip(features.tolist(), thresholds.tolist(), signs.tolist(), strict=True)
    return tuple(Stump(d, t, sign) for d, t, sign in drawn)


def hashable(values: Any) -> Any:
    """Return an array or a list of numbers as a tuple, and anything else as it is."""
    return tuple(np.asarray(values).tolist()) if np.ndim(values) == 1 else values


def _end(argument: str, values: Any, n_features: int) -> Array:
    end = validation.finite_array(argument, values, ndim=1)
    if len(end) != n_features:
        raise InvalidInput(argument, f"found {len(end)} numbers for {n_features} features", "give one per feature")
    return end
