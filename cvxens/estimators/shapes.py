"""Constraints of ensembles: shapes, such as monotone features, and side constraints; and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from math import inf, nan
from typing import Any, Self, cast

import numpy as np

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Formulation, Hypothesis, Oracle, Run, column_generation
from cvxens.colgen.oracles import Costed, QuantileStumps, Stumps
from cvxens.errors import InvalidInput
from cvxens.estimators.budgets import certify_within, measure_use, solve_within
from cvxens.estimators.ensembles import Ensemble
from cvxens.estimators.progress import warn_of, with_callbacks
from cvxens.estimators.samples import find_factory, find_feature, label, offers
from cvxens.estimators.sides import Sensitive, SideConstraint, check_constraints, find_budget, hold, state_rows
from cvxens.hypotheses import Constant
from cvxens.limits import OVERRUN, TimeUp, limit_time, time_left
from cvxens.types import Array


@dataclass(eq=False, repr=False)
class Shaped(Ensemble):
    """An ensemble whose score keeps a shape everywhere, not only on samples, and is optimal among all that do.

    Parameters
    ----------
    monotone : mapping of features to +1 or -1, optional
        Features in which the score never falls, +1, or never rises, -1: by name where X has names, or by index. Only
        weak learners that keep this are found, and their weights are 0 or above. With "stumps" and
        "quantile_stumps" and oracles that take `signs`; of two classes, the score is that of the second one. It holds
        to the last bit, as scores are sums of terms that each keep it, added up in one order.
    curvature : mapping of features to +1 or -1, optional
        Features in which the score is convex, +1, or concave, -1, everywhere; with oracle="ramps".
    interactions : collection of groups of features, optional
        Which features may be together in one weak learner, such as ``[("age", "dose"), (2, 3, 4)]``; an empty list for
        none. With oracles that take it, such as "depth_two_trees"; stumps have no interactions.

    Attributes
    ----------
    price_of_constraints_ : tuple of two floats, or None
        How much worse the optimum of the formulation is by these constraints, at least and at most, by the certificates
        of the fit and of another run without them; infinite where it cannot be bounded, None without constraints.
    """

    _: KW_ONLY
    monotone: Mapping[Any, int] | None = None
    curvature: Mapping[Any, int] | None = None
    interactions: Collection[Sequence[Any]] | None = None
    price_of_constraints_: tuple[float, float] | None = field(init=False)

    def _check(self, sample: Any) -> None:
        super()._check(sample)
        for argument, given in (("monotone", self.monotone), ("curvature", self.curvature)):
            if isinstance(given, Mapping) and given and self._n_problems(sample) > 1:
                found = f"found it for {len(sample.classes)} classes, each of which has a score of its own"
                raise InvalidInput(argument, found, "give samples of two classes")
        self._shape(sample)

    def _take_sides(self, formulation: Formulation) -> Formulation:
        """Return a formulation over the weak learners that keep the shape: those of one side have weights w >= 0."""
        argument = "monotone" if self.monotone else "curvature"
        if not (self.monotone or self.curvature):
            return formulation
        if formulation.decide is not None:
            found = "found it with a formulation that decides by variables of its own, which may break it"
            raise InvalidInput(argument, found, "give one without `decide`")
        return replace(formulation, nonnegative=True)

    def _shape(self, sample: Any) -> dict[str, Any]:
        """Return what oracles are offered of the constraints."""
        found: dict[str, Any] = {}
        oracle, n_features = self.oracle, sample.X.shape[1]
        for argument, given, parameter, remedy in (
            ("monotone", self.monotone, "signs", "take 'stumps', 'quantile_stumps', 'pair_rules' or 'ramps'"),
            ("curvature", self.curvature, "curvature", "take 'ramps'"),
        ):
            if given is None:
                continue
            validation.instance(argument, given, Mapping)
            if not given:
                continue
            if not offers(oracle, parameter):
                raise InvalidInput(argument, f"found it with oracle={oracle!r:.100}, which cannot keep it", remedy)
            found[parameter] = np.zeros(n_features)
            for feature, sign in given.items():
                if isinstance(sign, bool) or sign not in {-1, 0, 1}:
                    raise InvalidInput(argument, f"found {sign!r:.100} for {feature!r:.100}", "give +1 or -1")
                place = find_feature(argument, feature, sample.names, n_features)
                if sign and sample.features is not None and sample.features[place].categories is not None:
                    raise InvalidInput(
                        argument, f"found it for {feature!r:.100}, whose levels have no order", "leave it out"
                    )
                found[parameter][place] = sign
        if self.interactions is not None:
            groups = [
                tuple(find_feature("interactions", feature, sample.names, n_features) for feature in group)
                for group in _check_groups(self.interactions)
            ]
            if offers(oracle, "interactions"):
                found["interactions"] = groups
            elif find_factory(oracle) not in {Stumps, QuantileStumps}:
                found_oracle = f"found them with oracle={oracle!r:.100}, which does not take them"
                raise InvalidInput("interactions", found_oracle, "take 'depth_two_trees', 'pair_rules' or 'boxes'")
        return found

    def _appraise(self, sample: Any, formulation: Formulation, run: Run) -> dict[str, Any]:
        """Say of a fit what the constraints have cost."""
        price = self._price_constraints(sample, run) if self._is_constrained(sample) else None
        return {**super()._appraise(sample, formulation, run), "price_of_constraints_": price}

    def _is_constrained(self, sample: Any) -> bool:
        """Return True if the best of all ensembles may break a constraint."""
        return bool(self._shape(sample))

    def _free(self) -> Self:
        """Return a copy without constraints."""
        free = copy(self)
        free.monotone = free.curvature = free.interactions = None
        return free

    def _price_constraints(self, sample: Any, found: Run) -> tuple[float, float]:
        """Solve without the constraints, from the weak learners of the fit, and compare both optima."""
        free = self._free()
        formulation = free._formulation(sample)
        oracle, start = free._oracle(sample, formulation), [column.hypothesis for column in found.columns]
        try:
            run = column_generation(formulation, oracle, label(formulation, sample), tol=free.tol, start=start)
        except TimeUp:
            return 0.0, inf
        return compare_optima(found.certificate, run.certificate, formulation.sense)


@dataclass(eq=False, repr=False)
class Constrained(Shaped):
    """An ensemble that also keeps side constraints, on the scores of its training sample.

    Parameters
    ----------
    constraints : list of side constraints, optional
        On the scores of the training sample, of two classes or of a regression: `EqualMeanScores`, `GroupLoss` and
        `ClassLoss`; or a `FeatureBudget` on the weights. Where no ensemble satisfies them, `fit` raises `Infeasible`
        with the proof.

    Attributes
    ----------
    prices_ : mapping of str to float
        The multiplier of every side constraint, by what it bounds: what the objective would fall by, for each unit that
        the limit is raised by, at first. Those of constraints that hold by themselves are 0, and NaN where
        `max_time` left no time to find them.
    """

    _: KW_ONLY
    constraints: Sequence[SideConstraint] | None = None
    prices_: dict[str, float] = field(init=False)

    # the multiplier of the budget, and what features cost by it, of the copy that fits
    _budget_price = 0.0
    _costs = cast("Array | None", None)

    def _check(self, sample: Any) -> None:
        super()._check(sample)
        if check_constraints(self.constraints) and self._n_problems(sample) > 1:
            found = f"found them for {len(sample.classes)} classes, each of which has a score of its own"
            raise InvalidInput("constraints", found, "give samples of two classes")
        if find_budget(self.constraints, sample) is not None and getattr(self, "C", None) == "auto":
            remedy = "choose C without the budget first, and give the number"
            raise InvalidInput("constraints", "found a FeatureBudget with C='auto'", remedy)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the class says whether sparse matrices or missing values are taken.
        y : array-like of shape (n_samples,)
            Two or more classes of a classifier, numbers of a regressor.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the price of each sample's slack, 0 or above; a sample of weight 0 plays no part.
        sensitive_features : array-like or data frame of shape (n_samples,) or (n_samples, n_columns), optional
            What samples are told apart by in side constraints, and nothing else: weak learners do not see it, and
            predictions do without.

        Returns
        -------
        self
            Fitted; an estimator whose fit fails stays as it was.

        Raises
        ------
        InvalidInput
            Arguments, or parameters of the constructor, that cannot be worked with; it is a ValueError.
        Infeasible
            No ensemble satisfies the side constraints, and multipliers prove it.
        """
        return self._fit_given(X, y, sample_weight=sample_weight, sensitive_features=sensitive_features)

    def _read(self, X: Any, y: Any, *, reset: bool, sensitive_features: Any = None, **given: Any) -> Any:
        # abstract above; the class that this is mixed into says how samples are read
        parent: Any = super()
        sample = parent._read(X, y, reset=reset, **given)
        if sensitive_features is None:
            return sample
        kept = np.flatnonzero(sample.shares)
        return replace(sample, sensitive=Sensitive.read(sensitive_features, len(sample.places)).take(kept))

    def _is_constrained(self, sample: Any) -> bool:
        return bool(self.constraints) or super()._is_constrained(sample)

    def _free(self) -> Self:
        free = super()._free()
        free.constraints = None
        return free

    def _constrain(self, formulation: Formulation, sample: Any) -> Formulation:
        """Return a formulation under shapes and side constraints."""
        if rows := state_rows(check_constraints(self.constraints), sample):
            formulation = hold(formulation, rows, np.ones(1) if formulation.on_scores else sample.signs)
        return self._take_sides(formulation)

    def _offer(self, sample: Any) -> dict[str, Any]:
        offered = super()._offer(sample)
        return offered if self._costs is None else {**offered, "costs": self._costs}

    def _fit(self, sample: Any, formulation: Formulation, oracle: Oracle, start: Sequence[Hypothesis]) -> Run:
        budget = find_budget(self.constraints, sample)
        if budget is None:
            return super()._fit(sample, formulation, oracle, start)
        generate = super()._fit

        def solve(priced: Oracle, known: Sequence[Hypothesis]) -> Run:
            return generate(sample, formulation, priced, (*known, *(start if priced is oracle else ())))

        def certify(hypotheses: Sequence[Hypothesis], w: Any, b: Any, u: Any) -> Certificate:
            if not hypotheses:
                hypotheses, w = (Constant(1),), np.zeros(1)
            return self._certify_at(sample, formulation, oracle, hypotheses, u, w, b)

        def charge(rate: float) -> tuple[Oracle, Callable[[Any], Any]]:
            costed = Costed(oracle, lambda hypothesis: 1 + rate * use(hypothesis), least=1.0)
            if not offers(self.oracle, "costs"):
                return costed, costed.scale
            # stumps know costs of features themselves
            at = copy(self)
            at._costs = 1 + rate * prices
            return at._oracle(sample, formulation), costed.scale

        at_most, prices = budget
        use = measure_use(prices)
        run, price = solve_within(formulation, oracle, charge, use, at_most, solve, certify, self.tol)
        self._budget_price = price
        if not run.certificate.holds(self.tol):
            reached = f"the relative gap within the budget is {run.certificate.relative_gap:.3g}, tol is {self.tol:g}"
            warn_of(self, reached, "take a smaller tol, by which runs meet more closely")
        return run

    def _certify(self, sample: Any, weights: Any, intercept: Any) -> Certificate:
        budget = find_budget(self.constraints, sample)
        if budget is None:
            return super()._certify(sample, weights, intercept)
        # a copy, whose runs leave the fitted attributes as they are
        at = copy(self)
        formulation = at._formulation(sample)
        oracle = at._oracle(sample, formulation)
        run = at._fit(sample, formulation, oracle, at.weak_learners_)
        given = at._certify_at(sample, formulation, oracle, at.weak_learners_, run.u, weights, intercept)
        use = measure_use(budget[1])
        used = float(np.abs(weights) @ np.array([use(hypothesis) for hypothesis in at.weak_learners_]))
        return certify_within(given, used, budget[0], run.certificate.dual, run.certificate)

    def _appraise(self, sample: Any, formulation: Formulation, run: Run) -> dict[str, Any]:
        """Say what every side constraint costs, too."""
        if find_budget(self.constraints, sample) is not None:
            named = {"feature budget": self._budget_price}
        else:
            rows = state_rows(check_constraints(self.constraints), sample)
            loss: Any = formulation.terms[0]
            prices = [nan] * len(rows)
            # a solver may find them, after a run that was cut
            with suppress(TimeUp), limit_time(max(time_left(), 0.0) + OVERRUN, alone=True):
                prices = loss.price(run.u).tolist() if rows else []
            named = {row.name: price for row, price in zip(rows, prices, strict=True)}
        return {**super()._appraise(sample, formulation, run), "prices_": named}


def _check_groups(groups: Any) -> Collection[Sequence[Any]]:
    """Return groups of features, or raise where they are none."""
    kinds = (list, tuple, set, frozenset)
    if isinstance(groups, kinds) and all(isinstance(group, kinds) for group in groups):
        return groups
    remedy = "give groups of features such as [('age', 'dose'), (2, 3)], or None"
    raise InvalidInput("interactions", f"found {groups!r:.100}", remedy)


def compare_optima(constrained: Certificate, free: Certificate, sense: float) -> tuple[float, float]:
    """Bound how much worse one optimum is than another, both of a minimum (`sense` 1) or of a maximum (-1).

    The optimum of a minimum is between the dual and the primal value; what is not proven bounds nothing.

    Examples
    --------
    >>> from cvxens.certificates import Certificate
    >>> loose, tight = (
    ...     Certificate.between(primal, dual, residuals={}, repair={}, rounding=0.0)
    ...     for primal, dual in ((3.0, 2.5), (1.0, 1.0))
    ... )
    >>> compare_optima(loose, tight, 1)
    (1.5, 2.0)
    """
    rounding = (constrained.rounding or 0.0) + (free.rounding or 0.0)
    least = sense * (constrained.dual - free.primal) - rounding if constrained.proven else 0.0
    most = sense * (constrained.primal - free.dual) + rounding if free.proven else inf
    return max(float(least), 0.0), max(float(most), 0.0)
