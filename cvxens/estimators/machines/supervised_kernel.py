"""What classification and regression with a supervised kernel share: the forest, its kernel, the experts."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar
from warnings import warn

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.errors import InvalidInput, SolverFailed, SolverFallbackWarning
from cvxens.estimators.base import check_shape
from cvxens.estimators.samples import Accepts
from cvxens.kernels import TreeEnsemble
from cvxens.kernels.tree_ensemble import KINDS
from cvxens.memory import SMALL, available
from cvxens.solvers import (
    LeastSquaresExperts,
    draw_members,
    iterated_least_squares_experts,
    least_squares_experts,
)
from cvxens.solvers.experts import RANK, WIDTH, Members
from cvxens.types import Array

WRITTEN_OUT = 1000
"""Up to so many samples the kernel matrix is written out, and experts are solved in closed form."""

MOST_WRITTEN_OUT = 5000
"""Up to so many it is where conjugate gradients fail, as they may where gamma is tiny: 200 MB."""

BLOCK = 2**24
"""Numbers in the parts in which new samples are scored: 128 MiB."""


@dataclass(eq=False, repr=False)
class SupervisedKernelExperts(ABC):
    """Experts on one supervised kernel matrix; for a classifier or a regressor.

    Parameters
    ----------
    forest : estimator, optional
        A tree, forest or gradient boosting of scikit-learn; by default a random forest. A clone of it is fitted, with a
        seed from `random_state` if it has none. One that is fitted already, to an array, is taken as it is if it is
        wrapped into a `sklearn.frozen.FrozenEstimator`.
    kernel : {"depth", "leaf"}
        TT06 (9), the depth of the deepest node that both samples pass, a mean over the trees; or TT06 (8), the share of
        the trees in which they reach the same leaf. The latter is smaller by about the depth of the trees, and sees
        little where leaves have few samples, as they have in regression: give the forest a `min_samples_leaf`.
    gamma : float
        Weight of the penalty, above 0.
    n_experts : int
        Number of experts; TT06 has 100 to 250.
    sample_share : float or pair of floats
        Size of their samples in proportion to all samples, above 0 and at most 1; of two numbers, the least and the
        largest, between which sizes are uniform. Samples are drawn without replacement.
    random_state : int, RandomState instance, Generator or None
        Seed of the forest and of the samples.
    n_jobs : int, optional
        Trees grown and experts fitted at a time, as joblib counts, on threads. It does not change the model.

    Attributes
    ----------
    kernel_ : TreeEnsemble
        The kernel, with the fitted forest as `kernel_.forest`; the trees alone where the model was read from a file.
    experts_ : LeastSquaresExperts
        Coefficients, samples and certificate of every expert.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training samples.
    """

    certified: ClassVar[str] = "the objective of the expert that is furthest from its optimum"
    # the forest where none is given
    default_forest: ClassVar[Any]
    source: ClassVar[str] = "TT06"

    certificate_: Certificate = field(init=False)
    experts_: LeastSquaresExperts = field(init=False)
    kernel_: TreeEnsemble = field(init=False)
    X_fit_: Array = field(init=False)
    forest: Any = None
    _: KW_ONLY
    kernel: str = "depth"
    gamma: float = 1e-3
    n_experts: int = 100
    sample_share: Any = (0.5, 0.9)
    random_state: Any = None
    n_jobs: int | None = None

    def _accepts(self) -> Accepts:
        forest = self.default_forest() if self.forest is None else self.forest
        return Accepts(missing=isinstance(forest, BaseEstimator) and get_tags(forest).input_tags.allow_nan)

    def _learn(self, X: Array, y: Any, targets: Array) -> dict[str, Any]:
        """Fit the forest to `y`, and experts with its kernel to `targets`; returns attributes."""
        validation.one_of("kernel", self.kernel, KINDS)
        validation.n_jobs(self.n_jobs)
        gamma, rng = validation.positive("gamma", self.gamma), validation.generator(self.random_state)
        seed = int(rng.integers(2**31))
        members = draw_members(len(X), self.n_experts, self.sample_share, rng)
        check_room_for_experts(members.shape, targets.shape[1], int(members.sum(axis=0).max()), self.n_jobs)
        X = X.astype(np.float64, copy=False)
        kernel = TreeEnsemble(self._grown(X, y, seed), self.kernel)
        experts = self._solved(kernel, X, targets, gamma, members)
        return {"kernel_": kernel, "experts_": experts, "certificate_": experts.certificate, "X_fit_": X}

    def _solved(self, kernel: TreeEnsemble, X: Array, Y: Array, gamma: float, members: Members) -> LeastSquaresExperts:
        """Solve by products where that is faster, or else in closed form."""
        if len(X) > WRITTEN_OUT:
            try:
                return iterated_least_squares_experts(kernel.unwritten(X), Y, gamma, members, n_jobs=self.n_jobs)
            except SolverFailed as failure:
                if len(X) > MOST_WRITTEN_OUT:
                    raise
                warn(f"{failure.attempts[0].message}; solved in closed form", SolverFallbackWarning, stacklevel=4)
        return least_squares_experts(kernel(X), Y, gamma, members, n_jobs=self.n_jobs)

    def _grown(self, X: Array, y: Any, seed: int) -> Any:
        if self.forest is None:
            return self.default_forest(random_state=seed, n_jobs=self.n_jobs).fit(X, y)
        if not isinstance(self.forest, BaseEstimator):
            raise InvalidInput("forest", f"found {self.forest!r}", "give a forest of scikit-learn, or None")
        forest = clone(self.forest)
        if "random_state" in (given := forest.get_params()) and given["random_state"] is None:
            forest.set_params(random_state=seed)
        return forest.fit(X, y)

    def _certified(self, X: Array, targets: Array, weights: Any) -> Certificate:
        """Hold the experts, or others over the same samples, against the optimum on a sample: the worst one counts.

        Expert e is f_e(x) = sum_i c_ie k(x, x_i) with the squared norm c_e'K c_e, wherever it is evaluated.
        """
        gamma, fitted = validation.positive("gamma", self.gamma), self.experts_.coefficients
        c = fitted if weights is None else check_shape("weights", weights, fitted.shape)
        validation.n_jobs(self.n_jobs)
        check_room_for_experts((len(X), 1), targets.shape[1], len(X), self.n_jobs)
        X = X.astype(np.float64, copy=False)
        # all samples are one expert's: the optimum is that of the kernel, whichever samples a function is expanded over
        optimum = self._solved(self.kernel_, X, targets, gamma, np.full((len(X), 1), True)).certificate
        errors = self._summed(X, c, lambda rows, f: (f - targets[rows, np.newaxis]) ** 2)
        norms = self._summed(self.X_fit_, c, lambda rows, f: f * c[rows])
        values = errors / len(X) + gamma * norms
        worst = int(values.argmax())
        note = f"the largest gap of {len(values)} experts, that of expert {worst}; the kernel is given"
        return Certificate.between(float(values[worst]), optimum.dual, residuals={}, repair={}, note=note)

    def _summed(self, X: Array, c: Array, term: Callable[[slice, Array], Array]) -> Array:
        """Sum terms of the scores (n_rows, n_experts, n_outputs) over samples and outputs; returns (n_experts,)."""
        total, first = np.zeros(c.shape[1]), 0
        for f in self._expert_scores(X, c):
            total += term(slice(first, first + len(f)), f).sum(axis=(0, 2))
            first += len(f)
        return total

    def _expert_scores(self, X: Array, coefficients: Array) -> Iterator[Array]:
        """Yield sum_i c_i k(x, x_i) (n_rows, ...) of some samples after the others, for c (n_samples, ...)."""
        n_rows = max(1, BLOCK // (coefficients[0].size + self.kernel_.n_trees))
        for first in range(0, len(X), n_rows):
            yield self.kernel_.unwritten(X[first : first + n_rows], self.X_fit_) @ coefficients


def check_room_for_experts(shape: tuple[int, int], n_outputs: int, largest: int, n_jobs: int | None) -> None:
    """Raise unless the experts' coefficients, and what it takes to solve them, fit into memory.

    Raises
    ------
    InvalidInput
        Says how much memory they would take.
    """
    n, n_experts = shape
    at_work = effective_n_jobs(n_jobs)
    solving = 2 * n**2 + at_work * largest**2 if n <= WRITTEN_OUT else n * (3 * RANK + 12 * at_work * WIDTH)
    needed = 8 * (solving + 2 * n * n_experts * n_outputs)
    if needed > SMALL and needed > (room := available()):
        raise InvalidInput(
            "X",
            f"found {n:,} samples, whose {n_experts} experts take {needed / 2**30:,.1f} GiB where "
            f"{room / 2**30:,.1f} GiB are left",
            "give fewer samples, or take fewer experts",
        )
