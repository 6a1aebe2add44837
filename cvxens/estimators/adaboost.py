"""AdaBoost and AdaBoost*_nu on any oracle, certified by the largest margin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, ClassVar, final

import numpy as np

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Hypothesis, Oracle, boosting_steps, round_bound
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.fitting.audit import shaped
from cvxens.estimators.fitting.links import ExponentialLink
from cvxens.estimators.fitting.multiclass import certify_parts, combined
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.fitting.progress import time_limit
from cvxens.estimators.fitting.sample import Accepts, Sample
from cvxens.estimators.fitting.weak_learners import OracleFactory, accepts, make_oracle
from cvxens.estimators.voting.boosting import boost, certify_margins
from cvxens.estimators.voting.staged import Staged
from cvxens.types import Array

N_ROUNDS = 200
"""The default number of rounds of AdaBoost without a nu."""


def vote(hypotheses: Sequence[Hypothesis], weights: Array) -> Mapping[str, Any]:
    """The fitted attributes of an ensemble for two classes."""
    return {"weak_learners_": tuple(hypotheses), "weights_": weights, "intercept_": np.zeros(())}


@final
@documented
class AdaBoostClassifier(ExponentialLink, Staged, Weighted, Classifier):
    """AdaBoost: coordinate descent on the exponential loss, the best weak learner of the oracle a round.

    Freund & Schapire (1997). Its certificate says how far its smallest margin is from the largest that the weak
    learners allow: AdaBoost need not come near it, so no fit warns of the gap. With `nu` it is AdaBoost*_nu (Raetsch &
    Warmuth, JMLR 6, 2005), which does, to within nu. Sample weights are the first round's; to weigh classes, weigh
    their samples.

    Parameters
    ----------
    oracle : str or callable
        The weak learners, with values within [-1, 1]: "stumps" (all middle stumps), "quantile_stumps" (at most 32 per
        feature), "perceptrons", "fourier", "trees", or a function from X to an oracle. Stumps take sparse X; trees take
        NaN, and data frames with columns of categories, strings or booleans, whose values `features_` then lists.
    n_rounds : int, optional
        At most so many rounds; by default 200, with `nu` as many as its guarantee needs. Fewer after a perfect weak
        learner, or where none is better than chance.
    nu : float, optional
        Precision of the margin of AdaBoost*_nu, above 0 and below 1; None for AdaBoost.
    <SUB_PROBLEMS>
    random_state : int, RandomState instance or None
        Seed of an oracle that samples.
    <LIMITS>

    Attributes
    ----------
    certificate_ : Certificate
        Of the largest margin, ``max_a min_i y_i (H a)_i`` over weights a >= 0 with sum 1: `primal` is the smallest
        margin of the ensemble, `dual` a bound on that of every vote. A `primal` below 0 says that the ensemble does not
        separate the classes, which soft margins are for: `LPBoostClassifier`.
    history_ : tuple of BoostingRound
        Hypothesis, edge, weight and loss, round by round.
    weak_learners_ : tuple of Hypothesis
        Functions from X to (n_samples,); each once.
    weights_ : ndarray of shape (n_weak_learners,)
        Their weights w, above 0. One weak learner without errors has the weight 1, and is alone.
    intercept_ : ndarray of shape ()
        0.
    dual_weights_ : ndarray of shape (n_samples,)
        The weights of the samples, with sum 1, of the round that proves the bound.
    decomposition_ : OneVsRestClassifier or OneVsOneClassifier
        Of more than two classes only; each of the six attributes above is then a list over the sub-problems.
    <CLASSES>

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

    source = "Freund & Schapire 1997; Raetsch & Warmuth 2005; LL08 P3"
    certified: ClassVar[str] = "the smallest margin of the vote"

    def __init__(
        self,
        oracle: str | OracleFactory = "stumps",
        *,
        n_rounds: int | None = None,
        nu: float | None = None,
        multi_class: str = "ovr",
        n_jobs: int | None = None,
        random_state: Any = None,
        max_time: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.oracle = oracle
        self.n_rounds = n_rounds
        self.nu = nu
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.max_time = max_time
        self.verbose = verbose

    def _accepts(self) -> Accepts:
        return accepts(self.oracle)

    def _most_rounds(self, sample: Sample) -> int:
        if self.n_rounds is not None:
            return validation.whole("n_rounds", self.n_rounds)
        return N_ROUNDS if self.nu is None else round_bound(len(sample.labels), self.nu)

    def _oracle(self, sample: Sample) -> Oracle:
        return make_oracle(
            self.oracle,
            sample.X,
            columns_per_round=None,
            random_state=self.random_state,
            square_sum=False,
            features=sample.features,
            sample_weight=sample.masses,
            n_cases=sample.n_given,
        )

    def _solve(self, sample: Sample) -> dict[str, Any]:
        nu, n_samples = self.nu, len(sample.labels)
        if nu is not None:
            round_bound(n_samples, nu)
        target = {} if nu is None else {"target": lambda smallest_edge: smallest_edge - nu}
        steps = boosting_steps(self._oracle(sample), sample.signs, prior=sample.weights, **target)
        boosted = boost(self, steps, self._most_rounds(sample), n_samples, vote)
        return {
            **vote(boosted.hypotheses, boosted.weights),
            "certificate_": boosted.certificate,
            "history_": boosted.history,
            "dual_weights_": sample.spread(boosted.u),
        }

    @documented
    def certify(
        self, X: Any, y: Any, *, sample_weight: Any = None, weights: Any = None
    ) -> Certificate | list[Certificate]:
        """Say how far the margin of the ensemble, or of other weights of its weak learners, is from the largest.

        Where the ensemble separates the classes, the largest margin is found anew on that sample for the bound, to a
        relative gap of 0.001 or for `max_time` seconds; elsewhere the bound is the largest edge under equal weights of
        the samples. Of weights of samples it knows but 0.

        Parameters
        ----------
        <CERTIFIED_SAMPLE>
        weights : array-like, shaped as `weights_`, optional
            Weights from anywhere; a negative one is that of -h. By default the ensemble's.

        Returns
        -------
        Certificate or list of Certificate
            Of the largest margin on that sample, over all weak learners of the oracle on it. A list over the
            sub-problems where there are several, for which weights are a list.
        """
        sample = self._sample_again(X, y, sample_weight)
        weights = self.weights_ if weights is None else weights
        if hasattr(self, "decomposition_"):
            return certify_parts(self, sample, weights=weights)
        w = shaped("weights", weights, self.weights_.shape)
        f = sum((v * h(sample.X) for h, v in zip(self.weak_learners_, w, strict=True)), np.zeros(len(sample.labels)))
        return certify_margins(
            sample.signs * f, float(np.abs(w).sum()), self._oracle(sample), sample.signs, time_limit(self)
        )

    def _staged(self, X: Any) -> Iterator[Array]:
        if not hasattr(self, "decomposition_"):
            yield from super()._staged(X)
            return
        X = self._accepts().new(self, X)
        parts = [part.staged_decision_function(X) for part in self.decomposition_.estimators_]
        # before its first round, and where it has none, a sub-problem has no say
        scores = [np.zeros(X.shape[0]) for _ in parts]
        for after in zip_longest(*parts):
            scores = [before if new is None else new for before, new in zip(scores, after, strict=True)]
            yield np.stack(scores, axis=1)

    def _of_outputs(self, F: Array) -> Array:
        several = hasattr(self, "decomposition_")
        return combined(self.multi_class, F, len(self.classes_)) if several else F
