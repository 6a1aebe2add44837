"""AdaBoost.MH: every class is a question of its own, all are asked at once."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from cvxens.estimators.fitting.links import normalised
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.voting.coded import Pairs
from cvxens.estimators.voting.coded_boosting import CodedBoosting
from cvxens.types import Array


@final
@documented
class AdaBoostMHClassifier(CodedBoosting):
    """AdaBoost.MH: coordinate descent on sum_i sum_k exp(-Y_ik F_k(x_i)), Y_ik = 1 for the class of x_i and -1 else.

    Schapire & Singer (1999), one of the peers of SL's Table III. A round adds ``w v_k h(x)`` to every F_k, h from the
    oracle and the code v in {-1, +1}^n_classes: the best pair of both up to 5 classes; above, h is priced with 16
    random codes, and each h that is found gets the best code for it. Two classes are AdaBoost. To weigh classes, weigh
    their samples.

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
    >>> model = AdaBoostMHClassifier(n_rounds=50).fit(X, y)
    >>> model.score(X, y) > 0.97, model.weights_.shape[1], 0 < model.certificate_.dual < 1
    (True, 3, True)
    """

    source = "Schapire & Singer 1999; SL Table III"

    def _pairs(self, labels: NDArray[np.intp], n_classes: int) -> Pairs:
        return Pairs.of_labels(labels, n_classes)

    def _probabilities(self, F: Array) -> Array:
        return normalised(2 * F)
