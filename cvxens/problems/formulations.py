"""The formulations of the literature: each a loss and a penalty, and, with a map and letters, a problem on data.

A function such as `svm` is a formulation without data, for column generation; a class such as `SVMPrimal` is the same
on hypotheses or a kernel:

=========================  ===================  ===================  ==================  ==================
class                      formulation          loss                 penalty             map
=========================  ===================  ===================  ==================  ==================
`SVMPrimal`                `svm`                `Hinge`              `SquaredL2`         columns
`SVMDual`                  `svm`, sides swapped `Hinge`              `SquaredL2`         kernel
`HardMarginBoosting`       `hard_margin`        `HardMargin`         `L1`                columns, w >= 0
`SoftMarginBoosting`       `soft_margin`        `Hinge`              `L1`                columns, w >= 0
`InfiniteSVM`              `svm`                `Hinge`              `SquaredL2`         cells
`LPBoost`                  `lpboost`            `SoftMinimumMargin`  `Simplex`           columns, a >= 0
`RhoSVM`                   `minimum_margin`     `SoftMinimumMargin`  `SquaredL2`         kernel
`RegularizedExpLoss`       `exponential`        `Exponential`        `SquaredL2`         kernel
`SLSSVM`                   `simplex_least...`   `SquaredError`       `SquaredL2`         columns
`RegularizedLeastSquares`  `least_squares`      `SquaredError`       `SquaredL2`         kernel
=========================  ===================  ===================  ==================  ==================

`EntropyProjection` alone, of one multiplicative update of TK07, has another shape.

Without a class of their own, with an l1 penalty: `least_absolute_deviations`, `quantile`, `epsilon_insensitive`,
`huber` and `poisson` on targets; `cox` on survival times; `huberized_hinge` and `worst_share` on labels; `one_class`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from inspect import cleandoc
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, final, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from cvxens import validation
from cvxens.certificates import Certificate, name_residuals
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.problems.duality import imbalance
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import (
    CVaR,
    EntropicMinimumMargin,
    Exponential,
    HardMargin,
    Hinge,
    HuberizedHinge,
    MulticlassExponential,
    SoftMinimumMargin,
    SquaredError,
    adds_up,
    excess,
)
from cvxens.problems.maps import ColumnsLike, KernelMap, check_kernel, doubly_centred, factor
from cvxens.problems.modelling import Model, cp
from cvxens.problems.penalties import L1, Simplex, SquaredL2
from cvxens.problems.problem import Claimed, Evaluated, Parameter, Problem, Products
from cvxens.problems.survival_losses import CoxPartialLikelihood
from cvxens.problems.target_losses import AbsoluteError, Deviance, EpsilonInsensitive, HuberError, Pinball
from cvxens.rounding import EPSILON, dot, product, sum_error
from cvxens.types import Array, Given, Indices, Point, Value

P = TypeVar("P", bound=Problem)

SMALL = 1e-4
"""Relative changes below which four terms of the series of (1 + r) ln(1 + r) - r are exact to 1e-17 of it."""

Prices: TypeAlias = float | Array
"""A number above 0, or one for every sample; a cvxpy parameter where a problem is modelled."""


def entry(kind: type[P]) -> type[P]:
    """Complete the docstring of a problem of the literature: by its equation, its source and what its letters are."""
    summary, _, rest = cleandoc(kind.__doc__ or "").partition("\n")
    kind.__doc__ = f"{summary}\n\n``{kind.equation}`` ({kind.source}).\n{rest}"
    return documented(kind)


def _check(name: str, value: Any, check: Callable[[str, Any], Any] = validation.prices) -> Any:
    """Check a number; a parameter of cvxpy is checked when it is given a value."""
    return value if hasattr(value, "is_dcp") else check(name, value)


def svm(C: Prices) -> Formulation:
    """LL08 P1, the problem of CGEns: hinge loss, 1/2 w'w, an intercept."""
    return Formulation(Hinge(_check("C", C)), SquaredL2(), intercept=True)


def hard_margin() -> Formulation:
    """LL08 P3: margins of at least 1, sum w, w >= 0."""
    return Formulation(HardMargin(), L1(), nonnegative=True)


def soft_margin(C: Prices) -> Formulation:
    """LL08 P4: hinge loss, sum w, w >= 0."""
    return Formulation(Hinge(_check("C", C)), L1(), nonnegative=True)


def lpboost(D: Prices) -> Formulation:
    """DBS02: the soft minimum margin, sum a = 1, a >= 0; a maximum. The prices D add up to at least 1."""
    return Formulation(SoftMinimumMargin(_check_caps(D)), Simplex(), nonnegative=True, maximise=True)


def erlpboost(D: Prices, eta: float) -> Formulation:
    """Warmuth, Glocer & Vishwanathan (2008): LPBoost whose sample weights pay 1/eta of their relative entropy."""
    loss = EntropicMinimumMargin(_check_caps(D), validation.positive("eta", eta))
    return Formulation(loss, Simplex(), nonnegative=True, maximise=True)


def _check_caps(D: Prices) -> Prices:
    """Prices of samples, which must add up to 1; a number for all is checked once it is known how many there are."""
    prices: Prices = _check("D", D)
    if isinstance(prices, np.ndarray) and not adds_up(prices):
        found = f"found prices that add up to {float(prices.sum())!r}"
        raise InvalidInput("D", found, "give prices that add up to at least 1, or the problem is unbounded")
    return prices


def minimum_margin() -> Formulation:
    """TK07 (1), halved: the largest minimum margin less 1/2 |w|^2; a maximum."""
    return Formulation(SoftMinimumMargin(1.0), SquaredL2(), maximise=True)


def exponential(n_samples: int, lam: float) -> Formulation:
    """KIE06 (14): the mean exponential loss, lam w'w; over columns the kernel is K = H H'."""
    return Formulation(Exponential(1 / n_samples), SquaredL2(2 * _check("lam", lam, validation.positive)))


def least_squares(y: Array, gamma: float) -> Formulation:
    """TT06 (2): the mean squared error, gamma |w|^2, without an intercept."""
    penalty = SquaredL2(2 * _check("gamma", gamma, validation.positive))
    return Formulation(SquaredError(2 / len(y), y[:, None]), penalty, outputs=1)


def simplex_least_squares(L: ArrayLike, C: Prices) -> Formulation:
    """SL (10), the problem of CGEns-SLS: C/2 |L - H W - 1 b'|^2 and 1/2 |W|^2, simplex codes L of the labels."""
    codes, prices = check_codes(L), validation.prices("C", C)
    validation.same_length("C", np.atleast_1d(prices), len(codes) if np.ndim(prices) else None)
    return Formulation(SquaredError(prices, codes), SquaredL2(), intercept=True, outputs=codes.shape[1])


def multiboost(C: Prices, labels: Indices) -> Formulation:
    """MultiBoost (Shen & Hao 2011): C sum_i sum_{k != y_i} exp(F_k - F_{y_i}) and sum |W|; labels from 0."""
    classes = np.unique(labels)
    if np.ndim(labels) != 1 or len(classes) < 2 or not np.array_equal(classes, np.arange(len(classes))):
        raise InvalidInput("labels", f"found {classes[:5]}", "give whole numbers from 0, two or more, none left out")
    loss = MulticlassExponential(validation.prices("C", C), np.asarray(labels, np.intp), len(classes))
    return Formulation(loss, L1(), outputs=len(classes))


def least_absolute_deviations(t: Any, C: Prices = 1.0) -> Formulation:
    """Regression by the median: C sum |t_i - f_i| and sum |w|, with an intercept; a linear program."""
    return Formulation(AbsoluteError(t, C), L1(), intercept=True)


def quantile(t: Any, q: float, C: Prices = 1.0) -> Formulation:
    """Regression by the quantile of level q (Koenker & Bassett 1978): the pinball loss, sum |w|, an intercept."""
    return Formulation(Pinball(t, q, C), L1(), intercept=True)


def epsilon_insensitive(t: Any, epsilon: float, C: Prices = 1.0) -> Formulation:
    """Support vector regression with sum |w|: C sum max(0, |t_i - f_i| - epsilon), an intercept; a linear program."""
    return Formulation(EpsilonInsensitive(t, epsilon, C), L1(), intercept=True)


def huber(t: Any, delta: float = 1.0, C: Prices = 1.0) -> Formulation:
    """Robust regression (Huber 1964): squares up to deviations of delta, linear beyond; sum |w|, an intercept."""
    return Formulation(HuberError(t, delta, C), L1(), intercept=True)


def poisson(t: Any, C: Prices = 1.0) -> Formulation:
    """Counts t of means exp(f_i): C times half their deviance, and sum |w|, with an intercept."""
    return Formulation(Deviance(t, C=C), L1(), intercept=True)


def huberized_hinge(C: Prices, d: float = 1.0) -> Formulation:
    """The hinge rounded off over a width d (Rosset & Zhu 2007), sum |w|, an intercept."""
    return Formulation(HuberizedHinge(_check("C", C), validation.positive("d", d)), L1(), intercept=True)


def worst_share(nu: float, n_samples: int, C: float = 1.0) -> Formulation:
    """The mean hinge loss of the worst share nu of the samples (CVaR) times C, sum |w|, an intercept."""
    if not 0 < validation.number("nu", nu) <= 1:
        raise InvalidInput("nu", f"found {nu!r}", "give a share of the samples, above 0 and at most 1")
    return Formulation(CVaR(1 / (nu * n_samples), validation.positive("C", C)), L1(), intercept=True)


def one_class(D: Prices) -> Formulation:
    """Rätsch, Mika, Schölkopf & Müller (2002): LPBoost where all samples are of one class; a maximum.

    The soft minimum of the scores, sum a = 1, a >= 0. As the constant has the score 1 everywhere, it should not be
    among the hypotheses: ``Stumps(X, constant=False)``.
    """
    return Formulation(SoftMinimumMargin(_check_caps(D)), Simplex(), nonnegative=True, maximise=True, scores=True)


def cox(times: Any, events: ArrayLike, C: float = 1.0) -> Formulation:
    """Proportional hazards (Cox 1972): minus the partial log-likelihood, times C, and sum |w|.

    C sum over events i of ln(sum over j at risk of exp(f_j)) - f_i; those with ``times_j >= times_i`` are at risk, so
    that ties are as Breslow has them: `survival_losses.CoxPartialLikelihood`.

    Parameters
    ----------
    times : array-like of shape (n_samples,)
        Until the event, or until a sample was lost sight of.
    events : array-like of bool, shape (n_samples,)
        Whether there was an event; one at least.
    C : float
        Weight of the loss, above 0.
    """
    return Formulation(CoxPartialLikelihood(times, np.asarray(events, dtype=bool), C), L1())


class ColumnProblem(Problem):
    """A problem over the columns of H, whose price C, where it has one, may be set anew.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_columns), or Columns
        H[i, j] = h_j(x_i).
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    C : float
        Price of a unit of slack, above 0; may be set anew between solves.
    """

    def __init__(self, H: ColumnsLike, y: ArrayLike, C: float) -> None:
        self._place(H, validation.signs(y), C=C)


@final
@entry
class SVMPrimal(ColumnProblem):
    """The support vector machine over given hypotheses, by its weights.

    From any 0 <= u <= C with y'u = 0 the optimum is at least ``sum u - 1/2 |H'(y u)|^2``; at the optimum w_j is the
    edge of h_j for every j, so a hypothesis outside has edge 0.

    Examples
    --------
    >>> problem = SVMPrimal([[1.0], [-1.0]], [1.0, -1.0], C=1.0)
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (0.5, True)
    """

    equation = "min 1/2 w'w + C sum xi, y_i (H_i w + b) >= 1 - xi_i, xi >= 0"
    source = "LL08 P1, SL (1)"
    C = Parameter()
    formulate = staticmethod(svm)


@final
@entry
class InfiniteSVM(ColumnProblem):
    """The support vector machine over infinitely many hypotheses, by the finitely many cells that a sample tells apart.

    The unknowns are the square-integrable functions w of the hypotheses' parameters a. Hypotheses that agree on the
    sample form a cell; an optimal w is constant on each, so P5 is P1 over one column ``r sqrt(volume) h`` per cell
    (Theorem 8), and the weight reported for a cell is ``w(a) sqrt(volume)``. For all stumps
    (`cvxens.kernels.Stump().cells(X)`) it equals P2 with the stump kernel. By LL08 Theorem 7
    ``w(a) / r(a) = sum_i u_i y_i h_a(x_i)`` (the proof in print drops y_i; the theorem is right).

    Parameters
    ----------
    cells : array-like of shape (n_samples, n_cells), or Columns
        One column ``r sqrt(volume) h`` per cell.

    Examples
    --------
    >>> from cvxens.kernels import Stump
    >>> from cvxens.problems import SVMDual
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0]
    >>> infinite = InfiniteSVM(Stump().cells(X), y, C=1.0).solve()
    >>> dual = SVMDual(Stump()(X), y, C=1.0).solve()
    >>> abs(infinite.objective + dual.objective) < 1e-6
    True
    """

    equation = "min 1/2 int w^2 + C sum xi, y_i (int w r h(x_i) + b) >= 1 - xi_i, xi >= 0"
    source = "LL08 P5, Theorems 7 and 8"
    C = Parameter()
    formulate = staticmethod(svm)

    def __init__(self, cells: ColumnsLike, y: ArrayLike, C: float) -> None:
        super().__init__(cells, y, C)


@final
@entry
class HardMarginBoosting(ColumnProblem):
    """Boosting with hard margins: the smallest weights that give every sample a margin of 1.

    Here ``M = diag(y) H``. From any u >= 0 the optimum is at least ``sum u / max(1, max edge)``. Where the hypotheses
    do not separate the classes there is u >= 0, u != 0, without a positive edge, the Farkas vector, and `solve` raises
    `NotSeparable` with it.

    Examples
    --------
    >>> problem = HardMarginBoosting([[1.0], [-1.0]], [1.0, -1.0])
    >>> round(problem.solve().objective, 6)
    1.0
    >>> HardMarginBoosting([[1.0], [1.0]], [1.0, -1.0]).solve()
    Traceback (most recent call last):
    cvxens.errors.NotSeparable: ...
    """

    equation = "min sum w, M w >= 1, w >= 0"
    source = "LL08 P3"
    arrays = ("w", "u")
    formulate = staticmethod(hard_margin)

    def __init__(self, H: ColumnsLike, y: ArrayLike) -> None:
        self._place(H, validation.signs(y))


@final
@entry
class SoftMarginBoosting(ColumnProblem):
    """Boosting with soft margins: the smallest weights and slacks that give every sample a margin of 1.

    Here ``M = diag(y) H``. The dual is max sum u over the 0 <= u <= C with no edge above 1 (SL (5)), so from any 0 <= u
    <= C the optimum is at least ``sum u / max(1, max edge)``; a solution is optimal when no edge exceeds 1 (SL (6)). If
    w may be negative no |edge| may exceed 1; the equality that SL has there is an error. With U its optimal value and
    D = C/U, LPBoost has the optimal value 1/U (where w = 0 is not optimal).

    Examples
    --------
    >>> problem = SoftMarginBoosting([[1.0], [-1.0]], [1.0, -1.0], C=1.0)
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (1.0, True)
    """

    equation = "min sum w + C sum xi, M w >= 1 - xi, w >= 0, xi >= 0"
    source = "LL08 P4, SL (4)-(6)"
    arrays = ("w", "xi", "u")
    C = Parameter()
    formulate = staticmethod(soft_margin)


@final
@entry
class LPBoost(ColumnProblem):
    """LPBoost: the largest soft minimum of the margins that weights with the sum 1 can give.

    Here ``M = diag(y) H`` and ``D = 1/(nu n_samples)``. From any u with sum u = 1 and 0 <= u <= D the optimum is at
    most the largest edge. It is `SoftMarginBoosting` in other words: with U the optimal value of P4 and D = C/U the
    optimum is 1/U, and the weights of P4 are a/rho, unless P4 has w = 0.

    Parameters
    ----------
    D : float
        Price of a unit of slack, at least 1/n_samples; may be set anew between solves.

    Examples
    --------
    >>> problem = LPBoost([[1.0], [-1.0]], [1.0, -1.0], D=1.0)
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (1.0, True)
    """

    equation = "max rho - D sum xi, M a + xi >= rho, sum a = 1, a >= 0, xi >= 0"
    source = "DBS02"
    arrays = ("a", "rho", "xi", "u")
    letters = ("a", "b", "u")
    aliases: ClassVar[Mapping[str, str]] = {"w": "a"}
    D = Parameter()
    formulate = staticmethod(lpboost)

    def __init__(self, H: ColumnsLike, y: ArrayLike, D: float) -> None:
        self._place(H, validation.signs(y), D=D)

    def admit(self, name: str, value: Value) -> Value:
        """Refuse a D below 1/n_samples."""
        if not adds_up(np.full(len(self.y), value)):
            found = f"found {value!r} with {len(self.y)} samples"
            raise InvalidInput(name, found, "give at least 1/n_samples, or the problem is unbounded")
        return value

    @cached_property
    def dual_problem(self) -> cp.Problem:
        """The minimum over ``sum u = 1, 0 <= u <= D`` of the largest edge, as a ``cvxpy.Problem``."""
        u, largest = cp.Variable(len(self.y), nonneg=True, name="u"), cp.Variable(name="largest_edge")
        edges = self.H.edges(np.diag(self.y)) @ u
        return cp.Problem(cp.Minimize(largest), [edges <= largest, cp.sum(u) == 1, u <= self._model.parameters["D"]])


def simplex_codes(n_classes: int) -> Array:
    """Return one unit vector per class, with inner products of -1/(n_classes - 1) between classes.

    Parameters
    ----------
    n_classes : int
        At least 2.

    Returns
    -------
    ndarray of shape (n_classes, n_classes - 1)
        The corners of a regular simplex around the origin (SL section V, where R^m is an error for R^l, l = n_classes -
        1); for two classes +1 and -1.

    Examples
    --------
    >>> simplex_codes(2)
    array([[ 1.],
           [-1.]])
    """
    if n_classes < 2:
        raise InvalidInput("n_classes", f"found {n_classes}", "give at least two classes")
    # a lower triangular factor of the wanted inner products, column by column, as Cholesky's: |code_j| = 1 gives the
    # diagonal, and code_k'code_j = -1/(n_classes - 1) what is below it; the last class has no column of its own
    codes = np.zeros((n_classes, n_classes - 1))
    for j in range(n_classes - 1):
        codes[j, j] = np.sqrt(1 - codes[j] @ codes[j])
        codes[j + 1 :, j] = (-1 / (n_classes - 1) - codes[j + 1 :] @ codes[j]) / codes[j, j]
    return codes


@final
@entry
class SLSSVM(ColumnProblem):
    """The least-squares support vector machine for several classes, in simplex codes.

    L has a simplex-coded row per sample. Closed form: ``S = H H' + I/C``, ``U = S^-1 (L - 1 b')`` with 1'U = 0,
    ``W = H'U``. From any U with 1'U = 0 the optimum is at least ``<U, L> - 1/2 |H'U|^2 - |U|^2 / (2 C)``. Where samples
    have weights, C is C_i = C weight_i: I/C is the diagonal matrix of 1/C_i.

    Parameters
    ----------
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
    C = Parameter()

    def __init__(self, H: ColumnsLike, L: ArrayLike, C: float, sample_weight: Given = None) -> None:
        self.L = check_codes(L)
        n = len(self.L)
        self.weights = 1.0 if sample_weight is None else validation.weights("sample_weight", sample_weight, n)
        self._place(H, np.ones((n, 1)), C=C)

    def formulate(self, C: float) -> Formulation:
        """Return `simplex_least_squares`, with prices that may be 0."""
        return Formulation(SquaredError(C * self.weights, self.L), SquaredL2(), intercept=True, outputs=self.L.shape[1])


def check_codes(L: ArrayLike) -> Array:
    """Return `L` as (n_samples, n_classes - 1) if its rows are simplex codes of at least two classes."""
    L = validation.finite_array("L", L)
    L = L[:, None] if L.ndim == 1 else validation.finite_array("L", L, ndim=2)
    # rows that differ by rounding are one code
    codes = np.unique(np.round(L, 9), axis=0)
    wanted = np.full((len(codes), len(codes)), -1 / L.shape[1])
    np.fill_diagonal(wanted, 1.0)
    if len(codes) > L.shape[1] + 1 or np.abs(codes @ codes.T - wanted).max() > 1e-6:
        found = f"found {len(codes)} distinct rows that are not simplex codes"
        raise InvalidInput("L", found, "give simplex_codes(n_classes)[labels]")
    if len(codes) == 1:
        raise InvalidInput("L", "found one class only", "give samples of at least two classes")
    return L


class KernelProblem(Problem):
    """A problem whose weights are a function ``sum_i c_i phi(x_i)``, known by its coefficients on the sample.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, PSD.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    lam, gamma : float
        Weight of the penalty, above 0; may be set anew between solves.
    """

    linear_map: KernelMap

    @property
    def gram(self) -> KernelMap:
        """The kernel on the sample, as the map that it is."""
        return self.linear_map

    @property
    def K(self) -> Array:
        """The kernel matrix, shape (n_samples, n_samples)."""
        return self.gram.matrix()


@final
@entry
class RhoSVM(KernelProblem):
    """The support vector machine of the largest minimum margin, in the space of a kernel and without an intercept.

    Here ``f(x) = <w, phi(x)>``. The dual (2) is min u'K~u on the simplex, K~ = K o yy', and w = sum_i u_i y_i phi(x_i):
    u is TK07's alpha, half the multiplier of the margins. Any u on the simplex bounds the optimum from above by
    ``u'K~u``; scaled to its best length, its w reaches ``m^2 / u'K~u`` with ``m = min_i (K~u)_i``, where m > 0.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, PSD; a simplified stump or perceptron kernel needs its constant here.

    Examples
    --------
    >>> problem = RhoSVM(np.eye(2), [1.0, -1.0])
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (0.5, True)
    """

    equation = "max 2 rho - |w|^2, y_i f(x_i) >= rho"
    source = "TK07 (1)-(2)"
    arrays = ("c", "rho", "u")
    letters = ("c", "b", "u")
    aliases: ClassVar[Mapping[str, str]] = {"alpha": "u"}
    unit = 2.0
    formulate = staticmethod(minimum_margin)

    def __init__(self, K: ArrayLike, y: ArrayLike) -> None:
        signs = validation.signs(y)
        self._place(check_kernel(K, len(signs)), signs)

    @cached_property
    def dual_problem(self) -> cp.Problem:
        """The minimum of ``u'K~u`` on the simplex, as a ``cvxpy.Problem``."""
        u = cp.Variable(len(self.y), nonneg=True, name="u")
        quadratic = cp.sum_squares((self.y[:, None] * self.gram.factor.F).T @ u)
        return cp.Problem(cp.Minimize(quadratic), [cp.sum(u) == 1])

    def evaluate(self, point: Point, products: Products | None = None) -> Evaluated:
        """Project u onto the simplex; scale the weights to their best length; rho is their smallest margin."""
        products = Products(self.gram) if products is None else products
        u = self.loss.repair(point.get("u", self.y * point["c"] if "c" in point else np.ones(len(self.y))), None)
        c = self.y * u
        if "c" in point:
            c = point["c"] / max(float(np.abs(point["c"]).max()), np.finfo(float).tiny)
        f, _ = products.scores(c)
        smallest, norm = float((self.y * f).min()), self.gram.form(c, f)
        # at t w the objective 2 t m - t^2 |w|^2 is largest for t = m / |w|^2; where m <= 0, for t = 0
        c = c * (smallest / norm if min(smallest, norm) > 0 else 0.0)
        found = super().evaluate({"c": c, "u": u}, products)
        return replace(found, point={"c": c, "rho": np.asarray(found.z.min()), "u": found.point["u"]})

    def measure_rounding(self, at: Evaluated) -> float:
        """Count that a sum of u off 1 by d changes the dual value by 2 d of it."""
        missed = abs(dot(at.u, np.ones(len(self.y))) - 1) + EPSILON
        return super().measure_rounding(at) + 3 * missed * abs(at.dual)

    def residuals(self, point: Point, products: Products | None = None) -> dict[str, float]:
        """Evaluate relative to the margins, or where those vanish to 1e-3 of the largest kernel value."""
        products = Products(self.gram) if products is None else products
        c, u, rho = point["c"], point["u"], float(point["rho"])
        z, from_u = (self.y * products.scores(v)[0] for v in (c, self.y * u))
        # of inseparable classes rho and all margins are 0, up to the rounding of products of the size of K
        size = max(float(np.abs(z).max()), 1e-3 * float(np.abs(self.K).max()), np.finfo(float).tiny)
        return name_residuals(
            primal=excess(rho - z) / size,
            dual=max(excess(-u), abs(float(u.sum()) - 1)),
            slackness=float(np.abs(u * (z - rho)).max()) / size,
            stationarity=float(np.abs(z - from_u).max()) / size,
        )


@final
@entry
class RegularizedExpLoss(KernelProblem):
    """The exponential loss of AdaBoost, with a squared norm in the space of a kernel.

    From any u >= 0 the optimum is at least ``-sum(u ln(n u) - u) - (y u)'K(y u) / (4 lam)``; at the optimum
    ``u_i = exp(-y_i (K eta)_i) / n`` and ``eta = y u / (2 lam)``.

    Examples
    --------
    >>> problem = RegularizedExpLoss(np.eye(2), [1.0, -1.0], lam=0.1)
    >>> problem.certify(problem.solve()).holds(1e-6)
    True
    """

    equation = "min 1/n sum exp(-y_i (K eta)_i) + lam eta'K eta"
    source = "KIE06 (14)-(15)"
    arrays = ("eta", "u")
    letters = ("eta", "b", "u")
    lam = Parameter()

    def __init__(self, K: ArrayLike, y: ArrayLike, lam: float) -> None:
        signs = validation.signs(y)
        self._place(check_kernel(K, len(signs)), signs, lam=lam)

    def formulate(self, lam: float) -> Formulation:
        return exponential(len(self.y), lam)


@final
@entry
class RegularizedLeastSquares(KernelProblem):
    """Least squares with a squared norm in the space of a kernel.

    It is solved by ``(m gamma I + K) c = y``. From any s the optimum is at least
    ``s'y - m/4 |s|^2 - s'K s / (4 gamma)``; at the optimum ``s = 2 (y - K c) / m = 2 gamma c``.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Targets: labels -1 and +1, or real numbers.

    Examples
    --------
    >>> problem = RegularizedLeastSquares(np.eye(2), [1.0, -1.0], gamma=0.1)
    >>> problem.certify(problem.solve()).holds(1e-6)
    True
    """

    equation = "min 1/m |K c - y|^2 + gamma c'K c"
    source = "TT06 (2)-(5)"
    arrays = ("c", "s")
    letters = ("c", "b", "s")
    gamma = Parameter()

    def __init__(self, K: ArrayLike, y: ArrayLike, gamma: float) -> None:
        targets = validation.finite_array("y", y, ndim=1)
        self._place(check_kernel(K, len(targets)), targets, gamma=gamma)

    def formulate(self, gamma: float) -> Formulation:
        return least_squares(self.y, gamma)

    @property
    def signs(self) -> Array:
        """Ones: y are targets."""
        return np.ones((len(self.y), 1))

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {"c": self.y.shape, "s": self.y.shape}

    def measure_stationarity(self, w: Array, f: Array, edges: Array) -> float:
        """Return max |f - K s / (2 gamma)|, relative to the targets."""
        size = max(float(np.abs(self.y).max()), np.finfo(float).tiny)
        return float(np.abs(f - edges / (2 * self.gamma)).max()) / size


@runtime_checkable
class HasMultipliers(Protocol):
    """What has multipliers and an intercept, such as the solution of a solver of support vector machines."""

    @property
    def u(self) -> Array:
        """The multipliers of the margins, shape (n_samples,)."""

    @property
    def b(self) -> float:
        """The intercept of the scores."""


@entry
class SVMDual(KernelProblem):
    """The support vector machine with a kernel, by the multipliers of its margins.

    The scores are ``K (y u) + b``, with b the multiplier of y'u = 0. The bound from any b is minus the primal
    objective, ``-(1/2 u'(K o yy')u + C sum max(0, 1 - y (K (y u) + b)))``. As y'u = 0, the kernel need only be PSD on
    coefficients that sum to 0; cvxpy is handed the factored doubly centred kernel.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, symmetric and at least conditionally PSD.
    C : float or array-like of shape (n_samples,)
        Upper bound of the multipliers, above 0, or one for each; may be set anew between solves, in the same shape.

    Examples
    --------
    >>> problem = SVMDual([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (-0.5, True)
    """

    equation = "min 1/2 u'(K o yy')u - sum u, 0 <= u <= C, y'u = 0"
    source = "LL08 P2, SL (2)"
    letters = ("c", "b", "u")
    arrays = ("u", "b")
    C = Parameter(validation.prices)
    formulate = staticmethod(svm)

    def __init__(self, K: ArrayLike, y: ArrayLike, C: Any) -> None:
        signs = validation.signs(y)
        self._place(check_kernel(K, len(signs), conditionally=True), signs, C=C)

    def build(self) -> Model:
        """Model the quadratic program over the factored, centred kernel."""
        F = factor(doubly_centred(self.K)).F
        C = cp.Parameter(np.shape(self.C), pos=True, name="C")
        u = cp.Variable(len(self.y), name="u")
        balance = self.y @ u == 0
        quadratic = cp.sum_squares((self.y[:, None] * F).T @ u)
        problem = cp.Problem(cp.Minimize(0.5 * quadratic - cp.sum(u)), [u >= 0, u <= C, balance])

        def uncentre(variables: Point, duals: Point) -> Point:
            """Return the intercept that goes with K, from the one that goes with the centred kernel."""
            # as sum_i y_i u_i = 0, the centred kernel has the scores K (y u) less their mean
            return {"b": duals["b"] - self.gram.scores(self.y * variables["u"]).mean()}

        return Model(problem, {"u": u}, {"b": (balance, 1.0)}, {"C": C}, uncentre)

    def evaluate(self, point: Point, products: Products | None = None) -> Evaluated:
        """Clip u into [0, C] and balance the classes; the best intercept where none is given."""
        u = self.loss.repair(point.get("u", np.zeros(len(self.y))), self.y)
        return self.evaluate_multipliers(u, point.get("b"), products)

    def evaluate_multipliers(self, u: Array, b: Array | None = None, products: Products | None = None) -> Evaluated:
        """Evaluate both objectives at feasible multipliers, as they are, and b: P1 at w = sum_i u_i y_i phi(x_i).

        The two problems of LL08 have their sides swapped: the bound of P2 is minus the objective of P1 at w and b, or,
        by precise products, at both scaled to spare all slack. Plain ones are a solver's, which stops by its point.
        """
        products = Products(self.gram) if products is None else products
        v = self.y * u
        f, errors = products.scores(v)
        b = Hinge(self.C).best_intercept(f, self.y) if b is None else b
        if errors is None:
            # as y'u = 0, the gap v'f - sum u + sum C (1 - z)+ is a sum of terms of at least 0, C (1 - z)+ - u (1 - z)
            objective, slack = self.gram.form(v, f) / 2 - float(u.sum()), 1 - self.y * (f + b)
            gap = float((np.where(slack > 0, self.C - u, -u) * slack).sum())
            return Evaluated(self, {"u": u, "b": b}, objective, objective - gap, v, b, u, f, f, products=products)
        z, half_norm = self.y * (f + b), self.gram.form(v, f) / 2
        # P1 at t (w, b), t^2 |w|^2 / 2 + C sum max(0, 1 - t z), for t = 1 or where that spares all slack, in an order
        # in which nothing overflows that half_norm makes small
        scale = min((1.0, self.loss.rescaling(z)), key=lambda t: t * (t * half_norm) + self.loss.value(t * z))
        if scale != 1:
            products.add_scores(scale * v, scale * f, scale * errors + EPSILON * np.abs(scale * f))
        primal = self.evaluate_at(scale * v, scale * b, u, products)
        return replace(primal, point={"u": u, "b": b}, primal=-primal.dual, dual=-primal.primal)

    def value(self, point: Point) -> float:
        """Evaluate 1/2 u'(K o yy')u - sum u."""
        return -super().dual_value(point)

    def dual_value(self, point: Point) -> float:
        """Evaluate minus the objective of LL08 P1, at the best scale."""
        return self.evaluate_multipliers(point["u"], point["b"]).dual

    def residuals(self, point: Point, products: Products | None = None) -> dict[str, float]:
        """Evaluate box and balance, and complementary slackness; stationarity holds as w is built from u."""
        products, u = Products(self.gram) if products is None else products, point["u"]
        f, _ = products.scores(self.y * u)
        missed, z = max(self.loss.violation(u), imbalance(u, self.y)), self.y * (f + point["b"])
        return name_residuals(primal=missed, slackness=self.loss.slackness(z, u))

    def certify(self, solution: Claimed | HasMultipliers = None, /, **arrays: Given) -> Certificate:
        """Certify u and b, given by name, or by a record that has them; else as any problem does."""
        if isinstance(solution, HasMultipliers):
            solution = {"u": solution.u, "b": solution.b}
        return super().certify(solution, **arrays)


@final
class EntropyProjection(Problem):
    """min sum alpha ln(alpha / alpha_t) - alpha + alpha_t, sum alpha = 1, q'alpha = rho or <= rho; q = K~ alpha_t.

    TK07 (7) with equality and (10) with inequality, K~ = K o yy'. The dual is max over eta (eta >= 0 for <=) of
    ``-ln(Z(eta) exp(rho eta))`` with ``Z(eta) = sum alpha_t exp(-eta q)``, and ``alpha = alpha_t exp(-eta q) / Z``.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, symmetric.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    alpha_t : array-like of shape (n_samples,)
        The point to project: positive, with sum 1.
    rho : float
        The margin asked for, strictly between the smallest and the largest entry of q (above the smallest suffices for
        the inequality); may be set anew between solves.
    equality : bool
        Whether q'alpha = rho; else q'alpha <= rho.

    Examples
    --------
    >>> problem = EntropyProjection([[2.0, 0.0], [0.0, 1.0]], [1.0, -1.0], [0.5, 0.5], rho=0.7)
    >>> solution = problem.solve()
    >>> problem.certify(solution).holds(1e-5)
    True
    """

    equation = "min sum a ln(a/a_t) - a + a_t on the simplex, a'K~a_t = rho or <= rho"
    source = "TK07 (7), (10)"
    aliases: ClassVar[Mapping[str, str]] = {"u": "alpha"}
    size: ClassVar[float] = 0.0
    maximise = False
    rho = Parameter(validation.number)

    def __init__(self, K: ArrayLike, y: ArrayLike, alpha_t: ArrayLike, rho: float, *, equality: bool = True) -> None:
        self.y = validation.signs(y)
        self.K = validation.symmetric(K)
        validation.same_length("K", self.K, len(self.y))
        self.alpha_t = _check_interior(alpha_t, len(self.y))
        q, self._errors = product(self.K, self.y * self.alpha_t)
        self.q: Array = self.y * q
        self.equality = equality
        self.rho = rho

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {"alpha": self.y.shape, "eta": ()}

    def build(self) -> Model:
        """Model the projection with cvxpy's kl_div."""
        rho = cp.Parameter(name="rho")
        alpha, margin = cp.Variable(len(self.y), name="alpha"), cp.Variable(name="margin")
        link = self.q @ alpha == margin
        reached = margin == rho if self.equality else margin <= rho
        problem = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(alpha, self.alpha_t))), [cp.sum(alpha) == 1, link, reached])
        return Model(problem, {"alpha": alpha}, {"eta": (link, 1.0)}, {"rho": rho})

    def project(self, eta: float) -> Array:
        """Return ``alpha_t exp(-eta q) / Z(eta)``."""
        logs = np.log(self.alpha_t) - eta * self.q
        return np.exp(logs - logsumexp(logs))

    def evaluate(self, point: Point, products: Products | None = None) -> Evaluated:
        """Normalise alpha and mix in the vertex that meets the margin; make eta >= 0 for an inequality."""
        eta = point.get("eta", np.zeros(()))
        eta = eta if self.equality else np.maximum(eta, 0)
        alpha = np.maximum(point.get("alpha", self.project(float(eta))), 0)
        total = float(alpha.sum())
        if abs(total - 1) > len(alpha) * EPSILON:  # else it is what `value` makes of it
            alpha = alpha / total if total > 0 else self.alpha_t
        short = -self._measure_excess(alpha)
        if short < 0 or (self.equality and short > 0):
            vertex = int(self.q.argmin() if short < 0 else self.q.argmax())
            share = short / (self.q[vertex] - self.rho + short)
            alpha = (1 - share) * alpha + share * (np.arange(len(alpha)) == vertex)
        point = {"alpha": alpha, "eta": eta}
        return Evaluated(self, point, self.value(point), self.dual_value(point))

    def find_condition(self, at: Evaluated) -> str:
        """Return "": the dual value is a bound at any multiplier."""
        return ""

    def value(self, point: Point) -> float:
        """Evaluate the relative entropy, ``sum alpha_t ((1 + r) ln(1 + r) - r)`` with ``r = alpha / alpha_t - 1``."""
        return float((self.alpha_t * self._evaluate_divergences(self._find_changes(point["alpha"]))).sum())

    def dual_value(self, point: Point) -> float:
        """Evaluate ``-ln(Z(eta) exp(rho eta))``, by log1p where eta is small, as the value at eta = 0 is exactly 0."""
        exponents = -point["eta"] * (self.q - self.rho)
        if np.abs(exponents).max() < 1:
            return -float(np.log1p(self.alpha_t @ np.expm1(exponents)))
        return -float(logsumexp(exponents, b=self.alpha_t))

    def measure_rounding(self, at: Evaluated) -> float:
        """Bound the errors of the entropy's terms, of q, of the constraints of alpha and of the exponents.

        A margin that is missed by d is mended by moving the share ``t = d / |q_v - rho|`` of alpha to the vertex v of
        the smallest or the largest q; as the entropy is convex, that adds at most ``t (-ln alpha_t_v - value)``. The
        log of a sum of exponentials moves by no more than the largest change of an exponent.
        """
        alpha, eta, n = at.point["alpha"], abs(float(at.point["eta"])), len(self.y)
        r = self._find_changes(alpha)
        # entropy terms alpha_t ((1 + r) ln(1 + r) - r), and r itself where it is not small, as 1 + r is rounded
        terms = self.alpha_t * (self._evaluate_divergences(r) + np.where(np.abs(r) < SMALL, 0.0, np.abs(r)))
        # q'alpha = rho is missed by at most off + error; of q'alpha <= rho only what is above counts
        off, error = self._measure_excess(alpha), float(alpha @ self._errors) + EPSILON * abs(self.rho)
        above, below = max(off + error, 0.0), max(error - off, 0.0) if self.equality else 0.0
        mended, value = 0.0, at.primal
        for missed, v in ((above, int(self.q.argmin())), (below, int(self.q.argmax()))):
            share = min(missed / abs(float(self.q[v]) - self.rho), 1.0)
            mended = max(mended, share * max(-float(np.log(self.alpha_t[v])) - value, 0.0))
        # primal: n + 4 roundings of the terms; dual: -ln sum alpha_t exp(-eta (q - rho)), each exponent rounded 4 times
        of_primal = sum_error(n + 4, float(terms.sum())) + mended
        exponents = eta * np.abs(self.q - self.rho)
        largest = float(exponents.max())
        of_sum = sum_error(n + 4, float(self.alpha_t @ np.expm1(np.minimum(exponents, 1.0))))
        return of_primal + of_sum + 4 * EPSILON * largest + eta * float(self._errors.max())

    def _measure_excess(self, alpha: Array) -> float:
        """Evaluate ``q'alpha - rho``, with alpha divided by its sum, which is 1 but for rounding."""
        ones = np.ones(len(alpha))
        return dot(np.concatenate([self.q, -self.rho * ones]), np.concatenate([alpha, alpha])) / dot(alpha, ones)

    def _find_changes(self, alpha: Array) -> Array:
        """Evaluate ``alpha / alpha_t - 1`` without cancellation, both divided by their sums: 1 but for rounding."""
        r, ones = (alpha - self.alpha_t) / self.alpha_t, np.ones(len(alpha))
        return r + dot(self.alpha_t - alpha, ones) / dot(alpha, ones) * (1 + r)

    @staticmethod
    def _evaluate_divergences(r: Array) -> Array:
        """Evaluate ``(1 + r) ln(1 + r) - r`` for r >= -1, by its series where r is small."""
        t = np.clip(r, -SMALL, SMALL)
        series = t * t * (0.5 - t * (1 / 6 - t * (1 / 12 - t / 20)))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(r > -1, (1 + r) * np.log1p(r), 0.0) - r
        return np.where(np.abs(r) < SMALL, series, logs)

    def residuals(self, point: Point, products: Products | None = None) -> dict[str, float]:
        """Evaluate relative to the largest of |q| and |rho|, and to the largest entry of the projection."""
        alpha, eta = point["alpha"], float(point["eta"])
        size = max(float(np.abs(self.q).max()), abs(self.rho))
        excess, projected = float(self.q @ alpha) - self.rho, self.project(eta)
        missed = abs(excess) if self.equality else max(excess, 0.0)
        return name_residuals(
            primal=max(float(-alpha.min()), abs(float(alpha.sum()) - 1), missed / size, 0.0),
            dual=0.0 if self.equality else max(0.0, -eta * size),
            slackness=0.0 if self.equality else abs(eta * excess),
            stationarity=float(np.abs(alpha - projected).max() / projected.max()),
        )

    def infeasibility(self) -> None:
        """Prove nothing: `admit` leaves no projection without a feasible point."""

    def admit(self, name: str, value: Value) -> Value:
        """Refuse a rho that no positive alpha reaches."""
        low, high = float(self.q.min()), float(self.q.max()) if self.equality else np.inf
        if not low < value < high:
            raise InvalidInput(name, f"found {value:.6g}", f"give a number strictly between {low:.6g} and {high:.6g}")
        return value


def _check_interior(alpha_t: ArrayLike, n_samples: int) -> Array:
    alpha_t = validation.finite_array("alpha_t", alpha_t, ndim=1)
    validation.same_length("alpha_t", alpha_t, n_samples)
    if alpha_t.min() <= 0 or abs(alpha_t.sum() - 1) > 1e-9:
        found = f"found a smallest entry of {alpha_t.min():.3g} and a sum of {alpha_t.sum():.9g}"
        raise InvalidInput("alpha_t", found, "give positive entries with sum 1")
    return alpha_t / alpha_t.sum()
