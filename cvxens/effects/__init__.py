"""A model as a sum of effects: of single features, of pairs, and of more; what each says, of all samples and of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr
from sklearn.utils._optional_dependencies import check_pandas_support

from cvxens import validation
from cvxens.effects.functions import Interaction, MainEffect, find_cells, make_points, take_apart
from cvxens.features import column
from cvxens.tables import Feature
from cvxens.types import Array

__all__ = ["Effects", "Interaction", "MainEffect", "purify", "purify_further"]


@dataclass(frozen=True, eq=False)
class Effects:
    """A model as an intercept and effects: functions of one feature, of two, and of more, that add up to its scores.

    Interactions are pure: in every row and every column of a pair the mean over the background is 0, so that all that
    can be said of one feature alone is in its main effect, and so on for more features. Every effect has the mean 0
    over the background, and the intercept is the mean score.

    `model.effects(X)` makes one; the methods take samples as the model does.

    Parameters
    ----------
    intercept : ndarray of shape (n_outputs,)
        The mean of each score over the background.
    mains : tuple of MainEffect
        By feature, ascending.
    interactions : tuple of Interaction
        Pairs first; of each, the share of the background in its cells is known.
    feature_names : tuple of str
        Names of all features.
    outputs : tuple of str
        Names of the scores where there are several: classes, or what sub-problems tell apart; empty for one score.
    sizes, variances : ndarrays of shape (n_terms, n_outputs)
        The mean of the absolute value of every effect over the background, and its variance.
    read : callable
        From samples as users have them to an array or sparse matrix (n_samples, n_features).
    levels : mapping from int to tuple of str
        By nominal feature, what its codes 0, 1, ... stand for.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(C=0.01, oracle="depth_two_trees").fit(X, y)
    >>> effects = model.effects(X)
    >>> total = effects.intercept + effects.contributions(X).sum(axis=1)
    >>> bool(np.allclose(total, model.decision_function(X)))
    True
    >>> bool(np.allclose(effects.intercept + effects.shapley_values(X).sum(axis=1), total))
    True
    """

    intercept: Array
    mains: tuple[MainEffect, ...]
    interactions: tuple[Interaction, ...]
    feature_names: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: Array
    variances: Array
    read: Callable[[Any], Any] = np.asarray
    levels: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def from_terms(
        cls,
        terms: Iterable[tuple[Any, Array]],
        intercept: Array,
        feature_names: Sequence[str],
        outputs: Sequence[str] = (),
        *,
        X: Any = None,
        sample_weight: Array | None = None,
        read: Callable[[Any], Any] = np.asarray,
        levels: Mapping[int, tuple[str, ...]] | None = None,
    ) -> Self:
        """Make the effects of a sum of hypotheses and main effects, each times its weights (n_outputs,).

        The background is a sample X (n_samples, n_features), as `read` returns it, with weights; without one, features
        are taken as independent, and each as often in any of the cells between the cuts of the model as in any other.

        Raises
        ------
        InvalidInput
            A hypothesis changes elsewhere than at thresholds of single features.
        """
        total = np.array(intercept, np.float64)
        single: dict[int, list[tuple[MainEffect, Array]]] = {}
        joint: dict[tuple[int, ...], list[tuple[Interaction, Array]]] = {}
        for hypothesis, weights in terms:
            parts = [(1.0, hypothesis)] if isinstance(hypothesis, MainEffect) else take_apart(hypothesis)
            for factor, part in parts:
                if isinstance(part, MainEffect):
                    single.setdefault(part.feature, []).append((part, factor * weights))
                elif isinstance(part, Interaction):
                    joint.setdefault(part.features, []).append((part, factor * weights))
                else:
                    total += part * factor * weights
        background = _make_background(X, sample_weight, single, joint)
        interactions = []
        # from the most features down, as what is not pure goes to fewer
        for order in range(max(map(len, joint), default=1), 1, -1):
            for features in sorted(features for features in joint if len(features) == order):
                # functions whose cells would be more stay apart
                for found in Interaction.from_sum(joint[features], 2**20):
                    masses = background.masses(features, found.cuts)
                    if order > 2:
                        pure, others = purify_further(found.table, masses)
                        for k, values in enumerate(others):
                            rest = features[:k] + features[k + 1 :], found.cuts[:k] + found.cuts[k + 1 :]
                            joint.setdefault(rest[0], []).append((Interaction(*rest, values), np.ones(len(total))))
                    else:
                        pure, *sides, constant = purify(found.table, masses)
                        total += constant
                        for feature, cuts, side in zip(features, found.cuts, sides, strict=True):
                            flat = np.zeros((len(side), 1))
                            moved = [MainEffect(feature, cuts, values[:, None], flat) for values in side.T]
                            single.setdefault(feature, []).extend(zip(moved, np.eye(len(total)), strict=True))
                    interactions.append(Interaction(features, found.cuts, pure, masses))
        interactions.sort(key=lambda one: (len(one.features), one.features))
        mains = []
        for feature in sorted(single):
            main = MainEffect.from_sum(single[feature])
            x, p = background.points(feature)
            mean = p @ main.at(x)
            total += mean
            mains.append(main.lift(-mean))
        measured = [_measure(p, main.at(x)) for main in mains for x, p in [background.points(main.feature)]]
        measured += [_measure(one.masses.ravel(), one.table.reshape(-1, len(total))) for one in interactions]
        sizes, variances = np.array(measured).reshape(-1, 2, len(total)).swapaxes(0, 1)
        names = tuple(map(str, feature_names))
        known = {} if levels is None else levels
        return cls(total, tuple(mains), tuple(interactions), names, tuple(outputs), sizes, variances, read, known)

    def __repr__(self) -> str:
        ranked = [self.names[k] for k in np.argsort(-self.importances, kind="stable").tolist()]
        named = ", ".join(ranked[:5]) + (f" and {len(ranked) - 5} more" if ranked[5:] else "")
        orders = f"{len(self.mains)} of one feature, {len(self.interactions)} of more"
        return f"Effects({self.n_features} features, {len(self.intercept)} scores; {orders}: {named})"

    @property
    def terms(self) -> tuple[MainEffect | Interaction, ...]:
        """All effects, those of single features first."""
        return (*self.mains, *self.interactions)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all effects: of a feature, or "age x dose"."""
        return tuple(" x ".join(self.feature_names[feature] for feature in term.features) for term in self.terms)

    @property
    def n_features(self) -> int:
        """The number of features of the model."""
        return len(self.feature_names)

    def tell_value(self, feature: int, value: float) -> str:
        """Return a value of a feature as people read it: a number of four digits, a level, or "missing".

        Examples
        --------
        >>> from cvxens.hypotheses import LevelStump
        >>> sky = [(LevelStump(0, (1,), 1), np.array([0.5]))]
        >>> effects = Effects.from_terms(sky, np.zeros(1), ["sky"], levels={0: ("blue", "grey")})
        >>> effects.tell_value(0, 1.0), effects.tell_value(0, np.nan)
        ('grey', 'missing')
        """
        return Feature(self.feature_names[feature], self.levels.get(feature)).tell(value)

    def __call__(self, X: Any) -> Array:
        """Return the scores of samples X (n_samples, n_features): (n_samples,) or (n_samples, n_outputs)."""
        X = self.read(X)
        return self._show(sum((term(X) for term in self.terms), np.tile(self.intercept, (X.shape[0], 1))))

    def contributions(self, X: Any) -> Array:
        """Return what each effect adds to the scores of samples; with the intercept that is all of them.

        Returns
        -------
        ndarray of shape (n_samples, n_terms) or (n_samples, n_terms, n_outputs)
            In the order of `names`.
        """
        X = self.read(X)
        found = [term(X) for term in self.terms]
        return self._show(np.stack(found, axis=1) if found else np.zeros((X.shape[0], 0, len(self.intercept))))

    def shapley_values(self, X: Any) -> Array:
        """Return the exact Shapley values of all features; with the intercept they add up to the scores.

        They are interventional: features that a set has not are drawn from the background, together, whatever the
        others are. A main effect is all its feature's; a pair is shared by the formula, of four means.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        """
        X = self.read(X)
        values = np.zeros((X.shape[0], self.n_features, len(self.intercept)))
        for main in self.mains:
            values[:, main.feature] += main(X)
        for joint in self.interactions:
            values[:, list(joint.features)] += joint.share(X)
        return self._show(values)

    def partial_dependence(self, features: Any, values: Any) -> Array:
        """Return the mean score over the background, with some features of all samples set to given values.

        Parameters
        ----------
        features : int or str, or sequence of these
            By index or name.
        values : array-like of shape (n_points,) or (n_points, n_given_features)
            Of one feature, or of several.

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_outputs)

        Raises
        ------
        InvalidInput
            A feature that is not known, or values that are not finite.
        """
        given = [features] if isinstance(features, str) or np.ndim(features) == 0 else list(features)
        places = [validation.feature_index("features", one, self.feature_names, self.n_features) for one in given]
        points = np.atleast_1d(validation.finite_array("values", values))
        points = points[:, None] if points.ndim == 1 else points
        validation.one_each("values", points.T, len(places), "feature")
        known = dict(zip(places, points.T, strict=True))
        found = np.tile(self.intercept, (len(points), 1))
        for main in self.mains:
            if main.feature in known:
                found += main.at(known[main.feature])
        for joint in self.interactions:
            # the mean of an interaction is 0 where none of its features is known
            if not known.keys().isdisjoint(joint.features):
                found += joint.expect(known)
        return self._show(found)

    def to_frame(self) -> Any:
        """Return a pandas data frame of all effects, the most important first.

        Returns
        -------
        pandas.DataFrame
            `effect` (its name), `order` (the number of its features), `importance` (the mean of its absolute value over
            the background; of several scores, the mean over these), `share` (its variance in the sum of the variances
            of all effects) and, of several scores, `importance_NAME` of each.

        Raises
        ------
        ImportError
            Without pandas.
        """
        pd = check_pandas_support("to_frame")
        importance = self.importances
        frame = pd.DataFrame(
            {
                "effect": list(self.names),
                "order": [len(term.features) for term in self.terms],
                "importance": importance,
                "share": self.shares,
                **{f"importance_{name}": self.sizes[:, k] for k, name in enumerate(self.outputs)},
            }
        )
        return frame.iloc[np.argsort(-importance, kind="stable")].reset_index(drop=True)

    @property
    def importances(self) -> Array:
        """The mean of the absolute value of every effect over the background and the scores, (n_terms,)."""
        return self.sizes.mean(axis=1)

    @property
    def shares(self) -> Array:
        """The share of every effect in the sum of the variances of all of them, (n_terms,)."""
        variances = self.variances.sum(axis=1)
        return variances / (variances.sum() or 1.0)

    def _show(self, values: Array) -> Array:
        return values if self.outputs else values[..., 0]


@dataclass(frozen=True, eq=False)
class SampleBackground:
    """The distribution that effects are held against: samples X, dense or sparse, with masses p of the sum 1."""

    X: Any
    p: Array

    def points(self, feature: int) -> tuple[Array, Array]:
        """Return values of a feature and their masses, of the sum 1; (n_points,) both."""
        return np.asarray(column(self.X, feature), np.float64), self.p

    def masses(self, features: Sequence[int], cuts: Sequence[Array]) -> Array:
        """Return the masses of the cells between cuts of several features, (n_cuts + 2, n_cuts + 2, ...)."""
        shape = tuple(len(c) + 2 for c in cuts)
        cells = tuple(find_cells(column(self.X, f), c) for f, c in zip(features, cuts, strict=True))
        joint = np.bincount(np.ravel_multi_index(cells, shape), self.p, int(np.prod(shape)))
        return np.asarray(joint, np.float64).reshape(shape)


@dataclass(frozen=True, eq=False)
class CellBackground:
    """Independent features, each of which is in any of the cells between its cuts as often, and never missing."""

    cuts: Mapping[int, Array]

    def points(self, feature: int) -> tuple[Array, Array]:
        """Return the middle of each cell, and the cuts at its ends for the outer ones."""
        points = make_points(self.cuts[feature])[:-1]
        points[1:-1] += np.diff(points[1:]) / 2
        return points, np.full(len(points), 1 / len(points))

    def masses(self, features: Sequence[int], cuts: Sequence[Array]) -> Array:
        """Multiply the masses of the features."""
        joint = np.ones(())
        for feature, c in zip(features, cuts, strict=True):
            points, p = self.points(feature)
            joint = np.multiply.outer(joint, np.bincount(find_cells(points, c), p, len(c) + 2))
        return joint


def _make_background(
    X: Any,
    sample_weight: Array | None,
    single: Mapping[int, list[tuple[MainEffect, Array]]],
    joint: Mapping[tuple[int, ...], list[tuple[Interaction, Array]]],
) -> SampleBackground | CellBackground:
    """Return the distribution of a sample, or that of the cells between all cuts of each feature."""
    if X is not None:
        n_samples = X.shape[0]
        weights = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return SampleBackground(X, weights / weights.sum())
    found: dict[int, list[Array]] = {}
    for feature, parts in single.items():
        found.setdefault(feature, []).extend(part.cuts for part, _ in parts)
    for features, tables in joint.items():
        for table, _ in tables:
            for feature, own in zip(features, table.cuts, strict=True):
                found.setdefault(feature, []).append(own)
    return CellBackground({feature: np.unique(np.concatenate(cuts)) for feature, cuts in found.items()})


def _measure(p: Array, values: Array) -> tuple[Array, Array]:
    """Return the means of the absolute values (n, n_outputs), and of their squares, by masses (n,)."""
    return p @ np.abs(values), p @ values**2


def purify(table: Array, masses: Array) -> tuple[Array, Array, Array, Array]:
    """Split a table T into a pure interaction, a function of the rows, one of the columns, and a constant.

    With weights W of the cells, the functions a and b are those that minimise ``sum_ij W_ij (T_ij - a_i - b_j)^2``:
    what is left has the weighted mean 0 in every row and in every column, which is where moving these means out of the
    table, again and again, would end (Lengerich, Tan, Chang, Hooker & Caruana, *Purifying interaction effects with the
    functional ANOVA*, AISTATS 2020). A row without weight is taken as if its cells had the weights of the columns.
    Where the weights fall into parts that have no row and no column in common, a and b of least squares are taken.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns, n_outputs)
        The function, cell by cell.
    masses : ndarray of shape (n_rows, n_columns)
        Weights of the cells, 0 or above, with the sum 1.

    Returns
    -------
    pure : ndarray of shape (n_rows, n_columns, n_outputs)
        The interaction.
    rows, columns : ndarrays of shape (n_rows, n_outputs) and (n_columns, n_outputs)
        a and b, of weighted mean 0.
    constant : ndarray of shape (n_outputs,)
        The weighted mean of the table. The four add up to it.

    Examples
    --------
    >>> both = np.array([[0.0, 0.0], [0.0, 1.0]])[..., None]
    >>> pure, rows, columns, constant = purify(both, np.full((2, 2), 0.25))
    >>> print(pure[..., 0].round(9), rows[:, 0].round(9), constant.round(9))
    [[ 0.25 -0.25]
     [-0.25  0.25]] [-0.25  0.25] [0.25]
    """
    r, c = masses.sum(axis=1), masses.sum(axis=0)
    i, j = np.flatnonzero(r), np.flatnonzero(c)
    # the normal equations, in the unknowns sqrt(r) a and sqrt(c) b: their matrix has the ones on its diagonal
    scale = np.sqrt(np.concatenate([r[i], c[j]]))
    A = masses[np.ix_(i, j)] / np.outer(scale[: len(i)], scale[len(i) :])
    matrix = np.block([[np.eye(len(i)), A], [A.T, np.eye(len(j))]])
    weighted = masses[..., None] * table
    sums = np.concatenate([weighted.sum(axis=1)[i], weighted.sum(axis=0)[j]])
    # eigenvalues below that share of the largest one are of separate parts of the table
    found = np.linalg.lstsq(matrix, sums / scale[:, None], rcond=1e-10)[0] / scale[:, None]
    a, b = np.zeros((len(r), table.shape[2])), np.zeros((len(c), table.shape[2]))
    a[i], b[j] = found[: len(i)], found[len(i) :]
    a[r == 0] = np.einsum("j,ijk->ik", c, table[r == 0] - b)
    b[c == 0] = np.einsum("i,ijk->jk", r, table[:, c == 0] - a[:, None])
    of_rows, of_columns = r @ a, c @ b
    a, b, constant = a - of_rows, b - of_columns, of_rows + of_columns
    return table - a[:, None] - b - constant, a, b, constant


def purify_further(table: Array, masses: Array) -> tuple[Array, list[Array]]:
    """Split a table of three or more features into a pure interaction and tables of all but one of them.

    As `purify`, but what leaves the table is one table for each feature, without that one. They are those of least
    squares, so that what is left has the weighted mean 0 over any feature, whatever the others are; they are not pure
    themselves. Cells of the others without weight stay as they are.

    Parameters
    ----------
    table : ndarray of shape (n_cells, n_cells, n_cells, ..., n_outputs)
        The function, cell by cell.
    masses : ndarray of shape (n_cells, n_cells, n_cells, ...)
        Weights of the cells, 0 or above, with the sum 1.

    Returns
    -------
    pure : ndarray, shaped as the table
        The interaction.
    parts : list of ndarray
        Part k has the axes of the table but the k-th. Together they add up to the table.

    Examples
    --------
    >>> table = np.zeros((2, 2, 2, 1))
    >>> table[1, 1, 1] = 1.0
    >>> pure, parts = purify_further(table, np.full((2, 2, 2), 1 / 8))
    >>> print(pure[..., 0].round(9).ravel(), [part.shape for part in parts])
    [-0.125  0.125  0.125 -0.125  0.125 -0.125 -0.125  0.125] [(2, 2, 1), (2, 2, 1), (2, 2, 1)]
    """
    order, shape = masses.ndim, masses.shape
    root = np.sqrt(masses)
    # the unknowns are scaled by the roots of the masses of their cells, as those of `purify`
    sums = [masses.sum(axis=k) for k in range(order)]
    scales = [np.divide(1.0, np.sqrt(m), out=np.zeros_like(m), where=m > 0) for m in sums]
    ends = np.cumsum([m.size for m in sums])

    def spread(x: Array) -> Sequence[Array]:
        parts = np.split(x, ends[:-1])
        return [part.reshape(scale.shape) * scale for part, scale in zip(parts, scales, strict=True)]

    def add(x: Array) -> Array:
        return (root * sum(np.expand_dims(part, k) for k, part in enumerate(spread(x)))).ravel()

    def collect(r: Array) -> Array:
        weighted = root * r.reshape(shape)
        return np.concatenate([(weighted.sum(axis=k) * scales[k]).ravel() for k in range(order)])

    operator = LinearOperator((masses.size, ends[-1]), matvec=add, rmatvec=collect, dtype=np.float64)
    found = []
    for values in np.moveaxis(table, -1, 0):
        goal = (root * values).ravel()
        # what is left of the means, in the units of the table
        found.append(spread(lsmr(operator, goal, atol=1e-14, btol=1e-14, conlim=0, maxiter=2000)[0]))
    parts = [np.stack(of_outputs, axis=-1) for of_outputs in zip(*found, strict=True)]
    return table - sum(np.expand_dims(part, k) for k, part in enumerate(parts)), parts
