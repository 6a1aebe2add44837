"""Which master solves a formulation fastest."""

from __future__ import annotations

from cvxens.colgen.formulation import Formulation
from cvxens.colgen.masters.cvxpy_master import CvxpyMaster
from cvxens.colgen.masters.highs_master import HighsMaster
from cvxens.colgen.masters.hinge_master import HingeMaster
from cvxens.colgen.masters.least_squares_master import LeastSquaresMaster
from cvxens.colgen.masters.smooth_master import SmoothMaster
from cvxens.colgen.protocols import Master
from cvxens.types import Array

MASTERS = (HighsMaster, LeastSquaresMaster, HingeMaster, SmoothMaster, CvxpyMaster)
"""Every master, the fastest first; the last one takes any formulation."""


def fastest_master(formulation: Formulation, y: Array) -> Master:
    """Return the first master that supports the formulation."""
    return next(master for master in MASTERS if master.supports(formulation))(formulation, y)
