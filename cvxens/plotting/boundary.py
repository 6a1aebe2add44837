"""Where a classifier of two features decides for which class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.inspection import DecisionBoundaryDisplay

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.plotting.display import PALETTE, Display, add_legend, feature_labels, fitted, pyplot
from cvxens.plotting.ensembles import Ensemble
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cvxens.colgen import Run

MARKERS = "osD^vP*Xph"
"""One per class."""

PALE = 2.5
"""How far beyond the largest score the shading's scale goes, so that samples stand out from it."""


@dataclass
class BoundaryDisplay(Display):
    """The decision regions of a classifier on two features, and the samples of each class.

    Of two classes the scores are shaded, evenly around the boundary; of more, the regions are coloured.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n_points, n_points)
        A grid over both features.
    response : ndarray of shape (n_points, n_points)
        Scores less the boundary's if there are two classes, else the place of the predicted class in `classes`.
    classes : ndarray of shape (n_classes,)
        The labels.
    X : ndarray of shape (n_samples, 2)
        The sample.
    y : ndarray of shape (n_samples,)
        Its labels.
    names : tuple of str
        Of the two features.

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
    classes: NDArray[Any]
    X: Array
    y: NDArray[Any]
    names: tuple[str, ...] = ("x[0]", "x[1]")

    size = (5.0, 4.0)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, grid_resolution: int = 200, ax: Axes | None = None
    ) -> Self:
        """Draw a fitted classifier of two features.

        The grid and the scores are those of `sklearn.inspection.DecisionBoundaryDisplay`.

        Parameters
        ----------
        estimator : object
            A fitted classifier of scikit-learn's manner.
        X : array-like or data frame of shape (n_samples, 2)
            The sample to show.
        y : array-like of shape (n_samples,)
            Its labels.
        grid_resolution : int
            Points of the grid along each feature.
        ax : matplotlib Axes, optional
            What to draw on; a new figure by default.

        Raises
        ------
        InvalidInput
            `X` has not two features, or the estimator has no ``classes_``.
        """
        classes, sample = np.asarray(fitted(estimator, "classes_")), _two_features(X)
        y = validation.labels("y", y, len(sample))
        if not np.isin(y, classes).all():
            raise InvalidInput("y", "found labels that are none of the estimator's classes", "give the sample's labels")
        binary = len(classes) == 2
        grid = DecisionBoundaryDisplay.from_estimator(
            estimator,
            X if hasattr(X, "columns") else sample,
            grid_resolution=validation.whole("grid_resolution", grid_resolution, least=2),
            eps=0.08 * float(np.ptp(sample, axis=0).min()) or 1.0,
            plot_method="pcolormesh",
            response_method="auto" if binary else "predict",
            ax=pyplot().Figure().subplots(),
        )
        boundary = 0.5 if binary and not hasattr(estimator, "decision_function") else 0.0
        names = feature_labels(getattr(X, "columns", None), 2)
        return cls(grid.xx0, grid.xx1, grid.response - boundary, classes, sample, y, names).plot(ax)

    @classmethod
    def from_run(cls, run: Run, X: Any, y: Any, *, grid_resolution: int = 200, ax: Axes | None = None) -> Self:
        """Draw a run of column generation on a sample with labels -1 and +1; as `from_estimator` otherwise."""
        Ensemble.of_run(run)
        return cls.from_estimator(_Scores(run), X, validation.signs(y), grid_resolution=grid_resolution, ax=ax)

    def _draw(self, ax: Axes) -> None:
        if len(self.classes) == 2:
            self._shade_scores(ax)
        else:
            levels = np.arange(len(self.classes) + 1) - 0.5
            ax.contourf(self.xx0, self.xx1, self.response, levels, colors=_colours(self.classes), alpha=0.4)
        for k, label in enumerate(self.classes):
            points = self.X[self.y == label]
            marker, colour = MARKERS[k % len(MARKERS)], _colours(self.classes)[k]
            ax.scatter(
                points[:, 0],
                points[:, 1],
                s=20,
                color=colour,
                marker=marker,
                edgecolors="0.15",
                linewidths=0.4,
                label=str(label),
            )
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        add_legend(ax, title="class", loc="upper left", bbox_to_anchor=(1.0, 1.0))

    def _shade_scores(self, ax: Axes) -> None:
        """Shade from one class's colour to the other's, and draw the boundary."""
        end = PALE * float(np.abs(self.response).max()) or 1.0
        ax.pcolormesh(self.xx0, self.xx1, self.response, cmap="RdBu", vmin=-end, vmax=end, rasterized=True)
        ax.contour(self.xx0, self.xx1, self.response, [0.0], colors="black", linewidths=1.2)


class _Scores(ClassifierMixin, BaseEstimator):
    """A run as scikit-learn sees a fitted classifier."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.classes_ = np.array([-1, 1])

    def fit(self, X: Any, y: Any) -> Self:
        """Leave the run as it is."""
        return self

    def decision_function(self, X: Any) -> Array:
        """f(x)."""
        return self.run.decision_function(X)


def _colours(classes: NDArray[Any]) -> list[str]:
    """The ends of the shading for two classes, else those of the palette."""
    return ["#b2182b", "#2166ac"] if len(classes) == 2 else [PALETTE[k % len(PALETTE)] for k in range(len(classes))]


def _two_features(X: Any) -> Array:
    sample = validation.samples(X)
    if sample.shape[1] != 2:
        raise InvalidInput("X", f"found {sample.shape[1]} features", "give two, and a model of those two")
    return sample
