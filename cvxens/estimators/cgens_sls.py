"""CGEns-SLS: simplex least squares over explicit weak learners, for several classes at once."""

from __future__ import annotations

from typing import Any, ClassVar, final

from cvxens import validation
from cvxens.colgen import Formulation, formulations
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.fitting.sample import Sample
from cvxens.estimators.fitting.weak_learners import OracleFactory
from cvxens.estimators.voting.ensemble import Ensemble
from cvxens.problems import simplex_codes
from cvxens.types import Array


@final
@documented
class CGEnsSLSClassifier(Ensemble, Weighted, Classifier):
    """CGEns-SLS (SL): min 1/2 |W|^2 + C/2 |L - H W - 1 b'|^2, a simplex code per class, over all weak learners.

    All classes are learnt at once, with the same weak learners, and every master has a closed form. A sample's weight
    is a factor on its C. As with `CGEnsClassifier` the l2 penalty wants a finite set of hypotheses.

    Parameters
    ----------
    C : float
        Weight of the squared error. In proportion to 1 over the number of hypotheses.
    <COLUMN_GENERATION>
    <CLASS_WEIGHT>

    Attributes
    ----------
    <ENSEMBLE>
    weights_ : ndarray of shape (n_weak_learners, n_classes - 1)
        Their weights W.
    intercept_ : ndarray of shape (n_classes - 1,)
        b.
    dual_weights_ : ndarray of shape (n_samples, n_classes - 1)
        U; the bound is from it.
    codes_ : ndarray of shape (n_classes, n_classes - 1)
        The code of every class: scores are the inner products with them.
    <CLASSES>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CGEnsSLSClassifier(C=0.1).fit(X, y)
    >>> model.certificate_.holds(1e-3), model.score(X, y) > 0.9
    (True, True)
    """

    source = "SL (10)"

    multi: ClassVar[bool] = True

    def __init__(
        self,
        C: float = 0.01,
        *,
        oracle: str | OracleFactory = "quantile_stumps",
        columns_per_round: int | None = None,
        tol: float = 1e-3,
        max_columns: int | None = None,
        max_time: float | None = None,
        solver: str = "fast",
        warm_start: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            oracle=oracle,
            columns_per_round=columns_per_round,
            tol=tol,
            max_columns=max_columns,
            max_time=max_time,
            solver=solver,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
        )
        self.C = C
        self.class_weight = class_weight

    def _formulation(self, sample: Sample) -> Formulation:
        codes = simplex_codes(len(sample.classes))
        prices = validation.positive("C", self.C) * sample.weights
        return formulations.simplex_least_squares(codes[sample.labels], prices)

    def _known(self, sample: Sample) -> dict[str, Any]:
        return {**super()._known(sample), "codes_": simplex_codes(len(sample.classes))}

    def _of_outputs(self, F: Array) -> Array:
        scores = F @ self.codes_.T
        return scores[:, 1] if len(self.classes_) == 2 else scores
