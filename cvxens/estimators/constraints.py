"""Constraints of ensembles: what each is, and those on shapes and interactions; the protocol for others of your own.

A constraint narrows what makes weak learners, wraps the formulation, or both; estimators ask every one in turn, and
know none of them. `cvxens.estimators.sides` has those that are linear in scores, `cvxens.estimators.budgets` one that
takes several runs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy as np

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Formulation, Hypothesis, Oracle, Run
from cvxens.colgen.oracles import QuantileStumps, Stumps
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.estimators.samples import ORACLES, OracleFactory, Weighted, find_factory, offers
from cvxens.types import Array


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


@dataclass(frozen=True, eq=False)
class Generation:
    """The problem of a sample with ways to generate columns for it, for a constraint that takes several runs."""

    sample: Weighted
    formulation: Formulation
    factory: OracleFactory
    make_oracle: Callable[..., Oracle]
    """Makes the oracle, with further parameters."""
    generate: Callable[[Oracle, Sequence[Hypothesis]], Run]
    """From an oracle and weak learners to start with to a run."""
    certify: Callable[..., Certificate]
    """From hypotheses, multipliers, weights and an intercept to their certificate without this constraint."""
    tol: float


class RunConstraint(Constraint):
    """A constraint that takes several runs to keep."""

    bounds: ClassVar[str] = "weights"

    @abstractmethod
    def solve(self, of: Generation, start: Sequence[Hypothesis]) -> tuple[Run, dict[str, float]]:
        """Return the last run, certified under the constraint, and multipliers by what they bound."""

    @abstractmethod
    def certify(self, of: Generation, hypotheses: Sequence[Hypothesis], weights: Any, intercept: Any) -> Certificate:
        """Certify an ensemble from anywhere under the constraint."""


class Shape(Constraint):
    """A shape of the score in some features, of weak learners that each have it, with weights of 0 or above."""

    bounds: ClassVar[str] = "learners"
    parameter: ClassVar[str]
    """What the oracle takes a sign of every feature by."""

    @abstractmethod
    def list_signs(self) -> Mapping[Any, int]:
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
                raise InvalidInput(
                    "constraints", f"found {name} with {sign!r:.100} for {feature!r:.100}", "give +1 or -1"
                )
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

    signs: Mapping[Any, int]

    parameter: ClassVar[str] = "signs"

    def list_signs(self) -> Mapping[Any, int]:
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

    features: Any

    parameter: ClassVar[str] = "curvature"
    curvature: ClassVar[int] = 1

    def list_signs(self) -> Mapping[Any, int]:
        """Return the curvature of every feature."""
        several = isinstance(self.features, list | tuple | set | frozenset)
        return dict.fromkeys(self.features if several else [self.features], self.curvature)


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

    groups: Collection[Sequence[Any]] = ()

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


def check_constraints(constraints: Any) -> Sequence[Constraint]:
    """Return constraints, or raise where they are none."""
    if constraints is None:
        return ()
    if isinstance(constraints, list | tuple) and all(isinstance(one, Constraint) for one in constraints):
        several = [one for one in constraints if isinstance(one, RunConstraint)]
        if several and any(one.bounds != "learners" for one in constraints if one is not several[0]):
            found = f"found a {type(several[0]).__name__} among {len(constraints)}"
            raise InvalidInput("constraints", found, "give it alone, or beside constraints of shape")
        return constraints
    remedy = "give a list such as [Monotone({'age': 1}), EqualMeanScores('sex', 0.1)], or None"
    raise InvalidInput("constraints", f"found {constraints!r:.100}", remedy)


def refuse_bounds(constraints: Any, kinds: Collection[str], found: str, remedy: str) -> None:
    """Raise where constraints are about what an estimator has no bounds on."""
    for one in check_constraints(constraints):
        if one.bounds in kinds:
            raise InvalidInput("constraints", f"found {type(one).__name__} {found}", remedy)


def narrow(oracle: str | OracleFactory, constraints: Any, sample: Weighted) -> OracleFactory:
    """Return what makes an oracle of the weak learners that keep all constraints on a sample."""
    factory: Any = ORACLES.get(oracle, oracle) if isinstance(oracle, str) else oracle
    for one in check_constraints(constraints):
        # what makes no oracle is refused where one is made
        factory = one.narrow(factory, sample) if callable(factory) else factory
    return factory


def constrain(formulation: Formulation, constraints: Any, sample: Weighted) -> Formulation:
    """Return a formulation under all constraints on a sample."""
    for one in check_constraints(constraints):
        formulation = one.constrain(formulation, sample)
    return formulation


def find_run_constraint(constraints: Any) -> RunConstraint | None:
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
