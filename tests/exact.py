"""Optima in exact rational numbers, by a road that shares nothing with the library.

Doubles are rational, so a linear or quadratic program of a few variables has an exact optimum: Lemke's method on its
optimality conditions, in integers. What has logarithms is bracketed in decimals of `DIGITS` digits.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import lcm

import numpy as np

DIGITS = 60


def fractions(values):
    """Nested lists of the exact values of an array, or the exact value of a number."""
    return [fractions(value) for value in values] if np.ndim(values) else Fraction(float(values))


def dot(left, right):
    """The inner product."""
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def product(matrix, vector):
    """A matrix times a vector."""
    return [dot(row, vector) for row in matrix]


def gram(H):
    """H H'."""
    return [[dot(a, b) for b in H] for a in H]


def transposed(matrix):
    """Rows as columns."""
    return [list(column) for column in zip(*matrix, strict=True)]


def form(K, v):
    """v'K v."""
    return dot(v, product(K, v))


def as_integers(row):
    """A positive multiple of a row of rationals."""
    denominator = lcm(*(value.denominator for value in row))
    return [int(value * denominator) for value in row]


class Tableau:
    """Integer rows over one positive denominator, which is exact and needs no common divisors (Edmonds 1967)."""

    def __init__(self, rows):
        self.rows, self.denominator = rows, 1

    def pivot(self, r, k):
        """Make column k a unit vector with its 1 in row r."""
        pivot, row = self.rows[r][k], self.rows[r]
        for i, other in enumerate(self.rows):
            if i != r:
                factor = other[k]
                self.rows[i] = [(a * pivot - factor * b) // self.denominator for a, b in zip(other, row, strict=True)]
        self.denominator = pivot
        if pivot < 0:
            self.rows, self.denominator = [[-a for a in row] for row in self.rows], -pivot


def complementary(M, q):
    """z >= 0 with w = M z + q >= 0 and w'z = 0 by Lemke's method; None if it ends in a ray.

    For M of a convex program a ray says that the program is infeasible or unbounded. Ties of the ratio test are broken
    lexicographically, so that no degenerate vertex makes it cycle.
    """
    n = len(q)
    rows = []
    for i in range(n):
        scaled = as_integers([-m for m in M[i]] + [q[i]])
        # w - M z - z0 = q, each row times a number of its own, which leaves signs and complementarity as they are
        rows.append([int(i == j) for j in range(n)] + scaled[:-1] + [-1, scaled[-1]])
    if all(row[-1] >= 0 for row in rows):
        return [Fraction(0)] * n
    tableau, basis, artificial = Tableau(rows), list(range(n)), 2 * n
    # the least row, later ones first among equals: w_i - z0 = q_i + e_i epsilon^i
    r = min(range(n), key=lambda i: (rows[i][-1], [-value for value in rows[i][:n]]))
    entering = artificial
    while True:
        tableau.pivot(r, entering)
        leaving, basis[r] = basis[r], entering
        if leaving == artificial:
            z = [Fraction(0)] * (2 * n)
            for i, variable in enumerate(basis):
                z[variable] = Fraction(tableau.rows[i][-1], tableau.denominator)
            return z[n:]
        entering = leaving + n if leaving < n else leaving - n
        candidates = [i for i in range(n) if tableau.rows[i][entering] > 0]
        if not candidates:
            return None
        # z0's row would do as well where its ratio is among the least, and ends the search
        last = basis.index(artificial)
        r = _least_ratio(tableau.rows, candidates, entering, n, last)


def _least_ratio(rows, candidates, entering, n, last):
    """The row that leaves: of the least ratio, the last one's if it is among those, else lexicographically."""
    for column in (len(rows[0]) - 1, None, *range(n)):
        if column is None:
            candidates = [last] if last in candidates else candidates
        else:
            best = candidates[0]
            for i in candidates[1:]:
                if rows[i][column] * rows[best][entering] < rows[best][column] * rows[i][entering]:
                    best = i
            level, size = rows[best][column], rows[best][entering]
            candidates = [i for i in candidates if rows[i][column] * size == level * rows[i][entering]]
        if len(candidates) == 1:
            return candidates[0]
    return candidates[0]


def minimise(Q, c, A, b):
    """Minimise 1/2 x'Q x + c'x subject to A x >= b, x >= 0; returns the optimum, x, and the multipliers of A x >= b.

    Q is None for a linear program. None where there is no optimum.
    """
    n, m = len(c), len(b)
    rows = [([Fraction(0)] * n if Q is None else Q[i]) + [-A[k][i] for k in range(m)] for i in range(n)]
    rows += [[*A[k], *[Fraction(0)] * m] for k in range(m)]
    solution = complementary(rows, [*c, *(-value for value in b)])
    if solution is None:
        return None
    x = solution[:n]
    return dot(c, x) + (0 if Q is None else form(Q, x) / 2), x, solution[n:]


def unit(n, k, value=1):
    """The k-th unit vector, times a value."""
    return [Fraction(value) if i == k else Fraction(0) for i in range(n)]


def svm_dual(K, y, C):
    """The optimum of P2, ``min 1/2 u'(K o yy')u - sum u, 0 <= u <= C_i, y'u = 0``, with u and the intercept.

    K need only be PSD on coefficients that sum to 0; Lemke's method is for what is PSD, as the kernel is that has its
    origin in the first sample.
    """
    n = len(y)
    Q = [[(K[i][j] - K[i][0] - K[0][j] + K[0][0]) * y[i] * y[j] for j in range(n)] for i in range(n)]
    A = [*(unit(n, i, -1) for i in range(n)), list(y), [-value for value in y]]
    value, u, multipliers = minimise(Q, [Fraction(-1)] * n, A, [*(-price for price in C), Fraction(0), Fraction(0)])
    moved = sum(K[0][i] * y[i] * u[i] for i in range(n))
    return value, u, multipliers[n + 1] - multipliers[n] - moved


def rho_svm(K, y):
    """The optimum of min u'(K o yy')u on the simplex, with u."""
    n = len(y)
    Q = [[2 * K[i][j] * y[i] * y[j] for j in range(n)] for i in range(n)]
    value, u, _ = minimise(Q, [Fraction(0)] * n, [[Fraction(1)] * n], [Fraction(1)])
    total = sum(u)
    return value / total**2, [a / total for a in u]


def soft_margin(H, y, C):
    """The optimum of max sum u, 0 <= u <= C_i (None for no bound), H'(y u) <= 1, with u and w; None if unbounded."""
    n = len(y)
    A = [[-y[i] * H[i][j] for i in range(n)] for j in range(len(H[0]))]
    b = [Fraction(-1)] * len(A)
    if C is not None:
        A, b = A + [unit(n, i, -1) for i in range(n)], b + [-price for price in C]
    found = minimise(None, [Fraction(-1)] * n, A, b)
    return None if found is None else (-found[0], found[1], found[2][: len(H[0])])


def lpboost(H, y, D):
    """The optimum of min g, H'(y u) <= g, sum u = 1, 0 <= u <= D_i, with u and a; None if there is no such u."""
    n, m = len(y), len(H[0])
    A = [[*(-y[i] * H[i][j] for i in range(n)), Fraction(1), Fraction(-1)] for j in range(m)]
    A += [unit(n + 2, i, -1) for i in range(n)]
    ones = [*[Fraction(1)] * n, Fraction(0), Fraction(0)]
    A += [ones, [-value for value in ones]]
    b = [Fraction(0)] * m + [-price for price in D] + [Fraction(1), Fraction(-1)]
    found = minimise(None, [*[Fraction(0)] * n, Fraction(1), Fraction(-1)], A, b)
    return None if found is None else (found[0], found[1][:n], found[2][:m])


def solve(A, B):
    """X with A X = B, for a square A that is not singular, by elimination in integers."""
    n = len(A)
    tableau = Tableau([as_integers([*left, *right]) for left, right in zip(A, B, strict=True)])
    free, place = list(range(n)), []
    for k in range(n):
        r = next(i for i in free if tableau.rows[i][k])
        free.remove(r)
        place.append(r)
        tableau.pivot(r, k)
    return [[Fraction(value, tableau.denominator) for value in tableau.rows[r][n:]] for r in place]


def regularized_least_squares(K, y, gamma):
    """The optimum of min 1/m |K c - y|^2 + gamma c'K c, with c: (K + m gamma I) c = y and gamma y'c."""
    n = len(y)
    ridge = [[K[i][j] + (n * gamma if i == j else 0) for j in range(n)] for i in range(n)]
    c = [row[0] for row in solve(ridge, [[value] for value in y])]
    return gamma * dot(y, c), c


def slssvm(H, L, C):
    """The optimum of min 1/2 |W|^2 + C/2 |L - H W - 1 b'|^2, with U and b: 1/2 <U, L>."""
    n, K = len(H), gram(H)
    A = [[K[i][j] + (1 / C if i == j else 0) for j in range(n)] + [Fraction(1)] for i in range(n)]
    A.append([Fraction(1)] * n + [Fraction(0)])
    X = solve(A, [*L, [Fraction(0)] * len(L[0])])
    return sum(dot(a, b) for a, b in zip(X[:n], L, strict=True)) / 2, X[:n], X[n]


def decimal(value):
    """A rational number to `DIGITS` digits."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def regularized_exp_loss(K, y, lam):
    """A bracket of the optimum of min 1/n sum exp(-y_i (K eta)_i) + lam eta'K eta, with eta, by Newton on the dual.

    Any u > 0 bounds it from below by ``-sum(u ln(n u) - u) - v'K v / (4 lam)``, v = y u, and ``eta = v / (2 lam)`` from
    above.
    """
    n = len(y)
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = DIGITS, -(10**9), 10**9
        G = [[decimal(K[i][j] * y[i] * y[j] / (2 * lam)) for j in range(n)] for i in range(n)]
        u = [1 / (n * (1 + G[i][i])) for i in range(n)]

        def dual(u):
            f = [sum(G[i][j] * u[j] for j in range(n)) for i in range(n)]
            return -sum(a * (n * a).ln() - a for a in u) - sum(a * b for a, b in zip(u, f, strict=True)) / 2, f

        value, f = dual(u)
        for _ in range(200):
            slope = [-(n * u[i]).ln() - f[i] for i in range(n)]
            step = _solve_decimal([[G[i][j] + (1 / u[i] if i == j else 0) for j in range(n)] for i in range(n)], slope)
            t = min([Decimal(1), *(-u[i] / step[i] * Decimal("0.99") for i in range(n) if step[i] < 0)])
            rise = sum(a * b for a, b in zip(slope, step, strict=True))
            if rise <= abs(value) * Decimal(10) ** (20 - DIGITS):
                break
            while True:
                moved = [a + t * d for a, d in zip(u, step, strict=True)]
                new, at = dual(moved)
                if new >= value or t < Decimal("1e-30"):
                    break
                t /= 2
            u, value, f = moved, new, at
        above = sum(_exp(-a) for a in f) / n + sum(a * b for a, b in zip(u, f, strict=True)) / 2
        eta = [Fraction(a) / (2 * lam) * label for a, label in zip(u, y, strict=True)]
        return Fraction(value), Fraction(above), eta


def exp_loss_at(K, y, lam, eta):
    """1/n sum exp(-y_i (K eta)_i) + lam eta'K eta."""
    f = product(K, eta)
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = DIGITS, -(10**9), 10**9
        loss = sum(_exp(-decimal(a * label)) for a, label in zip(f, y, strict=True)) / len(y)
        return Fraction(loss) + lam * dot(eta, f)


def _exp(value):
    """The exponential; beyond 10^6 what it is there, as that is as good as infinite."""
    return min(max(value, Decimal(-(10**6))), Decimal(10**6)).exp()


def _solve_decimal(A, b):
    n = len(b)
    rows = [[*A[i], b[i]] for i in range(n)]
    for k in range(n):
        r = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[r] = rows[r], rows[k]
        for i in range(n):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def entropy_projection(q, alpha_t, rho, *, equality):
    """The optimum of min sum a ln(a / a_t) - a + a_t on the simplex, q'a = rho or <= rho, with eta, to 40 digits.

    The dual function ``-ln(sum a_t exp(-eta (q - rho)))`` is concave in eta; its slope, ``q'a - rho`` with sign, is
    bracketed and halved.
    """
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = DIGITS, -(10**9), 10**9
        shifted, weights = [decimal(a - rho) for a in q], [decimal(a) for a in alpha_t]

        def slope(eta):
            exponents = [-eta * a for a in shifted]
            most = max(exponents)
            return sum(w * (e - most).exp() * a for w, e, a in zip(weights, exponents, shifted, strict=True))

        def value(eta):
            exponents = [-eta * a for a in shifted]
            most = max(exponents)
            return -most - sum(w * (e - most).exp() for w, e in zip(weights, exponents, strict=True)).ln()

        eta = Decimal(0)
        start = slope(eta)
        if start != 0 and (equality or start > 0):
            sign = 1 if start > 0 else -1
            near, far = Decimal(0), sign / max(abs(a) for a in shifted)
            while slope(far) * sign > 0:
                near, far = far, 2 * far
            for _ in range(4 * DIGITS):
                middle = (near + far) / 2
                near, far = (middle, far) if slope(middle) * sign > 0 else (near, middle)
            eta = (near + far) / 2
        shift = sum(weights) - 1
        return Fraction(value(eta) + shift), Fraction(eta)


def exponential_less_one(value):
    """exp - 1 of a rational number up to 0, to `DIGITS` digits after the point or, where it is tiny, in all."""
    if abs(value) < Fraction(1, 10**20):
        return value + value**2 / 2 + value**3 / 6
    with localcontext() as context:
        context.prec = 2 * DIGITS
        result = max(decimal(value), Decimal(-1000)).exp() - 1
        return Fraction(result.quantize(Decimal(10) ** -DIGITS))


def root(value):
    """The square root of a rational number, to `DIGITS` digits."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = DIGITS, -(10**9), 10**9
        return Fraction(decimal(value).sqrt())
