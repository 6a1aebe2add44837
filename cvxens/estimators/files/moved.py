"""Records that files of version 0.1 name by where they were then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import Any

from cvxens import hypotheses
from cvxens.hypotheses import Hypothesis, Indicator, LinearForm, Perceptron, Stump, Wave


def _from_threshold(form: LinearForm, threshold: float, above: float = 1.0, below: float = -1.0) -> Hypothesis:
    """Make what the samplers of kernels drew as thresholds of linear forms."""
    if below != -above:
        return Indicator(form.features[0], threshold, above)
    if form.weights == (1.0,):
        return Stump(form.features[0], threshold, int(above))
    return Perceptron(form.weights, threshold, int(above))


def _from_phase(form: LinearForm, phase: float) -> Wave:
    """Make ``sqrt(2) cos(form(x) + phase)``, which kernels had."""
    return Wave(form.weights, -phase % (2 * pi), sqrt(2))


MODULES: Mapping[str, str] = {
    "Constant": "cvxens.colgen.oracles.stumps",
    "Stump": "cvxens.colgen.oracles.stumps",
    "Perceptron": "cvxens.colgen.oracles.perceptrons",
    "KernelColumn": "cvxens.colgen.oracles.kernel_columns",
    "Negated": "cvxens.colgen.oracles.pool",
    "TabulatedColumn": "cvxens.colgen.oracles.pool",
    "SignedTree": "cvxens.colgen.oracles.trees",
    "FittedClassifier": "cvxens.colgen.oracles.sklearn_learner",
    "LinearForm": "cvxens.kernels.hypotheses",
    "Formula": "cvxens.kernels.hypotheses",
    "Connective": "cvxens.kernels.hypotheses",
}
"""Where the classes of `cvxens.hypotheses` were that have kept their fields."""

MOVED: Mapping[str, Callable[..., Any]] = {
    **{f"{module}:{name}": getattr(hypotheses, name) for name, module in MODULES.items()},
    "cvxens.colgen.oracles.fourier:FourierFeature": Wave,
    "cvxens.kernels.hypotheses:Threshold": _from_threshold,
    "cvxens.kernels.hypotheses:Wave": _from_phase,
}
"""Records of version 0.1 by their qualified names, and what makes them of their fields."""


def moved_record(name: str) -> Callable[..., Any] | None:
    """Return what makes a record of version 0.1 by its name, None if it is where it was."""
    return MOVED.get(name)
