"""Ctrl-C, where the work that it meets may end early instead of failing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """Yield a check that raises KeyboardInterrupt after a Ctrl-C, also after one that a fit took as its end."""
    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if callable(before):
            before(number, frame)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    if callable(before):
        signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
