"""The figures of the papers, drawn from trials; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cvxens.errors import InvalidInput
from reproduction.experiment import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Trials = Mapping[tuple[str, str], Sequence[Trial]]
"""By row and column."""

RESOLUTION = 80
"""Dots per inch."""


@contextmanager
def panels(path: Path, n_rows: int, n_columns: int, size: float = 3.2, *, width: float = 1.0) -> Iterator[list[Axes]]:
    """Make so many panels, `width` times as wide as high, and write them to a file, without a display."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        found = "found no matplotlib, which draws the figures of a page"
        raise InvalidInput("--page", found, "install it: pip install 'cvxens[plot]'") from error

    figure = Figure(figsize=(width * size * n_columns, size * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(n_rows, n_columns, squeeze=False)
    yield list(axes.ravel())
    # no date and no version: the same figure is the same file
    figure.savefig(path, dpi=RESOLUTION, metadata={"Software": None})


def draw_curves(trials: Trials, path: Path) -> None:
    """Draw the objectives of the first split of each row, a curve for each column, on logarithmic axes."""
    rows = list(dict.fromkeys(row for row, _ in trials))
    with panels(path, 1, len(rows), 4.0) as axes:
        for axis, row in zip(axes, rows, strict=True):
            for (name, column), found in trials.items():
                if name == row:
                    curve = found[0].more["objective"]
                    axis.loglog(range(1, len(curve) + 1), curve, label=column)
            axis.set(title=row, xlabel="updates", ylabel="objective")
            axis.legend(fontsize="small")


CLASSES = ("tab:blue", "tab:red")
"""Colours of the classes -1 and +1."""


def draw_boundaries(trials: Trials, path: Path) -> None:
    """Draw the samples of the first split of each cell, and the boundary of the classifier between them."""
    shown = {place: found[0].more for place, found in trials.items() if "scores" in found[0].more}
    with panels(path, 1, max(len(shown), 1)) as axes:
        for axis, ((row, column), more) in zip(axes, shown.items(), strict=False):
            draw_boundary(axis, more, f"{row}: {column}")


def draw_boundary(axis: Axes, shown: Mapping[str, Any], title: str) -> None:
    """Draw what `BoundaryOf` has found."""
    values = np.array(shown["scores"])
    low, high = np.array(shown["range"])
    across, up = (np.linspace(low[d], high[d], len(values)) for d in (0, 1))
    axis.contourf(across, up, np.sign(values), levels=[-2, 0, 2], colors=CLASSES, alpha=0.15)
    if values.min() < 0 < values.max():
        axis.contour(across, up, values, levels=[0.0], colors="black")
    X, y = np.array(shown["X"]), np.array(shown["y"])
    for sign, colour in zip((-1, 1), CLASSES, strict=True):
        axis.plot(*X[y == sign].T, ".", color=colour, markersize=3)
    axis.set(title=title, xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def draw_steps(trials: Trials, path: Path) -> None:
    """Draw the curves of the first trial, a panel each, as functions of one feature, with the samples as ticks."""
    trial = next(iter(trials.values()))[0]
    curves, ticks = trial.more["curves"], trial.more["samples"]
    with panels(path, 1, len(curves)) as axes:
        for axis, (name, family) in zip(axes, curves.items(), strict=True):
            for values in family:
                axis.plot(trial.more["at"], values, color="black", linewidth=1)
            axis.plot(ticks, np.zeros(len(ticks)), "|", color="tab:red", markersize=12)
            axis.set(title=name, ylim=(-1.2, 1.2), yticks=[-1, 0, 1])


def draw_matrices(trials: Trials, path: Path) -> None:
    """Draw the matrix of the first split of each column as an image, large entries dark."""
    with panels(path, 1, len(trials), 2.6) as axes:
        for axis, ((_, column), found) in zip(axes, trials.items(), strict=True):
            axis.imshow(np.array(found[0].more["matrix"]), cmap="gray_r", interpolation="nearest")
            axis.set(title=column, xticks=[], yticks=[])


def draw_similarities(trials: Trials, path: Path) -> None:
    """Draw the samples of the first split of each column, light where they are similar to the one with the star."""
    with panels(path, 1, len(trials), 3.6) as axes:
        for axis, ((_, column), found) in zip(axes, trials.items(), strict=True):
            shown = found[0].more
            X = np.array(shown["X"])
            axis.scatter(X[:, 0], X[:, 1], c=shown["similarity"], cmap="gray", s=9)
            axis.plot(*shown["at"], "*", color="tab:red", markersize=12)
            axis.set(title=column, facecolor="0.2", xticks=[], yticks=[])


def draw_pairs(trials: Trials, path: Path) -> None:
    """Draw the first column's figure over the second's, a point for each split; above the diagonal the second wins."""
    rows = list(dict.fromkeys(row for row, _ in trials))
    # of what has been measured so far, one column may be all
    first, second = [*dict.fromkeys(column for _, column in trials), ""][:2]
    with panels(path, 2, -(-len(rows) // 2)) as axes:
        for axis, row in zip(axes, rows, strict=False):
            values = [{trial.split: trial.value for trial in trials.get((row, name), ())} for name in (second, first)]
            both = sorted(values[0].keys() & values[1].keys())
            x, y = ([of_splits[k] for k in both] for of_splits in values)
            ends = [min([*x, *y], default=0.0), max([*x, *y], default=1.0)]
            axis.plot(ends, ends, color="0.6", linewidth=1)
            axis.plot(x, y, ".")
            axis.set(title=row, xlabel=second, ylabel=first)


def draw_boundary_and_errors(trials: Trials, path: Path) -> None:
    """Draw a boundary on the left, and on the right errors against iterations, dashed on the samples to train on."""
    row = next(iter(trials))[0]
    with panels(path, 1, 2, 3.6) as axes:
        for (_, column), found in trials.items():
            if "scores" in found[0].more:
                draw_boundary(axes[0], found[0].more, f"{row}: {column}")
            else:
                shown = found[0].more
                [line] = axes[1].semilogx(shown["at"], shown["test"], label=column)
                axes[1].semilogx(shown["at"], shown["training"], "--", color=line.get_color())
        axes[1].set(xlabel="iterations", ylabel="error, %")
        if axes[1].lines:
            axes[1].legend(fontsize="small")


def draw_shares(trials: Trials, path: Path) -> None:
    """Draw how often each feature is taken, the mean over the splits, a panel for each column."""
    with panels(path, len(trials), 1, 3.0, width=3.0) as axes:
        for axis, ((_, column), found) in zip(axes, trials.items(), strict=True):
            shares = np.mean([trial.more["shares"] for trial in found], axis=0)
            axis.bar(np.arange(1, len(shares) + 1), shares)
            axis.set(title=column, xlabel="feature", ylabel="share of the stumps, %")


def draw_seconds(trials: Trials, path: Path) -> None:
    """Draw seconds against iterations for the last row, and on the right the seconds of the last iteration by rows."""
    rows = list(dict.fromkeys(row for row, _ in trials))
    with panels(path, 1, 2, 3.6) as axes:
        for column in dict.fromkeys(column for _, column in trials):
            last = trials.get((rows[-1], column))
            if last:
                axes[0].plot(last[0].more["at"], last[0].more["seconds"], ".-", label=column)
            found = [
                (each[0].n_train, each[0].more["seconds"][-1]) for row in rows if (each := trials.get((row, column)))
            ]
            axes[1].loglog(*zip(*found, strict=True), ".-", label=column)
        axes[0].set(title=rows[-1], xlabel="iterations", ylabel="seconds")
        axes[1].set(title="all iterations", xlabel="samples", ylabel="seconds")
        axes[1].tick_params(which="minor", labelleft=False)
        axes[0].legend(fontsize="small")


def draw_errors_and_seconds(trials: Trials, path: Path) -> None:
    """Draw test errors of the first split against iterations, and on the right the seconds of a fit with so many."""
    with panels(path, 1, 2, 3.6) as axes:
        for (_, column), found in trials.items():
            shown = found[0].more
            axes[0].plot(shown["at"], shown["test"], ".-", label=column)
            axes[1].semilogy(shown["at"], shown["seconds"], ".-", label=column)
        axes[0].set(xlabel="iterations", ylabel="test error, %")
        axes[1].set(xlabel="iterations", ylabel="seconds")
        axes[0].legend(fontsize="small")
