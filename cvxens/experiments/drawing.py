"""The figures of the papers, drawn from trials; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cvxens.experiments.experiment import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Trials = Mapping[tuple[str, str], Sequence[Trial]]
"""By row and column."""

RESOLUTION = 80
"""Dots per inch."""


@contextmanager
def panels(path: Path, n_rows: int, n_columns: int, size: float = 3.2) -> Iterator[list[Axes]]:
    """Make so many square panels, and write them to a file, without a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size * n_columns, size * n_rows), layout="constrained")
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
    trials = {place: found for place, found in trials.items() if "scores" in found[0].more}
    with panels(path, 1, len(trials)) as axes:
        for axis, ((row, column), found) in zip(axes, trials.items(), strict=True):
            shown = found[0].more
            values = np.array(shown["scores"])
            low, high = np.array(shown["range"])
            across, up = (np.linspace(low[d], high[d], len(values)) for d in (0, 1))
            axis.contourf(across, up, np.sign(values), levels=[-2, 0, 2], colors=CLASSES, alpha=0.15)
            axis.contour(across, up, values, levels=[0.0], colors="black")
            X, y = np.array(shown["X"]), np.array(shown["y"])
            for sign, colour in zip((-1, 1), CLASSES, strict=True):
                axis.plot(*X[y == sign].T, ".", color=colour, markersize=3)
            axis.set(title=f"{row}: {column}", xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def draw_steps(trials: Trials, path: Path) -> None:
    """Draw the curves of one trial, a panel each, as functions of one feature, with the samples as ticks."""
    [[trial]] = trials.values()
    curves, ticks = trial.more["curves"], trial.more["samples"]
    with panels(path, 1, len(curves)) as axes:
        for axis, (name, family) in zip(axes, curves.items(), strict=True):
            for values in family:
                axis.plot(trial.more["at"], values, color="black", linewidth=1)
            axis.plot(ticks, np.zeros(len(ticks)), "|", color="tab:red", markersize=12)
            axis.set(title=name, ylim=(-1.2, 1.2), yticks=[-1, 0, 1])
