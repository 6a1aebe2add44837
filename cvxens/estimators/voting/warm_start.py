"""Warm starts: a fit from the weak learners of the last one, each sub-problem from its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cvxens.colgen import Hypothesis
from cvxens.colgen.checkpoint import digest
from cvxens.errors import InvalidInput
from cvxens.estimators.fitting.multiclass import Part, scheme_of
from cvxens.estimators.fitting.sample import Sample

if TYPE_CHECKING:
    from cvxens.estimators.base import Classifier as Base
else:
    Base = object


class WarmStart(Base):
    """A fit that starts from the weak learners of the last one if `warm_start` is set; for a `Classifier`.

    The clones that scikit-learn fits to the sub-problems are all alike, and may be in other processes. So they are
    given the starts of all sub-problems while they are fitted, and know their own by the sample.
    """

    @contextmanager
    def _whole(self: Any) -> Iterator[None]:
        n_features = getattr(self, "n_features_in_", None)
        with super()._whole():
            self._n_features_before = n_features
            yield
            del self._n_features_before

    def _fit(self: Any, sample: Sample) -> None:
        given = vars(self).pop("_starts", None)
        self._starts = self._from_last_fit(sample) if given is None else given
        super()._fit(sample)
        del self._starts
        if hasattr(self, "decomposition_"):
            vars(self.decomposition_.estimator).pop("_starts", None)

    def __sklearn_clone__(self: Any) -> Any:
        clone = super().__sklearn_clone__()
        if "_starts" in vars(self):
            clone._starts = self._starts
        return clone

    def _start(self: Any, sample: Sample) -> Sequence[Hypothesis]:
        """What the fit to a sample starts from."""
        return self._starts.get(_key(sample), ()) if self._starts else ()

    def _from_last_fit(self: Any, sample: Sample) -> Mapping[str, Sequence[Hypothesis]]:
        """The weak learners of the last fit, by the samples of the sub-problems."""
        if not isinstance(self.warm_start, bool | np.bool_):
            raise InvalidInput("warm_start", f"found {self.warm_start!r:.100}", "give True or False")
        if not self.warm_start or self._n_features_before is None:
            return {}
        if self._n_features_before != sample.X.shape[1]:
            raise InvalidInput(
                "X",
                f"found {sample.X.shape[1]} features for weak learners of {self._n_features_before}",
                "give samples of as many features as before, or set warm_start=False",
            )
        several = self._several(sample)
        if several != hasattr(self, "decomposition_"):
            return {}
        if not several:
            return {_key(sample): self.weak_learners_}
        scheme, parts_of = scheme_of(self.multi_class)
        if type(self.decomposition_) is not scheme or not np.array_equal(self.classes_, sample.classes):
            return {}
        parts = [_part(sample, part) for part in parts_of(sample.labels, len(sample.classes))]
        keys = [_key(part.merged() if self._merges() else part) for part in parts]
        return dict(zip(keys, self.weak_learners_, strict=True))


def _key(sample: Sample) -> str:
    """What tells a sub-problem's sample from others'."""
    return digest((sample.X, sample.signs))


def _part(sample: Sample, part: Part) -> Sample:
    """The sample of a sub-problem."""
    rows, labels = part
    kept = np.flatnonzero(rows)
    places, shares = np.arange(len(kept)), np.ones(len(kept))
    of_rows = {"X": sample.X[kept], "weights": sample.weights[kept], "masses": sample.masses[kept]}
    return replace(sample, **of_rows, labels=labels, classes=np.arange(2), places=places, shares=shares)
