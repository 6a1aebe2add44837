"""Pictures of runs and fitted models, as display objects in the manner of scikit-learn's; drawn with matplotlib."""

from cvxens.plotting.boundary import BoundaryDisplay
from cvxens.plotting.convergence import ConvergenceDisplay
from cvxens.plotting.display import Display
from cvxens.plotting.gap import GapDisplay
from cvxens.plotting.gram import GramDisplay
from cvxens.plotting.margins import MarginDisplay
from cvxens.plotting.paths import PathDisplay
from cvxens.plotting.selection import SelectionDisplay
from cvxens.plotting.shapes import ShapeDisplay, ShapeFunction
from cvxens.plotting.traces import Trace, TraceDisplay

__all__ = [
    "BoundaryDisplay",
    "ConvergenceDisplay",
    "Display",
    "GapDisplay",
    "GramDisplay",
    "MarginDisplay",
    "PathDisplay",
    "SelectionDisplay",
    "ShapeDisplay",
    "ShapeFunction",
    "Trace",
    "TraceDisplay",
]
