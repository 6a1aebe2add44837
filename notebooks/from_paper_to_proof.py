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
# # From a formula on paper to a proven model, five times
#
# A paper ends with a formula: a loss $\ell$ of scores, perhaps with unknowns of its own and with constraints. To make
# it an ensemble of weak learners, put $f = H w + b$ for the scores, where $H$ has a column $h_j(x_1), \dots, h_j(x_n)$
# for every hypothesis, and penalise the weights:
#
# $$\min_{w, b}\; \ell(H w + b) + \lambda \sum_j |w_j| .$$
#
# Below are five such losses from the literature. Each takes the same four steps: the formula; the formula in cvxpy, a
# few lines; `column_generation`, which finds the few stumps that matter and proves that no other one could help; and a
# check of the number by another road, all stumps at once in one program that knows nothing of columns or bounds.
#
# The sample: 120 patients with diabetes, their body mass index, blood pressure and two blood values (HDL, and the
# logarithm of triglycerides); $t$ is the progression of the disease after a year, in hundreds.

# %%
import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.errors import SolverFallbackWarning
from cvxens.plotting import ShapeDisplay
from cvxens.problems import StumpColumns
from cvxens.problems.penalties import L1

warnings.simplefilter("ignore", SolverFallbackWarning)  # if one solver misses nine digits, the next one is asked

data = load_diabetes(scaled=False)
names = ["bmi", "bp", "HDL", "log triglycerides"]
X, t = data.data[:120, [2, 3, 6, 8]], data.target[:120] / 100
n, lam, stumps = len(t), 3.0, Stumps(X)

columns = StumpColumns(X, constant=False)
H = columns.edges(np.eye(n)).T
print(f"{n} patients, {H.shape[1]} stumps")


def solve(formulation, y=None, oracle=stumps):
    """Generate columns to a gap of 1e-6, and print what is proven."""
    run = column_generation(formulation, oracle, y, tol=1e-6)
    proof = run.certificate
    n_used = np.sum(np.abs(run.weights).reshape(len(run.weights), -1).max(axis=1) > 1e-6)
    print(f"the optimum is between {proof.dual:.6f} and {proof.primal:.6f}; {n_used} stumps, {len(run.history)} rounds")
    print(f"proven: {proof.proven}, {proof.note}")
    assert proof.proven
    assert proof.holds(1e-6)
    return run


def enumerate_stumps(formulation, y=1.0, H=H):
    """Solve the same with a weight for every column of H, in cvxpy alone."""
    outputs = () if formulation.outputs is None else (formulation.outputs,)
    w, b = cp.Variable((H.shape[1], *outputs)), cp.Variable((1, *outputs) if outputs else ())
    z = cp.multiply(y, H @ w + (b if formulation.intercept else 0))
    constraints = formulation.constraints(z) if formulation.constraints else []
    problem = cp.Problem(cp.Minimize(formulation.loss(z) + lam * cp.sum(cp.abs(w))), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


# %% [markdown]
# ## 1. Quantiles that do not cross
#
# The $q$-quantile of $t$ given $x$ minimises $\sum_i \rho_q(t_i - f_i)$ with $\rho_q(r) = \max(q r, (q - 1) r)$
# (Koenker and Bassett 1978). Quantiles that are fitted one by one may cross, so that the 90 % quantile of a patient is
# below the median; fitted together, a constraint forbids it (Bondell, Reich and Wang 2010):
#
# $$\min\; \sum_k \sum_i \rho_{q_k}(t_i - f_{ik}) + \lambda \sum_{j, k} |W_{jk}|
# \quad\text{with}\quad f_{i1} \le f_{i2} \le f_{i3} .$$
#
# Three scores a patient are `outputs=3`; the loss holds the targets, so there are no labels.

# %%
q = np.array([0.1, 0.5, 0.9])


def pinball(f):
    r = t[:, None] - f
    return cp.sum(cp.maximum(r @ np.diag(q), r @ np.diag(q - 1)))


def in_order(f):
    return [f[:, 0] <= f[:, 1], f[:, 1] <= f[:, 2]]


quantiles = Formulation(pinball, L1(lam), intercept=True, outputs=3, constraints=in_order)
run = solve(quantiles)

# %%
f = run.decision_function(X)
checked = enumerate_stumps(quantiles)
below, at_most = (np.mean(t[:, None] - f < room, axis=0).round(3) for room in (-1e-6, 1e-6))
print(f"all stumps at once: {checked:.6f}; shares of patients below: {below}, and at most: {at_most}")
assert abs(checked - run.certificate.primal) < 1e-6 * checked
assert (np.diff(f, axis=1) >= -1e-6).all()

order = np.lexsort((f[:, 2], f[:, 1]))
plt.figure(figsize=(7, 3.5))
plt.fill_between(np.arange(n), f[order, 0], f[order, 2], step="mid", alpha=0.25, label="10 % to 90 %")
plt.step(np.arange(n), f[order, 1], where="mid", label="median")
plt.plot(np.arange(n), t[order], ".", color="0.3", label="patient")
plt.xlabel("patients, by predicted median")
plt.ylabel("progression t")
plt.legend(loc="upper left")
plt.show()

# %% [markdown]
# ## 2. Grades, and the thresholds between them
#
# Doctors say grades rather than numbers: $g_i \in \{0, 1, 2, 3\}$, the quarters of $t$. One score and three thresholds
# $\theta_k$ shall say them all, each patient on the right side of every threshold by a margin (the all-threshold loss
# of Rennie and Srebro 2005):
#
# $$\min_{w, \theta}\; \sum_i \sum_k \max(0, 1 - s_{ik} (f_i - \theta_k)) + \lambda \sum_j |w_j|, \qquad
# s_{ik} = +1 \text{ if } g_i > k \text{ else } -1 .$$
#
# The thresholds are a variable of the loss's own. It has a name, so its value comes back in `run.variables`.

# %%
grades = np.digitize(t, np.quantile(t, [0.25, 0.5, 0.75]))
s = np.where(grades[:, None] > np.arange(3), 1.0, -1.0)
theta = cp.Variable(3, name="theta")


def all_thresholds(f):
    return sum(cp.sum(cp.pos(1 - cp.multiply(s[:, k], f - theta[k]))) for k in range(3))


ordinal = Formulation(all_thresholds, L1(lam), scores=True)
run = solve(ordinal)

# %%
f, found = run.decision_function(X), run.variables["theta"]
checked = enumerate_stumps(ordinal)
said = (f[:, None] > found).sum(axis=1)
print(f"all stumps at once: {checked:.6f}; thresholds {found.round(3)}")
print(f"right: {np.mean(said == grades):.0%}, off by at most one grade: {np.mean(abs(said - grades) <= 1):.0%}")
assert abs(checked - run.certificate.primal) < 1e-6 * checked
assert (np.diff(found) > 0).all()

plt.figure(figsize=(7, 3))
rng = np.random.default_rng(0)
plt.plot(f, grades + rng.uniform(-0.25, 0.25, n), ".")
for k, at in enumerate(found):
    plt.axvline(at, color="0.4", linewidth=0.8)
    plt.text(at, 3.45, f"$\\theta_{k}$", ha="center")
plt.yticks(range(4))
plt.xlabel("score f")
plt.ylabel("grade (jittered)")
plt.show()

# %% [markdown]
# ## 3. An alarm with few false ones
#
# Neyman and Pearson: miss as few as possible, with at most so many false alarms. With hinges in place of counts it is
# convex (Rigollet and Tong 2011):
#
# $$\min\; \frac{c}{n_+} \sum_{y_i = 1} \max(0, 1 - z_i) + \lambda \sum_j |w_j| \quad\text{with}\quad
# \frac{1}{n_-} \sum_{y_i = -1} \max(0, 1 - z_i) \le \alpha, \qquad z_i = y_i f_i .$$
#
# A hinge is at least 1 where the alarm is false, so the share of false alarms is at most $\alpha$. Here the alarm is
# for the half with the faster progression, $c = 50$, and $\alpha$ goes from 0.1 to 0.7.

# %%
y = np.where(t > np.median(t), 1.0, -1.0)


def misses(z):
    return 50 * cp.sum(cp.pos(1 - z[y > 0])) / np.sum(y > 0)


def alarm(alpha):
    def few_false_alarms(z):
        return [cp.sum(cp.pos(1 - z[y < 0])) / np.sum(y < 0) <= alpha]

    return Formulation(misses, L1(lam), intercept=True, constraints=few_false_alarms)


alphas = [0.1, 0.3, 0.5, 0.7]
runs = {alpha: solve(alarm(alpha), y) for alpha in alphas}

# %%
false, missed = [], []
for alpha, run in runs.items():
    checked, f = enumerate_stumps(alarm(alpha), y), run.decision_function(X)
    false.append(np.mean(f[y < 0] > 1e-9))
    missed.append(np.mean(f[y > 0] <= 1e-9))
    print(
        f"alpha = {alpha}: {checked:.6f} by all stumps at once, {false[-1]:.1%} false alarms, {missed[-1]:.1%} missed"
    )
    assert abs(checked - run.certificate.primal) < 1e-6 * checked
    assert false[-1] <= alpha

plt.figure(figsize=(5.5, 3.5))
plt.plot(alphas, alphas, "--", color="0.6", label="what is allowed")
plt.plot(alphas, false, "o-", label="false alarms")
plt.plot(alphas, missed, "s-", label="missed")
plt.xlabel(r"$\alpha$")
plt.ylabel("share of the class")
plt.legend()
plt.show()

# %% [markdown]
# ## 4. Who is next
#
# Cox (1972) models the order of events: of those still at risk at time $T$, the next one is patient $i$ with a chance
# in proportion to $e^{f_i}$. Those who leave early, without an event, count as long as they are at risk. With $d_T$
# events in the year $T$ (Breslow's form for ties),
#
# $$\min_w\; \sum_T d_T \ln \sum_{i: T_i \ge T} e^{f_i} - \sum_{i: \text{event}} f_i + \lambda \sum_j |w_j| .$$
#
# A constant in $f$ changes nothing, so there is no intercept. The times are drawn, so that the truth is known: the
# logarithm of the risk rises with the body mass index, and by 0.8 where the triglycerides are high.

# %%
rng = np.random.default_rng(0)
truth = 0.15 * (X[:, 0] - 26) + 0.8 * (X[:, 3] > 4.7)
happens, leaves = rng.exponential(np.exp(-truth)), rng.exponential(1.0, n)
event = happens <= leaves
T = np.ceil(10 * np.minimum(happens, leaves)).clip(max=10)
print(f"{event.sum()} events, {n - event.sum()} left before theirs")


def cox(f):
    years = [np.sum(event & (k == T)) * cp.log_sum_exp(f[k <= T]) for k in np.unique(T[event])]
    return sum(years) - cp.sum(f[event])


hazards = Formulation(cox, L1(lam), scores=True)
run = solve(hazards)

# %%
checked, f = enumerate_stumps(hazards), run.decision_function(X)
print(f"all stumps at once: {checked:.6f}; correlation with the truth {np.corrcoef(f, truth)[0, 1]:.2f}")
assert abs(checked - run.certificate.primal) < 1e-6 * checked

shown = ShapeDisplay.from_run(run, X, feature_names=names)
for ax in shown.axes_:
    grid = np.linspace(*ax.get_xlim(), 200)
    true = {"bmi": 0.15 * (grid - 26), "log triglycerides": 0.8 * (grid > 4.7) - 0.4}
    ax.plot(grid, true.get(ax.get_xlabel(), 0 * grid), ":", color="black", scalex=False, scaley=False)
plt.show()

# %% [markdown]
# ## 5. The worst tenth, and what a measurement costs
#
# Least absolute errors are fair on average, and may still be far off for a few. The conditional value at risk
# (Rockafellar and Uryasev 2000) is the mean of the worst tenth of all errors, and has a convex form with one more
# unknown, $a$:
#
# $$\min_{w, b, a}\; c \Big( a + \frac{1}{0.1\, n} \sum_i \max(0, |t_i - f_i| - a) \Big)
# + \lambda \sum_j c_j |w_j| .$$
#
# And blood is drawn with a needle: a stump on a blood value costs $c_j = 5$, one on a tape measure 1. Costs are a
# matter of the oracle, not of the formulation: it prices each stump divided by its cost.

# %%
costs = np.array([1.0, 1.0, 5.0, 5.0])


def worst_tenth(f):
    a = cp.Variable(name="a")
    return 20 * (a + cp.sum(cp.pos(cp.abs(t - f) - a)) / (0.1 * n))


cautious = Formulation(worst_tenth, L1(lam), intercept=True, scores=True)
average = Formulation(lambda f: cp.norm1(t - f), L1(lam), intercept=True, scores=True)
runs = {
    "mean": (solve(average), enumerate_stumps(average)),
    "worst tenth": (solve(cautious), enumerate_stumps(cautious)),
    "worst tenth, priced": (
        solve(cautious, oracle=Stumps(X, costs=costs)),
        enumerate_stumps(cautious, H=H / costs[columns.features]),
    ),
}

# %%
plt.figure(figsize=(6, 3.5))
for name, (run, checked) in runs.items():
    errors = np.abs(t - run.decision_function(X))
    print(f"{name}: {checked:.6f} by all stumps at once; mean error {errors.mean():.3f},", end=" ")
    features = [c.hypothesis.step.feature for c, w in zip(run.columns, run.weights, strict=True) if abs(w) > 1e-6]
    print(
        f"of the worst tenth {np.sort(errors)[-n // 10 :].mean():.3f}; stumps on blood: {sum(d > 1 for d in features)}"
    )
    assert abs(checked - run.certificate.primal) < 1e-6 * checked
    plt.ecdf(errors, label=name)
plt.axhline(0.9, color="0.6", linewidth=0.8)
plt.xlabel("absolute error")
plt.ylabel("share of patients")
plt.legend(loc="lower right")
plt.show()

# %% [markdown]
# ## What the proof rests on
#
# The losses above are expressions; nobody told the library their conjugates. Yet each certificate is proven: an
# expression is brought into conic form once, every vector in the dual cone gives a bound on it, and the one that the
# solver suggests is repaired and checked in plain numpy, rounding included. The oracle then bounds the edges of all
# stumps, and the two bounds together hold whatever the solver did. Where an oracle cannot bound its edges, or a penalty
# is an expression of no structure that is known, the note says what is left unproven. A formula that is not convex is
# refused where it is written.
#
# Some of these formulas have a class of their own (`Pinball`, `AbsoluteError`, `CVaR` and others in `cvxens.problems`),
# with a conjugate in closed form and faster solvers, for samples of many thousands.
