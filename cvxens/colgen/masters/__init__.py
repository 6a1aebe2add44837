"""Masters: one for any formulation, and one per family that has a faster way."""

from __future__ import annotations

from warnings import warn

from cvxens.colgen.masters.ball_master import BallMaster
from cvxens.colgen.masters.cvxpy_master import CvxpyMaster
from cvxens.colgen.masters.linear_masters import HighsMaster, InteriorPointMaster
from cvxens.colgen.masters.newton_masters import (
    HingeMaster,
    LeastSquaresMaster,
    SmoothMaster,
    SparseMaster,
    hinge_path,
)
from cvxens.colgen.protocols import Master, Oracle
from cvxens.errors import SolverFallbackWarning
from cvxens.problems.formulation import Formulation
from cvxens.types import Array

__all__ = [
    "MASTERS",
    "BallMaster",
    "CvxpyMaster",
    "HighsMaster",
    "HingeMaster",
    "InteriorPointMaster",
    "LeastSquaresMaster",
    "SmoothMaster",
    "SparseMaster",
    "fastest_master",
    "fastest_master_over",
    "hinge_path",
]

MASTERS = (HighsMaster, LeastSquaresMaster, HingeMaster, SmoothMaster, SparseMaster, CvxpyMaster)
"""The masters for samples of any size, the fastest first; the last one takes any formulation."""

LARGE = 1000
"""Samples from which on soft margins are solved by the interior-point master."""


def fastest_master(formulation: Formulation, y: Array) -> Master:
    """Return the fastest master that supports the formulation.

    Soft margins have two. Measured with the best stump of each of 20 features a round, to gaps of 1e-3 and 1e-6, in
    times of the interior-point master: below 1000 samples HiGHS takes 0.05 to 1.7, and ends in a vertex, whose gap is
    zero. From 1000 to 4000 samples it takes 0.4 to 1.4 where regularisation is strong (C = 5/n), which is tenths of a
    second, and 0.9 to 6.5 at C = 50/n; at C = 200/n it is left at a gap of 20 % or more by the time the other is done.

    Where HiGHS cannot be imported, the next fastest answers, with a SolverFallbackWarning.
    """
    if len(y) >= LARGE and InteriorPointMaster.supports(formulation):
        return InteriorPointMaster(formulation, y)
    kind = next(master for master in MASTERS if master.supports(formulation))
    try:
        return kind(formulation, y)
    except ImportError as error:
        others = (InteriorPointMaster, *MASTERS[1:])
        other = next(master for master in others if master.supports(formulation))
        warn(f"{error}; {other.__name__} answers instead of {kind.__name__}", SolverFallbackWarning, stacklevel=3)
        return other(formulation, y)


def fastest_master_over(oracle: Oracle, formulation: Formulation, y: Array) -> Master:
    """Return the fastest master for a formulation over an oracle: what that knows of its set may help."""
    grams = getattr(oracle, "grams", None) if BallMaster.supports(formulation) else None
    if grams is not None:
        try:
            return BallMaster(formulation, y, grams)
        except ImportError as error:
            warn(f"{error}; the dual over balls is not solved first", SolverFallbackWarning, stacklevel=3)
    return fastest_master(formulation, y)
