"""What a computation may use: time, threads and memory. Said once by whoever knows, asked for by whoever computes.

No argument is handed down: loops are many calls away from whoever knows a limit, some of them behind protocols that
users implement. So limits are of a context, from the beginning of a fit down to its innermost loops.

*Time.* Whoever is given a `max_time` enters `limit_time` at once; whatever iterates below it asks whether there is time
left. A loop that has an incumbent ends with it where `time_is_up`; one that has none calls `check_time`, and whoever
has a certified state catches `TimeUp`.

*Threads.* `map_in_threads` is the one way to use several, within `limit_threads`; results are the same to the last bit
with any number of them, as `shares_for` says how sums are cut. Compiled loops release the
interpreter's lock, so ordinary threads run them side by side. numba's own threading layers do not serve: GNU OpenMP
ends a process that forked after its first use, and the work queue one that calls it from two threads. The threads here
are shared by all calls of a process; a forked child starts with none and makes its own.

*Memory.* `available_memory` is what system and container still give.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from cvxens import validation
from cvxens.errors import InvalidInput

Item = TypeVar("Item")
Result = TypeVar("Result")


OVERRUN, OVERRUN_SHARE = 0.5, 0.05
"""Seconds, and the share of a limit, by which what comes after the loops may exceed it where more than its reserve is
needed; then it ends without what takes a solver, and says what is not known."""


class Ending(Enum):
    """Why an iteration ended."""

    OPTIMAL = "the certified relative gap is within tol"
    EXHAUSTED = "no hypothesis that the oracle finds improves"
    SMALL_EDGES = "no new hypothesis that the oracle finds has an edge of min_edge"
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


@dataclass
class Deadline:
    """A clock that runs from when it is made."""

    max_time: float = inf  # in seconds
    outer: Deadline | None = None  # one that holds as well
    interrupted: bool = False  # True once Ctrl-C has ended it
    cut: bool = False  # True once a loop has ended because of it
    around: Deadline | None = None  # what Ctrl-C ends in its place
    reserve: float = 0.0  # seconds that are to be left for what comes after the loops, such as a certificate
    began: float = field(default_factory=lambda: time.perf_counter())  # noqa: PLW0108

    @property
    def seconds(self) -> float:
        """Wall-clock time since it began."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds that are left, negative once it is over."""
        own = -inf if self.interrupted else self.began + self.max_time - time.perf_counter()
        return (own if self.outer is None else min(own, self.outer.left)) - self.reserve

    @property
    def room(self) -> float:
        """Seconds for what comes after the loops: what is left, the reserve, and what the limit may be exceeded by."""
        return max(self.left + self.reserve, 0.0) + max(OVERRUN, OVERRUN_SHARE * self.max_time)

    @property
    def ending(self) -> Ending:
        """Why it is over: Ctrl-C, at it or at one around it, or its time."""
        if self.interrupted:
            return Ending.INTERRUPTED
        return Ending.MAX_TIME if self.outer is None else self.outer.ending

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
        self.interrupted = self.around is None
        if outer := self.outer or self.around:
            outer.interrupt()


_DEADLINE: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def limit_time(max_time: float, *, alone: bool = False, final: bool = False) -> Iterator[Deadline]:
    """Let what is computed meanwhile be over after so many seconds from now, and within any limit around this one.

    Limits around it do not hold if `alone`: sub-problems have limits of their own. What is `final`, such as the
    certificate of what is known, is ended neither by them nor by Ctrl-C, which ends what is around it.

    Examples
    --------
    >>> with limit_time(60.0), limit_time(inf):
    ...     59.0 < time_left() <= 60.0, time_is_up()
    (True, False)
    >>> with limit_time(60.0), limit_time(1000.0, alone=True):
    ...     900.0 < time_left() <= 1000.0
    True
    >>> with limit_time(60.0) as deadline, limit_time(inf, final=True):
    ...     interrupt(), time_left(), deadline.left
    (True, inf, -inf)
    """
    clock = Deadline(max_time, None if alone or final else _DEADLINE.get(), around=_DEADLINE.get() if final else None)
    token = _DEADLINE.set(clock)
    try:
        yield clock
    finally:
        _DEADLINE.reset(token)


def time_left() -> float:
    """Return the seconds that are left, inf without a limit, negative once time is up.

    Examples
    --------
    >>> time_left()
    inf
    """
    deadline = _DEADLINE.get()
    return inf if deadline is None else deadline.left


def was_cut() -> bool:
    """Return True if a loop has ended because of the limit: what comes after it is to be brief."""
    return (_DEADLINE.get() or Deadline()).cut


def find_reason() -> Ending:
    """Return why there is no time left: a limit of time has passed, or Ctrl-C has ended it."""
    return (_DEADLINE.get() or Deadline()).ending


def time_is_up() -> bool:
    """Return True if there is no time left, for a loop that ends if so."""
    return _ends(time_left() <= 0)


def _ends(over: bool) -> bool:
    """Return `over`, and note with the clocks that a loop has ended if so."""
    if over and (deadline := _DEADLINE.get()) is not None:
        deadline.note_cut()
    return over


def check_time() -> None:
    """Raise `TimeUp` where there is no time left."""
    if time_is_up():
        raise TimeUp


def interrupt() -> bool:
    """End the limit around the call, as Ctrl-C does; False if there is none."""
    if (deadline := _DEADLINE.get()) is not None:
        deadline.interrupt()
    return deadline is not None


def find_ending(search: Callable[[], Ending]) -> Ending:
    """Run a search that keeps its incumbent, and return why it ended, Ctrl-C and a limit of time among the reasons.

    Examples
    --------
    >>> with limit_time(inf) as deadline:
    ...     deadline.interrupt()
    ...     find_ending(check_time).name
    'INTERRUPTED'
    """
    try:
        ending = search()
    except KeyboardInterrupt:
        interrupt()
        return Ending.INTERRUPTED
    except TimeUp:
        return find_reason()
    return find_reason() if ending is Ending.MAX_TIME else ending


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
        if not interrupt():
            raise


@contextmanager
def heed_interrupts() -> Iterator[None]:
    """Let the first Ctrl-C end the limit of time around it, wherever it comes, and raise the second one.

    So what is computed ends where it asks for the time, with what it has. In another thread than the main one, or where
    Ctrl-C is handled by others, it stays with that.

    Examples
    --------
    >>> with limit_time(inf), heed_interrupts():
    ...     signal.raise_signal(signal.SIGINT)
    ...     time_is_up()
    True
    """
    clock, ours = _DEADLINE.get(), threading.current_thread() is threading.main_thread()
    if clock is None or not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def note(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # that of what is computed just now, and those around it, which it may be alone of
        for each in (_DEADLINE.get(), clock):
            if each is not None:
                each.interrupt()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except TimeUp:
        # there is nothing to show yet
        raise (KeyboardInterrupt if clock.interrupted else TimeUp) from None
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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

    Examples
    --------
    >>> pace = Pace()
    >>> [pace.allows_step() for _ in range(2)]
    [True, True]
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._last: float | None = None

    def allows_step(self) -> bool:
        """Ask before every step."""
        now = time.perf_counter()
        if self._last is not None:
            self.longest = max(self.longest, now - self._last)
        self._last = now
        left = time_left()
        return not _ends(left <= 0 or left < self.longest)


WORTH_A_THREAD = 2**16
"""Numbers that take longer to visit than another thread takes to wake, also on a busy machine."""

_THREAD_LIMIT: ContextVar[int | None] = ContextVar("thread limit", default=None)


def available_threads() -> int:
    """Return how many threads a computation may use, at least 1.

    By default one for each processor that the process may run on, or the environment's NUMBA_NUM_THREADS, which joblib
    sets in its processes; never more than `limit_threads` allows. Within a task of `map_in_threads` it is 1.
    """
    limit, most = _THREAD_LIMIT.get(), _count_processors()
    return most if limit is None else min(limit, most)


def _count_processors() -> int:
    from numba.core import config

    return int(config.NUMBA_NUM_THREADS)


@contextmanager
def limit_threads(n_threads: int) -> Iterator[None]:
    """Let computations use at most so many threads, at least 1, for a while.

    Examples
    --------
    >>> with limit_threads(1):
    ...     available_threads()
    1
    """
    limit = validation.whole("n_threads", n_threads)
    token = _THREAD_LIMIT.set(min(limit, available_threads()))
    try:
        yield
    finally:
        _THREAD_LIMIT.reset(token)


def threads_for(n_entries: int) -> int:
    """Return how many threads there is work for, that is to visit so many numbers in compiled code."""
    return min(available_threads(), 1 + n_entries // WORTH_A_THREAD)


def shares_for(n_items: int, n_entries: int, worth: int = WORTH_A_THREAD) -> int:
    """Return how many shares a sum over items is computed in: as many with any number of threads.

    Rounding depends on how terms are grouped. So what is *added up* is cut by its size alone, and `map_slices` hands
    out the shares; where every result is of one item, cuts make no difference, and `threads_for` makes them.

    Examples
    --------
    >>> shares_for(20, 2**20), shares_for(20, 1000), shares_for(2, 2**20)
    (4, 1, 2)
    """
    # each is a vector to fill and to add: with more of them one thread is slower
    return min(4, n_items, 1 + n_entries // worth)


def map_slices(task: Callable[[slice], Result], n_items: int, n_threads: int, *, guided: bool = False) -> list[Result]:
    """Compute `task` of consecutive slices of ``range(n_items)``, one for each thread; the results are in their order.

    With guided self-scheduling (Polychronopoulos & Kuck 1987) a slice is a share ``1 / n_threads`` of what is left, so
    that few calls suffice and threads end at about the same time, also where one of them starts late.

    Examples
    --------
    >>> map_slices(lambda part: (part.start, part.stop), 10, 2), map_slices(lambda part: part.start, 10, 2, guided=True)
    ([(0, 5), (5, 10)], [0, 5, 8, 9])
    """
    starts = [0]
    while starts[-1] < n_items:
        left = n_items - starts[-1] if guided else n_items
        starts.append(min(n_items, starts[-1] + -(-left // max(1, n_threads))))
    return map_in_threads(task, list(map(slice, starts[:-1], starts[1:])), n_threads)


def map_in_threads(task: Callable[[Item], Result], items: Sequence[Item], n_threads: int | None = None) -> list[Result]:
    """Compute `task` of every item, several at a time; the results are in the order of the items.

    The calling thread works too, and takes over whatever no other thread has begun. So a call from within a task, or
    from many threads at once, never waits for a free thread. There are at most `n_threads`, and never more than
    `available_threads`. What a task raises first is raised: items not yet begun are left out, none is still at work.

    Examples
    --------
    >>> map_in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    lanes = min(available_threads(), len(items))
    lanes = lanes if n_threads is None else min(lanes, n_threads)
    if lanes <= 1:
        return [task(item) for item in items]
    places = iter(range(len(items)))  # each is handed to whichever thread asks first
    results: list[Any] = [None] * len(items)
    others: list[Future[None]] = []

    def do() -> None:
        try:
            for place in places:
                results[place] = task(items[place])
        finally:
            # whoever has failed leaves nothing to begin
            deque(places, maxlen=0)

    def do_as_other() -> None:
        _THREAD_LIMIT.set(1)  # in a copy of the caller's context, whose deadline holds here too
        do()

    try:
        # no comprehension: an interrupt must not lose those that have been handed over
        for _ in range(lanes - 1):
            others.append(_threads(os.getpid()).submit(copy_context().run, do_as_other))  # noqa: PERF401
        do()
    finally:
        deque(places, maxlen=0)
        failures = [other.exception() for other in others if not other.cancel()]
    for failure in filter(None, failures):
        raise failure
    return results


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """The threads of a process: a forked one has none of its parent's."""
    return ThreadPoolExecutor(_count_processors(), thread_name_prefix=f"cvxens {process}")


def one_blas_thread() -> AbstractContextManager[object]:
    """Let BLAS use one thread for a while."""
    return _controller().limit(limits=1, user_api="blas")


_controller = cache(ThreadpoolController)
"""Makes the limiter of the threads of BLAS; to look for the libraries takes longer than a small matrix does."""

SMALL_ALLOCATION = 2**26
"""Bytes that are allocated without asking."""

MEMINFO = Path("/proc/meminfo")
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")


def available_memory() -> int:
    """Return the bytes that are left, as far as the system tells: unused memory, a container's limit.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    limits = []
    if hasattr(os, "sysconf"):
        limits += [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    if MEMINFO.exists():
        limits += [1024 * int(found) for found in re.findall(r"MemAvailable: +(\d+) kB", MEMINFO.read_text())]
    if CONTROL_GROUP.exists():
        limits += [int(found) for found in re.findall(r"\d+", CONTROL_GROUP.read_text())]
    return min(limits, default=sys.maxsize)


def check_memory(argument: str, found: str, needed: float, remedy: str) -> None:
    """Raise unless the bytes are left that something takes: what was found, up to the verb."""
    if needed > SMALL_ALLOCATION and needed > (room := available_memory()):
        told = f"{found} {needed / 2**30:,.1f} GiB where {room / 2**30:,.1f} GiB are left"
        raise InvalidInput(argument, told, remedy)
