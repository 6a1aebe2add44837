"""Samples with gaps and nominal features, and all their stumps, listed by code that knows nothing of the oracle's."""

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from cvxens.colgen.oracles import Stumps
from cvxens.trees import Feature


@dataclass(frozen=True)
class Gapped:
    """A sample of numbers and codes of levels with NaN in it, and how its stumps treat these."""

    X: np.ndarray
    kinds: tuple[Feature, ...]
    missing: str
    levels: str

    def oracle(self, X=None, **options) -> Stumps:
        X = self.X if X is None else X
        return Stumps(X, features=self.kinds, missing=self.missing, levels=self.levels, **options)

    def columns(self) -> list[tuple[int, np.ndarray]]:
        """All hypotheses but the constant, of h and -h one: the feature, and the values as whole numbers."""
        found = []
        for j, kind in enumerate(self.kinds):
            x = self.X[:, j]
            gone = np.isnan(x)
            silent = self.missing == "zero"
            if kind.categories is None:
                ways = [0] if silent or not gone.any() else [-1, 1]
                for low, high in pairwise(np.unique(x[~gone])):
                    above = np.where(x > (low + high) / 2, 1, -1)
                    found += [(j, np.where(gone, way, above)) for way in ways]
                indicator = True
            else:
                groups = [x == level for level in np.unique(x[~gone])]
                groups += [gone] if gone.any() and not silent else []
                found += [(j, column) for column in split(groups, self.levels == "subsets")]
                indicator = silent
            if indicator and gone.any() and not gone.all():
                found.append((j, np.where(gone, 1, -1)))
        return found


def split(groups: list[np.ndarray], subsets: bool) -> list[np.ndarray]:
    """All ways to tell some of the groups from the others, 0 elsewhere."""
    found = []
    for signs in product([-1, 1], repeat=len(groups)):
        alone = signs.count(1) == 1 or (len(groups) == 2 and not subsets)
        # h and -h once: the first group is -1, unless one alone is +1
        if 0 < signs.count(1) < len(groups) and (signs[0] < 0 if subsets or len(groups) == 2 else alone):
            found.append(sum(sign * group for sign, group in zip(signs, groups, strict=True)))
    return found


def random_gapped(random: np.random.Generator, n_samples: int, n_features: int) -> Gapped:
    """Ties, gaps in some columns, one with nothing known, and levels that no sample has."""
    X = random.integers(0, 4, (n_samples, n_features)).astype(float)
    kinds = []
    for j in range(n_features):
        nominal = random.random() < 0.5
        n_levels = int(random.integers(4, 7))
        kinds.append(Feature(f"f{j}", tuple("abcdefg"[:n_levels]) if nominal else None))
        X[random.random(n_samples) < random.choice([0.0, 0.2, 0.6, 1.0], p=[0.35, 0.3, 0.3, 0.05]), j] = np.nan
        if not nominal:
            X[:, j] += random.choice([0.0, -2.0])
    X[:2, 0] = 0.0, 1.0
    missing, levels = random.choice(["side", "zero"]), random.choice(["one", "subsets"])
    return Gapped(X, tuple(kinds), str(missing), str(levels))
