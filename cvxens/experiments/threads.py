"""One thread for small samples: handing them out to several takes longer than the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from cvxens.threads import limit_threads


@contextmanager
def one_thread() -> Iterator[None]:
    """Compiled loops and linear algebra keep to one thread."""
    with limit_threads(1), threadpool_limits(1):
        yield
