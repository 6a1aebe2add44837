# %% [markdown]
# # Formulate, solve, certify
#
# A boosting algorithm is a convex problem over weak hypotheses. We take soft-margin boosting (LL08 P4),
#
# $$\min_{w \ge 0, \xi \ge 0} \sum_j w_j + C \sum_i \xi_i \quad\text{with}\quad y_i \sum_j w_j h_j(x_i) \ge 1 - \xi_i$$
#
# and ask three times the same question: how far is this answer from the optimum over *all* decision stumps?

# %%
import numpy as np

from cvxens import certify
from cvxens.colgen import column_generation, formulations, oracles
from cvxens.datasets import make_twonorm
from cvxens.problems import Signed, SoftMarginBoosting, StumpColumns

X, y = make_twonorm(200, n_features=5, random_state=0)
C = 0.1

# %% [markdown]
# ## As a model
#
# `StumpColumns` stands for the matrix of all stumps without forming it; `Signed` adds their negations. The
# problem is a cvxpy problem like any other: look at it, change it, solve it with the solver that you like.

# %%
H = Signed(StumpColumns(X))
problem = SoftMarginBoosting(H, y, C)
solution = problem.solve()
print(f"{H.shape[1]} hypotheses, {solution.solver}: {solution.objective:.6f}")
print(problem.certify(solution))

# %% [markdown]
# ## By column generation
#
# The same optimum from the few stumps that matter. The oracle finds the best stump of every feature under the
# sample weights u; that no edge exceeds 1 is the proof.

# %%
run = column_generation(formulations.soft_margin(C), oracles.Stumps(X), y)
print(f"{len(run.columns)} columns in {len(run.history)} rounds")
print(run.certificate)
assert abs(run.certificate.primal - solution.objective) < 1e-6

# %% [markdown]
# ## From anywhere
#
# Somebody hands us an AdaBoost of 50 rounds: weights of stumps, and sample weights. It fixes their directions
# and not their lengths, so we scale both as well as P4 allows. `certify` repairs what is not quite feasible,
# evaluates both sides, and reports the gap and what is wrong.

# %%
stumps, base = oracles.Stumps(X), H.base
f, weights = np.zeros(len(y)), np.zeros(H.shape[1])
for _ in range(50):
    s = y * np.exp(-y * f)
    best = stumps.price(s / np.abs(s).sum()).columns[0]
    step = 0.5 * np.log((1 + best.edge) / (1 - best.edge))
    f += step * best.values
    matches = base.edges(best.values)
    j = int(np.abs(matches).argmax())
    weights[j if matches[j] > 0 else j + base.shape[1]] += step

u = np.exp(-y * f)
lengths = np.geomspace(1e-2, 1, 50)
length = min(lengths, key=lambda t: problem.value({"w": t * weights}))
certificate = certify(problem, w=length * weights, u=C * u / u.max())
print(certificate)
assert certificate.primal >= solution.objective >= certificate.dual
