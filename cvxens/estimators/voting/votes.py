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

        Of two classes, and of sub-problems, which are named in front, a line says for which class the weight votes if
        the test holds; if it does not, it votes for the other one. Of several classes at once, a line has the votes
        for the classes where the test holds; where it does not, all of them change their signs. Trees take several
        lines. Features have the names that `fit` was given, else x[0], x[1], ... (x0, x1, ... in trees).

        Parameters
        ----------
        most : int
            At most so many weak learners; a last line says how many there are beside.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cvxens import AdaBoostMHClassifier, LPBoostClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> y = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
        >>> two = y != "setosa"
        >>> print(LPBoostClassifier().fit(X[two], y[two]).to_text(most=2))
        +1  petal width (cm) >= 1.65 -> virginica
        +1  petal length (cm) >= 4.95 -> virginica
        and 1 more
        >>> print(AdaBoostMHClassifier(n_rounds=3).fit(X, y).to_text())
        -0.858178 setosa, -0.858178 versicolor, -0.858178 virginica  always
        -0.755758 setosa, -0.755758 versicolor, +0.755758 virginica  if petal length (cm) >= 4.75
        -0.626381 setosa, +0.626381 versicolor, +0.626381 virginica  if petal length (cm) >= 2.45
        """
        check_is_fitted(self)
        return tables.text(self, most)
