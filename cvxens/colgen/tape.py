"""A tape of an oracle's answers: it records them, and plays them back to a run that takes the same way again."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from cvxens.colgen.checkpoint import digest, refused
from cvxens.colgen.protocols import Column, Hypothesis, Oracle, Priced
from cvxens.errors import InvalidInput
from cvxens.storage import Encoding, nothing_else
from cvxens.types import Array

PLAIN = Encoding(nothing_else, nothing_else)


class Tape:
    """An oracle that records another one's answers, after it has played what is recorded already.

    The first answer is never played but asked for and compared. So it is known that oracle and sample are those of the
    recording, and what a recording cannot hold is at hand: the sample, and functions that hypotheses refer to.

    Parameters
    ----------
    oracle : Oracle
        What answers once the recording is over.
    recorded : sequence of str
        JSON for each answer.
    states : sequence of two
        The states of the oracle's generators before the first answer and after the last one; None where nothing is
        recorded.
    """

    def __init__(self, oracle: Oracle, recorded: Sequence[str] = (), states: Sequence[Any] | None = None) -> None:
        self.oracle = oracle
        self.recorded = recorded
        self.generators = list(_generators(oracle))
        if states is not None:
            self._set(states[0])
        self.before = self._states()
        self.after = self.before
        self.end = states[1] if states is not None else self.before
        self.calls: list[str] = []
        self.answers: list[Priced] = []
        self._samples: list[Any] = []
        self._functions: list[Any] = []
        self._encoding = Encoding(self._refer, self._functions.__getitem__)

    @property
    def playing(self) -> bool:
        """Whether there are answers that were not yet given again."""
        return len(self.calls) < len(self.recorded)

    def price(self, s: Array, /, exclude: Collection[Hypothesis] = ()) -> Priced:
        """The recorded answer, or the oracle's, which is recorded."""
        call = self.recorded[len(self.calls)] if self.playing and self.calls else None
        if call is None:
            priced = self.oracle.price(s, exclude=exclude)
            call = self._written(s, priced)
            if self.playing and call != self.recorded[0]:
                raise refused("another sample or oracle")
        else:
            if json.loads(call)["asked"] != digest(s):
                raise refused(f"other multipliers from answer {len(self.calls) + 1} on")
            priced = self.read(call)
        self.calls.append(call)
        self.answers.append(priced)
        if len(self.calls) == len(self.recorded):
            self._set(self.end)
        self.after = self._states()
        return priced

    def _written(self, s: Array, priced: Priced) -> str:
        """JSON for an answer; the first one says what the samples are."""
        columns = [[float(c.edge), self._sample(c), self._hypothesis(c)] for c in priced.columns]
        first = [] if self.calls else [digest(sample) for sample in self._samples]
        bounds = [float(bound) for bound in (priced.edge_bound, priced.edge_square_sum, priced.outside_bound)]
        return json.dumps({"asked": digest(s), "columns": columns, "bounds": bounds, "samples": first})

    def read(self, call: str) -> Priced:
        """The answer that JSON stands for."""
        written = json.loads(call)
        columns = [Column(self._encoding.read(h), self._samples[k], edge) for edge, k, h in written["columns"]]
        return Priced(columns, *written["bounds"])

    def _sample(self, column: Column) -> int:
        """The number of a column's sample."""
        known = next((k for k, sample in enumerate(self._samples) if sample is column.sample), None)
        if known is not None:
            return known
        if self.calls:
            raise _unwritable(column, "its sample is none of the first round's")
        self._samples.append(column.sample)
        return len(self._samples) - 1

    def _hypothesis(self, column: Column) -> Any:
        """JSON for a hypothesis from which it can be read again."""
        hypothesis: Any = column.hypothesis
        try:
            written = self._encoding.write(hypothesis)
            again = self._encoding.read(written)
        except (TypeError, IndexError) as error:
            raise _unwritable(column, str(error)) from None
        if not is_dataclass(hypothesis) or again != hypothesis:
            raise _unwritable(column, "it is no dataclass that equals one of the same fields")
        return written

    def _refer(self, value: Any) -> int:
        """The number of a function that hypotheses refer to; all of them are met in the first round."""
        if not callable(value):
            nothing_else(value)
        if value not in self._functions:
            if self.calls:
                raise TypeError(f"{value!r} is no function of the first round's")
            self._functions.append(value)
        return self._functions.index(value)

    def _states(self) -> list[Any]:
        return [PLAIN.write(generator.bit_generator.state) for generator in self.generators]

    def _set(self, states: Sequence[Any]) -> None:
        if len(states) != len(self.generators):
            raise refused("another oracle")
        for generator, state in zip(self.generators, states, strict=True):
            generator.bit_generator.state = PLAIN.read(state)


def _unwritable(column: Column, why: str) -> InvalidInput:
    return InvalidInput(
        "checkpoint",
        f"found the hypothesis {type(column.hypothesis).__name__}, which a file cannot hold: {why}",
        "run without a checkpoint, or make hypotheses frozen dataclasses of numbers, strings, tuples and arrays",
    )


def _generators(part: Any) -> Iterator[np.random.Generator]:
    """The generators in an oracle's attributes, and in those of the oracles there."""
    match part:
        case np.random.Generator():
            yield part
        case list() | tuple():
            for item in part:
                yield from _generators(item)
        case _ if hasattr(part, "price"):
            for item in getattr(part, "__dict__", {}).values():
                yield from _generators(item)
