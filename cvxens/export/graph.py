"""A graph of ONNX operators on float64, as it grows: stumps, additive models and votes of pairs of classes.

Samples are the value "X" (n, n_features); scores have the shape (n,) and are known by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.hypotheses import Among, Interval
from cvxens.types import Array


def import_onnx() -> Any:
    """Return the package, or raise InvalidInput where it is not installed."""
    try:
        import onnx
    except ImportError:
        raise InvalidInput("onnx", "found no such package", "install it: pip install 'cvxens[onnx]'") from None
    return onnx


class Graph:
    """Operators in the order of evaluation (NodeProto) and the constants that they use (TensorProto).

    Where `gaps` is True, values of X may be missing: NaN.
    """

    def __init__(self, *, gaps: bool) -> None:
        self.gaps = gaps
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def array(self, values: Any) -> str:
        """Add a constant, numbers of the type that they have, or text; returns its name."""
        name = f"constant {len(self.constants)}"
        self.constants.append(import_onnx().numpy_helper.from_array(np.asarray(values), name))
        return name

    def put(self, operator: str, *inputs: Any, result: str = "", label: str = "", **attributes: Any) -> str:
        """Add an operator of ONNX on named values or constants; returns the name of its result.

        `label` is what errors of a runtime call the node.
        """
        names = [value if isinstance(value, str) else self.array(value) for value in inputs]
        result = result or f"value {len(self.nodes)}"
        self.nodes.append(import_onnx().helper.make_node(operator, names, [result], label, **attributes))
        return result

    def total(self, terms: str) -> str:
        """Sum (n, n_terms) along its rows, one term after the other, so that it is what `+=` gives to the last bit."""
        return self.put("Gather", self.put("CumSum", terms, np.array(1)), np.array(-1), axis=1)

    def stack(self, columns: Sequence[str]) -> str:
        """Join values (n,) as columns (n, n_columns)."""
        return self.put("Concat", *(self.put("Unsqueeze", column, np.array([1])) for column in columns), axis=1)

    def combine(self, columns: Sequence[str], matrix: NDArray) -> list[str]:
        """Multiply values (n,), one for each column of a matrix, by its rows, which gives one for each row."""
        table = self.stack(columns)
        return [self.total(self.put("Mul", table, row)) for row in matrix]

    def add_steps(
        self, features: NDArray[np.int64], thresholds: Array, above: Array, below: Array, missing: Array
    ) -> list[str]:
        """Add scores `f_k(x) = sum_j (above[j, k] if x[features[j]] >= thresholds[j] else below[j, k])`, in this order.

        Where a feature is missing, its terms are missing[j, k]. There is at least one step.
        """
        values = self.put("Gather", "X", features, axis=1)
        reached = self.put("GreaterOrEqual", values, thresholds)
        terms = [self.put("Where", reached, *pair) for pair in zip(above.T, below.T, strict=True)]
        if self.gaps:
            gone = self.put("IsNaN", values)
            terms = [self.put("Where", gone, own, term) for own, term in zip(missing.T, terms, strict=True)]
        return [self.total(term) for term in terms]

    def read(self, feature: int) -> str:
        """Add the values (n,) of a feature."""
        return self.put("Gather", "X", np.array(feature), axis=1)

    def reach(self, feature: int, threshold: float) -> str:
        """Add the truth values (n,) of `x[feature] >= threshold`."""
        return self.put("GreaterOrEqual", self.read(feature), threshold)

    def choose(self, feature: int, held: str, inside: float | str, outside: float | str, missing: float | str) -> str:
        """Add the values (n,) `inside` where a truth value of a feature holds, else `outside`; `missing` at NaN."""
        values = self.put("Where", held, inside, outside)
        return self.put("Where", self.put("IsNaN", self.read(feature)), missing, values) if self.gaps else values

    def find(self, feature: int, levels: Sequence[int]) -> str:
        """Add the truth values (n,) of `x[feature] in levels`."""
        # nothing equals NaN
        codes = np.array(levels, np.float64) if levels else np.array([np.nan])
        found = self.put("Equal", self.put("Unsqueeze", self.read(feature), np.array([1])), codes)
        return self.put("Greater", self._count(found), 0.0)

    def _count(self, truths: str) -> str:
        """Count in every row of truth values (n, n_columns) those that hold."""
        return self.put("ReduceSum", self.put("Where", truths, 1.0, 0.0), np.array([1]), keepdims=0)

    def hold(self, truths: str) -> str:
        """Add the truth values (n,) that all of a row (n, n_columns) hold."""
        return self.put("Equal", self._count(self.put("Not", truths)), 0.0)

    def fill(self, feature: int, truths: str, *, missing: bool) -> str:
        """Put a truth value where a feature is missing into those (n,) of all samples."""
        if not self.gaps:
            return truths
        gone = self.put("IsNaN", self.read(feature))
        return self.put("Or", truths, gone) if missing else self.put("And", truths, self.put("Not", gone))

    def meet(self, conditions: Sequence[Interval | Among]) -> str:
        """Add the truth values (n,) that all of some conditions hold, of which there is one."""
        intervals = [condition for condition in conditions if isinstance(condition, Interval)]
        held = [self._meet_intervals(intervals)] if intervals else []
        for condition in conditions:
            if isinstance(condition, Among):
                found = self.find(condition.feature, condition.levels)
                found = found if condition.inside else self.put("Not", found)
                held.append(self.fill(condition.feature, found, missing=condition.missing))
        first, *rest = held
        for other in rest:
            first = self.put("And", first, other)
        return first

    def _meet_intervals(self, intervals: Sequence[Interval]) -> str:
        """Add the truth values (n,) of `low <= x[feature] < high` for all of some intervals, of which there is one."""
        features, lows, highs, missing = map(np.array, zip(*intervals, strict=True))
        values = self.put("Gather", "X", features, axis=1)
        within = self.put("And", self.put("GreaterOrEqual", values, lows), self.put("Less", values, highs))
        if self.gaps:
            within = self.put("Or", within, self.put("And", self.put("IsNaN", values), missing))
        return self.hold(within)

    def add_shapes(self, functions: Sequence[tuple[Array, Array]], intercept: float) -> list[str]:
        """Add `f(x) = intercept + sum_d g_d(x_d)`, each g_d linear between ascending knots and constant beyond.

        `functions` holds (knots, values) of every feature; where a knot stands twice, g_d jumps.
        """
        lines = [_find_lines(*function) for function in functions]
        knots, values, slopes = (np.concatenate(parts) for parts in zip(*lines, strict=True))
        ends = np.cumsum([len(own) for own, _, _ in lines])
        firsts, lasts = np.append(0, ends[:-1]), ends - 1
        x = self.put("Min", self.put("Max", "X", knots[firsts]), knots[lasts])
        # the places (n, n_features) of the last knots at or below x, by steps of half the size each time
        table, at = self.array(knots), self.array(firsts)
        for k in reversed(range(max(1, int((lasts - firsts).max()).bit_length()))):
            further = self.put("Min", self.put("Add", at, np.array(2**k)), lasts)
            reached = self.put("GreaterOrEqual", x, self.put("Gather", table, further))
            at = self.put("Where", reached, further, at)
        # g_d(x_d) = value + slope (x_d - knot) from there
        knot, value, slope = (self.put("Gather", each, at) for each in (table, values, slopes))
        rises = self.put("Mul", slope, self.put("Sub", x, knot))
        # the intercept goes to the first feature, whose sum is then the same to the last bit
        intercepts = np.append(intercept, np.zeros(len(firsts) - 1))
        return [self.total(self.put("Add", self.put("Add", value, rises), intercepts))]


def _find_lines(knots: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return knots, the values there, and the slopes after them; with a knot just below a jump at the first."""
    if len(knots) > 1 and knots[0] == knots[1]:
        knots, values = np.append(np.nextafter(knots[0], -np.inf), knots), np.append(values[0], values)
    widths = np.diff(knots)
    slopes = np.divide(np.diff(values), widths, out=np.zeros_like(widths), where=widths > 0)
    return knots, values, np.append(slopes, 0.0)
