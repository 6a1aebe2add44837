"""What the tables and figures of TK07 have in common: data, the width of the kernel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.spatial.distance import cdist

from cvxens.experiments.splits import OwnTest, Realised, Source
from cvxens.types import Array

DATA: Mapping[str, Source] = {
    "cancer": Realised("breast-cancer"),
    "diabetis": Realised("diabetes"),
    "german": Realised("german"),
    "titanic": Realised("titanic"),
    "waveform": Realised("waveform"),
    "astro": OwnTest("svmguide1"),
    "adult1": OwnTest("a1a", scaled=False),
    "web1": OwnTest("w1a", scaled=False),
}

OTHER_DATA = {
    "diabetis": "the published partitions were not found: ours are random, of their sizes",
    "web1": "the test part is the complement in w8a, in another order",
}


def find_width(X: Array) -> float:
    """Return beta, the mean squared distance of samples (n_samples, n_features) from their mean."""
    return float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())


def make_gaussian(X: Array, Z: Array, width: float) -> Array:
    """Return exp(-|x - z|^2 / width) for the rows of X (n, d) and Z (m, d), shaped (n, m)."""
    return np.exp(-cdist(X, Z, "sqeuclidean") / width)
