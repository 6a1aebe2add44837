"""Pictures of runs and fitted models, as display objects in the manner of scikit-learn's; drawn with matplotlib."""

from cvxens.plotting.display import Display
from cvxens.plotting.effects import EffectsDisplay, ExplanationDisplay, PairDisplay, ShapeDisplay, ShapeFunction
from cvxens.plotting.runs import ConvergenceDisplay, GapDisplay, PathDisplay, SelectionDisplay, Trace, TraceDisplay
from cvxens.plotting.samples import BoundaryDisplay, MarginDisplay

__all__ = [
    "BoundaryDisplay", "ConvergenceDisplay", "Display", "EffectsDisplay", "ExplanationDisplay", "GapDisplay",
    "MarginDisplay", "PairDisplay", "PathDisplay", "SelectionDisplay", "ShapeDisplay", "ShapeFunction",
    "Trace", "TraceDisplay",
]  # fmt: skip
