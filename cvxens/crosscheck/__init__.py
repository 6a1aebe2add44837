"""The reference against the fast path, on real data, with the proof."""

from cvxens.crosscheck.check import crosscheck, named
from cvxens.crosscheck.row import Row, Side
from cvxens.crosscheck.sample import Sample

__all__ = ["Row", "Sample", "Side", "crosscheck", "named"]
