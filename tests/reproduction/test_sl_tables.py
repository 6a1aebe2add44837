"""SL's tables: methods, and the data they are on."""

import numpy as np
import pytest
from data_directory import make_directory
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from cvxens.estimators import MultiBoostClassifier
from reproduction import experiment_of
from reproduction.run import draw_split

TABLE = experiment_of("sl", "table3")


@pytest.fixture
def iris(tmp_path, monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setenv("CVXENS_DATA", str(make_directory(tmp_path, iris={"X": X[::3], "y": y[::3]})))
    return draw_split(TABLE.rows["iris"], 0)


@pytest.mark.parametrize("method", ["AdaBoost.ECC", "AdaBoost.MH", "MultiBoost"])
def test_methods_learn_iris(iris, method):
    outcome = TABLE.columns[method](iris)
    assert outcome.value < 25
    assert outcome.proofs


def test_c_is_the_first_of_the_best(iris):
    Cs = [0.1, 1.0, 10.0, 100.0]
    models = [MultiBoostClassifier(C=C, tol=1e-2, max_columns=500) for C in Cs]
    scores = [cross_val_score(model, iris.X, iris.y, cv=5).mean() for model in models]
    best = models[int(np.argmax(np.round(scores, 12)))].fit(iris.X, iris.y)
    outcome = TABLE.columns["MultiBoost"](iris)
    assert outcome.value == pytest.approx(100 * float(np.mean(best.predict(iris.X_test) != iris.y_test)))


def test_three_quarters_to_train_on(iris):
    assert (len(iris.y), len(iris.y_test)) == (37, 13)


def test_data_that_nobody_has_are_named():
    assert TABLE.lacking.keys() == {"PASCAL07", "LabelMe", "CIFAR10", "Scene15", "SUN"}
