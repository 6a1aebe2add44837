"""What boosting of several classes at once shares: AdaBoost on pairs of samples and classes."""

from __future__ import annotations

from abc import abstractmethod
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.colgen import Boosted, boosting_steps, gathered
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.coded import CodedOracle, Pairs
from cvxens.estimators.sample import Accepts, Sample
from cvxens.estimators.votes import Vote
from cvxens.estimators.weak_learners import OracleFactory, accepts, make_oracle
from cvxens.types import Array


class CodedBoosting(Vote, Weighted, Classifier):
    """F(x) = sum_j w_j h_j(x), with a vote w_jk of every weak learner for every class.

    Parameters
    ----------
    oracle, n_rounds, random_state
        As the estimators document them.
    """

    multi: ClassVar[bool] = True

    def __init__(
        self, oracle: str | OracleFactory = "stumps", *, n_rounds: int = 200, random_state: Any = None
    ) -> None:
        self.oracle = oracle
        self.n_rounds = n_rounds
        self.random_state = random_state

    @abstractmethod
    def _pairs(self, labels: NDArray[np.intp], n_classes: int) -> Pairs:
        """The pairs of samples and classes whose exponential loss is boosted."""

    @abstractmethod
    def _probabilities(self, F: Array) -> Array:
        """The probabilities (n_samples, n_classes) at which F has the least loss on average."""

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class that the loss estimates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._accepts().checks())
        return self._probabilities(super()._scores(X))

    def _accepts(self) -> Accepts:
        return accepts(self.oracle)

    def _solve(self, sample: Sample) -> dict[str, Any]:
        n_rounds = validation.whole("n_rounds", self.n_rounds)
        pairs = self._pairs(sample.labels, len(sample.classes))
        random = validation.generator(self.random_state)
        seed = int(random.integers(2**31))
        oracle = make_oracle(self.oracle, sample.X, columns_per_round=None, random_state=seed, square_sum=False)
        coded = CodedOracle(oracle, sample.X, pairs, random)
        steps = boosting_steps(coded, pairs.signs, prior=pairs.spread(sample.weights))
        with threadpool_limits(1, "blas"):
            boosted = gathered(islice(steps, n_rounds), len(pairs.signs))
        learners, weights = votes(boosted, len(sample.classes))
        return {
            "certificate_": boosted.certificate,
            "history_": boosted.history,
            "weak_learners_": learners,
            "weights_": weights,
            "intercept_": np.zeros(len(sample.classes)),
            "dual_weights_": sample.spread(pairs.table(boosted.u)),
        }

    def _scores(self, X: Any) -> Array:
        F = super()._scores(X)
        return (F[:, 1] - F[:, 0]) / 2 if len(self.classes_) == 2 else F


def votes(boosted: Boosted, n_classes: int) -> tuple[tuple[Any, ...], Array]:
    """The distinct hypotheses of coded ones, and their votes (n_hypotheses, n_classes)."""
    summed: dict[Any, Array] = {}
    for coded, weight in zip(boosted.hypotheses, boosted.weights.tolist(), strict=True):
        h: Any = coded
        summed[h.hypothesis] = summed.get(h.hypothesis, np.zeros(n_classes)) + weight * np.array(h.code)
    return tuple(summed), np.array(list(summed.values())).reshape(len(summed), n_classes)
