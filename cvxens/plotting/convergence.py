"""Objective and bound of a run as they meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cvxens.plotting.traces import TraceDisplay
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class ConvergenceDisplay(TraceDisplay):
    """Objective (solid) and bound (dashed) against rounds or seconds; the optimum lies between.

    Of AdaBoost the objective is the smallest margin, and the bound on the largest possible one the smallest edge.

    Parameters
    ----------
    traces, against
        As of every `TraceDisplay`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from cvxens.colgen import column_generation, formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> run = column_generation(formulations.soft_margin(C=1.0), oracles.Stumps(X), y)
    >>> display = ConvergenceDisplay.from_run(run, ax=Figure().subplots())
    >>> [line.get_label() for line in display.ax_.lines]
    ['objective', 'bound']
    """

    def _draw(self, ax: Axes) -> None:
        for trace in self.traces:
            x, objective, bound = self._horizontal(trace), _drawable(trace.objective), _drawable(trace.bound)
            style: dict[str, Any] = {"marker": self._marker(trace), "markersize": 4}
            line = ax.plot(x, objective, label=trace.name or trace.quantity, **style)[0]
            ax.plot(x, bound, "--", color=line.get_color(), label="" if trace.name else "bound", **style)
            ax.fill_between(x, bound, objective, color=line.get_color(), alpha=0.12, linewidth=0)
        self._finish(ax, f"{self._quantity} (solid), bound (dashed)")


def _drawable(values: Array) -> Array:
    """NaN where there is nothing to draw."""
    return np.where(np.isfinite(values), values, np.nan)
