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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cvxens.certificates import Certificate
from cvxens.colgen import Column, Formulation, Hypothesis, Oracle, Run
from cvxens.errors import InvalidInput
from cvxens.estimators.votes import find_shares
from cvxens.hypotheses import Scaled
from cvxens.problems.penalties import L1
from cvxens.rounding import EPSILON
from cvxens.types import Array

MOST_RUNS = 60
"""Runs until a budget is given up: each ends a piece of a function of pi, of which a handful matter."""

GROWTH = 8.0
"""The factor of pi from run to run while ensembles are above the budget."""

MOST_GROWTHS = 12
"""How often pi grows, to 7e10 times the price of a weight: what weights are then still left are digits of a solver."""


@dataclass(frozen=True, eq=False)
class Spent:
    """An ensemble, its objective without the budget, and what it uses of that."""

    hypotheses: tuple[Hypothesis, ...]
    w: Array
    b: Array
    certificate: Certificate  # without the budget: its primal value is what counts
    use: float


def solve_within(
    formulation: Formulation,
    oracle: Oracle,
    charge: Callable[[float], tuple[Oracle, Callable[[Any], Any]]],
    use: Callable[[Any], float],
    at_most: float,
    solve: Callable[[Oracle, Sequence[Hypothesis]], Run],
    certify: Callable[[Sequence[Hypothesis], Array, Array, Array], Certificate],
    tol: float,
) -> tuple[Run, float]:
    """Solve a formulation within a budget; returns the run, whose certificate counts it, and the budget's multiplier.

    `charge` returns the oracle whose hypotheses cost ``1 + rate use`` each, and what divides one by its cost; `solve`
    runs over an oracle from hypotheses to start with, and `certify` evaluates hypotheses, weights, intercept
    and multipliers on the sample.
    """
    penalty = formulation.terms[1]
    if not isinstance(penalty, L1):
        found = f"found a FeatureBudget with the penalty {type(penalty).__name__}, whose weights have no price each"
        raise InvalidInput("constraints", found, "give a formulation with an l1 penalty, such as LPBoost's with C")
    lam = penalty.edge_limit

    def spend(hypotheses: Sequence[Hypothesis], w: Array, b: Array, u: Array) -> Spent:
        used = float(np.abs(w) @ np.array([use(h) for h in hypotheses])) if len(hypotheses) else 0.0
        return Spent(tuple(hypotheses), w, b, certify(hypotheses, w, b, u), used)

    def run_at(pi: float, start: Sequence[Hypothesis]) -> tuple[Run, Spent, float]:
        """Return a run at a multiplier, its ensemble in the weights of the hypotheses themselves, and D."""
        costed, scale = charge(pi / lam)
        run = solve(costed, [scale(h) for h in start])
        plain = [c.hypothesis.hypothesis if isinstance(c.hypothesis, Scaled) else c.hypothesis for c in run.columns]
        factors = [c.hypothesis.factor if isinstance(c.hypothesis, Scaled) else 1.0 for c in run.columns]
        bound = run.certificate.dual - pi * at_most
        bound -= 4 * EPSILON * (abs(run.certificate.dual) + pi * at_most)
        return run, spend(plain, run.weights * np.array(factors), run.intercept, run.u), bound

    run = solve(oracle, ())
    if run.variables:
        found = f"found a FeatureBudget with variables of the formulation, {', '.join(run.variables)}"
        raise InvalidInput("constraints", found, "give a formulation without any")
    free = spend([column.hypothesis for column in run.columns], run.weights, run.intercept, run.u)
    if free.use <= at_most:
        return run, 0.0
    history, above, within = list(run.history), free, None
    best: tuple[float, float, Run] = (run.certificate.dual, 0.0, run)
    pi, meeting, certificate = lam, None, run.certificate
    for _ in range(MOST_RUNS):
        run, spent, bound = run_at(pi, above.hypotheses if within is None else (*above.hypotheses, *within.hypotheses))
        history += run.history
        if run.certificate.proven and bound > best[0]:
            best = bound, pi, run
        if spent.use > at_most:
            above = spent
        else:
            within = spent
        if within is None:
            pi *= GROWTH
            if pi < lam * GROWTH**MOST_GROWTHS:
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
        if certificate.holds(tol) or not best[2].certificate.proven or abs(next_pi - pi) <= 8 * EPSILON * abs(pi):
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

    def use(hypothesis: Any) -> float:
        if hypothesis not in known:
            try:
                features = find_shares(hypothesis)[0]
            except AttributeError:
                found = f"found a FeatureBudget for a {type(hypothesis).__name__}, whose features are not known"
                raise InvalidInput("constraints", found, "take stumps, trees or rules") from None
            known[hypothesis] = float(prices[np.unique(features)].sum())
        return known[hypothesis]

    return use
