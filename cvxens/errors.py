"""The only exceptions and warnings that cvxens raises of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cvxens.types import Array, Attempt


class CvxensError(Exception):
    """Every error of cvxens: catch this to catch them all."""

    def __reduce__(self) -> str | tuple[object, ...]:
        # each of ours is made of its parameters, which are attributes; what makes a proof is not copied
        copied = {name: value for name, value in vars(self).items() if not callable(value)}
        own = tuple(copied[name] for name in signature(type(self).__init__).parameters if name in copied)
        return (type(self), own) if own else super().__reduce__()


class InvalidInput(CvxensError, ValueError):
    """An argument that cannot be worked with.

    Parameters
    ----------
    argument : str
        The name of the argument at fault.
    found : str
        What was found there, which becomes one line.
    remedy : str
        What the caller can do about it.

    Examples
    --------
    >>> raise InvalidInput("C", "found -1.0", "give a number above 0")
    Traceback (most recent call last):
    cvxens.errors.InvalidInput: C: found -1.0; give a number above 0
    """

    def __init__(self, argument: str, found: str, remedy: str) -> None:
        found = " ".join(found.split())
        super().__init__(f"{argument}: {found}; {remedy}")
        self.argument = argument
        self.found = found
        self.remedy = remedy


class DataFileError(InvalidInput):
    """A data file that is missing, unreadable or malformed."""


@contextmanager
def refusing(
    argument: str,
    found: str,
    remedy: str,
    kinds: tuple[type[Exception], ...] = (ValueError,),
    *,
    raised: type[InvalidInput] = InvalidInput,
) -> Iterator[None]:
    """Make what others raise an error about an argument, with their words behind what was found.

    Examples
    --------
    >>> with refusing("C", "found no number", "give one"):
    ...     float("much")
    Traceback (most recent call last):
    cvxens.errors.InvalidInput: C: found no number (could not convert string to float: 'much'); give one
    """
    try:
        yield
    except raised:
        raise
    except kinds as error:
        raise raised(argument, f"{found} ({getattr(error, 'strerror', None) or error})", remedy) from None


def writing(argument: str, path: object, *, raised: type[InvalidInput] = InvalidInput) -> AbstractContextManager[None]:
    """Name the argument and the file where that cannot be written."""
    found, remedy = f"found {str(path)!r}, which cannot be written", "make room, or name another file"
    return refusing(argument, found, remedy, (OSError, ValueError), raised=raised)


class NotSeparable(CvxensError):
    """A hard-margin problem without a feasible point, and the proof of it.

    Parameters
    ----------
    farkas : ndarray of shape (n_samples,)
        Sample weights u >= 0 with sum 1 under which no hypothesis has a positive edge.
    max_edge : float
        The largest edge under `farkas`, recomputed in numpy. Weights w >= 0 with margins of at least 1
        would need ``sum(w) >= 1 / max_edge``; at 0 or below there are none.
    prover : callable, optional
        Makes the exact proof that `exact` returns. It is not copied with the error into other processes.
    """

    def __init__(self, farkas: Array, max_edge: float, prover: Callable[[], Any] | None = None) -> None:
        super().__init__(
            "the hypotheses do not separate the two classes, so no weights reach a margin of 1: "
            f"under the sample weights in .farkas the largest edge is {max_edge:.3g}; "
            "use SoftMarginBoosting, or add hypotheses"
        )
        self.farkas = farkas
        self.max_edge = max_edge
        self.prover = prover

    def exact(self) -> Any:
        """Prove in rational numbers that no weighted vote has a margin above 0 on every sample.

        Returns
        -------
        cvxens.proofs.Proof
            `save` writes it, and the data, for `cvxens check`.

        Raises
        ------
        InvalidInput
            The hypotheses are of a set that no exact proof is known for, or they separate the classes after all, by a
            margin that rounding hides.
        """
        if self.prover is None:
            remedy = "take that of column generation over all stumps or a pool of columns"
            raise InvalidInput("NotSeparable", "found one that no exact proof is known for", remedy)
        return self.prover()


class Infeasible(CvxensError):
    """Constraints on margins that no weights satisfy, and the proof of it.

    Parameters
    ----------
    farkas : ndarray, shaped as the margins
        Multipliers u with the sum of sizes 1, under which margins z that satisfy the constraints have
        ``u'z >= least`` (and y'u = 0 where there is an intercept); 0 where no margins at all satisfy them.
    least : float
        A bound above 0, from multipliers of the constraints that were repaired and checked.
    max_edge : float
        The largest edge of any hypothesis under them: weights w have u'z of at most ``max_edge sum |w|``.
    """

    def __init__(self, farkas: Array, least: float, max_edge: float) -> None:
        size = f"weights above {least / max_edge:.3g} in sum" if max_edge > 0 else "weights of any size"
        super().__init__(
            f"no weights satisfy the constraints: under the multipliers in .farkas they ask for {least:.3g}, and the "
            f"largest edge is {max_edge:.3g}, so that not even {size} would do; loosen them, or add hypotheses"
        )
        self.farkas = farkas
        self.least = least
        self.max_edge = max_edge


class SolverFailed(CvxensError, RuntimeError):
    """Every solver that was tried failed; `attempts` says how each of them did.

    Parameters
    ----------
    attempts : iterable of Attempt
        In the order in which solvers were asked.
    cause : str
        What was measured that explains it, if anything was.
    """

    def __init__(self, attempts: Iterable[Attempt], cause: str = "") -> None:
        self.attempts = tuple(attempts)
        self.cause = cause
        tried = "; ".join(f"{a.solver}: {a.status}{f' ({a.message})' if a.message else ''}" for a in self.attempts)
        first = self.attempts[0].status if self.attempts else ""
        if first.startswith("unbounded"):
            remedy = (
                "the objective falls without end: bound weights, intercept and variables of your own by a penalty, by "
                "their signs or by constraints, or raise the price of weights"
            )
        elif first.startswith("infeasible"):
            remedy = "nothing satisfies all constraints at once: loosen those on weights, scores or variables"
        else:
            remedy = cause or "name another solver= or looser options"
        super().__init__(f"no solver returned an optimal solution [{tried}]; {remedy}")


class WorkersLost(CvxensError, RuntimeError):
    """The workers of a fit cannot be asked any more: their client, their scheduler or all of them are gone.

    Parameters
    ----------
    reason : str
        What was lost, in the words of who noticed it.
    best : Any
        The best state by then, an `Incumbent` with its columns, solution and bound; None if there was none.
    """

    def __init__(self, reason: str, best: Any = None) -> None:
        reached = "before the first round was over"
        if best is not None:
            reached = f"at the objective {best.solution.objective:.9g}, bound {best.bound:.9g}; .best has the state"
        super().__init__(
            f"the workers were lost ({reason}), {reached}; "
            "fit again on other workers, from a checkpoint if there is one"
        )
        self.reason = reason
        self.best = best


class SolverFallbackWarning(UserWarning):
    """A solver failed and the next one in the chain answered instead."""


def warn_of_change(was: str, now: str, gone: str) -> None:
    """Warn whoever called the caller that it is called otherwise now, and in which version the former way goes.

    Parameters
    ----------
    was, now : str
        The former way and the new one, as they are written.
    gone : str
        The version without the former one.

    Examples
    --------
    >>> def solve_prices(problem):
    ...     warn_of_change("solve_prices(problem)", "solve_svm_path(problem)", gone="2.0")
    """
    warnings.warn(f"{was} goes in cvxens {gone}: use {now}", FutureWarning, stacklevel=3)
