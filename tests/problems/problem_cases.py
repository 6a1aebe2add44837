"""Every formulation on small data, with its objective, its dual and its constraints in plain Python."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

import numpy as np

from cvxens import problems
from cvxens.errors import SolverFallbackWarning
from cvxens.problems.conic import ConicFunction
from cvxens.problems.modelling import Term

C, D, LAM, GAMMA = 0.15, 0.2, 0.05, 0.02
N, M = 12, 8

random = np.random.default_rng(2)
y = np.array([1.0, -1.0] * (N // 2))
H = np.where(random.random((N, M)) < 0.3, -1.0, 1.0) * y[:, None]
H[:, -1] = H[:, -2]
SEPARATING = np.column_stack([H, y * random.uniform(0.5, 2.0, N)])
CELLS = random.normal(size=(N, M)) + 0.4 * y[:, None]
points = random.normal(size=(N, 4)) + 0.6 * y[:, None]
K = points @ points.T + 0.3 * np.eye(N)
CONDITIONAL = -np.abs(points[:, None] - points[None]).sum(axis=2)
ALPHA = random.dirichlet(np.full(N, 5.0))
q = np.array([sum(y[i] * K[i, j] * y[j] * ALPHA[j] for j in range(N)) for i in range(N)])
RHO, SLACK_RHO = 0.5 * float(q @ ALPHA) + 0.5 * q.min(), float(q @ ALPHA) + 0.5
CODES = np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
L = CODES[np.arange(N) % 3]


@dataclass(frozen=True)
class Case:
    """A problem at a value of the parameter that may be swept, and what it is in plain Python at a repaired point.

    `violation` is the largest amount by which the point misses a constraint of the primal or of the dual. In plain
    Python the parameter has its default.
    """

    problem: Callable[..., problems.Problem]
    primal: Callable[[dict], float]
    dual: Callable[[dict], float]
    violation: Callable[[dict], float]


def margins(H, w, b=0.0):
    return [y[i] * (sum(H[i, j] * w[j] for j in range(H.shape[1])) + b) for i in range(N)]


def edges(H, u):
    return [sum(u[i] * y[i] * H[i, j] for i in range(N)) for j in range(H.shape[1])]


def hinge(z):
    return C * sum(max(0.0, 1.0 - v) for v in z)


def form(K, v):
    return sum(v[i] * K[i, j] * v[j] for i in range(N) for j in range(N))


def box(u, upper=np.inf):
    return max(*(-v for v in u), *(v - upper for v in u))


def balance(u):
    return abs(sum(y * u)) / max(1.0, sum(abs(u)))


def unslacked(norm, z):
    """P1 at weights of that squared norm, or at such a multiple of them that no margin is below 1."""
    scales = {1.0, 1 / min(z)} if 1e-100 < min(z) < 1 else {1.0}
    return min(scale**2 * norm / 2 + hinge([scale * v for v in z]) for scale in scales)


def soft_minimum(z):
    """The best of all margins as rho: a concave, piecewise linear function is largest at a kink."""
    return max(rho - D * sum(max(0.0, rho - v) for v in z) for rho in z)


def entropy(a):
    return sum((p * log(p / t) if p > 0 else 0.0) - p + t for p, t in zip(a, ALPHA, strict=True))


def svm(H):
    return Case(
        lambda C=C: (problems.InfiniteSVM if H is CELLS else problems.SVMPrimal)(H, y, C),
        lambda p: sum(p["w"] ** 2) / 2 + hinge(margins(H, p["w"], p["b"])),
        lambda p: sum(p["u"]) - sum(e * e for e in edges(H, p["u"])) / 2,
        lambda p: max(box(p["u"], C), balance(p["u"])),
    )


def svm_dual(K):
    return Case(
        lambda C=C: problems.SVMDual(K, y, C),
        lambda p: form(K, y * p["u"]) / 2 - sum(p["u"]),
        lambda p: -unslacked(form(K, y * p["u"]), margins(K, y * p["u"], p["b"])),
        lambda p: max(box(p["u"], C), balance(p["u"])),
    )


def projection(rho, equality):
    def miss(a):
        excess = sum(q * a) - rho
        return (abs(excess) if equality else max(0.0, excess)) / abs(q).max()

    return Case(
        lambda rho=rho: problems.EntropyProjection(K, y, ALPHA, rho, equality=equality),
        lambda p: entropy(p["alpha"]),
        lambda p: -log(sum(t * exp(-p["eta"] * (v - rho)) for t, v in zip(ALPHA, q, strict=True))),
        lambda p: max(box(p["alpha"]), abs(sum(p["alpha"]) - 1), miss(p["alpha"]), 0.0 if equality else -p["eta"]),
    )


CASES = {
    "SVMPrimal": svm(H),
    "SVMDual": svm_dual(K),
    "SVMDual, conditional": svm_dual(CONDITIONAL),
    "HardMarginBoosting": Case(
        lambda: problems.HardMarginBoosting(SEPARATING, y),
        lambda p: sum(p["w"]),
        lambda p: sum(p["u"]),
        lambda p: max(
            box(p["w"]),
            box(p["u"]),
            *(1 - z for z in margins(SEPARATING, p["w"])),
            *(edge - 1 for edge in edges(SEPARATING, p["u"])),
        ),
    ),
    "SoftMarginBoosting": Case(
        lambda C=C: problems.SoftMarginBoosting(H, y, C),
        lambda p: sum(p["w"]) + hinge(margins(H, p["w"])),
        lambda p: sum(p["u"]),
        lambda p: max(box(p["w"]), box(p["u"], C), max(edges(H, p["u"])) - 1),
    ),
    "InfiniteSVM": svm(CELLS),
    "LPBoost": Case(
        lambda D=D: problems.LPBoost(H, y, D),
        lambda p: soft_minimum(margins(H, p["a"])),
        lambda p: max(edges(H, p["u"])),
        lambda p: max(box(p["a"]), abs(sum(p["a"]) - 1), box(p["u"], D), abs(sum(p["u"]) - 1)),
    ),
    "RhoSVM": Case(
        lambda: problems.RhoSVM(K, y),
        lambda p: 2 * p["rho"] - form(K, p["c"]),
        lambda p: form(K, y * p["u"]),
        lambda p: max(box(p["u"]), abs(sum(p["u"]) - 1), *(p["rho"] - z for z in margins(K, p["c"]))),
    ),
    "EntropyProjection": projection(RHO, equality=True),
    "EntropyProjection, upwards": projection(SLACK_RHO, equality=True),
    "EntropyProjection, at most": projection(RHO, equality=False),
    "RegularizedExpLoss": Case(
        lambda lam=LAM: problems.RegularizedExpLoss(K, y, lam),
        lambda p: sum(exp(-z) for z in margins(K, p["eta"])) / N + LAM * form(K, p["eta"]),
        lambda p: -sum(v * log(N * v) - v for v in p["u"] if v > 0) - form(K, y * p["u"]) / (4 * LAM),
        lambda p: box(p["u"]),
    ),
    "SLSSVM": Case(
        lambda C=C: problems.SLSSVM(H, L, C),
        lambda p: (
            (p["W"] ** 2).sum() / 2
            + C / 2 * sum(sum((L[i] - sum(H[i, j] * p["W"][j] for j in range(M)) - p["b"]) ** 2) for i in range(N))
        ),
        lambda p: (
            (p["U"] * L).sum()
            - sum(sum(sum(p["U"][i] * H[i, j] for i in range(N)) ** 2) for j in range(M)) / 2
            - (p["U"] ** 2).sum() / (2 * C)
        ),
        lambda p: max(abs(sum(p["U"]))) / max(1.0, abs(p["U"]).sum()),
    ),
    "RegularizedLeastSquares": Case(
        lambda gamma=GAMMA: problems.RegularizedLeastSquares(K, y, gamma),
        lambda p: sum((sum(K[i] * p["c"]) - y[i]) ** 2 for i in range(N)) / N + GAMMA * form(K, p["c"]),
        lambda p: sum(p["s"] * y) - N / 4 * sum(p["s"] ** 2) - form(K, p["s"]) / (4 * GAMMA),
        lambda p: 0.0,
    ),
}


def solve_quietly(problem):
    """Solve by whichever solver of the chain finds an optimum, without a word of those that do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SolverFallbackWarning)
        return problem.solve()


def solved(problem):
    """What any of the solvers reaches, as its own certificate says: none of them reaches nine digits every time."""
    solution = solve_quietly(problem)
    assert problem.certify(solution).holds(1e-6)
    return solution


def dense(columns):
    """The array that columns stand for."""
    return columns.scores(np.eye(columns.shape[1]))


def conic_of(express, shape, constraints=lambda v: ()):
    """Return the conic function of a convex expression, infinite where the constraints do not hold."""
    return ConicFunction.from_term(lambda v: Term(express(v), tuple(constraints(v))), shape)
