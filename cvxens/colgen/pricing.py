"""Asking an oracle: once where weights have the sign that its hypotheses have, else for both signs of the edges.

With free weights a hypothesis of a large negative edge improves as one of a large positive edge does, and the dual
bound is one on sizes of edges. An oracle whose set has -h with every h answers for both at once and declares it, by
``negations = True``; of any other, s and -s are priced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from cvxens.colgen.protocols import Column, Oracle, Priced, has_negation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, negate
from cvxens.problems.duality import edge_of, row_sizes
from cvxens.rounding import EPSILON
from cvxens.types import Array

MOST_CALLS = 50
"""The calls in which the hypotheses that are best by their edges above 0 are looked for; a search cut short bounds."""


def ask(oracle: Oracle, s: Array, exclude: Collection[Hypothesis], **options: Any) -> Priced:
    """Ask an oracle; InvalidInput if its `price` does not take what it is called with, or returns something else."""
    try:
        priced: Any = oracle.price(s, exclude=exclude, **options)
    except TypeError as error:
        # an error of the call itself, not of what the oracle does
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        remedy = f"give its price the parameters (s, {', '.join(['exclude=()', *options])})"
        raise InvalidInput("oracle", f"found {name_of(oracle)} which says: {error}", remedy) from None
    if not isinstance(priced, Priced):
        found = f"found {name_of(oracle)} whose price returns {type(priced).__name__}"
        raise InvalidInput("oracle", found, "return a Priced: columns, and a bound on all edges if there is one")
    return priced


def name_of(oracle: Oracle) -> str:
    """Return what errors call an oracle."""
    asked = oracle.oracle if isinstance(oracle, BothSigns | EachSign) else oracle
    return str(getattr(asked.price, "__qualname__", repr(asked.price))).removesuffix(".price")


def with_signs(oracle: Oracle, *, free: bool, several: bool) -> Oracle:
    """Return an oracle whose answers hold for weights of either sign, or for weights w >= 0 over several outputs."""
    if free:
        return with_negations(oracle)
    return with_each_sign(oracle) if several else oracle


def with_negations(oracle: Oracle) -> Oracle:
    """Return an oracle whose answers hold for every h and -h of its set: itself if it declares that it has both.

    Over such a set the largest edge, SL (6), is the largest |edge|, SL (8): SL Claim IV.2.
    """
    return oracle if getattr(oracle, "negations", False) else BothSigns(oracle)


class BothSigns:
    """The hypotheses of an oracle with weights of either sign: prices s and -s, and takes the larger bounds.

    Hypotheses stay what they are, so the edge of a column is the size of its own. Of hypotheses with the same values on
    the sample, or their negatives, an answer has one.
    """

    negations = True

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.sample = oracle.sample

    def price(self, s: Array, exclude: Collection[Hypothesis] = (), **options: Any) -> Priced:
        """Return the best hypotheses by the sizes of their edges."""
        s = np.asarray(s, np.float64)
        rising, falling = (ask(self.oracle, signed, exclude, **options) for signed in (s, -s))
        found = sorted([*rising.columns, *falling.columns], key=lambda column: column.edge)
        # of those with the same values, or their negatives, the last one stays, whose edge is the largest
        best = {min(hash_values(column.values)): column for column in found}
        return Priced(
            sorted(best.values(), key=lambda column: -column.edge),
            max(rising.edge_bound, falling.edge_bound),
            # the same sum, as squares have no sign
            max(rising.edge_square_sum, falling.edge_square_sum),
            max(rising.outside_bound, falling.outside_bound),
            rising.distinct and falling.distinct,
        )


def with_each_sign(oracle: Oracle) -> Oracle:
    """Return an oracle whose answers hold for h and -h apart, as w >= 0 over several outputs asks for."""
    tells = getattr(oracle, "negations", False) or hasattr(oracle, "has_negation")
    return EachSign(oracle) if tells and not isinstance(oracle, EachSign) else oracle


class EachSign:
    """The hypotheses of an oracle with weights w >= 0 over several outputs, where h and -h may both improve.

    An oracle returns of each pair the one with the larger edge; so the other one is added where it has an edge too.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.sample = oracle.sample
        self.negations = getattr(oracle, "negations", False)
        self._seen: dict[Hypothesis, Column] = {}
        """What was excluded, with its values."""

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the set may have the negation of a hypothesis."""
        return has_negation(self.oracle, hypothesis)

    def price(self, s: Array, exclude: Collection[Hypothesis] = (), **options: Any) -> Priced:
        """Return the best hypotheses by the norm over the outputs of their edges above 0.

        Under a norm of rows the oracle ranks by all edges, which is no less. So it is asked again without those that
        are known, until nothing else can be better; then the bounds are those of the edges above 0.
        """
        row_norm = options.get("row_norm", inf)
        priced = ask(self.oracle, s, exclude, **options)
        columns = self._list_signs(priced, s, row_norm)
        if inf in {row_norm, priced.outside_bound}:
            return replace(priced, columns=_rank(columns))
        known, rest, best = set[Hypothesis](), priced, _largest(columns)
        # what the edges of an answer may be off by shows in its bound
        slack = max(priced.outside_bound - priced.best_edge, 0.0) + 8 * EPSILON * priced.best_edge
        for _ in range(MOST_CALLS):
            new = {column.hypothesis for column in rest.columns} - known
            if not new or rest.outside_bound <= best:
                break
            known |= new
            rest = ask(self.oracle, s, [*exclude, *known], **options)
            columns |= self._list_signs(rest, s, row_norm)
            best = _largest(columns)
        outside = max(min(rest.outside_bound, priced.outside_bound), best + slack)
        excluded = (Column(hypothesis, self.sample, 0.0) for hypothesis in exclude)
        closed = self._list_signs(Priced([self._seen.setdefault(c.hypothesis, c) for c in excluded]), s, row_norm)
        every = max(outside, _largest(closed) + slack)
        return replace(priced, columns=_rank(columns), edge_bound=every, outside_bound=outside)

    def _list_signs(self, priced: Priced, s: Array, row_norm: float) -> dict[Hypothesis, Column]:
        """Return the columns of an answer, and their negations where the set has them, that have an edge above 0."""
        columns: dict[Hypothesis, Column] = {}
        for column in priced.columns:
            edges = edge_of(column.values, s)[np.newaxis]
            pair = [(column.hypothesis, edges)]
            if has_negation(self.oracle, column.hypothesis):
                pair.append((negate(column.hypothesis), -edges))
            for hypothesis, signed in pair:
                edge = float(row_sizes(signed, row_norm, one_sided=True)[0])
                if edge > 0:
                    columns.setdefault(hypothesis, Column(hypothesis, column.sample, edge))
        return columns


def _largest(columns: Mapping[Hypothesis, Column]) -> float:
    return max((column.edge for column in columns.values()), default=0.0)


def _rank(columns: Mapping[Hypothesis, Column]) -> list[Column]:
    return sorted(columns.values(), key=lambda column: -column.edge)


def hash_values(values: Array) -> tuple[int, int]:
    """Return hashes of a hypothesis's values on the sample, and of its negation's."""
    values = np.asarray(values) + 0.0  # -0.0 becomes 0.0
    return hash(values.tobytes()), hash((0.0 - values).tobytes())
