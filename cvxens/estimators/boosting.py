"""Boosting: coordinate descent on exponential losses, of two classes or of several at once, certified by margins.

AdaBoost weighs hypotheses h; AdaBoost.MH and AdaBoost.ECC weigh pairs of a hypothesis and a code v, -1 or +1 for each
class, whose votes are h(x) v. What is boosted are the margins of pairs of a sample and a class, a linear map of the
votes: `Pairs`. For AdaBoost there is one pair of each sample, with the margin y f(x).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import product, zip_longest
from math import exp, inf
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, eye_array
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import (
    BoostingRound,
    BoostingStep,
    Column,
    Ending,
    Hypothesis,
    Oracle,
    Priced,
    boosting_steps,
    column_generation,
    formulations,
    gathered,
    round_bound,
)
from cvxens.colgen.adaboost import margin_certificate, sum_weights
from cvxens.colgen.protocols import OracleOver
from cvxens.estimators.base import (
    REMEDIES,
    Attributes,
    Classifier,
    check_shape,
    estimator,
    link_exponential,
    refuse_intercept,
    rounds_of,
    time_limit,
    warn_of,
)
from cvxens.estimators.ensembles import Ensemble
from cvxens.estimators.explanations import sum_votes
from cvxens.estimators.samples import OracleFactory, Sample, make_oracle
from cvxens.types import Array, Data, Indices, Labels, Mask
from cvxens.validation import RandomState


@dataclass(frozen=True)
class Coded:
    """The hypothesis h(x) v: class k gets the vote v_k h(x), where v_k is -1 or +1.

    Examples
    --------
    >>> from cvxens.hypotheses import Stump
    >>> coded = Coded(Stump(0, 0.5, 1), (1, -1, -1))
    >>> print(coded)
    x[0] >= 0.5 -> +1 for +--
    >>> coded(np.array([[0.0], [1.0]]))
    array([[-1.,  1.,  1.],
           [ 1., -1., -1.]])
    """

    hypothesis: Hypothesis
    code: tuple[int, ...]

    def __call__(self, X: Data, /) -> Array:
        return np.multiply.outer(self.hypothesis(X), self.code)

    def __str__(self) -> str:
        return f"{self.hypothesis} for {''.join('+' if vote > 0 else '-' for vote in self.code)}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """The margins of pairs of a sample and a class, as a linear map of the votes: `signs * (matrix @ votes)`."""

    mask: Mask  # (n_samples, n_classes) or (n_samples,), True where there is a pair
    signs: Array  # (n_pairs,), -1 or +1, in the order of `mask`, row by row
    matrix: csr_array  # (n_pairs, n_samples * n_classes)

    @classmethod
    def from_labels(cls, labels: Indices, n_classes: int) -> Pairs:
        """Make a pair of every sample and class, with the margin `Y_ik F_k(x_i)`: Y_ik is 1 for its class and -1 else.

        Examples
        --------
        >>> Pairs.from_labels(np.array([1, 0]), 2).margins(np.array([[-0.5, 2.0], [3.0, 1.0]]))
        array([ 0.5,  2. ,  3. , -1. ])
        """
        own = np.equal.outer(labels, np.arange(n_classes))
        return cls(np.full(own.shape, True), np.where(own, 1.0, -1.0).ravel(), csr_array(eye_array(own.size)))

    @classmethod
    def from_differences(cls, labels: Indices, n_classes: int) -> Pairs:
        """Make a pair of every sample and class k but its own, y_i, with the margin `(F_{y_i} - F_k) / 2`.

        The sign of a pair is that of `y_i - k`.

        Examples
        --------
        >>> Pairs.from_differences(np.array([1, 0]), 2).margins(np.array([[-0.5, 2.0], [3.0, 1.0]]))
        array([1.25, 1.  ])
        """
        mask = np.not_equal.outer(labels, np.arange(n_classes))
        rows, others = np.nonzero(mask)
        signs = np.where(labels[rows] > others, 1.0, -1.0)
        pairs, halves = np.arange(len(rows)), signs / 2
        places = np.r_[rows * n_classes + labels[rows], rows * n_classes + others]
        entries = (np.r_[halves, -halves], (np.r_[pairs, pairs], places))
        return cls(mask, signs, csr_array(entries, shape=(len(rows), mask.size)))

    def margins(self, votes: Array) -> Array:
        """Return the margins (n_pairs,) of votes (n_samples, n_classes)."""
        return self.signs * (self.matrix @ votes.ravel())

    def collect(self, s: Array) -> Array:
        """Return S (n_samples, n_classes): the edge of h with the code v under signed weights s is `h' S v`."""
        return (self.matrix.T @ s).reshape(self.mask.shape)

    def spread(self, per_sample: Array) -> Array:
        """Repeat numbers of samples (n_samples,) for each of their pairs, (n_pairs,)."""
        return per_sample[np.nonzero(self.mask)[0]]

    def lay_out(self, u: Array) -> Array:
        """Lay numbers of pairs out as (n_samples, n_classes), 0 where there is no pair."""
        full = np.zeros(self.mask.shape)
        full[self.mask] = u
        return full


@dataclass(frozen=True, eq=False)
class CodedColumn(Column):
    """A coded hypothesis whose values are the margins of pairs, times their signs."""

    pairs: Pairs

    def evaluate(self) -> Array:
        return np.asarray(self.pairs.matrix @ self.hypothesis(self.sample).ravel())


class CodedOracle(OracleOver):
    """Prices hypotheses with codes: exactly over all codes where these are few, else over some at random."""

    def __init__(self, oracle: Oracle, pairs: Pairs, random: np.random.Generator) -> None:
        super().__init__(oracle)
        self.pairs, self.random = pairs, random

    def price(self, s: Array, exclude: Collection[Hypothesis] = ()) -> Priced:
        S, n_classes = self.pairs.collect(s), self.pairs.mask.shape[1]
        # codes v and -v are one, with hypotheses of either sign
        exhaustive = 2 ** (n_classes - 1) <= 16
        if exhaustive:
            codes = np.array([(1, *rest) for rest in product((-1, 1), repeat=n_classes - 1)])
        else:
            codes = self.random.choice([-1, 1], size=(16, n_classes))
        priced = self.oracle.price(S @ codes.T.astype(float))
        columns = sorted((self._code(column, S) for column in priced.columns), key=lambda column: -column.edge)
        return Priced(columns, priced.edge_bound if exhaustive else inf)

    def _code(self, column: Column, S: Array) -> CodedColumn:
        """Give a hypothesis the code that is best for it, of the edge `|h' S|_1`."""
        edges = column.values @ S
        code = tuple(np.where(edges >= 0, 1, -1).tolist())
        return CodedColumn(Coded(column.hypothesis, code), self.sample, float(np.abs(edges).sum()), self.pairs)


@dataclass(eq=False, repr=False)
class Boosting(Classifier):
    """An ensemble by boosting: a hypothesis a round, and a vote of all.

    Attributes
    ----------
    certificate_ : Certificate
        Not of the exponential loss, which boosting minimises, but of the largest margin, ``max_a min_i y_i (H a)_i``
        over weights a >= 0 with sum 1, of several classes over the
        pairs i of a sample and a class: `primal` is the smallest margin of the ensemble, `dual` a bound on that of
        every vote. A `primal` below 0 says that the ensemble does not separate the classes, which soft margins are
        for: `LPBoostClassifier`. `certify` bounds it by LL08 P3, solved to a relative gap of 0.001 or for `max_time`
        seconds, where no margin is negative, and elsewhere by the largest edge under equal weights. A weak learner with
        votes W_j for several classes counts max_k |W_jk|: codes with weights of that sum make them. P3 ignores sample
        weights, except that a weight of 0 drops a sample.
    history_ : tuple of BoostingRound
        Hypothesis, of several classes with its code, edge, weight and loss, round by round.
    weak_learners_ : tuple of Hypothesis
        Functions from X to (n_samples,); each once.
    """

    certified: ClassVar[str] = "the smallest margin of the vote"

    history_: tuple[BoostingRound, ...] = field(init=False)
    weak_learners_: tuple[Hypothesis, ...] = field(init=False)
    weights_: Array = field(init=False)
    intercept_: Array = field(init=False)
    dual_weights_: Array = field(init=False)
    oracle: str | OracleFactory = "stumps"
    _: KW_ONLY
    class_weight: object = None
    random_state: RandomState = None
    max_time: float | None = None
    verbose: int = 0

    to_frame, get_rules, to_text = Ensemble.to_frame, Ensemble.get_rules, Ensemble.to_text
    feature_importances_, _list_terms = Ensemble.feature_importances_, Ensemble._list_terms
    _accepts, _scores = Ensemble._accepts, Ensemble._scores
    _link = staticmethod(link_exponential)

    @abstractmethod
    def _most_rounds(self, sample: Sample) -> int:
        """Return the largest number of rounds of a fit."""

    @abstractmethod
    def _pairs(self, sample: Sample) -> Pairs:
        """Return the pairs of samples and classes whose exponential loss is boosted."""

    @abstractmethod
    def _oracle(self, sample: Sample, pairs: Pairs) -> Oracle:
        """Return the oracle that prices hypotheses on the pairs."""

    def _target(self, sample: Sample) -> Callable[[float], float] | None:
        """Return the margin to aim at, a function of the smallest edge so far; None to minimise the loss alone."""
        return None

    @abstractmethod
    def _vote(self, hypotheses: Sequence[Hypothesis], weights: Array, sample: Sample) -> Attributes:
        """Return the fitted attributes of hypotheses with weights."""

    def _solve(self, sample: Sample) -> Attributes:
        n_rounds, pairs = self._most_rounds(sample), self._pairs(sample)
        oracle, prior = self._oracle(sample, pairs), pairs.spread(sample.weights)
        target = self._target(sample)
        steps = boosting_steps(oracle, pairs.signs, target, prior=prior)
        done: list[BoostingRound] = []

        def record() -> Iterator[BoostingStep]:
            for step in steps:
                done.append(step.round)
                yield step

        def fitted() -> Attributes:
            weights = sum_weights(done)
            return self._vote(tuple(weights), np.array(list(weights.values())), sample)

        def describe(step: BoostingStep) -> str:
            return f"edge {step.round.edge:.3g}, loss {exp(step.round.log_loss):.3g}"

        with rounds_of(self) as rounds, threadpool_limits(1, "blas"):
            followed = rounds.follow(record(), n_rounds, describe, fitted)
            boosted = gathered(followed, len(pairs.signs), aimed=target is not None)
        if (ending := rounds.ending) is not None:
            remedy = "raise max_time, or lower n_rounds" if ending is Ending.MAX_TIME else REMEDIES[ending]
            warn_of(self, f"{ending.value} after {len(done)} of {n_rounds} rounds", remedy)
        return {
            **self._vote(boosted.hypotheses, boosted.weights, sample),
            "certificate_": boosted.certificate,
            "history_": boosted.history,
            "dual_weights_": sample.spread(pairs.lay_out(boosted.u)),
        }

    def _certify(self, sample: Sample, weights: ArrayLike, intercept: ArrayLike) -> Certificate:
        refuse_intercept(intercept)
        W, pairs = check_shape("weights", weights, self.weights_.shape), self._pairs(sample)
        z = pairs.margins(sum_votes(sample.X, self.weak_learners_, W, np.zeros_like(self.intercept_)))
        size, oracle, y = float(np.abs(np.atleast_2d(W.T)).max(axis=0).sum()), self._oracle(sample, pairs), pairs.signs
        # w = 0 is (h - h) / 2, a vote of the margin 0
        margin = float(z.min()) / size if size > 0 else 0.0
        # no vote has a margin above the largest edge, under any weights of sum 1
        bound = oracle.price(y / len(y)).edge_bound
        bounded = bound < inf
        if bounded and margin > 0:
            run = column_generation(formulations.hard_margin(), oracle, y, tol=1e-3, max_time=time_limit(self))
            # u of P3 has the sum 1 / edge
            bound = min(bound, 1 / run.certificate.dual) if run.certificate.dual > 0 else bound
        unproven = "the oracle cannot bound the edges"
        aimed = self._target(sample) is not None
        return margin_certificate(margin, bound, n_terms=2 * len(y), proven=bounded, unproven=unproven, aimed=aimed)

    def staged_decision_function(self, X: Data) -> Iterator[Array]:
        """Score samples after every round.

        A round adds a hypothesis, or raises the weight of one: after round k the ensemble is the one of a fit with at
        most k rounds. Of sub-problems with different numbers of rounds, those that ended first stay as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            After the last round what `decision_function` returns, up to rounding. Nothing where there was no round.
        """
        yield from map(self._to_scores, self._staged(X))

    def staged_predict(self, X: Data) -> Iterator[Labels]:
        """Yield the class of each sample of X (n_samples, n_features) after every round; the last as by `predict`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cvxens import AdaBoostClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = AdaBoostClassifier(n_rounds=20).fit(X, y)
        >>> [int((classes != y).sum()) for classes in model.staged_predict(X)][::5]
        [6, 5, 5, 4]
        """
        yield from map(self._classes, self.staged_decision_function(X))

    def _staged(self, X: Data) -> Iterator[Array]:
        """Yield the raw scores of samples after every round."""
        check_is_fitted(self)
        read, parts = self._accepts().read(self, X), self._parts()
        if parts == [self]:
            yield from sum_rounds(self.history_, read)
            return
        # before its first round, and where it has none, a sub-problem has no say
        scores = [np.zeros(read.shape[0]) for _ in parts]
        for after in zip_longest(*(sum_rounds(part.history_, read) for part in parts)):
            scores = [before if new is None else new for before, new in zip(scores, after, strict=True)]
            yield np.stack(scores, axis=1)


def sum_rounds(history: Iterable[BoostingRound], X: Data) -> Iterator[Array]:
    """Yield the raw scores of checked samples after every round, new arrays; a perfect hypothesis counts alone."""
    F: Any = 0.0
    for row in history:
        votes = row.hypothesis(X)
        F = votes if np.isinf(row.weight) else F + row.weight * votes
        yield F.copy()


@final
@estimator
class AdaBoostClassifier(Boosting):
    """AdaBoost: coordinate descent on the exponential loss, the best weak learner of the oracle a round.

    Freund & Schapire (1997). Its certificate says how far its smallest margin is from the largest that the weak
    learners allow: AdaBoost need not come near it, so no fit warns of the gap. With `nu` it is AdaBoost*_nu (Raetsch &
    Warmuth, JMLR 6, 2005), which does, to within nu. Weights of samples and classes are the first round's.

    Parameters
    ----------
    n_rounds : int, optional
        At most so many rounds; by default 200, with `nu` as many as its guarantee needs. Fewer after a perfect weak
        learner, or where none is better than chance.
    nu : float, optional
        Precision of the margin of AdaBoost*_nu, above 0 and below 1; None for AdaBoost.

    Attributes
    ----------
    weights_ : ndarray of shape (n_weak_learners,)
        Their weights w, above 0. One weak learner without errors has the weight 1, and is alone.
    intercept_ : ndarray of shape ()
        0.
    dual_weights_ : ndarray of shape (n_samples,)
        The weights of the samples, with sum 1, of the round that proves the bound.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier().fit(X, y)
    >>> model.score(X, y) > 0.99, model.certificate_.proven
    (True, True)
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0.]])
    """

    source: ClassVar[str] = "Freund & Schapire 1997; Raetsch & Warmuth 2005; LL08 P3"

    _: KW_ONLY
    n_rounds: int | None = None
    nu: float | None = None
    n_jobs: int | None = None

    def _most_rounds(self, sample: Sample) -> int:
        if self.n_rounds is not None:
            return validation.whole("n_rounds", self.n_rounds)
        return 200 if self.nu is None else round_bound(len(sample.labels), self.nu)

    def _target(self, sample: Sample) -> Callable[[float], float] | None:
        nu = self.nu
        if nu is None:
            return None
        # refuses a nu that is not between 0 and 1
        round_bound(len(sample.labels), nu)
        return lambda smallest_edge: smallest_edge - nu

    def _pairs(self, sample: Sample) -> Pairs:
        # one of every sample, with the margin y_i f(x_i)
        signs = sample.signs
        return Pairs(np.full(len(signs), True), signs, csr_array(eye_array(len(signs))))

    def _oracle(self, sample: Sample, pairs: Pairs) -> Oracle:
        return make_oracle(self.oracle, sample, random_state=self.random_state, square_sum=False)

    def _vote(self, hypotheses: Sequence[Hypothesis], weights: Array, sample: Sample) -> Attributes:
        return {"weak_learners_": tuple(hypotheses), "weights_": weights, "intercept_": np.zeros(())}


@dataclass(eq=False, repr=False)
class CodedBoosting(Boosting):
    """`F(x) = sum_j w_j h_j(x)`, with a vote w_jk of every weak learner for every class.

    Parameters
    ----------
    oracle : str or callable
        The weak learners: "stumps" (all middle stumps), "quantile_stumps" (at most 32 per feature), "perceptrons",
        "fourier", or a function from X to an oracle of values within [-1, 1] that prices several outputs at once.
        Stumps take sparse X.
    n_rounds : int
        At most so many rounds; fewer where no weak learner is better than chance. A round adds ``w v_k h(x)`` to every
        F_k, h from the oracle and the code v in {-1, +1}^n_classes: the best pair of both up to 5 classes, for which
        the bound of stumps is proven; above, h is priced with 16 random codes, and each h that is found gets the best
        code for it.
    random_state : int, RandomState instance or None
        Seed of random codes, and of an oracle that samples.

    Attributes
    ----------
    weights_ : ndarray of shape (n_weak_learners, n_classes)
        Their votes for the classes: w v, summed over the rounds.
    intercept_ : ndarray of shape (n_classes,)
        0.
    dual_weights_ : ndarray of shape (n_samples, n_classes)
        The weights of the pairs, with sum 1, of the round that proves the bound; 0 where there is no pair.
    """

    certified: ClassVar[str] = "the smallest margin of the votes"
    one_by_one: ClassVar[bool] = False

    _: KW_ONLY
    n_rounds: int = 200

    def _most_rounds(self, sample: Sample) -> int:
        return validation.whole("n_rounds", self.n_rounds)

    def _oracle(self, sample: Sample, pairs: Pairs) -> CodedOracle:
        random = validation.generator(self.random_state)
        seed = int(random.integers(2**31))
        return CodedOracle(make_oracle(self.oracle, sample, random_state=seed, square_sum=False), pairs, random)

    def _vote(self, hypotheses: Sequence[Any], weights: Array, sample: Sample) -> Attributes:
        n_classes = len(sample.classes)
        summed: dict[Hypothesis, Array] = {}
        for coded, weight in zip(hypotheses, weights.tolist(), strict=True):
            summed[coded.hypothesis] = summed.get(coded.hypothesis, np.zeros(n_classes)) + weight * np.array(coded.code)
        W = np.array(list(summed.values())).reshape(len(summed), n_classes)
        return {"weak_learners_": tuple(summed), "weights_": W, "intercept_": np.zeros(n_classes)}

    def _to_scores(self, F: Array) -> Array:
        return (F[:, 1] - F[:, 0]) / 2 if len(self.classes_) == 2 else F


@final
@estimator
class AdaBoostMHClassifier(CodedBoosting):
    """AdaBoost.MH: coordinate descent on sum_i sum_k exp(-Y_ik F_k(x_i)), Y_ik = 1 for the class of x_i and -1 else.

    Schapire & Singer (1999), one of the peers of SL's Table III. Two classes are AdaBoost. To weigh classes, weigh
    their samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostMHClassifier(n_rounds=50).fit(X, y)
    >>> model.score(X, y) > 0.97, model.weights_.shape[1], 0 < model.certificate_.dual < 1
    (True, 3, True)
    """

    source: ClassVar[str] = "Schapire & Singer 1999; SL Table III"

    def _pairs(self, sample: Sample) -> Pairs:
        return Pairs.from_labels(sample.labels, len(sample.classes))


@final
@estimator
class AdaBoostECCClassifier(CodedBoosting):
    """AdaBoost.ECC: coordinate descent on sum_i sum_{k != y_i} exp(-(F_{y_i}(x_i) - F_k(x_i)) / 2).

    Guruswami & Sahai (1999), one of the peers of SL's Table III. A round colours the classes by a code, which is random
    as printed. Two classes are AdaBoost.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostECCClassifier(n_rounds=50).fit(X, y)
    >>> model.score(X, y) > 0.97, model.weights_.shape[1], 0 < model.certificate_.dual < 1
    (True, 3, True)
    """

    source: ClassVar[str] = "Guruswami & Sahai 1999; SL Table III"

    def _pairs(self, sample: Sample) -> Pairs:
        return Pairs.from_differences(sample.labels, len(sample.classes))

    @staticmethod
    def _link(F: Array) -> Array:
        """Return the probabilities of raw scores."""
        return softmax(F, axis=1)
