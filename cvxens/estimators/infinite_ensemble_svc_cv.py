"""Model selection for support vector machines over infinite sets of hypotheses."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.errors import InvalidInput
from cvxens.estimators.infinite_ensemble_svc import InfiniteEnsembleSVC
from cvxens.estimators.machines.folds import Folds, SharedKernel, accuracy, tabulate, takes_weights
from cvxens.estimators.machines.kernels import SCALE, TrainingKernel, gamma_of_parts, scaled_price
from cvxens.estimators.parameters import estimator
from cvxens.estimators.samples import Accepts, check_classes, check_weights
from cvxens.estimators.saving import Persistent
from cvxens.tables import TableEncoder
from cvxens.types import Array

PRICES = tuple(2.0**k for k in range(-17, 4, 2))
"""The grid of C of LL08 section 7, for features that are scaled to [-1, 1]."""

WIDTHS = tuple(2.0**k for k in range(-15, 4, 2))
"""The grid of gamma there, for the kernels that have one of any size."""

SHARES = tuple(2.0**k for k in range(-8, 9, 2))
"""The grid of multiples of the default C and of the default gamma."""


@final
@estimator
class InfiniteEnsembleSVCCV(Persistent, ClassifierMixin, BaseEstimator):
    """`InfiniteEnsembleSVC` with C, and gamma where there is one, chosen by cross-validation, as in LL08 section 7.

    The answer is that of scikit-learn's GridSearchCV, up to `tol`. It comes sooner, as all folds share the sorted
    features or the kernel matrix, and every C starts from the solution of the one before.

    Parameters
    ----------
    estimator : InfiniteEnsembleSVC, optional
        All but what is chosen; the stump kernel by default.
    Cs : "scale" or array-like of shape (n_Cs,)
        Prices to try. "scale" is 2^-8, 2^-6, ..., 2^8 times the C of `InfiniteEnsembleSVC` by default, with the gamma
        that it has by default, so that the units of X do not matter. LL08 has 2^-17, 2^-15, ..., 2^3 for features that
        are scaled to [-1, 1]: give ``infinite_ensemble_svc_cv.PRICES``.
    gammas : array-like of shape (n_gammas,), optional
        For "decision-tree", "laplacian" and "gaussian". By default 2^-8, 2^-6, ..., 2^8 times the gamma that
        `InfiniteEnsembleSVC` has by default, for the last two where the estimator says none, else what the estimator
        says. LL08 has 2^-15, 2^-13, ..., 2^3: give ``infinite_ensemble_svc_cv.WIDTHS``.
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
    certificate_ : Certificate
        How far the best estimator is at most from the optimum at its C and gamma; a list over the sub-problems of more
        than two classes, as is `history_`.
    history_ : tuple of Level
        Of its fit.
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
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names that are all strings.

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

    source: ClassVar[str] = "LL08 Algorithm 1"

    estimator: InfiniteEnsembleSVC | None = None
    _: KW_ONLY
    Cs: Any = SCALE
    gammas: Any = None
    cv: Any = 5
    scoring: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the parameters, then fit all samples.

        Folds of which some are missing choose nothing: Ctrl-C before the last fit is a KeyboardInterrupt and leaves the
        classifier as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the kernel matrix if the kernel is "precomputed".
        y : array-like of shape (n_samples,)
            Classes, two or more.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the price of each sample's slack, and on its part in scores that take weights; 0 or above.

        Returns
        -------
        self
            Fitted; an estimator whose fit fails stays as it was.

        Raises
        ------
        InvalidInput
            Arguments, or parameters of the constructor, that cannot be worked with; it is a ValueError.
        """
        validation.n_jobs(self.n_jobs)
        template = self._template()
        checked, labels, weights = self._checked(template, X, y, sample_weight)
        grid = self._grid(template, checked, weights)
        scores, gaps = self._search(template, grid, checked, labels, weights, weighted=sample_weight is not None)
        if gaps.max() > template.tol:
            self._warn(gaps, template.tol)
        table = tabulate(grid, scores, gaps)
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

        The price is the C that was chosen; see `InfiniteEnsembleSVC.certify`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its classes: those of the fitted sample, all of them.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`, where that takes them.
        weights : array-like, shaped as ``best_estimator_.dual_coef_``, optional
            Coefficients from anywhere, with the sum 0; by default the fitted ones.
        intercept : float, optional
            By default the fitted one, with `weights` the best one.

        Returns
        -------
        Certificate or list of Certificate
            A list over the sub-problems where there are several.
        """
        check_is_fitted(self)
        given = {"sample_weight": sample_weight, "weights": weights, "intercept": intercept}
        return self.best_estimator_.certify(X, y, **given)

    @property
    def certificate_(self) -> Certificate | list[Certificate]:
        """That of the best estimator: nothing is proven about the choice of C, nor about gamma."""
        return self._best("certificate_")

    @property
    def history_(self) -> Any:
        """That of the best estimator's fit."""
        return self._best("history_")

    @property
    def shape_functions_(self) -> Any:
        """Those of the best estimator, if its kernel is additive."""
        return self._best("shape_functions_")

    @property
    def feature_importances_(self) -> Array:
        """Those of the best estimator, if its kernel is additive."""
        return self._best("feature_importances_")

    @property
    def classes_(self) -> NDArray:
        """The classes."""
        return self._best("classes_")

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._best("n_features_in_")

    @property
    def feature_names_in_(self) -> NDArray:
        """Names of the features, where X had names that are all strings."""
        return self._best("feature_names_in_")

    @property
    def encoder_(self) -> TableEncoder:
        """How the columns of a table become features, where the fit was to a table."""
        return self._best("encoder_")

    @encoder_.setter
    def encoder_(self, encoder: TableEncoder) -> None:
        self.best_estimator_.encoder_ = encoder

    def _best(self, name: str) -> Any:
        """An attribute of the best estimator; an AttributeError before there is one."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{name} is known once the classifier is fitted")
        return getattr(self.best_estimator_, name)

    def _template(self) -> InfiniteEnsembleSVC:
        """An estimator of its own to fit."""
        template = InfiniteEnsembleSVC() if self.estimator is None else self.estimator
        if not isinstance(template, InfiniteEnsembleSVC):
            raise InvalidInput("estimator", f"found {template!r}", "give an InfiniteEnsembleSVC, or use GridSearchCV")
        return clone(template)

    def _checked(self, template: InfiniteEnsembleSVC, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray, Array]:
        """X, classes and weights."""
        X, y = Accepts().labelled(template, X, y)
        check_classes(y)
        return X, y, check_weights(sample_weight, X)

    def _grid(self, template: InfiniteEnsembleSVC, X: Any, weights: Array) -> dict[str, Sequence[float]]:
        """The values of every parameter that is searched, for all folds."""
        kept = np.flatnonzero(weights > 0)
        X, weights = X[np.ix_(kept, kept)] if template._given else X[kept], weights[kept]
        of_all = gamma_of_parts(template.kernel, template.gamma, X, weights)
        grid = {"C": self._prices(template, of_all.get("gamma", template.gamma), X, weights)}
        searched = bool(of_all) and template.kernel != "decision-tree"
        if self.gammas is not None:
            return {**grid, "gamma": _values("gammas", self.gammas)}
        return {**grid, "gamma": [share * of_all["gamma"] for share in SHARES]} if searched else grid

    def _prices(self, template: InfiniteEnsembleSVC, gamma: Any, X: Any, weights: Array) -> Sequence[float]:
        """The values of C."""
        if not isinstance(self.Cs, str):
            return _values("Cs", self.Cs)
        validation.one_of("Cs", self.Cs, [SCALE])
        if self.gammas is not None:
            gamma = None
        kernel = TrainingKernel.of(template.kernel, gamma, X, weights)
        price = scaled_price(kernel, X, weights)
        return [share * price for share in SHARES]

    def _search(
        self,
        template: InfiniteEnsembleSVC,
        grid: dict[str, Sequence[float]],
        X: Any,
        y: NDArray,
        weights: Array,
        *,
        weighted: bool,
    ) -> tuple[Array, Array]:
        """Scores and gaps of all folds and candidates, both (n_splits, n_candidates)."""
        splits = self._splits(X, y)
        score = accuracy if self.scoring is None else self._scorer(template)
        by_weight = weighted and takes_weights(score)
        folds = Folds(X, y, weights, template.class_weight, template.multi_class, score, by_weight)
        order = np.argsort(grid["C"], kind="stable")
        ascending = np.array(grid["C"])[order]
        found = []
        for gamma in grid.get("gamma", [template.gamma]):
            kernel = SharedKernel(replace(template._choice(), gamma=gamma), X)
            along = delayed(folds.along)
            found.append(
                Parallel(self.n_jobs, prefer="threads")(
                    along(kernel, ascending, template._limits(), split) for split in splits
                )
            )
        by_split = np.moveaxis(np.array(found), (2, 1, 3, 0), (0, 1, 2, 3))[:, :, np.argsort(order)]
        scores, gaps = by_split.reshape(2, len(splits), -1)
        return scores, gaps

    def _splits(self, X: Any, y: NDArray) -> list[tuple[NDArray, NDArray]]:
        """Training and test samples of every fold."""
        try:
            splits = [(train, test) for train, test in check_cv(self.cv, y, classifier=True).split(X, y)]
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                "cv", f"found {self.cv!r:.100}: {error}", "give a number of folds or a splitter"
            ) from error
        if not splits:
            raise InvalidInput("cv", f"found {self.cv!r:.100}, which has no folds", "give at least one")
        return splits

    def _scorer(self, template: InfiniteEnsembleSVC) -> Any:
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
        message = (
            f"{type(self).__name__}: {told}, at most {gaps.max():.3g}: raise tol or max_time, or leave out large Cs"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.pairwise = get_tags(self.estimator).input_tags.pairwise
        return tags


def _values(argument: str, values: Any) -> Sequence[float]:
    return [validation.positive(argument, value) for value in validation.finite_array(argument, values, ndim=1)]
