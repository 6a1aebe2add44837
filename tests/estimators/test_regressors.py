"""Regressors by column generation: against all stumps at once in cvxpy, and what users see of them."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, solve_all
from estimator_samples import assert_optimal
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import xlogy
from sklearn import metrics
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.svm import SVR

from cvxens import (
    AdditiveRegressor,
    ColumnGenerationClassifier,
    ColumnGenerationRegressor,
    InfiniteEnsembleSVR,
    LPBoostRegressor,
    load_model,
)
from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.oracles import Pool
from cvxens.errors import InvalidInput
from cvxens.estimators.regressors import find_spread
from cvxens.export import to_onnx
from cvxens.plotting import ShapeDisplay
from cvxens.problems.penalties import L1, SquaredL2
from cvxens.problems.target_losses import Deviance, EpsilonInsensitive
from cvxens.report import Report

RANDOM = np.random.default_rng(0)
X = RANDOM.integers(0, 6, (30, 2)).astype(float)
T = np.where(X[:, 0] > 2, 2.0, -1.0) + 0.4 * X[:, 1] + RANDOM.normal(size=30).round(2)
NEW = RANDOM.uniform(-1, 7, (50, 2))
V = cp.Variable(2, name="v")


def enumerate_all(loss):
    """The least loss and l1 norm over all stumps."""
    return solve_all(all_stumps(X)[:, :-1], None, loss, cp.norm1, intercept=True, tol=1e-9)


AdditiveStumps = partial(AdditiveRegressor, oracle="stumps")
WIDTH = find_spread(T, np.ones(30))
CASES = {
    "absolute": ([LPBoostRegressor(C=0.3), AdditiveStumps("absolute", C=0.3)], lambda F: (0.3 * cp.norm1(T - F), [])),
    "huber": (
        [LPBoostRegressor("huber", C=0.3), AdditiveStumps("huber", C=0.3)],
        lambda F: (0.3 / WIDTH * cp.sum(cp.huber(T - F, WIDTH)) / 2, []),
    ),
    "narrow huber": ([LPBoostRegressor("huber", C=0.3, delta=0.5)], lambda F: (0.3 * cp.sum(cp.huber(T - F, 0.5)), [])),
    "insensitive": (
        [LPBoostRegressor("epsilon_insensitive", C=0.3)],
        lambda F: (0.3 * cp.sum(cp.pos(cp.abs(T - F) - 0.1 * WIDTH)), []),
    ),
    "quantile": (
        [model(loss="quantile", C=0.3, quantile=0.8) for model in (LPBoostRegressor, AdditiveStumps)],
        lambda F: (0.3 * cp.sum(0.8 * cp.pos(T - F) + 0.2 * cp.pos(F - T)), []),
    ),
    "by default": ([LPBoostRegressor()], lambda F: (cp.norm1(T - F) / 30**0.5, [])),
    "squared": ([AdditiveStumps("squared", C=0.3)], lambda F: (0.3 / WIDTH / 2 * cp.sum_squares(T - F), [])),
}


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "quantile"])
def test_an_additive_model_finds_its_price_in_any_units(loss):
    model = AdditiveRegressor(loss, pairs=False).fit(X, T)
    moved = AdditiveRegressor(loss, pairs=False).fit(X, 1000 * T + 5e4)
    assert_allclose(moved.C_, model.C_)
    assert_allclose((moved.predict(NEW) - 5e4) / 1000, model.predict(NEW), atol=0.05)
    assert model.score(X, T) > 0.7
    assert AdditiveRegressor(loss, pairs=False).fit(X, np.ones(30)).predict(NEW) == pytest.approx(np.ones(50))


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_that_over_all_stumps(name):
    models, loss = CASES[name]
    for model in models:
        assert_optimal(model.set_params(tol=1e-7).fit(X, T).certificate_, enumerate_all(loss), tol=1e-7, rel=1e-6)
        assert model.predict(NEW).shape == (50,)


Tweedie = partial(TweedieRegressor, power=1.5)
PEERS = [("poisson", 1, PoissonRegressor), ("gamma", 2, GammaRegressor), ("tweedie", 1.5, Tweedie)]


@pytest.mark.parametrize(("loss", "power", "peer"), PEERS)
def test_means_of_counts_and_amounts(loss, power, peer):
    t, e = np.floor(np.exp(T)) + (power == 2), 1.0 + np.arange(30) % 3
    model, unit = AdditiveStumps(loss, C=0.3, tol=1e-7).fit(X, t), t.mean() ** (power - 1) / find_spread(t, e**0)
    at_best, costs = {
        1: (t - xlogy(t, t), lambda F: cp.exp(F) - cp.multiply(t, F)),
        1.5: (4 * t**0.5, lambda F: 2 * cp.exp(F / 2) + 2 * cp.multiply(t, cp.exp(-F / 2))),
        2: (1 + np.log(np.maximum(t, 1)), lambda F: cp.multiply(t, cp.exp(-F)) + F),
    }[power]
    optimum = enumerate_all(lambda F: (0.3 * unit * cp.sum(costs(F) - at_best), []))
    assert_optimal(model.certificate_, optimum, tol=1e-7, rel=1e-6)
    # effects add up to the logarithm of the mean, as the label of pictures says, and units only multiply it
    assert_allclose(np.exp(model.effects(X)(NEW)), model.predict(NEW))
    (ax,) = ShapeDisplay.from_estimator(model, X, n_shown=1).axes_
    assert ax.get_ylabel() == "contribution to f\n(ln of the prediction)"
    assert Report(model, X, t).content["effects"]["score"] == "score (ln of the prediction)"
    moved, chosen = (AdditiveStumps(loss).fit(X, unit * t) for unit in (1e-9, 1.0))
    assert_allclose(moved.C_, chosen.C_)
    assert_allclose(moved.predict(NEW), 1e-9 * chosen.predict(NEW), rtol=1e-6)
    # without terms, scikit-learn's, of a squared penalty; weights are exposures
    given = Formulation(Deviance(t, power, e / e.sum()), SquaredL2(0.2), intercept=True)
    run = column_generation(given, Pool(X), tol=1e-9)
    linear = peer(alpha=0.2, tol=1e-9, max_iter=1000).fit(X, t, e)
    assert_allclose(np.exp(run.decision_function(X)), linear.predict(X), rtol=1e-4)
    for bad in (t - 9, 0 * t, *([t - 1] if power == 2 else [])):
        with pytest.raises(InvalidInput, match=r"^y: found .*; give (numbers|amounts)"):
            AdditiveStumps(loss).fit(X, bad)
    assert AdditiveStumps(loss).fit(X, np.eye(30)[0] + (power == 2)).predict(NEW).min() > 0


def test_quantiles_cross_nowhere_and_are_the_best_that_do_not():
    q = [0.2, 0.5, 0.8]
    model = LPBoostRegressor("quantile", quantile=q, C=0.3, tol=1e-7).fit(X, T)
    H = all_stumps(X)[:, :-1]
    H = np.hstack([H, -H])
    base, steps, constants, b = (cp.Variable(size, nonneg=size != 1) for size in (H.shape[1], (H.shape[1], 2), 2, 1))
    f = [H @ base + b]
    for k in range(2):
        f.append(f[k] + (1 + H) @ steps[:, k] + constants[k])
    pinball = sum(cp.sum(level * cp.pos(T - z) + (1 - level) * cp.pos(z - T)) for level, z in zip(q, f, strict=True))
    paid = cp.sum(base) + cp.sum(steps) + cp.sum(constants) / 100
    optimum = cp.Problem(cp.Minimize(0.3 * pinball + paid)).solve(solver="CLARABEL")
    assert_optimal(model.certificate_, optimum, tol=1e-7, rel=1e-6)
    predicted = model.predict(RANDOM.uniform(-1, 7, (2000, 2)))
    assert (np.diff(predicted, axis=1) >= 0).all()
    rates = [metrics.d2_pinball_score(T, f, alpha=level) for level, f in zip(q, model.predict(X).T, strict=True)]
    assert model.score(X, T) == pytest.approx(sum(rates) / 3)
    # by construction: distances of intercepts outweigh all that the weak learners can take away
    assert (np.diff(model.intercept_) >= np.abs(np.diff(model.weights_, axis=1)).sum(axis=0) - 1e-12).all()
    assert model.dual_weights_.shape == (30, 3)
    assert model.weights_.shape[1:] == model.intercept_.shape == (3,)
    assert model.to_text(1).splitlines()[-1].count(",") == 2
    assert model.certify(X, T).primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert model.certify(X, T, weights=0 * model.weights_).primal > model.certificate_.primal
    with pytest.raises(InvalidInput, match=r"^intercept: "):
        model.certify(X, T, intercept=model.intercept_[::-1])
    with pytest.raises(InvalidInput, match=r"^oracle: .*may leave"):
        LPBoostRegressor("quantile", quantile=q, oracle="ramps").fit(X, T)


def with_a_line(X, t, weights):
    """Squares, with stumps and a linear function of the features that costs nothing."""

    def loss(f):
        return cp.sum(cp.multiply(weights, cp.square(t - f - X @ V)))

    return Formulation(loss, L1(4.0), intercept=True, scores=True, decide=add_the_line)


def add_the_line(f, X, own):
    """Add the linear function."""
    return f + X @ own["v"]


def test_a_formulation_of_ones_own_with_a_linear_part(tmp_path):
    model = ColumnGenerationRegressor(with_a_line, tol=1e-6).fit(X, T)
    H, W, b = all_stumps(X)[:, :-1], cp.Variable(10), cp.Variable()
    r = T - H @ W - b - X @ V
    optimum = cp.Problem(cp.Minimize(cp.sum_squares(r) + 4 * cp.norm1(W))).solve(solver="CLARABEL")
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-6)
    paid = ((T - model.predict(X)) ** 2).sum() + 4 * np.abs(model.weights_).sum()
    assert paid == pytest.approx(optimum, rel=1e-6)
    assert_allclose(model.variables_["v"], V.value, atol=1e-3)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model", trusted=[with_a_line, add_the_line])
    assert_array_equal(again.predict(NEW), model.predict(NEW))


def test_a_classifier_with_a_linear_part():
    y = np.where(np.median(T) < T, 1.0, -1.0)
    formulation = Formulation(
        lambda z: cp.sum(cp.logistic(-z - cp.multiply(y, X @ V))), L1(1.0), intercept=True, decide=add_the_line
    )
    model = ColumnGenerationClassifier(formulation, tol=1e-6).fit(X, y)
    plain = np.column_stack([h(X) for h in model.weak_learners_]) @ model.weights_ + model.intercept_
    assert_allclose(model.decision_function(X), plain + X @ model.variables_["v"])
    primal = np.logaddexp(0, -y * model.decision_function(X)).sum() + np.abs(model.weights_).sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    with pytest.raises(InvalidInput, match="variables of its own"):
        to_onnx(model)


@pytest.mark.parametrize("kernel", ["stump", "gaussian", "laplacian"])
def test_support_vector_regression_is_that_of_cvxpy_and_libsvm(kernel):
    model = InfiniteEnsembleSVR(kernel, C=0.7, epsilon=0.3, tol=1e-8).fit(X, T)
    K = model._kernel.function(X, X)
    loss, J = EpsilonInsensitive(T, 0.3, 0.7), np.eye(30) - 1 / 30
    u = cp.Variable(30)
    dual = T @ u - 0.3 * cp.norm1(u) - cp.quad_form(u, cp.psd_wrap(J @ K @ J)) / 2
    optimum = cp.Problem(cp.Maximize(dual), [cp.abs(u) <= 0.7, cp.sum(u) == 0]).solve(solver="CLARABEL")
    assert_optimal(model.certificate_, optimum, tol=1e-8, rel=1e-6)
    dual = loss.dual_value(model.dual_weights_) - model.dual_weights_ @ K @ model.dual_weights_ / 2
    assert dual == pytest.approx(optimum, rel=1e-6)
    libsvm = SVR(kernel="precomputed", C=0.7, epsilon=0.3, tol=1e-9).fit(K - K.min(), T)
    assert_allclose(model.predict(X), libsvm.predict(K - K.min()), atol=1e-3)


def test_support_vector_regression_is_certified_and_follows_weights():
    model = InfiniteEnsembleSVR(tol=1e-6).fit(X, T)
    assert model.certify(X, T).holds(1e-5)
    assert model.certify(X, T, weights=0.9 * model.dual_coef_).relative_gap > 1e-4
    assert model.certify(X[:20], T[:20]).relative_gap > 1e-3
    weights = np.arange(30) % 3
    limits = {"C": 1.0, "epsilon": 0.2, "tol": 1e-9}
    weighted = InfiniteEnsembleSVR(**limits).fit(X, T, weights)
    repeated = InfiniteEnsembleSVR(**limits).fit(np.repeat(X, weights, axis=0), np.repeat(T, weights))
    assert_allclose(weighted.predict(NEW), repeated.predict(NEW), rtol=1e-9)
    # units of the targets do not matter
    assert_allclose(InfiniteEnsembleSVR(tol=1e-6).fit(X, 1e3 * T).predict(NEW), 1e3 * model.predict(NEW), rtol=1e-2)
    with pytest.warns(ConvergenceWarning, match="InfiniteEnsembleSVR: "):
        InfiniteEnsembleSVR(max_time=1e-9, tol=1e-12).fit(X, T)
