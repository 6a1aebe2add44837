"""Prices that are chosen by cross-validation: what was tried, which is best, and what cannot be chosen by."""

import time
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from estimator_samples import assert_optimal, three_classes, two_classes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.svm import SVC

from cvxens import (
    AdditiveClassifier,
    AdditiveRegressor,
    CGEnsClassifier,
    CGEnsSLSClassifier,
    InfiniteEnsembleSVC,
    InfiniteEnsembleSVR,
    LPBoostClassifier,
    LPBoostRegressor,
    MultiBoostClassifier,
    PriceSearchCV,
    limits,
    load_model,
)
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_threenorm
from cvxens.estimators import infinite_ensembles, prices
from cvxens.estimators.prices import Trial, find_best
from cvxens.kernels import DecisionStump, Gaussian, Perceptron, Stump
from cvxens.limits import Ending
from cvxens.solvers import blockwise

RNG = np.random.default_rng(4)
X = RNG.integers(0, 2, (60, 6)).astype(float)
Y = np.where(X[:, 0] + X[:, 1] + 1.2 * RNG.normal(size=60) > 1, "yes", "no")
MODELS = [AdditiveClassifier(oracle="stumps"), LPBoostClassifier(), CGEnsClassifier()]


def mean_loss(model, A, y):
    """The log loss where there are probabilities, else the hinge loss."""
    if hasattr(model, "predict_proba"):
        return metrics.log_loss(y, model.predict_proba(A))
    return metrics.hinge_loss(y, model.decision_function(A))


def assert_scores_are_those_of(models, search, sample, folds, error, atol):
    """The scores of some rows are minus the errors of models, each fitted to the folds."""
    A, y = sample
    for row, model in models.items():
        for k, (train, test) in enumerate(folds):
            expected = -error(clone(model).fit(A[train], y[train]), A[test], y[test])
            assert_allclose(search.cv_results_[f"split{k}_test_score"][row], expected, atol=atol)


@pytest.mark.parametrize(
    ("scores", "n_tried"),
    [((-1264, -909, -810, -786, -606, -469, -409, -384, -530), 9), ((-1, -0.5, -0.4, -0.399, 0), 4)],
)
def test_higher_prices_end_at_gains_small_beside_the_one_before_and_the_score(scores, n_tried):
    path, known = object.__new__(prices.EnsemblePath), {2.0**k: score for k, score in enumerate(scores)}
    search, l1 = SimpleNamespace(folds=[(None, np.ones(1000))], first=None), SimpleNamespace(edge_limit=1.0)

    def score(price):
        path.trials[price] = Trial(path, price, [known.get(price, -1e9)], 0.0, of_folds=[[[Stump(0, 0.0)]]])
        return path.trials[price]

    vars(path).update(trials={}, search=search, problems=[(None, None)], _finish=lambda _: 1.0)
    vars(path).update(_try=score, _has_time=lambda *_: True, _formulate=lambda *_: SimpleNamespace(terms=(None, l1)))
    path.sweep([1.0])
    path.walk()
    assert [trial.price for trial in path.ordered[1:]] == [2.0**k for k in range(n_tried)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_scores_are_those_of_fits_to_each_fold_at_each_price(model, monkeypatch):
    monkeypatch.setattr(prices.EnsemblePath._generate, "__defaults__", (1e-4,))
    # features of two values have one threshold, in every fold
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    chosen = PriceSearchCV(model, cv=folds).fit(X, Y)
    table = chosen.cv_results_
    assert table["max_relative_gap"].max() <= 1e-4
    make = partial(type(model), oracle=model.oracle)
    # the best price is as the inverse root of the size
    models = {row: make(C=1.5**0.5 * table["param_C"][row], tol=1e-6) for row in (0, len(table["params"]) // 2)}
    atol = 0.02 if hasattr(model, "predict_proba") else 0.05
    assert_scores_are_those_of(models, chosen, (X, Y), folds, mean_loss, atol)
    at_that_price = make(C=chosen.C_).fit(X, Y)
    assert_allclose(chosen.certificate_.primal, at_that_price.certificate_.primal, rtol=2e-3)
    assert chosen.certificate_.holds(1e-3)
    assert chosen.certificate_.proven


ERRORS = {
    "squared": metrics.mean_squared_error,
    "absolute": metrics.mean_absolute_error,
    "quantile": partial(metrics.mean_pinball_loss, alpha=0.8),
    "poisson": metrics.mean_poisson_deviance,
}


@pytest.mark.parametrize("loss", ERRORS)
def test_scores_of_a_regression_are_those_of_fits_to_each_fold(loss, monkeypatch):
    monkeypatch.setattr(prices.EnsemblePath._generate, "__defaults__", (1e-4,))
    t = 2 * X[:, 0] - X[:, 1] + RNG.normal(size=60)
    t = np.floor(np.exp(t / 3)) if loss == "poisson" else t
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    make = partial(AdditiveRegressor, loss, oracle="stumps", **{"quantile": 0.8} if loss == "quantile" else {})
    chosen = PriceSearchCV(make(), cv=folds).fit(X, t)
    table = chosen.cv_results_
    row, error = len(table["params"]) // 2, ERRORS[loss]
    models = {row: make(C=1.5**0.5 * table["param_C"][row], tol=1e-6)}
    assert_scores_are_those_of(models, chosen, (X, t), folds, lambda fold, A, u: error(u, fold.predict(A)), 0.03)
    best = int(table["mean_test_score"].argmax())
    assert table["param_C"][best] == chosen.C_
    assert chosen.certificate_.holds(1e-3)


def test_pairs_are_taken_where_they_score_better(tmp_path):
    A = np.random.default_rng(0).normal(size=(60, 2)).round(1)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    # arrays of rows, which files hold
    parts = list(folds.split(A, A[:, 0] * A[:, 1] > 0))
    product = PriceSearchCV(AdditiveClassifier(), cv=parts).fit(A, A[:, 0] * A[:, 1] > 0)
    noisy = A[:, 0] + 0.7 * np.random.default_rng(1).normal(size=60)
    line = PriceSearchCV(AdditiveClassifier(), cv=folds).fit(A, noisy > 0)
    assert (product.pairs_, line.pairs_) == (True, False)
    assert set(product.cv_results_["param_pairs"]) == {True, False}
    assert product.score(A, A[:, 0] * A[:, 1] > 0) > 0.9
    product.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.C_ == product.C_
    assert_array_equal(again.predict_proba(A), product.predict_proba(A))


def test_of_many_samples_a_share_is_searched(monkeypatch):
    """The rare class is in it, and its prices are those of the whole sample by the root of their sizes."""
    rows, seen = np.random.default_rng(0).integers(0, 60, 400), []
    A, y = X[rows] + np.random.default_rng(1).normal(size=(400, 6)), np.where(np.arange(400) < 9, "rare", Y[rows])
    generate = prices.column_generation
    monkeypatch.setattr(prices, "MANY", 100)
    monkeypatch.setattr(prices, "column_generation", lambda *a, **k: seen.append(a) or generate(*a, **k))
    model = AdditiveClassifier(oracle="stumps").fit(A, y == "rare")
    assert max(len(signs) for _, _, signs in seen) == 101
    assert all((signs > 0).any() for _, _, signs in seen)
    assert "split1_test_score" not in model.cv_results_
    assert model.certificate_.holds(model.tol)
    # a sample of 101, or of a part of these, costs as if it were the root of 400 over their number
    costs = [float(formulation.loss.C[0]) * (len(signs) / 400) ** 0.5 for formulation, _, signs in seen]
    assert_allclose(np.unique(np.round(costs, 9)), np.unique(np.round(model.cv_results_["param_C"], 9)))


def test_no_higher_price_is_tried_where_the_scores_of_many_samples_bend():
    random = np.random.default_rng(0)
    A = random.integers(0, 9, (3000, 3)).astype(float)
    model = AdditiveClassifier(oracle="stumps").fit(A, A @ [1, 1, -1] + 4 * random.normal(size=3000) > 4)
    before, last = np.diff(model.cv_results_["mean_test_score"][-3:])
    # a parabola through the last three has its peak so near the last one
    assert abs(np.log2(model.C_ / max(model.cv_results_["param_C"]))) <= 0.5
    assert 0 < last <= before / 3


def test_folds_are_of_samples_as_they_were_given():
    # 40 samples of two kinds, each with both classes: folds of samples that are merged would have one class of a kind
    A = np.repeat([[0.0], [1.0]], 20, axis=0)
    labels = np.r_[np.arange(20) < 6, np.arange(20) < 14]
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(A, labels))
    first, second = (PriceSearchCV(AdditiveClassifier(), cv=folds).fit(A, labels) for _ in range(2))
    assert first.C_ == second.C_
    assert first.score(A, labels) == 0.7
    assert first.cv_results_["mean_test_score"].max() > -0.67
    doubled = (np.vstack([A, A]), np.r_[labels, ~labels], np.r_[np.ones(40), np.zeros(40)])
    weighted = PriceSearchCV(AdditiveClassifier(), cv=folds).fit(*doubled)
    assert_allclose(weighted.decision_function(A), first.decision_function(A))


def test_every_sub_problem_has_its_price_and_pairs():
    A, labels = load_iris(return_X_y=True)
    model = AdditiveClassifier(oracle="quantile_stumps").fit(A[::4, :2], labels[::4])
    assert len(set(model.C_)) > 1
    assert model.pairs_ == [False] * 3
    assert len(model.cv_results_) == 3
    assert all(certificate.holds(2e-3) for certificate in model.certify(A[::4, :2], labels[::4]))
    assert AdditiveClassifier().fit(A[::50], labels[::50]).score(A[::50], labels[::50]) == 1.0  # one of each


@pytest.mark.parametrize("kind", [AdditiveClassifier, CGEnsClassifier])
def test_sub_problems_have_one_price_in_a_search(kind, monkeypatch):
    monkeypatch.setattr(prices.EnsemblePath._generate, "__defaults__", (1e-4,))
    # features of two values have one threshold, in every fold
    A, folds, tried = RNG.integers(0, 2, (90, 5)).astype(float), StratifiedKFold(2), [0.1, 1.0]
    labels = np.clip(A[:, 0] + A[:, 1] + RNG.integers(0, 2, 90), 0, 2)
    kind = partial(kind, oracle="stumps")
    search = PriceSearchCV(kind(), prices=tried, cv=folds).fit(A, labels)
    # the best price is as the inverse root of the size, in every sub-problem
    models = {row: kind(C=2**0.5 * C, tol=1e-6) for row, C in enumerate(tried)}
    assert_scores_are_those_of(models, search, (A, labels), list(folds.split(A, labels)), mean_loss, 0.03)
    assert search.best_estimator_.C == search.best_params_["C"] == tried[search.best_index_]
    assert all(certificate.holds(1e-3) for certificate in search.certificate_)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert vars(search.best_estimator_).keys() == vars(clone(search.best_estimator_).fit(A, labels)).keys()


@pytest.mark.parametrize(
    ("model", "sample"),
    [
        (MultiBoostClassifier(), load_iris(return_X_y=True)),
        (CGEnsSLSClassifier(), load_iris(return_X_y=True)),
        (LPBoostRegressor(), load_diabetes(return_X_y=True)),
        (InfiniteEnsembleSVR(), load_diabetes(return_X_y=True)),
        (InfiniteEnsembleSVR("gaussian"), load_diabetes(return_X_y=True)),
        (InfiniteEnsembleSVC("middle-stump"), load_iris(return_X_y=True)),
    ],
    ids=["multiboost", "least squares", "deviations", "SVR", "SVR of distances", "another kernel on each fold"],
)
def test_whatever_has_a_price_is_searched(model, sample):
    A, t = (each[::3] for each in sample)
    search = PriceSearchCV(model, scoring="neg_mean_absolute_error" if "R" in str(model)[-12:] else None).fit(A, t)
    scores = search.cv_results_["mean_test_score"]
    assert scores.min() < scores.max() == search.best_score_
    again = clone(search.best_estimator_).fit(A, t)
    found, expected = (np.array([c.primal for c in np.ravel(m.certificate_)]) for m in (search, again))
    assert_allclose(found, expected, rtol=2e-3)
    assert search.score(A, t) == pytest.approx(again.score(A, t), abs=0.02)


def test_nu_is_chosen_as_the_price_of_the_same_model():
    weights = np.random.default_rng(0).uniform(0.5, 4.0, 60)
    chosen = LPBoostClassifier(nu="auto", tol=1e-6).fit(X, Y, sample_weight=weights)
    by_price = LPBoostClassifier(C="auto", tol=1e-6).fit(X, Y, sample_weight=weights)
    assert chosen.C_ == by_price.C_
    assert chosen.nu_ == pytest.approx(by_price.certificate_.primal / (by_price.C_ * weights.sum()), rel=1e-5)
    given = LPBoostClassifier(nu=chosen.nu_, tol=1e-6).fit(X, Y, sample_weight=weights)
    assert given.nu_ == chosen.nu_
    assert by_price.nu_ is None
    # the optimum of LPBoost is 1 / U
    assert_optimal(chosen.certificate_, 1 / by_price.certificate_.primal, tol=1e-6, rel=1e-5)
    assert given.certificate_.primal == pytest.approx(chosen.certificate_.primal, rel=1e-5)
    assert chosen.weights_.sum() == pytest.approx(1)
    assert chosen.certify(X, Y, sample_weight=weights).holds(1e-4)
    search = PriceSearchCV(LPBoostClassifier(nu=0.5, tol=1e-6)).fit(X, Y, sample_weight=weights)
    assert search.best_params_ == {"nu": chosen.nu_}
    assert search.certificate_.primal == pytest.approx(chosen.certificate_.primal, rel=1e-5)


def test_shares_nu_are_tried_as_they_are():
    folds = StratifiedKFold(2)
    search = PriceSearchCV(LPBoostClassifier(nu=0.5), prices=[0.95, 0.8], cv=folds).fit(X, Y)
    assert search.cv_results_["param_nu"].tolist() == [0.95, 0.8]
    assert_scores_are_those_of({1: LPBoostClassifier(nu=0.8)}, search, (X, Y), folds.split(X, Y), mean_loss, 0.05)
    simple = PriceSearchCV(LPBoostClassifier(nu=0.5), prices=[0.8, 0.95], one_standard_error=True).fit(X, Y)
    assert simple.best_params_ == {"nu": 0.95}


def test_within_a_standard_error_the_simplest_is_taken():
    path = type("Upward", (), {"sense": 1.0})()
    scores = {1.0: [0.5, 0.6], 2.0: [0.75, 0.8], 3.0: [0.7, 0.9], 4.0: [0.75, 0.85]}
    trials = [Trial(path, price, of_folds, 0.0) for price, of_folds in scores.items()]
    assert find_best(trials, one_standard_error=False) == 2
    assert find_best(trials, one_standard_error=True) == 1
    assert find_best(trials[::-1], one_standard_error=True) == 2
    # the default stays unless another one is better by more than a standard error of the difference
    assert find_best(trials, one_standard_error=False, usual=2.0) == 1
    assert find_best(trials, one_standard_error=False, usual=1.0) == 2


@pytest.mark.parametrize("several", [False, True], ids=["two classes", "targets"])
def test_the_mean_of_ensembles_is_certified_at_the_chosen_price(several):
    random = np.random.default_rng(8)
    A = X + 0.3 * random.normal(size=X.shape).round(1)
    t = A[:, 0] + A[:, 1] + random.normal(size=60)
    kind, y = (AdditiveRegressor, t) if several else (AdditiveClassifier, Y)
    mean = PriceSearchCV(kind(), average=True).fit(A[:, :3], y)
    table = mean.cv_results_
    scores = np.array([table[f"split{k}_test_score"] for k in range(3)])
    fallen = scores[:, [table["mean_test_score"].argmax()]] - scores
    near = (fallen.mean(axis=0) <= fallen.std(axis=0, ddof=1) / 3**0.5) & (table["n_weak_learners"] > 0)
    near[table["mean_test_score"].argmax()] = True
    members = [
        kind(C=C, pairs=pairs).fit(A[:, :3], y)
        for C, pairs in zip(table["param_C"][near], table["param_pairs"][near], strict=True)
    ]
    assert len(members) > 1
    score = "predict" if several else "decision_function"
    expected = np.mean([getattr(member, score)(A[:, :3]) for member in members], axis=0)
    assert_allclose(getattr(mean, score)(A[:, :3]), expected, atol=0.1)
    assert mean.pairs_ == table["param_pairs"][near].any()
    # the objective at C_ is that of the formulation, and the bound that of its optimum over the same set
    best = kind(C=mean.C_, pairs=bool(mean.pairs_), tol=1e-6).fit(A[:, :3], y)
    certificate = mean.certificate_
    assert certificate.proven
    assert certificate.dual <= best.certificate_.primal < certificate.primal
    assert_allclose(certificate.dual, best.certificate_.primal, rtol=2e-3)
    if not several:
        loss = mean.C_ * np.logaddexp(0, np.where(y == "yes", -1, 1) * mean.decision_function(A[:, :3])).sum()
        assert_allclose(certificate.primal, np.abs(mean.weights_).sum() + loss)
    # loss and penalty are convex
    apart = [m.set_params(C=mean.C_).certify(A[:, :3], y).primal for m in members]
    assert certificate.primal <= (1 + 2e-3) * np.mean(apart)


def test_what_is_given_is_not_chosen():
    model = LPBoostClassifier().fit(X, Y)
    assert model.C_ == 100 / 60
    assert model.cv_results_ is None
    assert LPBoostClassifier(nu=0.8).fit(X, Y).C_ is None
    assert AdditiveClassifier(C=0.3).fit(X[:, :2], Y).pairs_


NOISY = RNG.normal(size=(300, 4))
MIXED = NOISY[:, 0] + NOISY[:, 1] ** 2 + RNG.normal(size=300) > 1


@pytest.mark.parametrize("model", [LPBoostClassifier(C="auto"), CGEnsClassifier(C="auto")], ids=["lpboost", "cgens"])
def test_the_default_price_is_tried_and_stays_unless_another_one_is_clearly_better(model):
    usual = model.fit(NOISY, MIXED).__class__().fit(NOISY, MIXED).C_
    table = model.cv_results_
    assert usual in table["param_C"]
    assert len(table["params"]) > 1
    scores = np.array([table[f"split{k}_test_score"] for k in range(3)])
    gain = scores - scores[:, [table["param_C"].tolist().index(usual)]]
    clear = gain.mean(axis=0) > gain.std(axis=0, ddof=1) / 3**0.5
    best = table["mean_test_score"].argmax()
    # the peak of a parabola is within half a step of the best
    assert abs(np.log2(model.C_ / (table["param_C"][best] if clear[best] else usual))) <= np.log2(3) / 2
    assert model.certificate_.holds(1e-3)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is late by as many seconds as it is told."""
    told = SimpleNamespace(late=0.0)
    monkeypatch.setattr(limits, "time", SimpleNamespace(perf_counter=lambda: time.perf_counter() + told.late))
    return told


class Slow(Stumps):
    """Stumps that press Ctrl-C, or let time pass, in a round."""

    def price(self, s, exclude=(), **options):
        Slow.rounds += 1
        if Slow.rounds == Slow.last:
            if not Slow.seconds:
                raise KeyboardInterrupt
            Slow.clock.late += Slow.seconds
        return super().price(s, exclude, **options)


CUT = {
    "nu": LPBoostClassifier(nu="auto", oracle=Slow, max_time=1e3),
    "additive": AdditiveClassifier(oracle=Slow, max_time=1e3),
    "search": PriceSearchCV(LPBoostClassifier(oracle=Slow, max_time=1e3)),
    "prices": PriceSearchCV(LPBoostClassifier(oracle=Slow, max_time=1e3), prices=[0.1, 0.3]),
}


@cache
def fit_whole(name):
    """Return the score of a search that nothing cuts short, and how many rounds it has."""
    Slow.rounds, Slow.last = 0, 0
    return clone(CUT[name]).fit(NOISY, MIXED).score(NOISY, MIXED), Slow.rounds


@pytest.mark.thinned(1)
@pytest.mark.parametrize(("seconds", "ended"), [(0.0, "interrupted"), (1e4, "max_time reached")])
@pytest.mark.product(share=[0.11, 0.9], name=CUT)
def test_a_search_that_is_cut_keeps_the_best_ensemble_so_far(seconds, ended, share, name, clock):
    whole, rounds = fit_whole(name)
    Slow.rounds, Slow.last, Slow.seconds, Slow.clock = 0, max(4, int(share * rounds)), seconds, clock
    model = clone(CUT[name])
    with pytest.warns(ConvergenceWarning, match=ended):
        model.fit(NOISY, MIXED)
    assert model.score(NOISY, MIXED) > 0.5 + 0.7 * (whole - 0.5)
    assert np.isfinite(model.C_)
    assert model.certificate_.relative_gap < 0.3
    assert getattr(model, "best_estimator_", model).max_time == 1e3


NORM, SIDES = make_threenorm(120, 4, random_state=0)
CS = [0.5, 2.0**-9, 4.0, 2.0**-5]


def assert_same_search(ours, grid):
    assert ours.cv_results_["params"] == grid.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score"):
        assert_allclose(ours.cv_results_[name], grid.cv_results_[name], atol=1e-12)
    assert_array_equal(ours.cv_results_["rank_test_score"], grid.cv_results_["rank_test_score"])
    for k in range(grid.n_splits_):
        name = f"split{k}_test_score"
        assert_allclose(ours.cv_results_[name], grid.cv_results_[name], atol=1e-12)
    assert ours.best_params_ == grid.best_params_
    assert ours.best_score_ == pytest.approx(grid.best_score_)
    assert (ours.best_index_, ours.n_splits_) == (grid.best_index_, grid.n_splits_)


def both(estimator, sample=NORM, y=SIDES, *, grid=None, sample_weight=None, **options):
    options = {"cv": 5, "scoring": "accuracy", **options}
    ours = PriceSearchCV(estimator, grid, prices=CS, **options).fit(sample, y, sample_weight)
    values = {"C": CS} | (grid or {})
    return ours, GridSearchCV(estimator, values, **options).fit(sample, y, sample_weight=sample_weight)


COUNTS = np.random.default_rng(0).integers(0, 3, 120)
SEARCHES = [
    *((kernel, {}, {}) for kernel in ("stump", "perceptron", DecisionStump(), Gaussian(0.1), Stump() + Gaussian(0.1))),
    *((kernel, {}, {"grid": {"gamma": [0.5, 0.01]}}) for kernel in ("gaussian", "laplacian")),
    ("stump", {}, {"grid": {"kernel": ["stump", Gaussian(0.1), "perceptron"]}}),
    *(("stump", {"class_weight": w}, {"sample_weight": COUNTS}) for w in (None, "balanced", {-1: 3.0, 1: 0.5})),
    ("stump", {"solver": "additive"}, {}),
    ("precomputed", {}, {"sample": Perceptron()(NORM)}),
    ("stump", {}, {**dict(zip(("sample", "y"), three_classes(90), strict=True)), "cv": 3}),
]


@pytest.mark.parametrize(("kernel", "parameters", "options"), SEARCHES)
def test_the_answer_is_that_of_a_grid_search(kernel, parameters, options):
    ours, grid = both(InfiniteEnsembleSVC(kernel, tol=1e-8, **parameters), **options)
    assert_same_search(ours, grid)
    X = options.get("sample", NORM)
    assert_allclose(ours.decision_function(X), grid.decision_function(X), atol=2e-3)
    assert_array_equal(ours.predict(X), grid.predict(X))
    assert (ours.cv_results_["max_relative_gap"] <= 1e-8).all()
    assert ours.best_params_.keys() == {"C", *options.get("grid", ())}


def test_the_answer_is_that_of_a_search_over_scikit_learn_machines():
    machine = InfiniteEnsembleSVC("perceptron", tol=1e-8)
    ours = PriceSearchCV(machine, prices=CS, cv=5, scoring="accuracy").fit(NORM, SIDES)
    peer = GridSearchCV(SVC(kernel="precomputed", tol=1e-8), {"C": CS}, cv=5).fit(Perceptron()(NORM), SIDES)
    assert_same_search(ours, peer)


@pytest.mark.parametrize(
    "options",
    [
        {"cv": KFold(3, shuffle=True, random_state=0)},
        {"cv": StratifiedKFold(4)},
        {"cv": [(np.arange(100)[::-1], np.arange(100, 120)), (np.arange(20, 120), np.arange(20))]},
        {"scoring": "roc_auc"},
        {"scoring": "balanced_accuracy"},
        {"scoring": lambda model, sample, y: float(np.mean(model.decision_function(sample) * y))},
        {"n_jobs": 2},
    ],
    ids=", ".join,
)
def test_folds_and_scores(options):
    ours, grid = both(InfiniteEnsembleSVC(tol=1e-9), **options)
    assert_allclose(ours.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=1e-3)
    assert ours.best_params_ == grid.best_params_


def test_a_matrix_that_does_not_fit(monkeypatch):
    search = PriceSearchCV(InfiniteEnsembleSVC("perceptron", tol=1e-8), prices=CS, scoring="accuracy")
    dense = clone(search).fit(NORM, SIDES)
    monkeypatch.setattr(infinite_ensembles, "available_memory", lambda: 50_000)
    cached = clone(search).fit(NORM, SIDES)
    assert_array_equal(dense.cv_results_["mean_test_score"], cached.cv_results_["mean_test_score"])


@pytest.mark.parametrize("machine", [InfiniteEnsembleSVC(), InfiniteEnsembleSVC("gaussian", C=3.0)], ids=["scale", "C"])
def test_multiples_of_the_own_price_are_tried(machine):
    sample, y = two_classes(60)
    shares = [2.0**k for k in range(-8, 9, 2)]
    search = PriceSearchCV(machine, cv=2).fit(sample, y)
    assert_allclose(search.cv_results_["param_C"], np.multiply(shares, clone(machine).fit(sample, y).C_))
    assert set(search.best_params_) == {"C"}


def test_results_are_a_table():
    ours = PriceSearchCV(InfiniteEnsembleSVC("gaussian"), {"gamma": [0.1, 1.0]}, prices=CS, cv=2).fit(NORM, SIDES)
    table = pd.DataFrame(ours.cv_results_)
    assert len(table) == 8
    assert table.loc[ours.best_index_, ["param_C", "param_gamma"]].to_dict() == {
        f"param_{name}": value for name, value in ours.best_params_.items()
    }
    assert ours.refit_time_ > 0


@pytest.mark.parametrize("gammas", [None, {"gamma": [0.1, 1.0]}], ids=["one kernel", "two kernels"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_without_time_ends_with_the_own_price(gammas, n_jobs):
    machine = InfiniteEnsembleSVC("gaussian", max_time=1e-9, tol=1e-12)
    search = PriceSearchCV(machine, gammas, prices=CS, cv=2, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match="max_time reached") as told:
        search.fit(NORM, SIDES)
    assert "; prices that were scored: 0" in str(told[0].message)
    assert (search.best_index_, search.cv_results_) == (-1, {})
    assert np.isnan(search.best_score_)
    assert search.certificate_.relative_gap <= 1 + 1e-9


class SlowSolver:
    """A solver of problems of two classes that presses Ctrl-C, or lets time pass, at some call."""

    def __init__(self, solve, last, clock, seconds):
        self.solve, self.last, self.clock, self.seconds, self.n_calls = solve, last, clock, seconds, 0

    def __call__(self, *given, **options):
        self.n_calls += 1
        solution = self.solve(*given, **options)
        if self.n_calls != self.last:
            return solution
        if self.seconds:
            self.clock.late += self.seconds
            return solution
        return replace(solution, ending=Ending.INTERRUPTED)


@pytest.mark.product(ended=["interrupted", "max_time reached"], last=[1, 7, 18])
def test_a_search_that_is_cut_ends_with_a_certified_machine(monkeypatch, clock, ended, last):
    """Four prices and three folds are twelve fits of a kernel: at the seventh one fold is done, or the cheap prices."""
    seconds = 800.0 if "time" in ended else 0.0
    # one compiled loop is not interrupted
    monkeypatch.setattr(infinite_ensembles, "WHOLE", 0)
    slow = SlowSolver(blockwise.solve_blockwise, last, clock, seconds)
    monkeypatch.setattr(infinite_ensembles, "solve_blockwise", slow)
    machine = InfiniteEnsembleSVC("gaussian", max_time=1e3 if seconds else None)
    search = PriceSearchCV(machine, {"gamma": [0.1, 1.0]}, prices=CS, scoring="accuracy")
    with pytest.warns(ConvergenceWarning, match=ended):
        search.fit(NORM, SIDES)
    if not seconds:
        # the machine is fitted to the end, at the best of what was scored
        assert search.certificate_.holds(1e-3)
        assert (search.best_index_ >= 0) == (last > 4)
        assert search.score(NORM, SIDES) > 0.7
    else:
        assert search.certificate_.relative_gap < 1
    assert search.best_estimator_.max_time == machine.max_time


def test_a_search_shows_how_far_it_is_where_that_is_asked_for(capsys):
    PriceSearchCV(InfiniteEnsembleSVC("gaussian", verbose=1), {"gamma": [0.5]}, prices=[0.1, 1], cv=2).fit(NORM, SIDES)
    shown = capsys.readouterr()
    assert "InfiniteEnsembleSVC: 2 prices, gamma=0.5" in shown.err
    assert shown.out == ""
