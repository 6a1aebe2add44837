"""The scores of stumps, of additive models and of pairs of classes, as ONNX operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.export.graph import Graph
from cvxens.types import Array

Scorer: TypeAlias = Callable[[Graph, str], list[str]]
"""Adds the scores of samples X (n, n_features) to a graph; returns their names, each of shape (n,)."""


@dataclass(frozen=True, eq=False)
class Steps:
    """f_k(x) = sum_j (above_jk if x[features_j] >= thresholds_j else below_jk), summed in this order.

    Parameters
    ----------
    features, thresholds : ndarray of shape (n_steps,)
        At least one.
    above, below : ndarray of shape (n_steps, n_outputs)
        What a sample on the threshold or above it adds, and what one below it does.
    """

    features: NDArray[np.int64]
    thresholds: Array
    above: Array
    below: Array

    def __call__(self, graph: Graph, X: str) -> list[str]:
        """Compare all, and add up for each output."""
        values = graph.put("Gather", X, self.features, axis=1)
        reached = graph.put("GreaterOrEqual", values, self.thresholds)
        outputs = zip(self.above.T, self.below.T, strict=True)
        return [graph.total(graph.put("Where", reached, above, below)) for above, below in outputs]


@dataclass(frozen=True, eq=False)
class Shapes:
    """f(x) = intercept + sum_d g_d(x_d), each g_d linear between knots and constant beyond.

    Where a knot stands twice, g_d jumps.

    Parameters
    ----------
    functions : sequence of (knots, values)
        Of every feature; knots ascending, at least one.
    intercept : float
        b.
    """

    functions: Sequence[tuple[Array, Array]]
    intercept: float

    def __call__(self, graph: Graph, X: str) -> list[str]:
        """Search for the last knot at or below each value, all features at once, and follow the line from there."""
        lines = [_lines(*function) for function in self.functions]
        knots, values, slopes = (np.concatenate(parts) for parts in zip(*lines, strict=True))
        ends = np.cumsum([len(own) for own, _, _ in lines])
        firsts, lasts = np.append(0, ends[:-1]), ends - 1
        x = graph.put("Min", graph.put("Max", X, knots[firsts]), knots[lasts])
        at = _search(graph, x, graph.array(knots), firsts, lasts)
        knot, value, slope = (graph.put("Gather", table, at) for table in (knots, values, slopes))
        rises = graph.put("Mul", slope, graph.put("Sub", x, knot))
        # the intercept goes to the first feature, whose sum is then the same to the last bit
        intercepts = np.append(self.intercept, np.zeros(len(firsts) - 1))
        return [graph.total(graph.put("Add", graph.put("Add", value, rises), intercepts))]


def _lines(knots: Array, values: Array) -> tuple[Array, Array, Array]:
    """Knots, the values there, and the slopes after them; with one knot more just below a jump at the first."""
    if len(knots) > 1 and knots[0] == knots[1]:
        knots, values = np.append(np.nextafter(knots[0], -np.inf), knots), np.append(values[0], values)
    widths = np.diff(knots)
    slopes = np.divide(np.diff(values), widths, out=np.zeros_like(widths), where=widths > 0)
    return knots, values, np.append(slopes, 0.0)


def _search(graph: Graph, x: str, knots: str, firsts: NDArray[np.int64], lasts: NDArray[np.int64]) -> str:
    """The places (n, n_features) of the last knots at or below x, by steps of half the size each time."""
    at = graph.array(firsts)
    for k in reversed(range(max(1, int((lasts - firsts).max()).bit_length()))):
        further = graph.put("Min", graph.put("Add", at, np.array(2**k)), lasts)
        reached = graph.put("GreaterOrEqual", x, graph.put("Gather", knots, further))
        at = graph.put("Where", reached, further, at)
    return at


def joined(scorers: Sequence[Scorer]) -> Scorer:
    """The scores of all, one after the other."""
    return lambda graph, X: [score for scorer in scorers for score in scorer(graph, X)]


def combined(scorer: Scorer, matrix: Array) -> Scorer:
    """The scores times a matrix (n_combined, n_scores)."""
    return lambda graph, X: graph.combined(scorer(graph, X), matrix)


def by_pairs(scorer: Scorer, n_classes: int) -> Scorer:
    """scikit-learn's one-vs-one: votes of pairs of classes, and s / (3 (|s| + 1)) for the sum s of their scores."""
    pairs = list(combinations(range(n_classes), 2))
    signs = np.array([[(k == second) - (k == first) for first, second in pairs] for k in range(n_classes)], float)

    def votes(graph: Graph, X: str) -> list[str]:
        scores = scorer(graph, X)
        won = [graph.put("Where", graph.put("Greater", score, 0.0), 0.5, -0.5) for score in scores]
        # of n_classes - 1 pairs, the votes are half of those won less those lost, and a half of each
        balances = graph.combined(won, signs)
        return [
            graph.put("Add", graph.put("Add", balance, (n_classes - 1) / 2), _within_a_third(graph, s))
            for balance, s in zip(balances, graph.combined(scores, signs), strict=True)
        ]

    return votes


def _within_a_third(graph: Graph, s: str) -> str:
    size = graph.put("Add", graph.put("Abs", s), 1.0)
    return graph.put("Div", s, graph.put("Mul", size, 3.0))
