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
# # A new boosting algorithm in ten lines
#
# Write down a loss on margins and a penalty on weights:
#
# $$\min_{w, b}\; \mathrm{loss}(z) + \mathrm{penalty}(w) \quad\text{with}\quad z = y \circ (H w + b),$$
#
# where $H_{ij} = h_j(x_i)$ has a column for every hypothesis, far too many to list. Column generation solves it all
# the same. The multiplier $u$ of that one equality weighs the samples; the *edge* of a hypothesis is
# $\sum_i u_i y_i h(x_i)$; and a hypothesis outside can improve the answer only if its edge exceeds the slope of the
# penalty at 0. So an *oracle* that finds the largest edges is all that is needed, and boosting is what comes out.
#
# Below are eight algorithms, none longer than ten lines. The sample: 300 tumours, ten measurements, $y = 1$ where
# benign.

# %%
import warnings

import cvxpy as cp
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer

from cvxens.colgen import Column, Formulation, Priced, column_generation
from cvxens.colgen.oracles import Stump, Stumps
from cvxens.errors import InvalidInput, SolverFallbackWarning
from cvxens.plotting import MarginDisplay, ShapeDisplay
from cvxens.problems import StumpColumns
from cvxens.problems.losses import EntropicMinimumMargin, Hinge, Logistic, SquaredHinge
from cvxens.problems.penalties import L1, ElasticNet, Simplex

warnings.simplefilter("ignore", SolverFallbackWarning)  # if one solver misses nine digits, the next one is asked

data = load_breast_cancer()
X, y, names = data.data[:300, :10], 2.0 * data.target[:300] - 1, data.feature_names[:10]
stumps, n, C = Stumps(X), len(y), 0.2
runs = {}


def solve(name, formulation, oracle=stumps):
    """Run, and print what the certificate says."""
    runs[name] = run = column_generation(formulation, oracle, y, tol=1e-4)
    found = f"{np.count_nonzero(np.abs(run.weights) > 1e-6)} stumps after {len(run.history)} rounds"
    primal, dual, words = run.certificate.primal, run.certificate.dual, run.certificate.note
    print(f"{name}: {primal:.5f}, bound {dual:.5f}, {found}\n  proven: {run.certificate.proven}, {words}")
    assert abs(primal - dual) <= 1e-4 * abs(primal)


# %% [markdown]
# ## 1. Hinge
#
# $C \sum_i \max(0, 1 - z_i) + \sum_j |w_j|$ is soft-margin boosting. First with the library's own terms, whose
# conjugates it knows, then as an expression of cvxpy. The number is the same, and both are proofs; what they rest on
# differs. Where the conjugate is known, the bound is its value. Else it follows from multipliers of the conic form
# that cvxpy makes of the expression: a solver finds them, and they are repaired and checked without it.

# %%
solve("hinge, certified", Formulation(Hinge(C), L1(), intercept=True))
solve("hinge", Formulation(lambda z: C * cp.sum(cp.pos(1 - z)), L1(), intercept=True))

# %% [markdown]
# ## 2. Logistic

# %%
solve("logistic, certified", Formulation(Logistic(C), L1(), intercept=True))
solve("logistic", Formulation(lambda z: C * cp.sum(cp.logistic(-z)), L1(), intercept=True))

# %% [markdown]
# ## 3. Squared hinge

# %%
solve("squared hinge, certified", Formulation(SquaredHinge(C), L1(), intercept=True))
solve("squared hinge", Formulation(lambda z: C / 2 * cp.sum_squares(cp.pos(1 - z)), L1(), intercept=True))

# %% [markdown]
# ## 4. Huberised hinge
#
# Quadratic up to half a unit below a margin of 1, then linear: a hinge without a corner, that still forgives
# outliers.

# %%
solve("Huberised hinge", Formulation(lambda z: C * cp.sum(cp.huber(cp.pos(1 - z), 0.5)), L1(), intercept=True))


# %% [markdown]
# ## 5. Entropy-regularised margins (ERLPBoost)
#
# LPBoost picks sample weights $u$ at a corner of $\{u \ge 0, \sum_i u_i = 1, u_i \le \frac{1}{\nu n}\}$ and jumps
# from one corner to the next. Warmuth, Glocer and Vishwanathan (2008) add $\frac1\eta \sum_i u_i \ln (n u_i)$ to the
# largest edge that it minimises. On the side of the margins that is a soft minimum with slacks $\xi$; the loss may
# have variables of its own:
#
# $$\max_{w \ge 0,\, \sum w = 1}\; \max_{\xi \ge 0}\; -\frac1\eta \ln \frac1n \sum_i e^{-\eta (z_i + \xi_i)}
# - \frac{1}{\nu n} \sum_i \xi_i .$$
#
# The entropy on the side of $u$ is the conjugate of this loss, which the library has too.


# %%
def soft_minimum(z, eta=20.0, nu=0.2):
    xi = cp.Variable(n, nonneg=True)
    return (cp.log_sum_exp(-eta * (z + xi)) - np.log(n)) / eta + cp.sum(xi) / (nu * n)


known = EntropicMinimumMargin(D=1 / (0.2 * n), eta=20.0)
solve("ERLPBoost, certified", Formulation(known, Simplex(), nonnegative=True, maximise=True))
solve("ERLPBoost", Formulation(soft_minimum, Simplex(), nonnegative=True, maximise=True))
print(f"largest u {runs['ERLPBoost'].u.max():.5f}, allowed {1 / (0.2 * n):.5f}")


# %% [markdown]
# ## 6. Elastic-net weights
#
# A little of the squared norm spreads the weight over stumps that are alike. The pricing rule is the slope at 0,
# still 1; stumps inside have edges above it. A proof takes off half of the squares of that excess over the weight of
# the squared norm, here 0.1.


# %%
elastic = ElasticNet(l1=1.0, l2=0.1)
solve("elastic net, certified", Formulation(Hinge(C), elastic, intercept=True))
solve("elastic net", Formulation(lambda z: C * cp.sum(cp.pos(1 - z)), elastic, intercept=True))


# %% [markdown]
# ## 7. Monotone features
#
# A larger tumour should never look more benign for being larger. That is not a matter of the formulation, but of the
# hypotheses: of some features, only stumps that fall. An oracle is a class with its `sample` and one method, `price`,
# that takes $s = y \circ u$ and may leave out what the master has, `exclude`. `StumpColumns` evaluates the edges $H's$
# of all stumps, so ours is exact: it returns the best twenty and the largest edge of all, and with that bound the run
# is a proof.


# %%
class Falling:
    def __init__(self, X, features):
        self.sample, self.H = X, StumpColumns(X, constant=False)
        self.falls = np.isin(self.H.features, features)

    def price(self, s, exclude=()):
        edges, at = self.H.edges(s), (self.H.features.tolist(), self.H.thresholds)
        signs = np.where(self.falls | (edges < 0), -1, 1)
        best = np.argsort(-signs * edges)[:20].tolist()
        columns = [Column(Stump(at[0][j], at[1][j], int(signs[j])), self.sample, signs[j] * edges[j]) for j in best]
        return Priced(columns, edge_bound=max(columns[0].edge, 0.0))


sizes = [0, 2, 3, 5, 6, 7]
solve("monotone", Formulation(Hinge(C), L1(), intercept=True, nonnegative=True), Falling(X, sizes))
free, falling = runs["hinge, certified"].certificate, runs["monotone"].certificate
print(f"the price of monotony: {falling.primal - free.primal:.5f}")

# %% [markdown]
# Six features, free above and falling below: free, the compactness rises once on its way down.

# %%
for name in ("hinge, certified", "monotone"):
    shapes = ShapeDisplay.from_run(runs[name], X, feature_names=names, n_shown=6)
    shapes.figure_.suptitle(name)
plt.show()
assert all(np.diff(shape.values).max() <= 0 for shape in shapes.shapes if shape.name in names[sizes])

# %% [markdown]
# ## 8. A fair share of the margin
#
# Large tumours are classified with larger margins than small ones. A constraint on the margins is a part of the loss
# (infinite where it is violated), so the pricing rule stays what it is. We ask that the mean margins of both groups
# differ by at most 0.05.

# %%
large = X[:, 0] > np.median(X[:, 0])


def similar_means(z):
    return [cp.abs(cp.mean(z[large]) - cp.mean(z[~large])) <= 0.05]


solve("fair", Formulation(Hinge(C), L1(), intercept=True, constraints=similar_means))
for name in ("hinge, certified", "fair"):
    z = y * runs[name].decision_function(X)
    print(f"{name}: mean margins {z[large].mean():.3f} and {z[~large].mean():.3f}")
assert abs(z[large].mean() - z[~large].mean()) <= 0.05 + 1e-6

# %% [markdown]
# ## Side by side
#
# Losses differ in what they do to the margins of the same sample. Left of 0 is misclassified. A hinge gathers samples
# at its own corner, the step of the curve; the smooth losses have no such place; ERLPBoost with $\nu = 0.2$ raises
# about the mean of the lowest fifth.

# %%
compared = ("hinge", "logistic", "squared hinge", "ERLPBoost", "elastic net")
MarginDisplay.from_runs({name: runs[name] for name in compared}, X, y)
plt.show()

# %% [markdown]
# ## Your own
#
# 1. A **loss**: a function from the cvxpy variable `z` (n_samples,) to a convex expression. Slacks may be made
#    inside.
# 2. A **penalty**: a function from `w` to a convex expression, symmetric in the entries of `w`.
# 3. `intercept`, `nonnegative`, and `constraints` on `z`, if need be.
# 4. An **oracle**: `Stumps`, `Perceptrons`, `Trees`, any classifier of scikit-learn through `SklearnLearner`, or a
#    class with `price`.
#
# The run is a function of new samples, `run.decision_function(X)`; `ColumnGenerationClassifier(formulation)` is the
# same as an estimator of scikit-learn's. A loss with its conjugate, as in `cvxens.problems.losses`, is faster. What
# cvxpy does not see as convex is refused, and the message says which part it is:

# %%
try:
    solve("bounded loss", Formulation(lambda z: cp.sum(cp.minimum(cp.pos(1 - z), 1)), cp.norm1))
except InvalidInput as error:
    print(error)

# %%
for name in ("hinge", "logistic", "squared hinge", "ERLPBoost", "elastic net"):
    known, expressed = runs[f"{name}, certified"].certificate, runs[name].certificate
    assert known.holds(1e-4)
    assert expressed.holds(1e-4)
    assert abs(known.primal - expressed.primal) < 1e-4 * known.primal
