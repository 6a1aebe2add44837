"""LL08 Tables 2 to 6: methods and selections against scikit-learn's on LIBSVM, and against typed-in definitions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm
from cvxens.estimators import AdaBoostClassifier, CGEnsClassifier, LPBoostClassifier
from reproduction import Generated, experiment_of
from reproduction.ll08 import near_ringnorm
from reproduction.methods import StagedCV, seeded

TABLES = {name: experiment_of("ll08", name) for name in ("table2", "table3", "table4", "table5", "table6")}
CS = [2.0**k for k in range(-17, 4, 2)]
LARGE_CS = [2.0**k for k in range(-5, 16, 2)]
GAMMAS = [2.0**k for k in range(-15, 4, 2)]
EXACT = {"kernel": "precomputed", "tol": 1e-6}
SPLITS = [
    Generated(make, 60, 400, mislabelled).open()(0, np.random.default_rng(seed))
    for make, mislabelled, seed in [(make_twonorm, 0.0, 0), (make_threenorm, 0.1, 1), (make_twonorm, 0.1, 2)]
]


def error_of(answers, split):
    return 100 * float(np.mean(answers != split.y_test))


@pytest.mark.thinned(1, split=SPLITS)
@pytest.mark.parametrize(
    ("table", "method", "metric"), [("table2", "SVM-Stump", "cityblock"), ("table3", "SVM-Perc", "euclidean")]
)
def test_grid_search_on_the_kernel_finds_the_same(split, table, method, metric):
    peer = GridSearchCV(SVC(**EXACT), {"C": CS}, cv=5).fit(-cdist(split.X, split.X, metric), split.y)
    ours = TABLES[table].columns[method](split)
    assert ours.more["chosen"] == peer.best_params_
    assert ours.value == error_of(peer.predict(-cdist(split.X_test, split.X, metric)), split)
    assert ours.proofs[0].proven
    assert ours.proofs[0].relative_gap <= 1e-5 >= ours.more["largest gap of the choice"]


def test_the_laplacian_kernel_is_searched_over_gamma_too():
    split = SPLITS[0]
    distances, new = cdist(split.X, split.X, "cityblock"), cdist(split.X_test, split.X, "cityblock")
    grid = [(C, gamma) for C in LARGE_CS for gamma in GAMMAS]
    scores = [cross_val_score(SVC(C=C, **EXACT), np.exp(-g * distances), split.y, cv=5).mean() for C, g in grid]
    C, gamma = grid[int(np.argmax(np.round(scores, 12)))]
    peer = SVC(C=C, **EXACT).fit(np.exp(-gamma * distances), split.y)
    ours = TABLES["table4"].columns["SVM-Dec"](split)
    assert ours.more["chosen"] == {"C": C, "gamma": gamma}
    assert ours.value == error_of(peer.predict(np.exp(-gamma * new)), split)


def test_lpboost_takes_the_first_of_the_best_prices():
    split = SPLITS[1]
    scores = [cross_val_score(LPBoostClassifier(C=C), split.X, split.y, cv=5).mean() for C in CS]
    best = LPBoostClassifier(C=CS[int(np.argmax(np.round(scores, 12)))]).fit(split.X, split.y)
    assert TABLES["table2"].columns["LPBoost-Stump"](split).value == error_of(best.predict(split.X_test), split)


@pytest.mark.parametrize("split", SPLITS)
def test_rounds_are_chosen_as_by_grid_search(split):
    rounds = list(range(5, 31, 5))
    peer = GridSearchCV(AdaBoostClassifier(random_state=0), {"n_rounds": rounds}, cv=5).fit(split.X, split.y)
    ours = seeded(StagedCV(AdaBoostClassifier(), rounds), 0).fit(split.X, split.y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-12)
    assert ours.best_params_ == peer.best_params_
    np.testing.assert_array_equal(ours.predict(split.X_test), peer.predict(split.X_test))


@pytest.mark.filterwarnings("ignore:CGEnsClassifier. max_columns reached")
def test_sizes_are_chosen_as_by_grid_search():
    # 40 samples of one feature have 39 middle stumps and the constant, so the last size is out of reach
    X, y = SPLITS[1].X[:40, :1], SPLITS[1].y[:40]
    model = CGEnsClassifier(oracle="stumps", min_edge=1e-2)
    grid, sizes = {"C": [0.01, 1.0]}, [2, 5, 100]
    peer = GridSearchCV(model, {**grid, "max_columns": sizes}, cv=3).fit(X, y)
    ours = StagedCV(model, sizes, 3, grid).fit(X, y)
    assert ours.cv_results_["params"] == peer.cv_results_["params"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-12)
    assert ours.best_params_ == peer.best_params_
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


def test_rounds_end_with_a_perfect_stump():
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] < 17, -1, 1)
    model = StagedCV(AdaBoostClassifier(), [10, 20]).fit(X, y)
    assert (model.best_params_, model.best_estimator_.score(X, y)) == ({"n_rounds": 10}, 1.0)


def test_the_narrow_class_of_ringnorm_is_half_as_far():
    X, y = near_ringnorm(4000, random_state=0)
    assert X[y < 0].mean() == pytest.approx(1 / np.sqrt(20), abs=0.01)
    assert X[y < 0].std() == pytest.approx(1, abs=0.01)
    wide = make_ringnorm(4000, random_state=0)[0][y > 0]
    np.testing.assert_array_equal(X[y > 0], wide)


def test_grids_and_data_are_those_of_the_print():
    for table, method in (("table4", "SVM-Dec"), ("table5", "SVM-Gauss")):
        search = TABLES[table].columns[method].estimator
        assert (list(search.prices), list(search.param_grid["gamma"])) == (LARGE_CS, GAMMAS)
    for table in ("table2", "table3", "table4"):
        columns = TABLES[table].columns.items()
        [lpboost], [adaboost] = ([m.estimator for n, m in columns if n.startswith(k)] for k in ("LPBoost", "AdaBoost"))
        assert (lpboost.estimator.max_columns, list(lpboost.param_grid["C"])) == (1000, CS)
        assert list(adaboost.n_rounds) == list(range(10, 1501, 10))
    assert len(TABLES["table2"].rows) == 18
    for table in TABLES.values():
        assert all(table.rows[row] == TABLES["table2"].rows[row] for row in table.rows)
