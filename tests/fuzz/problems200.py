"""Problems of cvxpy's in any units beside their optima: no bound beyond one, and proofs where there can be any.

A number draws one of `FAMILIES`: programs as textbooks, users of cvxpy and tests of scipy and scikit-learn have them.
The optimum is known in closed form, or by a solver of another kind, or by the problem as it is in units of 1 at the
least tolerances. It is stated again in other units, solved by one of five solvers at a loose or a tight tolerance,
perhaps with wrong points and multipliers planted, and certified.
"""

import time
from functools import partial

import cvxpy as cp
import numpy as np
from scipy import optimize, sparse, special

from cvxens import certify_problem
from cvxens.errors import InvalidInput

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
"""What the truth is solved to where there is no closed form."""

SOLVERS = {
    "CLARABEL": lambda tol: {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol},
    "ECOS": lambda tol: {"abstol": tol, "reltol": tol, "feastol": tol},
    "OSQP": lambda tol: {"eps_abs": tol, "eps_rel": tol, "max_iter": 20_000},
    "SCS": lambda tol: {"eps_abs": tol, "eps_rel": tol, "max_iters": 20_000},
    "HIGHS": lambda tol: {"primal_feasibility_tolerance": tol, "dual_feasibility_tolerance": tol},
}

UNITS = [1e-8, 1e-4, 1.0, 1.0, 1.0, 1e3, 1e8]


RESIDUALS = {
    "lasso": (15, 8, lambda r, x: cp.sum_squares(r) + 3 * cp.norm1(x)),
    "elastic_net": (15, 8, lambda r, x: cp.norm(r) + cp.norm1(x) + 0.1 * cp.sum_squares(x)),
    "group_lasso": (15, 6, lambda r, x: cp.sum_squares(r) + 2 * sum(cp.norm(x[k : k + 2]) for k in (0, 2, 4))),
    "quantile_regression": (15, 3, lambda r, x: cp.sum(cp.maximum(-0.3 * r, 0.7 * r))),
    "chebyshev_approximation": (10, 3, lambda r, x: cp.norm_inf(r)),
    "robust_least_squares": (8, 3, lambda r, x: cp.norm(r) + 0.5 * cp.norm(x)),
    "power": (8, 3, lambda r, x: cp.sum(cp.power(cp.abs(r), 1.5))),
    "p_norm": (8, 3, lambda r, x: cp.norm(r, 3)),
    "sum_of_largest": (10, 3, lambda r, x: cp.sum_largest(cp.abs(r), 3)),
}
"""Numbers of samples and of weights x, and an objective of residuals A x - b and x."""

VECTORS = {
    "ball": (5, lambda c, x: (c @ x, [cp.norm(x) <= 2], -2 * np.linalg.norm(c))),
    "largest": (5, lambda c, x: (cp.max(x - c), [cp.sum(x) == 0], -c.mean())),
    "constant": (3, lambda c, x: (cp.Constant(3.0), [x >= 0, cp.sum(x) <= 1], 3.0)),
    "point": (2, lambda c, x: (x[0] + x[1], [cp.norm(x) <= 0], 0.0)),
    "infeasible_lp": (4, lambda c, x: (cp.sum(x), [(0.5 + np.abs(c)) @ x <= -1, x >= 0], np.inf)),
    "infeasible_cone": (3, lambda c, x: (c @ x, [cp.norm(x) <= 1, cp.sum(x) >= 2], np.inf)),
    "infeasible_equations": (4, lambda c, x: (cp.sum_squares(x), [c @ x == 1, 2 * (c @ x) == 3], np.inf)),
    "infeasible_exponential": (2, lambda c, x: (cp.sum(x), [cp.exp(x[0]) <= x[1], x[1] <= x[0]], np.inf)),
    "unbounded_lp": (4, lambda c, x: (-cp.sum(x), [x >= 0, x[0] - x[1] <= abs(c[0])], -np.inf)),
    "unbounded_cone": (3, lambda c, x: (x[0], [cp.norm(x[:2]) <= -x[2]], -np.inf)),
    "unbounded_logarithm": (3, lambda c, x: (-cp.sum(cp.log(x)) - cp.sum(x), [x >= 0.1], -np.inf)),
}
"""The length of one vector x, and objective, constraints and optimum, of x and normal numbers c."""


PROGRAMS = {
    "least_squares": ((12, 4), 12, 4, lambda A, b, x: (cp.sum_squares(A @ x - b), [], np.linalg.lstsq(A, b)[1][0])),
    "nonnegative_least_squares": (
        (10, 5),
        10,
        5,
        lambda A, b, x: (cp.norm(A @ x - b), [x >= 0], optimize.nnls(A, b)[1]),
    ),
    "one_class": (
        (10, 3),
        10,
        lambda X, a: (cp.quad_form(a, cp.psd_wrap(X @ X.T)), [cp.sum(a) == 1, a >= 0, a <= 0.25], None),
    ),
    "median": (9, (), lambda b, x: (cp.norm1(b - x), [], np.abs(b - np.median(b)).sum())),
    "huber_regression": ((15, 3), 15, 3, lambda A, b, x: (cp.sum(cp.huber(A @ x - 3 * b, 1.0)), [], None)),
    "logistic": ((20, 3), 3, lambda X, w: (cp.sum(cp.logistic(X @ w)) + 0.5 * cp.sum_squares(w), [], None)),
    "portfolio": ((6, 6), 6, 6, lambda F, c, w: (cp.sum_squares(F @ w) - c @ w, [cp.sum(w) == 1, w >= 0], None)),
    "risk_limit": (
        (6, 3),
        6,
        6,
        lambda F, c, w: (-c @ w, [cp.sum(w) == 1, w >= -0.5, cp.norm(F.T @ w) <= 3, cp.norm1(w) <= 2], None),
    ),
    "entropy": (6, 6, lambda a, p: (-cp.sum(cp.entr(p)) - a @ p, [cp.sum(p) == 1], -special.logsumexp(a))),
    "softmax_of_lines": ((8, 3), 3, lambda A, x: (cp.log_sum_exp(A @ x + 1) + cp.sum_squares(x), [], None)),
    "spectral_norm": ((3, 4, 2), 2, lambda M, x: (cp.sigma_max(M[..., 0] + M[..., 1] * x[0] + x[1]), [], None)),
    "total_variation": (12, 12, lambda b, x: (cp.sum_squares(x - b - np.repeat([0, 2], 6)) / 2 + cp.tv(x), [], None)),
    "trend": (12, 12, lambda b, x: (cp.sum_squares(x - b) + cp.norm1(cp.diff(x, 2)), [], None)),
    "facility": ((6, 2), 2, lambda P, x: (cp.sum(cp.norm(P - cp.reshape(x, (1, 2), order="C"), axis=1)), [], None)),
    "experiment": ((3, 7), 7, lambda V, p: (-cp.log_det(V @ cp.diag(p) @ V.T), [p >= 0, cp.sum(p) == 1], None)),
    "thin": (3, 3, lambda b, x: (cp.sum_squares(x - b), [x <= 1, x >= 1], np.square(1 - b).sum())),
}
"""The sizes of arrays of normal numbers, that of x, and objective, constraints and optimum, of the arrays and x."""


def box_by_attributes(random, var):
    c, x = random.normal(size=4), var(4, bounds=[-1, 2])
    return c @ x, [], -np.maximum(c, -2 * c).sum()


def bounded_least_squares(random, var):
    A, b, x = random.normal(size=(10, 4)), random.normal(size=10), var(4)
    found = optimize.lsq_linear(A, b, (-0.1, 0.2), method="bvls", tol=1e-14)
    return 0.5 * cp.sum_squares(A @ x - b), [x >= -0.1, x <= 0.2], found.cost


def ridge_by_norm(random, var):
    A, b, x = random.normal(size=(9, 4)), random.normal(size=9), var(4)
    truth = b @ np.linalg.solve(A @ A.T / 0.3 + np.eye(9), b)
    return cp.sum_squares(A @ x - b) + 0.3 * cp.sum_squares(x), [], truth


def soft_margin(random, var):
    X, y, w, b = random.normal(size=(14, 3)), np.sign(random.normal(size=14)), var(3), var()
    return cp.sum_squares(w) / 2 + 2 * cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b))), [], None


def soft_margin_by_slacks(random, var):
    X, y, w, s = random.normal(size=(14, 3)), np.sign(random.normal(size=14)), var(3), var(14)
    return cp.sum_squares(w) / 2 + cp.sum(s), [s >= 0, cp.multiply(y, X @ w) >= 1 - s], None


def kernel_dual(random, var):
    X, y, a = random.normal(size=(10, 3)), np.resize([1.0, -1.0], 10), var(10)
    K = X * y[:, np.newaxis]
    return 0.5 * cp.sum_squares(K.T @ a) - cp.sum(a), [a >= 0, a <= 1, y @ a == 0], None


def isotonic(random, var):
    b, x = random.normal(size=8), var(8)
    truth = np.square(optimize.isotonic_regression(b).x - b).sum()
    return cp.sum_squares(x - b), [cp.diff(x) >= 0], truth


def poisson(random, var):
    X, w = random.normal(size=(12, 3)), var(3)
    return cp.sum(cp.exp(X @ w)) - random.poisson(1.0, 12) @ X @ w + cp.sum_squares(w), [], None


def assignment(random, var):
    C, P = random.uniform(size=(4, 4)), var((4, 4))
    truth = C[optimize.linear_sum_assignment(C)].sum()
    return cp.sum(cp.multiply(C, P)), [cp.sum(P, axis=0) == 1, cp.sum(P, axis=1) == 1, P >= 0], truth


def transport(random, var):
    C, P = random.uniform(size=(3, 5)), var((3, 5))
    supply, demand = np.full(3, 5.0), np.full(5, 3.0)
    return cp.sum(cp.multiply(C, P)), [cp.sum(P, axis=1) <= supply, cp.sum(P, axis=0) >= demand, P >= 0], None


def entropic_transport(random, var):
    C, P = random.uniform(size=(3, 3)), var((3, 3))
    fair = [cp.sum(P, axis=1) == 1 / 3, cp.sum(P, axis=0) == 1 / 3]
    return cp.sum(cp.multiply(C, P)) - 0.1 * cp.sum(cp.entr(P)), fair, None


def scheduling(random, var):
    times, t, end = random.uniform(1, 3, 6), var(6), var()
    before = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (4, 5)]
    finish = np.zeros(6)
    for i, j in before:
        finish[j] = max(finish[j], finish[i] + times[i])
    truth = (finish + times).max()
    return end, [t >= 0, *(t[j] >= t[i] + times[i] for i, j in before), t + times <= end], truth


def degenerate(random, var):
    x = var(3)
    corner = [a @ x <= 1 for a in np.vstack([np.eye(3), [[1, 1, 1]], random.uniform(size=(6, 3))])]
    truth = -optimize.linprog(-np.ones(3), np.ones((1, 3)), [1.0]).fun
    return -cp.sum(x), [*corner, x >= 0], -truth if truth == 1 else None


def redundant(random, var):
    A, x, at = random.normal(size=(2, 5)), var(5), random.uniform(0.5, 1, 5)
    rows = A.round(2)
    met = [rows @ x == rows @ at, 2 * (rows[0] @ x) == 2 * (rows[0] @ at), x >= 0]
    return random.uniform(size=5) @ x, met, None


def diet(random, var):
    A, x = random.uniform(size=(3, 6)), var(6, nonneg=True)
    c = random.uniform(0.5, 1, 6)
    return c @ x, [A @ x >= 1], optimize.linprog(c, -A, -np.ones(3)).fun


def shortest_path(random, var):
    at = np.array([(i, j) for i in range(5) for j in range(i + 1, 5)])
    length, f = random.uniform(1, 2, len(at)), var(len(at))
    E = np.zeros((5, len(at)))
    E[at[:, 0], range(len(at))], E[at[:, 1], range(len(at))] = 1, -1
    return length @ f, [E @ f == [1, 0, 0, 0, -1], f >= 0], None


def chebyshev_centre(random, var):
    A, x, r = random.normal(size=(8, 2)), var(2), var()
    A = np.vstack([A, np.eye(2), -np.eye(2)])
    return -r, [A @ x + np.linalg.norm(A, axis=1) * r <= 1 + random.uniform(size=12)], None


def value_at_risk(random, var):
    R, w, a = random.normal(size=(20, 3)), var(3), var()
    return a + cp.sum(cp.pos(-R @ w - a)) / 4, [cp.sum(w) == 1, w >= 0], None


def kullback(random, var):
    q, p = random.dirichlet(np.ones(5)), var(5)
    return cp.sum(cp.kl_div(p, q)), [cp.sum(p) == 1, p[0] >= 0.5], None


def water_filling(random, var):
    noise, p = random.uniform(0.5, 1.5, 5), var(5)
    return -cp.sum(cp.log(noise + p)), [p >= 0, cp.sum(p) == 1], None


def log_determinant(random, var):
    A = random.normal(size=(6, 3))
    S, X = A.T @ A / 6 + np.eye(3) / 5, var((3, 3), symmetric=True)
    return cp.trace(S @ X) - cp.log_det(X), [], 3 + np.linalg.slogdet(S)[1]


def sparse_covariance(random, var):
    A = random.normal(size=(6, 3))
    S, X = A.T @ A / 6 + np.eye(3) / 5, var((3, 3), PSD=True)
    return cp.trace(S @ X) - cp.log_det(X) + 0.1 * cp.sum(cp.abs(X)), [], None


def largest_eigenvalue(random, var):
    C, x = random.normal(size=(4, 4)), var(3)
    D = [np.diag(d) for d in random.normal(size=(3, 4))]
    matrix = C + C.T + sum(x[k] * D[k] for k in range(3))
    return cp.lambda_max(matrix) + cp.norm(x), [], None


def least_eigenvalue(random, var):
    C, X = random.normal(size=(4, 4)), var((4, 4), PSD=True)
    return cp.trace((C + C.T) @ X), [cp.trace(X) == 1], np.linalg.eigvalsh(C + C.T)[0]


def max_cut(random, var):
    W, X = random.uniform(size=(5, 5)), var((5, 5), PSD=True)
    return cp.trace((W + W.T) @ X), [cp.diag(X) == 1], None


def matrix_completion(random, var):
    M, X = random.normal(size=(4, 1)) @ random.normal(size=(1, 3)), var((4, 3))
    seen = (random.uniform(size=(4, 3)) < 0.7).astype(float)
    return cp.normNuc(X) + cp.sum_squares(cp.multiply(seen, X - M)), [], None


def low_rank_noise(random, var):
    M, X = random.normal(size=(4, 3)), var((4, 3))
    s = np.linalg.svd(M, compute_uv=False)
    return cp.sum_squares(X - M) / 2 + 0.5 * cp.normNuc(X), [], np.where(s > 0.5, 0.5 * s - 0.125, s**2 / 2).sum()


def ellipsoid(random, var):
    points, A, b = random.normal(size=(6, 2)), var((2, 2), PSD=True), var(2)
    return -cp.log_det(A), [cp.norm(A @ p + b) <= 1 for p in points], None


def robust_programme(random, var):
    A, x = random.uniform(size=(4, 3)), var(3)
    return -cp.sum(x), [x >= 0, *(a @ x + 0.2 * cp.norm(x) <= 1 for a in A)], None


def geometric_mean(random, var):
    a, x = random.uniform(0.5, 2, 3), var(3)
    return -cp.geo_mean(x), [a @ x <= 3], -1 / a.prod() ** (1 / 3)


def inverses(random, var):
    a, x = random.uniform(0.5, 2, 4), var(4)
    return cp.sum(cp.multiply(a, cp.inv_pos(x))), [cp.sum(x) <= 1], np.sqrt(a).sum() ** 2


def quadratic_over_linear(random, var):
    b, x, t = random.normal(size=4), var(4), var()
    return cp.quad_over_lin(x - b, t) + t, [cp.sum(x) == b.sum() + 2], 2.0


def projection_on_a_simplex(random, var):
    b, x = random.normal(size=6), var(6)
    level = optimize.brentq(lambda t: np.maximum(b - t, 0).sum() - 1, b.min() - 2, b.max(), xtol=1e-15)
    truth = np.square(np.maximum(b - level, 0) - b).sum()
    return cp.sum_squares(x - b), [x >= 0, cp.sum(x) == 1], truth


def control(random, var):
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0], [0.1]])
    x, u = var((2, 6)), var((1, 5))
    cost = cp.sum_squares(x) + 0.1 * cp.sum_squares(u)
    return cost, [x[:, 0] == random.normal(size=2), x[:, 1:] == A @ x[:, :-1] + B @ u, cp.abs(u) <= 5], None


def diagonal(random, var):
    C, X = random.normal(size=(3, 3)), var((3, 3), diag=True)
    return cp.sum_squares(X - C), [], np.square(C - np.diag(np.diag(C))).sum()


def by_parameters(random, var):
    b, p, x = random.normal(size=5), cp.Parameter(nonneg=True, value=2.0), var(5)
    return cp.sum_squares(x - b) / 2 + p * cp.norm1(x), [], np.where(np.abs(b) > 2, 2 * np.abs(b) - 2, b**2 / 2).sum()


def infeasible_matrix(random, var):
    X = var((3, 3), PSD=True)
    return cp.trace(X), [X[0, 0] == 1, X[1, 1] == 1, X[0, 1] == 2], np.inf


def fit_residuals(n_samples, n_weights, measure, random, var):
    A, b, x = random.normal(size=(n_samples, n_weights)), random.normal(size=n_samples), var(n_weights)
    return measure(A @ x - b, x), [], None


def choose_vector(length, state, random, var):
    return state(random.normal(size=length), var(length))


def choose_arrays(*given, random, var):
    *sizes, shape, state = given
    return state(*(random.normal(size=size) for size in sizes), var(shape))


NAMES = """
least_squares nonnegative_least_squares bounded_least_squares lasso elastic_net group_lasso ridge_by_norm soft_margin
soft_margin_by_slacks kernel_dual one_class quantile_regression median huber_regression isotonic logistic poisson
assignment transport entropic_transport scheduling degenerate redundant diet shortest_path chebyshev_approximation
chebyshev_centre portfolio risk_limit value_at_risk entropy kullback softmax_of_lines water_filling log_determinant
sparse_covariance largest_eigenvalue least_eigenvalue max_cut matrix_completion low_rank_noise spectral_norm ellipsoid
robust_least_squares robust_programme total_variation trend geometric_mean power p_norm inverses sum_of_largest
quadratic_over_linear projection_on_a_simplex facility control experiment ball box_by_attributes diagonal
by_parameters largest constant thin point infeasible_lp infeasible_cone infeasible_equations infeasible_exponential
infeasible_matrix unbounded_lp unbounded_cone unbounded_logarithm
""".split()  # noqa: SIM905
"""The families in the order in which numbers take them."""

TABLED = {name: partial(choose_arrays, *given) for name, given in PROGRAMS.items()}
TABLED |= {name: partial(fit_residuals, *given) for name, given in RESIDUALS.items()}
TABLED |= {name: partial(choose_vector, *given) for name, given in VECTORS.items()}
FAMILIES = {name: TABLED[name] if name in TABLED else globals()[name] for name in NAMES}
"""From a generator and a maker of variables to objective, constraints, and the optimum where it is known."""

WITHOUT_INSIDE = {"thin", "point", "transport", "redundant", "infeasible_equations", "infeasible_matrix"}
"""What may stay without a proof, if a condition says so or nothing is promised."""


class Drawn:
    """A problem of a family in some units of variables, constraints and the objective."""

    def __init__(self, family, number, unit=1.0, scale=1.0, price=1.0):
        self.variables = []

        def var(shape=(), **attributes):
            if "bounds" in attributes:
                attributes["bounds"] = [end / unit for end in attributes["bounds"]]
            self.variables.append(cp.Variable(shape, **attributes))
            return unit * self.variables[-1] if unit != 1 else self.variables[-1]

        random = np.random.default_rng(number)
        objective, constraints, truth = family(random=random, var=var)
        scaled = [self._scale(constraint, scale) for constraint in constraints] if scale != 1 else constraints
        goal, sign = (cp.Maximize, -1.0) if number % 3 == 0 else (cp.Minimize, 1.0)
        self.problem = cp.Problem(goal(sign * price * objective), scaled)
        self.truth = None if truth is None else sign * price * truth
        self.sign = sign

    @staticmethod
    def _scale(constraint, scale):
        if isinstance(constraint, cp.constraints.Equality):
            return scale * constraint.args[0] == scale * constraint.args[1]
        if isinstance(constraint, cp.constraints.Inequality):
            return scale * constraint.args[0] <= scale * constraint.args[1]
        return constraint


def find_truth(family, number):
    """Return the optimum in units of 1, what it may be off by, relative, and the point of a solver."""
    drawn = Drawn(family, number)
    drawn.problem.solve(solver="CLARABEL", **TIGHT)
    solved = drawn.problem.status in ("optimal", "optimal_inaccurate")
    values = [v.value for v in drawn.variables] if solved else None
    if drawn.truth is not None:
        return drawn.sign * drawn.truth, 1e-9, values
    return drawn.sign * drawn.problem.value, 1e-9 if drawn.problem.status == "optimal" else 1e-6, values


def check(number):
    """Return what is wrong with the certificate of a problem, and what it is counted as."""
    kind, random = NAMES[number % len(NAMES)], np.random.default_rng([number, 1])
    family = FAMILIES[kind]
    optimum, off, values = find_truth(family, number)
    unit, scale, price = random.choice(UNITS), random.choice(UNITS), random.choice([1e-6, 1.0, 1.0, 1e6])
    drawn = Drawn(family, number, unit, scale, price)
    problem, optimum = drawn.problem, price * optimum * drawn.sign
    name, tolerance = random.choice(list(SOLVERS)), random.choice([1e-4, 1e-9])
    start = time.process_time()
    try:
        problem.solve(solver=name, **SOLVERS[name](tolerance))
    except (cp.SolverError, ValueError):
        name = "truth"
    took = time.process_time() - start
    if np.isfinite(optimum) and (name == "truth" or any(v.value is None for v in drawn.variables)):
        name, tolerance = "truth", 1e-9
        for variable, value in zip(drawn.variables, values, strict=True):
            variable.save_value(value / unit)
    plant = random.choice(["none", "none", "duals", "near", "far"])
    if plant == "duals":
        for constraint in problem.constraints:
            constraint.save_dual_value(random.normal(size=constraint.shape))
    if plant in ("near", "far") and np.isfinite(optimum):
        for variable in drawn.variables:
            value = variable.value.toarray() if sparse.issparse(variable.value) else np.asarray(variable.value)
            size = (1e-5 if plant == "near" else 1e2) * (np.abs(value).max() or 1.0)
            variable.project_and_assign(value + random.normal(size=variable.shape) * size)
    start = time.process_time()
    try:
        certificate = certify_problem(problem)
    except InvalidInput as refusal:
        # a ray along the border of cones is not found
        return "" if kind == "unbounded_logarithm" else str(refusal), [f"{name}: refused"]
    seconds = time.process_time() - start
    size = price * max(1.0, abs(optimum / price)) if np.isfinite(optimum) else 1.0
    low, high = drawn.sign * certificate.dual, drawn.sign * certificate.primal
    least, wrong = drawn.sign * optimum, []
    text = f"{kind} {name} {tolerance:.0e} unit {unit:.0e} scale {scale:.0e} price {price:.0e} {plant}"
    if (certificate.proven or not certificate.condition) and not low <= least + off * size:
        wrong.append(f"dual {low} above the optimum {least}")
    if (certificate.proven or not certificate.condition) and not high >= least - off * size:
        wrong.append(f"primal {high} below the optimum {least}")
    if not certificate.proven and not (kind in WITHOUT_INSIDE and certificate.condition):
        wrong.append(f"not proven: {low} {high} {least} {certificate.condition} {certificate.note}")
    value = drawn.sign * float(np.squeeze(problem.objective.value)) if problem.objective.value is not None else np.inf
    if np.isfinite(least) and plant in ("none", "duals") and certificate.proven:
        own = abs(value - least) / size + max(certificate.residuals.values(), default=0.0)
        if certificate.gap > size * max(10 * own, 10 * tolerance, 1e-6):
            wrong.append(f"gap {certificate.gap / size:.1e} for {own:.1e}: {low} {least} {high}")
    if seconds > 5 * took + 1.0:
        wrong.append(f"took {seconds:.1f} s for {took:.1f}")
    kinds = [f"{name}: {'proven' if certificate.proven else certificate.condition or 'nothing'}"]
    return f"{text}: {'; '.join(wrong)}" if wrong else "", kinds
