"""Masters: one for any formulation, and one per family that has a faster way."""

from __future__ import annotations

from cvxens.colgen.masters.linear_masters import BallMaster, HighsMaster, InteriorPointMaster
from cvxens.colgen.masters.modelled_masters import ConicMaster, CvxpyMaster
from cvxens.colgen.masters.newton_masters import LeastSquaresMaster, NewtonMaster
from cvxens.colgen.restricted import Fastest

__all__ = [
    "MASTERS", "BallMaster", "ConicMaster", "CvxpyMaster", "HighsMaster", "InteriorPointMaster", "LeastSquaresMaster",
    "NewtonMaster", "fastest_master",
]  # fmt: skip

MASTERS = (InteriorPointMaster, HighsMaster, LeastSquaresMaster, NewtonMaster, ConicMaster, CvxpyMaster)
"""The masters, the fastest first; the last one takes any formulation."""

fastest_master = Fastest(MASTERS)
"""Makes the fastest master that supports a formulation: called as ``fastest_master(formulation, y)``."""
