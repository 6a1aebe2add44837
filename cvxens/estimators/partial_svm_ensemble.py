"""TK07's ensemble of partially trained SVMs as an estimator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from math import inf
from typing import Any, ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.deadline import limit_time
from cvxens.estimators.base import ClassWeighted, Limited
from cvxens.estimators.machines.kernel_expansion import (
    LOW_RANK,
    FixedKernel,
    KernelExpansion,
    left_out,
    of_exact_kernel,
    shortfall,
)
from cvxens.estimators.machines.soft_margin import certify_soft_margin
from cvxens.estimators.parameters import estimator
from cvxens.estimators.progress import rounds_of, warn_of_gap
from cvxens.estimators.samples import Sample
from cvxens.solvers.partial_svms import combine_updates
from cvxens.solvers.rho_svm import Update, adaptive_updates, certificates, take_until
from cvxens.types import Array

BOUND = 1e-4
"""The relative gap of the bound that an ensemble is held against."""


@dataclass(frozen=True)
class PartialSVM:
    """A row of the history: a hypothesis of the ensemble.

    Parameters
    ----------
    weight : float
        Its weight eta.
    objective : float
        u'K~u, above the optimum.
    gap : float
        The gap to that, relative to the objective.
    """

    weight: float
    objective: float
    gap: float


@final
@estimator
class PartialSVMEnsembleClassifier(ClassWeighted, Limited, KernelExpansion):
    """The ensemble of partially trained SVMs (TK07): every iterate of the multiplicative updates votes.

    The updates go from the Parzen window to the rho-SVM of hard margin. Each iterate is a hypothesis, weighted by the
    length of the update that it leads to; all are over the same samples, so the ensemble is one expansion. There is
    next to nothing to tune but the kernel. The kernel matrix is replaced by one of low rank, which takes
    ``8 n_samples max_rank`` bytes.

    Parameters
    ----------
    C : float, optional
        1/C, over the weight of each sample, is added to the diagonal of the kernel matrix, which separates the
        classes; by default 10 over the mean of k(x, x).
    tol : float
        The relative gap of the last SVM, with the low-rank kernel, at which updates end. Where its gap with the exact
        kernel is larger, there is a ConvergenceWarning.
    max_updates : int
        At most so many updates.

    Attributes
    ----------
    certificate_ : Certificate
        Of the last SVM, with the exact kernel: how near the updates came to the largest margin.
    history_ : tuple of PartialSVM
        Weight, objective and gap of every hypothesis.
    dual_weights_ : ndarray of shape (n_samples,)
        The weights of the samples in the ensemble: the mean of the u of its hypotheses.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PartialSVMEnsembleClassifier(max_rank=569, tol=0.1).fit(X, y)
    >>> model.score(X, y) > 0.97, len(model.history_) > 5
    (True, True)
    """

    history_: tuple[PartialSVM, ...] = field(init=False)
    source: ClassVar[str] = "TK07 section 3"

    _: KW_ONLY
    C: float | None = None
    tol: float = 1e-2
    max_updates: int = 1000

    def _solve(self, sample: Sample) -> dict[str, Any]:
        (kernel, X), y = self._fixed(sample), sample.signs
        tol, limit = validation.positive("tol", self.tol), validation.whole("max_updates", self.max_updates)
        with rounds_of(self) as rounds, threadpool_limits(1, "blas"), limit_time(inf) as clock:
            K = self._softened(kernel, X, sample)
            votes = _Votes(np.zeros(len(y)))
            updates = take_until(
                adaptive_updates(lambda u: y * (K @ (y * u)), sample.weights / sample.weights.sum()), tol, limit
            )

            def fitted() -> dict[str, Any]:
                return self._expanded(sample, kernel, K.pivots, K.on_pivots(y * votes.total))

            ensemble = combine_updates(rounds.over(votes.counted(updates), limit + 1, _told, fitted), y)
        low_rank, _ = certificates(K, y, y * ensemble.last)
        certificate = of_exact_kernel(low_rank, left_out(kernel, X, K, ensemble.last), maximise=True)
        if not rounds.stopped:
            reason, remedy = shortfall(clock, rounds.ending)
            if ensemble.gaps[-1] > tol and reason == LOW_RANK:
                reason, remedy = "the updates have ended", "raise max_updates or tol"
            warn_of_gap(self, certificate, tol, f"{reason} after {len(ensemble.gaps)} hypotheses", remedy)
        rows = zip(*(a.tolist() for a in (ensemble.weights, ensemble.values, ensemble.gaps)), strict=True)
        return {
            **self._expanded(sample, kernel, K.pivots, K.on_pivots(ensemble.coefficients)),
            "certificate_": certificate,
            "history_": tuple(PartialSVM(*row) for row in rows),
            "dual_weights_": sample.spread(np.abs(ensemble.coefficients)),
        }

    def _most_rounds(self, sample: Sample) -> int:
        return validation.whole("max_updates", self.max_updates) + 1

    def _certified(self, kernel: FixedKernel, sample: Sample, f: Array, norm: float) -> Certificate:
        K = self._softened(kernel, sample.X, sample)
        return certify_soft_margin(kernel, sample, K, tol=min(self.tol, BOUND), f=f, norm=norm)


@dataclass
class _Votes:
    """The sum of all u so far, weighted as the ensemble weighs its hypotheses."""

    total: Array
    eta: float = 1.0

    def counted(self, updates: Iterable[Update]) -> Iterator[Update]:
        """The same updates."""
        for update in updates:
            self.eta = update.eta if update.eta > 0 else self.eta
            self.total = self.total + self.eta * update.u
            yield update


def _told(update: Update) -> str:
    return f"relative gap {update.gap:.2g}, objective {update.value:.6g}"
