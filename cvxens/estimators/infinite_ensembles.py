"""Support vector machines over infinite sets of hypotheses, and the choice of their C and gamma by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import formulations
from cvxens.errors import InvalidInput
from cvxens.estimators.base import check_shape
from cvxens.estimators.machines import (
    PRECOMPUTED,
    SCALE,
    Expansion,
    KernelMachine,
    Limits,
    Trainer,
    TrainingKernel,
    certify_expansion,
    default_gamma,
    find_room,
    make_trainer,
    scale_price,
)
from cvxens.estimators.parameters import estimator
from cvxens.estimators.progress import REMEDIES, rounds_of, time_limit, warn_of, warn_of_gap
from cvxens.estimators.proving import prove_fit
from cvxens.estimators.samples import Accepts, Sample, check_classes, check_weights, class_factors
from cvxens.estimators.saving import Trusted, load_as, save_model
from cvxens.estimators.selection import Answers, tabulate, takes_weights
from cvxens.kernels import DecisionTree, Gaussian, Laplacian
from cvxens.kernels.kernel import Kernel
from cvxens.proofs import Layout, Proof, prove_kernel
from cvxens.solvers.additive import AdditiveModel, Cells, StumpEnsemble
from cvxens.solvers.svm_solution import Ending
from cvxens.tables import TableEncoder
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

PRICES = tuple(2.0**k for k in range(-17, 4, 2))
"""The grid of C of LL08 section 7 for kernels without a gamma, of features that are scaled to [-1, 1]."""

PRICES_WITH_GAMMA = tuple(2.0**k for k in range(-5, 16, 2))
"""The grid of C there for those that have one, the Laplacian kernel (SVM-Dec) and the Gaussian one."""

WIDTHS = tuple(2.0**k for k in range(-15, 4, 2))
"""The grid of gamma there."""

PRINTED = "ll08"
"""The name of these grids."""

SHARES = tuple(2.0**k for k in range(-8, 9, 2))
"""The grid of multiples of the default C and of the default gamma."""


@final
@estimator
class InfiniteEnsembleSVC(KernelMachine):
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
    solver : {"auto", "additive", "blockwise", "libsvm", "reference"}
        "additive" is for sums of stump, histogram-intersection and decision-stump kernels, and takes memory for the
        sample alone; "blockwise" keeps the kernel matrix up to 4,000 samples, and beyond evaluates what it needs of one
        of `cvxens.kernels`, or of another whose matrix takes more than `cache_size`; "libsvm" and "reference" (cvxpy)
        need the matrix, and do not keep to `max_time`. "auto" takes "additive" for more than 1,000 samples if it can,
        else "blockwise".
    tol : float
        The relative certified gap at which the fit is done.
    cache_size : float, optional
        MiB that a kernel matrix may take, by default half of the memory that is left; values of a larger one are
        evaluated whenever they are asked for.
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
    _predictor: AdditiveModel | Expansion = field(init=False)
    kernel: Any = "stump"
    C: float | str = "scale"
    _: KW_ONLY
    solver: str = "auto"
    tol: float = 1e-3
    cache_size: float | None = None
    random_state: Any = None

    @property
    def shape_functions_(self) -> Any:
        """(knots, values) of every feature: f(x) = b + sum_d g_d(x_d), linear between knots, constant beyond.

        Of additive kernels only; a list over the sub-problems where there are several.
        """
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

    prove = prove_fit

    def _prove(
        self, sample: Sample, u: Any, tol: float | None, max_time: float, lay_out: Callable[[int], Layout]
    ) -> Proof:
        b = float(self.intercept_)
        if u is None:
            trainer = make_trainer(self._kernel, sample.X, "auto", find_room(self.cache_size))
            limits = Limits(1e-9 if tol is None else tol, max_time, validation.random_state(self.random_state))
            (solution,) = trainer.solve_path(sample.signs, sample.weights, [self.C_], limits)
            u, b = sample.spread(solution.u), solution.b
        layout = lay_out(sample.X.shape[1])
        return _prove_machine(self._kernel, sample.X, sample.signs, self.C_ * sample.weights, u, b, layout)

    def _certify(self, sample: Sample, weights: Any, intercept: Any) -> Certificate:
        if self._is_precomputed:
            raise InvalidInput("kernel", "found a precomputed one", "give the kernel itself, a function k(X, Z)")
        v = check_shape("weights", weights, self.dual_coef_.shape)
        b = None if intercept is None else float(check_shape("intercept", intercept, ()))
        self._kernel.check(sample.X)
        solver = "blockwise" if self._kernel.scale is None else "additive"
        trainer, prices = (
            make_trainer(self._kernel, sample.X, solver, find_room(self.cache_size)),
            self.C_ * sample.weights,
        )
        certificate, solution = certify_expansion(
            trainer, self.support_vectors_, v, b, sample.signs, prices, self._limits()
        )
        self._warn(solution.ending, solution.certificate)
        return certificate

    def _merges(self) -> bool:
        return not self._is_precomputed

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _check(self, sample: Sample) -> None:
        if self._is_precomputed and not sample.shares.all():
            raise InvalidInput("sample_weight", "found weights of 0", "leave out these rows and columns of the kernel")

    def _solve(self, sample: Sample) -> dict[str, Any]:
        rows = sample.X
        if self._is_precomputed:
            # a sub-problem has the rows of some samples: the kernel matrix is between these
            validation.same_length("X", rows.T, len(sample.shares))
            sample = replace(sample, X=rows[:, np.flatnonzero(sample.shares)])
        # rows that are all alike are refused
        validation.samples(sample.X)
        trainer = self._make_trainer(sample.X, sample.masses)
        if isinstance(self.C, str):
            validation.one_of("C", self.C, [SCALE])
            C = scale_price(trainer.kernel, sample.X, sample.masses)
        else:
            C = validation.positive("C", self.C)
        with rounds_of(self) as rounds:
            rounds.tell(f"{trainer.solver}, {len(sample.labels)} samples")
            (solution,) = trainer.solve_path(sample.signs, sample.weights, [C], self._limits())
        certificate = trainer.certify(solution)
        self._warn(solution.ending, certificate)
        u, predictor = sample.spread(solution.u), trainer.make_predictor(solution)
        if isinstance(predictor, Expansion) and self._is_precomputed:
            # new samples are their kernel values with all given ones, also those of other sub-problems
            predictor = replace(predictor, coefficients=sample.spread(predictor.coefficients))
        support = np.flatnonzero(u)
        places = sample.places[support]
        return {
            "certificate_": certificate,
            "history_": tuple(solution.history),
            "n_iter_": solution.history[-1].steps,
            "solver_": trainer.solver,
            "kernel_": trainer.kernel.kernel,
            "intercept_": np.asarray(solution.b),
            "dual_weights_": u,
            "C_": C,
            "support_": support,
            "dual_coef_": sample.signs[places] * u[support],
            "support_vectors_": rows[places],
            "_kernel": trainer.kernel,
            "_predictor": predictor,
        }

    def _make_trainer(self, X: Any, masses: Array | None = None) -> Trainer:
        kernel = TrainingKernel.from_sample(self.kernel, self.gamma, X, masses)
        return make_trainer(kernel, X, self.solver, find_room(self.cache_size))

    def _limits(self) -> Limits:
        tol = validation.positive("tol", self.tol)
        return Limits(tol, time_limit(self), validation.random_state(self.random_state))

    def _warn(self, ending: Ending, certificate: Certificate) -> None:
        warn_of_gap(self, certificate, self.tol, ending.value, REMEDIES.get(ending, "raise tol"))

    def _scores(self, X: Any) -> Array:
        self._kernel.check(X)
        return self._predictor(X)

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


def _prove_machine(
    kernel: TrainingKernel, X: Array, y: Array, prices: Array, u: Array, b: float, layout: Layout | None = None
) -> Proof:
    """Prove how far a machine on a sample is from the optimum, in rational numbers."""
    statement = kernel.kernel.statement if isinstance(kernel.kernel, Kernel) else None
    if statement is None:
        remedy = "take that of stumps or perceptrons, the Laplacian or the Gaussian one"
        raise InvalidInput("kernel", f"found {kernel.kernel!r:.100}, which no exact proof is known for", remedy)
    name, gamma = statement
    alike = (prices == prices[0]).all()
    formulation = formulations.svm(float(prices[0]) if alike else prices)
    return prove_kernel(formulation, X, y, name, u, b, gamma=gamma, layout=layout)


@final
@estimator
class InfiniteEnsembleSVCCV(ClassifierMixin, BaseEstimator):
    """`InfiniteEnsembleSVC` with C, and gamma where there is one, chosen by cross-validation, as in LL08 section 7.

    The answer is that of scikit-learn's GridSearchCV, up to `tol`. It comes sooner, as all folds share the sorted
    features or the kernel matrix, and every C starts from the solution of the one before.

    Parameters
    ----------
    estimator : InfiniteEnsembleSVC, optional
        All but what is chosen; the stump kernel by default. Its `max_time` is that of each fit, its `verbose` of all.
    Cs : {"scale", "ll08"} or array-like of shape (n_Cs,)
        Prices to try. "scale" is 2^-8, 2^-6, ..., 2^8 times the C of `InfiniteEnsembleSVC` by default, with the gamma
        that it has by default, so that the units of X do not matter. "ll08" has the grids of LL08 section 7, for
        features that are scaled to [-1, 1]: 2^-17, 2^-15, ..., 2^3 for kernels without a gamma, with "middle-stump" in
        the print's scale (half of these), and 2^-5, 2^-3, ..., 2^15 with gammas 2^-15, 2^-13, ..., 2^3 for "laplacian"
        (its SVM-Dec) and "gaussian": 55 and 550 problems.
    gammas : array-like of shape (n_gammas,), optional
        For "decision-tree", "laplacian" and "gaussian". By default those of "ll08" with that, else 2^-8, 2^-6, ..., 2^8
        times the gamma that `InfiniteEnsembleSVC` has by default, for the last two where the estimator says none, else
        what the estimator says.
    cv : int, splitter or iterable
        As scikit-learn has it; a number means stratified folds.
    scoring : str or callable, optional
        As scikit-learn has it, of the classes or of the decision function; accuracy by default.
    n_jobs : int, optional
        Folds at a time, in threads, as joblib counts.

    Attributes
    ----------
    best_estimator_ : InfiniteEnsembleSVC
        Fitted to all samples with the best parameters.
    certificate_, history_, classes_, n_features_in_, feature_names_in_ : as of `InfiniteEnsembleSVC`
        Those of the best estimator.
    best_params_ : dict
        The first of the best in the order of `cv_results_`.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its row in `cv_results_`.
    cv_results_ : dict of str to sequence
        A column per key, a row per candidate, as GridSearchCV has them: param_C, param_gamma, params,
        split0_test_score, ..., mean_test_score, std_test_score, rank_test_score; and max_relative_gap, the largest
        certified gap of the candidate's fits.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds of the last fit.

    Examples
    --------
    >>> from cvxens.datasets import make_twonorm
    >>> X, y = make_twonorm(200, 5, random_state=0)
    >>> model = InfiniteEnsembleSVCCV(Cs=[0.001, 0.1, 10.0]).fit(X, y)
    >>> len(model.cv_results_["params"]), bool(model.cv_results_["max_relative_gap"].max() <= 1e-3)
    (3, True)
    >>> model.certificate_.holds(1e-3), model.certify(X, y).holds(1e-3)
    (True, True)
    """

    source: ClassVar[str] = "LL08 section 7"

    best_estimator_: InfiniteEnsembleSVC = field(init=False)
    best_params_: dict[str, float] = field(init=False)
    best_score_: float = field(init=False)
    best_index_: int = field(init=False)
    cv_results_: dict[str, Any] = field(init=False)
    n_splits_: int = field(init=False)
    refit_time_: float = field(init=False)
    estimator: InfiniteEnsembleSVC | None = None
    _: KW_ONLY
    Cs: Any = SCALE
    gammas: Any = None
    cv: Any = 5
    scoring: Any = None
    n_jobs: int | None = None

    save = save_model

    @classmethod
    def load(cls, path: Any, *, trusted: Trusted = ()) -> Self:
        """Read an estimator of this class that `save` wrote; `cvxens.load_model` says more."""
        return load_as(cls, path, trusted=trusted)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the parameters, then fit all samples; arguments are those of `InfiniteEnsembleSVC.fit`.

        The weights of samples count in scores too, where these take any. Folds of which some are missing choose
        nothing: Ctrl-C before the last fit is a KeyboardInterrupt and leaves the classifier as it was.
        """
        validation.n_jobs(self.n_jobs)
        template = self._make_template()
        X_read, labels = Accepts().labelled(template, X, y)
        check_classes(labels)
        weights = check_weights(sample_weight, X_read)
        grid = self._make_grid(template, X_read, weights)
        splits = self._make_splits(X_read, labels)
        score = self._make_scorer(template)
        by_weight = sample_weight is not None and takes_weights(score)
        folds = Folds(template, X_read, labels, weights, score, by_weight)
        with rounds_of(template) as rounds:
            scores, gaps = folds.search(grid, splits, self.n_jobs, rounds.tell)
        if gaps.max() > template.tol:
            self._warn(gaps, template.tol)
        table = tabulate(list(ParameterGrid(grid)), scores, gaps)
        index = int(table["rank_test_score"].argmin())
        start = time.perf_counter()
        best = template.set_params(**table["params"][index]).fit(X, y, sample_weight)
        self.refit_time_ = time.perf_counter() - start
        self.best_estimator_, self.cv_results_, self.best_index_ = best, table, index
        self.best_params_, self.best_score_ = table["params"][index], float(table["mean_test_score"][index])
        self.n_splits_ = len(scores)
        return self

    def decision_function(self, X: Any) -> Array:
        """Score samples, as the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> NDArray:
        """Classify samples, as the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def certify(
        self, X: Any, y: Any, *, sample_weight: Any = None, weights: Any = None, intercept: Any = None
    ) -> Certificate | list[Certificate]:
        """Say how far the best estimator, or a machine over its support vectors, is from the optimum on a sample.

        The price is the C that was chosen. Arguments and certificates are those of `InfiniteEnsembleSVC.certify`:
        `weights` are shaped as ``best_estimator_.dual_coef_``.
        """
        check_is_fitted(self)
        given = {"sample_weight": sample_weight, "weights": weights, "intercept": intercept}
        return self.best_estimator_.certify(X, y, **given)

    def __getattr__(self, name: str) -> Any:
        if name not in OF_THE_BEST or "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name}; some attributes are there once it is fitted")
        return getattr(self.best_estimator_, name)

    @property
    def encoder_(self) -> TableEncoder:
        """The coding that turns the columns of a table into features, where the fit was to a table."""
        return self.__getattr__("encoder_")

    @encoder_.setter
    def encoder_(self, encoder: TableEncoder) -> None:
        self.best_estimator_.encoder_ = encoder

    def _make_template(self) -> InfiniteEnsembleSVC:
        template = InfiniteEnsembleSVC() if self.estimator is None else self.estimator
        if not isinstance(template, InfiniteEnsembleSVC):
            raise InvalidInput("estimator", f"found {template!r}", "give an InfiniteEnsembleSVC, or use GridSearchCV")
        return clone(template)

    def _make_grid(self, template: InfiniteEnsembleSVC, X: Any, weights: Array) -> dict[str, Sequence[float]]:
        """Return the values of C, and of gamma if several are tried, by the samples of positive weight of all folds."""
        kept = np.flatnonzero(weights > 0)
        X, weights = X[np.ix_(kept, kept)] if template._is_precomputed else X[kept], weights[kept]
        default = (
            default_gamma(template.kernel, template.gamma, X, weights).get("gamma") if template.gamma is None else None
        )
        gammas = None if self.gammas is None else _check_values("gammas", self.gammas)
        if isinstance(self.Cs, str) and validation.one_of("Cs", self.Cs, [SCALE, PRINTED]) == PRINTED:
            return self._printed_grid(template, gammas, gamma_is_open=default is not None)
        if isinstance(self.Cs, str):
            # with the gamma that the default C goes with, unless there are others to try
            gamma = None if gammas is not None else template.gamma if default is None else default
            price = scale_price(TrainingKernel.from_sample(template.kernel, gamma, X, weights), X, weights)
            Cs: Sequence[float] = [share * price for share in SHARES]
        else:
            Cs = _check_values("Cs", self.Cs)
        # for decision trees there is Theorem 18 up to twice the default, and multiples of it would exceed that
        if gammas is None and default is not None and template.kernel != "decision-tree":
            gammas = [share * default for share in SHARES]
        return {"C": Cs} if gammas is None else {"C": Cs, "gamma": gammas}

    def _printed_grid(
        self, template: InfiniteEnsembleSVC, gammas: Sequence[float] | None, *, gamma_is_open: bool
    ) -> dict[str, Sequence[float]]:
        """Return the grids of LL08 section 7."""
        kernel = template.kernel
        if gamma_is_open or template.gamma is not None or isinstance(kernel, DecisionTree | Laplacian | Gaussian):
            Cs: Sequence[float] = PRICES_WITH_GAMMA
        else:
            # "middle-stump" is twice the K_M of the print, so half of the C there makes the same machine
            Cs = [C / 2 for C in PRICES] if kernel == "middle-stump" else PRICES
        if gammas is None and gamma_is_open:
            gammas = WIDTHS
        return {"C": Cs} if gammas is None else {"C": Cs, "gamma": gammas}

    def _make_splits(self, X: Any, y: NDArray) -> list[tuple[NDArray, NDArray]]:
        try:
            splits = [(train, test) for train, test in check_cv(self.cv, y, classifier=True).split(X, y)]
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                "cv", f"found {self.cv!r:.100}: {error}", "give a number of folds or a splitter"
            ) from error
        if not splits:
            raise InvalidInput("cv", f"found {self.cv!r:.100}, which has no folds", "give at least one")
        return splits

    def _make_scorer(self, template: InfiniteEnsembleSVC) -> Any:
        if self.scoring is None or (isinstance(self.scoring, str) and self.scoring == "accuracy"):
            return score_accuracy
        try:
            score = check_scoring(template, self.scoring)
        except ValueError as error:
            raise InvalidInput(
                "scoring", f"found {self.scoring!r:.100}: {error!s:.200}", "name a scorer of scikit-learn, or give one"
            ) from error
        if isinstance(self.scoring, list | tuple | dict | set):
            raise InvalidInput("scoring", f"found several, {self.scoring!r:.100}", "give one to choose by")
        return score

    def _warn(self, gaps: Array, tol: float) -> None:
        told = f"the relative gap is above tol = {tol:g} in {int((gaps > tol).sum())} of {gaps.size} fits"
        warn_of(self, f"{told}, at most {gaps.max():.3g}", "raise tol or max_time, or leave out large Cs")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.pairwise = get_tags(self.estimator).input_tags.pairwise
        return tags


def score_accuracy(answers: Answers, X: Any, y: NDArray, sample_weight: Array | None = None) -> float:
    """Return the share of samples in the classes of the answers, as scikit-learn's scorer of that name.

    That takes longer than all fits to a few hundred samples, as it checks each time what it is given.
    """
    return float(np.average(answers.predict(X) == y, weights=sample_weight))


OF_THE_BEST = frozenset(
    {
        *("certificate_", "history_", "shape_functions_", "feature_importances_", "effects", "report"),
        *("classes_", "n_features_in_", "feature_names_in_", "encoder_"),
    }
)
"""The attributes of the best estimator that a search has too."""


def _check_values(argument: str, values: Any) -> Sequence[float]:
    return [validation.positive(argument, value) for value in validation.finite_array(argument, values, ndim=1)]


@dataclass(frozen=True, eq=False)
class Folds:
    """A sample whose parts are trained on and scored, with one kernel for all parts unless it is another one on a part.

    `template` has all parameters but C, and gamma where several are tried; `score` is a scorer as scikit-learn has it,
    of a fitted classifier, samples and their classes, and of their weights if `by_weight`.
    """

    template: InfiniteEnsembleSVC
    X: NDArray
    y: NDArray
    weights: Array
    score: Callable[..., float]
    by_weight: bool

    def search(
        self,
        grid: Mapping[str, Sequence[float]],
        splits: Sequence[tuple[Indices, Indices]],
        n_jobs: int | None,
        tell: Callable[[str], None],
    ) -> tuple[Array, Array]:
        """Return scores and certified gaps of all folds and candidates, both (n_splits, n_candidates)."""
        # every C starts from the solution of the one before
        order = np.argsort(grid["C"], kind="stable")
        ascending, found = np.array(grid["C"])[order].tolist(), []
        for gamma in grid.get("gamma", [self.template.gamma]):
            template = clone(self.template).set_params(gamma=gamma)
            shared, score_fold = template._make_trainer(self.X), delayed(self._score_fold)
            tell(f"{len(splits)} folds, {len(ascending)} prices{'' if gamma is None else f', gamma {gamma}'}")
            found.append(
                Parallel(n_jobs, prefer="threads")(score_fold(template, shared, ascending, *split) for split in splits)
            )
        # (n_gammas, n_splits, 2, n_Cs) becomes (2, n_splits, n_Cs, n_gammas), with the Cs in their own order
        by_split = np.moveaxis(np.array(found), (2, 1, 3, 0), (0, 1, 2, 3))[:, :, np.argsort(order)]
        scores, gaps = by_split.reshape(2, len(splits), -1)
        return scores, gaps

    def _score_fold(
        self, template: InfiniteEnsembleSVC, shared: Trainer, Cs: Sequence[float], train: Indices, test: Indices
    ) -> tuple[Array, Array]:
        """Train at every C, ascending, and score; returns the scores and the largest certified gaps, both (n_Cs,)."""
        train = np.sort(train)
        weights = self.weights[train] * class_factors(template.class_weight, self.y[train], self.weights[train])
        train, weights = train[weights > 0], weights[weights > 0]
        classes, labels = np.unique(self.y[train], return_inverse=True)
        if len(classes) < 2:
            raise InvalidInput("cv", f"found a fold of {len(classes)} class", "give folds that train on two or more")
        parts, gaps = [], []
        for k in range(len(classes)) if len(classes) > 2 else (1,):
            solve, score = self._take(template, shared, train, test)
            solutions = solve(np.where(labels == k, 1.0, -1.0), weights, Cs, template._limits())
            if len(solutions) < len(Cs):
                raise KeyboardInterrupt
            parts.append(score(solutions))
            gaps.append([solution.relative_gap for solution in solutions])
        found = np.stack(parts, axis=-1) if len(classes) > 2 else parts[0]
        given = {"sample_weight": self.weights[test]} if self.by_weight else {}
        scores = [self.score(Answers(classes, each), self.X[test], self.y[test], **given) for each in found]
        return np.array(scores), np.max(gaps, axis=0)

    def _take(
        self, template: InfiniteEnsembleSVC, shared: Trainer, train: Indices, test: Indices
    ) -> tuple[Callable[..., Sequence[Any]], Callable[[Sequence[Any]], Array]]:
        """Return what trains on some samples, and what scores others by its solutions, (n_solutions, n_test)."""
        kernel = shared.kernel
        if kernel.is_precomputed or TrainingKernel.from_sample(template.kernel, template.gamma, self.X[train]).equals(
            kernel
        ):
            return shared.take(train).solve_path, lambda solutions: shared.score(test, train, solutions)
        own = template._make_trainer(self.X[train])
        return own.solve_path, lambda solutions: np.stack(
            [own.make_predictor(each)(self.X[test]) for each in solutions]
        )
