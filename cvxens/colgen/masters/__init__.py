"""Masters: one for any formulation, and one per family that has a faster way."""

from __future__ import annotations

from cvxens.colgen.masters.ball_master import BallMaster
from cvxens.colgen.masters.conic_master import ConicMaster
from cvxens.colgen.masters.cvxpy_master import CvxpyMaster
from cvxens.colgen.masters.linear_masters import HighsMaster, InteriorPointMaster
from cvxens.colgen.masters.newton_masters import LeastSquaresMaster, NewtonMaster
from cvxens.colgen.restricted import Fastest

__all__ = [
    "MASTERS",
    "BallMaster",
    "ConicMaster",
    "CvxpyMaster",
    "HighsMaster",
    "InteriorPointMaster",
    "LeastSquaresMaster",
    "NewtonMaster",
    "fastest_master",
]

MASTERS = (InteriorPointMaster, HighsMaster, LeastSquaresMaster, NewtonMaster, ConicMaster, CvxpyMaster)
"""The masters, the fastest first; the last one takes any formulation."""

fastest_master = Fastest(MASTERS)
"""Makes the fastest master that supports a formulation: called as ``fastest_master(formulation, y)``."""
