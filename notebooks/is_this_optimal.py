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
# # Is this solution optimal?
#
# Four answers to one problem, and the same question to each: how far is it from the optimum, and what is wrong with
# it? The problem is soft-margin boosting over all decision stumps (LL08 P4),
#
# $$\min_{w, \xi \ge 0}\; \sum_j w_j + C \sum_i \xi_i \quad\text{with}\quad y_i \sum_j w_j h_j(x_i) \ge 1 - \xi_i,$$
#
# and its dual problem is
#
# $$\max_{0 \le u \le C}\; \sum_i u_i \quad\text{with}\quad \sum_i u_i y_i h_j(x_i) \le 1 \text{ for all } h_j .$$
#
# Any feasible $w$ gives a value above the optimum, and any feasible $u$ one below. That is all that `certify` needs,
# whoever found them.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier

from cvxens import certify
from cvxens.problems import Signed, SoftMarginBoosting, StumpColumns

data = load_breast_cancer()
X, y, names = data.data[:300, :10], 2.0 * data.target[:300] - 1, data.feature_names[:10]
stumps = StumpColumns(X)
problem = SoftMarginBoosting(Signed(stumps), y, C=0.2)
print(f"{len(y)} samples, {2 * stumps.shape[1]} stumps of either sign")

# %% [markdown]
# `StumpColumns` stands for the matrix $H$ of all stumps without forming it, and `Signed` adds their negations; the
# problem is a cvxpy problem like any other, in `problem.problem`.
#
# ## One from a careful solver, one from a loose one

# %%
tight = problem.solve()
points = {"Clarabel": {"w": tight.variables["w"], "u": tight.duals["u"]}}
certify(problem, **points["Clarabel"])

# %% [markdown]
# The gap is nothing but rounding. Next, SCS with a tolerance of $10^{-3}$. Its status is "optimal" too, and its
# objective is off in the fourth digit. The status does not say so; the gap does.

# %%
loose = problem.solve("SCS", eps_abs=1e-3, eps_rel=1e-3)
points["SCS at 1e-3"] = {"w": loose.variables["w"], "u": loose.duals["u"]}
print(f"{loose.status}: {loose.objective:.6f}, and the optimum is {tight.objective:.6f}")
certify(problem, **points["SCS at 1e-3"])


# %% [markdown]
# ## Two from elsewhere
#
# AdaBoost and gradient boosting build sums of stumps as well. They minimise other things, so we do not expect their
# sums to be optimal here; but how far off are they? What a tree of two leaves adds to the scores takes two values, so
# it is a multiple of a stump plus a constant. The function below finds them among the columns. AdaBoost fixes the
# direction of $w$ and not its length, so we take the length that P4 likes best, for both. Their sample weights, minus
# the slopes of their losses, are scaled to $u_i \le C$.


# %%
def weights_of(contributions):
    """Weights w >= 0 of [H, -H], of the best length, for what each tree adds to the scores: (n_trees, n_samples)."""
    w = np.zeros(stumps.shape[1])
    for added in contributions:
        low, high = added.min(), added.max()
        w[-1] += (high + low) / 2
        if high > low:
            edges = stumps.edges(np.where(added == high, 1.0, -1.0))
            j = np.abs(edges).argmax()
            assert abs(edges[j]) == len(y), "not a stump on the sample"
            w[j] += np.sign(edges[j]) * (high - low) / 2
    w = np.concatenate([np.maximum(w, 0), np.maximum(-w, 0)])
    best = minimize_scalar(lambda t: problem.value({"w": np.exp(t) * w}), bounds=(-9, 9), method="bounded")
    return np.exp(best.x) * w


ada = AdaBoostClassifier(n_estimators=100, random_state=0).fit(X, y)
contributions = ada.estimator_weights_[: len(ada.estimators_), None] * [tree.predict(X) for tree in ada.estimators_]
u = np.exp(-y * contributions.sum(axis=0) / 2)
points["AdaBoost"] = {"w": weights_of(contributions), "u": 0.2 * u / u.max()}

# %% [markdown]
# The other one is LightGBM if it is installed, and scikit-learn's gradient boosting if not.

# %%
try:
    import lightgbm

    other, model = "LightGBM", lightgbm.LGBMClassifier(num_leaves=2, n_estimators=100, verbosity=-1).fit(X, y)
    scores = np.array([model.predict(X, raw_score=True, num_iteration=k) for k in range(1, 101)])
except ImportError:
    other, model = "gradient boosting", GradientBoostingClassifier(max_depth=1, random_state=0).fit(X, y)
    scores = np.array([stage.ravel() for stage in model.staged_decision_function(X)])
u = expit(-y * scores[-1])
points[other] = {"w": weights_of(np.diff(scores, axis=0, prepend=0.0).round(10)), "u": 0.2 * u / u.max()}

# %% [markdown]
# ## What is wrong with each
#
# | residual | what it says where it is not 0 |
# |---|---|
# | primal feasibility | a weight is negative, or a slack is too small for its margin |
# | dual feasibility | some $u_i$ is outside $[0, C]$: negative multipliers too |
# | complementary slackness | $u_i > 0$ though the margin is above 1, or $u_i < C$ though it is below |
# | stationarity | a stump has a weight, and its edge is not 1 |
# | pricing slack | a stump has an edge above 1: it should be in the ensemble, or have more weight |
#
# The residuals are those of the point as it was given; primal and dual value are those of the point after its repair,
# so that the gap between them bounds the error of either.

# %%
certificates = {name: certify(problem, **point) for name, point in points.items()}
print(f"{'':19}{'primal':>10}{'dual':>10}{'relative gap':>14}")
for name, c in certificates.items():
    print(f"{name:19}{c.primal:10.5f}{c.dual:10.5f}{c.relative_gap:14.1e}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", width_ratios=[3, 4])
for row, (name, c) in enumerate(certificates.items()):
    left.plot([c.dual, c.primal], [row, row], "|-", linewidth=3, markersize=14)
    sizes = [max(value, 1e-16) for value in c.residuals.values()]
    right.plot(sizes, range(len(sizes)), "o", markersize=7, alpha=0.8, label=name)
left.axvline(tight.objective, color="0.75", linewidth=0.8, zorder=0)
left.set_yticks(range(len(certificates)), certificates)
left.set(xlabel="from dual to primal value", xlim=(0, None))
left.invert_yaxis()
right.set_yticks(range(len(c.residuals)), c.residuals)
right.set(xlabel="residual (0 is drawn at 1e-16)", xscale="log")
right.invert_yaxis()
right.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()

# %% [markdown]
# ## Optimality, seen
#
# Here are the edges of all stumps on one feature, by threshold, under the sample weights $u$ of three of the answers.
# At the optimum no edge is outside $[-1, 1]$, and the stumps in the ensemble (dots) are where it touches: that is
# stationarity and pricing slack in one picture. In the others, the stumps have whatever edges they have. Where edges
# leave the strip, `certify` divides $u$ by the largest edge of all stumps before it takes a dual value from it.

# %%
feature = names.tolist().index("mean texture")
at = np.flatnonzero(stumps.features == feature)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.0), layout="constrained", sharey=True)
for ax, name in zip(axes, ["Clarabel", "AdaBoost", other], strict=True):
    w, edges = points[name]["w"], stumps.edges(y * points[name]["u"])
    w = w[: stumps.shape[1]] - w[stumps.shape[1] :]
    used = at[np.abs(w[at]) > 1e-3]
    ax.axhspan(-1, 1, color="0.93", zorder=0)
    ax.plot(stumps.thresholds[at], edges[at], linewidth=1)
    ax.plot(stumps.thresholds[used], edges[used], "o", markersize=5)
    ax.set(title=name, xlabel=f"threshold on {names[feature]}")
axes[0].set_ylabel("edge under u")
plt.show()

# %% [markdown]
# ## The point of it
#
# - A status is a claim. The gap between two feasible points is a fact, whoever computed them.
# - A gap of 0 from a solver's own multipliers, unrepaired, proves nothing: their signs may be wrong, or an edge above
#   1.
# - `certify(problem, w=..., u=...)` takes arrays from anywhere; what is missing is derived, and `repair` in the
#   report says so.

# %%
assert certificates["Clarabel"].holds(1e-6)
assert all(c.primal >= tight.objective - 1e-6 >= c.dual - 2e-6 for c in certificates.values())
