"""Cutting stock: the fewest rolls that give all pieces ordered, over all ways of cutting one; its linear relaxation."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from cvxens.colgen import Column, Formulation, Priced, column_generation

width = 218
lengths = np.array([81, 70, 68, 61, 55, 47, 41, 33, 29])
ordered = np.array([44, 30, 58, 25, 61, 19, 83, 42, 70])


@dataclass(frozen=True)
class Pattern:
    """How many pieces of each length are cut from a roll."""

    counts: tuple[int, ...]

    def __call__(self, lengths):
        return np.array(self.counts, dtype=float)


class Knapsack:
    """All patterns that a roll has room for."""

    sample = lengths

    def price(self, s, exclude=()):
        # worth(room) = max over the pieces that fit of s_i + worth(room - length_i), or 0
        worth, counts = np.zeros(width + 1), np.zeros((width + 1, len(s)), dtype=int)
        for room in range(lengths.min(), width + 1):
            gains = np.where(lengths <= room, s + worth[room - lengths], -np.inf)
            i = gains.argmax()
            if gains[i] > 0:
                worth[room], counts[room] = gains[i], counts[room - lengths[i]] + (np.arange(len(s)) == i)
        best = Column(Pattern(tuple(counts[width].tolist())), lengths, float(worth[width]))
        return Priced([best], edge_bound=best.edge * (1 + width * 1e-15))  # what adding up may have lost


rolls = Formulation(lambda cut: [0, cut >= ordered], cp.sum, nonnegative=True, scores=True)
run = column_generation(rolls, Knapsack(), tol=1e-9)
print(run.certificate)
print(f"{len(run.columns)} patterns were asked for; no plan has fewer than {np.ceil(run.certificate.dual)} rolls")
assert run.certificate.proven
assert run.certificate.relative_gap <= 1e-9
