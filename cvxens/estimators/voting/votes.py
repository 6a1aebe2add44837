"""A weighted vote of weak learners: its scores, and what it tells of itself."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cvxens.estimators.voting import tables
from cvxens.types import Array


class Vote:
    """f(x) = b + sum_j w_j h_j(x), of one score or of several; for a `Classifier`."""

    fitted: ClassVar[tuple[str, ...]] = (
        "certificate_",
        "history_",
        "weak_learners_",
        "weights_",
        "intercept_",
        "dual_weights_",
    )
    weak_learners_: Any
    weights_: Any
    intercept_: Any

    def _scores(self, X: Any) -> Array:
        return self._of_outputs(self._votes(X))

    def _of_outputs(self, F: Array) -> Array:
        """The scores of `decision_function` from the sums of votes; linear."""
        return F

    def _votes(self, X: Any) -> Array:
        """The sums of votes of checked samples, (n_samples,) or (n_samples, n_outputs)."""
        used = np.flatnonzero(self.weights_.any(axis=tuple(range(1, self.weights_.ndim))))
        scores = np.zeros((X.shape[0], *self.intercept_.shape)) + self.intercept_
        for j in used.tolist():
            scores += np.multiply.outer(self.weak_learners_[j](X), self.weights_[j])
        return scores

    @property
    def feature_importances_(self) -> Array:
        """The share of each feature in the sum of |weights| of the weak learners that look at it, (n_features,).

        A stump's weight is all its feature's. A tree's is divided among its tests, in proportion to the training weight
        that comes to each; that of a classifier of scikit-learn, or of another hypothesis, by its own
        `feature_importances_`, or by the sizes of its `coef_`. Of sub-problems, the mean. Ensembles of hypotheses that
        have neither, such as perceptrons, have no importances.
        """
        check_is_fitted(self)
        return tables.importances(self)

    def to_frame(self) -> Any:
        """Return the ensemble as a pandas data frame, a row per weak learner, the largest weight first.

        Returns
        -------
        pandas.DataFrame
            `problem` (the sub-problem), `hypothesis`, the `weight` (one column per output where there are several),
            and where all weak learners are stumps `feature`, `threshold` and `sign`.

        Raises
        ------
        ImportError
            Without pandas.
        """
        check_is_fitted(self)
        return tables.frame(self)

    def to_text(self, most: int = 20) -> str:
        """Return the ensemble as lines "weight  hypothesis", the `most` largest weights first.

        Trees take several lines. Features have the names that `fit` was given, else x[0], x[1], ... (x0, x1, ... in
        trees).
        """
        check_is_fitted(self)
        return tables.text(self, most)
