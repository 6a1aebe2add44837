"""Formulations that a researcher may want, each in at most ten lines: what they are, their sources, their code.

Each is a function from data (see `make_data`) to a formulation, an oracle and labels, or None where the loss is on
scores. All are held against the same problem over all stumps at once in cvxpy, and proven.

``python tests/fuzz/fuzz.py variants COUNT`` does so for samples of more and more rows, and ``python docs/variants.py``
writes them down as ``docs/variants.md``.
"""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import cvxpy as cp
import numpy as np

from cvxens.colgen import Formulation, column_generation, formulations, oracles
from cvxens.errors import SolverFallbackWarning
from cvxens.hypotheses import Staircase
from cvxens.kernels import Gaussian, Laplacian
from cvxens.problems import simplex_codes
from cvxens.problems.losses import CVaR, Exponential, Hinge, HuberizedHinge, Logistic, SquaredError, SquaredHinge
from cvxens.problems.pair_losses import PairwiseExponential, PairwiseHinge, PairwiseSquaredHinge
from cvxens.problems.penalties import L1, ElasticNet, RowNorms, Simplex, SquaredL2


@dataclass(frozen=True)
class Variant:
    """A formulation: its name, its formula, its source if it has one, and its code."""

    name: str
    formula: str
    source: str
    make: Callable

    @property
    def code(self):
        """Its lines, without name and decorator."""
        return inspect.cleandoc(inspect.getsource(self.make).split(":\n", 1)[1])


VARIANTS: dict[str, Variant] = {}


def variant(formula, source=""):
    """Enter a function into the table."""

    def enter(make):
        VARIANTS[make.__name__] = Variant(make.__name__.replace("_", " "), formula, source, make)
        return make

    return enter


def make_data(n, seed=0):
    """X (n, 2); labels y; targets t (n,) and T (n, 2); counts, classes 0 to 2, grades 1 to 3; two groups; bags of rows.

    times and events are those of a survival study; f0 are the scores of an earlier model; H has every stump and the
    constant.
    """
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (n, 2)).astype(float) if n < 100 else random.normal(size=(n, 2)).round(1)
    signal = X[:, 0] - X[:, 1] + random.normal(size=n) * X.std()
    y = np.where(signal > np.median(signal), 1.0, -1.0)
    T = np.column_stack([signal, X[:, 0] + random.normal(size=n)]) / 3
    edges = np.quantile(signal, [1 / 3, 2 / 3])
    bags = np.repeat(np.eye(n // 4), 4, axis=1)[:, :n] / 4
    bags = np.pad(bags, ((0, 0), (0, n - bags.shape[1])))
    return SimpleNamespace(
        n=n,
        X=X,
        y=y,
        t=T[:, 0],
        T=T,
        counts=random.poisson(np.exp(T[:, 0].clip(-1, 1))).astype(float),
        classes=np.digitize(signal, edges),
        grades=1 + np.digitize(signal, edges),
        group=random.random(n) < 0.5,
        bags=bags,
        times=random.permutation(n).astype(float),
        events=random.random(n) < 0.7,
        f0=0.3 * X[:, 0] - 0.8,
        H=list_stumps(X)[0],
    )


def list_stumps(X):
    """Every stump that rises and splits the sample, and the constant; and their features, -1 of that."""
    found = [(np.where(x >= value, 1.0, -1.0), j) for j, x in enumerate(X.T) for value in np.unique(x)[1:]]
    columns, at = zip(*found, (np.ones(len(X)), -1), strict=True)
    return np.column_stack(columns), np.array(at)


# margins of two classes


@variant("sum (1 - z)_+ + 3 sum w, w >= 0", "LL08 P4")
def soft_margin_boosting(d):
    return formulations.soft_margin(C=1 / 3), oracles.Stumps(d.X), d.y


@variant("max rho - D sum xi, z >= rho - xi, sum w = 1", "DBS02")
def lpboost(d):
    return formulations.lpboost(D=1 / (0.4 * d.n)), oracles.Stumps(d.X), d.y


@variant("LPBoost less an entropy of the sample weights", "Warmuth, Glocer & Vishwanathan 2008")
def entropy_regularised_lpboost(d):
    return formulations.erlpboost(D=1 / (0.4 * d.n), eta=5.0), oracles.Stumps(d.X), d.y


@variant("C sum (1 - z)_+ + 1/2 |w|^2", "LL08 P1, SL (1)")
def svm_over_stumps(d):
    return formulations.svm(C=0.1), oracles.Stumps(d.X), d.y


@variant("sum ln(1 + exp(-z)) + lam |w|_1", "Friedman, Hastie & Tibshirani 2000")
def logistic_lasso(d):
    return Formulation(Logistic(1.0), L1(2.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("sum ln(1 + exp(-z)) + lam/2 |w|^2")
def logistic_ridge(d):
    return Formulation(Logistic(1.0), SquaredL2(3.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("sum exp(-z) + lam |w|_1", "AdaBoost's loss")
def exponential_lasso(d):
    return Formulation(Exponential(1.0), L1(2.0)), oracles.Stumps(d.X), d.y


@variant("1/2 sum (1 - z)_+^2 + lam |w|_1")
def squared_hinge_lasso(d):
    return Formulation(SquaredHinge(1.0), L1(2.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("the hinge rounded off over a width d, + lam |w|_1", "Chapelle 2007")
def huberised_hinge(d):
    return Formulation(HuberizedHinge(1.0, d=0.5), L1(2.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("sum (1 - z)_+ + lam |w|_1 + mu/2 |w|^2", "Zou & Hastie 2005; Wang, Zhu & Zou 2006")
def doubly_regularised_svm(d):
    return Formulation(Hinge(1.0), ElasticNet(2.0, 1.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("the mean of the worst share nu of the hinges, + lam |w|_1", "Rockafellar & Uryasev 2000")
def cvar_of_hinges(d):
    return Formulation(CVaR(D=1 / (0.3 * d.n)), L1(0.1), intercept=True), oracles.Stumps(d.X), d.y


@variant("the sum of the k largest hinges, + lam |w|_1", "Fan, Lyu, Ying & Hu 2017")
def average_top_k(d):
    loss = lambda z: cp.sum_largest(cp.pos(1 - z), d.n // 4)
    return Formulation(loss, L1(1.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("the largest hinge, + lam |w|_1")
def minimax_hinge(d):
    return Formulation(lambda z: cp.max(cp.pos(1 - z)), L1(0.1), intercept=True), oracles.Stumps(d.X), d.y


@variant("|(1 - z)_+|_2 + lam |w|_1", "after the square-root lasso")
def square_root_hinge(d):
    return Formulation(lambda z: cp.norm2(cp.pos(1 - z)), L1(0.5), intercept=True), oracles.Stumps(d.X), d.y


@variant("ln sum exp(-z) subject to |w|_1 <= T", "AdaBoost with a budget; Shen & Li 2010")
def log_sum_exp_with_a_budget(d):
    return Formulation(lambda z: cp.log_sum_exp(-z), lambda w: [0, cp.norm1(w) <= 2]), oracles.Stumps(d.X), d.y


@variant("sum ln(1 + exp(-z)) subject to |w|_1 <= T")
def logistic_with_a_budget(d):
    return Formulation(Logistic(1.0), lambda w: [0, cp.norm1(w) <= 1.5], intercept=True), oracles.Stumps(d.X), d.y


@variant("sum (1 - z)_+ + lam |w|_1, |w_j| <= c")
def weights_in_a_box(d):
    return Formulation(Hinge(1.0), lambda w: [cp.norm1(w), cp.abs(w) <= 0.2], intercept=True), oracles.Stumps(d.X), d.y


@variant("sum ln(1 + exp(-z)) + |w|_1^2", "the squared l1 norm")
def squared_l1_norm(d):
    return Formulation(Logistic(1.0), lambda w: cp.square(cp.norm1(w)), intercept=True), oracles.Stumps(d.X), d.y


@variant("sum_i C_i (1 - z_i)_+ + lam |w|_1", "costs of examples")
def costs_of_samples(d):
    return Formulation(Hinge(np.where(d.group, 1.0, 0.3)), L1(2.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("5 times the hinges of one class and those of the other, + lam |w|_1")
def costs_of_classes(d):
    return Formulation(Hinge(np.where(d.y > 0, 5.0, 1.0)), L1(2.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("max(0, 1 - z, 1 - a z): the hinge with a price for not answering", "Bartlett & Wegkamp 2008")
def reject_option(d):
    loss = lambda z: cp.sum(cp.maximum(0, 1 - z, 1 - 3 * z))
    return Formulation(loss, L1(2.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("-sum z + lam/2 |w|^2", "van Rooyen, Menon & Williamson 2015")
def unhinged(d):
    return Formulation(lambda z: -cp.sum(z), SquaredL2(5.0)), oracles.Stumps(d.X), d.y


@variant("-mean z + var z / 2 subject to |w|_1 <= T", "MDBoost, Shen & Li 2010")
def margin_distribution(d):
    loss = lambda z: -cp.sum(z) / d.n + cp.sum_squares(z - cp.sum(z) / d.n) / (2 * d.n)
    return Formulation(loss, lambda w: [0, cp.norm1(w) <= 1]), oracles.Stumps(d.X), d.y


@variant("the largest mean loss over groups, + lam |w|_1", "Sagawa, Koh, Hashimoto & Liang 2020")
def group_robust(d):
    groups = [np.flatnonzero(d.group), np.flatnonzero(~d.group)]
    loss = lambda z: cp.max(cp.hstack([cp.sum(cp.logistic(-z[g])) / len(g) for g in groups]))
    return Formulation(loss, L1(0.05), intercept=True), oracles.Stumps(d.X), d.y


@variant("min over eta of eta + c |(hinge - eta)_+|_2: the worst case over a chi^2 ball", "Hashimoto et al. 2018")
def chi_square_robust(d):
    eta = cp.Variable(name="eta")
    loss = lambda z: eta + 2 / np.sqrt(d.n) * cp.norm2(cp.pos(cp.pos(1 - z) - eta))
    return Formulation(loss, L1(0.1), intercept=True), oracles.Stumps(d.X), d.y


@variant("ln mean exp(hinge) + lam |w|_1: the entropic risk", "Föllmer & Schied 2002")
def entropic_risk(d):
    return Formulation(lambda z: cp.log_sum_exp(cp.pos(1 - z)), L1(0.05), intercept=True), oracles.Stumps(d.X), d.y


# constraints on margins


@variant("hinges, such that both groups have the same mean score", "Zafar et al. 2017")
def demographic_parity(d):
    a, b = d.y * d.group / d.group.sum(), d.y * ~d.group / (~d.group).sum()
    fair = Formulation(Hinge(1.0), L1(2.0), intercept=True, constraints=lambda z: [cp.abs((a - b) @ z) <= 0.1])
    return fair, oracles.Stumps(d.X), d.y


@variant("logistic loss, such that positives of both groups have nearly the same mean margin", "Donini et al. 2018")
def equal_opportunity(d):
    a, b = d.group & (d.y > 0), ~d.group & (d.y > 0)
    c = a / a.sum() - b / b.sum()
    fair = Formulation(Logistic(1.0), L1(2.0), intercept=True, constraints=lambda z: [cp.abs(c @ z) <= 0.05])
    return fair, oracles.Stumps(d.X), d.y


@variant("hinges of positives, such that the mean hinge of negatives is at most alpha", "Rigollet & Tong 2011")
def neyman_pearson(d):
    p, q = np.flatnonzero(d.y > 0), np.flatnonzero(d.y < 0)
    loss, held = lambda z: cp.sum(cp.pos(1 - z[p])), lambda z: [cp.sum(cp.pos(1 - z[q])) <= 0.6 * len(q)]
    return Formulation(loss, L1(1.0), intercept=True, constraints=held), oracles.Stumps(d.X), d.y


@variant("hinges with scores in [-1, 1]")
def bounded_scores(d):
    held = lambda z: [cp.norm(z, "inf") <= 1]
    return Formulation(Hinge(1.0), L1(1.0), intercept=True, constraints=held), oracles.Stumps(d.X), d.y


@variant("logistic loss, such that similar samples of both groups have similar scores", "Dwork et al. 2012")
def individual_fairness(d):
    i, j = np.flatnonzero(d.group)[:4], np.flatnonzero(~d.group)[:4]
    held = lambda f: [cp.abs(f[i] - f[j]) <= 0.2]
    loss = lambda f: cp.sum(cp.logistic(-cp.multiply(d.y, f)))
    return Formulation(loss, L1(1.0), intercept=True, scores=True, constraints=held), oracles.Stumps(d.X), None


# regression


@variant("1/2 sum (t - f)^2 + lam |w|_1", "Tibshirani 1996")
def lasso(d):
    return Formulation(lambda f: cp.sum_squares(d.t - f) / 2, L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("1/2 sum (t - f)^2 + lam/2 |w|^2", "Hoerl & Kennard 1970")
def ridge(d):
    return Formulation(SquaredError(1.0, d.t[:, None]), SquaredL2(3.0), intercept=True, outputs=1), stumps(d), None


@variant("sum |t - f| + lam |w|_1", "Wang, Li & Jiang 2007")
def least_absolute_deviations(d):
    return Formulation(lambda f: cp.norm1(d.t - f), L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("sum q (t - f)_+ + (1 - q) (f - t)_+, + lam |w|_1", "Koenker & Bassett 1978")
def quantile(d):
    loss = lambda f: cp.sum(0.8 * cp.pos(d.t - f) + 0.2 * cp.pos(f - d.t))
    return Formulation(loss, L1(0.5), intercept=True, scores=True), stumps(d), None


@variant("sum huber(t - f) + lam |w|_1", "Huber 1964")
def huber(d):
    return Formulation(lambda f: cp.sum(cp.huber(d.t - f, 0.5)), L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("sum (|t - f| - eps)_+ + lam |w|_1", "Vapnik 1995")
def support_vector_regression(d):
    loss = lambda f: cp.sum(cp.pos(cp.abs(d.t - f) - 0.2))
    return Formulation(loss, L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("|t - f|_2 + lam |w|_1", "Belloni, Chernozhukov & Wang 2011")
def square_root_lasso(d):
    return Formulation(lambda f: cp.norm2(d.t - f), L1(0.5), intercept=True, scores=True), stumps(d), None


@variant("the largest |t - f|, + lam |w|_1", "Chebyshev")
def chebyshev(d):
    return Formulation(lambda f: cp.norm(d.t - f, "inf"), L1(0.1), intercept=True, scores=True), stumps(d), None


@variant("sum of squares, three times as dear where f is too low, + lam |w|_1", "Newey & Powell 1987")
def expectile(d):
    loss = lambda f: 3 * cp.sum_squares(cp.pos(d.t - f)) + cp.sum_squares(cp.pos(f - d.t))
    return Formulation(loss, L1(2.0), intercept=True, scores=True), stumps(d), None


@variant("sum exp(f) - k f, + lam |w|_1", "Poisson regression")
def poisson(d):
    loss = lambda f: cp.sum(cp.exp(f)) - d.counts @ f
    return Formulation(loss, L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("sum e exp(f) - k f for exposures e, + lam |w|_1")
def poisson_with_exposures(d):
    loss = lambda f: np.exp(d.f0) @ cp.exp(f) - d.counts @ f
    return Formulation(loss, L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("sum t exp(-f) + f, + lam |w|_1", "gamma regression with a log link")
def gamma(d):
    loss = lambda f: (np.abs(d.t) + 0.1) @ cp.exp(-f) + cp.sum(f)
    return Formulation(loss, L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("sum (low - f)_+ + (f - high)_+, + lam |w|_1: targets known as intervals", "Tobin 1958")
def interval_censored(d):
    loss = lambda f: cp.sum(cp.pos(d.t - 0.3 - f)) + cp.sum(cp.pos(f - d.t - 0.5)[d.events])
    return Formulation(loss, L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("sum ln cosh(t - f) + lam |w|_1")
def log_cosh(d):
    loss = lambda f: cp.sum(cp.logistic(2 * (d.t - f)) - (d.t - f))
    return Formulation(loss, L1(1.0), intercept=True, scores=True), stumps(d), None


@variant("1/2 sum (t - f)^2 + lam sum w, w >= 0, stumps that rise with one feature and fall with the other")
def monotone_regression(d):
    loss = lambda f: cp.sum_squares(d.t - f) / 2
    rising = oracles.Stumps(d.X, signs=[1, -1])
    return Formulation(loss, L1(1.0), intercept=True, nonnegative=True, scores=True), rising, None, signed(d)


# more outputs


@variant("three pinball losses of three scores, f_1 <= f_2 <= f_3", "Bondell, Reich & Wang 2010")
def quantiles_that_do_not_cross(d):
    q, t = np.array([[0.25, 0.5, 0.75]]), d.t[:, None] @ np.ones((1, 3))
    loss = lambda F: cp.sum(cp.multiply(q, cp.pos(t - F)) + cp.multiply(1 - q, cp.pos(F - t)))
    held = lambda F: [F[:, 0] <= F[:, 1], F[:, 1] <= F[:, 2]]
    return Formulation(loss, L1(0.5), intercept=True, outputs=3, constraints=held), stumps(d), None


@variant("1/2 |T - F|^2 + lam sum_h |W_h|_2: tasks share hypotheses", "Argyriou, Evgeniou & Pontil 2008")
def multi_task(d):
    return Formulation(SquaredError(1.0, d.T), RowNorms(1.5), intercept=True, outputs=2), stumps(d), None


@variant("1/2 |T - F|^2 + lam sum_h max |W_h|", "Turlach, Venables & Wright 2005")
def multi_task_by_maxima(d):
    return Formulation(SquaredError(1.0, d.T), RowNorms(2.0, np.inf), intercept=True, outputs=2), stumps(d), None


@variant("sum |T_i - F_i|_2 + lam |W|_1", "multivariate median regression")
def spatial_median(d):
    loss = lambda F: cp.sum(cp.norm(d.T - F, 2, axis=1))
    return Formulation(loss, L1(1.0), intercept=True, outputs=2), stumps(d), None


@variant("sum max_k (1[k != y] + F_k - F_y) + lam |W|_1", "Crammer & Singer 2001")
def multiclass_hinge(d):
    own = np.eye(3)[d.classes]
    loss = lambda F: cp.sum(cp.max(1 - own + F, axis=1)) - cp.sum(cp.multiply(own, F))
    return Formulation(loss, L1(1.0), outputs=3), stumps(d), None


@variant("sum ln sum_k exp F_k - F_y, + lam |W|_1", "multinomial regression")
def multinomial(d):
    own = np.eye(3)[d.classes]
    loss = lambda F: cp.sum(cp.log_sum_exp(F, axis=1)) - cp.sum(cp.multiply(own, F))
    return Formulation(loss, L1(1.0), outputs=3), stumps(d), None


@variant("C/2 |L - F|^2 + 1/2 |W|^2 for the corners L of a simplex", "SL (10)")
def simplex_coding(d):
    return formulations.simplex_least_squares(simplex_codes(3)[d.classes], 0.2), stumps(d), None


@variant("sum_i sum_k exp(F_k - F_y) + lam |W|_1", "MultiBoost, Shen & Hao 2011")
def multiboost(d):
    return formulations.multiboost(0.5, d.classes), stumps(d), None


# variables of one's own, pairs, and bags


@variant("sum over thresholds of ln(1 + exp(-+(f - theta_k))), + lam |w|_1", "Rennie & Srebro 2005")
def ordinal_with_thresholds(d):
    theta = cp.Variable(2, name="theta")
    sides = [np.where(d.grades > k, 1.0, -1.0) for k in (1, 2)]
    loss = lambda f: sum(cp.sum(cp.logistic(-cp.multiply(s, f - theta[k]))) for k, s in enumerate(sides))
    return Formulation(loss, L1(1.0), scores=True), stumps(d, constant=False), None, d.H[:, :-1]


@variant("sum ln(1 + exp(-y (f + X v))) + lam |w|_1, v free: a partially linear model", "Engle et al. 1986")
def linear_part(d):
    v, X = cp.Variable(2, name="v"), d.X / d.X.std(axis=0)
    loss = lambda f: cp.sum(cp.logistic(-cp.multiply(d.y, f + X @ v)))
    return Formulation(loss, L1(2.0), intercept=True, scores=True), stumps(d), None


@variant("sum ln(1 + exp(-y (f0 + f))) + lam |w|_1: what to add to an earlier model")
def prior_scores(d):
    loss = lambda z: cp.sum(cp.logistic(-z - d.y * d.f0))
    return Formulation(loss, L1(1.0), intercept=True), oracles.Stumps(d.X), d.y


@variant("sum over events of ln sum_{still at risk} exp f - f_i, + lam |w|_1", "Cox 1972")
def cox(d):
    order = np.argsort(-d.times)
    risk = [(order[: k + 1], i) for k, i in enumerate(order) if d.events[i]]
    loss = lambda f: sum(cp.log_sum_exp(f[at]) - f[i] for at, i in risk)
    return Formulation(loss, L1(1.0), scores=True), stumps(d, constant=False), None, d.H[:, :-1]


@variant("max rho - mean (rho - f)_+ / nu, w >= 0, sum w = 1", "Rätsch, Mika, Schölkopf & Müller 2002")
def one_class(d):
    rho = cp.Variable(name="rho")
    loss = lambda f: -rho + cp.sum(cp.pos(rho - f)) / (0.3 * d.n)
    return Formulation(loss, Simplex(), nonnegative=True, scores=True), stumps(d, constant=False), None, d.H[:, :-1]


@variant("sum over pairs (1 - (f_i - f_j))_+ + lam sum w", "Joachims 2002")
def ranking(d):
    pairs = [(i, j) for i in range(d.n) for j in range(i) if d.grades[i] != d.grades[j]][:: d.n // 10]
    D = np.array([np.eye(d.n)[i] - np.eye(d.n)[j] for i, j in pairs])
    y = np.sign(D @ d.grades)
    return formulations.soft_margin(0.2), oracles.Rows(stumps(d, constant=False), D), y, D @ d.H[:, :-1]


@variant(
    "sum over pairs of a positive and a negative ln(1 + exp(f_j - f_i)), + lam |w|_1", "RankNet, Burges et al. 2005"
)
def area_under_the_curve(d):
    pairs = [(i, j) for i in np.flatnonzero(d.y > 0) for j in np.flatnonzero(d.y < 0)][:: d.n // 10]
    D = np.array([np.eye(d.n)[i] - np.eye(d.n)[j] for i, j in pairs])
    loss = lambda f: cp.sum(cp.logistic(-f))
    return Formulation(loss, L1(2.0), scores=True), oracles.Rows(stumps(d, constant=False), D), None, D @ d.H[:, :-1]


@variant("sum over all pairs of a query (1 - (f_p - f_q))_+, + lam |w|_1, sorted", "Joachims 2002")
def ranking_of_queries(d):
    return Formulation(PairwiseHinge(d.y, groups=d.group), L1(2.0), scores=True), stumps(d), None


@variant("sum over all pairs exp(f_q - f_p), + lam |w|_1, sorted", "RankBoost, Freund et al. 2003")
def rankboost(d):
    return Formulation(PairwiseExponential(d.y, C=1 / d.n), L1(1.0), scores=True), stumps(d), None


@variant("sum over all pairs (1 - (f_p - f_q))_+^2 / 2, + lam/2 |w|^2, sorted", "Chapelle & Keerthi 2010")
def squared_pairs(d):
    return Formulation(PairwiseSquaredHinge(d.y, C=1 / d.n), SquaredL2(1.0), scores=True), stumps(d), None


@variant("sum (mean f over the bag - its mean target)^2 + lam |w|_1", "Quadrianto et al. 2009")
def label_proportions(d):
    loss = lambda m: cp.sum_squares(m - d.bags @ d.y)
    return Formulation(loss, L1(0.5), intercept=True, scores=True), oracles.Rows(stumps(d), d.bags), None, d.bags @ d.H


@variant(
    "hinges of mean scores of positive bags and of the largest scores of negative ones", "after Andrews et al. 2003"
)
def multiple_instances(d):
    bags = [np.flatnonzero(bag) for bag in d.bags]
    loss = lambda f: sum(
        cp.pos(1 - cp.sum(f[bag]) / len(bag)) if k % 2 else cp.pos(1 + cp.max(f[bag])) for k, bag in enumerate(bags)
    )
    return Formulation(loss, L1(0.2), intercept=True, scores=True), stumps(d), None


# some labels, soft labels


@variant(
    "logistic loss of the labelled half + gamma sum (f_i - f_j)^2 over neighbours", "Belkin, Niyogi & Sindhwani 2006"
)
def manifold_regularisation(d):
    known, order = np.arange(d.n // 2), np.argsort(d.X[:, 0], kind="stable")
    loss = lambda f: cp.sum(cp.logistic(-cp.multiply(d.y, f)[known])) + 0.1 * cp.sum_squares(cp.diff(f[order]))
    return Formulation(loss, L1(0.5), intercept=True, scores=True), stumps(d), None


@variant("-pi mean f over positives + mean of max(f, (1 + f)_+/2) over all", "du Plessis, Niu & Sugiyama 2015")
def positive_and_unlabelled(d):
    p = np.flatnonzero(d.y > 0)[::2]
    loss = lambda f: -0.5 * cp.sum(f[p]) / len(p) + cp.sum(cp.maximum(f, cp.pos(1 + f) / 2)) / d.n
    return Formulation(loss, SquaredL2(0.2), intercept=True, scores=True), stumps(d), None


@variant("hinges of the labelled half, such that the mean of all scores is that of all labels", "Joachims 1999")
def balanced_transduction(d):
    known, held = np.arange(d.n // 2), lambda f: [cp.sum(f) == np.sum(d.y)]
    loss = lambda f: cp.sum(cp.pos(1 - cp.multiply(d.y, f)[known]))
    return Formulation(loss, L1(0.5), intercept=True, scores=True, constraints=held), stumps(d), None


@variant("sum ln(1 + exp f) - p f for soft labels p, + lam |w|_1", "Hinton, Vinyals & Dean 2015")
def distillation(d):
    p = 1 / (1 + np.exp(-2 * d.t))
    return Formulation(lambda f: cp.sum(cp.logistic(f)) - p @ f, L1(1.0), intercept=True, scores=True), stumps(d), None


# prices of hypotheses


@variant("sum ln(1 + exp(-z)) + sum_h cost(h) |w_h|: features have prices", "Xu, Weinberger & Chapelle 2012")
def prices_of_features(d):
    oracle = oracles.Stumps(d.X, costs=[1.0, 3.0])
    return Formulation(Logistic(1.0), L1(1.0), intercept=True), oracle, d.y, d.H / costs_of(d)


@variant("stumps and features as they are, these at twice the price")
def stumps_and_lines(d):
    lines = oracles.Costed(oracles.Pool.of([Line(0), Line(1)], d.X), 2.0)
    oracle = oracles.Union(oracles.Stumps(d.X), lines)
    return Formulation(Logistic(1.0), L1(1.0), intercept=True), oracle, d.y, np.hstack([d.H, d.X / 2])


@variant("sum ln(1 + exp(-z)) + |w - w0|_1: two stumps have weights before", "after Li, Grandvalet & Davoine 2018")
def prior_weights(d):
    before = d.H[:, [0, -2]] @ np.array([0.8, -1.1])
    loss = lambda z: cp.sum(cp.logistic(-z - d.y * before))
    return Formulation(loss, L1(1.0), intercept=True), oracles.Stumps(d.X), d.y


# groups of hypotheses, and kernels


@variant("sum ln(1 + exp(-z)) + lam sum_features |w_d|_2, w_d of all stumps of a feature", "Yuan & Lin 2006")
def group_lasso(d):
    groups = lambda w: 3.0 * sum(cp.norm2(w[of]) for of in of_features(d))
    return Formulation(Logistic(1.0), L1(3.0), intercept=True), oracles.FeatureGroups(d.X), d.y, d.H[:, :-1], groups


@variant("hinges + lam sum_features |w_d|_2 + mu |w_d|_1", "Simon, Friedman, Hastie & Tibshirani 2013")
def sparse_group_lasso(d):
    groups = lambda w: 2.0 * sum(cp.norm2(w[of]) for of in of_features(d)) + 1.0 * cp.norm1(w)
    oracle = oracles.FeatureGroups(d.X, entries=0.5)
    return Formulation(Hinge(1.0), L1(2.0), intercept=True), oracle, d.y, d.H[:, :-1], groups


@variant("sum (1 - z)_+ + lam sum_m |f_m| in the spaces of two kernels", "Bach, Lanckriet & Jordan 2004")
def multiple_kernels(d):
    kernels = [Gaussian(0.1), Laplacian(0.3)]
    roots = [np.linalg.cholesky(kernel(d.X, d.X) + 1e-13 * np.eye(d.n)) for kernel in kernels]
    norms = lambda w: 1.0 * sum(cp.norm2(w[m * d.n : (m + 1) * d.n]) for m in range(2))
    oracle = oracles.KernelBalls(kernels, d.X, weights=[1.0, 1.0])
    return Formulation(Hinge(1.0), L1(1.0), intercept=True), oracle, d.y, np.hstack(roots), norms


@variant("1/2 sum (t - f)^2 + lam sum_k |w_{k+1} - w_k| over the thresholds of every feature", "Tibshirani et al. 2005")
def fused_thresholds(d):
    middles = [(np.unique(x)[:-1] + np.unique(x)[1:]) / 2 for x in d.X.T]
    steps = [np.tri(len(m)) for m in middles]
    jumps = [Staircase(j, tuple(m), tuple(row)) for j, m in enumerate(middles) for row in steps[j].T]
    fused = lambda w: 4.0 * sum(cp.norm1(cp.diff(cp.hstack([0.0, w[of]]))) for of in of_features(d))
    loss = SquaredError(1.0, d.t[:, None])
    oracle = oracles.Pool.of(jumps, d.X)
    return Formulation(loss, L1(4.0), intercept=True, outputs=1), oracle, None, d.H[:, :-1], fused


@dataclass(frozen=True)
class Line:
    """A feature as it is."""

    feature: int
    sign: float = 1.0

    def __call__(self, X):
        return self.sign * X[:, self.feature]

    def __neg__(self):
        return Line(self.feature, -self.sign)


def stumps(d, **options):
    return oracles.Stumps(d.X, **options)


def signed(d):
    """Rising stumps of the first feature, falling ones of the second, and both constants."""
    first = len(np.unique(d.X[:, 0])) - 1
    return np.column_stack([d.H[:, :first], -d.H[:, first:-1], d.H[:, -1], -d.H[:, -1]])


def of_features(d):
    """The stumps of either feature among the columns of H."""
    first = len(np.unique(d.X[:, 0])) - 1
    return slice(0, first), slice(first, d.H.shape[1] - 1)


def costs_of(d):
    first = len(np.unique(d.X[:, 0])) - 1
    return np.where(
        np.arange(d.H.shape[1]) < first, 1.0, np.where(np.arange(d.H.shape[1]) == d.H.shape[1] - 1, 1.0, 3.0)
    )


def state_term(term, variable):
    """The expression of a loss or a penalty, ours or stated in cvxpy, and the constraints beside it."""
    if not callable(term):
        stated = term.model(variable)
        return stated.expression, list(stated.constraints)
    stated = term(variable)
    if isinstance(stated, tuple):
        return stated[0], list(stated[1])
    return (stated[0], stated[1:]) if isinstance(stated, list) else (stated, [])


def enumerate_all(formulation, H, y, loss, penalty):
    """State the problem over all columns at once in cvxpy; returns it, and the expressions of loss and penalty.

    These are parts of the library, or expressions, with constraints or without.
    """
    outputs = () if formulation.outputs is None else (formulation.outputs,)
    w, b = cp.Variable((H.shape[1], *outputs), nonneg=formulation.nonnegative), cp.Variable((1, *outputs))
    scores = H @ w + np.ones((len(H), 1)) @ b if formulation.intercept else H @ w
    z = cp.Variable(scores.shape)
    (on_z, beside_z), (on_w, beside_w) = state_term(loss, z), state_term(penalty, w)
    held = formulation.constraints(z) if formulation.constraints is not None else []
    link = z == (scores if y is None else cp.multiply(y, scores))
    # of a number, too, an expression
    on_z, on_w = cp.sum(on_z), cp.sum(on_w)
    return cp.Problem(cp.Minimize(on_z + on_w), [link, *beside_z, *beside_w, *held]), on_z, on_w


def solve(name, d):
    """Run a variant; returns the run and the optimum over all columns."""
    formulation, oracle, y, *columns = VARIANTS[name].make(d)
    H, penalty = [*columns, None, None][:2] if columns else (d.H, None)
    if formulation.nonnegative and not (columns and H.shape[1] == signed(d).shape[1]):
        H = np.hstack([H, -H])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SolverFallbackWarning)
        run = column_generation(formulation, oracle, y, tol=1e-6)
    on_w = formulation.penalty if penalty is None else lambda w: penalty(cp.vec(w, "C"))
    whole, *_ = enumerate_all(formulation, H, y, formulation.loss, on_w)
    whole.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return run, formulation.sense * float(whole.value)


def check(number):
    """Return what is wrong with the run of a variant on a sample of its number, for `tests/fuzz/fuzz.py`."""
    seed, place = divmod(number, len(VARIANTS))
    name = list(VARIANTS)[place]
    run, optimum = solve(name, make_data(16 + seed, seed))
    c = run.certificate
    good = c.holds(1e-6) and abs(c.primal - optimum) <= 1e-6 * abs(optimum) + 1e-9
    return "" if good else f"{name}: {c.primal:.9g} for {optimum:.9g}, {run.ending.name}: {c.note}", [name]
