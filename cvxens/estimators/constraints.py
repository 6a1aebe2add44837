"""Constraints of ensembles: on shapes and interactions, on scores of the sample, on weights; the protocol of others.

A constraint narrows what makes weak learners, wraps the formulation, or both; estimators ask every one in turn, and
know none of them. Those on scores state rows, linear in scores and in slacks, on a sample; what a loss under such rows
is, and how it is proven, is said in `cvxens.problems.sides`. `FeatureBudget` takes several runs.

**A budget of features**: ``sum_j use(h_j) |w_j| <= at_most``, where a hypothesis uses what it looks at. With a
multiplier pi >= 0 of the budget and an l1 penalty of the size lam, the dual function is

    D(pi) = min over w of loss + lam sum_j |w_j| + pi (sum_j use_j |w_j| - at_most),

the optimum of an l1 penalty of its own price for each hypothesis, less pi at_most: a run over `Costed` hypotheses,
whose certified bound bounds the optimum within the budget for any pi. An ensemble that such a run ends with says how D
goes on from there, at most along a line of the slope ``use - at_most``. So pi is where the lines of two ensembles meet,
one above the budget and one within it, until the one between them that just meets the budget costs no more than D says
(Kelley 1960, in one dimension). Objective and use are convex, so that there is one between them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Column, Formulation, Hypothesis, Run
from cvxens.colgen.oracles import Costed, QuantileStumps, Stumps
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.estimators.explanations import find_shares
from cvxens.estimators.samples import ORACLES, OracleFactory, Sample, Sensitive, Weighted, find_factory, offers
from cvxens.estimators.samples import label as label_of
from cvxens.features import column
from cvxens.hypotheses import Constant, Scaled
from cvxens.limits import find_reason, time_is_up
from cvxens.problems.penalties import L1
from cvxens.problems.sides import SideLoss
from cvxens.rounding import EPSILON, TINY
from cvxens.tables import Feature
from cvxens.types import Array, Mask


class Constraint:
    """What the ensembles of an estimator have to keep, and the optimum is one of all that do.

    Subclasses are frozen dataclasses, and need no more than one of the two methods.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import LPBoostClassifier
    >>> from cvxens.problems.penalties import L1
    >>> @dataclass(frozen=True)
    ... class DearWeights(Constraint):
    ...     '''A unit of weight costs so much.'''
    ...     price: float
    ...     def constrain(self, formulation, sample):
    ...         return replace(formulation, penalty=L1(self.price))
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> free, held = (LPBoostClassifier(C=0.05, constraints=of).fit(X, y) for of in (None, [DearWeights(2.0)]))
    >>> held.certificate_.holds(1e-3), bool(held.weights_.sum() < free.weights_.sum())
    (True, True)
    """

    bounds: ClassVar[str] = "scores"
    """What it is about: "learners", which are left out; "scores" of the training sample; or "weights"."""

    several_scores: ClassVar[bool] = False
    """True if it can be kept where each of several classes has a score of its own."""

    def narrow(self, oracle: OracleFactory, sample: Weighted) -> OracleFactory:
        """Return what makes an oracle on a sample of the weak learners that keep it, of what makes one of others."""
        return oracle

    def constrain(self, formulation: Formulation, sample: Weighted) -> Formulation:
        """Return the formulation over these weak learners, under the constraint, on a sample."""
        return formulation


class RunConstraint(Constraint):
    """A constraint that takes several runs to keep."""

    bounds: ClassVar[str] = "weights"

    @abstractmethod
    def solve(
        self, model: object, sample: Weighted, formulation: Formulation, start: Sequence[Hypothesis]
    ) -> tuple[Run, dict[str, float]]:
        """Return the last run of an estimator, certified under the constraint, and multipliers by what they bound."""

    @abstractmethod
    def certify(
        self,
        model: object,
        sample: Weighted,
        formulation: Formulation,
        hypotheses: Sequence[Hypothesis],
        w: ArrayLike,
        b: ArrayLike,
    ) -> Certificate:
        """Certify an ensemble from anywhere under the constraint."""


class Shape(Constraint):
    """A shape of the score in some features, of weak learners that each have it, with weights of 0 or above."""

    bounds: ClassVar[str] = "learners"
    parameter: ClassVar[str]
    """What the oracle takes a sign of every feature by."""

    @abstractmethod
    def list_signs(self) -> Mapping[int | str, int]:
        """Return the sign of every feature that has one."""

    def narrow(self, oracle: OracleFactory, sample: Weighted) -> OracleFactory:
        """Bind the signs of features in a parameter of an oracle, beside those that others have bound there."""
        name, parameter, given, n_features = type(self).__name__, self.parameter, self.list_signs(), sample.X.shape[1]
        if not given:
            return oracle
        bound = oracle.keywords if isinstance(oracle, partial) else {}
        if parameter not in bound and not offers(oracle, parameter):
            others = "" if parameter == "curvature" else "'stumps', 'quantile_stumps', 'pair_rules' or "
            found = f"found {name} with weak learners of {_name(oracle)}, which cannot keep it"
            raise InvalidInput("constraints", found, f"take {others}'ramps'")
        before = bound.get(parameter)
        signs: Array = np.zeros(n_features) if before is None else np.array(before, np.float64)
        for feature, sign in given.items():
            if isinstance(sign, bool) or sign not in {-1, 0, 1}:
                found = f"found {name} with {sign!r:.100} for {feature!r:.100}"
                raise InvalidInput("constraints", found, "give +1 or -1")
            place = validation.feature_index("constraints", feature, sample.names, n_features)
            if sign and sample.features is not None and sample.features[place].categories is not None:
                found = f"found {name} for {feature!r:.100}, whose levels have no order"
                raise InvalidInput("constraints", found, "leave it out")
            if sign * signs[place] < 0:
                found = f"found {name} for {feature!r:.100} against another constraint"
                raise InvalidInput("constraints", found, "give one of them")
            signs[place] = sign or signs[place]
        return partial(oracle, **{parameter: signs})

    def constrain(self, formulation: Formulation, sample: Weighted) -> Formulation:
        """Allow weights of 0 and above alone, of weak learners of one side each."""
        if not self.list_signs():
            return formulation
        name = type(self).__name__
        if formulation.decide is not None:
            found = f"found {name} with a formulation that decides by variables of its own, which may break it"
            raise InvalidInput("constraints", found, "give one without `decide`")
        if formulation.outputs is not None:
            found = f"found {name} for a formulation of {formulation.outputs} scores per sample"
            raise InvalidInput("constraints", found, "give one of one score")
        return replace(formulation, nonnegative=True)


@dataclass(frozen=True)
class Monotone(Shape):
    """The score never falls, or never rises, with some features: everywhere, not only on samples.

    Only weak learners that keep this are found, and their weights are 0 or above. With "stumps" and "quantile_stumps"
    and oracles that take `signs`; of two classes, the score is that of the second one. It holds to the last bit, as
    scores are sums of terms that each keep it, added up in one order.

    Parameters
    ----------
    signs : mapping of features to +1 or -1
        +1 where the score never falls, -1 where it never rises: by name where X has names, or by index.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from cvxens import LPBoostRegressor
    >>> X, t = load_diabetes(return_X_y=True)
    >>> model = LPBoostRegressor(constraints=[Monotone({2: 1})]).fit(X, t)
    >>> line = X[:50].copy()
    >>> line[:] = line[0]
    >>> line[:, 2] = np.linspace(-0.1, 0.2, 50)
    >>> bool((np.diff(model.predict(line)) >= 0).all()), model.certificate_.proven
    (True, True)
    """

    signs: Mapping[int | str, int]

    parameter: ClassVar[str] = "signs"

    def list_signs(self) -> Mapping[int | str, int]:
        """Return them as they were given."""
        validation.instance("constraints", self.signs, Mapping)
        return self.signs


@dataclass(frozen=True)
class Convex(Shape):
    """The score is convex in some features, everywhere; with oracle="ramps".

    Parameters
    ----------
    features : feature, or sequence of features
        By name where X has names, or by index.

    Examples
    --------
    >>> from cvxens import LPBoostRegressor
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> model = LPBoostRegressor(C=2.0, oracle="ramps", constraints=[Convex(0)]).fit(X, np.abs(X[:, 0]))
    >>> bool((np.diff(model.predict(X), 2) >= -1e-9).all())
    True
    """

    features: int | str | Collection[int | str]

    parameter: ClassVar[str] = "curvature"
    curvature: ClassVar[int] = 1

    def list_signs(self) -> Mapping[int | str, int]:
        """Return the curvature of every feature."""
        if isinstance(self.features, str) or not isinstance(self.features, Collection):
            return {self.features: self.curvature}
        return dict.fromkeys(self.features, self.curvature)


@documented
@dataclass(frozen=True)
class Concave(Convex):
    """The score is concave in some features, everywhere; with oracle="ramps".

    Examples
    --------
    >>> from cvxens import LPBoostRegressor
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> model = LPBoostRegressor(C=2.0, oracle="ramps", constraints=[Concave(0)]).fit(X, -np.abs(X[:, 0]))
    >>> bool((np.diff(model.predict(X), 2) <= 1e-9).all())
    True
    """

    curvature: ClassVar[int] = -1


@dataclass(frozen=True)
class Interactions(Constraint):
    """Only features of one group may be together in one weak learner; with oracles that take it, as those of trees.

    Parameters
    ----------
    groups : collection of groups of features
        Such as ``[("age", "dose"), (2, 3, 4)]``; by default none, so that no features interact. Stumps have none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LPBoostClassifier(C=1.0, oracle="depth_two_trees", constraints=[Interactions([(2, 3)])])
    >>> pairs = [pair for part in model.fit(X, y).estimators_ for pair in part.effects().interactions]
    >>> {tuple(pair.features) for pair in pairs} <= {(2, 3)}
    True
    """

    groups: Collection[Sequence[int | str]] = ()

    bounds: ClassVar[str] = "learners"
    several_scores: ClassVar[bool] = True

    def narrow(self, oracle: OracleFactory, sample: Weighted) -> OracleFactory:
        """Leave out the weak learners of features that are together in no group."""
        kinds = (list, tuple, set, frozenset)
        if not isinstance(self.groups, kinds) or not all(isinstance(group, kinds) for group in self.groups):
            remedy = "give groups of features such as [('age', 'dose'), (2, 3)], or none"
            raise InvalidInput("constraints", f"found the Interactions {self.groups!r:.100}", remedy)
        find = partial(validation.feature_index, "constraints", names=sample.names, n_features=sample.X.shape[1])
        groups = [tuple(map(find, group)) for group in self.groups]
        if offers(oracle, "interactions"):
            return partial(oracle, interactions=groups)
        factory = find_factory(oracle)
        if factory is None or factory.func not in {Stumps, QuantileStumps}:
            found = f"found Interactions with weak learners of {_name(oracle)}, which do not take them"
            raise InvalidInput("constraints", found, "take 'depth_two_trees', 'pair_rules' or 'boxes'")
        return oracle


def _name(oracle: OracleFactory) -> str:
    """Return what to call what makes weak learners."""
    names = [name for name, factory in ORACLES.items() if factory is oracle]
    return repr(names[0]) if names else f"{oracle!r:.100}"


def check_constraints(constraints: object) -> Sequence[Constraint]:
    """Return constraints, or raise where they are none."""
    if constraints is None:
        return ()
    if isinstance(constraints, list | tuple) and all(isinstance(one, Constraint) for one in constraints):
        several = [one for one in constraints if isinstance(one, RunConstraint)]
        if several and sum(one.bounds != "learners" for one in constraints) > 1:
            found = f"found a {type(several[0]).__name__} among {len(constraints)}"
            raise InvalidInput("constraints", found, "give it alone, or beside constraints of shape")
        return constraints
    remedy = "give a list such as [Monotone({'age': 1}), EqualMeanScores('sex', 0.1)], or None"
    raise InvalidInput("constraints", f"found {constraints!r:.100}", remedy)


def refuse_bounds(constraints: object, kinds: Collection[str], found: str, remedy: str) -> None:
    """Raise where constraints are about what an estimator has no bounds on."""
    for one in check_constraints(constraints):
        if one.bounds in kinds:
            raise InvalidInput("constraints", f"found {type(one).__name__} {found}", remedy)


def narrow(oracle: str | OracleFactory, constraints: object, sample: Weighted) -> OracleFactory:
    """Return what makes an oracle of the weak learners that keep all constraints on a sample."""
    factory: Any = ORACLES.get(oracle, oracle) if isinstance(oracle, str) else oracle
    for one in check_constraints(constraints):
        # what makes no oracle is refused where one is made
        factory = one.narrow(factory, sample) if callable(factory) else factory
    return factory


def constrain(formulation: Formulation, constraints: object, sample: Weighted) -> Formulation:
    """Return a formulation under all constraints on a sample."""
    for one in check_constraints(constraints):
        formulation = one.constrain(formulation, sample)
    return formulation


def find_run_constraint(constraints: object) -> RunConstraint | None:
    """Return the constraint that takes several runs, of which there is at most one."""
    for one in check_constraints(constraints):
        if isinstance(one, RunConstraint):
            return one
    return None


def compare_optima(constrained: Certificate, free: Certificate, sense: float) -> tuple[float, float]:
    """Bound how much worse one optimum is than another, both of a minimum (`sense` 1) or of a maximum (-1).

    The optimum of a minimum is between the dual and the primal value; what is not proven bounds nothing.
    """
    rounding = (constrained.rounding or 0.0) + (free.rounding or 0.0)
    least = sense * (constrained.dual - free.primal) - rounding if constrained.proven else 0.0
    most = sense * (constrained.primal - free.dual) + rounding if free.proven else inf
    return max(float(least), 0.0), max(float(most), 0.0)


MOST_GROUPS = 20
"""Groups beyond which they are taken for a mistake, such as a column of numbers: every two make two rows."""


class SideRow(NamedTuple):
    """One inequality: ``pulls'f + charges'max(0, 1 - z) <= limit`` for scores f and margins z."""

    name: str
    pulls: Array
    charges: Array
    limit: float


class SideConstraint(Constraint):
    """A convex constraint on the scores of a training sample."""

    @abstractmethod
    def state(self, sample: Weighted) -> list[SideRow]:
        """Return the rows of the constraint on a sample."""

    def constrain(self, formulation: Formulation, sample: Weighted) -> Formulation:
        """Return the formulation under the rows, and those that it has already."""
        rows = self.state(sample)
        signs = np.ones(1) if (own := label_of(formulation, sample)) is None else own
        loss, charges = formulation.terms[0], np.stack([row.charges for row in rows])
        if charges.any() and (loss.is_margin or formulation.on_scores):
            found = "found a bound on losses for a formulation whose margins have no unit"
            raise InvalidInput("constraints", found, "give LPBoost C in place of nu, or EqualMeanScores")
        if formulation.outputs is not None:
            found = "found some for a formulation of several scores per sample"
            raise InvalidInput("constraints", found, "give one of one score, such as one quantile")
        pulls, limits = signs * np.stack([row.pulls for row in rows]), np.array([row.limit for row in rows])
        return replace(formulation, loss=SideLoss.from_rows(loss, pulls, charges, limits, [row.name for row in rows]))


@dataclass(frozen=True)
class EqualMeanScores(SideConstraint):
    """The mean scores of any two groups of the training sample differ by at most so much.

    Demographic parity in scores; with `given`, among the samples of one class alone: equal opportunity in scores. Means
    are weighted by the weights of samples. Bounds on shares of decisions, not on scores, are not convex.

    Parameters
    ----------
    groups : str, int or None
        A column of `sensitive_features`, or a feature of X by its name or index; None for all of `sensitive_features`,
        whose combinations are the groups.
    at_most : float
        The largest difference, 0 or above, in units of scores.
    given : label, optional
        A class of y, of classifiers.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> X, y = np.array([[0.0, 1], [1, 0], [2, 1], [3, 0], [4, 0], [5, 1]]), [0, 0, 1, 0, 1, 1]
    >>> model = LPBoostClassifier(C=1.0, constraints=[EqualMeanScores(1, at_most=0.2)]).fit(X, y)
    >>> f = model.decision_function(X)
    >>> bool(abs(f[X[:, 1] == 1].mean() - f[X[:, 1] == 0].mean()) <= 0.2), model.certificate_.proven
    (True, True)
    """

    groups: int | str | None = None
    at_most: float = 0.0
    given: object = None

    def state(self, sample: Weighted) -> list[SideRow]:
        """Return a row for every two groups, in either order."""
        limit = check_limit(self, least=0.0)
        counted = np.full(len(sample.masses), True) if self.given is None else _find_class(sample, self.given)
        words = "" if self.given is None else f" given {self.given}"
        means = []
        for label, members in find_groups(sample, self.groups):
            masses = np.where(members & counted, sample.masses, 0.0)
            if not masses.any():
                found = f"found EqualMeanScores for the group {label!r}, which has no sample{words}"
                raise InvalidInput("constraints", found, "give groups that have some")
            means.append((label, masses / masses.sum()))
        name = "" if self.groups is None else f"{self.groups} "
        return [
            SideRow(f"mean score{words} of {name}{one} above that of {other}", _balance(a - b), np.zeros(len(a)), limit)
            for (one, a), (other, b) in permutations(means, 2)
        ]


@dataclass(frozen=True)
class GroupLoss(SideConstraint):
    """The mean hinge loss, max(0, 1 - y f), of every group of the training sample is at most so much.

    Bounded group loss; it bounds the share of errors in every group, too, which is no larger. Of classifiers, whose
    margins have a unit: LPBoost with `C`, not with `nu`.

    Parameters
    ----------
    groups : str, int or None
        As of `EqualMeanScores`.
    at_most : float
        The largest mean loss, above 0.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0, 0, 1, 0, 1, 1])
    >>> model = LPBoostClassifier(C=0.2, constraints=[GroupLoss(at_most=0.4)])
    >>> f = model.fit(X, y, sensitive_features=["a", "b", "a", "a", "b", "b"]).decision_function(X)
    >>> bool(np.maximum(1 - (2 * y - 1) * f, 0)[[0, 2, 3]].mean() <= 0.4)
    True
    """

    groups: int | str | None = None
    at_most: float = 1.0

    def state(self, sample: Weighted) -> list[SideRow]:
        """Return a row for every group."""
        limit = check_limit(self)
        _check_classes(sample, "GroupLoss")
        name = "" if self.groups is None else f"{self.groups} "
        groups = find_groups(sample, self.groups)
        return [_bound_loss(f"mean loss of {name}{label}", sample, members, limit) for label, members in groups]


@dataclass(frozen=True)
class ClassLoss(SideConstraint):
    """The mean hinge loss of one class of the training sample is at most so much (Neyman & Pearson).

    It bounds the share of errors in that class, too, which is no larger.

    Parameters
    ----------
    label : label
        A class of y.
    at_most : float
        The largest mean loss, above 0.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), ["bad", "bad", "good", "bad", "good", "good"]
    >>> model = LPBoostClassifier(C=0.2, constraints=[ClassLoss("bad", at_most=0.1)]).fit(X, y)
    >>> f = model.decision_function(X)
    >>> bool(np.maximum(1 + f, 0)[[0, 1, 3]].mean() <= 0.1), model.predict(X).tolist()
    (True, ['bad', 'bad', 'bad', 'bad', 'good', 'good'])
    """

    label: object
    at_most: float

    def state(self, sample: Weighted) -> list[SideRow]:
        """Return the one row."""
        limit = check_limit(self)
        _check_classes(sample, "ClassLoss")
        return [_bound_loss(f"mean loss of class {self.label}", sample, _find_class(sample, self.label), limit)]


def _bound_loss(name: str, sample: Weighted, members: Mask, limit: float) -> SideRow:
    """Return the row that bounds the mean loss of some samples."""
    masses = np.where(members, sample.masses, 0.0)
    return SideRow(name, np.zeros(len(masses)), masses / masses.sum(), limit)


def find_groups(sample: Weighted, name: object) -> list[tuple[str, Mask]]:
    """Return the groups of a sample by a column of its sensitive features, by all of them, or by a feature of X.

    Each is what it is called, with True for the samples that are in it.
    """
    sensitive: Sensitive | None = sample.sensitive
    if sensitive is not None and (groups := sensitive.find_groups(name)) is not None:
        labels, of_sample = groups
    elif name is None:
        remedy = "give fit the groups as `sensitive_features`, or the constraint the name of a feature"
        raise InvalidInput("sensitive_features", "found none for a constraint that names no groups", remedy)
    else:
        feature = validation.feature_index("constraints", name, sample.names, sample.X.shape[1])
        # all missing values are one level
        levels, of_sample = np.unique(column(sample.X, feature), return_inverse=True)
        kind = sample.features[feature] if sample.features else Feature(str(name))
        labels = [kind.tell(level) for level in levels.tolist()]
    if not 2 <= len(labels) <= MOST_GROUPS:
        what = "all of `sensitive_features`" if name is None else f"{name!r:.100}"
        found = f"found {len(labels)} groups by {what}"
        raise InvalidInput("constraints", found, f"give what has 2 to {MOST_GROUPS} values")
    return [(label, of_sample == k) for k, label in enumerate(labels)]


def check_limit(constraint: Any, least: float = TINY) -> float:
    """Return the limit of a constraint, which is above 0, or 0 where that is the least."""
    limit = validation.number("constraints", constraint.at_most)
    if not limit >= least:
        found = f"found {type(constraint).__name__} with at_most={limit:g}"
        raise InvalidInput("constraints", found, f"give a number, {'above 0' if least else '0 or above'}")
    return float(limit)


def _check_classes(sample: Weighted, name: str) -> Sample:
    if not isinstance(sample, Sample):
        raise InvalidInput("constraints", f"found {name} for a regression", "give EqualMeanScores")
    return sample


def _find_class(sample: Weighted, name: object) -> Mask:
    """Mark the samples of a class."""
    of_classes = _check_classes(sample, f"the class {name!r:.100}")
    known = of_classes.classes.tolist()
    if name not in known:
        raise InvalidInput("constraints", f"found the class {name!r:.100}", f"give one of {known}")
    return of_classes.labels == known.index(name)


def _balance(pulls: Array) -> Array:
    """Return pulls whose sum is 0 but for one rounding, so that no intercept changes what they add up to."""
    largest = int(np.abs(pulls).argmax())
    pulls[largest] -= float(pulls.sum())
    return pulls


@dataclass(frozen=True, eq=False)
class Spent:
    """An ensemble, its objective without the budget, and what it uses of that."""

    hypotheses: tuple[Hypothesis, ...]
    w: Array
    b: Array
    certificate: Certificate  # without the budget: its primal value is what counts
    use: float


def solve_within(
    model: Any, sample: Weighted, formulation: Formulation, start: Sequence[Hypothesis], at_most: float, prices: Array
) -> tuple[Run, float]:
    """Solve a problem within a budget; returns the run, whose certificate counts it, and the budget's multiplier."""
    penalty = formulation.terms[1]
    if not isinstance(penalty, L1):
        found = f"found a FeatureBudget with the penalty {type(penalty).__name__}, whose weights have no price each"
        raise InvalidInput("constraints", found, "give a formulation with an l1 penalty, such as LPBoost's with C")
    lam, use, oracle = penalty.edge_limit, measure_use(prices), model._oracle(sample, formulation)
    itself_priced = offers(narrow(model.oracle, model.constraints, sample), "costs")

    def spend(hypotheses: Sequence[Hypothesis], w: Array, b: Array, u: Array) -> Spent:
        used = float(np.abs(w) @ np.array([use(h) for h in hypotheses])) if len(hypotheses) else 0.0
        certified = (hypotheses, u, w) if hypotheses else ((Constant(1),), u, np.zeros(1))
        return Spent(tuple(hypotheses), w, b, model._hold(sample, formulation, oracle, *certified, b), used)

    def meet() -> tuple[Spent, Certificate]:
        """Return what lies between the ensembles above and within the budget, and its certificate."""
        found = _meet(above, within, at_most, best[2].u, spend)
        return found, certify_within(found.certificate, found.use, at_most, best[0], best[2].certificate)

    def run_at(pi: float, known: Sequence[Hypothesis]) -> tuple[Run, Spent, float]:
        """Return a run at a multiplier, its ensemble in the weights of the hypotheses themselves, and D."""
        rate = pi / lam
        costed = Costed(oracle, lambda hypothesis: 1 + rate * use(hypothesis), least=1.0)
        # stumps know costs of features themselves
        priced = model._oracle(sample, formulation, costs=1 + rate * prices) if itself_priced else costed
        run = model._fit(sample, formulation, priced, [costed.scale(h) for h in known])
        plain = [c.hypothesis.hypothesis if isinstance(c.hypothesis, Scaled) else c.hypothesis for c in run.columns]
        factors = [c.hypothesis.factor if isinstance(c.hypothesis, Scaled) else 1.0 for c in run.columns]
        bound = run.certificate.dual - pi * at_most
        bound -= 4 * EPSILON * (abs(run.certificate.dual) + pi * at_most)
        return run, spend(plain, run.weights * np.array(factors), run.intercept, run.u), bound

    run = model._fit(sample, formulation, oracle, start)
    if run.variables:
        found = f"found a FeatureBudget with variables of the formulation, {', '.join(run.variables)}"
        raise InvalidInput("constraints", found, "give a formulation without any")
    free = spend([column.hypothesis for column in run.columns], run.weights, run.intercept, run.u)
    if free.use <= at_most:
        return run, 0.0
    history, above, meeting, certificate = list(run.history), free, None, run.certificate
    # within any budget is what is left of it without all that uses features
    kept = np.where(np.array([use(h) for h in free.hypotheses]) > 0, 0.0, free.w)
    within, pi, best = spend(free.hypotheses, kept, free.b, run.u), 0.0, (run.certificate.dual, 0.0, run)
    # each run ends a piece of a function of pi, of which a handful matter
    for _ in range(60):
        # where the lines of both meet; where what is left is infeasible, up to 7e10 times the price of a weight
        meets = (within.certificate.primal - above.certificate.primal) / (above.use - within.use)
        next_pi = max(meets, 0.0) if meets < inf else max(8.0 * pi, lam)
        stays = meeting is not None and abs(next_pi - pi) <= 8 * EPSILON * pi
        if next_pi > lam * 8.0**12 or stays or time_is_up():
            break
        pi = next_pi
        run, spent, bound = run_at(pi, (*above.hypotheses, *within.hypotheses))
        history += run.history
        if run.certificate.proven and bound > best[0]:
            best = bound, pi, run
        above, within = (spent, within) if spent.use > at_most else (above, spent)
        if within.certificate.primal < inf:
            meeting, certificate = meet()
            if certificate.holds(model.tol) or not best[2].certificate.proven:
                break
    if meeting is None and within.certificate.primal < inf:
        meeting, certificate = meet()
    if meeting is None:
        found = f"found a FeatureBudget of {at_most:g}, within which no ensemble was found"
        raise InvalidInput("constraints", found, "give a larger one, or features that cost nothing")
    columns = [Column(hypothesis, oracle.sample, 0.0) for hypothesis in meeting.hypotheses]
    point: dict[str, Any] = {"columns": columns, "weights": meeting.w, "intercept": meeting.b, "u": best[2].u}
    point["ending"] = find_reason() if time_is_up() else best[2].ending
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


def certify_within(without: Certificate, use: float, at_most: float, bound: float, bounded: Certificate) -> Certificate:
    """Certify an ensemble by its certificate without the budget, its use, and a bound within it, of some run."""
    excess = max(use - at_most, 0.0) / (1 + at_most)
    return Certificate.between(
        without.primal,
        bound,
        residuals={**bounded.residuals, "primal feasibility": excess},
        repair=without.repair,
        rounding=(without.rounding or 0.0) + (bounded.rounding or 0.0),
        proven=(bounded.proven or bool(bounded.condition)) and excess == 0,
        condition=bounded.condition,
        note=f"{bounded.note}, by a multiplier of the budget" if excess == 0 else "the budget is exceeded",
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
    prices: Mapping[int | str, float] | None = None

    def solve(
        self, model: object, sample: Weighted, formulation: Formulation, start: Sequence[Hypothesis]
    ) -> tuple[Run, dict[str, float]]:
        """Return the last of several runs, with weights within the budget, and the multiplier of that."""
        at_most = check_limit(self, least=0.0)
        run, price = solve_within(model, sample, formulation, start, at_most, self.list_prices(sample))
        return run, {"feature budget": price}

    def certify(
        self,
        model: BaseEstimator,
        sample: Weighted,
        formulation: Formulation,
        hypotheses: Sequence[Hypothesis],
        w: ArrayLike,
        b: ArrayLike,
    ) -> Certificate:
        """Certify an ensemble by the bound of a run within the budget, and by what it uses of that."""
        run, _ = self.solve(model, sample, formulation, hypotheses)
        use = measure_use(self.list_prices(sample))
        given = model._hold(sample, formulation, model._oracle(sample, formulation), hypotheses, run.u, w, b)
        used = float(np.abs(w) @ np.array([use(hypothesis) for hypothesis in hypotheses]))
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
