"""Random formulations beside the optimum over all columns at once: no bound above it, no objective below, no false end.

Each is a loss, a penalty, perhaps a constraint, an intercept and a sign of the weights, with an oracle whose hypotheses
can be listed; losses and penalties are those of the library or expressions of the same. The truth is the whole problem
over all of these hypotheses in cvxpy, written here without the library.
"""

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from variants import Line, enumerate_all, list_stumps

from cvxens.colgen import Ending, Formulation, column_generation, oracles
from cvxens.errors import SolverFailed
from cvxens.problems import losses, penalties

TOLERANCE = 2e-6
"""What the truth and a run may be off by, relative to the sizes of what they are made of."""

TIGHT = {
    "CLARABEL": {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9},
    "ECOS": {"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9, "max_iters": 200},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000},
}


@dataclass(frozen=True)
class Part:
    """A loss or a penalty as the library has it, if it does, and as an expression of the same."""

    name: str
    known: Any
    express: Any


@dataclass(frozen=True)
class Drawn:
    """A formulation with an oracle and labels, and the problem over all columns."""

    text: str
    formulation: Formulation
    oracle: Any
    y: Any
    H: np.ndarray
    loss: Part
    penalty: Part


def features(random):
    """Few samples of few features, with ties."""
    n, d = int(random.integers(4, 10)), int(random.integers(1, 3))
    X = random.integers(0, random.integers(2, 6), (n, d)).astype(float)
    X[0] = X.max(axis=0) + 1
    return X


def hypotheses(random, X, nonnegative):
    """An oracle over a finite set, and the columns of the set: with their negations where weights are one-sided."""
    kind = random.integers(7)
    both = (lambda H: np.hstack([H, -H])) if nonnegative else (lambda H: H)
    if kind <= 1:
        return "stumps", oracles.Stumps(X), both(list_stumps(X)[0])
    table = random.normal(size=(len(X), int(random.integers(1, 6)))).round(2)
    if kind == 2:
        return "pool", oracles.Pool(table), both(table)
    if kind == 3:
        return "one-sided pool", oracles.Pool(table, negations=False), table
    if kind == 4:
        signs = random.choice([-1, 0, 1], X.shape[1])
        H, at = list_stumps(X)
        side = np.where(at < 0, 0, signs[at])
        chosen = [*(H[:, side != -1].T), *(-H[:, side == -1].T), *(-H[:, side == 0].T)] if nonnegative else [*H.T]
        return f"stumps with signs {signs}", oracles.Stumps(X, signs=signs), np.column_stack(chosen)
    if kind == 5:
        costs = random.choice([0.5, 1.0, 3.0], X.shape[1])
        H, at = (values[..., :-1] for values in list_stumps(X))
        return f"stumps at costs {costs}", oracles.Stumps(X, costs=costs, constant=False), both(H / costs[at])
    linear = oracles.Costed(oracles.Pool.of([Line(j) for j in range(X.shape[1])], X), 2.0)
    union = oracles.Union(oracles.Stumps(X), linear)
    return "union", union, both(np.hstack([list_stumps(X)[0], X / 2]))


def on_margins(random, n):
    C = float(10.0 ** random.uniform(-1, 0.7))
    d, k = float(random.uniform(0.2, 2)), int(random.integers(1, n + 1))
    return [
        Part("hinge", losses.Hinge(C), lambda z: C * cp.sum(cp.pos(1 - z))),
        Part("logistic", losses.Logistic(C), lambda z: C * cp.sum(cp.logistic(-z))),
        Part("squared hinge", losses.SquaredHinge(C), lambda z: C / 2 * cp.sum_squares(cp.pos(1 - z))),
        Part("exponential", losses.Exponential(C), lambda z: C * cp.sum(cp.exp(-z))),
        Part("huberised hinge", None, lambda z: C * cp.sum(cp.huber(cp.pos(1 - z), d))),
        Part("largest hinges", None, lambda z: C * cp.sum_largest(cp.pos(1 - z), k)),
        Part("norm of hinges", None, lambda z: C * cp.norm2(cp.pos(1 - z))),
        Part("log-sum-exp", None, lambda z: C * cp.log_sum_exp(-z)),
        Part("hinge with slacks", None, _with_slacks(C, n)),
    ][random.integers(9)]


def _with_slacks(C, n):
    """Express a hinge by variables of its own: |xi| + (1 - z - xi)_+ is least at any xi in between."""

    def express(z):
        xi = cp.Variable(n)
        return C * cp.sum(cp.abs(xi) + cp.pos(1 - z - xi))

    return express


def on_scores(random, n):
    C, t = float(10.0 ** random.uniform(-1, 0.7)), random.normal(size=n).round(1)
    counts, q = random.poisson(1.5, n).astype(float), float(random.uniform(0.1, 0.9))
    return [
        Part("squared error", None, lambda f: C / 2 * cp.sum_squares(t - f)),
        Part("absolute error", None, lambda f: C * cp.norm1(t - f)),
        Part("pinball", None, lambda f: C * cp.sum(cp.maximum(q * (t - f), (q - 1) * (t - f)))),
        Part("huber", None, lambda f: C * cp.sum(cp.huber(t - f, 0.3))),
        Part("insensitive", None, lambda f: C * cp.sum(cp.pos(cp.abs(t - f) - 0.2))),
        Part("poisson", None, lambda f: C * (cp.sum(cp.exp(f)) - counts @ f)),
        Part("root", None, lambda f: C * cp.norm2(t - f)),
    ][random.integers(7)]


def is_later(random):
    """True from a number on: with those before, what is kept as found draws what it drew."""
    return random.bit_generator.seed_seq.entropy[0] >= 50_000


def on_weights(random, nonnegative):
    a, b = (float(10.0**x) for x in random.uniform(-1, 0.5, 2))
    known = [
        Part("l1", penalties.L1(a), lambda w: a * cp.norm1(w)),
        Part("l2", penalties.SquaredL2(a), lambda w: a / 2 * cp.sum_squares(w)),
        Part("elastic net", penalties.ElasticNet(a, b), lambda w: a * cp.norm1(w) + b / 2 * cp.sum_squares(w)),
        Part("square of l1", None, lambda w: a / 2 * cp.square(cp.norm1(w))),
        Part("kinked l1", None, lambda w: a * cp.norm1(w) + 10 * cp.pos(cp.norm1(w) - b)),
        Part("budget", None, lambda w: (0.0, [cp.norm1(w) <= b])),
        Part("l1 in a box", None, lambda w: (a * cp.norm1(w), [cp.abs(w) <= b])),
        Part("l1 and huber", None, lambda w: a * cp.norm1(w) + cp.sum(cp.huber(w, b))),
    ]
    if is_later(random):
        known.append(Part("l1 and norm 2", None, lambda w: a * cp.norm1(w) + b * cp.norm2(w)))
        known.append(Part("l1 in a ball", None, lambda w: (a * cp.norm1(w), [cp.norm2(w) <= b])))
    if nonnegative:
        known.append(Part("simplex", penalties.Simplex(), lambda w: (0.0, [cp.sum(w) == 1])))
    return known[random.integers(len(known))]


def on_outputs(random, n, k):
    """Losses on several scores per sample."""
    C, L = float(10.0 ** random.uniform(-1, 0.7)), random.normal(size=(n, k)).round(1)
    labels = random.integers(0, k, n)
    own = np.eye(k)[labels]

    def multiclass_hinge(F):
        of_own = cp.reshape(cp.sum(cp.multiply(own, F), axis=1), (n, 1), order="C") @ np.ones((1, k))
        return C * cp.sum(cp.max(F - of_own + (1 - own), axis=1))

    return [
        Part("squared error", losses.SquaredError(C, L), lambda F: C / 2 * cp.sum_squares(L - F)),
        Part("multiclass hinge", None, multiclass_hinge),
        Part("absolute error", None, lambda F: C * cp.sum(cp.abs(L - F))),
        Part("norms of errors", None, lambda F: C * cp.sum(cp.norm(L - F, 2, axis=1))),
    ][random.integers(4)]


def on_rows(random):
    """Penalties on the weights of hypotheses over several outputs."""
    a = float(10.0 ** random.uniform(-0.5, 0.7))
    return [
        Part("l1", penalties.L1(a), lambda W: a * cp.sum(cp.abs(W))),
        Part("l2", penalties.SquaredL2(a), lambda W: a / 2 * cp.sum_squares(W)),
        Part("row 2-norms", penalties.RowNorms(a), lambda W: a * cp.sum(cp.norm(W, 2, axis=1))),
        Part("row maxima", penalties.RowNorms(a, np.inf), lambda W: a * cp.sum(cp.norm(W, "inf", axis=1))),
        Part("trace norm and l1", None, lambda W: a * cp.normNuc(W) / 2 + a * cp.sum(cp.abs(W)) / 2),
    ][random.integers(5 if is_later(random) else 4)]


def held(random, n):
    """Constraints that some constant scores meet, on margins or scores, or none."""
    half, limit = np.arange(n) < n // 2, float(random.uniform(0.05, 0.5))
    return [
        None,
        None,
        lambda z: [cp.abs(cp.sum(z[half]) / half.sum() - cp.sum(z[~half]) / (~half).sum()) <= 4 * limit],
        lambda z: [z[0] <= limit],
        lambda z: [cp.norm(z, "inf") <= 3 * limit],
    ][random.integers(5)]


def draw(number):
    """The case of a number."""
    random = np.random.default_rng([number, 13])
    X = features(random)
    n, nonnegative = len(X), bool(random.random() < 0.4)
    name, oracle, H = hypotheses(random, X, nonnegative)
    scores, intercept = bool(random.random() < 0.4), bool(random.random() < 0.5)
    y = np.where(random.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    outputs = int(random.integers(2, 4)) if random.random() < 0.2 else None
    if outputs:
        return _draw_outputs(random, outputs, (name, oracle, H), intercept, nonnegative)
    loss = (on_scores if scores else on_margins)(random, n)
    penalty, constraints = on_weights(random, nonnegative), held(random, n) if random.random() < 0.4 else None
    if constraints is not None and not intercept and not scores:
        intercept = True
    if loss.name == "log-sum-exp" and penalty.name != "l2":
        # it falls without end along margins that can all be raised
        penalty = Part("l2", penalties.SquaredL2(1.0), lambda w: 0.5 * cp.sum_squares(w))
    by_expression = random.random(2) < 0.5
    on_z = loss.known if loss.known is not None and not by_expression[0] else loss.express
    plain = not isinstance(penalty.express(cp.Variable(2)), tuple)
    on_w = penalty.express if penalty.known is None or (by_expression[1] and plain) else penalty.known
    formulation = Formulation(
        on_z, on_w, intercept=intercept, nonnegative=nonnegative, scores=scores, constraints=constraints
    )
    kinds = "expression" if on_z is loss.express else "known", "expression" if on_w is penalty.express else "known"
    text = (
        f"{loss.name} ({kinds[0]}) + {penalty.name} ({kinds[1]}), {name}, {n} samples, "
        f"{'an' if intercept else 'no'} intercept, {'w >= 0' if nonnegative else 'free w'}"
        f"{', constrained' if constraints is not None else ''}"
    )
    return Drawn(text, formulation, oracle, None if scores else y, H, loss, penalty)


def _draw_outputs(random, k, hypotheses, intercept, nonnegative):
    name, oracle, H = hypotheses
    loss, penalty = on_outputs(random, len(H), k), on_rows(random)
    on_z = loss.known if loss.known is not None and random.random() < 0.5 else loss.express
    on_w = penalty.known if penalty.known is not None and random.random() < 0.5 else penalty.express
    formulation = Formulation(on_z, on_w, intercept=intercept, nonnegative=nonnegative, outputs=k)
    kinds = "expression" if on_z is loss.express else "known", "expression" if on_w is penalty.express else "known"
    text = (
        f"{loss.name} ({kinds[0]}) + {penalty.name} ({kinds[1]}) of {k} outputs, {name}, {len(H)} samples, "
        f"{'an' if intercept else 'no'} intercept, {'w >= 0' if nonnegative else 'free w'}"
    )
    return Drawn(text, formulation, oracle, None, H, loss, penalty)


def find_truth(drawn):
    """Solve over all columns at once; returns the optimum and its size, nan where two solvers do not agree on it."""
    terms = drawn.loss.express, drawn.penalty.express
    problem, loss, penalty = enumerate_all(drawn.formulation, drawn.H, drawn.y, *terms)
    found = []
    for solver, options in TIGHT.items():
        try:
            problem.solve(solver=solver, **options)
        except (cp.SolverError, ValueError, ArithmeticError):
            continue
        if problem.status in {"infeasible", "unbounded"}:
            return np.nan, 1.0
        if problem.status == "optimal":
            size = abs(float(loss.value)) + abs(float(np.sum(penalty.value)))
            found.append((float(problem.value), max(size, 1e-3)))
            if solver == "CLARABEL":
                return found[0]
    agreed = len(found) > 1 and abs(found[0][0] - found[1][0]) <= TOLERANCE / 4 * found[0][1]
    return found[0] if agreed else (np.nan, 1.0)


def reaches(drawn, run, size):
    """Return True if a run's weights have the objective that it says, and so the other solver's optimum is too high."""
    w, z = run.weights, run.decision_function(drawn.oracle.sample)
    z = z if drawn.y is None else drawn.y * z
    on_w, constraints = drawn.penalty.express(cp.Constant(w)), []
    if isinstance(on_w, tuple):
        on_w, constraints = on_w
    if drawn.formulation.constraints is not None:
        constraints = [*constraints, *drawn.formulation.constraints(cp.Constant(z))]
    if drawn.loss.name == "hinge with slacks" or not all(c.value(1e-9) for c in constraints):
        return False
    value = drawn.loss.express(cp.Constant(z)).value + (on_w if np.isscalar(on_w) else on_w.value)
    return bool(abs(value - run.certificate.primal) <= 1e-9 * size)


def check(number):
    """Compare a run with the truth; returns what is wrong, empty where nothing is, and what kind of end it had."""
    drawn = draw(number)
    optimum, size = find_truth(drawn)
    if np.isnan(optimum):
        return "", ["no truth"]
    try:
        run = column_generation(drawn.formulation, drawn.oracle, drawn.y, tol=1e-6, max_rounds=200)
    except SolverFailed:
        return "", ["solver failed"]
    certificate, room = run.certificate, TOLERANCE * size
    wrong = []
    if certificate.dual - certificate.rounding > optimum + room:
        wrong.append(f"dual {certificate.dual:.9g} above the optimum {optimum:.9g}")
    if certificate.primal + certificate.rounding < optimum - room and not reaches(drawn, run, size):
        wrong.append(f"primal {certificate.primal:.9g} below the optimum {optimum:.9g}")
    if run.ending is Ending.OPTIMAL and certificate.primal > optimum + room + 1e-6 * abs(optimum):
        wrong.append(f"OPTIMAL at {certificate.primal:.9g}, where {optimum:.9g} is")
    if run.ending is Ending.VIOLATED:
        wrong.append(f"violated: {certificate.primal:.9g} and {certificate.dual:.9g}, optimum {optimum:.9g}")
    kind = f"{run.ending.name}{', proven' if certificate.holds(1e-5) else ''}"
    if not wrong and certificate.primal > optimum + 100 * room:
        kind = f"{run.ending.name}, away from the optimum"
    return "; ".join(wrong) + (f" [{drawn.text}]" if wrong else ""), [kind]
