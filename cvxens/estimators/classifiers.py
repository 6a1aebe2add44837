"""Classifiers by column generation: one formulation each, over any weak learners, with a certificate over all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, final
from warnings import warn

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.colgen import Formulation, Hypothesis, Master, Oracle, Priced, Run, column_generation, formulations
from cvxens.colgen.all_columns import solve_over_all
from cvxens.colgen.masters import LeastSquaresMaster, NewtonMaster
from cvxens.colgen.protocols import OracleOver, declared, with_signs
from cvxens.errors import InvalidInput, SolverFailed, SolverFallbackWarning
from cvxens.estimators.base import (
    REMEDIES,
    Attributes,
    Classifier,
    estimator,
    is_open,
    link_exponential,
    rounds_of,
    time_limit,
    warn_of,
)
from cvxens.estimators.constraints import check_constraints, refuse_bounds
from cvxens.estimators.ensembles import SOLVERS, Ensemble, OfAnyFormulation, average
from cvxens.estimators.prices import Choice, choose_better
from cvxens.estimators.samples import OracleFactory, Sample, Weighted
from cvxens.limits import Ending, limit_time, time_left
from cvxens.problems import simplex_codes
from cvxens.problems.losses import Exponential, Hinge
from cvxens.problems.penalties import L1
from cvxens.types import Array

SLACK_PRICE = 100.0
"""The default sum of the prices of slack, of all samples, in LL08 P4, of classes that are not rare."""

LARGE = 10**7
"""Entries of H from which on least squares is solved over all hypotheses at once. On 20,000 images of MNIST and 5,939
stumps, 800 columns in 40 seconds had an objective 36 % above the optimum, which this is within 1e-3 of in 10."""


def price_slack(total: float, positive: float) -> float:
    """Return the default price of slack of samples with these weights, in all and of the class +1.

    The rarer a class is, the less all of its slack costs, and the fewer weak learners pay: of each of 26 letters
    against the rest, 1,000 samples, the ensemble errs on 0.63 of the others at 100 over all weights, on 0.30 at this.
    """
    return float(SLACK_PRICE / np.sqrt(total * min(total, 4 * positive, 4 * (total - positive))))


@final
@estimator
class LPBoostClassifier(Ensemble, Classifier):
    """LPBoost by column generation (DBS02): max rho - sum_i D_i xi_i, y_i sum_j a_j h_j(x_i) + xi_i >= rho, sum a = 1.

    The price is ``D_i = 1/(nu n_samples)``. With `C` the same model is solved as LL08 P4, min sum w + C sum xi with
    margins of 1, which is the faster way for large samples. The weights are sparse: few of the weak learners are in the
    ensemble.

    Parameters
    ----------
    nu : float or "auto", optional
        In (0, 1]. At most this share of the samples has a margin below rho. The smaller it is, the longer it takes.
        There is a margin above 0 where nu is larger than the least mean hinge loss of all ensembles, however large
        their weights are; otherwise the optimum is 0, which says nothing of a sample, and a warning names a nu that is
        larger. If the margin is near 0 and a limit ends the fit, or the margin is not above 0, the ensemble at the
        default price is taken where it is right on more of the samples, and certified at this nu.
        "auto" chooses nu by cross-validation along the path of LL08 P4: of the optimum U at the price C that scores
        best, nu is U over C times the sum of the sample weights, at which the two are the same model.
    C : float or "auto", optional
        The price of a unit of slack in LL08 P4, in place of `nu`; "auto" chooses it by cross-validation along the path.
        If neither is given, 100 over the sum of the sample weights, which is n_samples without weights; 50 over the
        root of that times the weight of the rarer class, where this is less than a quarter of all.

    Attributes
    ----------
    nu_ : float or None
        nu, given or chosen; None with a price C.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier().fit(X, y)
    >>> model.certificate_.holds(1e-3), model.score(X, y) > 0.97
    (True, True)
    """

    source: ClassVar[str] = "DBS02; LL08 P4; SL (4)-(6)"

    nu_: float | None = field(init=False)
    nu: float | str | None = None
    _: KW_ONLY
    C: float | str | None = None
    oracle: str | OracleFactory = "stumps"
    class_weight: object = None
    n_jobs: int | None = None

    def _check(self, sample: Sample) -> None:
        super()._check(sample)
        if is_open("nu", self.nu):
            found = "beside nu='auto', but its limits are in units of the scores"
            refuse_bounds(self.constraints, {"scores", "weights"}, found, "give a number, or C='auto'")
        if self.nu is not None and self.C is not None:
            raise InvalidInput("nu", f"found {self.nu!r} beside C = {self.C!r}", "give one of the two")

    def _adapt(self, choice: Choice, sample: Sample) -> Choice:
        if self.nu is None:
            return choice
        at = copy(self)
        at.nu, at.C = None, choice.params["C"]
        formulation = at._formulation(sample)
        run = at._run(sample, formulation, at._oracle(sample, formulation), choice.learners)
        run = run if choice.run is None else choose_better(run, choice.run, formulation.sense)
        # LL08 P4 of the optimum U is LPBoost at the price D = C / U of a unit of slack (DBS02), and D = 1 / (nu sum)
        nu = min(1.0, float(run.certificate.primal / (at.C * sample.weights.sum())))
        learners, total, known = [column.hypothesis for column in run.columns], float(run.weights.sum()), None
        if total > 0:
            at.nu, at.C = nu, None
            formulation = at._formulation(sample)
            scaled = replace(run, weights=run.weights / total, intercept=run.intercept / total, u=run.u / run.u.sum())
            known = average(formulation, at._oracle(sample, formulation), sample, scaled, [scaled])
        return replace(choice, params={"nu": nu}, learners=learners, run=known)

    def _fit(self, sample: Sample, formulation: Formulation, oracle: Oracle, start: Sequence[Hypothesis]) -> Run:
        if self.nu is None or any(one.bounds != "learners" for one in check_constraints(self.constraints)):
            return super()._fit(sample, formulation, oracle, start)
        # the rest is for a fit at the default price
        with limit_time(0.9 * time_left()):
            run = super()._fit(sample, formulation, oracle, start)
        found = run.certificate
        near_0 = max(abs(found.primal), abs(found.dual)) < found.size
        if not near_0 or run.ending is Ending.INTERRUPTED or (run.ending not in REMEDIES and found.primal > 0):
            return run
        return self._prefer(run, sample, formulation, oracle)

    def _prefer(self, run: Run, sample: Sample, formulation: Formulation, oracle: Oracle) -> Run:
        """Return the run, with other weights if these are right on more samples, and name a nu that has a margin.

        The others are of the default price, which takes a moment, and of the best weak learner alone. With h the mean
        of max(0, 1 - z_i) at margins z of any size, the soft margin of these weights is above 0 at every nu above h.
        """
        y, weights, found = sample.signs, sample.weights / sample.weights.sum(), run.certificate
        alone = oracle.price(y * weights).columns[:1]
        at_default = formulations.soft_margin(price_slack(1.0, weights[y > 0].sum()) * weights)
        coarse = column_generation(at_default, oracle, y, tol=1e-2, max_columns=self.max_columns)
        tried = [run, coarse, replace(run, columns=alone, weights=np.ones(len(alone)))]
        zero, pairs = np.zeros(len(y)), [zip(one.columns, one.weights, strict=True) for one in tried]
        scores = [sum((w * column.values for column, w in of_one), zero) for of_one in pairs]
        right = [float(weights @ ((f > 0) == (y > 0))) for f in scores]
        if (best := int(np.argmax(right))) > 0:
            member = replace(tried[best], weights=tried[best].weights / tried[best].weights.sum())
            run = average(formulation, oracle, sample, run, [member])
        least, nu = np.ceil(100 * min(_least_mean_hinge(y * f, weights) for f in scores)) / 100, self.nu
        none = f"no ensemble was found with a soft margin above 0 at nu = {nu:g}, and none is above {found.dual:.2g}"
        if found.primal <= 0 and least < 1:
            warn_of(self, none, f"raise nu, as from {least:g} on there is one, or leave it out")
        if best > 0:
            reached = f"a relative gap of {run.certificate.relative_gap:.3g}, which are right on more samples"
            warn_of(self, f"the weights are those of the default price, of {reached}", "raise nu, or leave it out")
        return run

    def _usual_price(self, sample: Sample) -> float | None:
        return price_slack(sample.weights.sum(), sample.weights[sample.signs > 0].sum()) if self.nu is None else None

    def _appraise(self, sample: Sample, formulation: Formulation, run: Run) -> Attributes:
        return {"nu_": self.nu}

    def _state(self, sample: Sample) -> Formulation:
        if self.nu is None:
            return formulations.soft_margin(self._price(sample) * sample.weights)
        nu = validation.positive("nu", self.nu_ if is_open("nu", self.nu) else self.nu)
        if nu > 1:
            raise InvalidInput("nu", f"found {nu:g}", "give at most 1")
        return formulations.lpboost(sample.weights / (nu * sample.weights.sum()))


def _least_mean_hinge(z: Array, weights: Array) -> float:
    """Return the least weighted mean of max(0, 1 - t z_i) over t >= 0, which is linear between the t = 1/z_i."""
    order = np.argsort(z)
    # its slope at t is minus the sum of the z_i below 1/t
    rises = np.cumsum(weights[order] * z[order]) > 0
    if not rises.any():
        return 1.0
    t = 1 / z[order][np.argmax(rises)]
    return float(weights @ np.maximum(1 - t * z, 0.0))


@dataclass(eq=False, repr=False)
class CGEns(Ensemble):
    """An ensemble of SL: an l2 penalty on the weights, the master solved anew for every weak learner.

    Parameters
    ----------
    min_edge : float, optional
        The epsilon of SL's Algorithms 1 and 2, for these as they are printed: the first weak learner is the best one
        under equal multipliers; then one enters per round, or `columns_per_round`, and every master is solved to the
        end; the fit is done when no new weak learner has an edge of `min_edge`, or at `max_columns` (J_max), whatever
        the gap, and `tol` is not looked at. Equal multipliers violate y'alpha = 0, or 1'U = 0, an error of the print
        that makes a difference to the first weak learner alone: for several classes that is the constant one. Without
        it: ours, where the start satisfies these, several weak learners enter per round, and the gap ends the fit.
    """

    _exact_master: ClassVar[Callable[[Formulation, Array], Master]]
    """Solves every master to the end."""

    _: KW_ONLY
    min_edge: float | None = None
    class_weight: object = None

    def _oracle(self, sample: Weighted, formulation: Formulation, **more: object) -> Oracle:
        per_round = 1 if self.columns_per_round is None and self.min_edge is not None else self.columns_per_round
        return super()._oracle(sample, formulation, columns_per_round=per_round, **more)

    def _fit(self, sample: Sample, formulation: Formulation, oracle: Oracle, start: Sequence[Hypothesis]) -> Run:
        if self.min_edge is None:
            return super()._fit(sample, formulation, oracle, start)
        min_edge, solver = validation.positive("min_edge", self.min_edge), self._check_solver()
        if not start:
            # SL (6) with alpha_i in proportion to C_i, and (13) with U_it so
            u = sample.weights
            s = np.outer(u, np.ones(formulation.outputs or 1)) if formulation.on_scores else sample.signs * u
            start = [column.hypothesis for column in with_signs(oracle).price(s).columns]
        master = self._exact_master if solver == "fast" else SOLVERS[solver]
        return self._run(
            sample,
            formulation,
            oracle,
            start,
            master=master,
            min_edge=min_edge,
            # no gap but that of the optimum to the last bit ends it, and no number of rounds
            tol=float(np.finfo(float).tiny),
            max_rounds=10**9,
            patience=10**9,
        )


@final
@estimator
class CGEnsClassifier(CGEns, Classifier):
    """CGEns (SL): min 1/2 w'w + C sum_i xi_i, y_i (sum_j w_j h_j(x_i) + b) >= 1 - xi_i, over all weak learners.

    Run to the end it is the support vector machine whose kernel is ``sum_j h_j(x) h_j(x')``. The gap of the optimum
    over the weak learners found so far is ``1/2 sum edge_h^2`` over all others h (SL (9) and Claim IV.1, where the sign
    is an error); the one of the largest |edge|, SL (8), takes the largest term away. The l2 penalty wants all
    hypotheses, so over the infinitely many or the n_samples n_features middle stumps ("stumps") a small gap takes about
    as many columns; the default set is finite and small.

    Parameters
    ----------
    C : float or "auto"
        Price of a unit of slack, in proportion to 1 over the number of hypotheses; "auto" chooses it by
        cross-validation along the path.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CGEnsClassifier(C=0.1).fit(X, y)
    >>> [certificate.holds(1e-3) for certificate in model.certificate_], model.score(X, y) > 0.9
    ([True, True, True], True)
    """

    source: ClassVar[str] = "SL Algorithm 1, (1), (8)"
    _exact_master: ClassVar[Callable[..., Master]] = partial(NewtonMaster, share=0.0)

    C: float | str = 0.01
    _: KW_ONLY
    oracle: str | OracleFactory = "quantile_stumps"
    n_jobs: int | None = None

    def _state(self, sample: Sample) -> Formulation:
        return formulations.svm(self._price(sample) * sample.weights)


@final
@estimator
class CGEnsSLSClassifier(CGEns, Classifier):
    """CGEns-SLS (SL): min 1/2 |W|^2 + C/2 |L - H W - 1 b'|^2, a simplex code per class, over all weak learners.

    All classes are learnt at once, with the same weak learners, and every master has a closed form. Scores are the
    inner products with the codes, l + 1 vectors in R^l (SL (14), (15)). A sample's weight is a factor on its C.

    As with `CGEnsClassifier` the l2 penalty wants a finite set of hypotheses, and its optimum has nearly all of them.
    Over the default one, of numeric features, samples times hypotheses from 10,000,000 on are solved for all weights at
    once, unless `columns_per_round`, `max_columns`, `min_edge` or `warm_start` ask for columns one after another. The
    infinitely many or n_samples n_features stumps ("stumps") are not: there 500 columns for 20,000 samples or more are
    a heuristic, with a relative gap of about 1 and a ConvergenceWarning that says so.

    Parameters
    ----------
    C : float or "auto"
        Weight of the squared error. In proportion to 1 over the number of hypotheses.

    Attributes
    ----------
    weights_ : ndarray of shape (n_weak_learners, n_classes - 1)
        Their weights W.
    intercept_ : ndarray of shape (n_classes - 1,)
        b.
    dual_weights_ : ndarray of shape (n_samples, n_classes - 1)
        U; the bound is from it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CGEnsSLSClassifier(C=0.1).fit(X, y)
    >>> model.certificate_.holds(1e-3), model.score(X, y) > 0.9
    (True, True)
    """

    source: ClassVar[str] = "SL Algorithm 2, (10)-(15)"
    one_by_one: ClassVar[bool] = False
    _exact_master: ClassVar[Callable[..., Master]] = partial(LeastSquaresMaster, inverse=True)

    C: float | str = 0.01
    _: KW_ONLY
    oracle: str | OracleFactory = "quantile_stumps"

    def _fit(self, sample: Sample, formulation: Formulation, oracle: Oracle, start: Sequence[Hypothesis]) -> Run:
        columns = declared(oracle, "columns")
        if columns is not None and not start and self._wants_all(columns.shape):
            try:
                return self._fit_all(formulation, oracle)
            except SolverFailed as failure:
                warn(f"{failure.attempts[0].message}; generated columns", SolverFallbackWarning, stacklevel=4)
        return super()._fit(sample, formulation, oracle, start)

    def _wants_all(self, shape: tuple[int, int]) -> bool:
        """Return True where all columns at once take less time, and no parameter asks for some after others."""
        one_by_one = self.min_edge is not None or self.columns_per_round is not None or self._check_solver() != "fast"
        fits = self.max_columns is None or validation.whole("max_columns", self.max_columns) >= shape[1]
        return fits and not one_by_one and shape[0] * shape[1] >= LARGE

    def _fit_all(self, formulation: Formulation, oracle: Any) -> Run:
        with rounds_of(self) as rounds, limit_time(time_limit(self)):
            rounds.begin()
            run = solve_over_all(formulation, oracle, validation.positive("tol", self.tol))
            told = f"relative gap {run.certificate.relative_gap:.2g}, all {len(run.columns)} columns"
            rounds.end(told, lambda: self._ensemble_of(formulation, run.columns, run.weights, run.intercept, dict))
        return run

    def _state(self, sample: Sample) -> Formulation:
        codes, prices = simplex_codes(len(sample.classes)), self._price(sample) * sample.weights
        return formulations.simplex_least_squares(codes[sample.labels], prices)

    @property
    def codes_(self) -> Array:
        """The code of every class, (n_classes, n_classes - 1): scores are the inner products with them."""
        check_is_fitted(self)
        return simplex_codes(len(self.classes_))

    def _to_scores(self, F: Array) -> Array:
        scores = F @ self.codes_.T
        return scores[:, 1] if len(self.classes_) == 2 else scores


def soft_margin(weights: Array) -> Formulation:
    """Return LL08 P4 with an intercept; prices of slack of 100 in sum, in proportion to the weights of the samples."""
    return Formulation(Hinge(SLACK_PRICE * weights / weights.sum()), L1(), intercept=True, nonnegative=True)


@final
@estimator
class ColumnGenerationClassifier(OfAnyFormulation, Classifier):
    """Any formulation, a loss on margins and a penalty on weights, over any weak learners.

    Parameters
    ----------
    formulation : Formulation, or callable
        The problem; or, if its prices are to follow the weights of the samples, a function from these, (n_samples,) and
        above 0, to it. It has one margin per sample. By default P4 with an intercept and prices of 100 in sum. Where it
        says by `decide` how variables of its own act on new samples, that is what `decision_function` returns.

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

    source: ClassVar[str] = "any formulation; by default LL08 P4"

    formulation: Formulation | Callable[[Array], Formulation] = soft_margin
    oracle: str | OracleFactory = "stumps"
    _: KW_ONLY
    class_weight: object = None
    n_jobs: int | None = None

    def _merges(self) -> bool:
        return callable(self.formulation)

    def _state(self, sample: Sample) -> Formulation:
        given: Any = self.formulation
        formulation = given(sample.weights) if callable(given) and not isinstance(given, type) else given
        if not isinstance(formulation, Formulation):
            raise InvalidInput("formulation", f"found {formulation!r}", "give a Formulation, or a function to one")
        if formulation.on_scores:
            remedy = "use CGEnsSLSClassifier, or a loss on margins"
            raise InvalidInput("formulation", "found one on scores, which does not know the classes", remedy)
        if not callable(given) and np.ptp(sample.weights):
            remedy = "give a function from the weights, (n_samples,), to a Formulation"
            raise InvalidInput("formulation", "found one of fixed prices for samples of differing weights", remedy)
        return formulation


class EveryClass(OracleOver):
    """Prices every class by itself; a round adds the best hypotheses of all, at most `most` together."""

    def __init__(self, oracle: Oracle, most: int | None) -> None:
        super().__init__(oracle)
        self.most, self.largest = most, declared(oracle, "largest")

    def price(self, s: Array, exclude: Collection[Hypothesis] = ()) -> Priced:
        # nothing is excluded, as a class may lack a hypothesis that another one has
        answers = [self.oracle.price(of_class) for of_class in s.T]
        found = sorted((column for priced in answers for column in priced.columns), key=lambda column: column.edge)
        best = {column.hypothesis: column for column in found}
        columns = sorted(best.values(), key=lambda column: -column.edge)
        return Priced(columns[: self.most], max(priced.edge_bound for priced in answers))


@final
@estimator
class MultiBoostClassifier(Ensemble, Classifier):
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

    Of two classes, min sum |w| + C sum_i exp(-y_i sum_j w_j h_j(x_i)): the loss of AdaBoost with an l1 penalty.

    Parameters
    ----------
    C : float or "auto", optional
        Weight of the loss of a sample. The larger, the more weak learners; by default 300 over the sum of the sample
        weights, which is n_samples without weights.

    Attributes
    ----------
    weights_ : ndarray of shape (n_weak_learners, n_classes) or (n_weak_learners,)
        Their weights W; of two classes w.
    intercept_ : ndarray of shape (n_classes,) or ()
        0.
    dual_weights_ : ndarray of shape (n_samples, n_classes) or (n_samples,)
        U; the bound is from it. Of two classes, the weights of the samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultiBoostClassifier().fit(X, y)
    >>> model.certificate_.holds(1e-3), model.score(X, y) > 0.97, model.weights_.shape[1]
    (True, True, 3)
    """

    source: ClassVar[str] = "Shen & Hao 2011; SL Table III"
    one_by_one: ClassVar[bool] = False

    C: float | str | None = None
    _: KW_ONLY
    oracle: str | OracleFactory = "stumps"
    class_weight: object = None

    @staticmethod
    def _link(F: Array) -> Array:
        """Return the probabilities of raw scores."""
        # their logarithm is 2 F_k(x) and a constant where the loss is least
        return softmax(2 * F, axis=1) if F.ndim > 1 else link_exponential(F)

    def _oracle(self, sample: Weighted, formulation: Formulation, **more: object) -> Oracle:
        oracle = super()._oracle(sample, formulation, **more)
        return oracle if formulation.outputs is None else EveryClass(oracle, self.columns_per_round)

    def _usual_price(self, sample: Sample) -> float:
        return float(300.0 / sample.weights.sum())

    def _state(self, sample: Sample) -> Formulation:
        prices = self._price(sample) * sample.weights
        if len(sample.classes) == 2:
            return Formulation(Exponential(prices), L1())
        return formulations.multiboost(prices, sample.labels)
