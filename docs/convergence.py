"""Draw docs/convergence.png: column generation on breast cancer, four stumps a round. Needs matplotlib."""

from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_breast_cancer

mpl.use("Agg")
from matplotlib import pyplot as plt

from cvxens.colgen import column_generation, formulations, oracles

X, labels = load_breast_cancer(return_X_y=True)
run = column_generation(
    formulations.soft_margin(C=0.05), oracles.Stumps(X, columns_per_round=4), 2.0 * labels - 1, tol=1e-9
)
rounds = range(1, len(run.history) + 1)
objective = [row.objective for row in run.history]
bound = [row.dual_bound for row in run.history]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.fill_between(rounds, bound, objective, color="tab:blue", alpha=0.12, label="the optimum is in here")
left.plot(rounds, objective, color="tab:blue", label="objective over the columns so far")
left.plot(rounds, bound, color="tab:orange", label="proven bound over all stumps")
left.set(xlabel="round", ylabel=r"$\sum w + C \sum \xi$", xlim=(1, len(run.history)), ylim=(0, 12))
left.legend(frameon=False)
gaps = [max((o - b) / o, 1e-13) for o, b in zip(objective, bound, strict=True)]
right.semilogy([row.n_columns for row in run.history], gaps, marker=".", color="tab:red")
right.set(xlabel="columns", ylabel="certified relative gap", ylim=(1e-13, 1.5))
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)
