"""The reference against the fast path, on real data, with the proof."""

from cvxens.crosscheck.cases import Sample
from cvxens.crosscheck.check import Row, Side, crosscheck, named

__all__ = ["Row", "Sample", "Side", "crosscheck", "named"]
