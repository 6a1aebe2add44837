"""Bands: how far the functions of single features may differ among all ensembles that are almost as good as the best.

Two linear functions of the weights are of use, whose ranges over all ensembles within a level are found by
`colgen.near_optimal`:

- the **shape** of feature d at a value v, less its mean over the sample, ``g_d(v) - mean_i g_d(x_id)``: c_j is h_j
  there less its mean over the sample for the hypotheses of d, and 0 for all others. If row k has the value v, this is
  an edge too, under the weights ``e_k - 1/n``;
- the **importance** of d, the sum of the weights of its hypotheses: c_j is 1 for these.

So hypotheses of d and all others are priced apart. The set of either is that of the oracle on a sample in which the
other features, or d itself, are constant: of these there are no hypotheses. The constants of a set are of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from cvxens import validation
from cvxens.colgen.loop import Run, column_generation
from cvxens.colgen.near_optimal import LevelSet, NearEnsemble, PricedPart, Range, RangeSearch, find_level, take_ends
from cvxens.colgen.protocols import Hypothesis, Oracle, Priced, ask, declared, evaluate, skip_squares, with_signs
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant
from cvxens.limits import limit_time
from cvxens.problems.duality import balance_exactly
from cvxens.problems.formulation import Formulation
from cvxens.rounding import EPSILON
from cvxens.types import Array

N_POINTS = 10
"""Values of a feature at which its band is found where nobody says how many: each is two programs."""

CONSTANTS = (Constant(1), Constant(-1))
"""Hypotheses of no feature."""


@dataclass(frozen=True, eq=False)
class Band:
    """The range of the function of one feature.

    Parameters
    ----------
    feature : int
    points : ndarray of shape (n_points,)
        Values of the feature in the sample, ascending.
    shape : Range
        Of the function there, less its mean over the sample.
    importance : Range
        Of the sum of the weights of the feature's hypotheses, one number each.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [-1.0, -1.0, 1.0, 1.0]
    >>> band = find_bands(formulations.soft_margin(C=1.0), oracles.Stumps, X, y, within=0.5).bands[0]
    >>> band.points, band.shape.lowest.round(3), band.shape.highest.round(3)
    (array([0., 1., 2., 3.]), array([-1.625, -1.5  ,  0.625,  0.792]), array([-0.792, -0.625,  1.5  ,  1.625]))
    """

    feature: int
    points: Array
    shape: Range
    importance: Range


@dataclass(frozen=True, eq=False)
class Bands:
    """The ranges of shapes and importances over all ensembles whose objective is at most a level.

    Parameters
    ----------
    bands : sequence of Band
        One for each feature that was asked for, in that order.
    level : float
        The objective up to which ensembles count, as that of a minimum.
    within : float
        How far that is from the objective that was found, relative to it.
    feature_names : sequence of str
        One for each feature of the sample.
    complete : bool
        True if every range is as narrow as was asked for; else certified ends are further from those that were found.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [-1.0, -1.0, 1.0, 1.0]
    >>> bands = find_bands(formulations.soft_margin(C=1.0), oracles.Stumps, X, y, within=0.5)
    >>> bands.level, bands.to_frame()[["found", "least", "most"]].to_numpy().round(3)
    (1.5, array([[1.   , 0.833, 1.5  ]]))
    """

    bands: Sequence[Band]
    level: float
    within: float
    feature_names: Sequence[str]
    complete: bool

    @property
    def needed(self) -> list[int]:
        """The features that no ensemble within the level does without: their importance is above 0 for certain."""
        return [band.feature for band in self.bands if band.importance.least[0] > 0]

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for every feature: the range of its importance, and that of its shape.

        Returns
        -------
        pandas.DataFrame
            `feature`, the importance as it was `found` and its `least` and `most`, and `widest`, the largest width of
            the band of its shape.
        """
        import pandas as pd

        rows = [
            {
                "feature": self.feature_names[band.feature],
                "found": band.importance.found[0],
                "least": band.importance.least[0],
                "most": band.importance.most[0],
                "widest": float((band.shape.most - band.shape.least).max(initial=0.0)),
            }
            for band in self.bands
        ]
        return pd.DataFrame(rows)


def find_bands(
    formulation: Formulation,
    make_oracle: Callable[[Any], Oracle],
    X: Any,
    y: Any = None,
    *,
    within: float = 0.01,
    features: Iterable[int] | None = None,
    points: Mapping[int, Any] | int = N_POINTS,
    start: Iterable[Hypothesis] = (),
    feature_names: Sequence[str] | None = None,
    sample_weight: Any = None,
    tol: float = 1e-2,
    max_time: float = inf,
    **options: Any,
) -> Bands:
    """Find the exact range of every feature's function and importance over all ensembles almost as good as the best.

    All ensembles count whose objective is at most that of the one that a run finds, plus the share `within` of its
    size. Both ends of every range are certified over all hypotheses of the oracle.

    Parameters
    ----------
    formulation : Formulation
        With a penalty of l1, such as ``formulations.soft_margin``, or weights of the sum 1, such as
        ``formulations.lpboost``, and one output. Where weights are free, h and -h are two hypotheses, each of a weight
        of 0 or above; the optimum is the same.
    make_oracle : callable
        From samples to an oracle, such as ``oracles.Stumps``, of hypotheses of single features that it bounds the edges
        of. The hypotheses of a feature may not depend on the values of others.
    X : array-like of shape (n_samples, n_features)
        Features; NaN and codes of levels where the oracle takes them.
    y : array-like of shape (n_samples,), optional
        Labels -1 and +1; none where the loss is on scores.
    within : float
        Above 0.
    features : iterable of int, optional
        The features whose bands are wanted; by default those that the run uses.
    points : mapping of int to array-like, or int
        Values of each feature at which its function is wanted, of which the nearest in the sample are taken; or so many
        values of the sample, evenly spaced in rank.
    start : iterable of Hypothesis
        Hypotheses to start with, such as those of a model.
    feature_names : sequence of str, optional
        By default x[0], x[1], ...
    sample_weight : array-like of shape (n_samples,), optional
        How often each sample counts in the means of functions, 0 or above; by default once.
    tol : float
        How far certified ends may be from those of ensembles that were found, relative to the sum of the weights.
    max_time : float
        Seconds after which ranges stay as they are: certified, and wider than need be.
    **options
        Further arguments of `column_generation` for the run.

    Returns
    -------
    Bands

    Raises
    ------
    InvalidInput
        The penalty is another one, there are several outputs, the oracle has hypotheses of several features or does not
        bound their edges, or an argument is out of its range.

    Notes
    -----
    An importance counts the weights of all hypotheses of a feature, also where some take back what others say; so its
    largest value has a part of what the level leaves room for. Its smallest value is what nobody can do without.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    >>> bands = find_bands(formulations.soft_margin(C=0.2), oracles.Stumps, X, y, within=0.02, points=4)
    >>> bands.complete, bands.needed
    (True, [0, 1])
    """
    validation.positive("within", within)
    validation.positive("tol", tol)
    if formulation.outputs is not None:
        raise InvalidInput("formulation", f"found {formulation.outputs} outputs", "give one of a single output")
    with limit_time(max_time):
        run = column_generation(formulation, make_oracle(X), y, start=start, **options)
        sample = np.asarray(X.toarray() if issparse(X) else X)
        names = [f"x[{j}]" for j in range(sample.shape[1])] if feature_names is None else list(feature_names)
        masses = validation.weights(
            "sample_weight", np.ones(len(sample)) if sample_weight is None else sample_weight, len(sample)
        )
        signs, shares = formulation.signs(y, len(sample)), masses / masses.sum()
        search = _BandSearch(formulation, make_oracle, sample, signs, shares, run, within, tol)
        return search.find(features, points, names)


class _Constants:
    """The constants of a set, where no feature but one varies: its other hypotheses count as what they are on average.

    A constant has the same edge under all weights of one sum, so it is priced under equal ones.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.sample, self.largest = oracle, oracle.sample, declared(oracle, "largest")

    def price(self, s: Array, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the constants, with a bound on their edges."""
        total = fsum(s)
        answer = ask(self.oracle, np.full(len(s), total / len(s)), exclude, **skip_squares(self.oracle))
        constant = [column for column in answer.columns if (column.values == column.values[0]).all()]
        # the sum is rounded once, and its share of each sample once
        return Priced(constant, answer.edge_bound + 2 * EPSILON * abs(total) * self.largest)


@dataclass(eq=False)
class _BandSearch:
    """Finds bands around the ensemble of a run."""

    formulation: Formulation
    make_oracle: Callable[[Any], Oracle]
    X: Array
    y: Array
    shares: Array
    run: Run
    within: float
    tol: float

    def __post_init__(self) -> None:
        X, self.is_free = self.X, not self.formulation.nonnegative
        self.ensemble = NearEnsemble.from_run(self.run, self.formulation, X)
        self.level = find_level(self.run, self.formulation, self.within)
        known = ~np.isnan(X) if X.dtype.kind == "f" else np.ones(X.shape, bool)
        # a value for each feature that it has somewhere
        self.base = X[known.argmax(axis=0), np.arange(X.shape[1])]
        oracle = self.make_oracle(X)
        # one that does not say is taken for one that has them
        self.has_constants = bool(getattr(oracle, "constant", True))
        for column in (*self.run.columns, *ask(oracle, self.y * self.ensemble.u, ()).columns):
            self._find_features(column.hypothesis, np.asarray(evaluate(column.hypothesis, X)))

    def find(self, features: Iterable[int] | None, points: Mapping[int, Any] | int, names: Sequence[str]) -> Bands:
        """Find the bands of some features, or of all that have a weight."""
        n_features = self.X.shape[1]
        validation.one_each("feature_names", names, n_features, "feature")
        weights = np.zeros(n_features)
        for hypothesis, values, w in zip(self.ensemble.hypotheses, self.ensemble.H.T, self.ensemble.w, strict=True):
            weights[self._find_features(hypothesis, values)] += w
        ranked = [int(d) for d in np.argsort(-weights, kind="stable") if weights[d] > 0]
        chosen = ranked if features is None else [int(d) for d in features]
        if any(not 0 <= d < n_features for d in chosen):
            raise InvalidInput("features", f"found {chosen!r:.100}", f"give indices from 0 to {n_features - 1}")
        bands, complete = [], True
        for d in chosen:
            band, done = self._find_band(d, self._choose_points(d, points))
            bands.append(band)
            complete &= done
        return Bands(bands, self.level, self.within, names, complete)

    def _find_features(self, hypothesis: Hypothesis, values: Array) -> list[int]:
        """Return the feature that a hypothesis depends on, or none; raise where there are several."""
        found = [
            d
            for d in range(self.X.shape[1])
            if not np.array_equal(evaluate(hypothesis, self._without(d)), values, equal_nan=True)
        ]
        if len(found) > 1:
            raise _refuse_several(hypothesis)
        return found

    def _without(self, d: int) -> Array:
        """Return the sample in which feature d is constant."""
        X = self.X.copy()
        X[:, d] = self.base[d]
        return X

    def _with_only(self, d: int) -> Array:
        """Return the sample in which all features but d are constant."""
        X = np.repeat(self.base[None], len(self.X), axis=0)
        X[:, d] = self.X[:, d]
        return X

    def _choose_points(self, d: int, points: Mapping[int, Any] | int) -> NDArray[np.intp]:
        """Return rows of the sample with the values of feature d at which its function is wanted, ascending."""
        values, rows = np.unique(self.X[:, d], return_index=True)
        rows = rows[~np.isnan(values)] if values.dtype.kind == "f" else rows
        values = self.X[rows, d]
        if len(values) < 2:
            raise InvalidInput("features", f"found {d}, which is constant", "give features that vary")
        if isinstance(points, Mapping):
            if d not in points:
                raise InvalidInput("points", f"found none for feature {d}", "give some for every feature")
            wanted = validation.finite_array("points", np.atleast_1d(points[d]), ndim=1)
            return rows[np.unique([int(np.abs(values - value).argmin()) for value in wanted])]
        most = validation.whole("points", points)
        return rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(np.intp))]

    def _find_band(self, d: int, rows: NDArray[np.intp]) -> tuple[Band, bool]:
        """Find the band of one feature; False beside it where an end is not as near as was asked for."""
        n, alone, without = len(self.X), self._with_only(d), self._without(d)
        own, varies = self._make_oracle(alone), not (without[0] == without).all()
        others = self._make_oracle(without) if varies else _Constants(own) if self.has_constants else None

        def read(hypothesis: Hypothesis) -> tuple[Array, int]:
            # a hypothesis of the feature at hand is the first part, and one of no or another feature the second
            values = np.asarray(evaluate(hypothesis, self.X))
            if np.array_equal(evaluate(hypothesis, without), values):
                return values, 1
            if np.array_equal(evaluate(hypothesis, alone), values):
                return values, 0
            raise _refuse_several(hypothesis)

        level_set = LevelSet(self.formulation, self.y, self.level, self.ensemble.H)
        search = RangeSearch(level_set, self.ensemble, read, free=self.is_free, tol=self.tol)
        tilts = [balance_exactly((np.arange(n) == row) - self.shares, np.ones(n)) for row in rows.tolist()]
        none = np.zeros(n)
        ends = [
            search.begin([PricedPart(own, sign * tilt, sign * constant, CONSTANTS), PricedPart(others, none)])
            for tilt, constant in (*((tilt, 0.0) for tilt in tilts), (none, 1.0))
            for sign in (-1.0, 1.0)
        ]
        found = np.array([end.reached for end in ends[1::2]])
        # no importance is below 0
        ends[-2].bound = 0.0
        # by these functions alone; without a hypothesis of the feature, nothing would depend on them
        for tilt in tilts:
            for s in (tilt, -tilt):
                for column in ask(own, s, (), **skip_squares(own)).columns[:1]:
                    search.take(column, s)
        # neighbouring points one after the other: what is best at one of them is not far from it at the next
        done = search.find((*ends[::2], *ends[1::2]))
        shape, importance = (
            take_ends(ends[at], found[of]) for at, of in ((slice(-2), slice(-1)), (slice(-2, None), slice(-1, None)))
        )
        return Band(d, self.X[rows, d].astype(np.float64), shape, importance), done

    def _make_oracle(self, sample: Array) -> Oracle:
        return with_signs(self.make_oracle(sample), free=self.is_free)


def _refuse_several(hypothesis: Hypothesis) -> InvalidInput:
    remedy = "give an oracle of hypotheses of single features, such as stumps"
    return InvalidInput("make_oracle", f"found {hypothesis}, of several features", remedy)
