"""Sums of norms as l1 penalties: groups of stumps and spaces of kernels, whose atoms an oracle makes.

The penalty ``sum_m |f_m|`` of a sum of functions, each of a group of hypotheses or of the space of a kernel, is the
gauge of the union of the balls ``|f_m| <= 1``. So it is an l1 penalty over **atoms**, the functions of norm 1, of which
there are infinitely many: column generation finds those that it needs. The edge of the best atom of a ball is the dual
norm of the group's edges, and the atom is where it is attained; both are closed forms. Where the balls are ellipsoids
their Gram matrices are at hand as `grams`, of which `cvxens.colgen.masters.BallMaster` makes use.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import cached_property
from math import fsum
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.colgen.protocols import Column, Priced
from cvxens.errors import InvalidInput
from cvxens.features import BinnedFeatures
from cvxens.hypotheses import Hypothesis, KernelExpansion, Points, Staircase
from cvxens.rounding import EPSILON
from cvxens.types import Array, Data, Given, KernelFunction


def answer(atoms: Sequence[tuple[Column, float]]) -> Priced:
    """Return the best atom of every ball, each with a bound on the edges of its ball, as an answer."""
    columns = sorted((column for column, _ in atoms), key=lambda column: -column.edge)
    # of infinitely many atoms there is always another one, so nothing is known of what is outside, nor of the squares
    return Priced(columns, max(bound for _, bound in atoms))


class KernelBalls:
    """The functions of norm 1 in the spaces of several kernels: multiple kernel learning by l1 over atoms.

    The penalty ``sum_m weights_m |f_m|_m`` of a sum of functions f_m in the spaces of the kernels (Bach, Lanckriet &
    Jordan 2004) is the l1 penalty over these atoms. By the representer theorem the best atom of a kernel under s is
    ``K_m s / sqrt(s'K_m s)``, of the edge ``sqrt(s'K_m s)``, over its weight. SL says in its introduction that column
    generation makes this easier, and has no algorithm for it; here it is the loop of any other formulation.

    Parameters
    ----------
    kernels : sequence of callables
        Positive definite; ``kernel(X, Z)`` returns the matrix of k(x, z), as `cvxens.kernels` and scikit-learn's
        pairwise kernels do. The matrices on the sample are kept.
    X : array-like of shape (n_samples, n_features)
        The training points, finite.
    weights : array-like of shape (n_kernels,), optional
        What the norm of every kernel weighs, above 0; by default ``sqrt(trace(K_m) / n_samples)``, so that a kernel
        does not win by its scale.

    Raises
    ------
    InvalidInput
        There is no kernel, one is not hashable or its matrix is not PSD, or a weight is not above 0.

    Examples
    --------
    >>> from cvxens.colgen import Formulation, column_generation
    >>> from cvxens.kernels import Gaussian
    >>> from cvxens.problems.losses import Hinge
    >>> from cvxens.problems.penalties import L1
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, 1.0, -1.0])
    >>> balls = KernelBalls([Gaussian(0.1), Gaussian(10.0)], X)
    >>> run = column_generation(Formulation(Hinge(10.0), L1(), intercept=True), balls, y)
    >>> run.certificate.proven, run.certificate.holds(1e-6)
    (True, True)
    """

    source = "Bach, Lanckriet & Jordan 2004; SL section I"
    negations = True

    def __init__(self, kernels: Sequence[KernelFunction], X: Data, *, weights: Given = None) -> None:
        if not len(kernels) or not all(callable(kernel) and isinstance(kernel, Hashable) for kernel in kernels):
            raise InvalidInput("kernels", f"found {kernels!r:.100}", "give at least one hashable kernel(X, Z)")
        self.sample = validation.finite_array("X", X, ndim=2)
        self.kernels = tuple(kernels)
        self._points = Points(self.sample)
        self.matrices = [validation.symmetric(kernel(self.sample, self.sample), "kernels") for kernel in kernels]
        for kernel, K in zip(kernels, self.matrices, strict=True):
            least = float(np.linalg.eigvalsh(K)[0])
            if least < -1e-10 * float(np.trace(K)) or len(K) != len(self.sample) or not np.trace(K) > 0:
                found = f"found {kernel} with {len(K)} rows, the trace {np.trace(K):.3g} and the eigenvalue {least:.3g}"
                raise InvalidInput("kernels", found, "give PSD kernels, such as those that are not simplified")
        scales = [float(np.trace(K)) / len(K) for K in self.matrices]
        given = np.sqrt(scales) if weights is None else weights
        self.weights = validation.positive_each("weights", given, len(kernels), "kernel")

    @cached_property
    def grams(self) -> list[Array]:
        """The matrices G_m on the sample with which edges are ``sqrt(s'G_m s)``."""
        return [K / weight**2 for K, weight in zip(self.matrices, self.weights.tolist(), strict=True)]

    @cached_property
    def _sizes(self) -> list[Array]:
        return [np.abs(K) for K in self.matrices]

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best atom of every kernel, as `Oracle.price` says; `exclude` makes no difference to them."""
        outputs = validation.signed_weights(s, len(self.sample)).T
        return answer([self._find_atom(m, outputs) for m in range(len(self.kernels))])

    def _find_atom(self, m: int, outputs: Array) -> tuple[Column, float]:
        """Return the best atom of one kernel over all outputs, and a bound on the edges of its ball."""
        K, weight = self.matrices[m], float(self.weights[m])
        values = outputs @ K
        forms = np.einsum("ki,ki->k", values, outputs)
        # s'K s is a sum of n^2 terms in two steps, each of n terms
        errors = 2 * (len(K) + 2) * EPSILON * np.einsum("ki,ki->k", np.abs(outputs) @ self._sizes[m], np.abs(outputs))
        best = int(forms.argmax())
        norm = max(float(forms[best] + errors[best]), 0.0) ** 0.5
        norm = norm if norm > 0 else 1.0
        coefficients = outputs[best] / (norm * weight)
        expansion = KernelExpansion(self.kernels[m], self._points, tuple(coefficients.tolist()))
        edge, unit = float(forms[best]) / (norm * weight), values[best] / (norm * weight)
        atom = Column.with_values(expansion, self.sample, edge, unit)
        bound = float(np.sqrt(np.maximum(forms + errors, 0.0)).max()) / weight * (1 + 4 * EPSILON)
        return atom, bound


class FeatureGroups:
    """The combinations of a feature's stumps of norm 1: the group lasso over all stumps, and the sparse group lasso.

    The penalty is ``sum_d (weights_d |w_d|_2 + entries |w_d|_1)``, w_d the weights of all middle stumps of feature d
    (Yuan & Lin 2006; Simon et al. 2013): a feature is in the model or not as a whole. The hypotheses are `Staircase`
    functions of one feature. The dual norm of a feature's edges e is the t at which ``|soft(e, t entries)|_2 = t
    weights_d``, the root of a quadratic equation, and the best combination is proportional to ``soft(e, t entries)``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite, at least one feature that varies; those that do not have no stumps.
    weights : array-like of shape (n_features,), optional
        What the norm of every feature weighs, above 0; by default 1.
    entries : float
        What a unit of |w_d|_1 costs beside, at least 0.

    Raises
    ------
    InvalidInput
        X is no finite matrix, is sparse, or is constant, or a weight is out of its range.

    Examples
    --------
    >>> from cvxens.colgen import Formulation, column_generation
    >>> from cvxens.problems.losses import Logistic
    >>> from cvxens.problems.penalties import L1
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 5))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, 1.0, -1.0)
    >>> run = column_generation(Formulation(Logistic(1.0), L1(8.0), intercept=True), FeatureGroups(X), y)
    >>> run.certificate.proven, {column.hypothesis.feature for column, w in zip(run.columns, run.weights) if w}
    (True, {2})
    """

    source = "Yuan & Lin 2006; Simon et al. 2013"
    negations = True

    def __init__(self, X: Data, *, weights: Given = None, entries: float = 0.0) -> None:
        features = BinnedFeatures(validation.samples(X))
        self.sample = features.X
        varying = np.flatnonzero(features.n_distinct > 1).tolist()
        self.entries = 0.0 if entries == 0 else validation.positive("entries", entries)
        given = np.ones(features.n_features) if weights is None else weights
        every = validation.positive_each("weights", given, features.n_features, "feature")
        self.features, self.weights = varying, every[varying]
        self._thresholds = [tuple(features.thresholds_at(j, features.places(j)).tolist()) for j in varying]
        # at or above how many thresholds the samples are
        self._ranks = list(map(features.rank, varying))

    @property
    def grams(self) -> list[Array] | None:
        """The matrices G_d on the sample with which edges are ``sqrt(s'G_d s)``; None where `entries` is above 0."""
        if self.entries:
            return None
        return [
            # h_k(x) h_k(x') = 1 but between the two, where it is -1
            (len(thresholds) - 2.0 * np.abs(np.subtract.outer(ranks, ranks))) / weight**2
            for thresholds, ranks, weight in zip(self._thresholds, self._ranks, self.weights.tolist(), strict=True)
        ]

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best combination of every feature, as `Oracle.price` says; `exclude` makes no difference."""
        outputs = validation.signed_weights(s, len(self.sample)).T
        totals = [fsum(of_output) for of_output in outputs.tolist()]
        return answer([self._find_atom(k, outputs, totals) for k in range(len(self.features))])

    def _find_atom(self, k: int, outputs: Array, totals: Sequence[float]) -> tuple[Column, float]:
        """Return the best combination of one feature over all outputs, and a bound on the edges of all."""
        thresholds, weight, measured = self._thresholds[k], float(self.weights[k]), []
        for s, total in zip(outputs, totals, strict=True):
            # total - 2 below each threshold
            edges: Any = total - 2 * np.cumsum(np.bincount(self._ranks[k], s, minlength=len(thresholds) + 1))[:-1]
            # n terms in cumulated bins, the doubling and the difference, on every edge
            error = 4 * len(s) * EPSILON * float(np.abs(s).sum()) * len(edges) ** 0.5
            measured.append((dual_norm(edges, weight, self.entries), edges, error))
        bound = max(size + error / weight for size, _, error in measured)
        size, edges, _ = max(measured, key=itemgetter(0))
        combination = np.sign(edges) * np.maximum(np.abs(edges) - size * self.entries, 0.0)
        length = weight * float(np.linalg.norm(combination)) + self.entries * float(np.abs(combination).sum())
        # within the ball in spite of rounding
        combination = combination / (length * (1 + (len(edges) + 8) * EPSILON)) if length > 0 else combination
        staircase = Staircase(self.features[k], thresholds, tuple(combination.tolist()))
        return Column(staircase, self.sample, float(edges @ combination)), bound


def dual_norm(edges: Array, weight: float, entries: float) -> float:
    """Return the least t with ``|soft(edges, t entries)|_2 <= t weight``, not less but for its own rounding.

    It is the dual norm of ``weight |w|_2 + entries |w|_1``.

    Examples
    --------
    >>> [round(dual_norm(np.array([3.0, -4.0]), 1.0, entries), 12) for entries in (0.0, 1.0)]
    [5.0, 2.101020514434]
    """
    sizes = np.sort(np.abs(edges))[::-1]
    rounding = 1 + (len(sizes) + 8) * EPSILON
    squares, sums, counts = np.cumsum(sizes**2), np.cumsum(sizes), np.arange(1, len(sizes) + 1)
    if entries == 0 or sizes[0] == 0:
        return float(squares[-1] ** 0.5 / weight * rounding)
    # of the k largest, sum (e - t entries)^2 = t^2 weight^2, where t entries is between the k-th and the next one
    a, b = counts * entries**2 - weight**2, entries * sums
    roots = squares / (b + np.sqrt(np.maximum(b**2 - a * squares, 0.0)))
    nexts = np.append(sizes[1:], 0.0)
    t = float(roots[np.argmax(roots * entries >= nexts)])
    # what is lacking at t, whose side falls by at most `weight` for each unit
    left = float(np.linalg.norm(np.maximum(sizes - t * entries, 0.0)))
    return max(t, t + (left * rounding - t * weight) / weight) * (1 + 8 * EPSILON)
