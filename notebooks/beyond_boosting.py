# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Beyond boosting
#
# Column generation is older than boosting: it was made for paper mills, and for goods that travel along paths. Here
# the driver of this library solves three problems that know of no samples:
#
# $$\min_{w \ge 0}\; \mathrm{loss}(f) + \mathrm{penalty}(w) \quad\text{with}\quad f = \sum_j w_j h_j,$$
#
# where the columns $h_j$ are ways of cutting a roll, paths through a network, or points to measure at. Nobody lists
# them. An *oracle* of our own gets the multipliers $s$ of the rows of $f$ and returns columns with large $s'h$,
# with a bound on that over all columns. From the bound follows one on the optimum, and where the two meet it is
# proven.

# %%
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from matplotlib import pyplot as plt
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from cvxens.colgen import Column, Formulation, Priced, column_generation


def prove(formulation, oracle, tol=1e-9):
    """Run, print what the certificate says, and hold it to that."""
    run = column_generation(formulation, oracle, tol=tol)
    primal, dual = run.certificate.primal, run.certificate.dual
    print(f"{dual:.7f} <= optimum <= {primal:.7f}: {len(run.columns)} columns, {len(run.history)} rounds")
    assert run.certificate.proven
    assert run.certificate.relative_gap <= tol
    return run


# %% [markdown]
# ## Cutting stock
#
# Rolls of 218 cm are cut into pieces of nine lengths. A column says how many of each a roll gives; its edge is what
# these are worth at the prices $s$, so the oracle fills a knapsack. The loss is 0 where all orders are met, and
# every roll costs 1. This is the linear relaxation: rounded up, it is the least number of rolls that any plan can
# have.

# %%
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
cutting = prove(rolls, Knapsack())
print(f"no plan has fewer than {np.ceil(cutting.certificate.dual):.0f} rolls")

# %% [markdown]
# The patterns that were found make a plan of whole rolls, which is no more than that; and a list of all patterns,
# which is short enough here, has the same optimum by HiGHS.

# %%
found = np.array([column.values for column in cutting.columns]).T
whole = milp(np.ones(found.shape[1]), constraints=LinearConstraint(found, lb=ordered), integrality=1)
assert (found @ whole.x.round() >= ordered).all()
print(f"a plan of {whole.x.round().sum():.0f} rolls")

patterns, room = np.zeros((1, 0)), np.array([width])
for length in lengths:
    most = room // length
    pieces = np.concatenate([np.arange(k + 1) for k in most])
    patterns = np.column_stack([np.repeat(patterns, most + 1, axis=0), pieces])
    room = np.repeat(room, most + 1) - pieces * length
listed = linprog(np.ones(len(patterns)), A_ub=-patterns.T, b_ub=-ordered)
print(f"over all {len(patterns)} patterns at once: {listed.fun:.7f}")
assert abs(listed.fun - cutting.certificate.primal) <= 1e-6

# %% [markdown]
# ## A flow of several goods
#
# Five goods travel through a grid of streets, each of which has room for 8. A column is a path of one good. Its
# rows are the load of every arc, the good, and the cost: penalties treat all columns alike, so what differs is a
# row. A path carries all of its good, and the weights of a good are shares of 1. The oracle is Dijkstra's.

# %%
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
shipping = prove(flow, Paths())

# %% [markdown]
# The same flow without paths, by what each arc carries of each good, is a linear program of another shape.

# %%
n = len(arcs)
leaving = (arcs[:, :1] == np.arange(len(places))).T.astype(float) - (arcs[:, 1:] == np.arange(len(places))).T
balance, needed = np.kron(np.eye(len(goods)), leaving), np.zeros((len(goods), len(places)))
for k, (start, end) in enumerate(goods):
    needed[k, [start, end]] = amounts[k], -amounts[k]
shared = {"A_ub": np.tile(np.eye(n), len(goods)), "b_ub": np.full(n, capacity)}
by_arcs = linprog(np.tile(costs, len(goods)), **shared, A_eq=balance, b_eq=needed.ravel())
print(f"by arcs: {by_arcs.fun:.7f}")
assert abs(by_arcs.fun - shipping.certificate.primal) <= 1e-6 * by_arcs.fun

# %% [markdown]
# ## An optimal design
#
# Where to measure a quadratic surface over a square? A measurement at $x$ adds $x x'$ to the information $M$. The
# design with the largest least eigenvalue of $M$ is minimax: the largest variance of a combination of coefficients,
# of those with squares that sum to 1, is least. The edge of a point is a quadratic form, $x'Sx$.

# %%
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
measured = prove(design, Points(), tol=1e-6)

# %% [markdown]
# Nobody has to believe that: of all matrices $S \succeq 0$ of trace 1, each bounds the least eigenvalue of every
# design by $\max_x x'Sx$. The multipliers are such a matrix.

# %%
S = measured.u.reshape(p, p) / np.trace(measured.u.reshape(p, p))
bound = np.einsum("ij,jk,ik->i", points, S, points).max()
print(f"least eigenvalue of S {np.linalg.eigvalsh(S).min():.1e}; no design is above {bound:.7f}")
assert abs(bound + measured.certificate.primal) <= 1e-6

# %% [markdown]
# ## Three runs of one driver
#
# Objectives fall, bounds rise, and where they meet nothing is left to prove.

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
of_each = {"cutting stock": cutting, "flow of goods": shipping, "optimal design": measured}
for ax, (name, run) in zip(axes, of_each.items(), strict=True):
    ax.plot([r.objective for r in run.history], marker=".", label="objective")
    ax.plot([r.bound for r in run.history], marker=".", label="bound")
    ax.axhline(run.certificate.primal, color="grey", lw=0.5)
    ax.set(title=name, xlabel="round")
axes[0].legend()
plt.show()
