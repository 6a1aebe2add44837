"""Attacks on certificates: problems and points whose optimum is known in exact rational numbers.

The same formulations are drawn of nasty numbers, whose certificates may not lie, and of mild ones, on which every way
of the library's to the optimum has to end there, with a proof. A certificate is wrong if

- the optimum is not between its primal and its dual value, each moved by its `rounding`;
- it `holds` at a tolerance, and the point that it is of is farther than that from the optimum;
- the point that it is of is worse than its primal value says, by more than `rounding`.
"""

import time
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Any

import exact
import numpy as np
from exact import dot, fractions, gram, product, transposed
from variants import list_stumps

from cvxens import InfiniteEnsembleSVC, certify, certify_model, problems
from cvxens.certificates import Certificate
from cvxens.colgen import Ending, column_generation, formulations, oracles
from cvxens.colgen.masters import InteriorPointMaster, fastest_master
from cvxens.crosscheck import SOLVERS
from cvxens.errors import CvxensError, NotSeparable
from cvxens.kernels import Gaussian, Laplacian, Linear, StumpRegion

SHIFTED = "intercept of the shifted columns"
"""The name of that intercept among the arrays of a repaired point."""

SLACK = Fraction(1, 10**12)
"""What a value may be off, relative to itself, that `rounding` does not speak of."""

TOLERANCES = (1e-9, 1e-6, 1e-3, 0.1)

SLOW = 20.0
"""Seconds that an attack may take, limits of the library's own runs included."""

AGREEMENT = 1e-6
"""What solvers and their certificates may be off by on mild numbers, relative to the optimum."""

OFFSETS = (1e3, 1e6, 1e8, 1e9, 1e10, 1e12, 1e14, 1e15, 1e16, 1e18)


@dataclass(frozen=True)
class Claim:
    """A certificate, and the truth.

    Parameters
    ----------
    certificate : Certificate
        What is claimed.
    low, high : Fraction
        The optimum is between them; both are None where the problem is infeasible.
    maximise : bool
        Whether it is a maximum.
    point : Fraction or None
        The exact objective of the point that the certificate is of, where it is known.
    text : str
        What was given.
    wrong : str
        What else is wrong, as a wrong score or a bare error.
    """

    certificate: Certificate | None
    low: Fraction | None = None
    high: Fraction | None = None
    maximise: bool = False
    point: Fraction | None = None
    text: str = ""
    wrong: str = ""


def lies(claim):
    """What is wrong with a claim, most telling first; empty where nothing is."""
    found, c = ([claim.wrong] if claim.wrong else []), claim.certificate
    if c is None or not c.proven:
        return found
    if not (isfinite(c.primal) and isfinite(c.dual)):
        return [*found, f"proven with the values {c.primal} and {c.dual}"]
    if claim.low is None:
        return [*found, f"proven {c.primal:.6g}, {c.dual:.6g} of an infeasible problem"]
    if not isfinite(rounding := getattr(c, "rounding", 0.0)):
        return [*found, *(f"holds({tol:g}) with infinite rounding" for tol in TOLERANCES if c.holds(tol))][:1]
    sign = -1 if claim.maximise else 1
    primal, dual, unknown = sign * Fraction(c.primal), sign * Fraction(c.dual), Fraction(rounding)
    low, high = (claim.low, claim.high) if sign > 0 else (-claim.high, -claim.low)
    size = max(abs(primal), abs(dual), Fraction(getattr(c, "size", 0.0)))
    excluded = []
    if primal + unknown + SLACK * abs(primal) < low:
        excluded.append(f"primal {c.primal:.12g} beyond the optimum {float(sign * low):.12g}")
    if dual - unknown - SLACK * abs(dual) > high:
        excluded.append(f"dual {c.dual:.12g} beyond the optimum {float(sign * high):.12g}")
    point = None if claim.point is None else sign * claim.point
    if point is not None and point > primal + unknown + SLACK * abs(primal):
        excluded.append(f"the point has {float(sign * point):.12g}, not {c.primal:.12g}")
    worst = max(primal, primal if point is None else point)
    for tol in TOLERANCES:
        if c.holds(tol):
            room = (Fraction(tol) + SLACK) * size
            if c.gap < 0 or worst > high + room or primal < low - room or dual > high + room or dual < low - room:
                found.append(f"HOLDS({tol:g}) at {c.primal:.9g}, {c.dual:.9g}, optimum {float(sign * low):.9g}")
            break
    return [*found, *(f"{text}, rounding {rounding:.3g}" for text in excluded)]


# ------------------------------------------------------------------------------------------- nasty and mild numbers


def labels(random, n):
    y = np.where(random.random(n) < random.choice([0.2, 0.5, 0.8]), 1.0, -1.0)
    y[random.permutation(n)[:2]] = 1.0, -1.0
    return y


def features(random):
    """Few samples: continuous or with ties, some rows and features twice, constant, or on scales far apart."""
    n, d = int(random.integers(2, 11)), int(random.integers(1, 4))
    X = random.normal(size=(n, d))
    if random.random() < 0.5:
        X = random.integers(0, random.integers(2, 6), (n, d)).astype(float)
    if random.random() < 0.3:
        X = X[random.integers(0, n, n)]
    if random.random() < 0.3:
        X = np.hstack([X, X[:, :1], np.full((n, 1), 2.0)])
    if random.random() < 0.3:
        X = X * 10.0 ** random.integers(-3, 4, X.shape[1])
    return X


def mild(random):
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


def nasty(random, n, m):
    """A table of numbers: ties, copies, constants, offsets, ulps, scales from 1e-150 to 1e150."""
    kind = random.integers(7)
    if kind == 0:
        H = random.integers(0, 3, (n, m)).astype(float)
    elif kind == 1:
        H = random.choice([-1.0, 1.0], (n, m))
    elif kind == 2:
        H = 1 + np.finfo(float).eps * random.integers(0, 4, (n, m))
    elif kind == 3:
        H = random.normal(size=(n, m))
    else:
        H = random.normal(size=(n, m)).round(3)
    if random.random() < 0.2:
        H = H[random.integers(0, n, n)]
    scale = np.ones(m)
    if random.random() < 0.35:
        width = random.choice([3, 8, 40, 150])
        scale = 10.0 ** random.integers(-width, width + 1, m if random.random() < 0.6 else 1) * scale
    if random.random() < 0.5:
        H = H + random.choice([-1, 1]) * random.choice(OFFSETS) * (random.random(m) < 0.7)
    H = H * scale
    for value in (0.0, H.flat[0]):
        if random.random() < 0.08:
            H[:, random.integers(m)] = value
    return H


def price(random, size, is_mild=False):
    """From 1e-12 to 1e12, or around one over the square of what it buys."""
    if is_mild:
        return float(10.0 ** random.uniform(-2, 2) / max(size**2, 1e-9))
    if random.random() < 0.5 and 1e-120 < size < 1e120:
        return float(10.0 ** random.integers(-3, 4) / size**2)
    return float(10.0 ** random.integers(-12, 13)) * float(random.choice([1.0, 1.0, 0.3]))


def psd(random, n):
    """A PSD matrix of doubles exactly as it is drawn: integers with an offset, rows and columns times powers of 2."""
    A = random.integers(-6, 7, (n, random.integers(1, n + 1))) * random.choice([1, 1, 16, 1000])
    if random.random() < 0.2:
        A = A[random.integers(0, n, n)]
    whole = (A @ A.T).astype(object)
    offset = int(random.choice([0, *OFFSETS]))
    K = np.array([[float(value + offset) for value in row] for row in whole])
    if any(int(K[i, j]) != whole[i][j] + offset for i in range(n) for j in range(n)):
        K = whole.astype(float)
    if random.random() < 0.3:
        d = 2.0 ** random.integers(-60, 61, n if random.random() < 0.5 else 1) * np.ones(n)
        K = d[:, None] * K * d
    return K


def varied(random, values):
    """An array as it is, perturbed, scaled, gone, huge, tiny or another one."""
    values = np.asarray(values, float)
    kind, noise = random.integers(9), random.normal(size=values.shape)
    if kind <= 2:
        return values
    if kind == 3:
        return values * (1 + 10.0 ** random.integers(-14, 0) * noise)
    if kind == 4:
        return values * float(random.choice([0.9, 1.1, 2.0, 10.0, 1e-3]))
    if kind == 5:
        return np.zeros_like(values)
    if kind == 6:
        return noise * 10.0 ** random.choice([200.0, 100.0, 20.0])
    if kind == 7:
        return noise * 10.0 ** random.choice([-300.0, -20.0, -5.0])
    return noise * max(float(np.abs(values).max(initial=0)), 1e-3)


def points(random, known, count=4):
    """Choices of arrays: the good ones, all or some; then each varied."""
    names = list(known)
    yield dict(known)
    for _ in range(count - 1):
        chosen = [name for name in names if random.random() < 0.6] or [names[random.integers(len(names))]]
        yield {name: varied(random, known[name]) for name in chosen}


def floats(values):
    """Rationals as an array of the nearest doubles; what is beyond them as the largest."""
    largest = Fraction(float(np.finfo(float).max))
    if isinstance(values, list):
        return np.array([floats(value) for value in values])
    return float(min(max(values, -largest), largest))


# ------------------------------------------------------------------------------------------------------- (a), (b)


@dataclass
class Known:
    """A problem with its optimum, good arrays, the exact objective of a repaired point (or None), and its columns.

    Differences are relative to the `scale`, where the optimum may be near 0.
    """

    problem: Any
    low: Fraction | None
    high: Fraction | None
    arrays: dict
    at: Any = field(default=lambda repaired: None)
    columns: Any = None
    scale: float = 0.0


def certified(random, known):
    """Claims about a problem at several points."""
    for arrays in points(random, known.arrays):
        certificate = certify(known.problem, **arrays)
        with np.errstate(all="ignore"):
            evaluated = known.problem.evaluate(
                {name: np.asarray(values, float).reshape(known.problem.shapes[name]) for name, values in arrays.items()}
            )
        repaired = dict(evaluated.point)
        if getattr(getattr(known.problem, "linear_map", None), "centre", None) is not None:
            repaired[SHIFTED] = evaluated.b
        finite = all(np.isfinite(values).all() for values in repaired.values())
        point = known.at({k: fractions(v) for k, v in repaired.items()}) if certificate.proven and finite else None
        text = f"{type(known.problem).__name__} given {', '.join(arrays)}"
        yield Claim(certificate, known.low, known.high, known.problem.maximise, point, text)


def solved(known):
    """What is wrong with the answers of the library's own ways to the optimum."""
    problem, optimum = known.problem, np.inf if known.low is None else float((known.low + known.high) / 2)
    ways = [lambda: solve_at_once(problem)] if type(problem) in SOLVERS else []
    if known.columns is not None:
        ways += [lambda: generate(known, fastest_master)]
        if isinstance(problem, problems.SoftMarginBoosting):
            ways.append(lambda: generate(known, InteriorPointMaster))
    for way in ways:
        try:
            objective, certificate = way()
        except NotSeparable as proof:
            if known.low is not None or proof.max_edge > AGREEMENT:
                yield f"not separable, the optimum is {optimum:.9g}"
            continue
        size = max(abs(objective), abs(optimum), known.scale)
        if not certificate.proven or not 0 <= certificate.gap <= AGREEMENT * size:
            yield f"proven {certificate.proven} with the gap {certificate.gap:.3g} at {objective:.9g}"
        if not abs(objective - optimum) <= AGREEMENT * size:
            yield f"{objective:.12g} against {optimum:.12g}"


def solve_at_once(problem):
    """Objective and certificate by the problem's own solver."""
    solution = SOLVERS[type(problem)](problem)
    return solution.objective, problem.certify(solution)


def generate(known, master):
    """Objective and certificate by column generation over the columns alone."""
    formulation = known.problem.formulation
    pool = oracles.Pool(known.columns, columns_per_round=8, negations=not formulation.nonnegative)
    y = None if formulation.outputs else known.problem.y
    run = column_generation(formulation, pool, y, tol=1e-9, master=master)
    return run.certificate.primal, run.certificate


def table(random, is_mild, most=4):
    if is_mild:
        return mild(random)
    n, m = int(random.choice([2, 2, 3, 4, 5, 6])), int(random.integers(1, most))
    return nasty(random, n, m), labels(random, n)


def hinge(problem, H, y, C):
    """(w, b) -> 1/2 w'w + C sum of slacks, or sum |w| + ... without b; at the point or its multiple without slack.

    A repaired point has the intercept that goes with shifted columns, which b need not be able to hold.
    """

    def at(point):
        w, b = point["w"], point.get("b", Fraction(0))
        if SHIFTED in point:
            b = point[SHIFTED] - dot(fractions(problem.linear_map.centre), w)
        z = [a * (f + b) for a, f in zip(y, product(H, w), strict=True)]
        scales = [Fraction(1), *([1 / min(z)] if min(z) > 0 else [])]

        def value(scale):
            loss = C * sum(max(Fraction(0), 1 - scale * margin) for margin in z)
            return loss + (scale**2 * dot(w, w) / 2 if "b" in point else scale * sum(w))

        return min(map(value, scales))

    return at


def svm_primal(random, is_mild, kind=problems.SVMPrimal):
    H, y = table(random, is_mild)
    C = price(random, float(np.abs(H).max()), is_mild)
    h, labels_, c = fractions(H), fractions(y), Fraction(C)
    value, u, b = exact.svm_dual(gram(h), labels_, [c] * len(y))
    w = product(transposed(h), [a * s for a, s in zip(u, labels_, strict=True)])
    arrays = {"w": floats(w), "b": floats(b), "u": floats(u)}
    problem = kind(H, y, C)
    columns = H if kind is problems.SVMPrimal else None
    return Known(problem, -value, -value, arrays, hinge(problem, h, labels_, c), columns)


def infinite_svm(random, is_mild):
    return svm_primal(random, is_mild, problems.InfiniteSVM)


def soft_margin(random, is_mild):
    H, y = table(random, is_mild)
    C = price(random, float(np.abs(H).max()) ** 0.5, is_mild)
    h, labels_, c = fractions(H), fractions(y), Fraction(C)
    value, u, w = exact.soft_margin(h, labels_, [c] * len(y))
    arrays = {"w": floats(w), "u": floats(u)}
    problem = problems.SoftMarginBoosting(H, y, C)
    return Known(problem, value, value, arrays, hinge(problem, h, labels_, c), H)


def hard_margin(random, is_mild):
    H, y = table(random, is_mild)
    if random.random() < 0.7:
        H = np.abs(H) * y[:, None] * np.where(random.random(H.shape) < 0.2, -1, 1)
    h, labels_ = fractions(H), fractions(y)
    found = exact.soft_margin(h, labels_, None)
    low = high = None if found is None else found[0]
    n, m = H.shape
    arrays = {"w": np.ones(m), "u": np.ones(n)} if found is None else {"w": floats(found[2]), "u": floats(found[1])}

    def at(point):
        least = min(s * f for s, f in zip(labels_, product(h, point["w"]), strict=True))
        return sum(point["w"]) / least if least > 0 else None

    return Known(problems.HardMarginBoosting(H, y), low, high, arrays, at, H)


def cap(D, n):
    """D as an exact number; 1/n where it is the double of that, which may be too small for a feasible point."""
    return Fraction(1, n) if abs(Fraction(D) * n - 1) < Fraction(4, 2**53) else Fraction(D)


def lpboost(random, is_mild):
    H, y = table(random, is_mild)
    n = len(y)
    D = float(random.choice([1 / n, (1 - 9e-13) / n, (1 + 1e-12) / n, 1.0, 2 / n, 1e3, 1 / (0.7 * n), 1e12]))
    D = float(random.uniform(1, 1.5 * n) / n) if is_mild else D
    h, labels_, d = fractions(H), fractions(y), cap(D, n)
    found = exact.lpboost(h, labels_, [d] * n)
    low = high = None if found is None else found[0]
    u, a = (np.full(n, 1 / n), np.ones(H.shape[1])) if found is None else map(floats, found[1:])

    def at(point):
        total = sum(point["a"])
        if total <= 0:
            return None
        z = [s * f / total for s, f in zip(labels_, product(h, point["a"]), strict=True)]
        return max(rho - d * sum(max(Fraction(0), rho - value) for value in z) for rho in z)

    return Known(problems.LPBoost(H, y, D), low, high, {"a": a, "u": u}, at, H, 1e-3 * float(np.abs(H).max()))


def slssvm(random, is_mild):
    H, _ = table(random, is_mild)
    n = len(H)
    n_classes = int(random.integers(2, 4))
    classes = random.integers(0, n_classes, n)
    classes[:2] = 0, 1
    L = problems.simplex_codes(n_classes)[classes]
    C = price(random, float(np.abs(H).max()), is_mild)
    h, codes, c = fractions(H), fractions(L), Fraction(C)
    value, U, b = exact.slssvm(h, codes, c)
    W = [[dot(column, error) for error in transposed(U)] for column in transposed(h)]

    problem = problems.SLSSVM(H, L, C)

    def at(point):
        b = point["b"]
        if SHIFTED in point:
            moves = [dot(fractions(problem.linear_map.centre), w) for w in transposed(point["W"])]
            b = [shifted - move for shifted, move in zip(point[SHIFTED], moves, strict=True)]
        scores = [[dot(row, w) for w in transposed(point["W"])] for row in h]
        errors = [
            code - score - shift
            for line, at_line in zip(codes, scores, strict=True)
            for code, score, shift in zip(line, at_line, b, strict=True)
        ]
        return (sum(a * a for row in point["W"] for a in row) + c * sum(a * a for a in errors)) / 2

    arrays = {"W": floats(W), "b": floats(b), "U": floats(U)}
    return Known(problem, value, value, arrays, at, H)


def kernel(random, is_mild, is_definite=True):
    if not is_mild:
        n = int(random.choice([2, 2, 3, 4, 5]))
        return psd(random, n), labels(random, n)
    # of stumps, linear, of low rank where rows coincide, or Gaussian; what is not surely definite, exactly in doubles
    X = features(random)
    X = np.round(X / max(1.0, np.abs(X).max()) * 1024) / 1024
    K = X @ X.T
    squares = np.diag(K)[:, None] + np.diag(K) - 2 * K
    distances = np.abs(X[:, None] - X[None]).sum(axis=2)
    if not is_definite:
        return -distances, labels(random, len(X))
    choices = [K + 2**-7, np.exp(-squares) + 1e-9 * np.eye(len(X)), distances.max() + 1 - distances]
    return choices[random.integers(3)] * 2.0 ** random.choice([-7, 0, 0, 7]), labels(random, len(X))


def weight_of_norm(random, K):
    """A price of a squared norm, relative to the kernel's diagonal."""
    return float(10.0 ** random.uniform(-3, 1) * np.diag(K).mean())


def softened(K, part):
    """A kernel with a share of its mean diagonal added to that."""
    return K + part * float(np.diag(K).mean()) * np.eye(len(K))


def svm_dual(random, is_mild):
    K, y = kernel(random, is_mild, random.random() < 0.7)
    if random.random() < 0.3:
        # what y'u = 0 cancels: terms in one sample alone
        a = random.integers(-50, 50, len(y)) * 1.0
        moved = K + a[:, None] + a
        exactly = (fractions(moved[i, j]) == fractions(K[i, j]) + int(a[i] + a[j]) for i, j in np.ndindex(K.shape))
        K = moved if all(exactly) else K
    C = price(random, float(np.abs(K).max()) ** 0.5, is_mild)
    k, labels_, c = fractions(K), fractions(y), Fraction(C)
    problem = problems.SVMDual(K, y, C)
    value, u, b = exact.svm_dual(k, labels_, [c] * len(y))

    def at(point):
        v = balanced(point["u"], labels_)
        return exact.form(k, v) / 2 - sum(map(abs, v))

    return Known(problem, value, value, {"u": floats(u), "b": floats(b)}, at)


def balanced(u, y):
    """y_i u_i, the heavier class scaled down so that they add up to 0."""
    plus, minus = (sum(a for a, s in zip(u, y, strict=True) if s == sign) for sign in (1, -1))
    light = min(plus, minus)
    return [s * a * (light / (plus if s > 0 else minus) if light > 0 else 0) for a, s in zip(u, y, strict=True)]


def rho_svm(random, is_mild):
    K, y = kernel(random, is_mild)
    K = softened(K, random.choice([0.001, 0.1])) if is_mild else K
    k, labels_ = fractions(K), fractions(y)
    problem = problems.RhoSVM(K, y)
    value, u = exact.rho_svm(k, labels_)

    def at(point):
        f = product(k, point["c"])
        return 2 * min(s * a for s, a in zip(labels_, f, strict=True)) - dot(point["c"], f)

    good = floats(u)
    return Known(problem, value, value, {"u": good, "c": y * good}, at)


def regularized_least_squares(random, is_mild):
    K, y = kernel(random, is_mild)
    targets = y if is_mild or random.random() < 0.7 else nasty(random, len(y), 1)[:, 0]
    gamma = weight_of_norm(random, K) if is_mild else float(10.0 ** random.integers(-12, 13))
    k, goals, g = fractions(K), fractions(targets), Fraction(gamma)
    problem = problems.RegularizedLeastSquares(K, targets, gamma)
    value, c = exact.regularized_least_squares(k, goals, g)

    def at(point):
        f = product(k, point["c"])
        return sum((a - b) ** 2 for a, b in zip(f, goals, strict=True)) / len(goals) + g * dot(point["c"], f)

    arrays = {"c": floats(c), "s": floats([2 * g * a for a in c])}
    return Known(problem, value, value, arrays, at)


def regularized_exp_loss(random, is_mild):
    K, y = kernel(random, is_mild)
    lam = weight_of_norm(random, K)
    if not is_mild:
        K, y, lam = K[:3, :3], y[:3], float(10.0 ** random.integers(-10, 11))
        y[0] = -y[1] if len(set(y)) < 2 else y[0]
    k, labels_, weight = fractions(K), fractions(y), Fraction(lam)
    problem = problems.RegularizedExpLoss(K, y, lam)
    low, high, eta = exact.regularized_exp_loss(k, labels_, weight)
    u = np.array([2 * weight * a * s for a, s in zip(eta, labels_, strict=True)], float)

    def at(point):
        return exact.exp_loss_at(k, labels_, weight, point["eta"])

    return Known(problem, low, high, {"eta": floats(eta), "u": u}, at)


def entropy_projection(random, is_mild):
    K, y = kernel(random, is_mild)
    K = softened(K, 0.01) if is_mild else K
    alpha_t = random.random(len(y)) ** (0.5 if is_mild else random.integers(1, 8)) + 1e-12
    alpha_t = alpha_t / alpha_t.sum()
    equality = bool(random.random() < 0.5)
    q = y * (K @ (y * alpha_t))
    share = random.uniform(0.1, 0.9) if is_mild else random.choice([0.5, 0.1, 0.999, 1e-6])
    rho = float(q.min() + share * (q.max() - q.min()))
    problem = problems.EntropyProjection(K, y, alpha_t, rho, equality=equality)
    v = [a * s for a, s in zip(fractions(problem.alpha_t), fractions(y), strict=True)]
    true_q = [s * f for s, f in zip(fractions(y), product(fractions(K), v), strict=True)]
    if not min(true_q) < Fraction(rho) < max(true_q):
        return None
    value, eta = exact.entropy_projection(true_q, fractions(problem.alpha_t), Fraction(rho), equality=equality)
    if value < (Fraction(1, 10**6) if is_mild else Fraction(4, 2**104)):
        # it is made of squares of changes of alpha_t by less than a double resolves
        return None
    room = abs(value) / 10**30
    alpha = problem.project(floats(eta))
    arrays = {"alpha": alpha if np.isfinite(alpha).all() else problem.alpha_t, "eta": floats(eta)}
    return Known(problem, value - room, value + room, arrays, scale=1e-3)


# ------------------------------------------------------------------------------------------------------- machines


def distances(X):
    """|x_d - x'_d| for every feature: a list of matrices."""
    return [[[abs(a - b) for b in column] for a in column] for column in transposed(X)]


def summed(matrices, weights):
    n = len(matrices[0])
    return [[sum(w * m[i][j] for w, m in zip(weights, matrices, strict=True)) for j in range(n)] for i in range(n)]


def ranks(X):
    """The place of each value among the distinct ones of its feature."""
    columns = [sorted(set(column)) for column in transposed(X)]
    return [[Fraction(columns[d].index(a)) for d, a in enumerate(row)] for row in X]


def exact_kernel(name, X):
    """A form of a kernel in exact numbers, up to terms in one sample alone, and its parts."""
    d = len(X[0])
    ranges = [max(column) - min(column) for column in transposed(X)]
    if name == "middle-stump":
        return summed(distances(ranks(X)), [Fraction(-2)] * d)
    if name == "decision-stump":
        varies = sum(width > 0 for width in ranges)
        return summed(distances(X), [Fraction(-2) / varies / width if width else Fraction(0) for width in ranges])
    if name in ("stump", "histogram-intersection"):
        return summed(distances(X), [Fraction(-1) if name == "stump" else Fraction(-1, 2)] * d)
    squares = [[sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) for z in X] for x in X]
    if name == "linear":
        return [[-a / 2 for a in row] for row in squares]
    if name == "perceptron":
        return [[-exact.root(a) for a in row] for row in squares]
    if name == "gaussian":
        return [[exact.exponential_less_one(-a / 8) for a in row] for row in squares]
    city = summed(distances(X), [Fraction(1)] * d)
    if name == "laplacian":
        return [[exact.exponential_less_one(-a / 8) for a in row] for row in city]
    # LL08 Definition 17 with k = 2 Delta_S - |x - x'|_1: (K_1 + Delta_1)(K_S + Delta_S) = (k + 2 Delta_S) k, in a box a
    # bit wider than the sample's, whose ends are floats
    made = StumpRegion(2).with_ranges_of(np.array(X, np.float64))
    total = sum(Fraction(high) - Fraction(low) for low, high in zip(made.low, made.high, strict=True))
    return [[(2 * total - a) * (total - a) for a in row] for row in city]


KERNELS = {
    **{name: name for name in ("stump", "middle-stump", "histogram-intersection", "decision-stump")},
    "perceptron": "perceptron",
    "linear": "linear",
    "stump-region": StumpRegion(2),
    "gaussian": Gaussian(0.125),
    "laplacian": Laplacian(0.125),
}


def machine(random):
    """`InfiniteEnsembleSVC` on a nasty sample: its certificate, and its scores."""
    n, d = int(random.choice([2, 3, 4, 5, 6])), int(random.integers(1, 4))
    X, y = nasty(random, n, d), labels(random, n)
    name = str(random.choice(list(KERNELS)))
    if name in ("linear", "gaussian", "stump-region") and np.abs(X).max() > 1e70:
        X = X / np.abs(X).max()
    if name == "histogram-intersection":
        X = np.abs(X)
    C, solver = (
        price(random, float(np.ptp(X, axis=0).max()) ** 0.5),
        str(random.choice(["auto", "additive", "blockwise", "reference"])),
    )
    weights = random.choice([1.0, 1.0, 1e-6, 1e3, 0.0], n) if random.random() < 0.3 else np.ones(n)
    weights[:1] = 1.0
    text = f"InfiniteEnsembleSVC({name!r}, C={C:g}, solver={solver!r})"
    kernel_ = Linear(np.eye(d)) if name == "linear" else KERNELS[name]
    model = InfiniteEnsembleSVC(kernel_, C=C, solver=solver, tol=1e-6, max_time=2.0)
    model.fit(X, y, sample_weight=weights)
    kept = np.flatnonzero(weights > 0)
    k, signs = exact_kernel(name, fractions(X[kept])), fractions(y[kept])
    prices = [Fraction(C) * Fraction(weight) for weight in weights[kept]]
    value, _, _ = exact.svm_dual(k, signs, prices)
    v = balanced(fractions(model.dual_weights_[kept]), signs)
    point = exact.form(k, v) / 2 - sum(map(abs, v))
    yield Claim(model.certificate_, value, value, False, point, text, _wrong_scores(model, X[kept], k, v))


def _wrong_scores(model, X, k, v):
    """Scores less that of the first sample, against the expansion, to 1e-6 of the sizes of its terms."""
    scores = fractions(model.decision_function(X))
    size = max(map(abs, (entry for row in k for entry in row))) * sum(map(abs, v))
    f = product(k, v)
    # a kernel may differ by terms in one sample alone, whose part in scores is a function of x: only -|x-x'| has none
    shift = Fraction(float(model.intercept_))
    off = max(abs(a - b - shift) for a, b in zip(scores, f, strict=True))
    if off > (size + abs(shift)) / 10**9 and _has_form_of_k(model):
        return f"scores off by {float(off):.3g} of {float(size):.3g}"
    return ""


def _has_form_of_k(model):
    return model._kernel.scale is not None


# ------------------------------------------------------------------------------------------------- column generation


@dataclass(frozen=True)
class Foreign:
    """A hypothesis from elsewhere: a stump of a product."""

    k: int

    def __call__(self, X):
        return np.where(X[:, 0] * X[:, -1] >= self.k, 1.0, -1.0)


def both_signs(columns):
    """Columns and their negations, none twice."""
    return {tuple(column) for column in columns} | {tuple(-np.array(column)) for column in columns}


def one_sign(columns):
    """One of each pair of columns that differ in sign alone, none twice."""
    return {max(tuple(column), tuple(-np.array(column))) for column in columns}


FORMULATIONS = ("svm", "soft", "hard", "lp")


def optima(name, own, started, y, prices):
    """The optima over what may be meant by an oracle's hypotheses and others to start from; None where infeasible.

    An l2 penalty tells two hypotheses with one column from one. Where weights have signs, the oracle has the negations
    of its own; whether the others' are meant as well is nobody's to say.
    """
    if name == "svm":
        return [optimum(name, [*own, *started], y, prices), optimum(name, one_sign([*own, *started]), y, prices)]
    whole = optimum(name, both_signs([*own, *started]), y, prices)
    return [whole, optimum(name, both_signs(own) | {tuple(h) for h in started}, y, prices) if len(started) else whole]


def optimum(name, columns, y, prices):
    """The optimum over columns."""
    h, signs = fractions(np.array(sorted(map(tuple, columns))).T), fractions(y)
    if name == "svm":
        return -exact.svm_dual(gram(h), signs, prices)[0]
    found = exact.lpboost(h, signs, prices) if name == "lp" else exact.soft_margin(h, signs, prices)
    return None if found is None else found[0]


def generation(random):
    """Column generation over a pool or all stumps, with and without a start from elsewhere."""
    n = int(random.choice([2, 3, 4, 5, 6]))
    y, name, pool = labels(random, n), str(random.choice(FORMULATIONS)), bool(random.random() < 0.5)
    X = nasty(random, n, int(random.integers(1, 4)))
    if pool and np.abs(X).max() > 1e120:
        X = X / np.abs(X).max()
    largest = float(np.abs(X).max()) or 1.0
    if pool:
        oracle, own, start = oracles.Pool(X, columns_per_round=int(random.integers(1, 4))), list(X.T), ()
        started = []
        if not X.any():
            return
    else:
        X = X[:, :2]
        oracle = oracles.Stumps(X)
        start = [Foreign(int(k)) for k in random.choice([-1, 0, 1], int(random.integers(0, 3)), replace=False)]
        with np.errstate(over="ignore"):
            own, started = list_stumps(X)[0].T, [h(X) for h in start]
    C = price(random, largest if pool else 1.0)
    prices = np.full(n, C) * (random.choice([1.0, 2.0, 1e-3], n) if random.random() < 0.2 else 1.0)
    if name == "lp":
        prices = np.full(n, float(random.choice([1 / n, (1 - 9e-13) / n, (1 + 1e-12) / n, 1.0, 1.5 / n, 1e6])))
    formulation = {
        "svm": lambda: formulations.svm(prices),
        "soft": lambda: formulations.soft_margin(prices),
        "hard": formulations.hard_margin,
        "lp": lambda: formulations.lpboost(prices),
    }[name]()
    tol = float(random.choice([1e-6, 1e-2, 0.2]))
    text = f"{name} over {'a pool' if pool else f'stumps with {len(start)} to start from'}, tol {tol:g}"
    exactly = None if name == "hard" else [cap(price, n) for price in prices]
    values = optima(name, own, started, y, exactly)
    feasible = [value for value in values if value is not None]
    try:
        with np.errstate(over="ignore"):
            run = column_generation(formulation, oracle, y, start=start, tol=tol, max_time=2.0)
    except NotSeparable as proof:
        separable = len(feasible) == len(values) and _has_edge(proof.farkas, np.array([*own, *started]), y)
        wrong = f"NotSeparable, the optimum is {float(max(values)):.6g}" if separable else ""
        yield Claim(None, text=text, wrong=wrong)
        return
    c = run.certificate
    ended = run.ending is Ending.OPTIMAL and c.gap < 0
    wrong = f"OPTIMAL on the gap {c.gap:.3g}" if ended else ""
    if feasible and len(feasible) < len(values):
        return
    low, high = (min(feasible), max(feasible)) if feasible else (None, None)
    yield Claim(c, low, high, name == "lp", None, text, wrong)


def _has_edge(u, columns, y):
    """Whether the edge of a column is beyond the rounding of its sum: then u does not prove that nothing separates."""
    v, eps = [a * s for a, s in zip(fractions(u), fractions(y), strict=True)], Fraction(2) ** -52
    for column in map(fractions, columns):
        if abs(dot(column, v)) > 4 * len(v) * eps * sum(abs(a * b) for a, b in zip(column, v, strict=True)):
            return True
    return False


# ---------------------------------------------------------------------------------------------------- foreign models


def foreign(random):
    """Models of other libraries, held against soft margins over all stumps; SVCs against their own problem."""
    n = int(random.choice([5, 6, 7]))
    X, y = nasty(random, n, int(random.integers(1, 3))), labels(random, n)
    if random.random() < 0.4:
        yield from _svc(random, X / max(1.0, float(np.abs(X).max())) if np.abs(X).max() > 1e10 else X, y)
        return
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier

    seed = int(random.integers(100))
    common = {"num_leaves": 2, "min_child_samples": 1, "min_child_weight": 0, "verbose": -1, "n_jobs": 1}
    odd = [{}, {"linear_tree": True}, {"boosting_type": "dart"}, {"boost_from_average": False}, {"reg_lambda": 3.0}]
    model = [
        lambda: AdaBoostClassifier(n_estimators=3, random_state=seed),
        lambda: GradientBoostingClassifier(n_estimators=3, max_depth=1, random_state=seed),
        lambda: LGBMClassifier(n_estimators=3, random_state=seed, **common, **odd[random.integers(len(odd))]),
    ][random.integers(3)]()
    C = float(10.0 ** random.integers(-2, 3))
    text = f"certify_model({model!r}, C={C:g})"
    weights = None if random.random() < 0.7 else random.choice([0.5, 1.0, 3.0], n)
    try:
        model.fit(X, y, sample_weight=weights)
    except ValueError:
        return
    scores = model.predict(X, raw_score=True) if "LGBM" in text else model.decision_function(X)
    c = certify_model(model, X, y, formulations.soft_margin(C), max_time=2.0)
    truth = optimum("soft", both_signs(list_stumps(X)[0].T), y, [Fraction(C)] * n)
    # the vote's slacks at its best scale are no less than those of the scores at theirs, whatever sum |w| is
    kinks = [0.0, *(1 / (y * scores)[(y * scores) > 0])]
    least = min(C * np.maximum(1 - t * y * scores, 0).sum() for t in kinks)
    wrong = (
        f"primal {c.primal:.9g} below the slacks {least:.9g} of the model's scores"
        if c.primal < least * (1 - 1e-9)
        else ""
    )
    yield Claim(c, truth, truth, False, None, text, wrong)


def _svc(random, X, y):
    from sklearn.svm import SVC

    C = price(random, float(np.ptp(X, axis=0).max()) or 1.0)
    weights = random.choice([0.5, 1.0, 3.0, 1e-3], len(y)) if random.random() < 0.4 else None
    classes = {1.0: 2.0, -1.0: 0.5} if random.random() < 0.3 else None
    model = SVC(C=C, kernel="linear", class_weight=classes, max_iter=100_000)
    text = f"certify_model({model!r}, sample_weight={weights is not None})"
    options = {} if weights is None else {"sample_weight": weights}
    try:
        model.fit(X, y, **options)
    except ValueError:
        return
    certificate = certify_model(model, X, y, **options)
    factors = np.ones(len(y)) if weights is None else weights
    factors = factors * np.array([classes[label] for label in y]) if classes else factors
    x = fractions(X)
    value, _, _ = exact.svm_dual(exact_kernel("linear", x), fractions(y), [Fraction(C) * Fraction(f) for f in factors])
    yield Claim(certificate, value, value, False, None, text)


PROBLEMS = (
    svm_primal,
    svm_dual,
    soft_margin,
    regularized_least_squares,
    lpboost,
    rho_svm,
    infinite_svm,
    hard_margin,
    regularized_exp_loss,
    slssvm,
    entropy_projection,
)
"""Every formulation, from a generator and whether numbers are mild to a `Known`; None where that has none."""

KINDS = (*PROBLEMS, *(machine, generation) * 3, foreign)
"""What is attacked in turn."""


def claims(number):
    """What a number draws."""
    kind, random = KINDS[number % len(KINDS)], np.random.default_rng([number, 2])
    if kind not in PROBLEMS:
        return kind(random)
    return () if (known := kind(random, False)) is None else certified(random, known)


def check(number):
    """Return what is wrong with the claims of a number, and of which kind they are."""
    name, counted, began = KINDS[number % len(KINDS)].__name__, [], time.perf_counter()
    try:
        for claim in claims(number):
            counted.append(f"{name}: claims")
            if claim.certificate is not None:
                counted += [f"{name}: proven"] * claim.certificate.proven
                counted += [f"{name}: hold"] * claim.certificate.holds(1e-6)
            if wrong := lies(claim):
                return f"{name}: {claim.text}: {'; '.join(wrong)}", counted
    except CvxensError:
        counted.append(f"{name}: refused")
    seconds = time.perf_counter() - began
    return f"{name}: took {seconds:.0f} s" if seconds > SLOW else "", counted


def check_solvers(number):
    """Return what is wrong with the library's own answers to a problem of mild numbers."""
    kind = PROBLEMS[number % len(PROBLEMS)]
    known = kind(np.random.default_rng([number, 1]), True)
    wrong = [] if known is None else list(solved(known))
    return f"{kind.__name__}: {'; '.join(wrong)}" if wrong else "", [kind.__name__]
