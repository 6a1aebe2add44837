"""The functions of single features that an additive model is the sum of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from cvxens import validation
from cvxens.effects import Effects, MainEffect
from cvxens.effects.functions import find_span
from cvxens.errors import InvalidInput
from cvxens.features import column
from cvxens.plotting.display import (
    FAINT,
    PALETTE,
    Names,
    add_note,
    check_axes,
    name_features,
    name_problems,
    new_axes,
    read_fitted,
)
from cvxens.plotting.ensembles import Ensemble, WeightedStump
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from cvxens.colgen import Run

ACROSS = 4
"""The most pictures in a row."""

MOST_ABREAST = 5
"""The most names in a row of the legend, and no more than two for each picture."""

YLABEL = "contribution to f"

RUG = 1000
"""The most samples that are marked below a function, evenly spaced in rank."""


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """A function of one feature.

    Parameters
    ----------
    name : str
        The feature's name.
    knots, values : array-like of shape (n_knots,)
        The function at ascending knots.
    sample : array-like of shape (n_samples,), optional
        The feature's values, to be marked below.
    steps : bool
        True if it is constant from each knot to the next; else it is linear there.
    of : str
        Of several scores the one that it is part of: a class, or what a sub-problem tells apart.

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
    of: str = ""

    def __post_init__(self) -> None:
        for field in ("knots", "values"):
            argument = f"{field} of {self.name}"
            object.__setattr__(self, field, validation.finite_array(argument, getattr(self, field), ndim=1))
        if len(self.knots) != len(self.values):
            found = f"found {len(self.knots)} knots and {len(self.values)} values"
            raise InvalidInput(f"shape of {self.name}", found, "give one value per knot")
        if (np.diff(self.knots) < 0).any():
            remedy = "sort them, and the values with them"
            raise InvalidInput(f"knots of {self.name}", "found them not in order", remedy)

    @classmethod
    def from_stumps(cls, name: str, stumps: Sequence[WeightedStump], sample: Array | None, of: str = "") -> Self:
        """Sum the stumps of one feature; the knots reach over the sample, or a little over the thresholds."""
        thresholds, place = np.unique([stump.threshold for stump in stumps], return_inverse=True)
        rises = np.array([stump.weight * stump.sign for stump in stumps])
        jumps = 2 * np.bincount(place, rises, len(thresholds))
        values = np.append(0.0, np.cumsum(jumps)) - rises.sum()
        spare = np.ptp(thresholds) / 20 or 1.0
        ends = thresholds[[0, -1]] + [-spare, spare] if sample is None else sample[[sample.argmin(), sample.argmax()]]
        first, last = min(ends[0], thresholds[0]), max(ends[1], thresholds[-1])
        return cls(name, np.r_[first, thresholds, last], np.append(values, values[-1]), sample, True, of)

    @classmethod
    def from_effect(cls, name: str, main: MainEffect, output: int, sample: Array | None, of: str = "") -> Self:
        """Take a main effect for one of several scores, over the sample or a little over its cuts."""
        x, values = main.outline(*find_span(main.cuts, sample))
        known = None if sample is None else sample[~np.isnan(sample)]
        return cls(name, x, values[:, output], known, of=of)

    @property
    def extent(self) -> float:
        """The largest value less the smallest."""
        return float(np.ptp(self.values))

    @property
    def variation(self) -> float:
        """The total variation: twice the sum of |weights| of stumps that it is the sum of, one for each threshold."""
        return float(np.abs(np.diff(self.values)).sum())

    @property
    def two_values(self) -> Array | None:
        """The two values of the feature in the sample, if it has no more: an indicator."""
        distinct = np.zeros(0) if self.sample is None else np.unique(self.sample)
        return distinct if len(distinct) == 2 else None

    def at(self, x: Array) -> Array:
        """Evaluate at values of the feature; beyond the knots it is constant."""
        if self.steps:
            return self.values[np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, None)]
        return np.interp(x, self.knots, self.values)


ManyAxes: TypeAlias = "Sequence[Axes] | None"

Panels: TypeAlias = Mapping[int, Sequence[ShapeFunction]]
"""By feature, its functions, of one score or of several."""


@dataclass
class ShapeDisplay:
    """The functions g_d of an additive model f(x) = b + sum_d g_d(x_d), one picture per feature, on one scale.

    A feature that has two values in the sample is drawn as two bars. Of several classes each picture has the functions
    of all of them, in the colours of the legend.

    Parameters
    ----------
    shapes : sequence of ShapeFunction
        At least one; those of one feature and several scores (`of`) one after the other.
    n_left_out : int
        The number of further features, which the figure tells of.
    ylabel : str
        What the functions add to.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One per feature; `figure_` is the figure of the first.

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
    n_left_out: int = 0
    ylabel: str = YLABEL

    def __post_init__(self) -> None:
        if not self.shapes:
            raise InvalidInput("shapes", "found none", "give a model that depends on a feature")

    @classmethod
    def from_shapes(
        cls,
        shapes: Mapping[str, tuple[Any, Any]] | Sequence[tuple[Any, Any]],
        X: Any = None,
        *,
        feature_names: Names = None,
        n_shown: int = 12,
        ax: ManyAxes = None,
    ) -> Self:
        """Draw continuous piecewise linear functions, (knots, values) per feature.

        At most `n_shown` are drawn, the most important first: those of the largest total variation; the figure says how
        many others are not constant. A sample `X` (n_samples, n_features), in the order of the shapes, is marked below;
        its features of two values get bars. Names are those given, or the mapping's, or x[0], x[1], ...
        """
        if isinstance(shapes, Mapping):
            feature_names = list(shapes) if feature_names is None else feature_names
            shapes = list(shapes.values())
        return cls._from_panels(_curves({"": list(shapes)}, X, feature_names), n_shown).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, n_shown: int = 12, ax: ManyAxes = None) -> Self:
        """Draw the ``shape_functions_`` of a fitted estimator, or else the sums of its stumps, feature by feature.

        The features are called as in ``feature_names_in_`` where there is that, and come in the order of
        ``feature_importances_``, or else as in `from_shapes`. Of several classes there is a function of each class, or
        of each sub-problem.
        """
        estimator = getattr(estimator, "best_estimator_", estimator)
        names = getattr(estimator, "feature_names_in_", None)
        if not hasattr(estimator, "shape_functions_"):
            panels = _staircases(Ensemble.list_scores(estimator), X, names)
        elif hasattr(estimator, "estimators_"):
            parts = zip(name_problems(estimator), estimator.shape_functions_, strict=True)
            panels = _curves(dict(parts), X, names)
        else:
            panels = _curves({"": estimator.shape_functions_}, X, names)
        ylabel = YLABEL
        if hasattr(estimator, "classes_") and not any(shape.of for panel in panels.values() for shape in panel):
            ylabel = f"{YLABEL} (above 0: {read_fitted(estimator, 'classes_')[1]})"
        return cls._from_panels(panels, n_shown, ylabel, getattr(estimator, "feature_importances_", None)).plot(ax)

    @classmethod
    def from_effects(cls, effects: Effects, X: Any = None, *, n_shown: int = 12, ax: ManyAxes = None) -> Self:
        """Draw the main effects of a model, of the mean 0 over the samples that they were made on.

        They come by importance, and are those of trees of depth 2 and of rules too; a sample `X` is marked below.
        """
        sample = None if X is None else effects.read(X)
        panels, sizes = {}, {}
        for main, size in zip(effects.mains, effects.importances, strict=False):
            values = None if sample is None else np.asarray(column(sample, main.feature), np.float64)
            name = effects.feature_names[main.feature]
            panels[main.feature] = [
                ShapeFunction.from_effect(name, main, k, values, of) for k, of in enumerate(effects.outputs or [""])
            ]
            sizes[main.feature] = size
        return cls._from_panels(panels, n_shown, importances=sizes).plot(ax)

    @classmethod
    def from_run(
        cls, run: Run, X: Any = None, *, feature_names: Names = None, n_shown: int = 12, ax: ManyAxes = None
    ) -> Self:
        """Draw the sums of a run's stumps, the most important first; the functions of the other features are 0."""
        return cls._from_panels(_staircases([("", Ensemble.from_run(run))], X, feature_names), n_shown).plot(ax)

    @classmethod
    def _from_panels(cls, panels: Panels, n_shown: int, ylabel: str = YLABEL, importances: Any = None) -> Self:
        """Choose the features by importances or else by the sum of the total variations of their functions."""
        variations = {d: sum(shape.variation for shape in panel) for d, panel in panels.items()}
        sizes = variations if importances is None else importances
        ranked = sorted(panels, key=lambda d: (-sizes[d], d))
        shown, others = ranked[: validation.whole("n_shown", n_shown)], ranked[n_shown:]
        n_left_out = sum(variations[d] > 0 for d in others)
        return cls([shape for d in shown for shape in panels[d]], n_left_out, ylabel)

    def plot(self, ax: ManyAxes = None) -> Self:
        """Draw on a sequence of matplotlib Axes, one per feature; by default on those of a new figure.

        Raises
        ------
        InvalidInput
            `ax` is something else.
        ImportError
            matplotlib is not installed.
        """
        panels = self._panels()
        n_across = min(ACROSS, len(panels))
        if ax is None:
            n_down = -(-len(panels) // n_across)
            self.axes_ = new_axes((2.4 * n_across + 0.6, 2.1 * n_down + 0.4), len(panels), n_across)
        else:
            self.axes_ = [check_axes(one) for one in np.ravel(np.asarray(ax, object)).tolist()]
        validation.one_each("ax", self.axes_, len(panels), "shape")
        first = self.axes_[0]
        self.figure_: Figure | SubFigure = first.figure
        for one, panel in zip(self.axes_, panels, strict=True):
            _draw(one, panel)
        handles, labels = first.get_legend_handles_labels()
        if ax is not None and labels:
            first.legend(handles, labels, edgecolor="none", framealpha=0.8, fontsize="small")
        elif labels:
            n_columns = min(len(labels), MOST_ABREAST, 2 * n_across)
            self.figure_.legend(handles, labels, loc="outside upper center", ncols=n_columns, edgecolor="none")
        if ax is None and len(panels) > n_across:
            self.figure_.supylabel(self.ylabel, fontsize="medium")
        elif ax is None:
            first.set_ylabel(self.ylabel.replace(" (", "\n("))
        add_note(self.axes_[-1], "less important", self.n_left_out, below=ax is None)
        return self

    def _panels(self) -> list[list[ShapeFunction]]:
        """Return the shapes of each feature; a shape that is part of no named score is alone."""
        panels: list[list[ShapeFunction]] = []
        for shape in self.shapes:
            last = panels[-1] if panels else []
            if shape.of and last and last[0].name == shape.name and shape.of not in {other.of for other in last}:
                last.append(shape)
            else:
                panels.append([shape])
        return panels


def _draw(ax: Axes, panel: Sequence[ShapeFunction]) -> None:
    ax.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    ax.set_xlabel(panel[0].name)
    ax.margins(y=0.12)
    styles: list[dict[str, Any]] = [
        {"color": PALETTE[k % len(PALETTE)], "label": shape.of or None} for k, shape in enumerate(panel)
    ]
    sample, two_values = panel[0].sample, panel[0].two_values
    if sample is not None and two_values is not None:
        # two bars for each score, at the values of an indicator, with the number of samples below
        width = 0.7 / len(panel)
        for k, (shape, style) in enumerate(zip(panel, styles, strict=True)):
            places = np.arange(2) + (k - (len(panel) - 1) / 2) * width
            ax.bar(places, shape.at(two_values), 0.9 * width, **style)
        counts = [int((sample == value).sum()) for value in two_values]
        ax.set_xticks([0, 1], [f"{value:g}\nn = {count}" for value, count in zip(two_values, counts, strict=True)])
        return
    ends = np.concatenate([*(shape.knots[[0, -1]] for shape in panel), *([] if sample is None else [sample])])
    for shape, style in zip(panel, styles, strict=True):
        knots, values = shape.knots, shape.values
        # constant beyond its knots, as far as the picture goes
        if ends.min() < knots[0]:
            knots, values = np.append(ends.min(), knots), np.append(values[0], values)
        if ends.max() > knots[-1]:
            knots, values = np.append(knots, ends.max()), np.append(values, values[-1])
        ax.plot(knots, values, drawstyle="steps-post" if shape.steps else "default", **style)
    if sample is not None:
        ranks = np.linspace(0, len(sample) - 1, min(RUG, len(sample))).round().astype(int)
        marks = np.sort(sample)[ranks]
        ax.plot(marks, np.full(len(marks), 0.02), "|", color="0.3", alpha=0.3, transform=ax.get_xaxis_transform())


def _curves(scores: Mapping[str, Sequence[Any]], X: Any, names: Names) -> Panels:
    """Return the functions of every feature, of all scores, from (knots, values) of every feature for each score."""
    n_features = len(next(iter(scores.values())))
    names, columns = name_features(names, n_features), _columns(X, n_features)
    panels: dict[int, list[ShapeFunction]] = {d: [] for d in range(n_features)}
    for of, pairs in scores.items():
        for d, pair in enumerate(pairs):
            try:
                knots, values = pair
            except (TypeError, ValueError):
                remedy = "give (knots, values) for every feature"
                raise InvalidInput("shapes", f"found no pair for {names[d]}", remedy) from None
            panels[d].append(ShapeFunction(names[d], knots, values, columns[d], of=of))
    return panels


def _staircases(ensembles: Sequence[tuple[str, Ensemble]], X: Any, names: Names) -> Panels:
    """Return the functions of the features that have stumps; of several scores, of all of them."""
    found: dict[int, dict[str, list[WeightedStump]]] = {}
    for of, ensemble in ensembles:
        for stump in ensemble.stumps():
            found.setdefault(stump.feature, {}).setdefault(of, []).append(stump)
    n_known = [len(names)] if names is not None else [np.shape(X)[1]] if np.ndim(X) == 2 else []
    n_features = max([1 + max(found, default=-1), *n_known])
    names, columns = name_features(names, n_features), _columns(X, n_features)
    panels = {}
    for d in sorted(found):
        # a score without stumps on the feature is 0 there: the stumps of another with no weight
        flat = [stump._replace(weight=0.0) for stump in next(iter(found[d].values()))]
        stumps = [(of, found[d].get(of, flat)) for of, _ in ensembles]
        panels[d] = [ShapeFunction.from_stumps(names[d], some, columns[d], of) for of, some in stumps]
    return panels


def _columns(X: Any, n_features: int) -> Sequence[Array | None]:
    """Return the features of a sample, each None without one."""
    if X is None:
        return [None] * n_features
    columns = validation.finite_array("X", X, ndim=2).T
    validation.one_each("X", columns, n_features, "feature")
    return list(columns)
