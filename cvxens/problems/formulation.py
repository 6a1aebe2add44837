"""A formulation without its data: a loss on margins or scores and a penalty on weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from math import inf
from typing import TypeAlias

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.constraints import Constrain, Express
from cvxens.problems.duality import Edges
from cvxens.problems.expressions import ConstrainedLoss, ExpressionLoss, read_penalty
from cvxens.problems.losses import Loss
from cvxens.problems.penalties import Penalty
from cvxens.problems.sides import read_sides
from cvxens.types import Array, Data, Given

Decide: TypeAlias = Callable[[Array, Data, Mapping[str, Array]], Array]
"""From scores (n_samples,) or (n_samples, n_outputs), samples and own values to what there is one of per sample."""


@dataclass(frozen=True, eq=False)
class Formulation:
    """minimise loss(z) + penalty(w) with z = y * (H w + b), or with the scores z = H w + b themselves.

    Parameters
    ----------
    loss : Loss, or callable
        One of `cvxens.problems.losses`; or any function from the cvxpy variable z, (n_samples,) or
        (n_samples, outputs), to a convex cvxpy expression, whose bounds are proven by conic multipliers
        (`cvxens.problems.conic`); where it is a sum of hinges of many samples, these are read off it. It may hold
        variables of its own, such as slacks or thresholds: they are minimised over, and those that have a name come
        back in `Run.variables`.
    penalty : Penalty, or callable
        One of `cvxens.problems.penalties`; or any function from the cvxpy variable w, shaped as the weights, to a
        convex cvxpy expression, or to a list of one and constraints on w. It treats all hypotheses alike. What in it
        is a sum over weights, over rows of those of several outputs, or a function of an l1 or l2 norm is read off
        its tree, such as ``0.1 * cp.norm1(w) + cp.sum(cp.huber(w))`` or ``[0, cp.norm1(w) <= 3]``, and proven. So is
        anything convex beside a term that prices all weights, such as ``cp.norm1(w) + cp.norm2(w)``, a trace norm
        beside norms of rows, or variables of its own. Under another penalty, such as ``cp.norm_inf(w)`` alone, every
        hypothesis with an edge has a weight: there are no bounds, and the certificate says what is not known.
    intercept : bool
        Whether there is an unpenalised b.
    nonnegative : bool
        Whether w >= 0.
    outputs : int or None
        The number of scores per sample of a loss on several; None for one margin or score per sample.
    maximise : bool
        Whether the formulation is stated as a maximum, so that objective and bound are reported with their signs
        changed.
    constraints : callable, optional
        From the cvxpy variable z to a list of convex constraints on the margins, or scores. They count as a part of the
        loss, so the pricing rule stays what it is. Where no weights on the columns so far satisfy them, the least
        violation is lowered first; where no weights do, a run raises `Infeasible` with the proof.
    scores : bool
        Whether the loss is on scores, and holds what it compares them with, such as targets: y is then left out. It
        goes without saying where there are several outputs, and of losses that hold targets themselves.
    decide : callable, optional
        How variables of the formulation's own act on new samples: a function from the scores H w + b, the samples X and
        the best values of those variables by name to what `decision_function` of a `Run` returns, such as
        ``lambda f, X, own: f + X @ own["v"]`` for a linear part. It plays no part in the problem.

    Examples
    --------
    The logistic loss with an l1 penalty, from cvxpy's atoms:

    >>> import cvxpy as cp
    >>> variant = Formulation(lambda z: cp.sum(cp.logistic(-z)), lambda w: cp.norm1(w), intercept=True)
    >>> str(variant)
    'ExpressionLoss + L1 with free w and an intercept'

    The hinge loss, such that both halves of a sample have the same mean margin:

    >>> from cvxens.problems.losses import Hinge
    >>> from cvxens.problems.penalties import L1
    >>> fair = Formulation(
    ...     Hinge(1.0), L1(), intercept=True, constraints=lambda z: [cp.sum(z[:50]) == cp.sum(z[50:])]
    ... )

    Least absolute deviations from targets t, as an expression in the scores:

    >>> t = np.array([0.5, 2.0, 1.0])
    >>> deviations = Formulation(lambda f: cp.norm1(t - f), L1(), intercept=True, scores=True)
    >>> deviations.on_scores, deviations.signs(None, n_samples=3)
    (True, array([1., 1., 1.]))
    """

    loss: Loss | Express
    penalty: Penalty | Express
    intercept: bool = False
    nonnegative: bool = False
    outputs: int | None = None
    maximise: bool = False
    constraints: Constrain | None = None
    scores: bool = False
    decide: Decide | None = None

    def __post_init__(self) -> None:
        for name, part in (("loss", self.loss), ("penalty", self.penalty)):
            # atoms of cvxpy are classes as well, and functions to expressions
            if isinstance(part, type) and issubclass(part, (Loss, Penalty)):
                validation.made(name, part)
        if self.decide is not None and not callable(self.decide):
            raise InvalidInput("decide", f"found {self.decide!r:.100}", "give a function of scores, samples and values")

    @cached_property
    def terms(self) -> tuple[Loss, Penalty]:
        """Loss and penalty with all that a master needs; expressions are wrapped."""
        for name, part in (("loss", self.loss), ("penalty", self.penalty)):
            if not (isinstance(part, (Loss, Penalty)) or callable(part)):
                raise InvalidInput(name, f"found {part!r}", f"give one of cvxens.problems, or a function to a {name}")
        loss = self.loss if isinstance(self.loss, Loss) else ExpressionLoss(self.loss)
        if isinstance(self.penalty, Penalty):
            penalty = self.penalty
        else:
            penalty = read_penalty(self.penalty, self.outputs, self.nonnegative)
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
    def holds_own_terms(self) -> bool:
        """True if the loss or the penalty is a class from outside of the library, whose claims nobody has tested."""
        loss, penalty = self.loss, self.penalty
        return (isinstance(loss, Loss) and _holds_own(loss)) or (isinstance(penalty, Penalty) and _holds_own(penalty))

    @property
    def has_conjugate(self) -> bool:
        """True if the penalty has a conjugate in numpy, so that there are bounds; a loss has one, or conic proofs."""
        return self.terms[1].has_conjugate

    @property
    def needs_square_sum(self) -> bool:
        """True if the dual bound needs the sum of squared edges, or might, and not their largest alone."""
        # where edges are as small as this only a penalty that all hypotheses count in has no bound
        return bool(self.terms[1].conjugate(Edges(2.0**-200, inf)) == inf)

    def read(self, y: Array) -> Formulation:
        """Return the same with what fast masters know of expressions: hinges, the mean of the largest, tables, rows."""
        loss, penalty = self.terms
        wanted = penalty.ridge is not None or penalty.edge_limit is not None
        if isinstance(loss, ExpressionLoss) and y.ndim == 1:
            # beside other sums of sizes and squares only what is smooth has a fast master
            wanted = wanted or bool(penalty.entry_sizes and loss.table(y.shape))
            return replace(self, loss=loss.read(y.shape)) if wanted else self
        if not (isinstance(loss, ConstrainedLoss) and y.ndim == 1 and wanted):
            return self
        read = read_sides(loss, y, balanced=self.intercept)
        return self if read is loss else replace(self, loss=read, constraints=None)

    def renewed(self) -> Formulation:
        """Return the same with nothing remembered of its functions, in which numbers may have changed since."""
        terms = isinstance(self.loss, Loss) and isinstance(self.penalty, Penalty) and self.constraints is None
        if terms and not self.holds_own_terms and not isinstance(self.loss, ExpressionLoss):
            return self
        return replace(self, loss=replace(self.loss) if isinstance(self.loss, ExpressionLoss) else self.loss)

    @property
    def basis(self) -> str:
        """The ground of proofs beside the oracle, in a few words; empty where conjugates alone are."""
        return self.terms[0].basis

    def condition(self, u: Array) -> str:
        """Return what a bound by multipliers u holds under that is not verified, in a few words; mostly empty."""
        return self.terms[0].condition(u)

    @property
    def doubt(self) -> str:
        """The reason that there are no bounds, in a few words; empty where there are bounds."""
        if self.has_conjugate:
            return ""
        unrecognised = self.terms[1].unrecognised
        why = f", as it has {unrecognised} and no term that prices every weight" if unrecognised else ""
        return f"the conjugate of the penalty is not known{why}"

    def find_size(self, largest: float) -> float:
        """Return the size of objectives below which they are near 0: a tenth of the largest margin, if they are one.

        `largest` is the largest value of a hypothesis; above 1, as no vote has it, it may be that of one that nobody
        wants, and counts as 1. Any other objective has no unit of its own, and no such size.
        """
        loss, penalty = self.terms
        return 0.1 * min(largest, 1.0) * (penalty.total or 0.0) if loss.is_margin else 0.0

    @property
    def sense(self) -> float:
        """-1 for a maximum, 1 for a minimum."""
        return -1.0 if self.maximise else 1.0

    @property
    def on_scores(self) -> bool:
        """True if the loss is on the scores H w + b; one on margins needs labels."""
        return self.scores or self.outputs is not None or (isinstance(self.loss, Loss) and self.loss.on_scores)

    def signs(self, y: Given, n_samples: int | None = None) -> Array:
        """Return the signs of the margins: labels `y`, or ones for the `n_samples` of a loss on scores.

        Raises
        ------
        InvalidInput
            The labels are no two classes, there are some for a loss on scores, or the loss holds targets for another
            number of samples or outputs.
        """
        loss = self.terms[0]
        held, outputs = loss.batch_shape, () if self.outputs is None else (self.outputs,)
        if held[1:] != outputs and not loss.any_shape:
            found = f"found {self.outputs} with a loss that does not hold so many targets per sample"
            remedy = "give the number of columns of the targets L of SquaredError(C, L), or None for other losses"
            raise InvalidInput("outputs", found, remedy)
        if held and n_samples is not None and held[0] != n_samples:
            found = f"found one that holds {held[0]} targets or prices, for {n_samples} samples"
            raise InvalidInput("loss", found, "give it one per sample")
        if not self.on_scores:
            if y is None:
                remedy = "give an array of labels -1 and +1, or the formulation scores=True"
                raise InvalidInput("y", "found none for a loss on margins", remedy)
            return validation.signs(y, held[0] if held else None)
        if y is not None and not np.array_equal(np.asarray(y), np.ones(np.shape(y))):
            raise InvalidInput("y", "found labels for a loss on scores, which holds its targets itself", "leave y out")
        if self.intercept and loss.of_differences:
            found = f"found True with {type(loss).__name__}, which knows differences of scores alone"
            raise InvalidInput("intercept", found, "give intercept=False")
        if self.intercept and self.constraints is None and loss.falls:
            found = f"found True with {type(loss).__name__} on scores, which falls in all of them without end"
            raise InvalidInput("intercept", found, "give intercept=False, or labels")
        n_samples = held[0] if held else n_samples
        if n_samples is None:
            raise InvalidInput("n_samples", "found None with a loss on scores", "give the number of samples")
        return np.ones((n_samples, *(() if self.outputs is None else (1,))))

    def own_values(self, z: Array, w: Array) -> Mapping[str, Array]:
        """Return the best values of the variables that loss and penalty name themselves, at margins z and weights w."""
        loss, penalty = self.terms
        return {**loss.own_values(z), **penalty.own_values(w)}


def apply(decide: Decide | None, f: Array, X: Data, own: Mapping[str, Array]) -> Array:
    """Return what is decided on samples with the scores f, these themselves where nobody says otherwise.

    Examples
    --------
    >>> apply(lambda f, X, own: f + X @ own["v"], np.zeros(2), np.eye(2), {"v": np.array([3.0, 4.0])})
    array([3., 4.])
    """
    if decide is None:
        return f
    decided = np.asarray(decide(f, X, own), np.float64)
    if decided.shape[:1] != f.shape[:1]:
        found = f"found one that returns the shape {decided.shape} for scores of the shape {f.shape}"
        raise InvalidInput("decide", found, "return a row, or a number, for every sample")
    return decided


def _holds_own(part: object) -> bool:
    """Return whether a part is a user's own, or one of the library's that holds such; expressions claim nothing."""
    if not type(part).__module__.startswith("cvxens.problems."):
        return True
    for field in fields(part) if is_dataclass(part) else ():
        value = getattr(part, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Loss | Penalty) and _holds_own(each):
                return True
    return False
