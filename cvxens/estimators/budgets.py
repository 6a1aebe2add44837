"""Ensembles within a budget of features: sum_j use(h_j) |w_j| <= at_most, where a hypothesis uses what it looks at.

With a multiplier pi >= 0 of the budget and an l1 penalty of the size lam, the dual function is

    D(pi) = min over w of loss + lam sum_j |w_j| + pi (sum_j use_j |w_j| - at_most),

the optimum of an l1 penalty of its own price for each hypothesis, less pi at_most: a run over `Costed` hypotheses,
whose certified bound bounds the optimum within the budget for any pi. An ensemble that such a run ends with says how D
goes on from there, at most along a line of the slope ``use - at_most``. So pi is where the lines of two ensembles meet,
one above the budget and one within it, until the one between them that just meets the budget costs no more than D says
(Kelley 1960, in one dimension). Objective and use are convex, so that there is one between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Column, Hypothesis, Run
from cvxens.colgen.oracles import Costed
from cvxens.errors import InvalidInput
from cvxens.estimators.constraints import Generation, RunConstraint
from cvxens.estimators.samples import Weighted, offers
from cvxens.estimators.sides import check_limit
from cvxens.estimators.votes import find_shares
from cvxens.hypotheses import Constant, Scaled
from cvxens.problems.penalties import L1
from cvxens.rounding import EPSILON
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class Spent:
    """An ensemble, its objective without the budget, and what it uses of that."""

    hypotheses: tuple[Hypothesis, ...]
    w: Array
    b: Array
    certificate: Certificate  # without the budget: its primal value is what counts
    use: float


def solve_within(of: Generation, start: Sequence[Hypothesis], at_most: float, prices: Array) -> tuple[Run, float]:
    """Solve a problem within a budget; returns the run, whose certificate counts it, and the budget's multiplier."""
    penalty = of.formulation.terms[1]
    if not isinstance(penalty, L1):
        found = f"found a FeatureBudget with the penalty {type(penalty).__name__}, whose weights have no price each"
        raise InvalidInput("constraints", found, "give a formulation with an l1 penalty, such as LPBoost's with C")
    lam, use, oracle = penalty.edge_limit, measure_use(prices), of.make_oracle()
    itself_priced = offers(of.factory, "costs")

    def spend(hypotheses: Sequence[Hypothesis], w: Array, b: Array, u: Array) -> Spent:
        used = float(np.abs(w) @ np.array([use(h) for h in hypotheses])) if len(hypotheses) else 0.0
        certified = (hypotheses, u, w) if hypotheses else ((Constant(1),), u, np.zeros(1))
        return Spent(tuple(hypotheses), w, b, of.certify(*certified, b), used)

    def run_at(pi: float, known: Sequence[Hypothesis]) -> tuple[Run, Spent, float]:
        """Return a run at a multiplier, its ensemble in the weights of the hypotheses themselves, and D."""
        rate = pi / lam
        costed = Costed(oracle, lambda hypothesis: 1 + rate * use(hypothesis), least=1.0)
        # stumps know costs of features themselves
        priced = of.make_oracle(costs=1 + rate * prices) if itself_priced else costed
        run = of.generate(priced, [costed.scale(h) for h in known])
        plain = [c.hypothesis.hypothesis if isinstance(c.hypothesis, Scaled) else c.hypothesis for c in run.columns]
        factors = [c.hypothesis.factor if isinstance(c.hypothesis, Scaled) else 1.0 for c in run.columns]
        bound = run.certificate.dual - pi * at_most
        bound -= 4 * EPSILON * (abs(run.certificate.dual) + pi * at_most)
        return run, spend(plain, run.weights * np.array(factors), run.intercept, run.u), bound

    run = of.generate(oracle, start)
    if run.variables:
        found = f"found a FeatureBudget with variables of the formulation, {', '.join(run.variables)}"
        raise InvalidInput("constraints", found, "give a formulation without any")
    free = spend([column.hypothesis for column in run.columns], run.weights, run.intercept, run.u)
    if free.use <= at_most:
        return run, 0.0
    history, above, within = list(run.history), free, None
    best: tuple[float, float, Run] = (run.certificate.dual, 0.0, run)
    pi, meeting, certificate = lam, None, run.certificate
    # each run ends a piece of a function of pi, of which a handful matter
    for _ in range(60):
        run, spent, bound = run_at(pi, above.hypotheses if within is None else (*above.hypotheses, *within.hypotheses))
        history += run.history
        if run.certificate.proven and bound > best[0]:
            best = bound, pi, run
        if spent.use > at_most:
            above = spent
        else:
            within = spent
        if within is None:
            pi *= 8.0
            # up to 7e10 times the price of a weight: what weights are then still left are digits of a solver
            if pi < lam * 8.0**12:
                continue
            # a solver leaves something of every weight: at such a price nothing that uses features is worth its weight
            uses = np.array([use(h) for h in above.hypotheses])
            within = spend(above.hypotheses, np.where(uses > 0, 0.0, above.w), above.b, best[2].u)
            if not np.isfinite(within.certificate.primal):
                break
        meeting = _meet(above, within, at_most, best[2].u, spend)
        certificate = certify_within(meeting.certificate, meeting.use, at_most, best[0], best[2].certificate)
        # where the lines of both meet
        next_pi = (within.certificate.primal - above.certificate.primal) / (above.use - within.use)
        if certificate.holds(of.tol) or not best[2].certificate.proven or abs(next_pi - pi) <= 8 * EPSILON * abs(pi):
            break
        pi = max(next_pi, 0.0)
    if meeting is None:
        found = f"found a FeatureBudget of {at_most:g}, within which no ensemble was found"
        raise InvalidInput("constraints", found, "give a larger one, or features that cost nothing")
    columns = [Column(hypothesis, oracle.sample, 0.0) for hypothesis in meeting.hypotheses]
    point: dict[str, Any] = {"columns": columns, "weights": meeting.w, "intercept": meeting.b, "u": best[2].u}
    return replace(best[2], certificate=certificate, history=tuple(history), proof=None, **point), best[1]


def _meet(
    above: Spent,
    within: Spent,
    at_most: float,
    u: Array,
    spend: Callable[[Sequence[Hypothesis], Array, Array, Array], Spent],
) -> Spent:
    """Return the ensemble between two others that just meets the budget, to the last digit."""
    share = (at_most - within.use) / (above.use - within.use)
    weights: dict[Hypothesis, float] = {}
    for part, ensemble in ((share, above), (1 - share, within)):
        for hypothesis, w in zip(ensemble.hypotheses, ensemble.w.tolist(), strict=True):
            weights[hypothesis] = weights.get(hypothesis, 0.0) + part * w
    kept = {hypothesis: w for hypothesis, w in weights.items() if w}
    w, b = np.array(list(kept.values())), share * above.b + (1 - share) * within.b
    found = spend(tuple(kept), w, b, u)
    # sums of as many terms are off by as many roundings
    room = 1 - 4 * (len(w) + 2) * EPSILON
    return found if found.use <= at_most * room else spend(tuple(kept), w * (at_most * room / found.use), b, u)


def certify_within(
    without: Certificate, use: float, at_most: float, bound: float, of_bound: Certificate
) -> Certificate:
    """Certify an ensemble by its certificate without the budget, its use, and a bound within it, of some run."""
    excess = max(use - at_most, 0.0) / (1 + at_most)
    return Certificate.between(
        without.primal,
        bound,
        residuals={**of_bound.residuals, "primal feasibility": excess},
        repair=without.repair,
        rounding=(without.rounding or 0.0) + (of_bound.rounding or 0.0),
        proven=(of_bound.proven or bool(of_bound.condition)) and excess == 0,
        condition=of_bound.condition,
        note=f"{of_bound.note}, by a multiplier of the budget" if excess == 0 else "the budget is exceeded",
    )


def measure_use(prices: Array) -> Callable[[Any], float]:
    """Return the function from hypotheses to the sum of the prices of the features that they look at."""
    known: dict[Any, float] = {}

    def use(hypothesis: Hypothesis) -> float:
        if hypothesis not in known:
            try:
                features = find_shares(hypothesis)[0]
            except AttributeError:
                found = f"found a FeatureBudget for a {type(hypothesis).__name__}, whose features are not known"
                raise InvalidInput("constraints", found, "take stumps, trees or rules") from None
            known[hypothesis] = float(prices[np.unique(features)].sum())
        return known[hypothesis]

    return use


@dataclass(frozen=True)
class FeatureBudget(RunConstraint):
    """The weights of the weak learners, times the prices of the features that each looks at, add up to at most so much.

    ``sum_j use(h_j) |w_j| <= at_most``, with the price of each feature of h_j in `use`: what is dear to measure has a
    small part in the scores, and none where that is not worth it. It is no bound on how many features are used, which
    is not convex. Of formulations with an l1 penalty, such as LPBoost with `C`, a number, and as the only constraint.
    Over "stumps" a run is as fast as without; other weak learners are asked for again until no other is better for its
    price (`cvxens.colgen.oracles.Costed`), which is for small samples: the certificate says what that leaves open.

    Parameters
    ----------
    at_most : float
        The budget, 0 or above, in units of weights times prices. With 0 only features without a price are used.
    prices : mapping of features to float, optional
        The prices, 0 or above, of features by name or index; others have none. By default all have the price 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(C=0.01, constraints=[FeatureBudget(0.5)]).fit(X, y)
    >>> used = sum(w for h, w in zip(model.weak_learners_, model.weights_) if hasattr(h, "feature"))
    >>> bool(used <= 0.5), model.certificate_.holds(1e-3), model.prices_["feature budget"] > 0
    (True, True, True)
    """

    at_most: float
    prices: Mapping[Any, float] | None = None

    def solve(self, of: Generation, start: Sequence[Hypothesis]) -> tuple[Run, dict[str, float]]:
        """Return the last of several runs, with weights within the budget, and the multiplier of that."""
        at_most = check_limit(self, least=0.0)
        run, price = solve_within(of, start, at_most, self.list_prices(of.sample))
        return run, {"feature budget": price}

    def certify(self, of: Generation, hypotheses: Sequence[Hypothesis], weights: Any, intercept: Any) -> Certificate:
        """Certify an ensemble by the bound of a run within the budget, and by what it uses of that."""
        run, _ = self.solve(of, hypotheses)
        use = measure_use(self.list_prices(of.sample))
        given = of.certify(hypotheses, run.u, weights, intercept)
        used = float(np.abs(weights) @ np.array([use(hypothesis) for hypothesis in hypotheses]))
        return certify_within(given, used, self.at_most, run.certificate.dual, run.certificate)

    def list_prices(self, sample: Weighted) -> Array:
        """Return the price of every feature, (n_features,)."""
        n_features = sample.X.shape[1]
        if self.prices is None:
            return np.ones(n_features)
        found = np.zeros(n_features)
        validation.instance("constraints", self.prices, Mapping)
        for feature, price in self.prices.items():
            value = validation.number("constraints", price)
            if not value >= 0:
                raise InvalidInput("constraints", f"found a price of {value:g}", "give prices of 0 or above")
            found[validation.feature_index("constraints", feature, sample.names, n_features)] = value
        return found
