"""AdaBoost.ECC: boosting of codes of the classes, by the differences of their scores."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.voting.coded import Pairs
from cvxens.estimators.voting.coded_boosting import CodedBoosting
from cvxens.types import Array


@final
@documented
class AdaBoostECCClassifier(CodedBoosting):
    """AdaBoost.ECC: coordinate descent on sum_i sum_{k != y_i} exp(-(F_{y_i}(x_i) - F_k(x_i)) / 2).

    Guruswami & Sahai (1999), one of the peers of SL's Table III. A round colours the classes by a code v in
    {-1, +1}^n_classes, and adds ``w v_k h(x)`` to every F_k, h from the oracle: the best pair of both up to 5 classes;
    above, h is priced with 16 random codes, and each h that is found gets the best code for it. As printed, a round has
    one random code. Two classes are AdaBoost. To weigh classes, weigh their samples.

    Parameters
    ----------
    <CODED_BOOSTING>

    Attributes
    ----------
    <CODED_ENSEMBLE>
    <CLASSES>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostECCClassifier(n_rounds=50).fit(X, y)
    >>> model.score(X, y) > 0.97, model.weights_.shape[1], 0 < model.certificate_.dual < 1
    (True, 3, True)
    """

    source = "Guruswami & Sahai 1999; SL Table III"

    def _pairs(self, labels: NDArray[np.intp], n_classes: int) -> Pairs:
        return Pairs.of_differences(labels, n_classes)

    def _probabilities(self, F: Array) -> Array:
        return softmax(F, axis=1)
