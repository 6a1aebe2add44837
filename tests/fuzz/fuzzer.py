"""A differential fuzzer: random small problems over every formulation, fast against reference, each with its proof.

``python tests/fuzz/fuzzer.py COUNT [FIRST]`` tells of every disagreement and the number that draws it again.
"""

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import InteriorPointMaster, fastest_master
from cvxens.colgen.oracles import Pool
from cvxens.crosscheck.cases import SOLVERS
from cvxens.errors import NotSeparable, SolverFailed, SolverFallbackWarning
from cvxens.kernels import Stump
from cvxens.problems import (
    SLSSVM,
    EntropyProjection,
    HardMarginBoosting,
    InfiniteSVM,
    LPBoost,
    Problem,
    RegularizedExpLoss,
    RegularizedLeastSquares,
    RhoSVM,
    Signed,
    SoftMarginBoosting,
    SVMDual,
    SVMPrimal,
    simplex_codes,
)
from cvxens.problems.losses import Exponential, HardMargin, Hinge, Logistic, SquaredHinge
from cvxens.problems.maps import DenseColumns
from cvxens.problems.penalties import L1, SquaredL2

AGREEMENT = 1e-6
REFERENCES = (None, "ECOS", "SCS")


@dataclass(frozen=True)
class Drawn:
    """A problem, the fast way to its objective and certificate, and the least size that differences are relative to.

    That is 0, or a thousandth of what the objective is made of where the optimum may be 0 and is rounded to it.
    """

    problem: Problem
    fast: Callable
    scale: float = 0.0


def features(random):
    """Few samples: continuous or with ties, some rows and features twice, constant, or on scales far apart."""
    n, d = int(random.integers(2, 13)), int(random.integers(1, 4))
    X = (
        random.integers(0, random.integers(2, 6), (n, d)).astype(float)
        if random.random() < 0.5
        else random.normal(size=(n, d))
    )
    if random.random() < 0.3:
        X = X[random.integers(0, n, n)]
    if random.random() < 0.3:
        X = np.hstack([X, X[:, :1], np.full((n, 1), 2.0)])
    if random.random() < 0.3:
        X = X * 10.0 ** random.integers(-3, 4, X.shape[1])
    return X


def labels(random, n):
    y = np.where(random.random(n) < random.choice([0.2, 0.5, 0.8]), 1.0, -1.0)
    y[random.permutation(n)[:2]] = 1.0, -1.0
    return y


def table(random):
    """Values of hypotheses with labels: signs or numbers, some columns twice, negated or zero, on any scale."""
    X = features(random)
    n, m = len(X), int(random.integers(1, 9))
    y = labels(random, n)
    kind = random.integers(3)
    H = X if kind == 0 else random.choice([-1.0, 1.0], (n, m)) if kind == 1 else random.normal(size=(n, m))
    if random.random() < 0.4:
        H = np.where(random.random(H.shape) < 0.3, -1, 1) * np.abs(H) * y[:, None]
    if random.random() < 0.3:
        H = np.hstack([H, H[:, :1], -H[:, -1:]])
    if random.random() < 0.1:
        H = np.hstack([H, np.zeros((n, 1))])
    return (H if H.any() else H + 1) * 10.0 ** random.choice([-2.0, 0.0, 0.0, 2.0]), y


def kernel(random, *, definite=True):
    """A kernel matrix with labels: of stumps, linear, of low rank where rows coincide, or Gaussian; on any scale."""
    X = features(random)
    X = X / max(1.0, np.abs(X).max())
    gram = X @ X.T
    squares = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    distances = np.abs(X[:, None] - X[None]).sum(axis=2)
    choices = [gram + 0.01, np.exp(-np.maximum(squares, 0)), distances.max() + 1 - distances]
    K = choices[random.integers(3)] if definite else -distances
    return (K + K.T) / 2 * 10.0 ** random.choice([-2.0, 0.0, 0.0, 2.0]), labels(random, len(X))


def price(random, size):
    """A price of slack around one over the size of what it buys."""
    return float(10.0 ** random.uniform(-2, 2) / max(size, 1e-9))


def directly(problem, scale=0.0):
    """The fast path by the solver of the problem."""

    def fast():
        solution = SOLVERS[type(problem)](problem)
        return solution.objective, problem.certify(solution)

    return Drawn(problem, fast, scale)


def by_columns(problem, H, *, scale=0.0, master=fastest_master):
    """The fast path by column generation over the columns of H."""

    def fast():
        y = None if problem.formulation.outputs else problem.y
        run = column_generation(problem.formulation, Pool(H, columns_per_round=8), y, tol=1e-9, master=master)
        return run.certificate.primal, run.certificate

    return Drawn(problem, fast, scale)


def svm_primal(random):
    H, y = table(random)
    C = price(random, float((H**2).sum(axis=1).mean()))
    return directly(SVMPrimal(H, y, C))


def svm_by_columns(random):
    H, y = table(random)
    C = price(random, float((H**2).sum(axis=1).mean()))
    return by_columns(SVMPrimal(H, y, C), H)


def svm_dual(random):
    K, y = kernel(random, definite=random.random() < 0.7)
    C = price(random, float(np.abs(K).mean()))
    return directly(SVMDual(K, y, C))


def infinite_svm(random):
    X = features(random)
    X[0] = X[1] + 1.0
    y = labels(random, len(X))
    C = price(random, float(np.ptp(X, axis=0).sum()))
    return directly(InfiniteSVM(Stump().cells(X), y, C))


def hard_margin(random):
    H, y = table(random)
    return by_columns(HardMarginBoosting(Signed(DenseColumns(H)), y), H)


def soft_margin(random, master=fastest_master):
    H, y = table(random)
    C = price(random, float(np.abs(H).max() * len(y)))
    return by_columns(SoftMarginBoosting(Signed(DenseColumns(H)), y, C), H, master=master)


def soft_margin_inside(random):
    """By the interior-point master, which small samples do not get by themselves."""
    return soft_margin(random, InteriorPointMaster)


def lpboost(random):
    H, y = table(random)
    D = float(random.uniform(1, 1.5 * len(y)) / len(y))
    return by_columns(LPBoost(Signed(DenseColumns(H)), y, D), H, scale=1e-3 * float(np.abs(H).max()))


def rho_svm(random):
    K, y = kernel(random)
    K = K + random.choice([0.001, 0.1]) * np.diag(K).mean() * np.eye(len(K))
    return directly(RhoSVM(K, y))


def entropy_projection(random):
    K, y = kernel(random)
    K = K + 0.01 * np.diag(K).mean() * np.eye(len(K))
    alpha = random.dirichlet(np.full(len(y), 3.0))
    q = y * (K @ (y * alpha))
    if np.ptp(q) < 1e-6 * np.abs(q).max():
        return entropy_projection(random)
    equality = bool(random.random() < 0.5)
    rho = q.min() + random.uniform(0.1, 0.9) * np.ptp(q)
    return directly(EntropyProjection(K, y, alpha, float(rho), equality=equality), 1e-3)


def regularized_exp_loss(random):
    K, y = kernel(random)
    lam = 10.0 ** random.uniform(-3, 1) * float(np.diag(K).mean())
    return directly(RegularizedExpLoss(K, y, lam))


def codes(random, n):
    n_classes = int(random.integers(2, 4))
    classes = random.integers(0, n_classes, n)
    classes[:2] = 0, 1
    return simplex_codes(n_classes)[classes]


def slssvm(random):
    H, _ = table(random)
    C = price(random, float((H**2).sum(axis=1).mean()))
    return directly(SLSSVM(H, codes(random, len(H)), C))


def slssvm_by_columns(random):
    H, _ = table(random)
    C, L = price(random, float((H**2).sum(axis=1).mean())), codes(random, len(H))
    return by_columns(SLSSVM(H, L, C), H)


def regularized_least_squares(random):
    K, y = kernel(random)
    gamma = 10.0 ** random.uniform(-3, 1) * float(np.diag(K).mean())
    return directly(RegularizedLeastSquares(K, y, gamma))


def variant(random):
    """Any loss with any penalty, with or without an intercept and signs of the weights."""
    H, y = table(random)
    H = H / np.abs(H).max()
    C = float(10.0 ** random.uniform(-1.5, 1.0))
    loss = [Hinge(C), SquaredHinge(C), Logistic(C), Exponential(C), HardMargin()][random.integers(5)]
    penalty = [L1(), SquaredL2()][random.integers(2)]
    intercept, nonnegative = bool(random.random() < 0.5), bool(random.random() < 0.5)
    formulation = Formulation(loss, penalty, intercept=intercept, nonnegative=nonnegative)
    both = np.hstack([H, -H]) if nonnegative else H
    return by_columns(Problem(formulation, both, y), H)


KINDS = (
    svm_primal,
    svm_by_columns,
    svm_dual,
    infinite_svm,
    hard_margin,
    soft_margin,
    lpboost,
    rho_svm,
    entropy_projection,
    regularized_exp_loss,
    slssvm,
    slssvm_by_columns,
    regularized_least_squares,
    variant,
    variant,
    soft_margin_inside,
)
"""What is drawn from, in turn."""


def draw_problem(number):
    """The problem of a number."""
    return KINDS[number % len(KINDS)](np.random.default_rng([number, 1]))


def reference(problem, scale):
    """The objective of the first reference solver that reports what its answer is certified for; nan where none does.

    Half of the agreement is for the reference's own error.
    """
    for solver in REFERENCES:
        try:
            solution = problem.solve(solver)
        except NotSeparable:
            return inf
        except SolverFailed:
            continue
        certificate = problem.certify(solution)
        if max(gap(certificate, scale), off(solution.objective, certificate.primal, scale)) <= AGREEMENT / 2:
            return solution.objective
    return np.nan


def gap(certificate, scale):
    """The certified gap, relative to the objective; inf where nothing is proven."""
    size = max(abs(certificate.primal), abs(certificate.dual), scale)
    if not certificate.proven or certificate.gap < 0:
        return inf
    return certificate.gap / size if certificate.gap else 0.0


def off(objective, other, scale):
    """How far two objectives are apart, relative to the larger one."""
    return abs(objective - other) / max(abs(objective), abs(other), scale) if objective != other else 0.0


def check(number):
    """Compare the two roads; returns what is wrong, empty where nothing is, and whether there was a reference."""
    problem = draw_problem(number)
    expected = reference(problem.problem, problem.scale)
    try:
        objective, certificate = problem.fast()
    except NotSeparable as proof:
        wrong = "" if expected == inf and proof.max_edge <= 1e-6 else f"not separable, reference {expected:.9g}"
        return wrong, not np.isnan(expected)
    except Exception as error:
        return f"{type(error).__name__}: {error}", not np.isnan(expected)
    if (proven := gap(certificate, problem.scale)) > AGREEMENT:
        return f"gap {proven:.3g} at {objective:.9g}, reference {expected:.9g}", not np.isnan(expected)
    off = abs(objective - expected) / max(abs(objective), problem.scale, 1e-300) if objective != expected else 0.0
    return (f"{objective:.12g} against {expected:.12g}, off {off:.3g}" if off > AGREEMENT else ""), not np.isnan(
        expected
    )


def fuzz(numbers):
    """Check problems; returns the disagreements by number, and how many of each kind had no certified reference."""
    found, alone = {}, Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SolverFallbackWarning)
        for number in numbers:
            wrong, compared = check(number)
            if wrong:
                found[number] = f"{KINDS[number % len(KINDS)].__name__}: {wrong}"
            if not compared:
                alone[KINDS[number % len(KINDS)].__name__] += 1
    return found, alone


def main(count, first=0):
    start = time.perf_counter()
    found, alone = fuzz(range(first, first + count))
    for number, text in found.items():
        sys.stdout.write(f"{number}  {text}\n")
    seconds = time.perf_counter() - start
    without = ", ".join(f"{kind} {n}" for kind, n in alone.items()) or "none"
    sys.stdout.write(f"{len(found)} disagreements in {count} problems from {first}, {seconds:.0f} s\n")
    sys.stdout.write(f"proven but without a certified reference: {without}\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
