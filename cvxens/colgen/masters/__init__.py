"""Masters: one for any formulation, and one per family that has a faster way."""

from cvxens.colgen.masters.choice import MASTERS, fastest_master
from cvxens.colgen.masters.cvxpy_master import CvxpyMaster
from cvxens.colgen.masters.highs_master import HighsMaster
from cvxens.colgen.masters.hinge_master import HingeMaster, hinge_path
from cvxens.colgen.masters.interior_point import InteriorPointMaster
from cvxens.colgen.masters.least_squares_master import LeastSquaresMaster
from cvxens.colgen.masters.smooth_master import SmoothMaster
from cvxens.colgen.masters.sparse_master import SparseMaster

__all__ = [
    "MASTERS",
    "CvxpyMaster",
    "HighsMaster",
    "HingeMaster",
    "InteriorPointMaster",
    "LeastSquaresMaster",
    "SmoothMaster",
    "SparseMaster",
    "fastest_master",
    "hinge_path",
]
