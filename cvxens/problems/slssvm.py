"""SL: the simplex least-squares support vector machine for several classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.losses import SquaredError
from cvxens.problems.maps import ColumnsLike, as_columns
from cvxens.problems.margin_problem import MarginProblem
from cvxens.problems.penalties import SquaredL2
from cvxens.problems.problem import Swept
from cvxens.types import Array


def simplex_codes(n_classes: int) -> Array:
    """Return one unit vector per class, with inner products of -1/(n_classes - 1) between classes.

    Parameters
    ----------
    n_classes : int
        At least 2.

    Returns
    -------
    ndarray of shape (n_classes, n_classes - 1)
        The corners of a regular simplex around the origin; for two classes +1 and -1.

    Examples
    --------
    >>> simplex_codes(2)
    array([[ 1.],
           [-1.]])
    """
    if n_classes < 2:
        raise InvalidInput("n_classes", f"found {n_classes}", "give at least two classes")
    codes = np.zeros((n_classes, n_classes - 1))
    for j in range(n_classes - 1):
        codes[j, j] = np.sqrt(1 - codes[j] @ codes[j])
        codes[j + 1 :, j] = (-1 / (n_classes - 1) - codes[j + 1 :] @ codes[j]) / codes[j, j]
    return codes


@final
class SLSSVM(MarginProblem):
    """min 1/2 |W|^2 + C/2 |L - H W - 1 b'|^2.

    SL (10)-(11), with a simplex-coded row of L per sample. Closed form: ``S = H H' + I/C``, ``U = S^-1 (L - 1 b')``
    with 1'U = 0, ``W = H'U``. From any U with 1'U = 0 the optimum is at least ``<U, L> - 1/2 |H'U|^2 - |U|^2 / (2 C)``.
    Where samples have weights, C is C_i = C weight_i: I/C is the diagonal matrix of 1/C_i.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_columns), or Columns
        H[i, j] = h_j(x_i).
    L : array-like of shape (n_samples, n_classes - 1)
        The code of each sample's class, ``simplex_codes(n_classes)[labels]``.
    C : float
        Weight of the squared error, above 0; may be set anew between solves.
    sample_weight : array-like of shape (n_samples,), optional
        Factors on the price of each sample, 0 or above; a sample of weight 0 plays no part. A weight of 2 is as good as
        having the sample twice.

    Examples
    --------
    >>> L = simplex_codes(3)[[0, 1, 2, 0]]
    >>> problem = SLSSVM(np.eye(4)[:, :3], L, C=1.0)
    >>> problem.certify(problem.solve()).holds(1e-6)
    True
    """

    equation = "min 1/2 |W|^2 + C/2 |L - H W - 1 b'|^2"
    source = "SL (10)-(11)"
    arrays = ("W", "b", "U")
    letters = ("W", "b", "U")
    aliases: ClassVar[Mapping[str, str]] = {"w": "W", "u": "U"}
    intercept = True
    C = Swept()

    def __init__(self, H: ColumnsLike, L: Any, C: float, sample_weight: Any = None) -> None:
        self.L = checked_codes(L)
        self.weights = checked_weights(sample_weight, len(self.L))
        self.H = as_columns(H, len(self.L))
        self.y = np.ones((len(self.L), 1))
        self.outputs = self.L.shape[1:]
        self.C = C

    def loss(self, C: Any) -> SquaredError:
        """The squared error of the scores."""
        return SquaredError(C * self.weights, self.L)

    def penalty(self) -> SquaredL2:
        """1/2 |W|^2."""
        return SquaredL2()


def checked_weights(sample_weight: Any, n_samples: int) -> float | Array:
    """Return one finite number of at least 0 per sample, not all of them 0; None stands for 1."""
    if sample_weight is None:
        return 1.0
    weights = validation.finite_array("sample_weight", sample_weight, ndim=1)
    validation.same_length("sample_weight", weights, n_samples)
    if weights.min() < 0 or weights.max() <= 0:
        raise InvalidInput(
            "sample_weight", f"found {weights.min():g} to {weights.max():g}", "give weights of 0 or above, not all 0"
        )
    return weights


def checked_codes(L: Any) -> Array:
    """Return `L` as (n_samples, n_classes - 1) if its rows are simplex codes of at least two classes."""
    L = validation.finite_array("L", L)
    L = L[:, None] if L.ndim == 1 else validation.finite_array("L", L, ndim=2)
    codes = np.unique(np.round(L, 9), axis=0)
    wanted = np.full((len(codes), len(codes)), -1 / L.shape[1])
    np.fill_diagonal(wanted, 1.0)
    if len(codes) > L.shape[1] + 1 or np.abs(codes @ codes.T - wanted).max() > 1e-6:
        raise InvalidInput(
            "L",
            f"found {len(codes)} distinct rows that are not simplex codes",
            "give simplex_codes(n_classes)[labels]",
        )
    if len(codes) == 1:
        raise InvalidInput("L", "found one class only", "give samples of at least two classes")
    return L
