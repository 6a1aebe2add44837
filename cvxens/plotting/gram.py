"""A kernel matrix with the samples of a class side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.plotting.display import Display
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class GramDisplay(Display):
    """A Gram matrix ordered by class: blocks on the diagonal, where a kernel sees what the labels say.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Symmetric.
    y : array-like of shape (n_samples,)
        Labels of any type; within a class the samples stay in their order.

    Attributes
    ----------
    K_ : ndarray of shape (n_samples, n_samples)
        The ordered matrix.
    classes_ : ndarray
        The labels in the order of the blocks.
    counts_ : ndarray
        The sizes of the blocks.

    Raises
    ------
    InvalidInput
        K is not a symmetric matrix, or there is not one label per row.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = GramDisplay([[2.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 0.0, 2.0]], ["b", "a", "b"])
    >>> display.plot(Figure().subplots()).K_
    array([[2., 0., 0.],
           [0., 2., 1.],
           [0., 1., 2.]])
    """

    K: Any
    y: Any
    K_: Array = field(init=False, repr=False)
    classes_: NDArray[Any] = field(init=False, repr=False)
    counts_: NDArray[np.intp] = field(init=False, repr=False)

    size = (5.0, 4.2)

    def __post_init__(self) -> None:
        K = validation.symmetric(self.K)
        y = validation.labels("y", self.y, len(K))
        self.classes_, codes, self.counts_ = np.unique(y, return_inverse=True, return_counts=True)
        order = np.argsort(codes, kind="stable")
        self.K_ = K[np.ix_(order, order)]

    @classmethod
    def from_kernel(cls, kernel: Callable[[Any], Any], X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Evaluate a kernel, one of `cvxens.kernels` or any callable that maps X to its Gram matrix, and draw it."""
        if isinstance(kernel, type) or not callable(kernel):
            raise InvalidInput("kernel", f"found {kernel!r:.100}", "give a function from X to its Gram matrix")
        return cls(kernel(X), y).plot(ax)

    def _draw(self, ax: Axes) -> None:
        image = ax.imshow(self.K_, cmap="viridis")
        ends = np.cumsum(self.counts_)
        for end in ends[:-1].tolist():
            ax.axhline(end - 0.5, color="white", linewidth=1.0)
            ax.axvline(end - 0.5, color="white", linewidth=1.0)
        middles = ends - self.counts_ / 2 - 0.5
        ax.set_xticks(middles, [str(label) for label in self.classes_])
        ax.set_yticks(middles, [str(label) for label in self.classes_])
        ax.tick_params(length=0)
        ax.set(xlabel="class", ylabel="class")
        ax.figure.colorbar(image, cax=ax.inset_axes((1.04, 0.0, 0.05, 1.0)), label="K(x, x')")
