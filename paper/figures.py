"""Draw the picture of the paper from three fits on scikit-learn's breast cancer, and write down the numbers they give.

`python paper/figures.py` writes `figure.pdf` and `figure.json` into this folder. All is deterministic.
"""

import json
import sys
from pathlib import Path

import cvxpy as cp
import matplotlib as mpl
import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_breast_cancer

mpl.use("Agg")
from matplotlib import pyplot as plt

from cvxens.colgen import Formulation, column_generation, find_bands, formulations, oracles, solve_path
from cvxens.plotting import ConvergenceDisplay
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1

HERE = Path(__file__).parent
BLUE, ORANGE = "#1f6fb4", "#d1660b"

PRICES = 0.02, 2.0
"""What a unit of loss costs at both ends of the frontier: from some 15 stumps to some 65."""

NORM = 20.0
"""The l1 norm up to which boosting goes on."""

WITHIN = 0.01
"""Near-optimal is what is at most one percent worse than the optimum."""

FEATURE = "worst texture"
"""Whose function is drawn with its range."""

data = load_breast_cancer()
X, y = data.data, 2.0 * data.target - 1


def solve_own_loss():
    """Return a run of column generation with a loss in one line of cvxpy: Huber's hinge."""
    variant = Formulation(lambda z: cp.sum(cp.huber(cp.pos(1 - z))), lambda w: 5 * cp.norm1(w), intercept=True)
    return column_generation(variant, oracles.Stumps(X, columns_per_round=8), y, tol=1e-6)


def find_frontier():
    """Return the path of all prices, and norms, losses and what the loss cannot be below at each of many norms."""
    oracle = oracles.Stumps(X)
    path = solve_path(lambda C: Formulation(Logistic(C), L1(), intercept=True), oracle, y, prices=PRICES, tol=1e-3)
    norms = np.array([abs(point.run.weights).sum() for point in path.points])
    prices = np.array([point.price for point in path.points])
    losses = (np.array([point.run.certificate.primal for point in path.points]) - norms) / prices
    # norm + C loss >= bound at each price, so a line in the plane that nothing lies below
    grid = np.linspace(norms.min(), norms.max(), 200)
    least = np.max((np.array([point.bound for point in path.points]) - grid[:, np.newaxis]) / prices, axis=1)
    return path, norms, losses, grid, least


def _add_up(step, scores, h):
    """Return the logistic loss after a step along a hypothesis."""
    return np.logaddexp(0, -y * (scores + step * h)).sum()


def boost(rate):
    """Return norms and losses of greedy boosting: the stump of the largest edge a round, a share of its best step."""
    oracle, scores, steps = oracles.Stumps(X), np.zeros(len(y)), {}
    norms, losses = [], []
    while not norms or norms[-1] < NORM:
        column = oracle.price(y * expit(-y * scores)).columns[0]
        h = column.hypothesis(X)
        step = rate * minimize_scalar(_add_up, bracket=(0, 1), args=(scores, h)).x
        scores = scores + step * h
        # a stump and its negation are one weight
        key = (column.hypothesis.feature, column.hypothesis.threshold)
        steps[key] = steps.get(key, 0.0) + step * column.hypothesis.sign
        norms.append(sum(map(abs, steps.values())))
        losses.append(_add_up(0.0, scores, h))
    return np.array(norms), np.array(losses)


def draw(file):
    """Draw the three panels, and return the numbers that the text takes from them."""
    run = solve_own_loss()
    path, norms, losses, grid, least = find_frontier()
    feature = list(data.feature_names).index(FEATURE)
    bands = find_bands(
        formulations.soft_margin(C=0.05), oracles.Stumps, X, y, within=WITHIN, features=[feature], points=80
    )

    mpl.rcParams.update({"font.size": 8, "axes.titlesize": 8, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(6.5, 2.1), layout="constrained")
    ConvergenceDisplay.from_run(run, ax=left)
    optimum = run.certificate.primal
    left.set(ylim=(0, 2 * optimum), title="a loss of one's own", ylabel="objective, bound")
    left.legend(frameon=False)

    middle.fill_between(grid, 0, least, color="0.88", linewidth=0)
    middle.plot(norms, losses, ".", color=BLUE, label="proven optima")
    middle.plot(grid, least, color=BLUE, linewidth=0.8)
    told = {}
    for rate, style, label in ((1.0, "--", "boosting"), (0.1, "-", "with small steps")):
        along, lost = boost(rate)
        middle.plot(along, lost, style, color=ORANGE, linewidth=1, label=label)
        # against the proven least loss of its norm, halfway through the frontier
        at = NORM / 2
        told[rate] = np.interp(at, along, lost) / np.interp(at, grid, least)
    middle.text(2.6, 4, "nothing is here", color="0.45")
    middle.set(ylim=(0, 120), xlim=(2, NORM), xlabel="sum of weights", ylabel="logistic loss", title="greedy and best")
    middle.legend(frameon=False, handlelength=1.5, fontsize=7)

    (band,) = bands.bands
    right.fill_between(band.points, band.shape.least, band.shape.most, step="post", color=BLUE, alpha=0.25, linewidth=0)
    right.step(band.points, band.shape.found, where="post", color=BLUE, linewidth=1)
    right.set(xlabel=FEATURE, ylabel="contribution", title=f"all models within {WITHIN:.0%}")
    figure.savefig(file, metadata={"CreationDate": None})
    plt.close(figure)
    # the constant is a stump, too
    return {
        "samples": f"{len(y)}",
        "stumps": f"{1 + sum(len(np.unique(x)) - 1 for x in X.T):,}",
        "rounds": f"{len(run.history)}",
        "columns": f"{np.count_nonzero(run.weights)}",
        "relative gap": f"{run.certificate.relative_gap:.0e}",
        "prices": f"{len(path.points)}",
        "worse, greedy": f"{100 * (told[1.0] - 1):.0f}",
        "worse, small steps": f"{100 * (told[0.1] - 1):.0f}",
        "norm": f"{NORM / 2:.0f}",
        "within": f"{100 * WITHIN:.0f}",
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    numbers = draw(folder / "figure.pdf")
    (folder / "figure.json").write_text(json.dumps(numbers, indent=1) + "\n")
