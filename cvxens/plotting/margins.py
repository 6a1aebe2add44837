"""How the margins of a sample are distributed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.plotting.display import FAINT, Display, add_legend, fitted
from cvxens.plotting.ensembles import Ensemble

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cvxens.colgen import Run


@dataclass
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

    margins: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not self.margins:
            raise InvalidInput("margins", "found none", "give those of at least one model")
        self.margins = {
            str(name): validation.finite_array(f"margins of {name}", values, ndim=1)
            for name, values in self.margins.items()
        }

    @classmethod
    def from_run(cls, run: Run, X: Any, y: Any, *, name: str = "", ax: Axes | None = None) -> Self:
        """Draw one run's margins on a sample with labels -1 and +1; `ax` takes further ones, under names."""
        return cls.from_runs({name: run}, X, y, ax=ax)

    @classmethod
    def from_runs(cls, runs: Mapping[str, Run], X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw the margins of several runs, by name, on a sample with labels -1 and +1."""
        validation.instance("runs", runs, Mapping)
        y = validation.signs(y, np.shape(X)[0])
        sizes = {name: _size(Ensemble.of_run(run)) for name, run in runs.items()}
        return cls({name: y * run.decision_function(X) / sizes[name] for name, run in runs.items()}).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, name: str = "", ax: Axes | None = None) -> Self:
        """Draw the margins of a fitted binary classifier with ``weights_``; `y` holds labels of its ``classes_``."""
        classes, y = np.asarray(fitted(estimator, "classes_")), validation.labels("y", y)
        if len(classes) != 2 or not np.isin(y, classes).all():
            raise InvalidInput("y", f"found labels outside {list(classes)}", "give those of a binary classifier")
        size = _size(Ensemble.of_estimator(estimator))
        scores = fitted(estimator, "decision_function")(X)
        validation.same_length("y", y, len(scores))
        return cls({name: np.where(y == classes[1], scores, -scores) / size}).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
        for name, margins in self.margins.items():
            ax.ecdf(margins, label=name)
        ax.set(xlabel="margin y f(x) / Σ|w|", ylabel="share of samples up to that margin", ylim=(0.0, 1.02))
        add_legend(ax, loc="upper left")


def _size(ensemble: Ensemble) -> float:
    """Sum |w|."""
    size = float(np.abs(ensemble.weights).sum())
    if not size > 0:
        raise InvalidInput("weights", "found all of them 0", "give a model with a hypothesis in use")
    return size
