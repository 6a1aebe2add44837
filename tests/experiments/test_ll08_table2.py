"""LL08 Table 2: the selection against scikit-learn's on LIBSVM, and only figures that are marked as unchecked."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm
from cvxens.estimators import LPBoostClassifier
from cvxens.experiments import Generated, experiment_of
from cvxens.experiments.catalogue import make_svm, near_ringnorm

TABLE = experiment_of("ll08", "table2")
CS = [2.0**k for k in range(-17, 4, 2)]
GAMMAS = [2.0**k for k in range(-15, 4, 2)]
EXACT = {"kernel": "precomputed", "tol": 1e-6}
SPLITS = [
    Generated(make, 60, 400, mislabelled).open()(np.random.default_rng(seed))
    for make, mislabelled, seed in [(make_twonorm, 0.0, 0), (make_threenorm, 0.1, 1), (make_twonorm, 0.1, 2)]
]


def percent(wrong):
    return 100 * float(np.mean(wrong))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(
    ("method", "kernel", "metric"),
    [
        ("SVM-Stump", "stump", "cityblock"),
        ("SVM-Perc", "perceptron", "euclidean"),
    ],
)
def test_grid_search_on_the_kernel_finds_the_same(split, method, kernel, metric):
    peer = GridSearchCV(SVC(**EXACT), {"C": CS}, cv=5).fit(-cdist(split.X, split.X, metric), split.y)
    wrong = peer.predict(-cdist(split.X_test, split.X, metric)) != split.y_test
    ours = make_svm(kernel, 0).fit(split.X, split.y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-12)
    assert ours.best_params_ == peer.best_params_
    assert TABLE.methods[method](split) == percent(wrong)


def test_the_laplacian_kernel_is_searched_over_gamma_too():
    split = SPLITS[0]
    distances, new = cdist(split.X, split.X, "cityblock"), cdist(split.X_test, split.X, "cityblock")
    grid = [(C, gamma) for C in CS for gamma in GAMMAS]
    scores = [cross_val_score(SVC(C=C, **EXACT), np.exp(-g * distances), split.y, cv=5).mean() for C, g in grid]
    C, gamma = grid[int(np.argmax(np.round(scores, 12)))]
    peer = SVC(C=C, **EXACT).fit(np.exp(-gamma * distances), split.y)
    assert make_svm("laplacian", 0).fit(split.X, split.y).best_params_ == {"C": C, "gamma": gamma}
    assert TABLE.methods["SVM-Dec"](split) == percent(peer.predict(np.exp(-gamma * new)) != split.y_test)


def test_lpboost_takes_the_first_of_the_best_prices():
    split = SPLITS[1]
    scores = [cross_val_score(LPBoostClassifier(C=C), split.X, split.y, cv=5).mean() for C in CS]
    best = LPBoostClassifier(C=CS[int(np.argmax(np.round(scores, 12)))]).fit(split.X, split.y)
    assert TABLE.methods["LPBoost-Stump"](split) == percent(best.predict(split.X_test) != split.y_test)


def brute_adaboost(X, y, n_rounds):
    """Discrete AdaBoost over all middle stumps and the constant, one after the other."""
    cuts = [(d, t) for d in range(X.shape[1]) for v in [np.unique(X[:, d])] for t in (v[:-1] + v[1:]) / 2]
    stumps = [lambda Z, d=d, t=t: np.where(Z[:, d] > t, 1.0, -1.0) for d, t in cuts] + [lambda Z: np.ones(len(Z))]
    margins = np.column_stack([y * h(X) for h in stumps])
    u, scores = np.full(len(y), 1 / len(y)), []
    for _ in range(n_rounds):
        edges = u @ margins
        j = int(np.abs(edges).argmax())
        scores.append((np.arctanh(edges[j]), stumps[j]))
        u = u * np.exp(-scores[-1][0] * margins[:, j])
        u /= u.sum()
    return lambda Z: sum(weight * h(Z) for weight, h in scores)


@pytest.mark.parametrize("split", SPLITS)
def test_boosted_stumps_are_discrete_adaboost(split):
    f = brute_adaboost(split.X, split.y, 100)
    assert TABLE.methods["AB-Stump(100)"](split) == percent(np.sign(f(split.X_test)) != split.y_test)


def test_the_narrow_class_of_ringnorm_is_half_as_far():
    X, y = near_ringnorm(4000, random_state=0)
    assert X[y < 0].mean() == pytest.approx(1 / np.sqrt(20), abs=0.01)
    assert X[y < 0].std() == pytest.approx(1, abs=0.01)
    wide = make_ringnorm(4000, random_state=0)[0][y > 0]
    np.testing.assert_array_equal(X[y > 0], wide)


def test_more_rounds_are_another_classifier():
    assert TABLE.methods["AB-Stump(100)"](SPLITS[1]) != TABLE.methods["AB-Stump(1000)"](SPLITS[1])


def test_published_figures_are_marked_and_none_is_made_up():
    assert {method for _, method in TABLE.published} == {"SVM-Stump", "SVM-Perc", "AB-Stump(100)"}
    assert [figure for figure in TABLE.published.values() if figure.checked] == []
    figure = TABLE.published["heart", "SVM-Stump"]
    assert (figure.mean, figure.standard_error) == (16.4, 0.27)
    assert {data for data, method in TABLE.published if method == "SVM-Stump"} == TABLE.data.keys()
