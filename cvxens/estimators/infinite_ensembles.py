"""Support vector machines over infinite sets of hypotheses, and the choice of their C and gamma by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, field, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.colgen import formulations
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Attributes, Classifier, estimator, time_limit
from cvxens.estimators.machines import (
    InfiniteEnsemble,
    Limits,
    Trainer,
    TrainingKernel,
    find_room,
    make_trainer,
)
from cvxens.estimators.samples import Sample
from cvxens.kernels.kernel import Kernel
from cvxens.proofs import Layout, Proof, prove_kernel
from cvxens.solvers.additive import AdditiveModel, Cells, StumpEnsemble
from cvxens.solvers.svm_solution import SVMSolution


@final
@estimator
class InfiniteEnsembleSVC(InfiniteEnsemble, Classifier):
    """An ensemble of infinitely many hypotheses: a support vector machine whose kernel embodies the set (LL08).

    Algorithm 1 of LL08: choose a set of hypotheses, take the kernel that embodies it, solve P2,
    ``min 1/2 u'(K o yy')u - sum u, 0 <= u <= C, y'u = 0``, and classify by the sign of ``sum_i u_i y_i k(x_i, x) + b``.
    With stumps that is an additive model, and neither training nor prediction needs a kernel matrix. From some C on it
    separates samples that differ in one feature from each other by stumps, and distinct ones by perceptrons (LL08
    Theorems 6 and 12).

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
    solver : {"auto", "additive", "blockwise", "reference"}
        "additive" is for sums of stump, histogram-intersection and decision-stump kernels, and takes memory for the
        sample alone; "blockwise" keeps the kernel matrix up to 2,048 samples, and beyond evaluates what it needs of one
        of `cvxens.kernels`, or of another whose matrix takes more than `cache_size`; "reference" (cvxpy) needs the
        matrix, and does not keep to `max_time`. "auto" takes "additive" for more than 1,000 samples if it can, else
        "blockwise".
    random_state : int, RandomState instance or None
        Draws the part of the sample that is solved first, of 200,000 samples or more.

    Attributes
    ----------
    certificate_ : Certificate
        How far the machine is at most from the optimum of P2, over the whole set of hypotheses. `certify` is about P1
        with the kernel as it was fitted, and takes coefficients that have the sum 0.
    history_ : tuple of Round
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

    n_iter_: int = field(init=False)
    solver_: str = field(init=False)
    _: KW_ONLY
    solver: str = "auto"
    random_state: Any = None
    class_weight: Any = None
    n_jobs: int | None = None

    def _list_shapes(self) -> Any:
        return self._view_additive(lambda model: model.shape_functions)

    @property
    def cells_(self) -> Cells | list[Cells]:
        """The averaged stumps of LL08 Theorem 8 with their weights; as `shape_functions_`."""
        return self._view_additive(lambda model: model.cells)

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
        return self._view_additive(lambda model: model.cells.sample(k, random))

    def _prove(
        self, sample: Sample, u: Any, tol: float | None, max_time: float, lay_out: Callable[[int], Layout]
    ) -> Proof:
        b = float(self.intercept_)
        if u is None:
            trainer = self._make_trainer(self._kernel, sample.X, "auto")
            limits = Limits(1e-9 if tol is None else tol, max_time, validation.random_state(self.random_state))
            (solution,) = trainer.solve_path(sample.signs, sample.weights, [self.C_], limits)
            u, b = sample.spread(solution.u), solution.b
        statement = self.kernel_.statement if isinstance(self.kernel_, Kernel) else None
        if statement is None:
            remedy = "take that of stumps or perceptrons, the Laplacian or the Gaussian one"
            raise InvalidInput("kernel", f"found {self.kernel_!r:.100}, which no exact proof is known for", remedy)
        (name, gamma), prices = statement, self.C_ * sample.weights
        formulation = formulations.svm(float(prices[0]) if (prices == prices[0]).all() else prices)
        layout = lay_out(sample.X.shape[1])
        return prove_kernel(formulation, sample.X, sample.signs, name, u, b, gamma=gamma, layout=layout)

    def _merges(self) -> bool:
        return not self._is_precomputed

    def _check(self, sample: Sample) -> None:
        if self._is_precomputed and not sample.shares.all():
            raise InvalidInput("sample_weight", "found weights of 0", "leave out these rows and columns of the kernel")

    def _solve(self, sample: Sample) -> Attributes:
        rows = sample.X
        if self._is_precomputed:
            # a sub-problem has the rows of some samples: the kernel matrix is between these
            validation.same_length("X", rows.T, len(sample.shares))
            sample = replace(sample, X=rows[:, np.flatnonzero(sample.shares)])
        trainer, solution, found = self._train(sample, partial(self._solve_priced, sample))
        predictor: Any = trainer.make_predictor(solution)
        if self._is_precomputed:
            # new samples are their kernel values with all given ones, also those of other sub-problems
            predictor = replace(predictor, coefficients=sample.spread(predictor.coefficients))
            found["support_vectors_"] = rows[sample.places[found["support_"]]]
        steps = solution.history[-1].steps
        return {**found, "n_iter_": steps, "solver_": trainer.solver, "_predictor": predictor}

    def _solve_priced(self, sample: Sample, trainer: Trainer, C: float) -> SVMSolution[Any]:
        (solution,) = trainer.solve_path(sample.signs, sample.weights, [C], self._limits())
        return solution

    def _solve_again(self, trainer: Trainer, sample: Sample) -> tuple[SVMSolution[Any], float]:
        solution = self._solve_priced(sample, trainer, self.C_)
        # the optimum of P1 is minus that of P2
        return solution, -solution.objective

    def _solve_prices(self, trainer: Trainer, sample: Sample, prices: Sequence[float]) -> Sequence[Any]:
        limits = replace(self._limits(), max_time=inf)
        return trainer.solve_prices(sample.signs, sample.weights, prices, limits)

    def _make_trainer(self, kernel: TrainingKernel, X: Any, solver: str | None = None) -> Trainer:
        return make_trainer(kernel, X, solver or self.solver, find_room(self.cache_size))

    def _limits(self) -> Limits:
        tol = validation.positive("tol", self.tol)
        return Limits(tol, time_limit(self), validation.random_state(self.random_state))

    def _view_additive(self, view: Callable[[AdditiveModel], Any]) -> Any:
        """Return a view of the additive model; a list over the sub-problems where there are several."""
        check_is_fitted(self)
        models = [part._predictor for part in self._parts()]
        if not all(isinstance(model, AdditiveModel) for model in models):
            raise AttributeError(f"the kernel {self.kernel!r} is not additive; that of stumps is")
        return self._show([view(model) for model in models])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags
