"""The master of soft margins and LPBoost over all stumps of a large sample: where to begin, from all stumps at once.

Column generation learns thresholds a few at a time, and its programs cost the number of columns squared, and more: at
20,000 x 10 and nu = 0.3, where the optimum has some 3,000 stumps, the gap was 0.29 after 56 rounds and 40 seconds of a
processor. A first-order method over all stumps at once (`solvers.additive_hinge`) knows neither. What it finds is
priced, evaluated and certified as anything else, and what is left of the gap after it is for the interior-point method
over its stumps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.colgen.masters.linear_masters import InteriorPointMaster
from cvxens.colgen.protocols import MasterSolution, Priced
from cvxens.colgen.restricted import Needs
from cvxens.features import BinnedFeatures
from cvxens.hypotheses import Hypothesis
from cvxens.limits import time_left
from cvxens.problems.formulation import Formulation
from cvxens.problems.linear_dual import LinearDual
from cvxens.solvers.additive_hinge import AdditiveHinge, Lead, StepSums
from cvxens.types import Array

GOALS = (1e-2, 7e-4, 5e-5)
"""Relative gaps down to which the stumps at once are solved for, one after the other: results come soon, then what
a run is usually asked for, 1e-3, less what evaluation adds, and what some are asked for, 1e-4. From there on the
interior-point method takes no longer."""

ALIKE = 4.0
"""The norm of sums of functions above which features are so much alike that the interior-point method begins: 1.2 to 2
on threenorm of 10 to 100 features; 6.8 on MNIST, where all stumps at once take a processor 77 seconds to 1.5e-3."""

MANY, A_FEATURE, WIDE = 400, 40, 0.02
"""Then columns, at least and for each feature, and the relative gap above which all stumps are solved for at once."""


class SetOfSteps(Protocol):
    """An oracle whose set has both stumps of every place of its features."""

    @property
    def constant(self) -> bool:
        """True if the constant belongs to it."""

    @property
    def every_step(self) -> BinnedFeatures | None:
        """The features; None where the set is another one."""

    def make_stumps(self, features: NDArray[np.intp], places: NDArray[np.intp], signs: NDArray[np.intp]) -> list[Any]:
        """Return stumps by feature, place among those where its value changes, and sign; -1 is the constant."""


class AdditiveMaster(InteriorPointMaster):
    """LL08 P4 and LPBoost (DBS02) over all stumps: a first-order method at first, then the interior-point master.

    After the first round, rounds come in pairs: in the first of two the stumps of a better ensemble over all of them
    are handed to the oracle, with multipliers, which it prices; in the second the ensemble is evaluated. After the last
    pair, at a gap of 5e-5, the interior-point method begins anew with these columns. It takes all rounds where columns
    to begin with leave a small gap; and where features are much alike, until it has many columns and still a wide gap.

    Parameters
    ----------
    formulation : Formulation
        The hinge loss with an l1 penalty, or the soft minimum margin on the simplex; w >= 0, no intercept.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1, or ones for scores.
    oracle : SetOfSteps
        The set of stumps, such as `oracles.Stumps`.
    many : int, optional
        The columns from which on all stumps are solved for at once. By default 0, and 400, or 40 for each feature if
        that is more, where features are much alike.

    Examples
    --------
    >>> from cvxens.colgen import column_generation, formulations, oracles
    >>> from cvxens.datasets import make_twonorm
    >>> X, y = make_twonorm(200, 3, random_state=0)
    >>> stumps = oracles.Stumps(X)
    >>> def make(formulation, y):
    ...     return AdditiveMaster(formulation, y, stumps)
    >>> run = column_generation(formulations.lpboost(D=0.02), stumps, y, tol=1e-3, master=make)
    >>> len(run.history), round(run.certificate.primal, 3)
    (5, 0.37)
    """

    source = "Chambolle & Pock 2011; Lu & Yang 2024"
    needs = (
        Needs("linear_dual", "edge_limit", nonnegative=True, intercept=False),
        Needs("linear_dual", "total", nonnegative=True, intercept=False),
    )
    least_samples = 5000

    def __init__(self, formulation: Formulation, y: Array, oracle: SetOfSteps, many: int | None = None) -> None:
        super().__init__(formulation, y)
        self.many = 0 if many is None else validation.whole("many", many, least=0)
        self.most_norm = ALIKE if many is None else inf
        self.oracle = oracle
        self.goals = list(GOALS)
        self.method: AdditiveHinge | None = None
        self.lead: Lead | None = None
        """What is to be evaluated next."""
        self.stumps: list[Hypothesis] = []
        self.is_priced = False
        """True after the first round."""
        self.inherited: Array | None = None
        """The last weights of the columns."""

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        """Return True for margins of one hinge each that are to reach 1, or for the soft minimum of margins."""
        if not super().supports(formulation) or formulation.outputs is not None:
            return False
        dual: LinearDual = cast(Any, formulation.terms[0]).linear_dual
        if formulation.terms[1].total is not None:
            return True
        [first, *others] = dual.hinges
        return dual.is_separable and not others and first.sign > 0 and bool(np.all(np.equal(first.knots, 1.0)))

    def begin_near(self, weights: Mapping[Hypothesis, float], u: Array) -> None:
        """Start near a solution of a similar problem, with its columns: all stumps at once are not wanted then."""
        super().begin_near(weights, u)
        self.goals = []

    def solve(self) -> MasterSolution:
        """Go on with the first-order method, evaluate what it has found, or solve over the columns."""
        if self.lead is not None:
            return self._evaluate(self.lead)
        if self.goals and (self.stumps or self._is_far()):
            return self._advance()
        if self.inherited is not None:
            self._begin()
            column = np.flatnonzero(self.inherited)
            self._enter((np.zeros(len(column), np.intp), column))
            self.inherited = None
        return super().solve()

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        self.is_priced = True
        return super().bound(solution, priced)

    def _is_far(self) -> bool:
        """Return True where there are many columns, and the gap is known to be wide; columns to begin with may do."""
        width, size = self.gap * self.C * self.stack.unit, abs(self.best.objective)
        is_wide = self.is_priced and (size == inf or not width <= WIDE * size)
        return is_wide and self.restricted.n_columns >= self.many

    def _advance(self) -> MasterSolution:
        if self.at is None:
            # weights to show until an ensemble is evaluated
            super().solve()
        if self.method is None:
            features = self.oracle.every_step
            assert features is not None
            self.method = self._start(features)
        # half of the time is left to price, to evaluate and to certify
        goal, time = self.goals[0], time_left()
        lead = self.method.solve(goal, time / 2 if time < inf else -inf, self.most_norm)
        if self.method.norm > self.most_norm:
            self.many, self.most_norm = max(MANY, A_FEATURE * len(self.method.sums.varying)), inf
            return super().solve()
        self.goals.pop(0)
        if lead.gap > goal:
            self.goals = []
        if not len(lead.weights) or not np.isfinite(lead.gap):
            self.goals = []
            return super().solve()
        self.lead = lead
        self.stumps = list(self.oracle.make_stumps(lead.features, lead.places, lead.signs))
        u = self._read_multipliers(lead)
        solution = self.restricted.evaluate({"w": self._pad(self.best.w), "u": u})
        known = set(self.hypotheses)
        also = [stump for stump in self.stumps if stump not in known]
        # whatever their edges are, they are to enter
        return replace(solution, threshold=-inf, exact=False, requested=also)

    def _start(self, features: BinnedFeatures) -> AdditiveHinge:
        """State the problem in units of the weight of the penalty, where it is no game."""
        y, game = self.restricted.y, self.penalty.total is not None
        prices = self.loss.linear_dual.hinges[0].prices / (1.0 if game else self.penalty.edge_limit)
        prices = np.broadcast_to(np.asarray(prices, np.float64), y.shape)
        return AdditiveHinge(StepSums.from_features(features), y, prices, constant=self.oracle.constant, game=game)

    def _read_multipliers(self, lead: Lead) -> Array:
        u = lead.u if self.penalty.total is not None else lead.u * self.penalty.edge_limit
        return np.asarray(self.loss.repair(u, None))

    def _pad(self, w: Array) -> Array:
        return np.append(w, np.zeros(self.restricted.n_columns - len(w)))

    def _evaluate(self, lead: Lead) -> MasterSolution:
        """Return the ensemble that was found, with the multipliers that were priced."""
        self.lead = None
        place = {hypothesis: k for k, hypothesis in enumerate(self.hypotheses)}
        w = np.zeros(self.restricted.n_columns)
        np.add.at(w, [place[stump] for stump in self.stumps], lead.weights)
        if self.penalty.total is not None:
            w *= self.penalty.total / w.sum()
        self.inherited = w
        self._take(self.restricted.evaluate({"w": w, "u": self._read_multipliers(lead)}))
        return self.best
