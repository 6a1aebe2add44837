"""LPBoost: the largest soft margin, certified over all weak learners."""

from __future__ import annotations

from typing import Any, final

from cvxens import validation
from cvxens.colgen import Formulation, formulations
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.fitting.sample import Sample
from cvxens.estimators.fitting.weak_learners import OracleFactory
from cvxens.estimators.voting.ensemble import Ensemble

PRICE = 100.0
"""The default sum of all prices of LL08 P4."""


@final
@documented
class LPBoostClassifier(Ensemble, Weighted, Classifier):
    """LPBoost by column generation (DBS02): max rho - sum_i D_i xi_i, y_i sum_j a_j h_j(x_i) + xi_i >= rho, sum a = 1.

    The price is ``D_i = 1/(nu n_samples)``. With `C` the same model is solved as LL08 P4, min sum w + C sum xi with
    margins of 1, which is the faster way for large samples. The weights are sparse: few of the weak learners are in the
    ensemble. To weigh classes, weigh their samples.

    Parameters
    ----------
    nu : float, optional
        In (0, 1]. At most this share of the samples has a margin below rho. The smaller it is, the longer it takes.
    C : float, optional
        The price of a unit of slack in LL08 P4, in place of `nu`. If neither is given, 100 over the sum of the
        sample weights, which is n_samples without weights.
    <COLUMN_GENERATION>
    <SUB_PROBLEMS>

    Attributes
    ----------
    <ENSEMBLE>
    <TWO_CLASS_ENSEMBLE>
    <CLASSES>

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier().fit(X, y)
    >>> model.certificate_.holds(1e-3), model.score(X, y) > 0.97
    (True, True)
    """

    source = "DBS02; LL08 P4"

    def __init__(
        self,
        nu: float | None = None,
        *,
        C: float | None = None,
        oracle: str | OracleFactory = "stumps",
        columns_per_round: int | None = None,
        tol: float = 1e-3,
        max_columns: int | None = None,
        max_time: float | None = None,
        solver: str = "fast",
        warm_start: bool = False,
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
        self.nu = nu
        self.C = C
        self.multi_class = multi_class
        self.n_jobs = n_jobs

    def _formulation(self, sample: Sample) -> Formulation:
        if self.nu is None:
            price = PRICE / sample.weights.sum() if self.C is None else validation.positive("C", self.C)
            return formulations.soft_margin(price * sample.weights)
        if self.C is not None:
            raise InvalidInput("nu", f"found {self.nu!r} beside C = {self.C!r}", "give one of the two")
        nu = validation.positive("nu", self.nu)
        if nu > 1:
            raise InvalidInput("nu", f"found {nu:g}", "give at most 1")
        return formulations.lpboost(sample.weights / (nu * sample.weights.sum()))
