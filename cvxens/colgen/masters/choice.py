"""Which master solves a formulation fastest."""

from __future__ import annotations

from cvxens.colgen.formulation import Formulation
from cvxens.colgen.masters.cvxpy_master import CvxpyMaster
from cvxens.colgen.masters.highs_master import HighsMaster
from cvxens.colgen.masters.hinge_master import HingeMaster
from cvxens.colgen.masters.interior_point import InteriorPointMaster
from cvxens.colgen.masters.least_squares_master import LeastSquaresMaster
from cvxens.colgen.masters.smooth_master import SmoothMaster
from cvxens.colgen.protocols import Master
from cvxens.types import Array

MASTERS = (HighsMaster, LeastSquaresMaster, HingeMaster, SmoothMaster, CvxpyMaster)
"""The masters for samples of any size, the fastest first; the last one takes any formulation."""


LARGE = 1000
"""Samples from which on soft margins are solved by the interior-point master."""


def fastest_master(formulation: Formulation, y: Array) -> Master:
    """Return the fastest master that supports the formulation.

    Soft margins have two. Measured with the best stump of each of 20 features a round, to gaps of 1e-3 and 1e-6: below
    1000 samples HiGHS takes between a half and two times as long as the interior-point master, and ends in a vertex,
    whose gap is zero. From there on it is as fast where regularisation is strong (C = 5/n) and some seconds are saved
    or lost, takes 1.2 to 7 times as long at C = 50/n, and at C = 200/n is not done after many times as long.
    """
    if len(y) >= LARGE and InteriorPointMaster.supports(formulation):
        return InteriorPointMaster(formulation, y)
    return next(master for master in MASTERS if master.supports(formulation))(formulation, y)
