"""Pictures of runs and fitted models, as display objects in the manner of scikit-learn's; drawn with matplotlib."""

from cvxens.plotting.display import Display
from cvxens.plotting.effects import EffectsDisplay, ExplanationDisplay, PairDisplay
from cvxens.plotting.samples import BoundaryDisplay, GramDisplay, MarginDisplay
from cvxens.plotting.shapes import ShapeDisplay, ShapeFunction
from cvxens.plotting.traces import ConvergenceDisplay, GapDisplay, Trace, TraceDisplay
from cvxens.plotting.weights import PathDisplay, SelectionDisplay

__all__ = [
    "BoundaryDisplay",
    "ConvergenceDisplay",
    "Display",
    "EffectsDisplay",
    "ExplanationDisplay",
    "GapDisplay",
    "GramDisplay",
    "MarginDisplay",
    "PairDisplay",
    "PathDisplay",
    "SelectionDisplay",
    "ShapeDisplay",
    "ShapeFunction",
    "Trace",
    "TraceDisplay",
]
