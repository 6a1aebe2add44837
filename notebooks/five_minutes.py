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
# # Five minutes
#
# An ensemble is a weighted sum of weak hypotheses, $f(x) = \sum_j w_j h_j(x) + b$. Which weights are best is a convex
# problem, so there is a best answer, and a proof of how close to it one is. We fit two such ensembles to
# scikit-learn's breast-cancer data, read the proofs, and look at what was learnt.

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from cvxens import InfiniteEnsembleSVC, LPBoostClassifier
from cvxens.plotting import ConvergenceDisplay, ShapeDisplay

data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(data.data, 2.0 * data.target - 1, random_state=0, stratify=data.target)
scaler = StandardScaler().set_output(transform="pandas").fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)
print(f"{len(X)} samples to fit, {len(X_test)} to test, {X.shape[1]} features")

# %% [markdown]
# ## A boosted ensemble
#
# Soft-margin boosting chooses weights $w \ge 0$ of decision stumps (one feature, one threshold):
#
# $$\min_{w, \xi \ge 0}\; \sum_j w_j + C \sum_i \xi_i
# \quad\text{with}\quad y_i \sum_j w_j h_j(x_i) \ge 1 - \xi_i .$$
#
# There are more than ten thousand stumps. Column generation adds the few that matter, round after round, and ends
# when no stump, added or not, can improve the answer by more than `tol`.

# %%
boosted = LPBoostClassifier(C=0.1, tol=1e-6).fit(X, y)
print(f"{len(boosted.weak_learners_)} stumps, accuracy on the test data {boosted.score(X_test, y_test):.3f}")
boosted.certificate_

# %% [markdown]
# Read the certificate from the top. *primal* is the objective of the ensemble. *dual* is a number below which no
# ensemble of stumps can get: it follows from sample weights $u$ alone. The optimum lies between, so *gap* bounds the
# error. The residuals are the optimality conditions one by one, and *proven* says what the bound holds over. All of
# it is recomputed in numpy; no solver's word enters.

# %%
ConvergenceDisplay.from_estimator(boosted)
plt.show()

# %% [markdown]
# ## An infinite ensemble
#
# Now weigh *all* stumps, those between the data too: infinitely many. With $\frac12 \int w^2$ in place of $\sum w$
# that is a support vector machine with the stump kernel $K(x, x') = \Delta - \|x - x'\|_1$ (Lin & Li 2008). Its dual
# problem,
#
# $$\min_u\; \tfrac12 \sum_{i,k} u_i u_k y_i y_k K(x_i, x_k) - \sum_i u_i
# \quad\text{with}\quad 0 \le u_i \le C,\; \sum_i y_i u_i = 0,$$
#
# has one variable per sample, however many hypotheses there are.

# %%
infinite = InfiniteEnsembleSVC(C=0.03, kernel="stump", tol=1e-6).fit(X, y)
print(f"{len(infinite.support_)} support vectors, accuracy on the test data {infinite.score(X_test, y_test):.3f}")
infinite.certificate_

# %% [markdown]
# The *primal* here is the objective of the problem above, which is negative, and the *dual* is minus the value of the
# support vector machine's first problem, $\frac12 \int w^2 + C \sum_i \xi_i$.
#
# ## What was learnt
#
# A sum of stumps is a sum of one function per feature, $f(x) = b + \sum_d g_d(x_d)$, so it can be looked at. The
# boosted ensemble's functions are stairs with few steps; those of the infinite ensemble are continuous. The features
# that matter most, by what their functions add on average:

# %%
largest = ShapeDisplay.from_estimator(boosted, X, n_shown=4)
chosen = [shape.name for shape in largest.shapes]
of = dict(zip(data.feature_names, infinite.shape_functions_, strict=True))
ShapeDisplay.from_shapes({name: of[name] for name in chosen}, X[chosen])
plt.show()
