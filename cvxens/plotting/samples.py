"""Pictures of a sample: margins, decision regions of two features, and a kernel matrix in blocks of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.inspection import DecisionBoundaryDisplay

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.plotting.display import (
    FAINT,
    PALETTE,
    Display,
    WeightedHypotheses,
    add_legend,
    find_fitted,
    name_features,
    pyplot,
    read_fitted,
)
from cvxens.types import Array, Data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cvxens.colgen import Run


@dataclass(repr=False)
class MarginDisplay(Display):
    """The cumulative distribution of normalised margins ``y_i f(x_i) / sum |w|``, of one or more models.

    What is left of 0 is misclassified. Without an intercept, hypotheses in [-1, 1] have margins there too
    (Schapire, Freund, Bartlett & Lee, *Boosting the margin*, Annals of Statistics 26, 1998, whose picture it is).

    Parameters
    ----------
    margins : mapping of str to array-like of shape (n_samples,)
        Normalised margins, by model.

    Raises
    ------
    InvalidInput
        There is no model, or margins are not finite.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = MarginDisplay({"AdaBoost": [-0.2, 0.1, 0.4]}).plot(Figure().subplots())
    >>> display.ax_.get_xlabel()
    'margin y f(x) / Σ|w|'
    """

    margins: Mapping[str, ArrayLike]

    def __post_init__(self) -> None:
        if not self.margins:
            raise InvalidInput("margins", "found none", "give those of at least one model")
        given = self.margins.items()
        self.margins = {str(k): validation.finite_array(f"margins of {k}", values, ndim=1) for k, values in given}

    @classmethod
    def from_run(cls, run: Run, X: Data, y: ArrayLike, *, name: str = "", ax: Axes | None = None) -> Self:
        """Draw one run's margins on a sample with labels -1 and +1; `ax` takes further ones, under names."""
        return cls.from_runs({name: run}, X, y, ax=ax)

    @classmethod
    def from_runs(cls, runs: Mapping[str, Run], X: Data, y: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Draw the margins of several runs, by name, on a sample with labels -1 and +1."""
        validation.instance("runs", runs, Mapping)
        y = validation.signs(y, np.shape(X)[0])
        sizes = {name: WeightedHypotheses.from_run(run).total_weight for name, run in runs.items()}
        return cls({name: y * run.decision_function(X) / sizes[name] for name, run in runs.items()}).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: object, X: Data, y: ArrayLike, *, name: str = "", ax: Axes | None = None
    ) -> Self:
        """Draw the margins of a fitted binary classifier with ``weights_``; `y` holds labels of its ``classes_``."""
        classes, y = np.asarray(read_fitted(estimator, "classes_")), validation.labels("y", y)
        if len(classes) != 2 or not np.isin(y, classes).all():
            raise InvalidInput("y", f"found labels outside {list(classes)}", "give those of a binary classifier")
        size = WeightedHypotheses.from_estimator(estimator).total_weight
        scores = read_fitted(estimator, "decision_function")(X)
        validation.same_length("y", y, len(scores))
        return cls({name: np.where(y == classes[1], scores, -scores) / size}).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
        for name, margins in self.margins.items():
            ax.ecdf(margins, label=name)
        ax.set(xlabel="margin y f(x) / Σ|w|", ylabel="share of samples up to that margin", ylim=(0.0, 1.02))
        add_legend(ax, loc="upper left")


@dataclass(repr=False)
class BoundaryDisplay(Display):
    """The decision regions of a classifier on two features, and the samples of each class.

    Of two classes the scores are shaded, evenly around the boundary; of more, the regions are coloured.

    Parameters
    ----------
    xx0, xx1, response : ndarray of shape (n_points, n_points)
        A grid over both features; scores less the boundary's if there are two classes, else the place of the predicted
        class in `classes`.
    classes : ndarray of shape (n_classes,)
        The labels.
    X, y : ndarray of shape (n_samples, 2) and (n_samples,)
        The sample and its labels.
    names : tuple of str
        The names of the two features.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.svm import LinearSVC
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], ["no", "yes", "yes"]
    >>> display = BoundaryDisplay.from_estimator(LinearSVC().fit(X, y), X, y, ax=Figure().subplots())
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['no', 'yes']
    """

    xx0: Array
    xx1: Array
    response: Array
    classes: NDArray[np.generic]
    X: Array
    y: NDArray[np.generic]
    names: tuple[str, ...] = ("x[0]", "x[1]")

    size = (5.0, 4.0)

    @classmethod
    def from_estimator(
        cls, estimator: object, X: Data, y: ArrayLike, *, grid_resolution: int = 200, ax: Axes | None = None
    ) -> Self:
        """Draw a fitted classifier on a sample, an array or data frame (n_samples, 2) with labels.

        The grid, of `grid_resolution` points along each feature, and the scores are those of
        `sklearn.inspection.DecisionBoundaryDisplay`.

        Raises
        ------
        InvalidInput
            `X` has not two features, or the estimator has no ``classes_``.
        """
        classes, sample = np.asarray(read_fitted(estimator, "classes_")), validation.samples(X)
        if sample.shape[1] != 2:
            raise InvalidInput("X", f"found {sample.shape[1]} features", "give two, and a model of those two")
        y = validation.labels("y", y, len(sample))
        if not np.isin(y, classes).all():
            raise InvalidInput("y", "found labels that are none of the estimator's classes", "give the sample's labels")
        binary, columns = len(classes) == 2, getattr(X, "columns", None)
        grid = DecisionBoundaryDisplay.from_estimator(
            estimator,
            sample if columns is None else X,
            grid_resolution=validation.whole("grid_resolution", grid_resolution, least=2),
            eps=0.08 * float(np.ptp(sample, axis=0).min()) or 1.0,
            plot_method="pcolormesh",
            response_method="auto" if binary else "predict",
            ax=pyplot().Figure().subplots(),
        )
        # without scores they are probabilities of the second class
        boundary = 0.5 if binary and find_fitted(estimator, "decision_function") is None else 0.0
        names = name_features(columns, 2)
        return cls(grid.xx0, grid.xx1, grid.response - boundary, classes, sample, y, names).plot(ax)

    def _draw(self, ax: Axes) -> None:
        grid, n_classes = (self.xx0, self.xx1, self.response), len(self.classes)
        if n_classes == 2:
            # from one class's colour to the other's, with the boundary between
            colours = ["#b2182b", "#2166ac"]
            # so that samples stand out from the shading
            end = 2.5 * float(np.abs(self.response).max()) or 1.0
            ax.pcolormesh(*grid, cmap="RdBu", vmin=-end, vmax=end, rasterized=True)
            ax.contour(*grid, [0.0], colors="black", linewidths=1.2)
        else:
            colours = [PALETTE[k % len(PALETTE)] for k in range(n_classes)]
            ax.contourf(*grid, np.arange(n_classes + 1) - 0.5, colors=colours, alpha=0.4)
        for k, label in enumerate(self.classes):
            style: dict[str, Any] = {"s": 20, "edgecolors": "0.15", "linewidths": 0.4, "color": colours[k]}
            ax.scatter(*self.X[self.y == label].T, marker="osD^vP*Xph"[k % 10], label=str(label), **style)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        add_legend(ax, title="class", loc="upper left", bbox_to_anchor=(1.0, 1.0))
