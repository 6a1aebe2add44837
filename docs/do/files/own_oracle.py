"""A weak learner of one's own: circles around samples, priced exactly, with the bound that makes runs proven."""

from dataclasses import dataclass

import numpy as np

from cvxens.colgen import Column, Priced, column_generation, formulations
from cvxens.hypotheses import Hypothesis


@dataclass(frozen=True)
class Circle(Hypothesis):
    """+1 within a radius of a centre and -1 outside, or the reverse."""

    centre: tuple[float, ...]
    radius: float
    sign: int

    def __call__(self, X):
        inside = np.linalg.norm(np.asarray(X) - self.centre, axis=1) <= self.radius
        return self.sign * np.where(inside, 1.0, -1.0)

    def __neg__(self):
        return Circle(self.centre, self.radius, -self.sign)

    def __str__(self):
        centre = ", ".join(f"{x:.2f}" for x in self.centre)
        return f"{'within' if self.sign > 0 else 'beyond'} {self.radius:.2f} of ({centre})"


class Circles:
    """All circles around samples that tell samples apart: n centres with n radii each."""

    negations = True  # with h it has -h

    def __init__(self, X, columns_per_round=10):
        self.sample, self.columns_per_round = X, columns_per_round
        distances = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
        self.order = np.argsort(distances, axis=1)
        self.radii = np.take_along_axis(distances, self.order, axis=1)

    def price(self, s, exclude=()):
        # the edge of the circle around c that holds the k nearest samples is twice their sum less the sum of all
        edges = 2 * np.cumsum(s[self.order], axis=1) - s.sum()
        # where two samples are equally far away a circle holds both or none
        edges[:, :-1][self.radii[:, :-1] == self.radii[:, 1:]] = 0.0
        largest = np.abs(edges)
        columns = []
        for at in np.argsort(-largest, axis=None)[: self.columns_per_round + len(exclude)]:
            c, k = np.unravel_index(at, edges.shape)
            circle = Circle(tuple(self.sample[c].tolist()), float(self.radii[c, k]), 1 if edges[c, k] >= 0 else -1)
            if circle not in exclude and -circle not in exclude:
                columns.append(Column(circle, self.sample, float(largest[c, k])))
        rounded = 4e-16 * len(s) * float(np.abs(s).sum())  # what adding up may have lost
        return Priced(columns[: self.columns_per_round], edge_bound=float(largest.max()) + rounded)


random = np.random.default_rng(0)
X = random.normal(size=(150, 2))
in_a_disc = (np.linalg.norm(X - 0.8, axis=1) < 0.9) | (np.linalg.norm(X + 0.8, axis=1) < 0.7)
y = np.where(in_a_disc ^ (random.random(150) < 0.04), 1.0, -1.0)
run = column_generation(formulations.soft_margin(C=0.2), Circles(X), y, tol=1e-6)
print(run.certificate)
for weight, column in sorted(zip(run.weights, run.columns, strict=True), key=lambda pair: -pair[0])[:4]:
    print(f"{weight:.3f}  {column.hypothesis}")
assert run.certificate.proven
assert run.certificate.relative_gap <= 1e-6
