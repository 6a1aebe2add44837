"""A formulation without its data: a loss on margins and a penalty on weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.expressions import ConstrainedLoss, ExpressionLoss, ExpressionPenalty
from cvxens.problems.losses import Loss
from cvxens.problems.penalties import Penalty
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class Formulation:
    """minimise loss(z) + penalty(w) with z = y * (H w + b).

    Parameters
    ----------
    loss : Loss, or callable
        One of `cvxens.problems.losses`, whose conjugate proves bounds; or any function from the cvxpy variable z
        (n_samples,) to a convex cvxpy expression, whose bounds are taken from the solver. It may hold variables of its
        own, such as slacks: they are minimised over.
    penalty : Penalty, or callable
        One of `cvxens.problems.penalties`; or any function from the cvxpy variable w, shaped as the weights, to a
        convex cvxpy expression, symmetric in its entries.
    intercept : bool
        Whether there is an unpenalised b.
    nonnegative : bool
        Whether w >= 0.
    outputs : int or None
        The number of scores per sample of a loss on several; None for one margin per sample.
    maximise : bool
        Whether the formulation is stated as a maximum, so that objective and bound are reported with their signs
        changed.
    constraints : callable, optional
        From the cvxpy variable z to a list of convex constraints on the margins. They count as a part of the loss, so
        the pricing rule stays what it is; the bounds are then taken from the solver. Some constant score b must
        satisfy them, or a score of 0 where there is no intercept, so that there is a point to start from.

    Examples
    --------
    The logistic loss with an l1 penalty, from cvxpy's atoms:

    >>> import cvxpy as cp
    >>> variant = Formulation(lambda z: cp.sum(cp.logistic(-z)), lambda w: cp.norm1(w), intercept=True)
    >>> variant.has_conjugate
    False

    The hinge loss, such that both halves of a sample have the same mean margin:

    >>> from cvxens.problems.losses import Hinge
    >>> from cvxens.problems.penalties import L1
    >>> fair = Formulation(
    ...     Hinge(1.0), L1(), intercept=True, constraints=lambda z: [cp.sum(z[:50]) == cp.sum(z[50:])]
    ... )
    """

    loss: Loss | Callable[[Any], Any]
    penalty: Penalty | Callable[[Any], Any]
    intercept: bool = False
    nonnegative: bool = False
    outputs: int | None = None
    maximise: bool = False
    constraints: Callable[[Any], Sequence[Any]] | None = None

    def __post_init__(self) -> None:
        for name, part in (("loss", self.loss), ("penalty", self.penalty)):
            # atoms of cvxpy are classes as well, and functions to expressions
            if hasattr(part, "term"):
                validation.made(name, part)

    @cached_property
    def terms(self) -> tuple[Loss, Penalty]:
        """Loss and penalty with all that a master needs; expressions are wrapped."""
        for name, part in (("loss", self.loss), ("penalty", self.penalty)):
            if not (hasattr(part, "term") or callable(part)):
                raise InvalidInput(name, f"found {part!r}", f"give one of cvxens.problems, or a function to a {name}")
        loss: Any = self.loss if hasattr(self.loss, "term") else ExpressionLoss(self.loss)
        penalty: Any = self.penalty if hasattr(self.penalty, "term") else ExpressionPenalty(self.penalty)
        if penalty.one_sided and not self.nonnegative:
            raise InvalidInput("nonnegative", f"found False with {type(penalty).__name__}", "give nonnegative=True")
        if self.constraints is not None and not callable(self.constraints):
            raise InvalidInput("constraints", f"found {self.constraints!r}", "give a function from z to a list")
        return (loss if self.constraints is None else ConstrainedLoss(loss, self.constraints)), penalty

    def __str__(self) -> str:
        sign, constant = "w >= 0" if self.nonnegative else "free w", "an" if self.intercept else "no"
        loss, penalty = (type(term).__name__ for term in self.terms)
        return f"{loss} + {penalty} with {sign} and {constant} intercept"

    @property
    def own_parts(self) -> tuple[str, ...]:
        """The names of the parts that are a user's own: expressions, and classes from outside of the library."""
        parts = {"loss": self.loss, "penalty": self.penalty, "constraints": self.constraints}
        return tuple(
            name
            for name, part in parts.items()
            if part is not None and not type(part).__module__.startswith("cvxens.problems.")
        )

    @property
    def has_conjugate(self) -> bool:
        """True if loss and penalty have conjugates in numpy, so that bounds are proofs."""
        return all(getattr(term, "has_conjugate", True) for term in self.terms)

    @property
    def sense(self) -> float:
        """-1 for a maximum, 1 for a minimum."""
        return -1.0 if self.maximise else 1.0

    def signs(self, y: Any) -> Array:
        """The signs of the margins: labels `y`, or a column of ones where the loss is on scores and there are none."""
        held = self.terms[0].batch_shape
        if held[1:] != (() if self.outputs is None else (self.outputs,)):
            found = f"found {self.outputs} with a loss that does not hold so many targets per sample"
            remedy = "give the number of columns of the targets L of SquaredError(C, L), or None for other losses"
            raise InvalidInput("outputs", found, remedy)
        if self.outputs is None:
            return validation.signs(y, held[0] if held else None)
        if y is not None:
            raise InvalidInput("y", "found labels for a loss that holds its targets itself", "leave y out")
        return np.ones((held[0], 1))
