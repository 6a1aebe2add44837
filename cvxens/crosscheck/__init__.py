"""The reference against the fast path, on real data, with the proof."""

from cvxens.crosscheck.cases import CheckedSample
from cvxens.crosscheck.check import Row, Side, crosscheck, named

__all__ = ["CheckedSample", "Row", "Side", "crosscheck", "named"]
