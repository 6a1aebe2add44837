"""Any formulation over any weak learners, as a classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from cvxens.colgen import Formulation
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.fitting.sample import Sample
from cvxens.estimators.fitting.weak_learners import OracleFactory
from cvxens.estimators.voting.ensemble import Ensemble
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1
from cvxens.types import Array


def soft_margin(weights: Array) -> Formulation:
    """LL08 P4 with an intercept; prices of slack of 100 in sum, in proportion to the weights of the samples."""
    return Formulation(Hinge(100 * weights / weights.sum()), L1(), intercept=True, nonnegative=True)


@final
@documented
class ColumnGenerationClassifier(Ensemble, Weighted, Classifier):
    """Any formulation, a loss on margins and a penalty on weights, over any weak learners.

    Parameters
    ----------
    formulation : Formulation, or callable
        The problem; or, if its prices are to follow the weights of the samples, a function from these, (n_samples,) and
        above 0, to it. It has one margin per sample. By default P4 with an
        intercept and prices of 100 in sum.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens.problems.losses import SquaredHinge
    >>> from cvxens.problems.penalties import SquaredL2
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> squared_hinge = Formulation(SquaredHinge(0.01), SquaredL2(), intercept=True)
    >>> model = ColumnGenerationClassifier(squared_hinge, "quantile_stumps").fit(X, y)
    >>> model.score(X, y) > 0.95, model.certificate_.holds(1e-3)
    (True, True)
    """

    source = "any formulation; by default LL08 P4"

    def __init__(
        self,
        formulation: Formulation | Callable[[Array], Formulation] = soft_margin,
        oracle: str | OracleFactory = "stumps",
        *,
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
        self.formulation = formulation
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.n_jobs = n_jobs

    def _merges(self) -> bool:
        return callable(self.formulation)

    def _formulation(self, sample: Sample) -> Formulation:
        given: Any = self.formulation
        formulation = given(sample.weights) if callable(given) and not isinstance(given, type) else given
        if isinstance(formulation, type) or not hasattr(formulation, "terms"):
            raise InvalidInput("formulation", f"found {formulation!r}", "give a Formulation, or a function to one")
        if formulation.outputs is not None:
            raise InvalidInput(
                "formulation", "found one with several outputs", "use CGEnsSLSClassifier, or a loss on margins"
            )
        if not callable(given) and np.ptp(sample.weights):
            raise InvalidInput(
                "formulation",
                "found one of fixed prices for samples of differing weights",
                "give a function from the weights, (n_samples,), to a Formulation",
            )
        return formulation
