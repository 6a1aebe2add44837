"""An E-optimal design: where to measure a quadratic surface so that its worst known combination is known best."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from cvxens.colgen import Column, Formulation, Priced, column_generation

axis = np.linspace(-1, 1, 101)
a, b = (each.ravel() for each in np.meshgrid(axis, axis))
points = np.stack([np.ones_like(a), a, b, a * b, a**2, b**2], axis=1)  # x of each of 10,201 points
p = points.shape[1]


@dataclass(frozen=True)
class Point:
    """What a measurement at a point tells: the matrix x x', row by row."""

    number: int

    def __call__(self, entries):
        return np.outer(points[self.number], points[self.number]).ravel()


class Points:
    """All points: the best ones are where the quadratic form x'S x is largest."""

    sample = np.arange(p * p)

    def price(self, s, exclude=()):
        edges = np.einsum("ij,jk,ik->i", points, s.reshape(p, p), points)
        best = [Column(Point(int(i)), self.sample, float(edges[i])) for i in np.argsort(-edges)[:5]]
        return Priced(best, edge_bound=best[0].edge + 1e-14 * float(np.abs(s).sum()))  # as |x_j| <= 1


def worst_information(f):
    M = cp.reshape(f, (p, p), order="C")
    return -cp.lambda_min((M + M.T) / 2)


design = Formulation(worst_information, lambda w: [0, cp.sum(w) == 1], nonnegative=True, scores=True)
run = column_generation(design, Points(), tol=1e-6)
print(run.certificate)
for weight, column in sorted(zip(run.weights, run.columns, strict=True), key=lambda pair: -pair[0])[:9]:
    print(f"{weight:.3f} of the measurements at {points[column.hypothesis.number, 1:3].round(2) + 0.0}")
assert run.certificate.proven
assert run.certificate.relative_gap <= 1e-6
