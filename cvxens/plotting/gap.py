"""How far a run is from the optimum, on a logarithmic scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cvxens.plotting.traces import TraceDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST = float(np.finfo(float).eps)
"""Where a gap of 0 is drawn."""


@dataclass
class GapDisplay(TraceDisplay):
    """The relative gap between objective and bound against rounds or seconds, on a logarithmic scale.

    A gap below the rounding error 2.2e-16 is drawn there; one that is infinite is left out.

    Parameters
    ----------
    traces, against
        As of every `TraceDisplay`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from cvxens.plotting import Trace
    >>> trace = Trace(objective=[4.0, 2.0], bound=[0.0, 1.5], seconds=[0.1, 0.2])
    >>> display = GapDisplay([trace], against="seconds").plot(Figure().subplots())
    >>> display.ax_.lines[0].get_ydata()
    array([1.  , 0.25])
    """

    def _draw(self, ax: Axes) -> None:
        ax.set_yscale("log")
        for trace in self.traces:
            gap = trace.relative_gap
            drawn = np.where(np.isfinite(gap), np.maximum(gap, SMALLEST), np.nan)
            ax.plot(self._horizontal(trace), drawn, marker=self._marker(trace), markersize=4, label=trace.name)
        self._finish(ax, "relative gap")
