"""Any scikit-learn classifier that takes sample weights as a weak learner."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from cvxens.colgen.oracles.pool import best_first, evaluated
from cvxens.colgen.protocols import Priced
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, FittedClassifier, Hypothesis
from cvxens.types import Array
from cvxens.validation import generator, signed_weights


class SklearnLearner:
    """A scikit-learn classifier as a weak learner: fitted to the labels sign(s) with the weights abs(s).

    The edge of h is ``sum abs(s)`` less twice its weighted training error, which the classifier makes small
    in its own way: a heuristic, so `edge_bound` is inf. A classifier worse than chance is negated. The
    weights are scaled to an average of 1, so that regularisation means what it means without weights.

    Parameters
    ----------
    estimator : classifier
        Its `fit` takes `sample_weight`; it is cloned, never fitted itself.
    X : array-like or data frame, n_samples rows
        Whatever the classifier fits.
    random_state : int, Generator or None
        Every fit gets a new seed derived from it in each `random_state` parameter of the classifier; None
        leaves these parameters alone.

    Raises
    ------
    InvalidInput
        If the estimator is no classifier, or its `fit` takes no `sample_weight`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> learner = SklearnLearner(DecisionTreeClassifier(max_depth=1), [[0.0], [1.0], [2.0]])
    >>> column, = learner.price(np.array([-0.5, 0.25, 0.25])).columns
    >>> column.edge, column.hypothesis([[0.1], [0.9]])
    (1.0, array([-1.,  1.]))
    """

    source = "scikit-learn"

    def __init__(self, estimator: Any, X: Any, *, random_state: Any = None) -> None:
        if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
            raise InvalidInput("estimator", f"found {estimator!r}", "give an instance of a scikit-learn classifier")
        if not has_fit_parameter(estimator, "sample_weight"):
            raise InvalidInput(
                "estimator",
                f"found {type(estimator).__name__}, whose fit takes no sample_weight",
                "give a classifier that can be fitted to weighted samples",
            )
        self.estimator = estimator
        self.X = X
        if np.ndim(X) == 0 and not hasattr(X, "shape"):
            raise InvalidInput("X", f"found {X!r:.100}", "give samples, (n_samples, n_features)")
        self.n_samples = np.shape(X)[0]
        self._random = None if random_state is None else generator(random_state)

    @property
    def sample(self) -> Any:
        """What its hypotheses are evaluated on."""
        return self.X

    def price(self, s: Any, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Fit one classifier per output to signed weights s = y u.

        Parameters
        ----------
        s : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Finite. An output of one sign is answered by the constant, one of zeros by nothing.

        exclude : collection of Hypothesis
            Ignored: a learner finds what it finds, and a run leaves out what it has.

        Returns
        -------
        Priced
            At most one column per output. If all of `s` is zero: none, with the bound 0.
        """
        s = signed_weights(s, self.n_samples)
        if not s.any():
            return Priced((), 0.0, 0.0)
        fitted = (self._fit(output) for output in s.T if output.any())
        return Priced(best_first((evaluated(hypothesis, self.X, s) for hypothesis in fitted), s.shape[1]))

    def _fit(self, output: Array) -> Hypothesis:
        if output.min() >= 0 or output.max() <= 0:
            return Constant(1 if output.max() > 0 else -1)
        weights = np.abs(output) * (len(output) / np.abs(output).sum())
        estimator = clone(self.estimator).set_params(**self._seeds())
        return FittedClassifier(estimator.fit(self.X, np.where(output < 0, -1, 1), sample_weight=weights))

    def _seeds(self) -> dict[str, int]:
        if self._random is None:
            return {}
        names = sorted(self.estimator.get_params(deep=True))
        seeded = [name for name in names if name.split("__")[-1] == "random_state"]
        return {name: int(self._random.integers(2**31)) for name in seeded}
