"""A flow of several goods at the least cost through a network whose arcs have capacities, over all of its paths."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from cvxens.colgen import Column, Formulation, Priced, column_generation

capacity, places = 8.0, np.indices((5, 5)).reshape(2, -1).T  # crossings of a grid of streets
arcs = np.argwhere(np.abs(places[:, np.newaxis] - places).sum(axis=2) == 1)  # (from, to) of each
number = {(i, j): k for k, (i, j) in enumerate(arcs.tolist())}
costs = np.random.default_rng(0).integers(1, 10, len(arcs)).astype(float)
goods, amounts = [(0, 24), (4, 20), (10, 14), (2, 22), (24, 3)], np.array([6.0, 5.0, 4.0, 5.0, 3.0])


@dataclass(frozen=True)
class Path:
    """All of a good along some arcs: what they carry, which good it is, and the cost."""

    good: int
    arcs: tuple[int, ...]

    def __call__(self, rows):
        load = np.zeros(len(arcs))
        load[list(self.arcs)] = amounts[self.good]
        return np.concatenate([load, np.arange(len(goods)) == self.good, [load @ costs]])


class Paths:
    """All paths of all goods: the shortest ones under prices of the arcs."""

    sample = np.arange(len(arcs) + len(goods) + 1)

    def price(self, s, exclude=()):
        of_arcs, of_goods = -s[: len(arcs)] - s[-1] * costs, s[len(arcs) : -1]
        prices = np.maximum(of_arcs, 0.0)
        far, before = dijkstra(
            csr_array((prices, arcs.T)), indices=[start for start, _ in goods], return_predecessors=True
        )
        columns = []
        for k, (start, end) in enumerate(goods):
            stops = [end]
            while stops[-1] != start:
                stops.append(int(before[k, stops[-1]]))
            path = Path(k, tuple(number[pair] for pair in zip(stops[1:], stops, strict=False)))
            columns.append(Column(path, self.sample, float(of_goods[k] - amounts[k] * far[k, end])))
        # what rounding may have lost, and prices that it has made negative
        lost = 1e-14 * (np.abs(s).sum() + amounts.max() * prices.sum()) + amounts.max() * (prices - of_arcs).sum()
        columns.sort(key=lambda column: -column.edge)
        return Priced(columns, edge_bound=columns[0].edge + float(lost))


def cost(f):
    return [f[-1], f[: len(arcs)] <= capacity, f[len(arcs) : -1] == 1]


flow = Formulation(cost, lambda w: [0, cp.sum(w) == len(goods)], nonnegative=True, scores=True)
run = column_generation(flow, Paths(), tol=1e-9)
print(run.certificate)
print(f"{np.count_nonzero(run.weights > 1e-6)} paths are used of {len(run.columns)} that were asked for")
assert run.certificate.proven
assert run.certificate.relative_gap <= 1e-9
