"""scikit-learn's callbacks, where the installed version has them: from 1.9 on."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from sklearn import config_context


class WithoutCallbacks:
    """What an estimator supports where scikit-learn has no callbacks: none, and it has no `set_callbacks`."""


def _support() -> tuple[Any, Callable[[Any], Any]]:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:
        return WithoutCallbacks, lambda method: method
    return CallbackSupportMixin, with_callbacks


CallbackSupport, with_callbacks = _support()
"""The base class of estimators that take callbacks, and the decorator of the method that tells them."""


def context_of(estimator: Any, *, n_tasks: int | None, ordered: bool) -> Any:
    """Set the callbacks of an estimator up for a fit of at most so many subtasks; None if it has none."""
    if not hasattr(estimator, "_skl_callbacks"):
        return None
    return estimator._init_callback_context(max_subtasks=n_tasks, sequential_subtasks=ordered)


@dataclass(frozen=True)
class Whole:
    """What the clones of an estimator that solve its sub-problems are part of.

    Parameters
    ----------
    context : CallbackContext
        Of the fit of the whole, with unordered subtasks.
    routing : bool
        Whether its user has enabled the routing of metadata.
    process : int
        The process of the whole. Sub-problems in other processes have random numbers.
    """

    context: Any
    routing: bool
    process: int = field(default_factory=os.getpid)

    def subcontext(self) -> Any:
        """The context of a further sub-problem."""
        with _NUMBERING:
            here = os.getpid() == self.process
            number = len(self.context._children_map) if here else secrets.randbelow(2**31)
            return self.context.subcontext("sub-problem", task_id=number)


_NUMBERING = Lock()


@contextmanager
def parts_of_fit(estimator: Any, binary: Any) -> Iterator[None]:
    """Let the fits of clones of `binary` be subtasks of that of `estimator`, whose callbacks follow them."""
    task = getattr(estimator, "_task", None)
    if task is None:
        yield
        return
    # those that propagate reach the clones through the context
    own = (callback for callback in estimator._skl_callbacks if not hasattr(callback, "max_propagation_depth"))
    binary.set_callbacks(*own)
    binary._part_of = Whole(task.context, task.routing)
    try:
        yield
    finally:
        del binary._part_of


def cloned(estimator: Any, clone: Any) -> Any:
    """Make a clone part of the whole that the estimator is part of."""
    if "_part_of" in vars(estimator):
        clone._part_of = estimator._part_of
    return clone


@contextmanager
def as_part(estimator: Any) -> Iterator[None]:
    """Fit an estimator as the part of a whole, if it is one."""
    whole = vars(estimator).pop("_part_of", None)
    if whole is None:
        yield
        return
    context = whole.subcontext()
    with config_context(enable_metadata_routing=whole.routing), context.propagate_callback_context(estimator):
        yield
