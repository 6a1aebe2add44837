"""The sample that a cross-check works on: scaled, and small enough for the reference solvers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cvxens import validation
from cvxens.kernels import Stump
from cvxens.types import Array

MAX_SAMPLES = 600
MAX_ENTRIES = 25_000


@dataclass(frozen=True, eq=False)
class Sample:
    """A two-class sample with features scaled to [0, 1].

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        In [0, 1].
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    note : str
        How it was cut down, empty where it was not.
    """

    X: Array
    y: Array
    note: str = ""

    @classmethod
    def of(cls, X: Any, y: Any, random_state: int = 0) -> Sample:
        """Scale (X, y); above 600 samples or 25,000 entries, draw a stratified subsample that fits."""
        y = validation.signs(y)
        X = X if len(getattr(X, "shape", ())) == 2 else validation.finite_array("X", X, ndim=2)
        n, d = X.shape
        validation.same_length("y", y, n)
        rng = np.random.default_rng(random_state)
        features = _drawn(rng, np.arange(d), MAX_ENTRIES // 100)
        room = min(MAX_SAMPLES, MAX_ENTRIES // max(1, len(features)))
        rows = np.sort(np.concatenate([_drawn(rng, np.flatnonzero(y == s), _share(y, s, room)) for s in (-1.0, 1.0)]))
        X = X[rows][:, features] if (len(rows), len(features)) != (n, d) else X
        X = validation.samples(X.toarray() if issparse(X) else X)
        low, half = X.min(axis=0) / 2, X.max(axis=0) / 2 - X.min(axis=0) / 2
        scaled = (X / 2 - low) / np.where(half > 0, half, 1.0)
        return cls(scaled, y[rows], _told(len(rows), n, len(features), d))

    @cached_property
    def stump_kernel(self) -> Array:
        """The stump kernel, shape (n_samples, n_samples)."""
        return Stump()(self.X)


def _drawn(rng: np.random.Generator, items: Any, most: int) -> Any:
    return items if len(items) <= most else np.sort(rng.choice(items, most, replace=False))


def _share(y: Array, sign: float, room: int) -> int:
    """How many samples of a class fit, at least one."""
    return max(1, round(room * float((y == sign).mean()))) if len(y) > room else len(y)


def _told(rows: int, n: int, features: int, d: int) -> str:
    parts = [
        f"{kept} of {whole} {what}"
        for kept, whole, what in ((rows, n, "samples"), (features, d, "features"))
        if kept < whole
    ]
    return ", ".join(parts)
