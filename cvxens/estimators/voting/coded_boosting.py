"""What boosting of several classes at once shares: AdaBoost on pairs of samples and classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import boosting_steps
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.fitting.audit import shaped
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.fitting.progress import time_limit
from cvxens.estimators.fitting.sample import Accepts, Sample
from cvxens.estimators.fitting.weak_learners import OracleFactory, accepts, make_oracle
from cvxens.estimators.voting.boosting import boost, certify_margins
from cvxens.estimators.voting.coded import CodedOracle, Pairs
from cvxens.estimators.voting.staged import Staged
from cvxens.types import Array


class CodedBoosting(Staged, Weighted, Classifier):
    """F(x) = sum_j w_j h_j(x), with a vote w_jk of every weak learner for every class.

    Parameters
    ----------
    oracle, n_rounds, random_state, max_time, verbose
        As the estimators document them.
    """

    multi: ClassVar[bool] = True
    certified: ClassVar[str] = "the smallest margin of the votes"

    def __init__(
        self,
        oracle: str | OracleFactory = "stumps",
        *,
        n_rounds: int = 200,
        random_state: Any = None,
        max_time: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.oracle = oracle
        self.n_rounds = n_rounds
        self.random_state = random_state
        self.max_time = max_time
        self.verbose = verbose

    @abstractmethod
    def _pairs(self, labels: NDArray[np.intp], n_classes: int) -> Pairs:
        """The pairs of samples and classes whose exponential loss is boosted."""

    @abstractmethod
    def _probabilities(self, F: Array) -> Array:
        """The probabilities (n_samples, n_classes) at which F has the least loss on average."""

    @documented
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class that the loss estimates.

        <PROBABILITIES>
        """
        check_is_fitted(self)
        X = self._accepts().new(self, X)
        return self._probabilities(self._votes(X))

    def _accepts(self) -> Accepts:
        return accepts(self.oracle)

    def _most_rounds(self, sample: Sample) -> int:
        return validation.whole("n_rounds", self.n_rounds)

    def _oracle(self, sample: Sample, pairs: Pairs) -> CodedOracle:
        random = validation.generator(self.random_state)
        seed = int(random.integers(2**31))
        offered: dict[str, Any] = {"random_state": seed, "square_sum": False, "features": sample.features}
        offered |= {"sample_weight": sample.masses, "n_cases": sample.n_given}
        oracle = make_oracle(self.oracle, sample.X, columns_per_round=None, **offered)
        return CodedOracle(oracle, sample.X, pairs, random)

    def _solve(self, sample: Sample) -> dict[str, Any]:
        n_rounds, n_classes = self._most_rounds(sample), len(sample.classes)
        pairs = self._pairs(sample.labels, n_classes)
        steps = boosting_steps(self._oracle(sample, pairs), pairs.signs, prior=pairs.spread(sample.weights))
        voting = partial(votes, n_classes=n_classes)
        boosted = boost(self, steps, n_rounds, len(pairs.signs), voting)
        return {
            **voting(boosted.hypotheses, boosted.weights),
            "certificate_": boosted.certificate,
            "history_": boosted.history,
            "dual_weights_": sample.spread(pairs.table(boosted.u)),
        }

    @documented
    def certify(self, X: Any, y: Any, *, sample_weight: Any = None, weights: Any = None) -> Certificate:
        """Say how far the margin of the ensemble, or of other votes of its weak learners, is from the largest.

        Where no margin over the pairs of a sample and a class is negative, the largest one is found anew for the bound,
        to a relative gap of 0.001 or for `max_time` seconds; elsewhere the bound is the largest edge under equal
        weights of the pairs. Votes W_j of a weak learner, one for each class, count max_k |W_jk|: codes with weights of
        that sum make them. Of weights of samples it knows but 0.

        Parameters
        ----------
        <CERTIFIED_SAMPLE>
        weights : array-like, shaped as `weights_`, optional
            Votes from anywhere; by default the ensemble's.

        Returns
        -------
        Certificate
            Of the largest margin on that sample, over all weak learners of the oracle on it and all codes; proven for
            stumps and up to 5 classes.
        """
        sample = self._sample_again(X, y, sample_weight)
        W = self.weights_ if weights is None else shaped("weights", weights, self.weights_.shape)
        pairs = self._pairs(sample.labels, len(sample.classes))
        F = np.zeros((len(sample.labels), len(sample.classes)))
        for h, w in zip(self.weak_learners_, W, strict=True):
            F += np.multiply.outer(h(sample.X), w)
        size, oracle = float(np.abs(W).max(axis=1).sum()), self._oracle(sample, pairs)
        return certify_margins(pairs.margins(F), size, oracle, pairs.signs, time_limit(self))

    def _of_outputs(self, F: Array) -> Array:
        return (F[:, 1] - F[:, 0]) / 2 if len(self.classes_) == 2 else F


def votes(hypotheses: Sequence[Any], weights: Array, n_classes: int) -> dict[str, Any]:
    """The fitted attributes of coded hypotheses with weights: each hypothesis once, with its votes for the classes."""
    summed: dict[Any, Array] = {}
    for coded, weight in zip(hypotheses, weights.tolist(), strict=True):
        summed[coded.hypothesis] = summed.get(coded.hypothesis, np.zeros(n_classes)) + weight * np.array(coded.code)
    return {
        "weak_learners_": tuple(summed),
        "weights_": np.array(list(summed.values())).reshape(len(summed), n_classes),
        "intercept_": np.zeros(n_classes),
    }
