"""Formulations that a researcher may want, each in at most ten lines: what they are, their sources, their code.

Each is code from data (see `make_data`) to a formulation, an oracle and labels, or None where the loss is on scores.
All are held against the same problem over all stumps at once in cvxpy, and proven.

``python tests/fuzz/fuzz.py variants COUNT`` does so for samples of more and more rows, and ``python docs/variants.py``
writes them down as ``docs/variants.md``.
"""

import re
import warnings
from dataclasses import dataclass
from textwrap import indent
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
    code: str

    def make(self, d):
        """Return what the code makes of data."""
        made = dict(globals())
        exec(f"def make(d):\n{indent(self.code, '    ')}", made)
        return made["make"](d)


VARIANTS: dict[str, Variant] = {}


def enter_rows(text):
    """Enter rows into the table: name, formula and source, then lines of code, of which the last is `write_out`'s."""
    for row in re.split(r"\n(?=\S)", text.strip()):
        head, *lines = row.split("\n")
        (name, formula), lines = head.split(": ", 1), [line[4:] for line in lines]
        formula, _, source = formula.partition(" // ")
        code = "\n".join(lines[:-1] + ([lines[-1]] if lines[-1].startswith("return ") else write_out(lines[-1])))
        VARIANTS[name.replace(" ", "_")] = Variant(name, formula, source, code)


def write_out(line):
    """Return the code of a loss, and what is not as mostly: a penalty, constraints in brackets, options; split by ";".

    The letter of the loss says whether it is of margins z, scores f or several scores F; one without a letter is a part
    of the library, and of margins. The penalty is L1(1.0), and there is an intercept.
    """
    loss, *parts = line.split("; ")
    letter = "".join(re.findall(r"\b[zfF]\b", loss)[:1])
    options = {"intercept": "True", **{"f": {"scores": "True"}, "F": {"outputs": "2"}}.get(letter, {})}
    options |= dict(part.split("=") for part in parts if re.match(r"\w+=", part))
    held = [part for part in parts if part.startswith("[")]
    penalty = next((part for part in parts if part not in held and not re.match(r"\w+=", part)), "L1(1.0)")
    given = [f"{key}={value}" for key, value in options.items() if value != "False"]
    terms = ", ".join(["loss" if letter else loss, penalty, *given, *(["constraints=held"] if held else [])])
    stated = [("loss", loss)] * bool(letter) + [("held", of) for of in held]
    data = "stumps(d), None" if letter in {"f", "F"} else "stumps(d), d.y"
    return [f"{part} = lambda {letter or 'z'}: {of}" for part, of in stated] + [f"return Formulation({terms}), {data}"]


def make_data(n, seed=0):
    """X (n, 2); labels y; targets t (n,) and T (n, 2); counts, classes 0 to 2, grades 1 to 3; two groups; bags of rows.

    p and q are the rows of the positives and of the negatives, groups those of either group, order those by the first
    feature, own has a 1 for the class of each row; times and events are those of a survival study; f0 are the scores of
    an earlier model; H has every stump and the constant.
    """
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (n, 2)).astype(float) if n < 100 else random.normal(size=(n, 2)).round(1)
    signal = X[:, 0] - X[:, 1] + random.normal(size=n) * X.std()
    y = np.where(signal > np.median(signal), 1.0, -1.0)
    T = np.column_stack([signal, X[:, 0] + random.normal(size=n)]) / 3
    edges = np.quantile(signal, [1 / 3, 2 / 3])
    bags = np.repeat(np.eye(n // 4), 4, axis=1)[:, :n] / 4
    bags = np.pad(bags, ((0, 0), (0, n - bags.shape[1])))
    d = SimpleNamespace(
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
    d.p, d.q, d.order, d.own = (
        np.flatnonzero(y > 0),
        np.flatnonzero(y < 0),
        np.argsort(X[:, 0], kind="stable"),
        np.eye(3)[d.classes],
    )
    d.groups = [np.flatnonzero(d.group), np.flatnonzero(~d.group)]
    return d


def list_stumps(X):
    """Every stump that rises and splits the sample, and the constant; and their features, -1 of that."""
    found = [(np.where(x >= value, 1.0, -1.0), j) for j, x in enumerate(X.T) for value in np.unique(x)[1:]]
    columns, at = zip(*found, (np.ones(len(X)), -1), strict=True)
    return np.column_stack(columns), np.array(at)


# margins of two classes, and constraints on them


enter_rows("""
soft margin boosting: sum (1 - z)_+ + 3 sum w, w >= 0 // LL08 P4
    return formulations.soft_margin(C=1 / 3), oracles.Stumps(d.X), d.y
lpboost: max rho - D sum xi, z >= rho - xi, sum w = 1 // DBS02
    return formulations.lpboost(D=1 / (0.4 * d.n)), oracles.Stumps(d.X), d.y
entropy regularised lpboost: LPBoost less an entropy of the sample weights // Warmuth, Glocer & Vishwanathan 2008
    return formulations.erlpboost(D=1 / (0.4 * d.n), eta=5.0), oracles.Stumps(d.X), d.y
svm over stumps: C sum (1 - z)_+ + 1/2 |w|^2 // LL08 P1, SL (1)
    return formulations.svm(C=0.1), oracles.Stumps(d.X), d.y
logistic lasso: sum ln(1 + exp(-z)) + lam |w|_1 // Friedman, Hastie & Tibshirani 2000
    Logistic(1.0); L1(2.0)
logistic ridge: sum ln(1 + exp(-z)) + lam/2 |w|^2
    Logistic(1.0); SquaredL2(3.0)
exponential lasso: sum exp(-z) + lam |w|_1 // AdaBoost's loss
    Exponential(1.0); L1(2.0); intercept=False
squared hinge lasso: 1/2 sum (1 - z)_+^2 + lam |w|_1
    SquaredHinge(1.0); L1(2.0)
huberised hinge: the hinge rounded off over a width d, + lam |w|_1 // Chapelle 2007
    HuberizedHinge(1.0, d=0.5); L1(2.0)
doubly regularised svm: sum (1 - z)_+ + lam |w|_1 + mu/2 |w|^2 // Zou & Hastie 2005; Wang, Zhu & Zou 2006
    Hinge(1.0); ElasticNet(2.0, 1.0)
cvar of hinges: the mean of the worst share nu of the hinges, + lam |w|_1 // Rockafellar & Uryasev 2000
    CVaR(D=1 / (0.3 * d.n)); L1(0.1)
average top k: the sum of the k largest hinges, + lam |w|_1 // Fan, Lyu, Ying & Hu 2017
    cp.sum_largest(cp.pos(1 - z), d.n // 4)
minimax hinge: the largest hinge, + lam |w|_1
    cp.max(cp.pos(1 - z)); L1(0.1)
square root hinge: |(1 - z)_+|_2 + lam |w|_1 // after the square-root lasso
    cp.norm2(cp.pos(1 - z)); L1(0.5)
log sum exp with a budget: ln sum exp(-z) subject to |w|_1 <= T // AdaBoost with a budget; Shen & Li 2010
    cp.log_sum_exp(-z); lambda w: [0, cp.norm1(w) <= 2]; intercept=False
logistic with a budget: sum ln(1 + exp(-z)) subject to |w|_1 <= T
    Logistic(1.0); lambda w: [0, cp.norm1(w) <= 1.5]
weights in a box: sum (1 - z)_+ + lam |w|_1, |w_j| <= c
    Hinge(1.0); lambda w: [cp.norm1(w), cp.abs(w) <= 0.2]
squared l1 norm: sum ln(1 + exp(-z)) + |w|_1^2 // the squared l1 norm
    Logistic(1.0); lambda w: cp.square(cp.norm1(w))
costs of samples: sum_i C_i (1 - z_i)_+ + lam |w|_1 // costs of examples
    Hinge(np.where(d.group, 1.0, 0.3)); L1(2.0)
costs of classes: 5 times the hinges of one class and those of the other, + lam |w|_1
    Hinge(np.where(d.y > 0, 5.0, 1.0)); L1(2.0)
reject option: max(0, 1 - z, 1 - a z): the hinge with a price for not answering // Bartlett & Wegkamp 2008
    cp.sum(cp.maximum(0, 1 - z, 1 - 3 * z)); L1(2.0)
unhinged: -sum z + lam/2 |w|^2 // van Rooyen, Menon & Williamson 2015
    -cp.sum(z); SquaredL2(5.0); intercept=False
margin distribution: -mean z + var z / 2 subject to |w|_1 <= T // MDBoost, Shen & Li 2010
    -cp.sum(z) / d.n + cp.sum_squares(z - cp.sum(z) / d.n) / (2 * d.n); lambda w: [0, cp.norm1(w) <= 1]; intercept=False
group robust: the largest mean loss over groups, + lam |w|_1 // Sagawa, Koh, Hashimoto & Liang 2020
    cp.max(cp.hstack([cp.sum(cp.logistic(-z[g])) / len(g) for g in d.groups])); L1(0.05)
chi square robust: min over eta of eta + c |(hinge - eta)_+|_2: the worst of a chi^2 ball // Hashimoto et al. 2018
    eta = cp.Variable(name="eta")
    eta + 2 / np.sqrt(d.n) * cp.norm2(cp.pos(cp.pos(1 - z) - eta)); L1(0.1)
entropic risk: ln mean exp(hinge) + lam |w|_1: the entropic risk // Föllmer & Schied 2002
    cp.log_sum_exp(cp.pos(1 - z)); L1(0.05)
demographic parity: hinges, such that both groups have the same mean score // Zafar et al. 2017
    a, b = d.y * d.group / d.group.sum(), d.y * ~d.group / (~d.group).sum()
    Hinge(1.0); L1(2.0); [cp.abs((a - b) @ z) <= 0.1]
equal opportunity: logistic loss, such that positives of both groups have nearly the same mean // Donini et al. 2018
    a, b = d.group & (d.y > 0), ~d.group & (d.y > 0)
    c = a / a.sum() - b / b.sum()
    Logistic(1.0); L1(2.0); [cp.abs(c @ z) <= 0.05]
bounded scores: hinges with scores in [-1, 1]
    Hinge(1.0); [cp.norm(z, "inf") <= 1]
prior scores: sum ln(1 + exp(-y (f0 + f))) + lam |w|_1: what to add to an earlier model
    cp.sum(cp.logistic(-z - d.y * d.f0))
prior weights: sum ln(1 + exp(-z)) + |w - w0|_1: two stumps have weights before // after Li, Grandvalet & Davoine 2018
    before = d.H[:, [0, -2]] @ np.array([0.8, -1.1])
    cp.sum(cp.logistic(-z - d.y * before))
modified huber: squared hinges that go on straight where z < -1, + lam |w|_1 // Zhang 2004
    cp.sum(cp.huber(cp.pos(1 - z), 2)); L1(2.0)
matsushita loss: sum sqrt(1 + z^2) - z, + lam |w|_1 // Nock & Nielsen 2009
    cp.sum(cp.norm(cp.vstack([np.ones(d.n), z]), 2, axis=0) - z)
label smoothing: sum (1 - e) ln(1 + exp(-z)) + e ln(1 + exp(z)), + lam |w|_1 // Szegedy et al. 2016
    cp.sum(0.9 * cp.logistic(-z) + 0.1 * cp.logistic(z))
labels with noise: logistic loss less what flipped labels add on average // Natarajan, Dhillon, Ravikumar & Tewari 2013
    cp.sum(cp.logistic(-z)) - np.where(d.y > 0, 0.1, 0.2) @ z / 0.7; SquaredL2(2.0)
robust to flipped labels: sum max(l(z), l(-z) - k) for logistic l // Shafieezadeh-Abadeh, Esfahani & Kuhn 2015
    cp.sum(cp.maximum(cp.logistic(-z), cp.logistic(z) - 1))
least squares svm: 1/2 sum (1 - z)^2 + lam/2 |w|^2 // Suykens & Vandewalle 1999
    cp.sum_squares(1 - z) / 2; SquaredL2(2.0)
nu svm: -rho + mean (rho - z)_+ / nu + lam/2 |w|^2 // Schölkopf, Smola, Williamson & Bartlett 2000
    rho = cp.Variable(name="rho")
    -rho + cp.sum(cp.pos(rho - z)) / (0.4 * d.n); SquaredL2(1.0)
distance weighted discrimination: min over xi >= 0 of sum 1 / (z + xi) + C xi, |w| <= 1 // Marron, Todd & Ahn 2007
    xi = cp.Variable(d.n, nonneg=True)
    cp.sum(cp.inv_pos(z + xi)) + 2 * cp.sum(xi); lambda w: [0, cp.norm2(w) <= 1]
optimal margin distribution: sum (a - z)_+^2 + nu (z - b)_+^2, + lam |w|_1 // Zhang & Zhou 2019
    cp.sum_squares(cp.pos(0.8 - z)) + 0.5 * cp.sum_squares(cp.pos(z - 1.2))
cvar at both ends: the k largest hinges, and what the k largest margins have above 2, + lam |w|_1
    cp.sum_largest(cp.pos(1 - z), 4) + cp.sum_largest(cp.pos(z - 2), 4) / 2
contaminated mean: (1 - e) times the mean hinge + e times the largest, + lam |w|_1 // Huber 1964
    0.8 * cp.sum(cp.pos(1 - z)) / d.n + 0.2 * cp.max(cp.pos(1 - z)); L1(0.05)
mean and semideviation: mean l + c mean (l - mean l)_+ for hinges l // Ogryczak & Ruszczyński 1999
    l = cp.Variable(d.n, nonneg=True)
    [cp.sum(l) / d.n + cp.sum(cp.pos(l - cp.sum(l) / d.n)) / (2 * d.n), l >= 1 - z]; L1(0.05)
kl robust: min over eta of eta ln mean exp(hinge / eta) + r eta: the worst case over a KL ball // Hu & Hong 2013
    eta, t, l, s = cp.Variable(nonneg=True, name="eta"), cp.Variable(), cp.Variable(d.n, nonneg=True), cp.Variable(d.n)
    [t + 0.1 * eta, l >= 1 - z, cp.ExpCone(l - t, eta * np.ones(d.n), s), cp.sum(s) <= d.n * eta]; L1(0.05)
tilted groups: ln of the sum over groups of exp of their mean losses, + lam |w|_1 // Li, Beirami, Sanjabi & Smith 2021
    cp.log_sum_exp(cp.hstack([5 * cp.sum(cp.logistic(-z[g])) / len(g) for g in d.groups])); L1(0.2)
huber penalty: sum ln(1 + exp(-z)) + sum huber(w)
    Logistic(1.0); lambda w: 5 * cp.sum(cp.huber(w, 0.2))
berhu penalty: sum ln(1 + exp(-z)) + lam |w|_1 + sum (|w_j| - a)_+^2 // Owen 2007
    Logistic(1.0); lambda w: cp.sum(cp.abs(w) + cp.square(cp.pos(cp.abs(w) - 0.1)))
norm beside a norm: sum ln(1 + exp(-z)) + lam |w|_1 + mu |w|_2 // Owen 2007
    cp.sum(cp.logistic(-z)); lambda w: cp.norm1(w) + cp.norm2(w) / 2
two worst bags: the sum of the two largest means of ln(1 + exp(-z)) over bags, + lam |w|_1
    cp.sum_largest(d.bags @ cp.logistic(-z), 2); L1(0.1)
bridge penalty: sum ln(1 + exp(-z)) + lam sum |w_j|^1.5 // Frank & Friedman 1993
    Logistic(1.0); lambda w: 3 * cp.sum(cp.power(cp.abs(w), 1.5))
norm of the weights: sum ln(1 + exp(-z)) + lam |w|_2
    Logistic(1.0); lambda w: 3 * cp.norm2(w)
weights in a ball: 1/2 sum (1 - z)_+^2 subject to |w|_2 <= T
    SquaredHinge(1.0); lambda w: [0, cp.norm2(w) <= 0.5]
capped simplex: sum ln(1 + exp(-z)), 0 <= w <= c, sum w = T // Warmuth, Liao & Rätsch 2006
    Logistic(1.0); lambda w: [0, cp.sum(w) == 2, w <= 0.5]; nonnegative=True
squares on a simplex: sum ln(1 + exp(-z)) + lam |w|^2, w >= 0, sum w = T
    Logistic(1.0); lambda w: [cp.sum_squares(w), cp.sum(w) == 2]; nonnegative=True
price above a budget: sum ln(1 + exp(-z)) + lam (|w|_1 - T)_+
    Logistic(1.0); lambda w: 4 * cp.pos(cp.norm1(w) - 0.5)
cubed l1 norm: sum ln(1 + exp(-z)) + |w|_1^3
    Logistic(1.0); lambda w: cp.power(cp.norm1(w), 3)
equal means: hinges, such that both groups have exactly the same mean score
    a, b = d.y * d.group / d.group.sum(), d.y * ~d.group / (~d.group).sum()
    Hinge(1.0); [(a - b) @ z == 0]
equalised odds: logistic loss, such that both groups have nearly equal mean margins, class by class // Hardt et al. 2016
    means = [[d.y * g / max(g.sum(), 1) for g in (d.group & c, ~d.group & c)] for c in (d.y > 0, d.y < 0)]
    Logistic(1.0); [cp.abs((a - b) @ z) <= 0.2 for a, b in means]
bounded group loss: the mean hinge, such that that of either group is at most b // Agarwal, Dudík & Wu 2019
    cp.sum(cp.pos(1 - z)) / d.n; L1(0.05); [cp.sum(cp.pos(1 - z[g])) <= 0.8 * len(g) for g in d.groups]
little churn: hinges, such that the mean distance from earlier scores is at most b // Fard, Cormier, Canini & Gupta 2016
    Hinge(1.0); [cp.norm1(z - d.y * d.f0) <= 0.9 * d.n]
correlation with an attribute: logistic loss, such that scores hardly correlate with a number // Zafar et al. 2017
    a = d.y * (d.X[:, 1] - d.X[:, 1].mean()) / d.n
    Logistic(1.0); [cp.abs(a @ z) <= 0.1]
neyman pearson: hinges of positives, such that the mean hinge of negatives is at most alpha // Rigollet & Tong 2011
    p, q = np.flatnonzero(d.y > 0), np.flatnonzero(d.y < 0)
    loss, held = lambda z: cp.sum(cp.pos(1 - z[p])), lambda z: [cp.sum(cp.pos(1 - z[q])) <= 0.6 * len(q)]
    return Formulation(loss, L1(1.0), intercept=True, constraints=held), oracles.Stumps(d.X), d.y
individual fairness: logistic loss, such that similar samples of both groups have similar scores // Dwork et al. 2012
    i, j = np.flatnonzero(d.group)[:4], np.flatnonzero(~d.group)[:4]
    held = lambda f: [cp.abs(f[i] - f[j]) <= 0.2]
    loss = lambda f: cp.sum(cp.logistic(-cp.multiply(d.y, f)))
    return Formulation(loss, L1(1.0), intercept=True, scores=True, constraints=held), oracles.Stumps(d.X), None
""")


# losses of scores

enter_rows("""
lasso: 1/2 sum (t - f)^2 + lam |w|_1 // Tibshirani 1996
    cp.sum_squares(d.t - f) / 2
least absolute deviations: sum |t - f| + lam |w|_1 // Wang, Li & Jiang 2007
    cp.norm1(d.t - f)
quantile: sum q (t - f)_+ + (1 - q) (f - t)_+, + lam |w|_1 // Koenker & Bassett 1978
    cp.sum(0.8 * cp.pos(d.t - f) + 0.2 * cp.pos(f - d.t)); L1(0.5)
huber: sum huber(t - f) + lam |w|_1 // Huber 1964
    cp.sum(cp.huber(d.t - f, 0.5))
support vector regression: sum (|t - f| - eps)_+ + lam |w|_1 // Vapnik 1995
    cp.sum(cp.pos(cp.abs(d.t - f) - 0.2))
square root lasso: |t - f|_2 + lam |w|_1 // Belloni, Chernozhukov & Wang 2011
    cp.norm2(d.t - f); L1(0.5)
chebyshev: the largest |t - f|, + lam |w|_1 // Chebyshev
    cp.norm(d.t - f, "inf"); L1(0.1)
expectile: sum of squares, three times as dear where f is too low, + lam |w|_1 // Newey & Powell 1987
    3 * cp.sum_squares(cp.pos(d.t - f)) + cp.sum_squares(cp.pos(f - d.t)); L1(2.0)
poisson: sum exp(f) - k f, + lam |w|_1 // Poisson regression
    cp.sum(cp.exp(f)) - d.counts @ f
poisson with exposures: sum e exp(f) - k f for exposures e, + lam |w|_1
    np.exp(d.f0) @ cp.exp(f) - d.counts @ f
gamma: sum t exp(-f) + f, + lam |w|_1 // gamma regression with a log link
    (np.abs(d.t) + 0.1) @ cp.exp(-f) + cp.sum(f)
interval censored: sum (low - f)_+ + (f - high)_+, + lam |w|_1: targets known as intervals // Tobin 1958
    cp.sum(cp.pos(d.t - 0.3 - f)) + cp.sum(cp.pos(f - d.t - 0.5)[d.events])
log cosh: sum ln cosh(t - f) + lam |w|_1
    cp.sum(cp.logistic(2 * (d.t - f)) - (d.t - f))
linear part: sum ln(1 + exp(-y (f + X v))) + lam |w|_1, v free: a partially linear model // Engle et al. 1986
    v, X = cp.Variable(2, name="v"), d.X / d.X.std(axis=0)
    cp.sum(cp.logistic(-cp.multiply(d.y, f + X @ v))); L1(2.0)
manifold regularisation: logistic loss of some + gamma sum (f_i - f_j)^2 over neighbours // Belkin & Niyogi 2006
    cp.sum(cp.logistic(-cp.multiply(d.y, f)[: d.n // 2])) + 0.1 * cp.sum_squares(cp.diff(f[d.order])); L1(0.5)
positive and unlabelled: -pi mean f over positives + mean of max(f, (1 + f)_+/2) over all // du Plessis et al. 2015
    -0.5 * cp.sum(f[d.p[::2]]) / len(d.p[::2]) + cp.sum(cp.maximum(f, cp.pos(1 + f) / 2)) / d.n; SquaredL2(0.2)
distillation: sum ln(1 + exp f) - p f for soft labels p, + lam |w|_1 // Hinton, Vinyals & Dean 2015
    p = 1 / (1 + np.exp(-2 * d.t))
    cp.sum(cp.logistic(f)) - p @ f
concomitant scale: min over sigma of sum (t - f)^2 / (2 sigma) + n sigma / 2, + lam |w|_1 // Owen 2007
    sigma = cp.Variable(name="sigma")
    cp.quad_over_lin(d.t - f, sigma) / 2 + d.n * sigma / 2
concomitant huber: min over sigma of sum sigma huber((t - f) / sigma) + n sigma / 2, + lam |w|_1 // Huber 1981
    sigma, v = cp.Variable(name="sigma"), cp.Variable(d.n)
    cp.quad_over_lin(d.t - f - v, sigma) / 2 + cp.norm1(v) + d.n * sigma / 2
scales of groups: sum over groups of min over sigma of |t - f|^2 / sigma + n sigma // Massias, Fercoq et al. 2018
    s = cp.Variable(2, name="sigma")
    sum(cp.quad_over_lin((d.t - f)[g], s[k]) + len(g) * s[k] for k, g in enumerate(d.groups))
log logistic survival: sum (1 + e) ln(1 + exp(z)) - e (z + ln g), z = g ln T - f, + lam |w|_1 // Bennett 1983
    g, e, s = cp.Variable(name="g"), d.events.astype(float), np.log(d.times + 1)
    (1 + e) @ cp.logistic(g * s - f) - e @ (g * s - f) - e.sum() * cp.log(g)
weibull survival: sum exp(z) - e (z + ln g), z = g ln T - f, for times T, events e, + lam |w|_1 // Kalbfleisch 1980
    g, e, s = cp.Variable(name="g"), d.events.astype(float), np.log(d.times + 1)
    cp.sum(cp.exp(g * s - f)) - e @ (g * s - f) - e.sum() * cp.log(g)
exponential survival: sum T exp(f) - e f for times T and events e, + lam |w|_1 // Friedman 1982
    (d.times + 1) @ cp.exp(f) - d.events.astype(float) @ f
linex: sum exp(a (f - t)) - a (f - t), + lam |w|_1 // Varian 1975
    cp.sum(cp.exp(f - d.t) - f)
negative binomial: sum (k + r) ln(r + exp(f)) - k f, + lam |w|_1 // Lawless 1987
    (d.counts + 2) @ cp.logistic(f - np.log(2)) - d.counts @ f
binomial: sum m ln(1 + exp(f)) - k f for k successes of m trials, + lam |w|_1
    5 * cp.sum(cp.logistic(f)) - np.minimum(d.counts, 5) @ f
tweedie: sum k exp((1 - p) f) / (p - 1) + exp((2 - p) f) / (2 - p) for p = 3/2, + lam |w|_1 // Yang, Qian & Zou 2018
    2 * (d.counts @ cp.exp(-f / 2) + cp.sum(cp.exp(f / 2)))
poisson with rates as scores: sum f - k ln f, + lam |w|_1
    cp.sum(f) - (d.counts + 1) @ cp.log(f)
asymmetric huber: sum q huber((t - f)_+) + (1 - q) huber((f - t)_+), + lam |w|_1 // Breckling & Chambers 1988
    cp.sum(0.8 * cp.huber(cp.pos(d.t - f), 0.3) + 0.2 * cp.huber(cp.pos(f - d.t), 0.3)); L1(0.3)
squared tube: sum (|t - f| - eps)_+^2 + lam |w|_1
    cp.sum_squares(cp.pos(cp.abs(d.t - f) - 0.2))
least p th powers: sum |t - f|^1.5 + lam |w|_1
    cp.sum(cp.power(cp.abs(d.t - f), 1.5))
charbonnier: sum sqrt(a^2 + (t - f)^2), + lam |w|_1 // Charbonnier et al. 1994
    cp.sum(cp.norm(cp.vstack([np.full(d.n, 0.5), d.t - f]), 2, axis=0))
errors at both ends: the k largest t - f and the k largest f - t, + lam |w|_1
    cp.sum_largest(d.t - f, 4) + cp.sum_largest(f - d.t, 4)
range of errors: the largest t - f less the smallest, + lam |w|_1
    cp.max(d.t - f) + cp.max(f - d.t); L1(0.3); intercept=False
composite quantiles: pinball losses at three levels, each with an intercept of its own, + lam |w|_1 // Zou & Yuan 2008
    b, q = cp.Variable(3, name="b"), (0.25, 0.5, 0.75)
    sum(cp.sum(p * cp.pos(d.t - f - c) + (1 - p) * cp.pos(f + c - d.t)) for p, c in zip(q, b)); intercept=False
newsvendor: what is left costs 1 and a square, what is missing 3, + lam |w|_1 // Ban & Rudin 2019
    cp.sum(3 * cp.pos(d.t - f) + cp.pos(f - d.t) + cp.square(cp.pos(f - d.t)) / 2)
rising scores: 1/2 sum (t - f)^2 + lam |w|_1, f rising in the order of a feature // Barlow et al. 1972
    cp.sum_squares(d.t - f) / 2; [cp.diff(f[d.order]) >= 0]
scores of little slope: sum |t - f| + lam |w|_1, neighbours in the order of a feature at most L apart
    cp.norm1(d.t - f); [cp.abs(cp.diff(f[d.order])) <= 0.5]
total variation: 1/2 sum (t - f)^2 + mu sum |f_{i+1} - f_i| + lam |w|_1 // Rudin, Osher & Fatemi 1992
    cp.sum_squares(d.t - f) / 2 + 0.3 * cp.norm1(cp.diff(f[d.order])); L1(0.5)
trend filtering: 1/2 sum (t - f)^2 + mu times the sizes of second differences // Kim, Koh, Boyd & Gorinevsky 2009
    cp.sum_squares(d.t - f) / 2 + 0.3 * cp.norm1(cp.diff(f[d.order], 2)); L1(0.5)
outcome weighted learning: sum |t| (1 - sign(t) f)_+ + lam |w|_1 // Zhao, Zeng, Rush & Kosorok 2012
    np.abs(d.t) @ cp.pos(1 - cp.multiply(np.sign(d.t), f)); L1(0.5)
effects of a treatment: 1/2 sum (t - (a - 1/2) f)^2 + lam |w|_1 for treatments a // Nie & Wager 2021
    cp.sum_squares(d.t - cp.multiply(d.group - 0.5, f)) / 2; L1(0.3)
policy of least variance: -mean t f + mean (t f)^2 / 2 for returns t, + lam |w|_1 // Brandt, Santa-Clara & Valkanov 2009
    -d.t @ f / d.n + cp.sum_squares(cp.multiply(d.t, f)) / (2 * d.n); L1(0.02)
least squares importance fitting: 1/2 mean f^2 over some - mean f over others, f >= 0 // Kanamori, Hido & Sugiyama 2009
    cp.sum_squares(f[d.q]) / (2 * len(d.q)) - cp.sum(f[d.p]) / len(d.p); SquaredL2(0.2); [f >= 0]
ratio of densities: -mean ln f over some, such that the mean of f over others is 1 // Sugiyama et al. 2008
    -cp.sum(cp.log(f[d.p])) / len(d.p); L1(0.1); [cp.sum(f[d.q]) == len(d.q)]
divergence of samples: mean exp(f - 1) over some - mean f over others // Nguyen, Wainwright & Jordan 2010
    cp.sum(cp.exp(f[d.q] - 1)) / len(d.q) - cp.sum(f[d.p]) / len(d.p); SquaredL2(0.2)
maximum entropy: ln sum exp f - the mean of f over presences, + lam |w|_1 // Dudík, Phillips & Schapire 2007
    cp.log_sum_exp(f) - cp.sum(f[d.p]) / len(d.p); L1(0.1); intercept=False
p norm push: sum over negatives of (sum over positives exp(f_q - f_p))^2, + lam |w|_1 // Rudin 2009
    cp.sum(cp.hstack([cp.square(cp.sum(cp.exp(f[q] - f[d.p]))) for q in d.q])) / d.n**2; intercept=False
infinite push: the largest over negatives of sum over positives (1 - f_p + f_q)_+, + lam |w|_1 // Agarwal 2011
    cp.max(cp.hstack([cp.sum(cp.pos(1 - f[d.p] + f[q])) for q in d.q])); intercept=False
top push: sum over positives of (1 - f_p + the largest f_q)_+^2, + lam |w|_1 // Li, Jin & Zhou 2014
    cp.sum_squares(cp.pos(1 - f[d.p] + cp.max(f[d.q]))); intercept=False
partial area under the curve: hinges of pairs of the k worst negatives, + lam |w|_1 // Narasimhan & Agarwal 2013
    cp.sum_largest(cp.hstack([cp.sum(cp.pos(1 - f[d.p] + f[q])) for q in d.q]), 3) / d.n; L1(0.3); intercept=False
list net: -sum p ln softmax(f) for p = softmax(t), + lam |w|_1 // Cao, Qin, Liu, Tsai & Li 2007
    cp.log_sum_exp(f) - np.exp(d.t) @ f / np.exp(d.t).sum(); L1(0.02); intercept=False
plackett luce: sum over places of ln sum_{not placed yet} exp f - f_i, + lam |w|_1 // Xia, Liu, Wang, Zhang & Li 2008
    rank = np.argsort(-d.t)
    sum(cp.log_sum_exp(f[rank[k:]]) - f[rank[k]] for k in range(d.n - 1)); intercept=False
stratified cox: Cox's loss, group by group, + lam |w|_1 // Kalbfleisch & Prentice 1980
    risk = [(g[d.times[g] >= d.times[i]], i) for g in d.groups for i in g if d.events[i]]
    sum(cp.log_sum_exp(f[at]) - f[i] for at, i in risk); intercept=False
gehan ranks: sum over events i and all j of (r_j - r_i)_+, r = t - f, + lam |w|_1 // Tsiatis 1990
    e = np.flatnonzero(d.events)
    cp.sum(cp.hstack([cp.sum(cp.pos((d.t - f) - (d.t[i] - f[i]))) for i in e])) / d.n; L1(0.5); intercept=False
least of the worst group: the larger of the mean squared errors of both groups, + lam |w|_1
    cp.max(cp.hstack([cp.sum_squares((d.t - f)[g]) / len(g) for g in d.groups])); L1(0.05)
equal mean errors: 1/2 sum (t - f)^2 + lam |w|_1, such that both groups have the same mean error // Calders et al. 2013
    c = d.group / d.group.sum() - ~d.group / (~d.group).sum()
    cp.sum_squares(d.t - f) / 2; [c @ (d.t - f) == 0]
pairs across groups: 1/2 sum (t - f)^2 + mu times the squared mean difference across groups // Berk et al. 2017
    cp.sum_squares(d.t - f) / 2 + cp.square(cp.sum(f[d.groups[0]]) - cp.sum(f[d.groups[1]])) / d.n
conditional random field: -ln p(labels of a bag), with a price of its own for equal neighbours // Lafferty et al. 2001
    v, Y = cp.Variable(name="v"), np.array(list(np.ndindex(2, 2, 2, 2))) * 2.0 - 1
    bags, agree = [np.flatnonzero(bag) for bag in d.bags], lambda Y: (Y[..., 1:] * Y[..., :-1]).sum(axis=-1)
    sum(cp.log_sum_exp(Y @ f[b] + agree(Y) * v) - d.y[b] @ f[b] - agree(d.y[b]) * v for b in bags) + cp.square(v)
structured hinge: max over labels of a bag of their errors + scores, less those of its own // Taskar et al. 2003
    Y, bags = np.array(list(np.ndindex(2, 2, 2, 2))) * 2.0 - 1, [np.flatnonzero(bag) for bag in d.bags]
    sum(cp.max((Y != d.y[b]).sum(axis=1) + Y @ f[b]) - d.y[b] @ f[b] for b in bags)
ridge: 1/2 sum (t - f)^2 + lam/2 |w|^2 // Hoerl & Kennard 1970
    return Formulation(SquaredError(1.0, d.t[:, None]), SquaredL2(3.0), intercept=True, outputs=1), stumps(d), None
monotone regression: 1/2 sum (t - f)^2 + lam sum w, w >= 0, stumps that rise with one feature and fall with the other
    loss = lambda f: cp.sum_squares(d.t - f) / 2
    rising = oracles.Stumps(d.X, signs=[1, -1])
    return Formulation(loss, L1(1.0), intercept=True, nonnegative=True, scores=True), rising, None, signed(d)
""")


# more outputs

enter_rows("""
quantiles that do not cross: three pinball losses of three scores, f_1 <= f_2 <= f_3 // Bondell, Reich & Wang 2010
    q, t = np.array([[0.25, 0.5, 0.75]]), d.t[:, None] @ np.ones((1, 3))
    cp.sum(cp.multiply(q, cp.pos(t - F)) + cp.multiply(1 - q, cp.pos(F - t))); L1(0.5); [cp.diff(F.T) >= 0]; outputs=3
spatial median: sum |T_i - F_i|_2 + lam |W|_1 // multivariate median regression
    cp.sum(cp.norm(d.T - F, 2, axis=1))
multiclass hinge: sum max_k (1[k != y] + F_k - F_y) + lam |W|_1 // Crammer & Singer 2001
    cp.sum(cp.max(1 - d.own + F, axis=1)) - cp.sum(cp.multiply(d.own, F)); intercept=False; outputs=3
multinomial: sum ln sum_k exp F_k - F_y, + lam |W|_1 // multinomial regression
    cp.sum(cp.log_sum_exp(F, axis=1)) - cp.sum(cp.multiply(d.own, F)); intercept=False; outputs=3
intervals: sum of the width and 2/a times what t is outside by, F_1 <= F_2 // Winkler 1972
    cp.sum(F[:, 1] - F[:, 0] + 4 * cp.pos(F[:, 0] - d.t) + 4 * cp.pos(d.t - F[:, 1])); L1(0.5); [F[:, 0] <= F[:, 1]]
price of crossings: pinball losses at 1/4 and 3/4 + mu sum (F_1 - F_2)_+, + lam |W|_1 // Takeuchi, Le et al. 2006
    pinball = lambda q, f: cp.sum(cp.maximum(q * (d.t - f), (1 - q) * (f - d.t)))
    pinball(0.25, F[:, 0]) + pinball(0.75, F[:, 1]) + cp.sum(cp.pos(F[:, 0] - F[:, 1])); L1(0.5)
heteroscedastic: -ln N(t; F_1 / F_2, 1 / F_2): a mean and a scale of every row // Immer et al. 2023
    squares = lambda F: sum(cp.quad_over_lin(F[i, 0], F[i, 1]) for i in range(d.n)) / 2
    squares(F) - d.t @ F[:, 0] + d.t**2 @ F[:, 1] / 2 - cp.sum(cp.log(F[:, 1])) / 2
learning to reject: max(1 + (r - z) / 2, c (1 - 2 r), 0) of a score z, given if r > 0 // Cortes, DeSalvo & Mohri 2016
    cp.sum(cp.maximum(1 + (F[:, 1] - cp.multiply(d.y, F[:, 0])) / 2, 0.3 * (1 - 2 * F[:, 1]), 0)); L1(0.5)
slacks by a model: sum of F_2, z_1 >= 1 - F_2, F_2 >= 0: slacks are learnt, too // SVM+, Vapnik & Vashist 2009
    cp.sum(F[:, 1]); L1(0.5); [cp.multiply(d.y, F[:, 0]) >= 1 - F[:, 1], F[:, 1] >= 0]
two views: logistic losses of two scores + mu sum (F_1 - F_2)^2, + lam |W|_1 // Sindhwani, Niyogi & Belkin 2005
    cp.sum(cp.logistic(-cp.multiply(d.y[:, None], F))) + 0.5 * cp.sum_squares(F[:, 0] - F[:, 1]); L1(1.0)
multivariate square root lasso: sum over outputs of |T_k - F_k|_2, + lam |W|_1 // Liu, Wang & Zhao 2014
    cp.sum(cp.norm(d.T - F, 2, axis=0)); L1(0.5)
trace norm of errors: the sum of the singular values of T - F, + lam |W|_1 // van de Geer & Stucky 2016
    cp.normNuc(d.T - F); L1(0.5)
huber of rows: sum huber(|T_i - F_i|_2) + lam |W|_1 // Hampel et al. 1986
    cp.sum(cp.huber(cp.norm(d.T - F, 2, axis=1), 0.5))
one against the others: sum over classes of ln(1 + exp(-+F_k)), + lam |W|_1 // Rifkin & Klautau 2004
    cp.sum(cp.logistic(-cp.multiply(2 * d.own - 1, F))); outputs=3
hinges of pairs of classes: sum over k != y of (1 + F_k - F_y)_+, + lam |W|_1 // Weston & Watkins 1999
    own = lambda F: cp.sum(cp.multiply(d.own, F), axis=1, keepdims=True) @ np.ones((1, 3))
    cp.sum(cp.pos(1 - d.own + F - own(F))); intercept=False; outputs=3
hinges of sums of 0: sum over k != y of (F_k + 1/2)_+, sum_k F_k = 0, + lam |W|_1 // Lee, Lin & Wahba 2004
    cp.sum(cp.multiply(1 - d.own, cp.pos(F + 0.5))); [cp.sum(F, axis=1) == 0]; outputs=3
top k hinge: the mean of the k largest 1[k != y] + F_k - F_y, if above 0, + lam |W|_1 // Lapin, Hein & Schiele 2015
    own = lambda F: cp.sum(cp.multiply(d.own, F), axis=1, keepdims=True) @ np.ones((1, 3))
    sum(cp.pos(cp.sum_largest((1 - d.own + F - own(F))[i], 2) / 2) for i in range(d.n)); intercept=False; outputs=3
grouped multinomial: sum ln sum_k exp F_k - F_y, + lam sum_h |W_h|_2 // Simon, Friedman & Hastie 2013
    cp.sum(cp.log_sum_exp(F, axis=1)) - cp.sum(cp.multiply(d.own, F)); RowNorms(1.0); intercept=False; outputs=3
low rank: 1/2 |T - F|^2 + lam times the singular values of W + mu sum_h |W_h|_2 // Argyriou, Evgeniou & Pontil 2008
    cp.sum_squares(d.T - F) / 2; lambda W: cp.normNuc(W) + cp.sum(cp.norm(W, 2, axis=1))
sparse rows: 1/2 |T - F|^2 + lam sum_h |W_h|_2 + mu |W|_1 // Simon, Friedman, Hastie & Tibshirani 2013
    cp.sum_squares(d.T - F) / 2; lambda W: cp.sum(cp.norm(W, 2, axis=1)) + cp.sum(cp.abs(W)) / 2
norm of all weights: |T - F| + lam |W|
    cp.norm(d.T - F, "fro"); lambda W: 0.5 * cp.norm(W, "fro")
multi task: 1/2 |T - F|^2 + lam sum_h |W_h|_2: tasks share hypotheses // Argyriou, Evgeniou & Pontil 2008
    return Formulation(SquaredError(1.0, d.T), RowNorms(1.5), intercept=True, outputs=2), stumps(d), None
multi task by maxima: 1/2 |T - F|^2 + lam sum_h max |W_h| // Turlach, Venables & Wright 2005
    return Formulation(SquaredError(1.0, d.T), RowNorms(2.0, np.inf), intercept=True, outputs=2), stumps(d), None
simplex coding: C/2 |L - F|^2 + 1/2 |W|^2 for the corners L of a simplex // SL (10)
    return formulations.simplex_least_squares(simplex_codes(3)[d.classes], 0.2), stumps(d), None
multiboost: sum_i sum_k exp(F_k - F_y) + lam |W|_1 // MultiBoost, Shen & Hao 2011
    return formulations.multiboost(0.5, d.classes), stumps(d), None
""")


# variables of one's own, pairs and bags, some labels; prices, groups and kernels


enter_rows("""
ordinal with thresholds: sum over thresholds of ln(1 + exp(-+(f - theta_k))), + lam |w|_1 // Rennie & Srebro 2005
    theta = cp.Variable(2, name="theta")
    sides = [np.where(d.grades > k, 1.0, -1.0) for k in (1, 2)]
    loss = lambda f: sum(cp.sum(cp.logistic(-cp.multiply(s, f - theta[k]))) for k, s in enumerate(sides))
    return Formulation(loss, L1(1.0), scores=True), stumps(d, constant=False), None, d.H[:, :-1]
cox: sum over events of ln sum_{still at risk} exp f - f_i, + lam |w|_1 // Cox 1972
    order = np.argsort(-d.times)
    risk = [(order[: k + 1], i) for k, i in enumerate(order) if d.events[i]]
    loss = lambda f: sum(cp.log_sum_exp(f[at]) - f[i] for at, i in risk)
    return Formulation(loss, L1(1.0), scores=True), stumps(d, constant=False), None, d.H[:, :-1]
one class: max rho - mean (rho - f)_+ / nu, w >= 0, sum w = 1 // Rätsch, Mika, Schölkopf & Müller 2002
    rho = cp.Variable(name="rho")
    loss = lambda f: -rho + cp.sum(cp.pos(rho - f)) / (0.3 * d.n)
    return Formulation(loss, Simplex(), nonnegative=True, scores=True), stumps(d, constant=False), None, d.H[:, :-1]
ranking: sum over pairs (1 - (f_i - f_j))_+ + lam sum w // Joachims 2002
    pairs = [(i, j) for i in range(d.n) for j in range(i) if d.grades[i] != d.grades[j]][:: d.n // 10]
    D = np.array([np.eye(d.n)[i] - np.eye(d.n)[j] for i, j in pairs])
    y = np.sign(D @ d.grades)
    return formulations.soft_margin(0.2), oracles.Rows(stumps(d, constant=False), D), y, D @ d.H[:, :-1]
area under the curve: sum over pairs of both classes of ln(1 + exp(f_j - f_i)), + lam |w|_1 // Burges et al. 2005
    pairs = [(i, j) for i in np.flatnonzero(d.y > 0) for j in np.flatnonzero(d.y < 0)][:: d.n // 10]
    D = np.array([np.eye(d.n)[i] - np.eye(d.n)[j] for i, j in pairs])
    loss = lambda f: cp.sum(cp.logistic(-f))
    return Formulation(loss, L1(2.0), scores=True), oracles.Rows(stumps(d, constant=False), D), None, D @ d.H[:, :-1]
ranking of queries: sum over all pairs of a query (1 - (f_p - f_q))_+, + lam |w|_1, sorted // Joachims 2002
    return Formulation(PairwiseHinge(d.y, groups=d.group), L1(2.0), scores=True), stumps(d), None
rankboost: sum over all pairs exp(f_q - f_p), + lam |w|_1, sorted // RankBoost, Freund et al. 2003
    return Formulation(PairwiseExponential(d.y, C=1 / d.n), L1(1.0), scores=True), stumps(d), None
squared pairs: sum over all pairs (1 - (f_p - f_q))_+^2 / 2, + lam/2 |w|^2, sorted // Chapelle & Keerthi 2010
    return Formulation(PairwiseSquaredHinge(d.y, C=1 / d.n), SquaredL2(1.0), scores=True), stumps(d), None
label proportions: sum (mean f over the bag - its mean target)^2 + lam |w|_1 // Quadrianto et al. 2009
    loss = lambda m: cp.sum_squares(m - d.bags @ d.y)
    return Formulation(loss, L1(0.5), intercept=True, scores=True), oracles.Rows(stumps(d), d.bags), None, d.bags @ d.H
multiple instances: hinges of mean scores of positive bags and of the largest of others // after Andrews et al. 2003
    bags = [np.flatnonzero(bag) for bag in d.bags]
    loss = lambda f: sum(
        cp.pos(1 - cp.sum(f[bag]) / len(bag)) if k % 2 else cp.pos(1 + cp.max(f[bag])) for k, bag in enumerate(bags)
    )
    return Formulation(loss, L1(0.2), intercept=True, scores=True), stumps(d), None
balanced transduction: hinges of some, such that the mean of all scores is that of all labels // Joachims 1999
    known, held = np.arange(d.n // 2), lambda f: [cp.sum(f) == np.sum(d.y)]
    loss = lambda f: cp.sum(cp.pos(1 - cp.multiply(d.y, f)[known]))
    return Formulation(loss, L1(0.5), intercept=True, scores=True, constraints=held), stumps(d), None
prices of features: sum ln(1 + exp(-z)) + sum_h cost(h) |w_h|: features have prices // Xu, Weinberger & Chapelle 2012
    oracle = oracles.Stumps(d.X, costs=[1.0, 3.0])
    return Formulation(Logistic(1.0), L1(1.0), intercept=True), oracle, d.y, d.H / costs_of(d)
stumps and lines: stumps and features as they are, these at twice the price
    lines = oracles.Costed(oracles.Pool.of([Line(0), Line(1)], d.X), 2.0)
    oracle = oracles.Union(oracles.Stumps(d.X), lines)
    return Formulation(Logistic(1.0), L1(1.0), intercept=True), oracle, d.y, np.hstack([d.H, d.X / 2])
group lasso: sum ln(1 + exp(-z)) + lam sum_features |w_d|_2, w_d of all stumps of a feature // Yuan & Lin 2006
    groups = lambda w: 3.0 * sum(cp.norm2(w[of]) for of in of_features(d))
    return Formulation(Logistic(1.0), L1(3.0), intercept=True), oracles.FeatureGroups(d.X), d.y, d.H[:, :-1], groups
sparse group lasso: hinges + lam sum_features |w_d|_2 + mu |w_d|_1 // Simon, Friedman, Hastie & Tibshirani 2013
    groups = lambda w: 2.0 * sum(cp.norm2(w[of]) for of in of_features(d)) + 1.0 * cp.norm1(w)
    oracle = oracles.FeatureGroups(d.X, entries=0.5)
    return Formulation(Hinge(1.0), L1(2.0), intercept=True), oracle, d.y, d.H[:, :-1], groups
multiple kernels: sum (1 - z)_+ + lam sum_m |f_m| in the spaces of two kernels // Bach, Lanckriet & Jordan 2004
    kernels = [Gaussian(0.1), Laplacian(0.3)]
    roots = [np.linalg.cholesky(kernel(d.X, d.X) + 1e-13 * np.eye(d.n)) for kernel in kernels]
    norms = lambda w: 1.0 * sum(cp.norm2(w[m * d.n : (m + 1) * d.n]) for m in range(2))
    oracle = oracles.KernelBalls(kernels, d.X, weights=[1.0, 1.0])
    return Formulation(Hinge(1.0), L1(1.0), intercept=True), oracle, d.y, np.hstack(roots), norms
fused thresholds: 1/2 sum (t - f)^2 + lam sum_k |w_{k+1} - w_k| over thresholds of features // Tibshirani et al. 2005
    middles = [(np.unique(x)[:-1] + np.unique(x)[1:]) / 2 for x in d.X.T]
    steps = [np.tri(len(m)) for m in middles]
    jumps = [Staircase(j, tuple(m), tuple(row)) for j, m in enumerate(middles) for row in steps[j].T]
    fused = lambda w: 4.0 * sum(cp.norm1(cp.diff(cp.hstack([0.0, w[of]]))) for of in of_features(d))
    loss = SquaredError(1.0, d.t[:, None])
    oracle = oracles.Pool.of(jumps, d.X)
    return Formulation(loss, L1(4.0), intercept=True, outputs=1), oracle, None, d.H[:, :-1], fused
""")


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
    j = np.arange(d.H.shape[1])
    return np.where(j < first, 1.0, np.where(j == d.H.shape[1] - 1, 1.0, 3.0))


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
