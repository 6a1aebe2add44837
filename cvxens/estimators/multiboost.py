"""MultiBoost: the exponential loss of several classes, over all weak learners, with a certificate."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.colgen import Formulation, Hypothesis, Oracle, Priced, formulations
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.fitting.audit import Task
from cvxens.estimators.fitting.links import normalised
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.fitting.sample import Sample
from cvxens.estimators.fitting.weak_learners import OracleFactory
from cvxens.estimators.voting.ensemble import Ensemble
from cvxens.problems.losses import Exponential
from cvxens.problems.penalties import L1
from cvxens.types import Array

PRICE = 300.0
"""The default sum of the weights of the losses of all samples."""


@dataclass(frozen=True, eq=False)
class EveryClass:
    """Prices every class by itself: a round has the best hypotheses of each, not only of the class with the best.

    Parameters
    ----------
    oracle : Oracle
        Prices one output.
    most : int or None
        At most so many hypotheses a round.
    """

    oracle: Oracle
    most: int | None

    @property
    def sample(self) -> Any:
        """The sample of the oracle."""
        return self.oracle.sample

    def price(self, s: Array, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Price under signed weights (n_samples, n_classes); nothing is excluded, as a class may lack a hypothesis."""
        answers = [self.oracle.price(of_class) for of_class in s.T]
        found = sorted((column for priced in answers for column in priced.columns), key=lambda column: column.edge)
        best = {column.hypothesis: column for column in found}
        columns = sorted(best.values(), key=lambda column: -column.edge)
        return Priced(columns[: self.most], max(priced.edge_bound for priced in answers))


@final
@documented
class MultiBoostClassifier(Ensemble, Weighted, Classifier):
    """MultiBoost: fully corrective boosting of several classes at once, by the exponential loss.

    Shen & Hao (2011), one of the peers of SL's Table III. All classes share the weak learners h_j, and each has weights
    of its own: F_k(x) = sum_j W_jk h_j(x). The problem is

        min sum |W| + C sum_i sum_{k != y_i} exp(-(F_{y_i}(x_i) - F_k(x_i))).

    Every round sets all weights anew. With weights v_ik >= 0 of the pairs of a sample and another class, and U_ik =
    -v_ik, U_{i y_i} = sum_k v_ik, the dual problem is

        max -sum (v_ik ln(v_ik / C) - v_ik) with |sum_i U_ik h(x_i)| <= 1 for every h and every class k,

    so the pricing rule is the largest edge over all h and k, and from any v, divided by the largest edge if that
    exceeds 1, there is a bound; at the optimum v_ik = C exp(F_k - F_{y_i}).

    The paper has W >= 0, which is the same where with every h there is -h, and minimises the logarithm of the sum of
    exponentials, with a weight nu of the penalty. A minimum of that, with a sum S, is the one for C = 1/(nu S), as
    gradients are in proportion; but where classes are separable and nu is small, the logarithm has none.

    Of two classes, min sum |w| + C sum_i exp(-y_i sum_j w_j h_j(x_i)): the loss of AdaBoost with an l1 penalty. To
    weigh classes, weigh their samples.

    Parameters
    ----------
    C : float, optional
        Weight of the loss of a sample. The larger, the more weak learners; by default 300 over the sum of the sample
        weights, which is n_samples without weights.
    <COLUMN_GENERATION>

    Attributes
    ----------
    <ENSEMBLE>
    weights_ : ndarray of shape (n_weak_learners, n_classes) or (n_weak_learners,)
        Their weights W; of two classes w.
    intercept_ : ndarray of shape (n_classes,) or ()
        0.
    dual_weights_ : ndarray of shape (n_samples, n_classes) or (n_samples,)
        U; the bound is from it. Of two classes, the weights of the samples.
    <CLASSES>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultiBoostClassifier().fit(X, y)
    >>> model.certificate_.holds(1e-3), model.score(X, y) > 0.97, model.weights_.shape[1]
    (True, True, 3)
    """

    source = "Shen & Hao 2011; SL Table III"

    multi: ClassVar[bool] = True

    def __init__(
        self,
        C: float | None = None,
        *,
        oracle: str | OracleFactory = "stumps",
        columns_per_round: int | None = None,
        tol: float = 1e-3,
        max_columns: int | None = None,
        max_time: float | None = None,
        solver: str = "fast",
        warm_start: bool = False,
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

    @documented
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class: its logarithm is 2 F_k(x) and a constant where the loss is least.

        <PROBABILITIES>
        """
        check_is_fitted(self)
        F = self.decision_function(X)
        return softmax(2 * F, axis=1) if F.ndim > 1 else normalised(2 * F[:, None])

    def _problem(self, sample: Sample) -> Task:
        task = super()._problem(sample)
        return task if task.y is not None else replace(task, oracle=EveryClass(task.oracle, self.columns_per_round))

    def _formulation(self, sample: Sample) -> Formulation:
        price = PRICE / sample.weights.sum() if self.C is None else validation.positive("C", self.C)
        prices = price * sample.weights
        if len(sample.classes) == 2:
            return Formulation(Exponential(prices), L1())
        return formulations.multiboost(prices, sample.labels)
