"""Small samples, all their stumps as a dense array, oracles over an array, and optima over all columns at once."""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
import variants
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.svm import SVC

from cvxens.colgen import Column, Priced, column_generation
from cvxens.errors import CvxensError, InvalidInput
from cvxens.hypotheses import Stump


def noisy(n_samples: int = 24, n_features: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A sample of integer features, with ties, and labels that depend on them and on noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n_samples, n_features)).astype(float)
    y = np.where(X.sum(axis=1) + 5 * rng.normal(size=n_samples) > 4 * n_features, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


@st.composite
def degenerate(draw, most_samples: int = 9, most_values: int = 5):
    """Few samples, features with ties, constants and copies, rows that repeat; labels of both classes."""
    n, d = draw(st.integers(2, most_samples)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, draw(st.integers(2, most_values)), (n, d)).astype(float)
    X[0, 0], X[1, 0] = 0.0, 1.0
    y = rng.choice([-1.0, 1.0], n)
    y[rng.permutation(n)[:2]] = 1.0, -1.0
    return np.hstack([X, X[:, :1], np.full((n, 1), 3.0)]), y


def as_columns(H: np.ndarray) -> list[Column]:
    """The columns of an array as an oracle would find them, of hypotheses that know their values alone."""
    return [Column(lambda _, h=h: h, None, 0.0) for h in H.T]


def interrupted(*_):
    """What is cut off by Ctrl-C."""
    raise KeyboardInterrupt


def list_stumps(X: np.ndarray) -> Iterator[Stump]:
    """Every middle stump of sign +1, feature by feature, thresholds ascending."""
    for j in range(X.shape[1]):
        for low, high in pairwise(np.unique(X[:, j]).astype(np.float64).tolist()):
            middle = low / 2 + high / 2
            yield Stump(j, middle if middle > low else high, 1)


def all_stumps(X: np.ndarray) -> np.ndarray:
    """Every middle stump of sign +1 and the constant, (n_samples, n_stumps)."""
    return variants.list_stumps(X)[0]


def dichotomies(X: np.ndarray, directions) -> np.ndarray:
    """Every split of the sample along each of the directions, between each two distinct values, as columns."""
    columns = []
    for theta in np.asarray(directions).tolist():
        projected = np.array([sum(t * x for t, x in zip(theta, row, strict=True)) for row in X.tolist()])
        columns += [np.where(projected >= value, 1.0, -1.0) for value in np.unique(projected)[1:]]
    return np.array(columns).reshape(-1, len(X)).T


@dataclass(frozen=True)
class Tabulated:
    """Column `index` of a table, times `sign`."""

    index: int
    sign: float

    def __call__(self, X):
        return self.sign * X[:, self.index]


class PlainTable:
    """The columns of H and their negations, exact, but it heeds no `exclude`."""

    negations = True

    def __init__(self, H: np.ndarray, count: int = 3, *, bounded: bool = True) -> None:
        self.H, self.sample, self.count, self.bounded = H, H, count, bounded

    def has(self, hypothesis):
        return isinstance(hypothesis, Tabulated)

    def price(self, s, exclude=()):
        return self._priced(s, None)

    def _priced(self, s, closed):
        edges = (self.H.T @ s).reshape(self.H.shape[1], -1)
        best = edges[np.arange(len(edges)), np.abs(edges).argmax(axis=1)]
        order = [j for j in np.argsort(-np.abs(best), kind="stable") if j not in (closed or ())][: self.count]
        outside = np.inf if closed is None else max((abs(best[j]) for j in order), default=0.0)
        columns = [Column(Tabulated(int(j), 1.0 if best[j] >= 0 else -1.0), self.H, abs(best[j])) for j in order]
        return Priced(columns, np.abs(edges).max(), (edges**2).sum(), outside) if self.bounded else Priced(columns)


class Table(PlainTable):
    """The same, leaving out what is excluded, in either sign."""

    def price(self, s, exclude=()):
        return self._priced(s, {h.index for h in exclude})


def assert_optimum(run, optimum, *, rel=1e-6, gap=1e-6):
    """Return a run, which is proven to a relative gap and has the objective that another road has found."""
    assert run.certificate.holds(gap)
    assert run.certificate.primal == pytest.approx(optimum, rel=rel)
    return run


def assert_over_all(formulation, oracle, y=None, *, H=None, rel=1e-6, gap=1e-6, **options):
    """Return a run that ends, proven, at the optimum of the formulation as it is stated over all columns at once.

    These are H, or all stumps and, for w >= 0, their negations.
    """
    run = column_generation(formulation, oracle, y, **options)
    names = ("intercept", "nonnegative", "constraints")
    stated = {name: getattr(formulation, name) for name in names} | {"tol": 1e-8}
    outputs = () if formulation.outputs is None else (formulation.outputs,)
    signs, both = 1.0 if y is None else y, H is None and formulation.nonnegative
    H = all_stumps(oracle.sample) if H is None else H
    optimum = solve_all(H, signs, formulation.loss, formulation.penalty, outputs=outputs, both=both, **stated)
    return assert_optimum(run, optimum, rel=rel, gap=gap)


def solve_all(
    H: np.ndarray,
    y,
    loss,
    penalty,
    *,
    intercept=False,
    nonnegative=False,
    both=False,
    constraints=None,
    outputs=(),
    tol=1e-9,
) -> float:
    """The optimum over all columns of H at once, and their negations if `both`; terms are ours, or stated in cvxpy."""
    stated = SimpleNamespace(
        outputs=outputs[0] if outputs else None, nonnegative=nonnegative, intercept=intercept, constraints=constraints
    )
    problem, *_ = variants.enumerate_all(stated, np.hstack([H, -H]) if both else H, y, loss, penalty)
    return solve_to_the_end(problem, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)


def solve_to_the_end(problem, **options) -> float:
    """The optimum to the solver's full digits: where its first way ends short of them, another one does not."""
    optimum = np.nan
    for way in ({}, {"max_step_fraction": 0.9}, {"static_regularization_constant": 1e-10}, {"max_step_fraction": 0.7}):
        with warnings.catch_warnings(), suppress(cp.SolverError):
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            optimum = problem.solve(solver="CLARABEL", **options, **way)
        if problem.status == cp.OPTIMAL:
            break
    return optimum


def linear_program(
    M: np.ndarray,
    y: np.ndarray,
    *,
    slack: float | None,
    weight: float = 1.0,
    intercept: bool = False,
    one_sided: bool = False,
) -> float:
    """Min weight sum |w| + slack sum xi, y (M w + b) >= 1 - xi, over all columns and their negations, by HiGHS.

    Where it is `one_sided`, w >= 0 on the columns themselves.
    """
    M = M if one_sided else np.hstack([M, -M])
    n, m = M.shape
    signed, free = M * y[:, None], np.outer(y, [1.0, -1.0])[:, : 2 * intercept]
    xi = np.eye(n)[:, : 0 if slack is None else n]
    cost = np.r_[np.full(m, weight), np.zeros(free.shape[1]), np.full(xi.shape[1], slack or 0.0)]
    answer = linprog(cost, A_ub=-np.hstack([signed, free, xi]), b_ub=-np.ones(n), method="highs")
    return answer.fun if answer.status == 0 else np.inf


def soft_minimum_program(
    M: np.ndarray, y: np.ndarray, D: float, *, intercept: bool = False, one_sided: bool = False
) -> float:
    """Max rho - D sum xi, y (M a + b) >= rho - xi, sum |a| = 1, over all columns and their negations, by HiGHS."""
    M = M if one_sided else np.hstack([M, -M])
    n, m = M.shape
    signed, free = M * y[:, None], np.outer(y, [1.0, -1.0])[:, : 2 * intercept]
    k = free.shape[1]
    answer = linprog(
        np.r_[np.zeros(m + k), np.full(n, D), -1.0],
        A_ub=np.hstack([-signed, -free, -np.eye(n), np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=[np.r_[np.ones(m), np.zeros(k + n + 1)]],
        b_eq=[1.0],
        bounds=[(0, None)] * (m + k + n) + [(None, None)],
        method="highs",
    )
    assert answer.status == 0
    return -answer.fun


def solve_by_libsvm(K: np.ndarray, y: np.ndarray, C: float) -> float:
    """The optimum of LL08 P2 over a kernel matrix, which need only be PSD on coefficients that add up to 0."""
    machine = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K - K.min(), y)
    v = np.zeros(len(y))
    v[machine.support_] = machine.dual_coef_[0]
    return v @ K @ v / 2 - np.abs(v).sum()


def refused(call, argument=None, found="", remedy="") -> InvalidInput:
    """The error of a call that is refused: it names the argument, what was found and a remedy, in one sentence."""
    with pytest.raises(InvalidInput) as caught:
        call()
    error = caught.value
    assert isinstance(error, CvxensError)
    assert isinstance(error, ValueError)
    assert str(error) == f"{error.argument}: {error.found}; {error.remedy}"
    assert error.found.startswith("found")
    assert argument in {None, error.argument}
    assert found in error.found
    assert remedy in error.remedy
    assert error.remedy.strip()
    return error
