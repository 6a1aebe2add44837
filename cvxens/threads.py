"""One way to use several threads, for the whole package: it survives a fork and can be nested.

Compiled loops release the interpreter's lock, so ordinary threads run them side by side. numba's own threading layers
do not serve: GNU OpenMP ends a process that forked after its first use, and the work queue one that calls it from two
threads. The threads here are shared by all calls of a process; a forked child starts with none and makes its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import count
from typing import Any, TypeVar

from numba.core import config

from cvxens import validation

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_A_THREAD = 2**16
"""Numbers that take longer to visit than another thread takes to wake, also on a busy machine."""

_LIMIT: ContextVar[int | None] = ContextVar("thread limit", default=None)


def available_threads() -> int:
    """Return how many threads a computation may use, at least 1.

    By default one for each processor that the process may run on, or the environment's NUMBA_NUM_THREADS, which joblib
    sets in its processes; never more than `limit_threads` allows. Within a task of `map_in_threads` it is 1.
    """
    limit = _LIMIT.get()
    most = int(config.NUMBA_NUM_THREADS)
    return most if limit is None else min(limit, most)


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
    token = _LIMIT.set(min(limit, available_threads()))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def threads_for(n_entries: int) -> int:
    """Return how many threads there is work for, that is to visit so many numbers in compiled code."""
    return min(available_threads(), 1 + n_entries // WORTH_A_THREAD)


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
    work = _Work(task, items)
    others: list[Future[None]] = []
    try:
        # no comprehension: an interrupt must not lose those that have been handed over
        for _ in range(lanes - 1):
            others.append(_threads().submit(copy_context().run, work.do_as_other))  # noqa: PERF401
        work.do()
    finally:
        work.stop()
        for other in others:
            if not other.cancel():
                other.exception()
    if work.failures:
        raise work.failures[0]
    return work.results


class _Work:
    """The items of one call, handed out one by one to whichever thread asks."""

    def __init__(self, task: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self.task, self.items = task, items
        self.results: list[Any] = [None] * len(items)
        self.failures: list[BaseException] = []
        self._places = count()  # next() is atomic
        self._stopped = False

    def do(self) -> None:
        """Do items until there are none left, or one has failed in another thread."""
        while not self._stopped and (place := next(self._places)) < len(self.items):
            self.results[place] = self.task(self.items[place])

    def do_as_other(self) -> None:
        """Do items in a thread of the pool: what is raised is kept for the calling thread."""
        _LIMIT.set(1)  # in a copy of the caller's context, whose deadline holds here too
        try:
            self.do()
        except BaseException as failure:
            self.failures.append(failure)
            self.stop()

    def stop(self) -> None:
        """Hand out nothing more."""
        self._stopped = True


_LOCK = threading.Lock()
_POOL: ThreadPoolExecutor | None = None


def _threads() -> ThreadPoolExecutor:
    """The threads of this process, made when first asked for."""
    global _POOL  # noqa: PLW0603
    with _LOCK:
        if _POOL is None:
            _POOL = ThreadPoolExecutor(int(config.NUMBA_NUM_THREADS), thread_name_prefix="cvxens")
        return _POOL


def _forget_threads() -> None:
    """A forked child has none of its parent's threads, and the parent may have held the lock."""
    global _LOCK, _POOL
    _LOCK, _POOL = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
