"""Draws `growth.png`: ``python -m benchmarks growth --json FILE``, then ``python docs/growth.py FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

AXES = (("samples", "samples"), ("features", "features"), ("C n", "C n"), ("C n", "columns"))
"""What was varied, and what is drawn across."""


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Draw seconds and memory against each of `AXES`, both on logarithmic scales, with their exponents."""
    figure, axes = plt.subplots(2, len(AXES), figsize=(11, 5), layout="constrained")
    for (varied, across), column in zip(AXES, axes.T, strict=True):
        points = [row for row in rows if row["varied"] == varied]
        slopes = next(row for row in rows if row["varied"] == f"{varied}: by {across}")
        for ax, of in zip(column, ("of processors", "GB"), strict=True):
            x, values = (np.array([row[name] for row in points], np.float64) for name in (across, of))
            slope = slopes[f"exponent of {of}"]
            ax.loglog(x, values, "o", color="C0")
            # a line of that slope through the points that it was found from
            last = slice(2 if varied == "samples" else 0, None)
            height = np.mean(np.log(values[last])) - slope * np.mean(np.log(x[last]))
            ax.loglog(x, np.exp(height) * np.power(x, slope), "--", color="0.6", linewidth=1)
            for axis, wide in ((ax.xaxis, max(x) > 100 * min(x)), (ax.yaxis, max(values) > 100 * min(values))):
                axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                axis.set_minor_formatter(NullFormatter())
            ax.set_title(f"exponent {slope:.2f}", fontsize="small")
            ax.set_xlabel(across)
            ax.set_ylabel({"of processors": "seconds of processors"}.get(of, of))
    figure.savefig(file, dpi=90)


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text())[0]["rows"]
    draw(measured, Path(__file__).with_name("growth.png"))
