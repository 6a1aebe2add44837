"""The base class of kernels, and sums, products and multiples of kernels.

A kernel is one class in one file. `tile` computes it; everything else that varies by kernel is a method with a default
that is right for a kernel of which no more is known:

- as LL08 has it, a kernel *embodies* a set of hypotheses: `total_mass`, `sample`, `neutral`;
- a machine without equality constraints needs `psd`; P2, in which y'u = 0, is solved with `range_free_equivalent`,
  or, where there are `additive_scales`, without a matrix;
- `shape_functions` draws and exports expansions of kernels that are sums over features, on their `domain`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf
from operator import add, mul
from typing import Any, Self, TypeAlias, cast, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import XOR, Formula, Hypothesis
from cvxens.kernels.tiles import SingleKernel, Tile, assemble, check_pair
from cvxens.types import Array, Data, FieldsOnly, Given, Value
from cvxens.validation import RandomState

OPEN = 2.0**-10
"""By what share of the range of a sample an open box, or ball, of thresholds goes beyond it at either end.

LL08 has the samples inside of an open box (section 4.1) and an open ball (section 5). Only so is a threshold beyond
them, which makes a constant hypothesis, and Gram matrices are PD (Theorems 5 and 11). Any share above 0 would do; this
one adds a thousandth to the kernel, in binary digits, so that scaling samples scales it without rounding.
"""

Shape: TypeAlias = tuple[Array, Array]
"""Ascending knots and the values there: linear in between, constant beyond; where two knots are one, a jump."""

Statement: TypeAlias = tuple[str, float | None, Sequence[float]]  # the name, gamma and scales of an exact proof


class Kernel(FieldsOnly, ABC):
    """A set of hypotheses h_a with weights r(a), embodied as K(x, x') = int r(a)^2 h_a(x) h_a(x') da.

    LL08 Definition 1, (4): the inner product of the functions r(a) h_a(x) of a, so its matrices are PSD (Theorem 2).

    ``kernel(X, Z)`` is the matrix between two samples, so scikit-learn takes a kernel as a callable. Matrices are
    evaluated by tiles on several threads, in float64; they are returned in float32 if both samples are float32.

    Kernels add up (the union of the sets), multiply (the exclusive or of two hypotheses, one of each set; LL08
    Theorem 14) and take positive factors.

    A kernel of your own is a frozen dataclass with a method `tile`, and overrides whatever else it can say.
    """

    equation: str
    source: str
    __array_ufunc__ = None

    @property
    def neutral(self) -> bool:
        """True if hypotheses are -1/+1-valued and average to 0 at every x (LL08 Definition 15), as Theorem 16 asks."""
        return False

    @property
    def psd(self) -> bool:
        """True if it is PSD; else it is so on coefficients that sum to 0 only (conditionally PSD)."""
        return True

    @property
    def homogeneity(self) -> float | None:
        """The k for which scaling the samples (and ranges) by c > 0 scales the kernel by c^k; None if there is none.

        Where there is one the kernel is scale-invariant: scaling the samples does no more to an SVM than scaling C.
        """
        return None

    def state(self, X: Data) -> Statement | None:
        """Return the name, the gamma and the scales by which `cvxens.proofs.prove_kernel` knows it on a sample, if any.

        It is asked of kernels that need no range, `range_free_equivalent`: what y'u = 0 cancels does not matter there.
        """
        scales = self.additive_scales(X)
        return None if scales is None else ("stump", None, () if (scales == 1).all() else scales.tolist())

    @property
    def is_data_independent(self) -> bool:
        """True if values depend on the two samples alone; else ranges are read off the sample it is evaluated on.

        What is read off adds a constant to the kernels of stumps and perceptrons, which an SVM does not notice. It
        does more to what is made of them, so that is evaluated within one sample only.
        """
        return True

    @abstractmethod
    def tile(self, X: Data, Z: Data) -> Tile:
        """Check two samples, which may be one and the same, and return what computes parts of their matrix."""

    def round_to_single(self, X: Array) -> SingleKernel | None:
        """Return the kernel on a sample in single precision, with a bound on its error; None where there is none."""
        return None

    def prepare(self, X: Data) -> tuple[Kernel, Data]:
        """Return a kernel and features with the same matrix on a sample, for which what it takes of each is done."""
        return self, X

    def __call__(self, X: Data, Z: Given = None) -> Array:
        """Evaluate between the rows of `X` and `Z` (by default `X`); returns (len(X), len(Z)).

        Raises
        ------
        InvalidInput
            If a sample is not what the kernel takes, or the matrix would not fit into memory.
        """
        Z = X if Z is None else Z
        tile = self.tile(X, Z)
        single = all(getattr(sample, "dtype", None) == np.float32 for sample in (X, Z))
        dtype = np.dtype(np.float32 if single else np.float64)
        return assemble(tile, (np.shape(X)[0], np.shape(Z)[0]), dtype, symmetric=X is Z)

    def diag(self, X: Data) -> Array:
        """Compute K(x_i, x_i) for every row of `X`, shape (n_samples,): the total mass where hypotheses are +-1."""
        X, _ = check_pair(X)
        return np.full(len(X), self.total_mass(X))

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        """Compute Delta = int r(a)^2 da on the samples `X` and `Z`, which a kernel of known ranges does not need.

        Raises
        ------
        InvalidInput
            If the kernel embodies no set of hypotheses, or lacks ranges: see `with_ranges_of`.
        """
        raise InvalidInput("kernel", f"found {self!r}, which embodies no set of hypotheses", "take one that does")

    def with_ranges_of(self, X: Data) -> Self:
        """Return the kernel with all that was left open, such as ranges, taken from the sample `X`."""
        return self

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw `n` hypotheses with density r(a)^2 / Delta: the mean of Delta h(x) h(x') tends to K(x, x').

        Raises
        ------
        InvalidInput
            If the kernel embodies no set of hypotheses, or lacks ranges to sample from: see `with_ranges_of`.
        """
        raise InvalidInput("kernel", f"found {self!r}, which embodies no set of hypotheses", "take one that does")

    def range_free_equivalent(self, X: Data) -> Kernel:
        """Return a kernel with the same P2 solutions on `X` that needs no range: ``K(x, x') + a(x) + a(x')``.

        What it adds is cancelled by y'u = 0 (LL08 after Theorem 4); the intercept goes with it. Where the kernel allows
        for it, it is made of differences of samples. Those keep the digits that a constant beside them, or values with
        an offset, would take: a ``min(x, x')`` near 1e16 knows nothing of a difference of 1.
        """
        return close_ranges(self, X)

    def additive_scales(self, X: Data) -> Array | None:
        """Return scale (n_features,) if K(x, x') is ``-sum_d scale_d |x_d - x'_d| + a(x) + a(x')`` on `X`, else None.

        P2 is then solved without a kernel matrix, and its solution is a sum of functions of single features.
        """
        return None

    def domain(self, n_features: int) -> Array:
        """Return the lowest and the highest value that each feature may have, shape (2, n_features)."""
        return np.outer([-inf, inf], np.ones(n_features))

    def shape_functions(self, vectors: Array, coefficients: Array, box: Array | None = None) -> list[Shape]:
        """Split ``f(x) = sum_j coefficients_j K(x, vectors_j)`` into one g_d per feature, ``f(x) = sum_d g_d(x_d)``.

        The support vectors are (n_vectors, n_features). The box (2, n_features) is the range of the training sample,
        beyond which f is constant; it is None for kernels that were given ranges.

        Raises
        ------
        AttributeError
            The kernel is no sum over features, or was given ranges, beyond which f is not known.
        """
        scales = self.additive_scales(vectors)
        if scales is None or box is None:
            unknown = "was given ranges; leave them open"
            found = "is no sum over features; those of stumps are" if scales is None else unknown
            raise AttributeError(f"shape_functions_: the kernel {self!r} {found}")
        # g_d(t) = -scale_d sum_j c_j |t - x_jd|, up to a constant, with its knots at the support vectors
        knots = [np.unique(np.append(ends, x)) for ends, x in zip(box.T, vectors.T, strict=True)]
        each = zip(knots, vectors.T, scales, strict=True)
        shapes = [(k, -np.abs(np.subtract.outer(k, x)) @ (scale * coefficients)) for k, x, scale in each]
        # what K has beside the distances, a(x) + a(x'), adds a constant to f: sum_j c_j is 0, or a is constant. It is
        # measured at one support vector, and all features share it
        there = sum(float(np.interp(at, *shape)) for at, shape in zip(vectors[0], shapes, strict=True))
        rest = (float(self(vectors[:1], vectors)[0] @ coefficients) - there) / len(shapes)
        return [(knots, values + rest) for knots, values in shapes]

    def __add__(self, other: Kernel) -> KernelSum:
        return KernelSum((self, other), (1.0, 1.0)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel) -> Product:
        return Product((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __rmul__(self, factor: float) -> KernelSum:
        return KernelSum((self,), (validation.positive("factor", factor),))


def check_ranges_known(kernel: Kernel, X: Data, Z: Data) -> None:
    """Raise if a kernel that reads its ranges off the sample is to be evaluated between two."""
    if X is not Z and not kernel.is_data_independent:
        found = f"found {kernel!r} between two samples, while it takes its ranges from one"
        raise InvalidInput("kernel", found, "give them, or take kernel.with_ranges_of(X) with X the training sample")


def check_inside(box: Array, X: Array) -> None:
    """Raise an InvalidInput if a sample is outside a box (2, n_features)."""
    low, high = box
    if (low > X).any() or (high < X).any():
        feature = int(np.argmax(((low > X) | (high < X)).any(axis=0)))
        found = f"found feature {feature} from {X[:, feature].min():g} to {X[:, feature].max():g}"
        remedy = f"stay within the kernel's range of {low[feature]:g} to {high[feature]:g}, or widen it"
        raise InvalidInput("X", found, remedy)


def normalise_masses(masses: Array) -> Array:
    """Return the masses of subsets as probabilities."""
    if not masses.any():
        raise InvalidInput("kernel", "found a set of hypotheses of mass 0", "widen its ranges")
    return masses / masses.sum()


class Compound(Kernel):
    """A kernel ``combine([K_1(x, x'), K_2(x, x'), ...])`` of parts, whose diagonal and mass are combined alike."""

    parts: tuple[Kernel, ...]

    @abstractmethod
    def combine(self, values: Sequence[Value]) -> Value:
        """Combine values of all parts, numbers or arrays."""

    def replace_parts(self, replacement: Callable[[Kernel], Kernel]) -> Self:
        """Return the kernel with each part K replaced by replacement(K)."""
        return replace(cast("Any", self), parts=tuple(map(replacement, self.parts)))

    @property
    def neutral(self) -> bool:
        return all(part.neutral for part in self.parts)

    @property
    def psd(self) -> bool:
        return all(part.psd for part in self.parts)

    @property
    def is_data_independent(self) -> bool:
        return all(part.is_data_independent for part in self.parts)

    def with_ranges_of(self, X: Data) -> Self:
        return self.replace_parts(lambda part: part.with_ranges_of(X))

    def tile(self, X: Data, Z: Data) -> Tile:
        tiles = [part.tile(X, Z) for part in self.parts]
        return lambda rows, columns: self.combine([tile(rows, columns) for tile in tiles])

    def diag(self, X: Data) -> Array:
        return self.combine([part.diag(X) for part in self.parts])

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        return float(self.combine([part.total_mass(X, Z) for part in self.parts]))


@final
@dataclass(frozen=True, repr=False)
class KernelSum(Compound):
    """K(x, x') = sum_k factor_k K_k(x, x') of at least one part: the union of sets, r scaled by the roots of factors.

    LL08 Theorem 13 and section 5. What P2 cancels of the parts, it cancels of them, and additive parts stay additive.

    Examples
    --------
    >>> from cvxens.kernels import SimplifiedStump, Stump
    >>> kernel = Stump(low=(0.0,), high=(2.0,)) + 0.5 * SimplifiedStump()
    >>> kernel
    (Stump(low=(0.0,), high=(2.0,)) + 0.5 * SimplifiedStump())
    >>> kernel([[0.0], [1.0]])
    array([[ 1. , -0.5],
           [-0.5,  1. ]])
    """

    parts: tuple[Kernel, ...]
    factors: tuple[float, ...]  # above 0, and 1 of several parts
    equation = "factor1 K1(x, x') + factor2 K2(x, x')"
    source = "LL08 Theorem 13"

    @property
    def homogeneity(self) -> float | None:
        found = {part.homogeneity for part in self.parts}
        return found.pop() if len(found) == 1 else None

    def combine(self, values: Sequence[Value]) -> Value:
        return reduce(add, [v if f == 1 else f * v for f, v in zip(self.factors, values, strict=True)])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        random = validation.generator(random_state)
        masses = np.array([f * part.total_mass() for f, part in zip(self.factors, self.parts, strict=True)])
        counts = random.multinomial(validation.whole("n", n), normalise_masses(masses))
        drawn = zip(self.parts, counts, strict=True)
        return tuple(h for part, count in drawn if count for h in part.sample(int(count), random))

    def range_free_equivalent(self, X: Data) -> Kernel:
        return self.replace_parts(lambda part: part.range_free_equivalent(X))

    def additive_scales(self, X: Data) -> Array | None:
        scales = [scale for part in self.parts if (scale := part.additive_scales(X)) is not None]
        return self.combine(scales) if len(scales) == len(self.parts) else None

    def domain(self, n_features: int) -> Array:
        low, high = np.stack([part.domain(n_features) for part in self.parts], axis=1)
        return np.stack([low.max(axis=0), high.min(axis=0)])

    def __repr__(self) -> str:
        if len(self.parts) == 1:
            return f"{self.factors[0]:g} * {self.parts[0]!r}"
        return f"({' + '.join(map(repr, self.parts))})"


@final
@dataclass(frozen=True, repr=False)
class Product(Compound):
    """K(x, x') = prod_k K_k(x, x') of PSD parts: the exclusive or of hypotheses, one of each set (LL08 Theorem 14).

    Examples
    --------
    >>> from cvxens.kernels import Stump
    >>> kernel = Stump(low=(0.0, 0.0), high=(1.0, 1.0)) * Stump(low=(0.0, 0.0), high=(1.0, 1.0))
    >>> kernel([[0.0, 0.0]], [[0.0, 1.0], [1.0, 1.0]])
    array([[0., 1.]])
    """

    parts: tuple[Kernel, ...]
    equation = "K1(x, x') K2(x, x')"
    source = "LL08 Theorem 14"

    def __post_init__(self) -> None:
        for part in self.parts:
            if not part.psd:
                raise InvalidInput("kernel", f"found {part!r}, which is not PSD", "multiply PSD kernels, as Stump()")

    @property
    def homogeneity(self) -> float | None:
        found = [part.homogeneity for part in self.parts if part.homogeneity is not None]
        return sum(found) if len(found) == len(self.parts) else None

    def combine(self, values: Sequence[Value]) -> Value:
        return reduce(mul, values)

    def tile(self, X: Data, Z: Data) -> Tile:
        check_ranges_known(self, X, Z)
        return super().tile(X, Z)

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Formula, ...]:
        random = validation.generator(random_state)
        drawn = [part.sample(n, random) for part in self.parts]
        # a sum draws from its parts one after the other: in a random order, draws are independent
        orders = [random.permutation(len(hypotheses)) for hypotheses in drawn]
        columns = [[h[k] for k in order] for h, order in zip(drawn, orders, strict=True)]
        return tuple(Formula(XOR, parts) for parts in zip(*columns, strict=True))

    def range_free_equivalent(self, X: Data) -> Kernel:
        # what P2 cancels of a part, it does not cancel of a product
        return self.replace_parts(lambda part: close_ranges(part, X))

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.parts))


class Simplified(Kernel):
    """A kernel less what y'u = 0 cancels, with K(x, x) = 0: conditionally PSD, so it embodies no set itself."""

    psd = False

    def diag(self, X: Data) -> Array:
        return np.zeros(len(check_pair(X)[0]))


@final
@dataclass(frozen=True)
class Clipped(Kernel):
    """A kernel within the ranges of a training sample, for samples from anywhere.

    Beyond a range that was left open there is no threshold, so hypotheses say of a sample there what they say of the
    nearest one inside. Ranges that were given are kept to.
    """

    kernel: Kernel
    # of every feature; infinite where that end of the range was given
    low: tuple[float, ...]
    high: tuple[float, ...]
    equation = "K(x, x') of the nearest samples within the ranges"
    source = "the box of LL08 section 4.1, for samples from anywhere"

    @property
    def psd(self) -> bool:
        return self.kernel.psd

    def tile(self, X: Data, Z: Data) -> Tile:
        inside = self._clip("X", X)
        return self.kernel.tile(inside, inside if Z is X else self._clip("Z", Z))

    def diag(self, X: Data) -> Array:
        return self.kernel.diag(self._clip("X", X))

    def prepare(self, X: Data) -> tuple[Kernel, Data]:
        return self.kernel.prepare(self._clip("X", X))

    def shape_functions(self, vectors: Array, coefficients: Array, box: Array | None = None) -> list[Shape]:
        box = np.array([self.low, self.high])
        return self.kernel.shape_functions(vectors, coefficients, box if np.isfinite(box).all() else None)

    def _clip(self, argument: str, X: Data) -> Array:
        return np.clip(validation.finite_array(argument, X, ndim=2), self.low, self.high)


def close_ranges(kernel: Kernel, X: Data) -> Kernel:
    """Return a kernel for samples from anywhere: itself, or within the ranges of X (n_samples, n_features)."""
    if kernel.is_data_independent:
        return kernel
    X = np.asarray(X)
    box = np.stack([X.min(axis=0), X.max(axis=0)]).astype(np.float64)
    open_ends = np.isinf(kernel.domain(X.shape[1]))
    # kernels with a radius take it from the corner that is farthest from 0
    corners = np.stack([*box, np.where(np.abs(box[0]) > np.abs(box[1]), *box)])
    low, high = np.where(open_ends, box, [[-inf], [inf]]).tolist()
    return Clipped(kernel.with_ranges_of(corners), tuple(low), tuple(high))
