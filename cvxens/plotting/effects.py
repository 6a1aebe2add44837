"""Pictures of effects: functions of one feature and of two, how important they are, and why a sample has its score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.effects import Effects, Interaction, MainEffect, find_span
from cvxens.errors import InvalidInput, refusing
from cvxens.features import column
from cvxens.plotting.display import (
    FAINT,
    NEGLIGIBLE,
    NOTE,
    PALETTE,
    Display,
    Names,
    WeightedHypotheses,
    add_note,
    check_axes,
    draw_ranked,
    find_fitted,
    name_features,
    new_axes,
    read_fitted,
)
from cvxens.types import Array, Data, Given

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from sklearn.base import BaseEstimator

    from cvxens.colgen import Bands, Run


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """A function of one feature.

    Parameters
    ----------
    name : str
        The feature's name.
    knots, values : array-like of shape (n_knots,)
        The function at ascending knots, linear between them, constant beyond; a knot that stands twice is a jump.
    sample : array-like of shape (n_samples,), optional
        The feature's values, to be marked below, NaN where missing.
    of : str
        Of several scores the one that it is part of: a class, or what a sub-problem tells apart.
    levels : sequence of str
        Of a nominal feature, what its codes 0, 1, ... stand for; empty for a number.
    missing : float, optional
        The function where the value is missing.
    band : three array-likes of shape (n_points,), optional
        Values of the feature, and the least and the largest value there of any function that is almost as good.

    Raises
    ------
    InvalidInput
        Knots and values are not of one length, or knots do not ascend.

    Examples
    --------
    >>> ShapeFunction("age", [0, 1, 3], [-1.0, 0.5, 0.0]).variation
    2.0
    """

    name: str
    knots: Array
    values: Array
    sample: Array | None = None
    of: str = ""
    levels: Sequence[str] = ()
    missing: float | None = None
    band: tuple[Array, Array, Array] | None = None

    def __post_init__(self) -> None:
        for field in ("knots", "values"):
            argument = f"{field} of {self.name}"
            object.__setattr__(self, field, validation.finite_array(argument, vars(self)[field], ndim=1))
        if len(self.knots) != len(self.values):
            found = f"found {len(self.knots)} knots and {len(self.values)} values"
            raise InvalidInput(f"shape of {self.name}", found, "give one value per knot")
        if (np.diff(self.knots) < 0).any():
            remedy = "sort them, and the values with them"
            raise InvalidInput(f"knots of {self.name}", "found them not in order", remedy)

    @classmethod
    def from_effect(
        cls, name: str, main: MainEffect, output: int, sample: Array | None, of: str = "", levels: Sequence[str] = ()
    ) -> Self:
        """Take a main effect for one of several scores, over the sample or a little over its cuts."""
        gone = float(main.at([np.nan])[0, output])
        if levels:
            codes = np.arange(len(levels), dtype=np.float64)
            return cls(name, codes, main.at(codes)[:, output], sample, of, levels, gone)
        x, values = main.outline(*find_span(main.cuts, sample))
        return cls(name, x, values[:, output], sample, of=of, missing=gone)

    @property
    def variation(self) -> float:
        """The total variation: twice the sum of |weights| of stumps that it is the sum of, one for each threshold."""
        return float(np.abs(np.diff(self.values)).sum())

    @property
    def known(self) -> Array | None:
        """The values of the sample that are not missing."""
        return None if self.sample is None else self.sample[~np.isnan(self.sample)]

    @property
    def n_missing(self) -> int:
        """The number of values of the sample that are missing."""
        return 0 if self.sample is None else int(np.isnan(self.sample).sum())

    @property
    def places(self) -> Array | None:
        """Values to draw bars at: all levels, or the two values that a number has in the sample, if it has no more."""
        if self.levels:
            return self.knots
        distinct = np.zeros(0) if self.known is None else np.unique(self.known)
        return distinct if len(distinct) == 2 else None

    def at(self, x: Array) -> Array:
        """Evaluate at values of the feature."""
        return np.interp(x, self.knots, self.values)


ManyAxes: TypeAlias = "Sequence[Axes] | None"

GivenBands: TypeAlias = "Bands | None"


@dataclass(repr=False)
class ShapeDisplay:
    """The functions g_d of an additive model f(x) = b + sum_d g_d(x_d), one picture per feature, on one scale.

    A nominal feature is drawn as a bar for each level, a number that has two values in the sample as two bars. What is
    added where a value is missing is a bar or a dotted line, if some are missing in the sample. Of several classes each
    picture has the functions of all of them, in the colours of the legend.

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
    ylabel: str = "contribution to f"

    def __post_init__(self) -> None:
        if not self.shapes:
            raise InvalidInput("shapes", "found none", "give a model that depends on a feature")

    @classmethod
    def from_shapes(
        cls,
        shapes: Mapping[str, tuple[ArrayLike, ArrayLike]] | Sequence[tuple[ArrayLike, ArrayLike]],
        X: Given = None,
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
        names, columns = name_features(feature_names, len(shapes)), _columns(X, len(shapes))
        panels = {}
        for d, pair in enumerate(shapes):
            remedy = "give (knots, values) for every feature"
            with refusing("shapes", f"found no pair for {names[d]}", remedy, (TypeError, ValueError)):
                knots, values = pair
            panels[d] = [ShapeFunction(names[d], np.asarray(knots), np.asarray(values), columns[d])]
        return cls._from_panels(panels, n_shown).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: object, X: Given = None, *, n_shown: int = 12, ax: ManyAxes = None) -> Self:
        """Draw the main effects of a fitted estimator, as by `from_effects`; the label says what the score is."""
        estimator = find_fitted(estimator, "best_estimator_", estimator)
        effects = read_fitted(estimator, "effects")(X)
        display = cls._from_effects(effects, X, n_shown=n_shown)
        display.ylabel += f" ({effects.note})" * bool(effects.note)
        return display.plot(ax)

    @classmethod
    def from_effects(
        cls, effects: Effects, X: Given = None, *, bands: GivenBands = None, n_shown: int = 12, ax: ManyAxes = None
    ) -> Self:
        """Draw the main effects of a model, of the mean 0 over the samples that they were made on.

        They come by importance, and are those of trees of depth 2 and of rules too; a sample `X` is marked below. Those
        that are 0 but for rounding are left out. Around them are their `bands`, which the model's `bands` finds: a bar
        at every value for which they are proven; of the values in between nothing is.
        """
        return cls._from_effects(effects, X, bands=bands, n_shown=n_shown).plot(ax)

    @classmethod
    def _from_effects(cls, effects: Effects, X: Given, *, n_shown: int, bands: GivenBands = None) -> Self:
        sample = None if X is None else effects.read(X)
        panels, sizes = {}, {}
        negligible = NEGLIGIBLE * effects.importances.max(initial=0.0)
        for main, size in zip(effects.mains, effects.importances, strict=False):
            if size <= negligible:
                continue
            values = None if sample is None else np.asarray(column(sample, main.feature), np.float64)
            name, levels = effects.feature_names[main.feature], effects.levels.get(main.feature, ())
            panels[main.feature] = [
                ShapeFunction.from_effect(name, main, k, values, of, levels)
                for k, of in enumerate(effects.outputs or [""])
            ]
            sizes[main.feature] = size
        for one in () if bands is None else bands.bands:
            if one.feature in panels:
                band = one.points, one.shape.least, one.shape.most
                panels[one.feature] = [replace(shape, band=band) for shape in panels[one.feature]]
        return cls._from_panels(panels, n_shown, sizes)

    @classmethod
    def from_run(
        cls, run: Run, X: Given = None, *, feature_names: Names = None, n_shown: int = 12, ax: ManyAxes = None
    ) -> Self:
        """Draw the main effects of a run's weak learners, as by `from_effects`."""
        ensemble = WeightedHypotheses.from_run(run)
        terms = [(h, np.array([w])) for h, w in zip(ensemble.hypotheses, ensemble.weights, strict=True)]
        used = [f for features in ensemble.find_features() for f in features]
        X = None if X is None else validation.finite_array("X", X, ndim=2)
        given = [() if X is None else np.shape(X)[1:], () if feature_names is None else (len(feature_names),)]
        n_features = max([1 + max(used, default=-1), *(n for shape in given for n in shape)])
        names, _ = name_features(feature_names, n_features), _columns(X, n_features)
        return cls.from_effects(Effects.from_terms(terms, np.zeros(1), names, X=X), X, n_shown=n_shown, ax=ax)

    @classmethod
    def _from_panels(cls, panels: Mapping[int, Sequence[ShapeFunction]], n_shown: int, importances: Any = None) -> Self:
        """Choose the features by importances or else by the sum of the total variations of their functions."""
        variations = {d: sum(shape.variation for shape in panel) for d, panel in panels.items()}
        sizes = variations if importances is None else importances
        ranked = sorted(panels, key=lambda d: (-sizes[d], d))
        shown, others = ranked[: validation.whole("n_shown", n_shown)], ranked[n_shown:]
        n_left_out = sum(variations[d] > 0 for d in others)
        return cls([shape for d in shown for shape in panels[d]], n_left_out)

    def plot(self, ax: ManyAxes = None) -> Self:
        """Draw on matplotlib Axes, one per feature; by default on those of a new figure; spare ones are left.

        Raises
        ------
        InvalidInput
            `ax` is something else.
        ImportError
            matplotlib is not installed.
        """
        # a shape that is part of no named score is alone
        by_feature = groupby(self.shapes, key=lambda shape: shape.name if shape.of else id(shape))
        panels = [list(panel) for _, panel in by_feature]
        n_across = min(4, len(panels))
        if ax is None:
            # a letter of a level that is turned takes about 0.07 inches
            letters = max((len(_shorten(level)) for shape in self.shapes for level in shape.levels), default=0)
            height = (2.1 + 0.07 * letters) * -(-len(panels) // n_across) + 0.4
            self.axes_ = new_axes((2.4 * n_across + 0.6, height), len(panels), n_across)
        else:
            self.axes_ = [check_axes(one) for one in np.ravel(np.asarray(ax, object)).tolist()][: len(panels)]
        validation.one_each("ax", self.axes_, len(panels), "shape")
        first = self.axes_[0]
        self.figure_: Figure | SubFigure = first.figure
        for one, panel in zip(self.axes_, panels, strict=True):
            _draw(one, panel)
        handles, labels = first.get_legend_handles_labels()
        if ax is not None and labels:
            first.legend(handles, labels, edgecolor="none", framealpha=0.8, fontsize="small")
        elif labels:
            n_columns = min(len(labels), 5, 2 * n_across)
            self.figure_.legend(handles, labels, loc="outside upper center", ncols=n_columns, edgecolor="none")
        if ax is None and len(panels) > n_across:
            self.figure_.supylabel(self.ylabel, fontsize="medium")
        elif ax is None:
            first.set_ylabel(self.ylabel.replace(" (", "\n("))
        add_note(self.axes_[-1], "less important", self.n_left_out, below=ax is None)
        return self


def _draw(ax: Axes, panel: Sequence[ShapeFunction]) -> None:
    ax.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    ax.set_xlabel(panel[0].name)
    ax.margins(y=0.12)
    colours = [PALETTE[k % len(PALETTE)] for k in range(len(panel))]
    pairs = zip(colours, panel, strict=True)
    styles: list[dict[str, Any]] = [{"color": colour, "label": shape.of or None} for colour, shape in pairs]
    first = panel[0]
    if (values := first.places) is not None:
        _draw_bars(ax, panel, values, styles)
        if first.band is not None:
            x, *ends_of_band = first.band
            _draw_band(ax, np.searchsorted(values, x).astype(np.float64), *ends_of_band)
        return
    if first.band is not None:
        _draw_band(ax, *first.band)
    sample = first.known
    ends = np.concatenate([*(shape.knots[[0, -1]] for shape in panel), *([] if sample is None else [sample])])
    for shape, style in zip(panel, styles, strict=True):
        knots, values = shape.knots, shape.values
        # constant beyond its knots, as far as the picture goes
        if ends.min() < knots[0]:
            knots, values = np.append(ends.min(), knots), np.append(values[0], values)
        if ends.max() > knots[-1]:
            knots, values = np.append(knots, ends.max()), np.append(values, values[-1])
        ax.plot(knots, values, **style)
        if first.n_missing and shape.missing is not None:
            ax.axhline(shape.missing, color=style["color"], linestyle=":", linewidth=1.2)
    if first.n_missing and first.missing is not None:
        ax.annotate(
            f"missing (n = {first.n_missing})",
            (1, first.missing),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 2),
            textcoords="offset points",
            ha="right",
            fontsize="small",
            color=NOTE,
        )
    if sample is not None:
        ranks = np.linspace(0, len(sample) - 1, min(1000, len(sample))).round().astype(int)
        marks = np.sort(sample)[ranks]
        ax.plot(marks, np.full(len(marks), 0.02), "|", color="0.3", alpha=0.3, transform=ax.get_xaxis_transform())


def _draw_band(ax: Axes, x: Array, least: Array, most: Array) -> None:
    """Draw a bar from the least to the largest value at every place."""
    ax.vlines(x, least, most, color=PALETTE[0], alpha=0.2, linewidth=7, zorder=0.5)
    ax.vlines(x, least, most, color="0.2", alpha=0.6, linewidth=1.2, zorder=2.5)


def _draw_bars(ax: Axes, panel: Sequence[ShapeFunction], values: Array, styles: Sequence[dict[str, Any]]) -> None:
    """Draw a bar for each value and score, and one where the value is missing, with the numbers of samples below."""
    first, width = panel[0], 0.7 / len(panel)
    gaps = bool(first.n_missing) and first.missing is not None
    for k, (shape, style) in enumerate(zip(panel, styles, strict=True)):
        heights = np.append(shape.at(values), [shape.missing] if gaps else [])
        ax.bar(np.arange(len(heights)) + (k - (len(panel) - 1) / 2) * width, heights, 0.9 * width, **style)
    names = [
        *(map(_shorten, first.levels) if first.levels else [f"{value:g}" for value in values.tolist()]),
        *(["missing"] if gaps else []),
    ]
    # names that would touch each other are turned
    crowded = max(map(len, names)) * len(names) > 32
    if first.known is not None:
        counts = [int((first.known == value).sum()) for value in values.tolist()] + [first.n_missing] * gaps
        beside = " ({})" if crowded else "\nn = {}" if len(names) <= 3 else "\n{}"
        names = [name + beside.format(count) for name, count in zip(names, counts, strict=True)]
    ax.set_xticks(np.arange(len(names)), names, rotation=90 if crowded else 0)
    if crowded:
        ax.tick_params(axis="x", labelsize="small")


def _shorten(name: str) -> str:
    """Return the beginning of a long name."""
    return name if len(name) <= 20 else f"{name[:19]}…"


def _columns(X: Given, n_features: int) -> Sequence[Array | None]:
    """Return the features of a sample, each None without one."""
    if X is None:
        return [None] * n_features
    columns = validation.finite_array("X", X, ndim=2).T
    validation.one_each("X", columns, n_features, "feature")
    return list(columns)


@dataclass(repr=False)
class EffectsDisplay(Display):
    """The importance of the effects of a model: the mean of the absolute value of each over the samples.

    Parameters
    ----------
    importances : array-like of shape (n_effects,)
        0 or above.
    names : sequence of str
        What each is called.
    n_shown : int
        The most effects that are drawn, the most important on top; none of importance 0 is.

    Raises
    ------
    InvalidInput
        There is not one name for each, all are 0, or one is below 0.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = EffectsDisplay([0.1, 0.0, 0.7], ["age", "height", "age x dose"]).plot(Figure().subplots())
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['age x dose', 'age']
    """

    importances: ArrayLike
    names: Sequence[str]
    n_shown: int = 20

    def __post_init__(self) -> None:
        if not np.size(self.importances):
            raise InvalidInput("importances", "found none", "give a model that depends on a feature")
        sizes = self.importances = validation.finite_array("importances", self.importances, ndim=1)
        validation.one_each("names", self.names, len(sizes), "effect")
        if not sizes.max() > 0 or sizes.min() < 0:
            raise InvalidInput("importances", "found them below 0, or all 0", "give a model that depends on a feature")
        validation.whole("n_shown", self.n_shown)

    @classmethod
    def from_effects(
        cls, effects: Effects, *, output: object = None, n_shown: int = 20, ax: Axes | None = None
    ) -> Self:
        """Draw effects: of all scores together, or of the one that `output` names."""
        sizes = effects.importances if output is None else effects.sizes[:, find_output(effects, output)]
        return cls(sizes, effects.names, n_shown).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, X: Given = None, **options: object) -> Self:
        """Draw the effects of a fitted estimator on a sample X (n_samples, n_features); as `from_effects`."""
        draw: Callable[..., Self] = cls.from_effects
        return draw(estimator.effects(X), **options)

    def _draw(self, ax: Axes) -> None:
        left = draw_ranked(ax, self.importances, self.names, self.n_shown)
        ax.set(xlabel="mean |contribution|")
        if left:
            ax.set_title(f"{left} less important are left out", loc="right", fontsize="small", color=NOTE)


@dataclass(repr=False)
class PairDisplay(Display):
    """What two features add to a score together, beside what each adds alone, as a map of cells.

    Parameters
    ----------
    edges : two array-likes of shape (n_edges,)
        The ends of the cells of the first feature, across, and of the second, upwards; both ascend.
    table : array-like of shape (n_cells, n_cells)
        The values, by cell of the first feature and of the second.
    names : two str
        The features.
    levels : two sequences of str
        What the codes 0, 1, ... of a nominal feature stand for; empty for a number.

    Raises
    ------
    InvalidInput
        The table does not have a cell between any two edges.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = PairDisplay(([0, 1, 3], [0, 2]), [[0.5], [-0.5]], ("age", "dose")).plot(Figure().subplots())
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('age', 'dose')
    """

    edges: tuple[ArrayLike, ArrayLike]
    table: ArrayLike
    names: tuple[str, str]
    levels: tuple[Sequence[str], Sequence[str]] = ((), ())

    def __post_init__(self) -> None:
        first, second = (validation.finite_array("edges", ends, ndim=1) for ends in self.edges)
        self.edges, table = (first, second), validation.finite_array("table", self.table, ndim=2)
        if table.shape != (expected := (len(first) - 1, len(second) - 1)):
            raise InvalidInput("table", f"found shape {table.shape}", f"give {expected}, a cell between two edges")
        self.table = table

    @classmethod
    def from_effects(
        cls,
        effects: Effects,
        pair: str | None = None,
        X: Given = None,
        *,
        output: object = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a pair, such as "age x dose", by default the most important, over the range of a sample X or its cuts.

        Raises
        ------
        InvalidInput
            There is no such pair, or no name for one of several scores.
        """
        k = find_output(effects, output)
        pairs = {
            name: (term, size)
            for name, term, size in zip(effects.names, effects.terms, effects.sizes[:, k], strict=True)
            if isinstance(term, Interaction) and len(term.features) == 2
        }
        chosen = max(pairs, key=lambda name: pairs[name][1], default="") if pair is None else pair
        if chosen not in pairs:
            remedy = f"name one of {', '.join(list(pairs)[:5])}" if pairs else "give a model that has pairs"
            raise InvalidInput("pair", f"found {pair!r:.100}", remedy)
        term = pairs[chosen][0]
        (across, upwards), table, _ = term.crop(None if X is None else effects.read(X), effects.levels)
        told = ((effects.feature_names[feature], effects.levels.get(feature, ())) for feature in term.features)
        return cls((across, upwards), table[..., k], *zip(*told, strict=True)).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: Given = None, pair: str | None = None, **options: object
    ) -> Self:
        """Draw a pair of a fitted estimator, on a sample X (n_samples, n_features); as `from_effects`."""
        draw: Callable[..., Self] = cls.from_effects
        return draw(estimator.effects(X), pair, X, **options)

    def _draw(self, ax: Axes) -> None:
        largest = float(np.abs(self.table).max()) or 1.0
        # red adds, blue takes off
        mesh = ax.pcolormesh(*self.edges, np.transpose(self.table), cmap="RdBu_r", vmin=-largest, vmax=largest)
        ax.figure.colorbar(mesh, ax=ax, label="contribution to f")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        for axis, levels in zip((ax.xaxis, ax.yaxis), self.levels, strict=True):
            if levels:
                axis.set_ticks(range(len(levels)), [_shorten(level) for level in levels])


@dataclass(repr=False)
class ExplanationDisplay(Display):
    """Why one sample has its score: from the mean score, effect by effect, to its own.

    Parameters
    ----------
    contributions : array-like of shape (n_effects,)
        What each adds.
    names : sequence of str
        What each is called.
    base : float
        The mean score.
    n_shown : int
        The most that are drawn one by one, the largest first; the others are drawn as one.

    Raises
    ------
    InvalidInput
        There is not one name for each.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = ExplanationDisplay([0.5, -0.2, 0.1], ["age", "dose", "height"], base=1.0, n_shown=1)
    >>> [label.get_text() for label in display.plot(Figure().subplots()).ax_.get_yticklabels()]
    ['mean score', 'age', '2 others', 'score']
    """

    contributions: ArrayLike
    names: Sequence[str]
    base: float
    n_shown: int = 10

    def __post_init__(self) -> None:
        each = self.contributions = validation.finite_array("contributions", self.contributions, ndim=1)
        validation.one_each("names", self.names, len(each), "contribution")
        validation.whole("n_shown", self.n_shown)

    @classmethod
    def from_effects(
        cls,
        effects: Effects,
        x: ArrayLike,
        *,
        shapley: bool = False,
        output: object = None,
        n_shown: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the effects of one sample x (1, n_features), or with `shapley` the Shapley values of its features."""
        k, read = find_output(effects, output), effects.read(x)
        if read.shape[0] != 1:
            raise InvalidInput("x", f"found {read.shape[0]} samples", "give one, such as X[:1]")
        found = (effects.shapley_values if shapley else effects.contributions)(x).reshape(-1, len(effects.intercept))
        features = enumerate(effects.feature_names)
        values = {name: effects.tell_value(j, float(column(read, j)[0])) for j, name in features}
        plain = effects.feature_names if shapley else effects.names
        names = [f"{name} = {values[name]}" if name in values else name for name in plain]
        return cls(found[:, k], names, float(effects.intercept[k]), n_shown).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, X: Data, x: ArrayLike, **options: object) -> Self:
        """Draw why a sample x (1, n_features) has its score, beside the mean score of samples X; as `from_effects`."""
        draw: Callable[..., Self] = cls.from_effects
        return draw(estimator.effects(X), x, **options)

    def _draw(self, ax: Axes) -> None:
        each = np.asarray(self.contributions)
        ranked = np.argsort(-np.abs(each), kind="stable")
        ranked = ranked[each[ranked] != 0]
        shown, others = ranked[: self.n_shown], ranked[self.n_shown :]
        steps, names = each[shown], [str(self.names[k]) for k in shown.tolist()]
        if len(others):
            word = "other" if len(others) == 1 else "others"
            steps, names = np.append(steps, each[others].sum()), [*names, f"{len(others)} {word}"]
        starts, places = self.base + np.append(0.0, np.cumsum(steps)), np.arange(1, len(steps) + 1)
        ax.barh(places, steps, left=starts[:-1], height=0.7, color=np.where(steps > 0, PALETTE[6], PALETTE[0]))
        ends: Array = starts[[0, -1]]
        ax.plot(ends, [0, len(steps) + 1], "D", color=NOTE, markersize=5)
        # each bar begins where the one above it ends
        ax.vlines(starts, np.arange(len(starts)), np.arange(1, len(starts) + 1), color=FAINT, linewidth=0.8, zorder=0)
        ax.set_yticks(np.arange(len(steps) + 2), ["mean score", *names, "score"])
        ax.invert_yaxis()
        # room for the numbers right of bars, where no name is
        ax.use_sticky_edges = False
        ax.margins(x=0.16)
        for place, start, step in zip(places, starts, steps, strict=False):
            ax.annotate(
                f"{step:+.3g}",
                (max(start, start + step), place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
                color=NOTE,
            )
        ax.set(xlabel=f"f: {ends[0]:.4g} on average,\n{ends[1]:.4g} here")


def find_output(effects: Effects, output: object) -> int:
    """Return which of several scores is named, by a class or what sub-problems tell apart; 0 where there is one."""
    if not effects.outputs and output is None:
        return 0
    if str(output) in effects.outputs:
        return effects.outputs.index(str(output))
    remedy = f"name one of {', '.join(effects.outputs)}" if effects.outputs else "leave it out: there is one score"
    raise InvalidInput("output", f"found {output!r:.100}", remedy)
