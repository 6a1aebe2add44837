"""Support vector machines over infinite sets of hypotheses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, field, replace
from math import inf
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.errors import InvalidInput
from cvxens.estimators.base import BinaryClassifier, ClassWeighted, Limited, check_shape
from cvxens.estimators.machines.audit import Machine
from cvxens.estimators.machines.choice import Choice, Predictor
from cvxens.estimators.machines.kernels import (
    PRECOMPUTED,
    SCALE,
    TrainingKernel,
    gamma_of_parts,
    scaled_price,
    variation_shares,
)
from cvxens.estimators.machines.training import Limits
from cvxens.estimators.parameters import estimator
from cvxens.estimators.progress import rounds_of
from cvxens.estimators.samples import Accepts, Sample
from cvxens.solvers.additive import AdditiveModel, Cells, StumpEnsemble
from cvxens.solvers.svm_solution import Ending
from cvxens.types import Array

REMEDIES: Mapping[Ending, str] = {
    Ending.ROUNDING: "raise tol, or lower C",
    Ending.MAX_TIME: "raise max_time or tol",
    Ending.INTERRUPTED: "fit again to go further",
}
"""Endings short of `tol`, and what to do about them."""


@final
@estimator
class InfiniteEnsembleSVC(ClassWeighted, Limited, BinaryClassifier):
    """An ensemble of infinitely many hypotheses: a support vector machine whose kernel embodies the set (LL08).

    Algorithm 1 of LL08: choose a set of hypotheses, take the kernel that embodies it, solve P2,
    ``min 1/2 u'(K o yy')u - sum u, 0 <= u <= C, y'u = 0``, and classify by the sign of ``sum_i u_i y_i k(x_i, x) + b``.
    With stumps that is an additive model, and neither training nor prediction needs a kernel matrix.

    Parameters
    ----------
    kernel : str, Kernel or callable
        The set of hypotheses: "stump", "middle-stump" (of the training sample), "histogram-intersection",
        "decision-stump" (stumps of features scaled to one range), "perceptron", "decision-tree", "laplacian",
        "gaussian"; one of `cvxens.kernels`; any function k(X, Z), PSD at least on coefficients that sum to 0; or
        "precomputed", with kernel values for X. Ranges that are left open do not matter; those given are kept to.
    C : float or "scale"
        The price of a unit of slack, that of LL08. "scale" is 4 over the variance of the sample in the space of the
        kernel, ``mean of k(x, x) - mean of k(x, x')``, so that neither the units of X nor the mass of the kernel
        matter; of kernels that are not additive it is taken from at most 1,000 samples.
    gamma : float, optional
        Of "decision-tree", "laplacian" and "gaussian". By default half of its upper limit, 1 / (n_features X.std()),
        and 1 / (n_features X.var()), samples counted by their weights; of several sub-problems, those of all samples.
    solver : {"auto", "additive", "blockwise", "libsvm", "reference"}
        "additive" is for sums of stump, histogram-intersection and decision-stump kernels, and takes memory for the
        sample alone; "blockwise" keeps the kernel matrix, or as many of its rows as there is room for; "libsvm" and
        "reference" (cvxpy) need the matrix. "auto" takes "blockwise" up to 1,000 samples, then "additive" if it can,
        else "libsvm" if the matrix fits into half of the memory that is left and there is no `max_time`, else
        "blockwise".
    tol : float
        The relative certified gap at which the fit is done.
    max_time : float, optional
        Stop, with a ConvergenceWarning, after so many seconds; of each sub-problem where there are several. LIBSVM and
        cvxpy do not keep to it.
    cache_size : float, optional
        MiB for kernel rows, where the matrix does not fit; a quarter of the memory that is left by default.
    random_state : int, RandomState instance or None
        Draws the part of the sample that is solved first, of 200,000 samples or more.
    verbose : int
        1 shows on the standard error that the fit goes on.

    Attributes
    ----------
    certificate_ : Certificate
        How far the machine is at most from the optimum of P2, over the whole set of hypotheses.
    history_ : tuple of Level
        Objective, bound, support vectors and times, for every point that was certified.
    n_iter_ : int
        Newton steps of "additive", blocks of the others.
    solver_ : str
        What solved it.
    kernel_ : Kernel, callable or "precomputed"
        As it was made on the training sample.
    dual_weights_ : ndarray of shape (n_samples,)
        u, from 0 to C_ times the weight of the sample.
    intercept_ : ndarray of shape ()
        b, which goes with the kernel without terms in one sample alone, as y'u = 0 cancels those: with
        -1/2 |x - x'|_1 in place of histogram intersection, with `Linear` of x less the middle of the training sample.
    C_ : float
        C as a number.
    support_ : ndarray of int, shape (n_support,)
        The samples with u > 0; samples that are alike share theirs in proportion to their weights.
    dual_coef_ : ndarray of shape (n_support,)
        u_i y_i of these.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their features; rows of the matrix if that is precomputed.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = InfiniteEnsembleSVC(C=0.01).fit(X, y)
    >>> model.certificate_.holds(1e-3), model.score(X, y) > 0.95
    (True, True)
    >>> knots, values = model.shape_functions_[0]
    """

    source: ClassVar[str] = "LL08 Algorithm 1"

    certificate_: Certificate = field(init=False)
    history_: tuple[Any, ...] = field(init=False)
    n_iter_: int = field(init=False)
    solver_: str = field(init=False)
    kernel_: Any = field(init=False)
    dual_weights_: Array = field(init=False)
    intercept_: Array = field(init=False)
    C_: float = field(init=False)
    support_: NDArray[np.intp] = field(init=False)
    dual_coef_: Array = field(init=False)
    support_vectors_: NDArray = field(init=False)
    _kernel: TrainingKernel = field(init=False)
    _predictor: Predictor = field(init=False)
    kernel: Any = "stump"
    C: float | str = "scale"
    _: KW_ONLY
    gamma: float | None = None
    solver: str = "auto"
    tol: float = 1e-3
    cache_size: float | None = None
    random_state: Any = None

    @property
    def shape_functions_(self) -> Any:
        """(knots, values) of every feature: f(x) = b + sum_d g_d(x_d), linear between knots, constant beyond.

        Of additive kernels only; a list over the sub-problems where there are several.
        """
        return self._of_additive(lambda model: model.shape_functions)

    @property
    def feature_importances_(self) -> Array:
        """The share of each feature in the sum of the total variations of `shape_functions_`, (n_features,).

        That is its share in the integral of |w| over all stumps. Of sub-problems, the mean.
        """
        return np.mean([variation_shares(part.shape_functions_) for part in self._parts()], axis=0)

    @property
    def cells_(self) -> Cells | list[Cells]:
        """The averaged stumps of LL08 Theorem 8 with their weights; as `shape_functions_`."""
        return self._of_additive(lambda model: model.cells)

    def sample_ensemble(self, k: int, random_state: Any = None) -> StumpEnsemble | list[StumpEnsemble]:
        """Draw stumps whose average tends to the classifier; of additive kernels only.

        Parameters
        ----------
        k : int
            How many, at least 1.
        random_state : int, Generator, RandomState or None
            Seed.

        Returns
        -------
        StumpEnsemble
            A function from X to scores; a list over the sub-problems where there are several.
        """
        random = validation.generator(random_state)
        return self._of_additive(lambda model: model.cells.sample(k, random))

    def certify(
        self, X: Any, y: Any, *, sample_weight: Any = None, weights: Any = None, intercept: Any = None
    ) -> Certificate | list[Certificate]:
        """Say how far the machine, or another one over the same support vectors, is from the optimum on a sample.

        LL08 P1 has the kernel as it was fitted: whatever the sample, the machine has the norm that it has. P2 is solved
        anew on the sample, within the limits of the estimator, for the bound.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its classes: those of the fitted sample, all of them.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`, where that takes them.
        weights : array-like, shaped as `dual_coef_`, optional
            Coefficients from anywhere, with the sum 0; by default the fitted ones.
        intercept : float, optional
            By default the fitted one, with `weights` the best one.

        Returns
        -------
        Certificate or list of Certificate
            Of P1: `primal` is the machine's value, `dual` a bound on the optimum. A list over the sub-problems where
            there are several, for which weights and intercept are lists as well.

        Raises
        ------
        InvalidInput
            The kernel is precomputed: its values between the samples are not known.
        """
        if self._given:
            raise InvalidInput("kernel", "found a precomputed one", "give the kernel itself, a function k(X, Z)")
        sample = self._read_again(X, y, sample_weight)
        if weights is None:
            weights, intercept = self.dual_coef_, self.intercept_ if intercept is None else intercept
        return self._map_problems(type(self)._certify, sample, weights=weights, intercept=intercept)

    def _certify(self, sample: Sample, weights: Any, intercept: Any) -> Certificate:
        v = check_shape("weights", weights, self.dual_coef_.shape)
        machine = Machine(self._kernel, self.support_vectors_, v, intercept)
        machine.kernel.check(sample.X)
        prices, room = self.C_ * sample.weights, self._choice().room
        certificate, solution = machine.certify(sample.X, sample.signs, prices, limits=self._limits(), room=room)
        if solution.relative_gap > self.tol:
            self._warn(solution.ending, solution.relative_gap)
        return certificate

    def _accepts(self) -> Accepts:
        return Accepts()

    def _merges(self) -> bool:
        return not self._given

    @property
    def _given(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _check(self, sample: Sample) -> None:
        super()._check(sample)
        if self._given and not sample.shares.all():
            raise InvalidInput("sample_weight", "found weights of 0", "leave out these rows and columns of the kernel")

    def _solve(self, sample: Sample) -> dict[str, Any]:
        rows = sample.X
        if self._given:
            # a sub-problem has the rows of some samples: the kernel matrix is between these
            sample = replace(sample, X=rows[:, np.flatnonzero(sample.shares)])
        validation.samples(sample.X)
        learner = self._choice().learner(sample.X, sample.masses)
        C = self._price(learner.kernel, sample)
        with rounds_of(self) as rounds:
            rounds.tell(f"{learner.trainer.solver}, {len(sample.labels)} samples")
            (solution,) = learner.trainer.path(sample.signs, sample.weights, [C], self._limits())
        certificate = learner.trainer.certificate(solution)
        if certificate.relative_gap > self.tol:
            self._warn(solution.ending, certificate.relative_gap)
        u = sample.spread(solution.u)
        predictor: Any = learner.predictor(solution)
        if self._given:
            predictor = replace(predictor, coefficients=sample.spread(predictor.coefficients))
        support = np.flatnonzero(u)
        places = sample.places[support]
        return {
            "certificate_": certificate,
            "history_": tuple(solution.history),
            "n_iter_": solution.history[-1].steps,
            "solver_": learner.trainer.solver,
            "kernel_": learner.kernel.kernel,
            "intercept_": np.asarray(solution.b),
            "dual_weights_": u,
            "C_": C,
            "support_": support,
            "dual_coef_": sample.signs[places] * u[support],
            "support_vectors_": rows[places],
            "_kernel": learner.kernel,
            "_predictor": predictor,
        }

    def _price(self, kernel: TrainingKernel, sample: Sample) -> float:
        """C as a number."""
        if not isinstance(self.C, str):
            return validation.positive("C", self.C)
        validation.one_of("C", self.C, [SCALE])
        return scaled_price(kernel, sample.X, sample.masses)

    def _for_parts(self, sample: Sample) -> dict[str, Any]:
        """The gamma of sub-problems is that of all samples."""
        return gamma_of_parts(self.kernel, self.gamma, sample.X, sample.masses)

    def _limits(self) -> Limits:
        max_time = inf if self.max_time is None else validation.positive("max_time", self.max_time)
        return Limits(validation.positive("tol", self.tol), max_time, validation.random_state(self.random_state))

    def _choice(self) -> Choice:
        return Choice(self.kernel, self.gamma, self.solver, self.cache_size, self.max_time is not None)

    def _warn(self, ending: Ending, gap: float) -> None:
        remedy = REMEDIES.get(ending, "raise tol")
        message = f"{type(self).__name__}: {ending.value}; the relative gap is {gap:.3g}, tol is {self.tol:g}: {remedy}"
        warnings.warn(message, ConvergenceWarning, stacklevel=2)

    def _scores(self, X: Any) -> Array:
        self._kernel.check(X)
        return self._predictor(X)

    def _of_additive(self, view: Callable[[AdditiveModel], Any]) -> Any:
        """What a view of the additive model shows; a list over the sub-problems where there are several."""
        check_is_fitted(self)
        parts: Any = self._parts()
        if parts[0]._kernel.scale is None:
            raise AttributeError(f"the kernel {self.kernel!r} is not additive; that of stumps is")
        return self._show([view(part._predictor) for part in parts])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given
        return tags
