"""CGEns: the support vector machine over explicit weak learners, by column generation."""

from __future__ import annotations

from typing import Any, final

from cvxens import validation
from cvxens.colgen import Formulation, formulations
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.fitting.sample import Sample
from cvxens.estimators.fitting.weak_learners import OracleFactory
from cvxens.estimators.voting.ensemble import Ensemble


@final
@documented
class CGEnsClassifier(Ensemble, Weighted, Classifier):
    """CGEns (SL): min 1/2 w'w + C sum_i xi_i, y_i (sum_j w_j h_j(x_i) + b) >= 1 - xi_i, over all weak learners.

    Run to the end it is the support vector machine whose kernel is ``sum_j h_j(x) h_j(x')``. The l2 penalty wants all
    hypotheses, so over the infinitely many or the n_samples n_features middle stumps ("stumps") a small gap takes
    about as many columns; the default set is finite and small.

    Parameters
    ----------
    C : float
        Price of a unit of slack. In proportion to 1 over the number of hypotheses.
    <COLUMN_GENERATION>
    <CLASS_WEIGHT>
    <SUB_PROBLEMS>

    Attributes
    ----------
    <ENSEMBLE>
    <TWO_CLASS_ENSEMBLE>
    <CLASSES>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CGEnsClassifier(C=0.1).fit(X, y)
    >>> [certificate.holds(1e-3) for certificate in model.certificate_], model.score(X, y) > 0.9
    ([True, True, True], True)
    """

    source = "SL (1)"

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
        multi_class: str = "ovr",
        n_jobs: int | None = None,
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
        self.multi_class = multi_class
        self.n_jobs = n_jobs

    def _formulation(self, sample: Sample) -> Formulation:
        return formulations.svm(validation.positive("C", self.C) * sample.weights)
