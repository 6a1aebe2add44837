"""Certificates of optimality: a gap between feasible points, recomputed in numpy; no solver is asked."""

from cvxens.certificates.certificate import Certificate, relative
from cvxens.certificates.certify import Certifiable, certify

__all__ = ["Certifiable", "Certificate", "certify", "relative"]
