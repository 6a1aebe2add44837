"""Hypotheses: functions h(x) of samples that oracles price, kernels embody and ensembles vote with.

Any hashable callable from samples to (n_samples,) numbers with a readable `str` is one. What may be known of it beyond
its values is said by members that a hypothesis has or lacks:

- ``-h``: its negation, in the same class; `negate` falls back on `Scaled`;
- ``step``: a `OneStep`, if h depends on one feature and changes its value at one threshold (in ONNX, tables, plots and
  importances); `LevelStump` is what depends on the level of one nominal feature;
- ``feature_shares``: else the features that it looks at, with the share of each (in importances);
- ``test``: what holds where h is `sign`, if h is -1/+1-valued or 0 elsewhere, as `Rule` is (in texts of ensembles).

A value that is missing is NaN. Nominal features are columns of codes of levels: 0, 1, ...
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, pi
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from cvxens.errors import InvalidInput
from cvxens.features import column, find_missing
from cvxens.limits import map_slices, threads_for
from cvxens.tables import Feature
from cvxens.trees import Table, Tree
from cvxens.types import Array, Data, Indices, Mask, Numbers

FEATURE = re.compile(r"x\[(\d+)\]")
"""Matches a feature in the text of a hypothesis."""

SHOWN = 5
"""Terms of a sum, or coordinates of a point, that a text has."""

FEW = 2**16
"""Products from which on compiled code on several threads is faster than numpy on one."""

FeatureShares: TypeAlias = tuple[Indices, Array]
"""Features and the share of each, (n_looks,) both; the shares add up to 1, or there are none."""


class Hypothesis(Hashable, Protocol):
    """A function from samples to the reals: hashable, with a readable `str` in which feature j is x[j]."""

    def __call__(self, X: Data, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples,)."""


class OneStep(NamedTuple):
    """The function ``above if x[feature] >= threshold else below``; a constant where these and `missing` are equal."""

    feature: int
    threshold: float
    above: float
    below: float
    missing: float  # the value where x[feature] is missing

    @property
    def values(self) -> tuple[float, float, float]:
        """What it is above, below, and where the feature is missing."""
        return self.above, self.below, self.missing


def with_names(text: str, names: Mapping[int, str]) -> str:
    """Put the names of features, where they have any, into the text of a hypothesis.

    Examples
    --------
    >>> with_names("0.6 x[0] - 0.8 x[1] >= 1 -> -1", {0: "height"})
    '0.6 height - 0.8 x[1] >= 1 -> -1'
    """
    return FEATURE.sub(lambda found: names.get(int(found[1]), found[0]), text)


def find_step(hypothesis: object) -> OneStep | None:
    """Return the step of one feature that a hypothesis is; None of one that is none."""
    return getattr(hypothesis, "step", None)


def negate(hypothesis: Hypothesis) -> Hypothesis:
    """Return -h: of the class of h where that has negations, else `Scaled`.

    Examples
    --------
    >>> print(negate(Stump(0, 0.5, 1)), negate(negate(np.ravel)) is np.ravel)
    x[0] >= 0.5 -> -1 True
    """
    negated: Any = hypothesis
    return -negated if hasattr(hypothesis, "__neg__") else Scaled(hypothesis, -1.0)


class _Signed:
    """A hypothesis in proportion to one of its fields, its sign or its weights: its negation has the opposite there."""

    signed: ClassVar[str] = "sign"

    def __neg__(self) -> Self:
        same: Any = self
        value = vars(self)[self.signed]
        opposite = tuple(-each for each in value) if isinstance(value, tuple) else -value
        return replace(same, **{self.signed: opposite})


class _Tested(_Signed):
    """A hypothesis that is `sign` where `test` holds, else -sign."""

    sign: int

    @property
    @abstractmethod
    def test(self) -> str:
        """What holds where it is `sign`."""

    def __str__(self) -> str:
        return f"{self.test} -> {self.sign:+d}"


class _OfOneFeature:
    """A hypothesis that looks at one feature."""

    feature: int

    @property
    def feature_shares(self) -> FeatureShares:
        return np.array([self.feature]), np.ones(1)


@dataclass(frozen=True)
class Scaled:
    """The hypothesis factor h(x), which decides by what it lacks what it has.

    With a factor above 0 it is what an l1 penalty makes of an h whose weight costs 1/factor, with -1 the negation of an
    h of a class without negations.

    Examples
    --------
    >>> half = Scaled(Stump(0, 0.5, 1), 0.5)
    >>> print(half, -half, half([[0.0], [1.0]]))
    0.5 (x[0] >= 0.5 -> +1) 0.5 (x[0] >= 0.5 -> -1) [-0.5  0.5]
    """

    hypothesis: Any
    factor: float

    def __call__(self, X: Data, /) -> Any:
        return self.factor * self.hypothesis(X)

    def __neg__(self) -> Any:
        return self.hypothesis if self.factor == -1 else Scaled(negate(self.hypothesis), self.factor)

    @property
    def step(self) -> OneStep:
        feature, threshold, *values = self.hypothesis.step
        return OneStep(feature, threshold, *(self.factor * value for value in values))

    @property
    def feature_shares(self) -> Any:
        return self.hypothesis.feature_shares

    @property
    def feature_importances_(self) -> Any:
        return self.hypothesis.feature_importances_

    def __str__(self) -> str:
        return f"{'-' if self.factor == -1 else f'{self.factor:.6g} '}({self.hypothesis})"


@dataclass(frozen=True)
class Constant(_Tested):
    """The hypothesis h(x) = sign.

    Parameters
    ----------
    sign : int
        +1 or -1.

    Examples
    --------
    >>> print(Constant(1), Constant(-1)([[0.0], [0.0]]))
    always -> +1 [-1. -1.]
    """

    sign: int
    test = "always"

    def __call__(self, X: Data, /) -> Array:
        return np.full(np.shape(X)[0], float(self.sign))

    @property
    def step(self) -> OneStep:
        return OneStep(0, 0.0, self.sign, self.sign, self.sign)


OR_MISSING = {1: ", or missing", 0: "", -1: ", not missing"}
"""What a test says of missing values: that it holds for them, that it does not, or nothing where h is 0 for them."""


@dataclass(frozen=True)
class Stump(_Tested):
    """The hypothesis h(x) = sign if x[feature] >= threshold else -sign, and sign missing where x[feature] is missing.

    Parameters
    ----------
    feature : int
        Column of X.
    threshold : float
        Where the sign changes; a sample on the threshold counts as above it.
    sign : int
        +1 or -1.
    missing : int
        +1 where a missing value, NaN, counts as above the threshold, -1 as below it, 0 where h says nothing of it: the
        mean of the other two.

    Examples
    --------
    >>> stump = Stump(1, 0.5, -1)
    >>> print(stump)
    x[1] >= 0.5 -> -1
    >>> stump(np.array([[0.0, 0.2], [0.0, 0.7], [0.0, np.nan]]))
    array([ 1., -1., -0.])
    >>> print(Stump(1, 0.5, -1, 1), Stump(1, 0.5, -1, 1)([[0.0, np.nan]]))
    x[1] >= 0.5, or missing -> -1 [-1.]
    """

    feature: int
    threshold: float
    sign: int
    missing: int = 0

    def __call__(self, X: Data, /) -> Array:
        values, sign = column(X, self.feature), float(self.sign)
        return _fill(np.where(values >= np.float64(self.threshold), sign, -sign), values, sign * self.missing)

    @property
    def step(self) -> OneStep:
        return OneStep(self.feature, self.threshold, self.sign, -self.sign, self.sign * self.missing)

    @property
    def test(self) -> str:
        return f"x[{self.feature}] >= {self.threshold:.6g}{OR_MISSING[self.missing]}"


@dataclass(frozen=True)
class LevelStump(_OfOneFeature, _Tested):
    """The hypothesis h(x) = sign if x[feature] is one of some levels, else -sign; sign missing where it is missing.

    A level that is none of the nominal feature's is a missing value where samples are coded.

    Parameters
    ----------
    feature : int
        Column of X.
    levels : tuple of int
        Codes of levels, ascending; without any the test is whether the value of any feature is missing.
    sign : int
        +1 or -1.
    missing : int
        +1 where a missing value, NaN, counts as one of the levels, -1 as another one, 0 where h says nothing of it.
    names : tuple of str
        What the levels are called in texts; their codes if there are none.

    Examples
    --------
    >>> stump = LevelStump(2, (0, 3), 1, 1, ("blue", "red"))
    >>> print(stump)
    x[2] in {blue, red}, or missing -> +1
    >>> stump(np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 1.0], [0.0, 0.0, np.nan]]))
    array([ 1., -1.,  1.])
    >>> print(LevelStump(1, (), -1, 1))
    x[1] is missing -> -1
    """

    feature: int
    levels: tuple[int, ...]
    sign: int
    missing: int = 0
    names: tuple[str, ...] = ()

    def __call__(self, X: Data, /) -> Array:
        values, sign = column(X, self.feature), float(self.sign)
        return _fill(np.where(np.isin(values, self.levels), sign, -sign), values, sign * self.missing)

    @property
    def test(self) -> str:
        return f"{name_levels(self.feature, self.levels, self.names)}{OR_MISSING[self.missing if self.levels else 0]}"


def name_levels(feature: int, levels: Sequence[int], names: Sequence[str]) -> str:
    """Return the test of levels as text; without any it is that of a missing value.

    Examples
    --------
    >>> name_levels(0, (1, 2), ("blue", "red")), name_levels(0, (2,), ()), name_levels(0, (), ())
    ('x[0] in {blue, red}', 'x[0] = 2', 'x[0] is missing')
    """
    texts = list(names) or [str(level) for level in levels]
    one = f"x[{feature}] = {texts[0]}" if len(texts) == 1 else f"x[{feature}] in {{{', '.join(texts)}}}"
    return one if texts else f"x[{feature}] is missing"


def _fill(answers: Array, values: Numbers, missing: float) -> Array:
    """Put what is said of missing values among the answers for all."""
    if values.dtype.kind in "fO":
        answers[find_missing(values)] = missing
    return answers


@dataclass(frozen=True)
class Branch:
    """The hypothesis h(x) = above(x) where a test is 1 and below(x) where it is -1: a tree, of stumps one of depth 2.

    Texts have the ways to the leaves of one sign. Where the root says nothing of a missing value, h is 0.

    Examples
    --------
    >>> tree = Branch(Stump(0, 0.5, 1), Stump(1, 2.0, 1), Stump(2, 1.0, -1))
    >>> print(tree)
    x[0] >= 0.5 and x[1] >= 2, or x[0] < 0.5 and x[2] < 1 -> +1
    >>> tree(np.array([[0.7, 3.0, 0.0], [0.7, 1.0, 0.0], [0.2, 3.0, 0.0], [0.2, 3.0, 1.5]]))
    array([ 1., -1.,  1., -1.])
    >>> print(Branch(Stump(0, 0.5, 1), Constant(-1), -tree))
    x[0] < 0.5 and x[2] >= 1 -> +1
    >>> print(Branch(Stump(0, 0.5, 1, 1), Stump(0, 2.0, 1, -1), Constant(-1)))
    x[0] >= 2 -> +1
    >>> print(Branch(LevelStump(0, (0, 3), 1, 0, ("blue", "red")), Stump(1, 2.0, 1), Constant(-1)))
    x[0] in {blue, red} and x[1] >= 2 -> +1
    """

    root: Stump | LevelStump
    above: Hypothesis
    below: Hypothesis

    def __call__(self, X: Data, /) -> Array:
        asked = self.root(X)
        return np.where(asked > 0, self.above(X), np.where(asked < 0, self.below(X), 0.0))

    def __neg__(self) -> Branch:
        return replace(self, above=negate(self.above), below=negate(self.below))

    @property
    def feature_shares(self) -> FeatureShares:
        """Every test that decides anything, half as much as the one before it."""
        looks = list(_list_tests(self, 1.0))
        shares = np.array([share for _, share in looks])
        return np.array([feature for feature, _ in looks], np.intp), shares / max(shares.sum(), 1.0)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The leaves, as rules whose sum the tree is; ways that no x can take are left out."""
        always, leaves = (-inf, inf, True), _list_leaves(self, ())
        return tuple(Rule(tuple(simplify(i) for i in leaf if i[1:] != always), sign) for leaf, sign in leaves)

    @property
    def sign(self) -> int:
        """The sign that fewer leaves have, +1 where both have as many."""
        return -1 if 2 * sum(rule.sign > 0 for rule in self.rules) > len(self.rules) else 1

    @property
    def test(self) -> str:
        own = [rule.test for rule in self.rules if rule.sign == self.sign]
        return ", or ".join(own) or f"x[{self.root.feature}] < -inf"

    def __str__(self) -> str:
        return f"{self.test} -> {self.sign:+d}"


class Interval(NamedTuple):
    """The condition low <= x[feature] < high; one of the two ends may be infinite."""

    feature: int
    low: float
    high: float
    missing: bool = False  # True if it holds for a missing value

    def holds(self, X: Data) -> Mask:
        """Return True for the samples of X (n_samples, n_features) that it holds for."""
        values = column(X, self.feature)
        found = (values >= np.float64(self.low)) & (values < np.float64(self.high))
        return found | find_missing(values) if self.missing else found

    @property
    def ends(self) -> tuple[float, ...]:
        """The thresholds between which the values are, but for infinite ones."""
        return tuple(end for end in (self.low, self.high) if isfinite(end))

    def __str__(self) -> str:
        name = f"x[{self.feature}]"
        text = f"{self.low:.6g} <= {name} < {self.high:.6g}"
        if self.high == inf:
            text = f"{name} >= {self.low:.6g}"
        elif self.low == -inf:
            text = f"{name} < {self.high:.6g}"
        return f"({text} or missing)" if self.missing else text


def simplify(interval: Interval | Among) -> Interval | Among:
    """Return a condition, or, of an interval that is about missing values alone, the one that says so.

    Examples
    --------
    >>> for interval in (Interval(0, 1.0, inf, True), Interval(0, -inf, inf), Interval(0, 2.0, 2.0, True)):
    ...     print(simplify(interval))
    (x[0] >= 1 or missing)
    x[0] is not missing
    x[0] is missing
    """
    if isinstance(interval, Interval):
        if interval.low >= interval.high and interval.missing:
            return Among(interval.feature, (), missing=True)
        if interval.low == -inf and interval.high == inf and not interval.missing:
            return Among(interval.feature, (), inside=False)
    return interval


class Among(NamedTuple):
    """The condition that x[feature] is one of some levels, or, unless `inside`, another level."""

    feature: int
    levels: tuple[int, ...]  # codes, ascending; without any it is about missing values alone
    names: tuple[str, ...] = ()  # of the levels, if they have any
    inside: bool = True
    missing: bool = False  # True if it holds for a missing value

    def holds(self, X: Data) -> Mask:
        """Return True for the samples of X (n_samples, n_features) that it holds for."""
        values = column(X, self.feature)
        gone = find_missing(values)
        found = np.isin(values, self.levels) == self.inside
        return found | gone if self.missing else found & ~gone

    @property
    def ends(self) -> tuple[float, ...]:
        """The ends of the codes of its levels; without any, one, as what is missing has a cell of its own."""
        return tuple(float(end) for level in self.levels for end in (level, level + 1)) or (0.0,)

    def __str__(self) -> str:
        if not self.levels:
            return f"x[{self.feature}] is {'' if self.missing else 'not '}missing"
        text = name_levels(self.feature, self.levels, self.names)
        if not self.inside:
            text = text.replace(" in {", " not in {", 1) if len(self.levels) > 1 else text.replace(" = ", " != ", 1)
        return f"({text} or missing)" if self.missing else text


Conditions: TypeAlias = tuple[Interval | Among, ...]


@dataclass(frozen=True)
class Rule(_Signed):
    """The hypothesis h(x) = sign where all of some conditions hold, else 0: a rule that elsewhere has no vote.

    Examples
    --------
    >>> rule = Rule((Interval(0, 0.5, inf), Interval(1, -inf, 2.0)), -1)
    >>> print(rule)
    x[0] >= 0.5 and x[1] < 2 -> -1, else 0
    >>> rule(np.array([[0.7, 3.0], [0.7, 1.0]]))
    array([ 0., -1.])
    """

    intervals: Conditions  # of different features
    sign: int  # +1 or -1

    def holds(self, X: Data, /) -> Mask:
        """Return True for the samples of X (n_samples, n_features) that all conditions hold for."""
        found = np.full(np.shape(X)[0], True)
        for condition in self.intervals:
            found &= condition.holds(X)
        return found

    def __call__(self, X: Data, /) -> Array:
        return np.where(self.holds(X), float(self.sign), 0.0)

    @property
    def feature_shares(self) -> FeatureShares:
        """Every condition, as much as any other."""
        n_conditions = len(self.intervals)
        return np.array([i.feature for i in self.intervals], np.intp), np.full(n_conditions, 1 / max(n_conditions, 1))

    @property
    def test(self) -> str:
        return " and ".join(map(str, self.intervals)) or "always"

    def __str__(self) -> str:
        return f"{self.test} -> {self.sign:+d}, else 0"


def _list_tests(hypothesis: object, share: float) -> Iterator[tuple[int, float]]:
    """Yield the features of the tests of a tree, each with its share before all are divided by their sum."""
    if isinstance(hypothesis, Branch):
        yield hypothesis.root.feature, share
        for half in (hypothesis.above, hypothesis.below):
            yield from _list_tests(half, share / 2)
    elif isinstance(hypothesis, Stump | LevelStump):
        yield hypothesis.feature, share


def _list_leaves(hypothesis: Any, conditions: Conditions) -> Iterator[tuple[Conditions, int]]:
    """Yield the conditions and signs of the leaves of a tree below some, but for those that no x can take."""
    if isinstance(hypothesis, Constant):
        if all(isinstance(i, Among) or i.low < i.high or i.missing for i in conditions):
            yield conditions, hypothesis.sign
        return
    parts = vars(hypothesis).values() if isinstance(hypothesis, Branch) else (hypothesis, Constant(1), Constant(-1))
    root, *halves = parts
    for half, side in zip(halves, find_sides(root), strict=True):
        yield from _list_leaves(half, _narrow(conditions, side))


def find_sides(test: Stump | LevelStump) -> Conditions:
    """Return the conditions under which a test is 1 and -1."""
    feature, above, below = test.feature, test.missing > 0, test.missing < 0
    # without levels it asks for missing values, which are then the only ones above
    threshold = test.threshold if isinstance(test, Stump) else inf
    sides: Conditions = Interval(feature, threshold, inf, above), Interval(feature, -inf, threshold, below)
    if isinstance(test, LevelStump) and test.levels:
        named = feature, test.levels, test.names
        sides = Among(*named, True, above), Among(*named, False, below)
    return sides if test.sign > 0 else sides[::-1]


def _narrow(conditions: Conditions, new: Interval | Among) -> Conditions:
    """Return the conditions with another one, which narrows an interval of the same feature."""
    old = next((condition for condition in conditions if condition.feature == new.feature), None)
    if isinstance(old, Interval) and isinstance(new, Interval):
        both = max(old.low, new.low), min(old.high, new.high), old.missing and new.missing
        return tuple(Interval(new.feature, *both) if each is old else each for each in conditions)
    return (*conditions, new)


@dataclass(frozen=True)
class Indicator(_Signed):
    """The hypothesis h(x) = value if x[feature] >= threshold else 0, as histogram intersection embodies them.

    Examples
    --------
    >>> indicator = Indicator(1, 0.5)
    >>> print(indicator, -indicator, indicator([[0.0, 0.2], [0.0, 0.7]]))
    [x[1] >= 0.5] -1 [x[1] >= 0.5] [0. 1.]
    """

    feature: int
    threshold: float  # a sample on it counts as above
    value: float = 1.0  # what h is above
    signed = "value"

    def __call__(self, X: Data, /) -> Array:
        return np.where(column(X, self.feature) >= np.float64(self.threshold), self.value, 0.0)

    @property
    def step(self) -> OneStep:
        return OneStep(self.feature, self.threshold, self.value, 0.0, 0.0)

    def __str__(self) -> str:
        factor = "" if self.value == 1 else f"{self.value:g} "
        return f"{factor}[x[{self.feature}] >= {self.threshold:.6g}]"


@dataclass(frozen=True)
class Ramp(_OfOneFeature, _Signed):
    """The hypothesis h(x) = slope (x[feature] - threshold), on one side of the threshold and else 0, or a line.

    It is 0 where the feature is missing.

    Examples
    --------
    >>> for ramp in (Ramp(0, 2.0, 1, 0.5), Ramp(0, 2.0, -1, -0.5), Ramp(0, 2.0, 0, 0.5)):
    ...     print(ramp, ramp([[1.0], [4.0]]))
    0.5 max(x[0] - 2, 0) [0. 1.]
    -0.5 max(2 - x[0], 0) [-0.5 -0. ]
    0.5 (x[0] - 2) [-0.5  1. ]
    """

    feature: int
    threshold: float
    side: int  # 1 above the threshold, -1 below it, where the ramp is slope (threshold - x[feature]); 0 for a line
    slope: float  # above 0 for a convex ramp
    signed = "slope"

    def __call__(self, X: Data, /) -> Array:
        beyond = np.asarray(column(X, self.feature), np.float64) - self.threshold
        values = self.slope * (np.maximum(self.side * beyond, 0.0) if self.side else beyond)
        return np.where(np.isnan(beyond), 0.0, values)

    def __str__(self) -> str:
        name, at = f"x[{self.feature}]", f"{self.threshold:.6g}"
        text = {1: f"max({name} - {at}, 0)", -1: f"max({at} - {name}, 0)", 0: f"({name} - {at})"}[self.side]
        return f"{self.slope:.6g} {text}"


@dataclass(frozen=True)
class Perceptron(_Tested):
    """The hypothesis h(x) = sign if theta'x >= alpha else -sign.

    Examples
    --------
    >>> perceptron = Perceptron((0.6, -0.8), 1.0, -1)
    >>> print(perceptron, perceptron([[3.0, 0.5], [3.0, 2.0]]))
    0.6 x[0] - 0.8 x[1] >= 1 -> -1 [-1.  1.]
    """

    theta: tuple[float, ...]  # the direction, of length 1
    alpha: float  # the threshold; a sample on it counts as above
    sign: int  # +1 or -1

    def __call__(self, X: Data, /) -> Array:
        return np.where(project(X, [self.theta])[:, 0] >= self.alpha, float(self.sign), -float(self.sign))

    @property
    def test(self) -> str:
        return f"{linear_form(self.theta)} >= {self.alpha:.6g}"


@dataclass(frozen=True)
class Wave:
    """The hypothesis h(x) = amplitude cos(theta'x - kappa), a Fourier feature.

    Examples
    --------
    >>> wave = Wave((0.5, -2.0), 0.25)
    >>> print(wave, wave([[0.5, 0.0]]))
    cos(0.5 x[0] - 2 x[1] - 0.25) [1.]
    """

    theta: tuple[float, ...]  # frequencies, one per feature
    kappa: float  # phase in [0, 2 pi); another half turn negates h
    amplitude: float = 1.0  # above 0

    def __call__(self, X: Data, /) -> Array:
        return self.amplitude * np.cos(np.asarray(X, np.float64) @ np.array(self.theta) - self.kappa)

    def __neg__(self) -> Wave:
        return replace(self, kappa=(self.kappa + pi) % (2 * pi))

    def __str__(self) -> str:
        factor = "" if self.amplitude == 1 else f"{self.amplitude:.4g} "
        return f"{factor}cos({linear_form(self.theta)} - {self.kappa:.4g})"


@dataclass(frozen=True)
class LinearForm(_Signed):
    """The hypothesis h(x) = sum_k weights_k x[features_k].

    Examples
    --------
    >>> form = LinearForm((0, 2), (1.0, -0.5))
    >>> print(form, form([[1.0, 9.0, 4.0]]))
    x[0] - 0.5 x[2] [-1.]
    """

    features: tuple[int, ...]
    weights: tuple[float, ...]
    signed = "weights"

    def __call__(self, X: Data, /) -> Array:
        return np.asarray(X, np.float64)[:, list(self.features)] @ np.array(self.weights)

    def __str__(self) -> str:
        return linear_form(self.weights, self.features)


@dataclass(frozen=True)
class KernelColumn(_Signed):
    """The hypothesis h(x) = sign k(x, center).

    Examples
    --------
    >>> from sklearn.metrics.pairwise import linear_kernel
    >>> column = KernelColumn(linear_kernel, (1.0, 2.0), -1)
    >>> print(column, column([[1.0, 1.0]]))
    -linear_kernel(x, (1, 2)) [-3.]
    """

    kernel: Callable[[Any, Any], Any]  # hashable; kernel(X, Z) is the matrix (n_samples, n_centers) of k(x, z)
    center: tuple[float, ...]
    sign: int  # +1 or -1

    def __call__(self, X: Data, /) -> Array:
        values = np.asarray(self.kernel(np.asarray(X, np.float64), np.array([self.center])))
        return self.sign * values[:, 0].astype(np.float64)

    def __str__(self) -> str:
        point = ", ".join([f"{value:.4g}" for value in self.center[:SHOWN]] + ["..."] * (len(self.center) > SHOWN))
        name = getattr(self.kernel, "__name__", str(self.kernel))
        return f"{'-' if self.sign < 0 else ''}{name}(x, ({point}))"


@dataclass(frozen=True, eq=False)
class Points:
    """Points that many hypotheses share: equal where their coordinates are, and hashed once.

    Examples
    --------
    >>> Points(np.eye(2)) == Points(np.eye(2)), len({Points(np.eye(2)), Points(np.eye(2))})
    (True, 1)
    """

    coordinates: Array  # (n_points, n_features)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Points) and np.array_equal(self.coordinates, other.coordinates))

    @cached_property
    def _hash(self) -> int:
        return hash((self.coordinates.shape, self.coordinates.tobytes()))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class KernelExpansion(_Signed):
    """The hypothesis h(x) = sum_i coefficients_i k(x, centers_i), a function in the space of a kernel.

    Examples
    --------
    >>> from sklearn.metrics.pairwise import linear_kernel
    >>> expansion = KernelExpansion(linear_kernel, Points(np.array([[1.0, 2.0], [0.0, 1.0]])), (0.5, -1.0))
    >>> print(expansion, expansion([[1.0, 1.0]]))
    sum of 2 terms of linear_kernel [0.5]
    """

    kernel: Callable[[Any, Any], Any]  # hashable; kernel(X, Z) is the matrix (n_samples, n_centers) of k(x, z)
    centers: Points
    coefficients: tuple[float, ...]
    signed = "coefficients"

    def __call__(self, X: Data, /) -> Array:
        coefficients = np.array(self.coefficients)
        kept = np.flatnonzero(coefficients)
        if not kept.size:
            return np.zeros(np.shape(X)[0])
        values = np.asarray(self.kernel(np.asarray(X, np.float64), self.centers.coordinates[kept]), np.float64)
        return values @ coefficients[kept]

    def __str__(self) -> str:
        return f"sum of {np.count_nonzero(self.coefficients)} terms of {getattr(self.kernel, '__name__', self.kernel)}"


@dataclass(frozen=True)
class Staircase(_OfOneFeature, _Signed):
    """The hypothesis h(x) = sum_k weights_k (1 if x[feature] >= thresholds_k else -1), all stumps of one feature.

    Examples
    --------
    >>> stairs = Staircase(0, (0.5, 1.5), (1.0, -0.25))
    >>> print(stairs, stairs([[0.0], [1.0], [2.0]]))
    x[0] by 2 steps [-0.75  1.25  0.75]
    """

    feature: int
    thresholds: tuple[float, ...]  # ascending; a sample on one counts as above it
    weights: tuple[float, ...]
    signed = "weights"

    def __call__(self, X: Data, /) -> Array:
        rises = np.append(0.0, 2 * np.cumsum(self.weights)) - np.sum(self.weights)
        at = np.searchsorted(self.thresholds, np.asarray(column(X, self.feature), np.float64), "right")
        return rises[at]

    def __str__(self) -> str:
        return f"x[{self.feature}] by {np.count_nonzero(self.weights)} steps"


@dataclass(frozen=True)
class TabulatedColumn(_Signed):
    """A hypothesis that is known by its values only: one column of a table H, or minus it.

    On other samples it cannot be evaluated from their features; give it, as `X`, a table of the values
    that all hypotheses of the pool take on those samples.

    Examples
    --------
    >>> column = TabulatedColumn(1, 2, -1)
    >>> print(column, column([[0.0, 5.0], [0.0, 7.0]]))
    -h[1] [-5. -7.]
    """

    index: int
    n_columns: int
    sign: int  # +1 or -1

    def __call__(self, X: Data, /) -> Array:
        """Evaluate on a table `X` (n_samples, n_columns) of hypothesis values; returns (n_samples,)."""
        if len(np.shape(X)) != 2 or np.shape(X)[1] != self.n_columns:
            found = f"found shape {np.shape(X)} for a hypothesis known only as a column of a table"
            remedy = f"give the values of all hypotheses on these samples, (n_samples, {self.n_columns})"
            raise InvalidInput("X", found, remedy)
        return self.sign * np.asarray(X, np.float64)[:, self.index]

    @property
    def feature_shares(self) -> FeatureShares:
        return np.array([self.index]), np.ones(1)

    def __str__(self) -> str:
        return f"{'-' if self.sign < 0 else ''}h[{self.index}]"


@dataclass(frozen=True)
class SignedTree(_Signed):
    """A decision tree between the classes -1 and +1, or its negation."""

    tree: Tree  # with classes among -1 and +1
    sign: float = 1.0  # +1 or -1
    coded: bool = False  # True if X is an array of numbers and codes, as that of `Trees` with `features`

    def __call__(self, X: Data, /) -> Array:
        """Evaluate on `X`, a table of the kind that was trained on; returns (n_samples,) of -1 and +1."""
        decoded = decode_table(self.tree.features, X) if self.coded else X
        return self.sign * self.tree.predict(decoded).astype(np.float64)

    @property
    def feature_shares(self) -> FeatureShares:
        """Each test, in proportion to the training weight that comes to it."""
        nodes = self.tree.nodes
        tests = np.flatnonzero(nodes.feature >= 0)
        cases = nodes.counts[tests].sum(axis=1)
        return nodes.feature[tests], cases / max(float(cases.sum()), np.finfo(float).tiny)

    def __str__(self) -> str:
        return str(self.tree) if self.sign > 0 else f"minus\n{self.tree}"


@dataclass(frozen=True, eq=False)
class FittedClassifier:
    """The hypothesis that predicts as a fitted classifier of the labels -1 and +1."""

    estimator: Any

    def __call__(self, X: Data, /) -> Array:
        """Evaluate on `X`, whatever the classifier predicts for; returns (n_samples,) of -1 and +1."""
        return np.where(self.estimator.predict(X) > 0, 1.0, -1.0)

    @property
    def feature_importances_(self) -> Array:
        """The classifier's own, or the sizes of its `coef_`, with the sum 1 or all 0; (n_features,)."""
        if hasattr(self.estimator, "feature_importances_"):
            sizes = np.asarray(self.estimator.feature_importances_, np.float64)
        elif hasattr(self.estimator, "coef_"):
            coefficients = self.estimator.coef_
            dense = coefficients.toarray() if issparse(coefficients) else np.atleast_2d(coefficients)
            sizes = np.abs(dense).sum(axis=0)
        else:
            raise AttributeError(f"{type(self.estimator).__name__} has neither feature_importances_ nor coef_")
        return sizes / (sizes.sum() or 1.0)

    def __str__(self) -> str:
        return str(self.estimator)


@dataclass(frozen=True)
class Connective:
    """A rule that combines -1/+1 values, false and true, into one.

    Examples
    --------
    >>> print(XOR.combine(1.0, -1.0), AND.combine(1.0, -1.0), OR.combine(1.0, -1.0))
    1.0 -1.0 1.0
    """

    word: str
    combine: Callable[[Any, Any], Any]  # of two arrays of values
    empty: float  # what combines with any value to that value


def _unlike(a: Any, b: Any) -> Any:
    return -a * b


AND = Connective("and", np.minimum, 1.0)
OR = Connective("or", np.maximum, -1.0)
XOR = Connective("xor", _unlike, -1.0)


@dataclass(frozen=True)
class Formula(_Signed):
    """The hypothesis h(x) = sign times -1/+1-valued parts joined by AND, OR or XOR.

    Examples
    --------
    >>> formula = Formula(AND, (Stump(0, 0.5, 1), Stump(1, 0.5, 1)))
    >>> formula([[0, 0], [0, 1], [1, 0], [1, 1]])
    array([-1., -1., -1.,  1.])
    """

    connective: Connective
    parts: tuple[Hypothesis, ...]
    sign: int = 1  # +1 or -1

    def __call__(self, X: Data, /) -> Array:
        values = np.full(np.shape(X)[0], self.connective.empty)
        for part in self.parts:
            values = self.connective.combine(values, part(X))
        return self.sign * values

    def __str__(self) -> str:
        nothing = f"{self.connective.empty:+g}"
        text = f" {self.connective.word} ".join(f"({part})" for part in self.parts) or nothing
        return text if self.sign > 0 else f"not ({text})"


def decode_table(features: Sequence[Feature], X: Data) -> Table:
    """Make a table of an array X (n_samples, n_features) of numbers and of codes of categories."""
    return Table(tuple(features), np.ascontiguousarray(np.asarray(X, dtype=np.float64).T))


def linear_form(weights: Sequence[float], features: Sequence[int] | None = None, terms: int = SHOWN) -> str:
    """Return sum_k weights_k x[features_k] as text: the largest `terms` by magnitude, in their order.

    Examples
    --------
    >>> linear_form((0.5, -2.0))
    '0.5 x[0] - 2 x[1]'
    >>> linear_form((0.5, -2.0, 0.1), terms=1)
    '-2 x[1] + 2 more'
    """
    places = range(len(weights)) if features is None else features
    largest = sorted(sorted(range(len(weights)), key=lambda k: -abs(weights[k]))[:terms])
    factors = ["" if (size := f"{abs(weights[k]):.4g} ") == "1 " else size for k in largest]
    signs = ["-" if weights[k] < 0 else "+" for k in largest]
    text = " ".join(f"{sign} {factor}x[{places[k]}]" for sign, factor, k in zip(signs, factors, largest, strict=True))
    text = text[2:] if text.startswith("+") else f"-{text[2:]}"
    return text + (f" + {len(weights) - len(largest)} more" if len(weights) > len(largest) else "")


def project(X: Data, directions: ArrayLike) -> Array:
    """Return ``X @ directions.T`` (n_samples, n_directions), equal for equal rows to the last bit.

    Blocked matrix products round equal rows differently, and a threshold may then fall in between; here
    every entry is one sum in the order of the features, alone or among others.

    Examples
    --------
    >>> project([[1.0, 2.0], [3.0, 4.0]], [[1.0, -1.0]])
    array([[-1.],
           [-1.]])
    """
    columns = np.ascontiguousarray(np.asarray(X, np.float64).T)
    directions = np.ascontiguousarray(directions, np.float64)
    if columns.ndim != 2 or len(columns) != directions.shape[1]:
        raise InvalidInput("X", f"found shape {np.shape(X)}", f"give (n_samples, {directions.shape[1]})")
    projections = np.zeros((len(directions), columns.shape[1]))
    if columns.size * len(directions) < FEW:
        for feature, values in enumerate(columns):
            projections += np.multiply.outer(directions[:, feature], values)
        return projections.T
    map_slices(
        lambda part: _project(columns, directions[part], projections[part]),
        len(directions),
        threads_for(len(directions) * columns.size),
        guided=True,
    )
    return projections.T


@njit(cache=True, nogil=True)
def _project(columns: Array, directions: Array, projections: Array) -> None:
    n_features, n_samples = columns.shape
    for k in range(len(directions)):
        for j in range(n_features):
            for i in range(n_samples):
                projections[k, i] += directions[k, j] * columns[j, i]
