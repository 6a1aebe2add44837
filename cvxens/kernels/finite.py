"""Kernels that are matrices: inner products of finitely many numbers of each sample, or given entry by entry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, LinearForm
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.stumps import as_tuple
from cvxens.kernels.tiles import Tile, check_features, check_pair
from cvxens.problems import DenseColumns
from cvxens.types import Array, Data, Given, Indices
from cvxens.validation import RandomState


class InnerProduct(Kernel):
    """K(x, x') = phi(x)'phi(x')."""

    @abstractmethod
    def embed(self, X: Data, origin: object = None) -> Array:
        """Return phi(x), or phi(x) - phi(origin) with the digits of differences; (n_samples, n_coordinates)."""

    def tile(self, X: Data, Z: Data) -> Tile:
        left = self.embed(X)
        right = left if Z is X else self.embed(Z)
        return lambda rows, columns: left[rows] @ right[columns].T

    def diag(self, X: Data) -> Array:
        return (self.embed(X) ** 2).sum(axis=1)

    def range_free_equivalent(self, X: Data) -> Kernel:
        """Measure from a sample in the middle of each feature: what an offset adds to all samples, it has too."""
        X = np.asarray(X, np.float64)
        return Centred(self, np.partition(X, len(X) // 2, axis=0)[len(X) // 2])


@final
@dataclass(frozen=True, eq=False)
class Linear(InnerProduct):
    """K_lin(x, x') = x'V x'.

    KIE06 section 3.2: the mean over the linear hypotheses h(x) = a'x, a of mean 0 and covariance V, whatever its law;
    those that are drawn are normal. It is no kernel of weak learners, which are -1/+1-valued. Scaling the samples by c
    scales it by c^2.

    Parameters
    ----------
    V : array-like of shape (n_features, n_features)
        Symmetric and PSD; ``numpy.eye(n_features)`` gives the plain inner product.

    Examples
    --------
    >>> Linear([[2.0, 0.0], [0.0, 1.0]])([[1.0, 1.0], [0.0, 3.0]])
    array([[3., 3.],
           [3., 9.]])
    """

    V: ArrayLike = field(repr=False)
    equation = "x'V x'"
    source = "KIE06 section 3.2"
    homogeneity = 2.0

    @cached_property
    def _root(self) -> Array:
        """F with F F' = V."""
        values, vectors = np.linalg.eigh(validation.symmetric(self.V, "V"))
        # less is rounding
        if values[0] < -1e-12 * len(values) * max(values[-1], -values[0]):
            raise InvalidInput("V", f"found the eigenvalue {values[0]:.3g}", "give a PSD matrix")
        return vectors * np.sqrt(np.maximum(values, 0))

    def tile(self, X: Data, Z: Data) -> Tile:
        return super().tile(*check_pair(X, Z))

    def embed(self, X: Data, origin: object = None) -> Array:
        # phi(x) = F'x
        X, _ = check_pair(X)
        if origin is not None:
            X, _ = check_pair(X - np.asarray(origin, np.float64))
        check_features("X", X, len(self._root), "V")
        return X @ self._root

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        # r^2 is the density of a
        return 1.0

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        random = validation.generator(random_state)
        drawn = random.standard_normal((validation.whole("n", n), len(self._root))) @ self._root.T
        features = tuple(range(len(self._root)))
        return tuple(LinearForm(features, tuple(weights)) for weights in drawn.tolist())

    def __repr__(self) -> str:
        return f"Linear(V of shape {np.shape(self.V)})"


@final
@dataclass(frozen=True)
class WeakLearner(InnerProduct):
    """K(x, x') = sum_j pi_j h_j(x) h_j(x').

    KIE06 (7), (8): the weak-learner kernel, with ``sum_j pi_j = 1``. Of -1/+1-valued hypotheses it is the probability
    that ``h(x) = h(x')`` for an h drawn by pi, from 0 to 1 made -1 to +1. They may be any functions, so samples may be
    whatever these take.

    Parameters
    ----------
    columns : sequence of Hypothesis
        The hypotheses: callables from n_samples samples to (n_samples,) numbers; hashable if the kernel is to be.
    weights : array-like of shape (n_columns,), optional
        At least 0 and not all 0; pi is in proportion to them. By default they are equal.
    mass : float
        What the kernel is multiplied by, above 0; 1 in KIE06.

    Examples
    --------
    >>> from cvxens.kernels import Stump
    >>> stumps = Stump(low=(0.0,), high=(2.0,)).sample(3, random_state=0)
    >>> WeakLearner(stumps, [0.5, 0.25, 0.25])([[0.0], [2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    columns: Sequence[Hypothesis]
    weights: Given = None
    mass: float = 1.0
    equation = "sum_j pi_j h_j(x) h_j(x')"
    source = "KIE06 (7)"

    def __post_init__(self) -> None:
        columns = tuple(self.columns) if np.iterable(self.columns) else ()
        if not columns or not all(map(callable, columns)):
            raise InvalidInput("columns", f"found {len(columns)} columns", "give at least one, all of them callable")
        weights = np.full(len(columns), 1 / len(columns)) if self.weights is None else self.weights
        weights = validation.weights("weights", weights, len(columns), "column")
        mass = validation.positive("mass", self.mass)
        vars(self).update(columns=columns, weights=as_tuple(weights / weights.sum()), mass=mass)

    @classmethod
    def from_kernel(cls, kernel: Kernel, n: int, random_state: RandomState = None) -> WeakLearner:
        """Draw `n` hypotheses of a kernel, whose mean tends to it: random features, whatever the set.

        Of `Gaussian` they are the random Fourier features of Rahimi & Recht (2007), with which SL's Table II compares;
        an SVM with this kernel is a linear one on the features.

        Parameters
        ----------
        kernel : Kernel
            Of known ranges, or number of features: see `Kernel.with_ranges_of`.
        n : int
            At least 1; 2000 in SL.
        random_state : int, Generator, RandomState or None
            Seed.

        Examples
        --------
        >>> from cvxens import InfiniteEnsembleSVC
        >>> from cvxens.datasets import make_twonorm
        >>> from cvxens.kernels import Gaussian
        >>> X, y = make_twonorm(100, 5, random_state=0)
        >>> features = WeakLearner.from_kernel(Gaussian(0.1).with_ranges_of(X), 200, random_state=0)
        >>> InfiniteEnsembleSVC(features, C=1.0).fit(X, y).score(X, y) > 0.95
        True
        """
        drawn = kernel.sample(n, random_state)
        return cls(drawn, mass=kernel.total_mass())

    def cells(self, X: Data) -> DenseColumns:
        """Return one column sqrt(mass pi_j) h_j per hypothesis; their inner products are the kernel on `X`."""
        return DenseColumns(self.embed(X))

    def embed(self, X: Data, origin: object = None) -> Array:
        # phi_j(x) = sqrt(mass pi_j) h_j(x)
        values = self._evaluate(X)
        if origin is not None:
            values = values - self._evaluate(np.asarray(origin)[None])
        return values * np.sqrt(self.mass * np.array(self.weights))

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        return self.mass

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        random, weights = validation.generator(random_state), np.array(self.weights)
        drawn = random.choice(len(weights), size=validation.whole("n", n), p=weights)
        return tuple(self.columns[j] for j in drawn)

    def _evaluate(self, X: Data) -> Array:
        """Evaluate the hypotheses, shape (n_samples, n_columns)."""
        values = [np.asarray(h(X)) for h in self.columns]
        wrong = [column.shape for column in values if column.shape != np.shape(X)[:1]]
        if wrong:
            found = f"found values of shape {wrong[0]} on {np.shape(X)[0]} samples"
            raise InvalidInput("columns", found, "give functions with one value per sample")
        return validation.finite_array("columns", np.stack(values, axis=1), ndim=2)

    def __repr__(self) -> str:
        return f"WeakLearner({len(self.columns)} columns)"


@final
@dataclass(frozen=True)
class Centred(InnerProduct):
    """K(x, x') - K(x, o) - K(o, x') + K(o, o): the inner product of phi(x) - phi(o) and phi(x') - phi(o).

    As y'u = 0 it gives `SVMDual` the solutions of K (LL08 after Theorem 4), with the intercept moved, whatever the
    sample o is. With an o among the samples nothing is lost where their values are large beside their differences.
    Kernels that differ in o alone are equal.

    Examples
    --------
    >>> Centred(Linear(np.eye(1)), (1e16,))([[1e16], [1e16 + 2]])
    array([[0., 0.],
           [0., 4.]])
    """

    kernel: InnerProduct
    origin: Given = field(compare=False)
    equation = "K(x, x') - K(x, o) - K(o, x') + K(o, o)"
    source = "LL08 section 4.1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", as_tuple(self.origin))

    def embed(self, X: Data, origin: object = None) -> Array:
        return self.kernel.embed(X, self.origin)

    def range_free_equivalent(self, X: Data) -> Kernel:
        return self


@final
@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """K(i, j) = K_ij: samples are indices of the rows of a given matrix.

    So it goes where a kernel goes, into sums, products and cross-validation, with ``arange(n)[:, None]`` as samples.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric; that it is PSD is not checked.

    Examples
    --------
    >>> kernel = Precomputed([[2.0, 1.0], [1.0, 3.0]])
    >>> kernel([[1], [0]], [[0]])
    array([[1.],
           [2.]])
    """

    K: ArrayLike = field(repr=False)
    equation = "K_ij"
    source = "by its matrix"

    @cached_property
    def _matrix(self) -> Array:
        return validation.symmetric(self.K)

    def tile(self, X: Data, Z: Data) -> Tile:
        X, Z = check_pair(X, Z)
        left, right = self._indices(X, "X"), self._indices(Z, "Z")
        return lambda rows, columns: self._matrix[np.ix_(left[rows], right[columns])]

    def diag(self, X: Data) -> Array:
        return self._matrix.diagonal()[self._indices(check_pair(X)[0], "X")]

    def _indices(self, X: Array, argument: str) -> Indices:
        known = (X >= 0) & (len(self._matrix) > X) & (np.rint(X) == X)
        if X.shape[1] != 1 or not known.all():
            found = f"found {X.shape[1]} features" if X.shape[1] != 1 else f"found the index {X[~known][0]:g}"
            remedy = f"give one column of indices from 0 to {len(self._matrix) - 1}"
            raise InvalidInput(argument, found, remedy)
        return X[:, 0].astype(np.intp)

    def __repr__(self) -> str:
        return f"Precomputed(K of shape {np.shape(self.K)})"
