"""Majority votes and means of least-squares experts with the supervised kernel of a forest (TT06)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self, final
from warnings import warn

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils import get_tags

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.errors import InvalidInput, SolverFailed, SolverFallbackWarning
from cvxens.estimators.base import Attributes, Classifier, Learner, Regressor, check_shape, estimator, warn_of_gap
from cvxens.estimators.samples import Accepts, Sample, TargetSample
from cvxens.hypotheses import decode_table
from cvxens.kernels import TreeEnsemble
from cvxens.kernels.tree_ensemble import KINDS, OwnTrees
from cvxens.limits import Ending, check_memory
from cvxens.problems import simplex_codes
from cvxens.solvers import LeastSquaresExperts, draw_members, iterated_least_squares_experts, least_squares_experts
from cvxens.solvers.conjugate_gradients import GAP, RANK
from cvxens.solvers.experts import WIDTH
from cvxens.tables import Feature
from cvxens.trees import fit_forest
from cvxens.types import Array, Data, Labels, Mask, Matrix
from cvxens.validation import RandomState

WRITTEN_OUT = 1000
"""Up to so many samples the kernel matrix is written out, and experts are solved in closed form."""

MOST_WRITTEN_OUT = 5000
"""Up to so many it is where conjugate gradients fail, as they may where gamma is tiny: 200 MB."""

SHARE = 0.5
"""The share of the gap that systems are solved to; the rest is for what residuals hide that are carried on."""

BLOCK = 2**24
"""Numbers in the parts in which new samples are scored: 128 MiB."""


@dataclass(eq=False, repr=False)
class SupervisedKernelExperts(Learner):
    """Experts on one supervised kernel matrix; for a classifier or a regressor.

    Parameters
    ----------
    forest : estimator, optional
        A tree, forest or gradient boosting of scikit-learn; by default a random forest: scikit-learn's, or, of a data
        frame with nominal columns, C4.5 trees as `cvxens.trees.fit_forest` grows them. A clone of it is fitted, with a
        seed from `random_state` if it has none. One that is fitted already, to an array, is taken as it is if it is
        wrapped into a `sklearn.frozen.FrozenEstimator`.
    kernel : {"depth", "leaf", "ancestors"}
        A mean over the trees, see `cvxens.kernels.TreeEnsemble`: TT06 (9), the depth of the deepest node that both
        samples pass over that of the deeper one of their leaves; TT06 (8), 1 if they reach the same leaf, else 0; or
        the depth alone, which is not in TT06. Of classes none was better than the others by more than its error on
        seven data sets; of numbers (9) had three quarters of the errors of (8), which sees little where leaves have few
        samples: give the forest a `min_samples_leaf` with it.
    gamma : float
        Weight of the penalty, above 0. TT06 wants it so small that it does no more than to make the system solvable.
    n_experts : int
        Number of experts; TT06 section 4 has 100 to 250.
    sample_share : float or pair of floats
        Size of their samples in proportion to all samples, above 0 and at most 1; of two numbers, the least and the
        largest, between which sizes are uniform. Samples are drawn without replacement.
    tol : float
        Relative gap to which experts are solved by conjugate gradients. Of 16,000 votes on threenorm no one was another
        at 1e-4 than at 1e-12, and one of a thousand at 1e-3, in two fifths of the steps.
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
    default_forest: ClassVar[type[BaseEstimator]]
    source: ClassVar[str] = "TT06 (5), (8), (9), section 4"

    experts_: LeastSquaresExperts = field(init=False)
    kernel_: TreeEnsemble = field(init=False)
    X_fit_: Array = field(init=False)
    forest: BaseEstimator | None = None
    _: KW_ONLY
    kernel: str = "depth"
    gamma: float = 1e-4
    n_experts: int = 100
    sample_share: float | tuple[float, float] = (0.5, 0.9)
    tol: float = 1e-4
    random_state: RandomState = None
    n_jobs: int | None = None

    def fit(self, X: Data, y: ArrayLike) -> Self:
        """Fit the estimator to X (n_samples, n_features) and y (n_samples,); one whose fit fails stays as it was."""
        return super().fit(X, y)

    def _accepts(self) -> Accepts:
        forest = self.default_forest() if self.forest is None else self.forest
        missing = isinstance(forest, BaseEstimator) and get_tags(forest).input_tags.allow_nan
        return Accepts(missing=missing, nominal=self.forest is None)

    def _merges(self) -> bool:
        return False

    def _learn(self, X: Array, y: Labels, targets: Array, features: tuple[Feature, ...] | None) -> Attributes:
        """Fit the forest to `y`, and experts with its kernel to `targets`; returns attributes."""
        validation.one_of("kernel", self.kernel, KINDS)
        validation.n_jobs(self.n_jobs)
        gamma, rng = validation.positive("gamma", self.gamma), validation.generator(self.random_state)
        seed = int(rng.integers(2**31))
        members = draw_members(len(X), self.n_experts, self.sample_share, rng)
        check_room_for_experts(members.shape, targets.shape[1], int(members.sum(axis=0).max()), self.n_jobs)
        X = X.astype(np.float64, copy=False)
        forest = self._grow_forest(X, y, seed) if features is None else self._grow_own_trees(X, y, seed, features)
        kernel, tol = TreeEnsemble(forest, self.kernel), validation.positive("tol", self.tol)
        experts = self._solve_experts(kernel, X, targets, gamma, members, SHARE * tol)
        warn_of_gap(self, experts.certificate, tol, Ending.ROUNDING.value, "raise gamma or tol")
        return {"kernel_": kernel, "experts_": experts, "certificate_": experts.certificate, "X_fit_": X}

    def _solve_experts(
        self, kernel: TreeEnsemble, X: Array, Y: Array, gamma: float, members: Mask, tol: float = GAP
    ) -> LeastSquaresExperts:
        if len(X) > WRITTEN_OUT:
            try:
                K = kernel.unwritten(X)
                return iterated_least_squares_experts(K, Y, gamma, members, tol=tol, n_jobs=self.n_jobs)
            except SolverFailed as failure:
                if len(X) > MOST_WRITTEN_OUT:
                    raise
                warn(f"{failure.attempts[0].message}; solved in closed form", SolverFallbackWarning, stacklevel=4)
        return least_squares_experts(kernel(X), Y, gamma, members, n_jobs=self.n_jobs)

    def _grow_forest(self, X: Array, y: Labels, seed: int) -> BaseEstimator:
        if self.forest is None:
            return self.default_forest(random_state=seed, n_jobs=self.n_jobs).fit(X, y)
        if not isinstance(self.forest, BaseEstimator):
            raise InvalidInput("forest", f"found {self.forest!r}", "give a forest of scikit-learn, or None")
        forest = clone(self.forest)
        if "random_state" in (given := forest.get_params()) and given["random_state"] is None:
            forest.set_params(random_state=seed)
        return forest.fit(X, y)

    def _grow_own_trees(self, X: Array, y: Labels, seed: int, features: tuple[Feature, ...]) -> OwnTrees:
        """Grow a forest on numbers and codes of categories; where y has no classes, on its quarters."""
        if isinstance(self, RegressorMixin):
            # experts are as good with such trees as with those of scikit-learn; in 16 parts they are a little worse
            y = np.searchsorted(np.quantile(y.astype(np.float64), [0.25, 0.5, 0.75]), y)
        trees = fit_forest(decode_table(features, X), y, random_state=seed, n_jobs=self.n_jobs)
        return OwnTrees(trees, coded=True)

    def _certify(self, sample: Any, weights: ArrayLike, intercept: ArrayLike) -> Certificate:
        """Certify the expert with the largest gap, on a sample.

        Their problem with the fitted kernel is solved anew, over all of that sample: every expert, and so their mean,
        is at most so far from its optimum. As they were fitted to parts of the training sample, there is a gap on the
        whole of it.
        """
        if not sample.shares.all() or (sample.weights != 1).any():
            raise InvalidInput("sample_weight", "found some", "leave them out, as experts are fitted without")
        if intercept is not None and not np.array_equal(intercept, vars(self).get("intercept_", 0.0)):
            raise InvalidInput("intercept", f"found {intercept!r:.100}", "leave it out, as it is the mean of the fit")
        X, targets = sample.X, self._encode(sample)
        gamma, fitted = validation.positive("gamma", self.gamma), self.experts_.coefficients
        c = fitted if weights is None else check_shape("weights", weights, fitted.shape)
        validation.n_jobs(self.n_jobs)
        check_room_for_experts((len(X), 1), targets.shape[1], len(X), self.n_jobs)
        X = X.astype(np.float64, copy=False)
        # all samples are one expert's: the optimum is that of the kernel, whichever samples a function is expanded over
        optimum = self._solve_experts(self.kernel_, X, targets, gamma, np.full((len(X), 1), True)).certificate
        # expert e is f_e(x) = sum_i c_ie k(x, x_i), with |f_e|^2 = c_e'K c_e, wherever it is evaluated
        errors = self._sum_terms(X, c, lambda rows, f: (f - targets[rows, np.newaxis]) ** 2)
        norms = self._sum_terms(self.X_fit_, c, lambda rows, f: f * c[rows])
        values = errors / len(X) + gamma * norms
        worst = int(values.argmax())
        note = f"the largest gap of {len(values)} experts, that of expert {worst}; the kernel is given"
        return Certificate.between(float(values[worst]), optimum.dual, note=note)

    @abstractmethod
    def _encode(self, sample: Any) -> Array:
        """Return the targets of a sample, (n_samples, n_outputs), as fitted experts have them."""

    def _sum_terms(self, X: Array, c: Array, term: Callable[[slice, Array], Array]) -> Array:
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
    """Raise `InvalidInput` unless the experts' coefficients, and what it takes to solve them, fit into memory."""
    n, n_experts = shape
    at_work = effective_n_jobs(n_jobs)
    # in closed form the kernel matrix, a copy while it is made, and a factor for each expert at work; else columns of
    # the preconditioner, and a dozen vectors of conjugate gradients for each of the systems that are solved together
    solving = 2 * n**2 + at_work * largest**2 if n <= WRITTEN_OUT else n * (3 * RANK + 12 * at_work * WIDTH)
    # the coefficients C of all experts, and K C for their certificates
    needed = 8 * (solving + 2 * n * n_experts * n_outputs)
    found = f"found {n:,} samples, whose {n_experts} experts take"
    check_memory("X", found, needed, "give fewer samples, or take fewer experts")


@final
@estimator
class SupervisedKernelRLSClassifier(SupervisedKernelExperts, Classifier):
    """A majority vote of regularised-least-squares experts with the supervised kernel of a forest.

    TT06 section 4. A forest is grown on all samples. How far two samples go together in its trees is their kernel. Each
    expert solves ``min 1/m |K c - y|^2 + gamma c'K c``, (2) and (5), on a random sample of m rows and columns of that
    matrix: in closed form up to 1,000 samples, beyond that by conjugate gradients until the gap is `tol` of the value,
    with products that take no kernel matrix. The targets are simplex codes, -1 and +1 for two classes, so that one
    factor serves any number of classes: the class of the largest score is the same as with one-vs-rest targets.
    Decision functions are shares of the votes; of two classes, that of the second less that of the first. An expert
    whose scores tie votes for each of them. To each share something below 1/(3 n_experts) is added that grows with the
    class's mean score over the experts, so that it decides between equal numbers of votes only.

    Missing values are NaN, and go where the forest sends them. Data frames may have nominal columns (categories,
    strings, booleans) where `forest` is left open; `features_` then lists what the columns are. Forests of scikit-learn
    take numbers only: put an `OrdinalEncoder` or `OneHotEncoder` before this in a pipeline with one of them. Scaling
    does not matter, as long as it leaves no feature a range below 1e-7, which they take for a constant.

    Memory grows with n_samples n_experts; time with n_samples n_experts n_trees, and with 1/sqrt(gamma) where gamma is
    small. With the defaults 20,000 x 20 takes about 25 seconds of a processor, 7 of them for the forest, and three
    times as long for a regression, whose trees have a leaf for every sample or two: `n_jobs=2` halves that. A sample
    that is too large is refused. Where gamma is so tiny that conjugate gradients fail, up to 5,000 samples are solved
    in closed form, with a `SolverFallbackWarning`, and more raise `SolverFailed`. Ctrl-C is a KeyboardInterrupt, and
    leaves the estimator as it was.

    Attributes
    ----------
    certificate_ : Certificate
        Of the expert with the largest relative gap: every expert is at most so far from the optimum of its problem,
        whose kernel is given. Nothing is proven about the forest, nor about the vote.
    codes_ : ndarray of shape (n_classes, n_classes - 1)
        The targets of every class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> X[::7, 2] = np.nan
    >>> model = SupervisedKernelRLSClassifier(random_state=0).fit(X, y)
    >>> model.certificate_.holds(1e-9), len(model.experts_), model.score(X, y) > 0.9
    (True, 100, True)
    """

    default_forest: ClassVar[type[BaseEstimator]] = RandomForestClassifier
    one_by_one: ClassVar[bool] = False

    codes_: Array = field(init=False)

    def _encode(self, sample: Sample) -> Array:
        return self.codes_[sample.labels]

    def _solve(self, sample: Sample) -> Attributes:
        codes = simplex_codes(len(sample.classes))[::-1]
        learnt = self._learn(sample.X, sample.classes[sample.labels], codes[sample.labels], sample.features)
        return {**learnt, "codes_": codes}

    def _scores(self, X: Matrix) -> Array:
        parts = self._expert_scores(X, self.experts_.coefficients)
        scores = np.concatenate([vote(part @ self.codes_.T) for part in parts])
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Data) -> Array:
        """Return the shares of the votes (n_samples, n_classes) of X (n_samples, n_features), which sum to 1."""
        F = self.decision_function(X)
        shares = np.stack([1 - F, 1 + F], axis=1) if F.ndim == 1 else F
        # less than half a vote of what decides between ties
        shares = np.clip(shares, 0.0, None)
        return shares / shares.sum(axis=1, keepdims=True)


def vote(scores: Array) -> Array:
    """Turn scores (n_samples, n_experts, n_classes) into shares of votes (n_samples, n_classes), ties by the mean."""
    # votes are whole, so that what the mean adds, less than a vote, decides only where votes are equal
    # scores, of targets of size 1, that are equal up to rounding tie
    winners = scores >= scores.max(axis=2, keepdims=True) - 1e-9
    mean = scores.mean(axis=1)
    return winners.mean(axis=1) + mean / (1 + np.abs(mean)) / (3 * scores.shape[1])


@final
@estimator
class SupervisedKernelRLSRegressor(SupervisedKernelExperts, Regressor):
    """The mean of regularised-least-squares experts with the supervised kernel of a forest.

    As `SupervisedKernelRLSClassifier`, with ``y - mean(y)`` as the targets; TT06 has no intercept. Of data frames with
    nominal columns the trees of the forest are grown to tell the quarters of y apart.

    Attributes
    ----------
    certificate_ : Certificate
        Of the expert with the largest relative gap, as of the classifier.
    intercept_ : float
        The mean of y.

    Examples
    --------
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = SupervisedKernelRLSRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.certificate_.holds(1e-9), model.score(X, np.sin(X[:, 0])) > 0.99
    (True, True)
    """

    default_forest: ClassVar[type[BaseEstimator]] = RandomForestRegressor

    def _solve(self, sample: TargetSample) -> Attributes:
        y, mean = sample.targets, float(sample.targets.mean())
        return {**self._learn(sample.X, y, (y - mean)[:, None], sample.features), "intercept_": mean}

    def _encode(self, sample: TargetSample) -> Array:
        return (sample.targets - self.intercept_)[:, None]

    def _scores(self, X: Matrix) -> Array:
        coefficients = self.experts_.coefficients.mean(axis=(1, 2))
        return self.intercept_ + np.concatenate(list(self._expert_scores(X, coefficients)))
