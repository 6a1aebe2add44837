"""The pictures of the site, drawn when it is built: the pair, and every formulation on a small sample."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from cvxens import problems
from cvxens.kernels import Gaussian, Stump
from cvxens.problems.losses import Exponential, Hinge, Logistic, SquaredHinge

INK, BLUE, ORANGE, GREEN, GREY = "#333333", "#1f6fb4", "#d1660b", "#2a8a3e", "#999999"


STEPS = {"SVMPrimal", "HardMarginBoosting", "SoftMarginBoosting", "LPBoost"}
"""Formulations whose scores are steps between the samples."""


def sample(n: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Return points on a line, 1 in the middle and -1 at both ends, two labels turned round."""
    x = np.sort(np.random.default_rng(3).uniform(0, 1, n))
    y = np.where(np.abs(x - 0.5) < 0.24, 1.0, -1.0)
    y[[5, 14]] *= -1
    return x[:, np.newaxis], y


def stump_columns(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the thresholds between the points of a line, and the columns of stumps and constants, both ways round."""
    cuts = (X[1:, 0] + X[:-1, 0]) / 2
    signs = np.where(cuts <= X, 1.0, -1.0)
    constant = np.ones((len(X), 1))
    return cuts, np.hstack([signs, -signs, constant, -constant])


def tidy(axes: Axes) -> None:
    """Leave the frame out."""
    axes.spines[["top", "right"]].set_visible(False)


def draw_scores(axes: Axes, X: np.ndarray, y: np.ndarray, f: np.ndarray, u: np.ndarray, steps: bool) -> None:
    """Draw the scores over a line, and the multiplier of every sample as the size of its point."""
    sizes = 12 + 160 * np.abs(u) / max(float(np.abs(u).max()), 1e-12)
    axes.axhline(0, color=GREY, lw=0.7)
    axes.plot(X[:, 0], f, color=INK, lw=1.5, drawstyle="steps-mid" if steps else "default")
    height = 1.15 * float(np.abs(f).max())
    for sign, colour in ((1, BLUE), (-1, ORANGE)):
        of = y == sign
        axes.scatter(X[of, 0], np.full(of.sum(), sign * height), s=sizes[of], color=colour, alpha=0.75, lw=0)
    axes.set(xlabel="x", ylabel="score f(x)", title="the larger a point, the larger its multiplier u")
    tidy(axes)


def draw_formulation(name: str, axes: Axes) -> None:
    """Draw the optimum of a formulation on the sample: its scores, and its multipliers as sizes."""
    X, y = sample()
    n = len(y)
    K, (_, H) = Stump()(X), stump_columns(X)
    radial = Gaussian(40.0)(X)
    if name == "SLSSVM":
        labels = np.repeat([0, 1, 2], n // 3)
        codes = problems.simplex_codes(3)
        problem = problems.SLSSVM(H, codes[labels], C=0.5)
        of = problem.solve().variables
        F = (H @ of["W"] + of["b"]) @ codes.T
        for k, colour in enumerate((BLUE, ORANGE, GREEN)):
            axes.plot(X[:, 0], F[:, k], color=colour)
            axes.scatter(X[labels == k, 0], np.full(n // 3, 1.15), s=25, color=colour, lw=0)
        axes.set(xlabel="x", ylabel="score of each class", title="three classes along a line")
        tidy(axes)
        return
    if name == "EntropyProjection":
        start = np.full(n, 1 / n)
        margins = y * (radial @ (y * start))
        rho = float(0.6 * margins.min() + 0.4 * margins.mean())
        solved = problems.EntropyProjection(radial, y, start, rho).solve().variables["alpha"]
        axes.bar(X[:, 0], solved, width=0.012, color=np.where(y > 0, BLUE, ORANGE))
        axes.axhline(1 / n, color=INK, lw=1)
        axes.set(xlabel="x", ylabel="alpha", title="one update: from the line to the bars")
        tidy(axes)
        return
    made = {
        "SVMPrimal": lambda: problems.SVMPrimal(H, y, C=0.5),
        "SVMDual": lambda: problems.SVMDual(K, y, C=20.0),
        "HardMarginBoosting": lambda: problems.HardMarginBoosting(H, y),
        "SoftMarginBoosting": lambda: problems.SoftMarginBoosting(H, y, C=0.6),
        "InfiniteSVM": lambda: problems.InfiniteSVM(Stump().cells(X), y, C=20.0),
        "LPBoost": lambda: problems.LPBoost(H, y, D=1 / (0.3 * n)),
        "RhoSVM": lambda: problems.RhoSVM(radial + 1.0, y),
        "RegularizedExpLoss": lambda: problems.RegularizedExpLoss(radial, y, lam=0.05),
        "RegularizedLeastSquares": lambda: problems.RegularizedLeastSquares(radial, y, gamma=0.005),
    }[name]()
    solution = made.solve()
    found, duals = solution.variables, solution.duals
    point = {**found, **duals}
    u = next(np.asarray(point[key]) for key in ("u", "alpha", "s") if key in point)
    if "c" in found or "eta" in found:
        f = (K if name == "SVMDual" else radial + (name == "RhoSVM")) @ np.asarray(found.get("c", found.get("eta")))
    elif name == "SVMDual":
        f = K @ (y * u) + float(np.asarray(point["b"]))
    else:
        columns = Stump().cells(X) if name == "InfiniteSVM" else H
        w = np.asarray(found.get("w", found.get("a")))
        f = np.asarray(columns.scores(w) if hasattr(columns, "scores") else columns @ w) + float(
            np.asarray(found.get("b", 0.0))
        )
    draw_scores(axes, X, y, np.ravel(f), np.ravel(u), name in STEPS)


def draw_pair(figure: plt.Figure) -> None:
    """Draw what a pair is: losses of margins, their conjugates as functions of u, and edges under a threshold."""
    left, middle, right = figure.subplots(1, 3)
    z, u = np.linspace(-1.5, 2.5, 300), np.linspace(0, 1, 300)
    losses = ((Hinge(1.0), BLUE), (Logistic(1.0), ORANGE), (SquaredHinge(1.0), GREEN), (Exponential(1.0), GREY))
    for loss, colour in losses:
        name = type(loss).__name__
        left.plot(z, [loss.value(np.array([at])) for at in z], color=colour, label=name)
        middle.plot(u, [loss.dual_value(np.array([at])) for at in u], color=colour)
    left.set(ylim=(0, 3), xlabel="margin z", ylabel="loss", title="what a margin costs")
    left.legend(frameon=False, fontsize=8)
    middle.set(xlabel="multiplier u = -loss'(z)", ylabel="what u adds to the bound", title="the same from the dual")
    X, y = sample()
    cuts, H = stump_columns(X)
    solution = problems.SoftMarginBoosting(H, y, C=0.3).solve()
    stumps = len(cuts)
    for weights, colour, words in (
        (np.full(len(y), 0.3 / 2), GREY, "all samples alike"),
        (solution.duals["u"], BLUE, "at the optimum"),
    ):
        right.step(cuts, np.abs(H[:, :stumps].T @ (y * weights)), where="mid", color=colour, label=words)
    right.axhline(1, color=ORANGE, lw=1)
    right.text(cuts[-1], 1.04, "threshold", ha="right", color=ORANGE, fontsize=8)
    right.set(xlabel="threshold of the stump", ylabel="|edge|", title="pricing: edges")
    right.legend(frameon=False, fontsize=8)
    for axes in (left, middle, right):
        tidy(axes)


def draw_all(folder: Path) -> None:
    """Write every picture of the site."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = plt.figure(figsize=(11, 3.4), layout="constrained")
    draw_pair(figure)
    figure.savefig(folder / "pair.png", dpi=130)
    plt.close(figure)
    for kind in problems.FORMULATIONS:
        figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
        draw_formulation(kind.__name__, axes)
        figure.savefig(folder / f"{kind.__name__}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    draw_all(Path(__file__).parent / "_static" / "pictures")
