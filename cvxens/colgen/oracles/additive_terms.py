"""The terms of additive models, main effects and pairs, as one exact oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.colgen.oracles.bins import Groups
from cvxens.colgen.oracles.depth_two_trees import DepthTwoTrees
from cvxens.colgen.oracles.levels import Kinds, check_sides
from cvxens.colgen.oracles.pair_rules import PairRules
from cvxens.colgen.oracles.pool import Pool
from cvxens.colgen.oracles.quantile_stumps import QuantileStumps
from cvxens.colgen.oracles.unions import Costed, Union
from cvxens.features import BinnedFeatures
from cvxens.hypotheses import Hypothesis, Ramp
from cvxens.tables import Feature
from cvxens.types import Array


class AdditiveTerms(Union):
    """The terms of additive models: steps and lines of single features, and functions of pairs of features.

    The set is the `Union` of all stumps over 32 quantiles of every feature (`QuantileStumps`); of its line and of the
    ramps that begin or end at one of 8 quantiles, all divided by its standard deviation; and of the trees of depth 2
    over every pair of features (`DepthTwoTrees`), where a unit of weight has a cost. It is exact over all of these.
    Where features have signs there are `PairRules`, which keep them, in place of all trees, at half the cost, as rules
    are 0 elsewhere.

    Missing values and nominal features are as in `QuantileStumps`: a step sends missing values to the better side, as
    trees do, a line and a ramp are 0 there, and of levels one is told from the others. Pairs are of numbers, and of
    whether values are known.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite, or NaN where missing, at least one feature that varies.
    n_bins : int
        At most so many bins per feature of pairs, 2 to 256.
    pairs : bool
        False for single features alone.
    pair_cost : float
        What a unit of weight of a pair costs, above 0; of a step and of a line it costs 1. By default more, as of many
        more trees the best has a larger edge by chance.
    interactions : collection of groups of features, optional
        The features of a pair are of one group; by default any two. An empty collection is for no pairs.
    forbidden : collection of groups of features
        No pair has two features of such a group.
    signs : array-like of shape (n_features,), optional
        +1 for terms that rise with the feature alone, -1 for those that fall, 0 for both, as by default.
    columns_per_round : int, optional
        At most so many columns are returned; by default all that were found.
    sample_weight : array-like of shape (n_samples,), optional
        How much of the sample each row is, above 0, for quantiles and standard deviations; by default 1.
    features : sequence of Feature, optional
        What the columns are, as for `Stumps`.
    missing : {"side", "zero"}
        What steps are where the value is missing, as for `Stumps`.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> for column in AdditiveTerms(X).price([1.0, -1.0, -1.0, 1.0]).columns[:1]:
    ...     print(column.hypothesis, column.edge)
    0.5 (x[0] >= 0.5 and x[1] >= 0.5, or x[0] < 0.5 and x[1] < 0.5 -> +1) 2.0
    """

    source = "Hastie & Tibshirani 1986; Lou et al. 2013"

    def __init__(
        self,
        X: Any,
        *,
        n_bins: int = 16,
        pairs: bool = True,
        pair_cost: float = 2.0,
        interactions: Groups | None = None,
        forbidden: Groups = (),
        signs: Any = None,
        columns_per_round: int | None = None,
        sample_weight: Any = None,
        features: Sequence[Feature] | None = None,
        missing: str = "side",
    ) -> None:
        kinds = Kinds.from_sample(X, features, missing)
        X, signs = kinds.X, None if signs is None else kinds.check_sides(signs)
        sided = signs is not None and bool(signs.any())
        given: Any = {"sample_weight": sample_weight}
        # the most steps, and the most lines, that are answered
        most: Any = {"columns_per_round": 50}
        found: list[Any] = [QuantileStumps(X, signs=signs, features=kinds.features, missing=missing, **most, **given)]
        if ramps := list(list_ramps(X, signs, sample_weight, kinds.numeric.tolist())):
            found.append(Pool.of(ramps, X, negations=not sided, **most))
        if pairs and len(kinds.numeric) > 1 and (interactions is None or len(interactions) > 0):
            given |= {"n_bins": n_bins, "interactions": interactions, "forbidden": forbidden, "constant": False}
            given["nominal"] = np.flatnonzero(kinds.nominal).tolist()
            cost = validation.positive("pair_cost", pair_cost)
            if sided:
                found.append(Costed(PairRules(X, signs=signs, **given), cost / 2))
            else:
                found.append(Costed(DepthTwoTrees(X, **given), cost))
        super().__init__(*found, columns_per_round=columns_per_round)


def list_ramps(
    X: Array, signs: Any = None, sample_weight: Any = None, features: Sequence[int] | None = None
) -> Iterator[Hypothesis]:
    """Yield the line of every feature of three values or more, and its ramps, over its standard deviation.

    Where there are signs, -h is yielded too where a feature has none, and only what keeps the sign where it has one.
    Missing values count for nothing; `features` are those to take, by default all.

    Examples
    --------
    >>> [str(ramp) for ramp in list_ramps(np.array([[0.0], [2.0], [4.0]]))][:3]
    ['0.612372 (x[0] - 2)', '0.612372 max(x[0] - 1, 0)', '0.612372 max(1 - x[0], 0)']
    """
    sides = check_sides(signs, X.shape[1])
    sided = bool(sides.any())
    features = range(X.shape[1]) if features is None else features
    # lines bend at 8 places, between parts of equal mass
    binned = BinnedFeatures(X, features, n_bins=9, sample_weight=sample_weight)
    for j, knots in zip(features, binned.thresholds, strict=True):
        if len(knots) < 2:
            # a step says all of two values
            continue
        known = ~np.isnan(X[:, j])
        x, masses = X[known, j], None if sample_weight is None else np.asarray(sample_weight)[known]
        mean = np.average(x, weights=masses)
        slope = 1 / float(np.sqrt(np.average((x - mean) ** 2, weights=masses)))
        bends = [(float(mean), 0), *((float(t), side) for t in knots for side in (1, -1))]
        for t, side in bends:
            # max(t - x, 0) falls
            rises = -1 if side < 0 else 1
            for sign in (1, -1) if sided else (1,):
                if not sides[j] or sides[j] == sign * rises:
                    yield Ramp(j, t, side, sign * slope)
