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
# # From finite to infinite
#
# Boosting chooses a few hypotheses of very many. Lin and Li (2008, *Support vector machinery for infinite ensemble
# learning*, LL08) weigh all of them, infinitely many, and the answer is a support vector machine with a kernel that
# embodies the set: $K(x, x') = \int r(\alpha)^2\, h_\alpha(x)\, h_\alpha(x')\, d\alpha$. This notebook walks from the
# one to the other.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from cvxens import InfiniteEnsembleSVC, LPBoostClassifier
from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_twonorm
from cvxens.kernels import MiddleStump, Perceptron
from cvxens.plotting import BoundaryDisplay
from cvxens.problems import InfiniteSVM, SVMDual
from cvxens.solvers import solve_svm_dual
from cvxens.solvers.additive import AdditiveModel, AdditiveSVM, solve_additive_svm

X, y = make_twonorm(150, n_features=2, random_state=4)

# %% [markdown]
# ## Three ensembles of stumps
#
# Two normal classes in two dimensions, $y = -1$ red and $y = 1$ blue; the best boundary is the diagonal
# $x_0 + x_1 = 0$. (After LL08 Figure 3, which has 300 samples, and AdaBoost beside these.)
#
# 1. **P4**, boosting: $\min \sum_j w_j + C \sum_i \xi_i$, $w \ge 0$. A sparse choice of *middle stumps*: those with
#    thresholds halfway between two neighbouring values. Between those the sample cannot tell.
# 2. **SVM-Mid**: the same finite set with $\frac12 \sum_j w_j^2$. All middle stumps have weights.
# 3. **SVM-Stump**, P5: all stumps, $\frac12 \int w(\alpha)^2 d\alpha$, with the stump kernel $\Delta - \|x - x'\|_1$.

# %%
boosted = column_generation(formulations.soft_margin(C=1.0), Stumps(X), y)
middle = SVC(C=0.003, kernel=MiddleStump(X)).fit(X, y)
infinite = InfiniteEnsembleSVC(C=0.3, kernel="stump", tol=1e-6).fit(X, y)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
BoundaryDisplay.from_estimator(LPBoostClassifier(C=1.0).fit(X, y), X, y, ax=axes[0])
BoundaryDisplay.from_estimator(middle, X, y, ax=axes[1])
BoundaryDisplay.from_estimator(infinite, X, y, ax=axes[2])
used = np.count_nonzero(boosted.weights > 1e-9)
titles = [f"P4: {used} of {4 * 149 + 2} stumps", "SVM-Mid: all 298 stumps", "SVM-Stump: infinitely many"]
for ax, title in zip(axes, titles, strict=True):
    ax.set_title(title)
    ax.get_legend().remove()
plt.show()

# %% [markdown]
# Few stumps make a coarse stair; all middle stumps make a fine one that follows the diagonal; infinitely many make a
# line that bends.
#
# SVM-Mid is a support vector machine over a finite set, so column generation (CGEns) must reach the same optimum as
# the kernel does: two independent roads to one number.

# %%
by_columns = column_generation(formulations.svm(C=0.003), Stumps(X, constant=False), y)
by_kernel = SVMDual(MiddleStump(X)(X), y, C=0.003).solve()
print(f"by columns {by_columns.certificate.primal:.9f}, by the kernel {-by_kernel.objective:.9f}")
assert abs(by_columns.certificate.primal + by_kernel.objective) < 1e-6

# %% [markdown]
# ## Averaged stumps
#
# All stumps with a threshold in the gap between two neighbouring values agree on the sample. A middle stump stands
# for them with a jump in the middle. P5 spreads its weight evenly over the gap (LL08 Theorem 8), and the average of
# stumps with evenly spread thresholds is a slope from one end to the other: the *averaged stump* (LL08 Figure 2).

# %%
low, high, x = -0.4, 0.8, np.linspace(-1.2, 1.6, 400)
figure, axes = plt.subplots(1, 3, figsize=(11, 2.6), layout="constrained", sharey=True)
for ax, k in zip(axes, (1, 4, 1000), strict=True):
    thresholds = low + (high - low) * (np.arange(k) + 0.5) / k
    ax.plot(x, np.sign(x[:, None] - thresholds).mean(axis=1))
    ax.plot([low, high], [0, 0], "o", color="0.2", markersize=5)
    ax.set(title=f"{k} {'stump: the middle one' if k == 1 else 'stumps, averaged'}", xlabel="x")
plt.show()

# %% [markdown]
# So the functions of SVM-Stump are continuous and piecewise linear between the sample's values. Instead of the
# averages one may draw stumps at random, each gap as often as its weight is large: $k$ stumps that all weigh the same
# are an honest ensemble, and tend to the infinite one.

# %%
solution = solve_additive_svm(AdditiveSVM.of(X, y, C=0.3))
model = AdditiveModel.of(solution)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharex=True, sharey=True)
x = np.linspace(X[:, 0].min(), X[:, 0].max(), 500)
at = np.column_stack([x, np.full(500, X[:, 1].min())])
for ax, k in zip(axes, (30, 300, 30_000), strict=True):
    drawn = model.cells.sample(k, random_state=0)
    ax.plot(x, drawn(at) - drawn(at[:1]), label="drawn", color="#bd1f01", linewidth=1)
    ax.plot(x, model(at) - model(at[:1]), label="infinite", color="#3f90da")
    ax.set(title=f"{k} stumps", xlabel="x[0]")
axes[0].legend()
axes[0].set_ylabel("g(x[0]), from its left end")
plt.show()
assert np.abs(model(X) - infinite.decision_function(X)).max() < 1e-2

# %% [markdown]
# ## Perceptrons
#
# The perceptrons $\mathrm{sign}(\theta'x - \alpha)$ have directions $\theta$ on a sphere and thresholds $\alpha$. Of
# those that agree on the sample there is no simple list, as there is for stumps. But for any one direction they are
# stumps on $\theta'x$, so P5 is exact in the threshold; directions are sampled. With $m$ of them, the cells' columns
# $H$ have the kernel $K_m = H H'$, which tends to the perceptron kernel $\Delta - \|x - x'\|_2$, and the optimum of
# P5 to that of P2.
#
# The first three rows solve P5 as a cvxpy problem over its cells, and P2 with $K_m$: the same number. The picture
# shows 5 draws for every $m$.

# %%
X, y, C = X[:60], y[:60], 1.0
kernel = Perceptron()
limit = -solve_svm_dual(SVMDual(kernel(X), y, C)).objective


def optimum(cells):
    """P2 with the kernel H H' of the cells."""
    return -solve_svm_dual(SVMDual(cells.scores(cells.edges(np.eye(len(y)))), y, C)).objective


for m in (3, 10, 30):
    cells = kernel.cells(X, n_directions=m, random_state=0)
    primal = InfiniteSVM(cells, y, C).solve().objective
    print(f"m = {m:2}: P5 {primal:.7f}, P2 with its kernel {optimum(cells):.7f}, {cells.shape[1]} cells")
    assert abs(primal - optimum(cells)) < 1e-6
print(f"limit:  P2 with the perceptron kernel {limit:.7f}")

# %%
m = np.array([3, 10, 30, 100, 300, 1000])
error = [[abs(optimum(kernel.cells(X, k, random_state=seed)) / limit - 1) for seed in range(5)] for k in m]
figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
ax.loglog(m, error, "o", color="#3f90da", markersize=4)
ax.loglog(m, np.median(error, axis=1), color="#3f90da", label="median of 5 draws")
ax.loglog(m, 1.5 / np.sqrt(m), "--", color="0.6", label="slope of $m^{-1/2}$")
ax.set(xlabel="directions m", ylabel="relative difference of optima")
ax.legend()
plt.show()
assert np.median(error[-1]) < np.median(error[0]) / 5

# %% [markdown]
# What it looks like: a few directions give kinks, many a smooth boundary. Along one direction the perceptrons are
# stumps, so the kernel of a few is, up to a constant that $\sum_i y_i u_i = 0$ lets us drop, a city-block distance of
# projections.


# %%
def sampled(k):
    """The kernel of perceptrons with k directions of the plane."""
    theta = np.random.default_rng(0).standard_normal((2, k))
    theta /= np.linalg.norm(theta, axis=0)
    return lambda X, Z: -np.pi / (2 * k) * cdist(X @ theta, Z @ theta, "cityblock")


kernels = {"3 directions": sampled(3), "30 directions": sampled(30), "all directions": Perceptron()}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, (name, one) in zip(axes, kernels.items(), strict=True):
    BoundaryDisplay.from_estimator(SVC(C=C, kernel=one).fit(X, y), X, y, ax=ax)
    ax.get_legend().remove()
    ax.set_title(name)
plt.show()
