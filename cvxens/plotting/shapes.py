"""The functions of single features that an additive model is the sum of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.plotting.display import FAINT, checked_axes, feature_labels, new_axes
from cvxens.plotting.ensembles import Ensemble, WeightedStump
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from cvxens.colgen import Run

ACROSS = 4
"""Pictures in a row."""

RUG = 1000
"""At most so many samples are marked below a function, evenly spaced in rank."""


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """A function of one feature.

    Parameters
    ----------
    name : str
        Of the feature.
    knots, values : array-like of shape (n_knots,)
        The function at ascending knots.
    sample : array-like of shape (n_samples,), optional
        The feature's values, to be marked below.
    steps : bool
        Whether it is constant from each knot to the next; else it is linear there.

    Raises
    ------
    InvalidInput
        Knots and values are not of one length, or knots do not ascend.

    Examples
    --------
    >>> ShapeFunction("age", [0, 1, 3], [-1.0, 0.5, 0.0]).extent
    1.5
    """

    name: str
    knots: Array
    values: Array
    sample: Array | None = None
    steps: bool = False

    def __post_init__(self) -> None:
        for field in ("knots", "values"):
            array = validation.finite_array(f"{field} of {self.name}", getattr(self, field), ndim=1)
            object.__setattr__(self, field, array)
        if len(self.knots) != len(self.values):
            found = f"found {len(self.knots)} knots and {len(self.values)} values"
            raise InvalidInput(f"shape of {self.name}", found, "give one value per knot")
        if (np.diff(self.knots) < 0).any():
            raise InvalidInput(
                f"knots of {self.name}", "found them not in order", "sort them, and the values with them"
            )

    @classmethod
    def of_stumps(cls, name: str, stumps: Sequence[WeightedStump], sample: Array | None) -> Self:
        """Sum the stumps of one feature; the knots reach over the sample, or a little over the thresholds."""
        thresholds, place = np.unique([stump.threshold for stump in stumps], return_inverse=True)
        rises = np.array([stump.weight * stump.sign for stump in stumps])
        jumps = 2 * np.bincount(place, rises, len(thresholds))
        values = np.append(0.0, np.cumsum(jumps)) - rises.sum()
        spare = np.ptp(thresholds) / 20 or 1.0
        ends = thresholds[[0, -1]] + [-spare, spare] if sample is None else sample[[sample.argmin(), sample.argmax()]]
        first, last = min(ends[0], thresholds[0]), max(ends[1], thresholds[-1])
        return cls(name, np.r_[first, thresholds, last], np.append(values, values[-1]), sample, steps=True)

    @property
    def extent(self) -> float:
        """Its largest value less its smallest."""
        return float(np.ptp(self.values))


@dataclass
class ShapeDisplay:
    """The functions g_d of an additive model f(x) = b + sum_d g_d(x_d), one picture per feature, on one scale.

    Parameters
    ----------
    shapes : sequence of ShapeFunction
        At least one.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One per shape.
    figure_ : matplotlib Figure
        The figure of the first.

    Raises
    ------
    InvalidInput
        There is no shape.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> pairs = {"age": ([20, 40, 60], [-1.0, 0.5, 0.0]), "height": ([1.5, 2.0], [0.0, 0.2])}
    >>> display = ShapeDisplay.from_shapes(pairs, ax=Figure().subplots(1, 2))
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['age', 'height']
    """

    shapes: Sequence[ShapeFunction]

    def __post_init__(self) -> None:
        if not self.shapes:
            raise InvalidInput("shapes", "found none", "give a model that depends on a feature")

    @classmethod
    def from_shapes(
        cls,
        shapes: Mapping[str, tuple[Any, Any]] | Sequence[tuple[Any, Any]],
        X: Any = None,
        *,
        feature_names: Sequence[Any] | None = None,
        n_shown: int = 12,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Draw continuous piecewise linear functions.

        Parameters
        ----------
        shapes : mapping of str to (knots, values), or sequence of (knots, values)
            One per feature.
        X : array-like of shape (n_samples, n_features), optional
            The sample to mark below, its columns in the order of the shapes.
        feature_names : sequence of str, optional
            Instead of the mapping's, or of x[0], x[1], ...
        n_shown : int
            The functions of the largest extent are drawn, at most so many.
        ax : sequence of matplotlib Axes, optional
            One per shape that is drawn.
        """
        pairs = list(shapes.values()) if isinstance(shapes, Mapping) else list(shapes)
        known = list(shapes) if isinstance(shapes, Mapping) else None
        names = feature_labels(known if feature_names is None else feature_names, len(pairs))
        marked = _per_feature(_columns(X), len(pairs))
        made = [ShapeFunction(n, *_pair(n, pair), x) for n, pair, x in zip(names, pairs, marked, strict=True)]
        return cls(_widest(made, n_shown)).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, n_shown: int = 12, ax: Sequence[Axes] | None = None
    ) -> Self:
        """Draw the ``shape_functions_`` of a fitted estimator, or else the sums of its stumps, feature by feature.

        The features are called as in ``feature_names_in_`` where there is that.
        """
        names = getattr(estimator, "feature_names_in_", None)
        if hasattr(estimator, "shape_functions_"):
            return cls.from_shapes(estimator.shape_functions_, X, feature_names=names, n_shown=n_shown, ax=ax)
        return cls(_staircases(Ensemble.of_estimator(estimator), X, names, n_shown)).plot(ax)

    @classmethod
    def from_run(
        cls,
        run: Run,
        X: Any = None,
        *,
        feature_names: Sequence[Any] | None = None,
        n_shown: int = 12,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Draw the sums of a run's stumps, feature by feature; the functions of the other features are 0."""
        return cls(_staircases(Ensemble.of_run(run), X, feature_names, n_shown)).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            One per shape; a new figure by default.

        Raises
        ------
        InvalidInput
            `ax` is something else.
        ImportError
            matplotlib is not installed.
        """
        given = np.ravel(np.asarray(ax, object)).tolist()
        self.axes_ = self._new_axes() if ax is None else [checked_axes(one) for one in given]
        if len(self.axes_) != len(self.shapes):
            found = f"found {len(self.axes_)} axes for {len(self.shapes)} shapes"
            raise InvalidInput("ax", found, "give one per shape, or None for a new figure")
        self.figure_: Figure | SubFigure = self.axes_[0].figure
        for one, shape in zip(self.axes_, self.shapes, strict=True):
            _draw(one, shape)
        return self

    def _new_axes(self) -> list[Axes]:
        n_across = min(ACROSS, len(self.shapes))
        n_down = -(-len(self.shapes) // n_across)
        axes = new_axes((2.4 * n_across + 0.6, 2.1 * n_down + 0.2), len(self.shapes), n_across)
        for first in axes[::n_across]:
            first.set_ylabel("contribution to f")
        return axes


def _draw(ax: Axes, shape: ShapeFunction) -> None:
    ax.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    ax.plot(shape.knots, shape.values, drawstyle="steps-post" if shape.steps else "default")
    ax.set_xlabel(shape.name)
    ax.margins(y=0.12)
    if shape.sample is not None:
        ranks = np.linspace(0, len(shape.sample) - 1, min(RUG, len(shape.sample))).round().astype(int)
        marks = np.sort(shape.sample)[ranks]
        ax.plot(marks, np.full(len(marks), 0.02), "|", color="0.3", alpha=0.3, transform=ax.get_xaxis_transform())


def _staircases(ensemble: Ensemble, X: Any, names: Sequence[Any] | None, n_shown: int) -> list[ShapeFunction]:
    """The functions of the features that have stumps."""
    by_feature: dict[int, list[WeightedStump]] = {}
    for stump in ensemble.stumps():
        by_feature.setdefault(stump.feature, []).append(stump)
    columns = _columns(X)
    known = [len(each) for each in (names, columns) if each is not None]
    n_features = max([1 + max(by_feature, default=-1), *known])
    called, marked = feature_labels(names, n_features), _per_feature(columns, n_features)
    made = [ShapeFunction.of_stumps(called[d], by_feature[d], marked[d]) for d in sorted(by_feature)]
    return _widest(made, n_shown)


def _pair(name: str, pair: Any) -> tuple[Any, Any]:
    try:
        knots, values = pair
    except (TypeError, ValueError):
        raise InvalidInput("shapes", f"found no pair for {name}", "give (knots, values) for every feature") from None
    return knots, values


def _columns(X: Any) -> list[Array] | None:
    """The features of a sample, if there is one."""
    return None if X is None else list(validation.finite_array("X", X, ndim=2).T)


def _per_feature(columns: Sequence[Array] | None, n_features: int) -> Sequence[Array | None]:
    """So many columns, or as many times nothing."""
    if columns is None:
        return [None] * n_features
    if len(columns) != n_features:
        raise InvalidInput("X", f"found {len(columns)} columns for {n_features} features", "give one per feature")
    return columns


def _widest(shapes: Sequence[ShapeFunction], n_shown: int) -> list[ShapeFunction]:
    """The shapes of the largest extent, in their order."""
    ranked = np.argsort([-shape.extent for shape in shapes], kind="stable")
    return [shapes[k] for k in sorted(ranked[: validation.whole("n_shown", n_shown)].tolist())]
