"""Samples with gaps and nominal features, and all their stumps, listed by code that knows nothing of the oracle's.

``python tests/colgen/gaps_and_levels.py COUNT [FIRST]`` holds the oracle against the lists of so many random samples.
"""

import sys
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf

import numpy as np
from numpy.testing import assert_allclose
from scipy.sparse import csc_array

from cvxens.colgen.oracles import Constant, Stumps
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


def case(seed, most_outputs=3):
    """A generator, a sample and weights of it."""
    random = np.random.default_rng(seed)
    n_samples = int(random.integers(3, 15))
    sample = random_gapped(random, n_samples, int(random.integers(1, 4)))
    s = random.integers(-6, 7, (n_samples, int(random.integers(1, most_outputs + 1)))).astype(float)
    return random, sample, s


def both_signs(columns) -> set[tuple[int, ...]]:
    return {tuple(sign * column) for column in columns for sign in (1, -1)}


def check_pricing(seed: int) -> None:
    """Hold edges, bounds and sums of squares of the oracle against the list of all hypotheses."""
    random, sample, s = case(seed)
    known = sample.columns()
    H = np.array([column for _, column in known]).reshape(len(known), len(sample.X))
    edges, total = H @ s, s.sum(axis=0)
    constant = bool(random.random() < 0.5)
    X = csc_array(sample.X) if random.random() < 0.3 else sample.X
    priced = (oracle := sample.oracle(X, constant=constant)).price(s)
    largest = max(np.abs(edges).max(initial=0.0), constant * np.abs(total).max())
    assert oracle.n_hypotheses == len(known) + constant
    assert_allclose(priced.edge_bound, largest, atol=1e-12)
    assert priced.columns[0].edge == largest
    assert_allclose(priced.edge_square_sum, (edges**2).sum() + constant * (total**2).sum(), rtol=1e-12, atol=1e-12)
    # every column is of the set, with its own edge; the best of every feature is there
    best = {j: 0.0 for j, _ in known}
    for (j, _), edge in zip(known, edges, strict=True):
        best[j] = max(best[j], float(np.abs(edge).max()))
    every, found = both_signs(H), dict.fromkeys(best, -inf)
    for column in priced.columns:
        assert_allclose((column.values @ s).max(), column.edge)
        if not isinstance(column.hypothesis, Constant):
            assert tuple(column.values) in every
            found[column.hypothesis.feature] = max(found[column.hypothesis.feature], column.edge)
    assert found == best


def main(count: int, first: int = 0) -> None:
    for seed in range(first, first + count):
        try:
            check_pricing(seed)
        except AssertionError as error:
            raise AssertionError(f"sample {seed}: {error}") from error
    sys.stdout.write(f"{count} samples with gaps and levels: every edge and bound is that of the list\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
