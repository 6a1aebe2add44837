"""Time limits of computations, and why they end: one clock from the beginning of a fit down to its innermost loops.

Whoever is given a `max_time` enters `limit_time` at once; whatever iterates below it asks whether there is time left.
No argument is handed down: loops are many calls away from whoever knows the limit, some of them behind protocols that
users implement. A loop that has an incumbent ends with it where `time_is_up`; one that has none calls `check_time`,
and whoever has a certified state catches `TimeUp`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import TypeVar

Item = TypeVar("Item")


class Ending(Enum):
    """Why an iteration ended."""

    OPTIMAL = "the certified relative gap is within tol"
    EXHAUSTED = "no hypothesis that the oracle finds improves"
    STALLED = "the oracle proves no bound, and the objective has stopped improving"
    ROUNDING = "rounding hides any progress"
    MAX_COLUMNS = "max_columns reached"
    MAX_ROUNDS = "max_rounds reached"
    MAX_STEPS = "max_steps reached"
    MAX_TIME = "max_time reached"
    STOPPED = "stopped by the callback"
    INTERRUPTED = "interrupted"
    VIOLATED = "the bound is beyond the objective by more than rounding, so it is none"


class TimeUp(Exception):
    """There is no time left, in a loop that has nothing to show yet."""


def _now() -> float:
    return time.perf_counter()


@dataclass
class Deadline:
    """A clock that runs from when it is made."""

    max_time: float = inf  # in seconds
    outer: Deadline | None = None  # one that holds as well
    interrupted: bool = False  # True once Ctrl-C has ended it
    cut: bool = False  # True once a loop has ended because of it
    reserve: float = 0.0  # seconds that are to be left for what comes after the loops, such as a certificate
    began: float = field(default_factory=_now)

    @property
    def seconds(self) -> float:
        """Wall-clock time since it began."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds that are left, negative once it is over."""
        own = -inf if self.interrupted else self.max_time - self.seconds
        return (own if self.outer is None else min(own, self.outer.left)) - self.reserve

    def restart(self) -> None:
        """Begin anew: what was so far does not count."""
        self.began = time.perf_counter()

    def note_cut(self) -> None:
        """Note that a loop has ended because of it, or of one around it."""
        self.cut = True
        if self.outer is not None:
            self.outer.note_cut()

    def interrupt(self) -> None:
        """End it now, and those around it: Ctrl-C."""
        self.interrupted = True
        if self.outer is not None:
            self.outer.interrupt()


_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def limit_time(max_time: float, *, alone: bool = False) -> Iterator[Deadline]:
    """Let what is computed meanwhile be over after so many seconds from now, and within any limit around this one.

    Limits around it do not hold if `alone`: sub-problems have limits of their own.

    Examples
    --------
    >>> with limit_time(60.0), limit_time(inf):
    ...     59.0 < time_left() <= 60.0, time_is_up()
    (True, False)
    """
    deadline = Deadline(max_time, None if alone else _CURRENT.get())
    token = _CURRENT.set(deadline)
    try:
        yield deadline
    finally:
        _CURRENT.reset(token)


def time_left() -> float:
    """Return the seconds that are left, inf without a limit, negative once time is up.

    Examples
    --------
    >>> time_left()
    inf
    """
    deadline = _CURRENT.get()
    return inf if deadline is None else deadline.left


def was_cut() -> bool:
    """Return True if a loop has ended because of the limit: what comes after it is to be brief."""
    deadline = _CURRENT.get()
    return deadline is not None and deadline.cut


def time_is_up() -> bool:
    """Return True if there is no time left, for a loop that ends if so."""
    return _ends(time_left() <= 0)


def _ends(over: bool) -> bool:
    """Return `over`, and note with the clocks that a loop has ended if so."""
    if over and (deadline := _CURRENT.get()) is not None:
        deadline.note_cut()
    return over


def check_time() -> None:
    """Raise `TimeUp` where there is no time left."""
    if time_is_up():
        raise TimeUp


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a loop that has an incumbent as a deadline would: what comes after it finds that time is up.

    Without a limit around it, which every fit has, Ctrl-C is raised as ever.

    Examples
    --------
    >>> with limit_time(inf) as deadline, interruptible():
    ...     raise KeyboardInterrupt
    >>> deadline.interrupted, deadline.left
    (True, -inf)
    """
    try:
        yield
    except KeyboardInterrupt:
        deadline = _CURRENT.get()
        if deadline is None:
            raise
        deadline.interrupt()


def in_time(items: Iterable[Item]) -> Iterator[Item]:
    """Hand on items as long as there is time left, then raise `TimeUp`.

    Examples
    --------
    >>> list(in_time("ab"))
    ['a', 'b']
    """
    for item in items:
        check_time()
        yield item


class Pace:
    """Allows another step of a loop whose steps cannot be cut if there is time for one as long as the longest so far.

    The `reserve` is the seconds that are to be left for what comes after the loop.

    Examples
    --------
    >>> pace = Pace()
    >>> [pace.allows_step() for _ in range(2)]
    [True, True]
    """

    def __init__(self, reserve: float = 0.0) -> None:
        self.reserve = reserve
        self.longest = 0.0
        self._last: float | None = None

    def allows_step(self) -> bool:
        """Ask before every step."""
        now = time.perf_counter()
        if self._last is not None:
            self.longest = max(self.longest, now - self._last)
        self._last = now
        left = time_left() - self.reserve
        return not _ends(left <= 0 or left < self.longest)
