"""How often each feature is selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.plotting.display import Display, feature_labels, note
from cvxens.plotting.ensembles import NEGLIGIBLE, Ensemble, ensembles_of
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cvxens.colgen import Run


@dataclass
class SelectionDisplay(Display):
    """The share of runs, or of whatever else selects, that uses each feature; the most frequent ones on top.

    Parameters
    ----------
    shares : array-like of shape (n_features,)
        In [0, 1].
    feature_names : sequence of str, optional
        By default x[0], x[1], ...
    xlabel : str
        Of what the shares are.
    n_shown : int
        At most so many features are drawn, and none that is never selected.

    Raises
    ------
    InvalidInput
        A share is outside [0, 1], all are 0, or there are not as many names.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = SelectionDisplay([0.2, 0.0, 1.0], ["age", "height", "weight"]).plot(Figure().subplots())
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['weight', 'age']
    """

    shares: Any
    feature_names: Sequence[Any] | None = None
    xlabel: str = "share of runs that select the feature"
    n_shown: int = 20

    def __post_init__(self) -> None:
        self.shares = validation.finite_array("shares", self.shares, ndim=1)
        if self.shares.min() < 0 or not 0 < self.shares.max() <= 1:
            found = f"found {self.shares.min():g} to {self.shares.max():g}"
            raise InvalidInput("shares", found, "give numbers of at least 0 and at most 1, not all 0")
        self.feature_names = feature_labels(self.feature_names, len(self.shares))
        validation.whole("n_shown", self.n_shown)

    @classmethod
    def from_runs(
        cls,
        runs: Iterable[Run],
        *,
        feature_names: Sequence[Any] | None = None,
        n_shown: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the share of runs that have a stump on the feature, of more than a negligible weight."""
        selected = [_features(Ensemble.of_run(run)) for run in runs]
        xlabel = f"share of runs that select the feature (of {len(selected)})"
        return cls(_shares(selected, feature_names), feature_names, xlabel, n_shown).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: Iterable[Any],
        *,
        feature_names: Sequence[Any] | None = None,
        n_shown: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the share of fitted estimators, such as one per fold, that use the feature.

        Those are features of more than a negligible share in ``feature_importances_`` or, without that, in the weights
        of stumps. They are called as in ``feature_names_in_`` where no names are given, and all models have those.
        """
        models = list(estimators)
        selected = [_selected(one) for one in models]
        names = _common_names(models) if feature_names is None else feature_names
        xlabel = f"share of models that select the feature (of {len(selected)})"
        return cls(_shares(selected, names), names, xlabel, n_shown).plot(ax)

    @classmethod
    def from_run(
        cls, run: Run, *, feature_names: Sequence[Any] | None = None, n_shown: int = 20, ax: Axes | None = None
    ) -> Self:
        """Draw the share of one run's stumps, those of more than a negligible weight, that are on the feature."""
        selected = [{stump.feature} for stump in Ensemble.of_run(run).stumps()]
        xlabel = f"share of stumps on the feature (of {len(selected)})"
        return cls(_shares(selected, feature_names), feature_names, xlabel, n_shown).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ranked = np.argsort(-self.shares, kind="stable")
        shown = ranked[self.shares[ranked] > 0][: self.n_shown]
        ax.barh(np.arange(len(shown)), self.shares[shown], height=0.7)
        names = feature_labels(self.feature_names, len(self.shares))
        ax.set_yticks(np.arange(len(shown)), [names[j] for j in shown.tolist()])
        ax.invert_yaxis()
        ax.locator_params(axis="x", nbins=5)
        ax.set(xlabel=self.xlabel)
        if n_others := int(np.count_nonzero(self.shares)) - len(shown):
            note(ax, f"{n_others} further {'feature is' if n_others == 1 else 'features are'} left out", below=False)


def _features(ensemble: Ensemble) -> set[int]:
    """The features that an ensemble uses."""
    return {stump.feature for stump in ensemble.stumps()}


def _selected(estimator: Any) -> set[int]:
    """The features that a fitted estimator uses."""
    if not hasattr(estimator, "feature_importances_"):
        return set().union(*(_features(ensemble) for _, ensemble in ensembles_of(estimator)))
    shares = np.asarray(estimator.feature_importances_)
    return set(np.flatnonzero(shares > NEGLIGIBLE * shares.max(initial=0.0)).tolist())


def _common_names(models: Sequence[Any]) -> list[str] | None:
    """The names of features that all models have."""
    names = [list(getattr(model, "feature_names_in_", [])) for model in models]
    return names[0] if names and names[0] and all(each == names[0] for each in names) else None


def _shares(selected: Sequence[set[int]], names: Sequence[Any] | None) -> Array:
    """How often each feature is in a selection, for as many features as have names, or are selected."""
    every = [feature for features in selected for feature in features]
    if not every:
        raise InvalidInput("runs", "found no stump in use", "give ensembles whose stumps have weights")
    return np.bincount(every, minlength=0 if names is None else len(names)) / len(selected)
