"""Asking an oracle: once where weights have the sign that its hypotheses have, else for both signs of the edges.

With free weights a hypothesis of a large negative edge improves as one of a large positive edge does, and the dual
bound is one on sizes of edges. An oracle whose set has -h with every h answers for both at once and declares it, by
``negations = True``; of any other, s and -s are priced.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from cvxens.colgen.protocols import Column, Oracle, Priced
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, negate
from cvxens.problems.duality import edge_of, row_sizes
from cvxens.types import Array


def ask(oracle: Oracle, s: Array, exclude: Collection[Hypothesis], **options: Any) -> Priced:
    """Ask an oracle; InvalidInput if its `price` does not take what it is called with."""
    try:
        return oracle.price(s, exclude=exclude, **options)
    except TypeError as error:
        # an error of the call itself, not of what the oracle does
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        remedy = f"give its price the parameters (s, {', '.join(['exclude=()', *options])})"
        raise InvalidInput("oracle", f"found {name_of(oracle)} which says: {error}", remedy) from None


def name_of(oracle: Oracle) -> str:
    """Return what errors call an oracle."""
    asked = oracle.oracle if isinstance(oracle, BothSigns | EachSign) else oracle
    return str(getattr(asked.price, "__qualname__", repr(asked.price))).removesuffix(".price")


def with_negations(oracle: Oracle) -> Oracle:
    """Return an oracle whose answers hold for every h and -h of its set: itself if it declares that it has both."""
    return oracle if getattr(oracle, "negations", False) else BothSigns(oracle)


class _ByBothSigns:
    """An oracle around another one, whose answers are for the hypotheses of that and their negations."""

    negations = True

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle

    @property
    def sample(self) -> Any:
        """The rows that the hypotheses of the oracle inside are evaluated on."""
        return self.oracle.sample


class BothSigns(_ByBothSigns):
    """The hypotheses of an oracle with weights of either sign: prices s and -s, and takes the larger bounds.

    Hypotheses stay what they are, so the edge of a column is the size of its own. Of hypotheses with the same values on
    the sample, or their negatives, an answer has one.
    """

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
    return EachSign(oracle) if getattr(oracle, "negations", False) and not isinstance(oracle, EachSign) else oracle


class EachSign(_ByBothSigns):
    """The hypotheses of an oracle with weights w >= 0 over several outputs, where h and -h may both improve.

    An oracle returns of each pair the one with the larger edge; so the other one is added where it has an edge too.
    """

    def price(self, s: Array, exclude: Collection[Hypothesis] = (), **options: Any) -> Priced:
        """Return the best hypotheses by the norm over the outputs of their edges above 0."""
        priced = ask(self.oracle, s, exclude, **options)
        columns: dict[Hypothesis, Column] = {}
        for column in priced.columns:
            edges = edge_of(column.values, s)[np.newaxis]
            for hypothesis, signed in ((column.hypothesis, edges), (negate(column.hypothesis), -edges)):
                edge = float(row_sizes(signed, options.get("row_norm", inf), one_sided=True)[0])
                if edge > 0:
                    columns.setdefault(hypothesis, Column(hypothesis, column.sample, edge))
        return replace(priced, columns=sorted(columns.values(), key=lambda column: -column.edge))


def hash_values(values: Array) -> tuple[int, int]:
    """Return hashes of a hypothesis's values on the sample, and of its negation's."""
    values = np.asarray(values) + 0.0  # -0.0 becomes 0.0
    return hash(values.tobytes()), hash((0.0 - values).tobytes())
