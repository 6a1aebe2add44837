"""What a kernel is, and its sums, products and multiples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import XOR, Formula, Hypothesis
from cvxens.kernels.pair import pair
from cvxens.kernels.tiles import Tile, assemble
from cvxens.types import Array, FieldsOnly
from cvxens.validation import RandomState


class Kernel(FieldsOnly, ABC):
    """A set of hypotheses h_a with weights r(a), embodied as K(x, x') = int r(a)^2 h_a(x) h_a(x') da (LL08 (4)).

    ``kernel(X, Z)`` is the matrix between two samples, so scikit-learn takes a kernel as a callable. Matrices are
    evaluated by tiles on several threads, in float64; they are returned in float32 if both samples are float32.

    Kernels add up (the union of the sets), multiply (the exclusive or of two hypotheses, one of each set; LL08
    Theorem 14) and take positive factors.
    """

    equation: str
    source: str
    __array_ufunc__ = None

    @property
    def neutral(self) -> bool:
        """Whether hypotheses are -1/+1-valued and average to 0 at every x, as LL08 Theorem 16 asks."""
        return False

    @property
    def psd(self) -> bool:
        """Whether it is PSD; else it is so on coefficients that sum to 0 only."""
        return True

    @property
    def degree(self) -> float | None:
        """The k for which scaling the samples (and ranges) by c > 0 scales the kernel by c^k; None if there is none.

        Where there is one the kernel is scale-invariant: scaling the samples does no more to an SVM than scaling C.
        """
        return None

    @property
    def fixed(self) -> bool:
        """Whether its values depend on the two samples alone; else ranges are read off the sample it is evaluated on.

        What is read off adds a constant to the kernels of stumps and perceptrons, which an SVM does not notice. It
        does more to what is made of them, so that is evaluated within one sample only.
        """
        return True

    @abstractmethod
    def tile(self, X: Any, Z: Any) -> Tile:
        """Check two samples, which may be one and the same, and return what computes parts of their matrix."""

    def __call__(self, X: Any, Z: Any = None) -> NDArray:
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
        return assemble(tile, (len(X), len(Z)), dtype, symmetric=X is Z)

    def diag(self, X: Any) -> Array:
        """K(x_i, x_i) for every row of `X`, shape (n_samples,); the total mass where hypotheses are -1/+1-valued."""
        X, _ = pair(X)
        return np.full(len(X), self.total_mass(X))

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """Delta = int r(a)^2 da, for the samples that it is evaluated on; those may be left out if it needs none.

        Raises
        ------
        InvalidInput
            If the kernel embodies no set of hypotheses, or lacks the ranges that Delta depends on: see `within`.
        """
        raise InvalidInput("kernel", f"found {self!r}, which embodies no set of hypotheses", "take one that does")

    def within(self, X: Any) -> Self:
        """Return the kernel with all that was left open, such as ranges, taken from the sample `X`."""
        return self

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw `n` hypotheses with density r(a)^2 / Delta: the mean of Delta h(x) h(x') tends to K(x, x').

        Raises
        ------
        InvalidInput
            If the kernel embodies no set of hypotheses, or lacks the ranges to sample from: see `within`.
        """
        raise InvalidInput("kernel", f"found {self!r}, which embodies no set of hypotheses", "take one that does")

    def __add__(self, other: Kernel) -> Sum:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum((self, other))

    def __mul__(self, other: Kernel) -> Product:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Product((self, other))

    def __rmul__(self, factor: float) -> Scaled:
        return Scaled(validation.positive("factor", factor), self)


def check_fixed(kernel: Kernel, X: Any, Z: Any) -> None:
    """Raise if a kernel that reads its ranges off the sample is to be evaluated between two."""
    if X is not Z and not kernel.fixed:
        raise InvalidInput(
            "kernel",
            f"found {kernel!r} between two samples, while it takes its ranges from one",
            "give the ranges, or take kernel.within(X) with X the training sample",
        )


def shares(masses: Array) -> Array:
    """Return masses of subsets as probabilities."""
    if not masses.any():
        raise InvalidInput("kernel", "found a set of hypotheses of mass 0", "widen its ranges")
    return masses / masses.sum()


@final
@dataclass(frozen=True, repr=False)
class Sum(Kernel):
    """K(x, x') = sum_k K_k(x, x'): the union of sets (LL08).

    Parameters
    ----------
    parts : tuple of Kernel
        At least one.

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
    equation = "K1(x, x') + K2(x, x')"
    source = "LL08"

    @property
    def neutral(self) -> bool:
        """If all are."""
        return all(part.neutral for part in self.parts)

    @property
    def psd(self) -> bool:
        """If all are."""
        return all(part.psd for part in self.parts)

    @property
    def degree(self) -> float | None:
        """That of all of them, if it is one."""
        degrees = {part.degree for part in self.parts}
        return degrees.pop() if len(degrees) == 1 else None

    @property
    def fixed(self) -> bool:
        """If all are."""
        return all(part.fixed for part in self.parts)

    def tile(self, X: Any, Z: Any) -> Tile:
        """Sum of tiles."""
        tiles = [part.tile(X, Z) for part in self.parts]
        return lambda rows, columns: sum((tile(rows, columns) for tile in tiles[1:]), tiles[0](rows, columns))

    def diag(self, X: Any) -> Array:
        """Sum of diagonals."""
        return np.sum([part.diag(X) for part in self.parts], axis=0)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """Sum of masses."""
        return sum(part.total_mass(X, Z) for part in self.parts)

    def within(self, X: Any) -> Sum:
        """Sum of what the parts are within `X`."""
        return Sum(tuple(part.within(X) for part in self.parts))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw from each part in the proportion of its mass."""
        random = validation.generator(random_state)
        masses = np.array([part.total_mass() for part in self.parts])
        counts = random.multinomial(validation.whole("n", n), shares(masses))
        drawn = zip(self.parts, counts, strict=True)
        return tuple(h for part, count in drawn if count for h in part.sample(int(count), random))

    def __repr__(self) -> str:
        return f"({' + '.join(map(repr, self.parts))})"


@final
@dataclass(frozen=True, repr=False)
class Product(Kernel):
    """K(x, x') = prod_k K_k(x, x'): the exclusive or of hypotheses, one of each set (LL08 Theorem 14).

    Parameters
    ----------
    parts : tuple of Kernel
        At least one, all PSD.

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
    def neutral(self) -> bool:
        """If all are."""
        return all(part.neutral for part in self.parts)

    @property
    def degree(self) -> float | None:
        """The sum of those of the parts."""
        degrees = [part.degree for part in self.parts if part.degree is not None]
        return sum(degrees) if len(degrees) == len(self.parts) else None

    @property
    def fixed(self) -> bool:
        """If all are."""
        return all(part.fixed for part in self.parts)

    def tile(self, X: Any, Z: Any) -> Tile:
        """Product of tiles."""
        check_fixed(self, X, Z)
        tiles = [part.tile(X, Z) for part in self.parts]
        return lambda rows, columns: prod((tile(rows, columns) for tile in tiles[1:]), start=tiles[0](rows, columns))

    def diag(self, X: Any) -> Array:
        """Product of diagonals."""
        return np.prod([part.diag(X) for part in self.parts], axis=0)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """Product of masses."""
        return prod(part.total_mass(X, Z) for part in self.parts)

    def within(self, X: Any) -> Product:
        """Product of what the parts are within `X`."""
        return Product(tuple(part.within(X) for part in self.parts))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Formula, ...]:
        """Draw one of each part, and join them."""
        random = validation.generator(random_state)
        drawn = [part.sample(n, random) for part in self.parts]
        orders = [random.permutation(len(hypotheses)) for hypotheses in drawn]
        columns = [[h[k] for k in order] for h, order in zip(drawn, orders, strict=True)]
        return tuple(Formula(XOR, parts) for parts in zip(*columns, strict=True))

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.parts))


@final
@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """K(x, x') = factor K_1(x, x'): the same set with r scaled by the root of the factor.

    Parameters
    ----------
    factor : float
        Above 0.
    kernel : Kernel
        What is scaled.

    Examples
    --------
    >>> from cvxens.kernels import Stump
    >>> (2.0 * Stump())([[0.0], [1.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    factor: float
    kernel: Kernel
    equation = "factor K(x, x')"
    source = "LL08"

    @property
    def neutral(self) -> bool:
        """That of the kernel."""
        return self.kernel.neutral

    @property
    def psd(self) -> bool:
        """That of the kernel."""
        return self.kernel.psd

    @property
    def degree(self) -> float | None:
        """That of the kernel."""
        return self.kernel.degree

    @property
    def fixed(self) -> bool:
        """That of the kernel."""
        return self.kernel.fixed

    def tile(self, X: Any, Z: Any) -> Tile:
        """Scaled tile."""
        tile = self.kernel.tile(X, Z)
        return lambda rows, columns: self.factor * tile(rows, columns)

    def diag(self, X: Any) -> Array:
        """Scaled diagonal."""
        return self.factor * self.kernel.diag(X)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """Scaled mass."""
        return self.factor * self.kernel.total_mass(X, Z)

    def within(self, X: Any) -> Scaled:
        """Scale what the kernel is within `X`."""
        return Scaled(self.factor, self.kernel.within(X))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw from the kernel's set."""
        return self.kernel.sample(n, random_state)

    def __repr__(self) -> str:
        return f"{self.factor:g} * {self.kernel!r}"
