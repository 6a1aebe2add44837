"""AND and OR of neutral sets of hypotheses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import AND, OR, Connective, Formula, Hypothesis
from cvxens.kernels.kernel import Kernel, check_fixed
from cvxens.kernels.tiles import Tile
from cvxens.validation import RandomState


@final
@dataclass(frozen=True, repr=False)
class Logical(Kernel):
    """K(x, x') = (K_1(x, x') + Delta_1) (K_2(x, x') + Delta_2), made by `and_` and `or_`.

    Parameters
    ----------
    connective : Connective
        AND or OR; the kernel is the same, the hypotheses are not.
    first, second : Kernel
        Neutral.
    """

    connective: Connective
    first: Kernel
    second: Kernel
    equation = "(K1(x, x') + Delta1) (K2(x, x') + Delta2)"
    source = "LL08 Theorem 16"
    neutral = True

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if not isinstance(part, Kernel) or not part.neutral:
                raise InvalidInput(
                    "kernel",
                    f"found {part!r}, whose hypotheses are not -1/+1-valued with an average of 0 at every x",
                    "join neutral sets only: stumps, perceptrons, and what and_, or_, + and * make of them",
                )

    @property
    def degree(self) -> float | None:
        """The sum of both."""
        return (self.first * self.second).degree

    @property
    def fixed(self) -> bool:
        """If both are."""
        return self.first.fixed and self.second.fixed

    def tile(self, X: Any, Z: Any) -> Tile:
        """Product of tiles, each with its mass added."""
        check_fixed(self, X, Z)
        first, second = self.first.tile(X, Z), self.second.tile(X, Z)
        delta_1, delta_2 = self.first.total_mass(X, Z), self.second.total_mass(X, Z)
        return lambda rows, columns: (first(rows, columns) + delta_1) * (second(rows, columns) + delta_2)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """4 Delta_1 Delta_2."""
        return 4 * self.first.total_mass(X, Z) * self.second.total_mass(X, Z)

    def within(self, X: Any) -> Logical:
        """Join what both are within `X`."""
        return Logical(self.connective, self.first.within(X), self.second.within(X))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw one of each set, join them, and draw the sign."""
        random = validation.generator(random_state)
        pairs = (self.first * self.second).sample(n, random)
        signs = random.choice([1, -1], size=n).tolist()
        return tuple(Formula(self.connective, pair.parts, sign) for pair, sign in zip(pairs, signs, strict=True))

    def __repr__(self) -> str:
        return f"{self.connective.word}_({self.first!r}, {self.second!r})"


@final
@dataclass(frozen=True)
class Connection:
    """The AND (`and_`) or OR (`or_`) of two neutral sets of hypotheses, as a kernel.

    LL08 Theorem 16: the set of q min(h_1, h_2), or of q max(h_1, h_2), with q = -1 or +1 and r = sqrt(2) r_1 r_2, has
    the kernel (K_1 + Delta_1)(K_2 + Delta_2). It is neutral itself, with total mass 4 Delta_1 Delta_2.

    Parameters
    ----------
    connective : Connective
        AND or OR.

    Examples
    --------
    >>> from cvxens.kernels import Stump, and_, or_
    >>> left, right = Stump(low=(0.0,), high=(2.0,)), Stump(low=(-1.0,), high=(3.0,))
    >>> both = and_(left, right)
    >>> both([[0.0]], [[0.0], [1.0]]), both.total_mass()
    (array([[8., 3.]]), 8.0)
    >>> print(both.sample(1, random_state=0)[0])
    not ((x[0] >= 0.539573 -> +1, else -1) and (x[0] >= 2.25308 -> +1, else -1))
    """

    connective: Connective
    source = "LL08 Theorem 16"

    def __call__(self, first: Kernel, second: Kernel) -> Logical:
        """Join two neutral sets.

        Raises
        ------
        InvalidInput
            If one of them is not neutral.
        """
        return Logical(self.connective, first, second)


and_ = Connection(AND)
or_ = Connection(OR)
