"""The figures of the papers, drawn from trials; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
