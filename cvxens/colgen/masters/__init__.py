"""Masters: one for any formulation, and one per family that has a faster way."""

from __future__ import annotations

from typing import Any
from warnings import warn

from cvxens.colgen.masters.additive_master import AdditiveMaster
from cvxens.colgen.masters.ball_master import BallMaster
from cvxens.colgen.masters.conic_master import ConicMaster
from cvxens.colgen.masters.cvxpy_master import CvxpyMaster
from cvxens.colgen.masters.linear_masters import HighsMaster, InteriorPointMaster
from cvxens.colgen.masters.newton_masters import (
    LeastSquaresMaster,
    NewtonMaster,
    hinge_path,
)
from cvxens.colgen.protocols import Master, Oracle
from cvxens.colgen.restricted import Fastest
from cvxens.errors import SolverFallbackWarning
from cvxens.problems.formulation import Formulation
from cvxens.types import Array

__all__ = [
    "MASTERS",
    "AdditiveMaster",
    "BallMaster",
    "ConicMaster",
    "CvxpyMaster",
    "HighsMaster",
    "InteriorPointMaster",
    "LeastSquaresMaster",
    "NewtonMaster",
    "fastest_master",
    "fastest_master_over",
    "hinge_path",
]

MASTERS = (
    InteriorPointMaster,
    HighsMaster,
    LeastSquaresMaster,
    NewtonMaster,
    ConicMaster,
    CvxpyMaster,
)
"""The masters, the fastest first; the last one takes any formulation."""

fastest_master = Fastest(MASTERS)
"""Makes the fastest master that supports a formulation: called as ``fastest_master(formulation, y)``."""


def fastest_master_over(oracle: Oracle, formulation: Formulation, y: Array, *, at_once: bool = True) -> Master:
    """Return the fastest master for a formulation over an oracle: what that knows of its set may help.

    Unless `at_once`, columns are to come a few at a time.
    """
    grams = getattr(oracle, "grams", None)
    if grams is not None and BallMaster.supports(formulation):
        try:
            return BallMaster(formulation, y, grams)
        except ImportError as error:
            warn(f"{error}; the dual over balls is not solved first", SolverFallbackWarning, stacklevel=3)
    if at_once and len(y) >= AdditiveMaster.least_samples and AdditiveMaster.supports(formulation):
        steps: Any = oracle
        if getattr(steps, "every_step", None) is not None:
            return AdditiveMaster(formulation, y, steps)
    return fastest_master(formulation, y)
