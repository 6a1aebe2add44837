"""SL Table III: every method learns several classes, and the selection is grid search."""

import numpy as np
import pytest
from data_directory import make_directory
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from cvxens.estimators import CGEnsSLSClassifier
from cvxens.experiments import cells, experiment_of
from cvxens.experiments.run import draw_split

TABLE = experiment_of("sl", "table3")


@pytest.fixture
def iris(tmp_path, monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setenv("CVXENS_DATA", str(make_directory(tmp_path, iris={"X": X, "y": y})))
    return draw_split(TABLE.data["iris"].open(), 0)


def test_every_method_learns_iris(iris):
    found = list(cells(TABLE, data=["iris"], splits=2))
    assert [cell.method for cell in found] == list(TABLE.methods)
    assert max(cell.mean for cell in found) < 12
    assert [cell.published for cell in found] == [None] * len(found)


def test_c_is_the_first_of_the_best(iris):
    Cs = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    scores = [cross_val_score(CGEnsSLSClassifier(C=C), iris.X, iris.y, cv=5).mean() for C in Cs]
    best = CGEnsSLSClassifier(C=Cs[int(np.argmax(np.round(scores, 12)))]).fit(iris.X, iris.y)
    error = 100 * float(np.mean(best.predict(iris.X_test) != iris.y_test))
    assert TABLE.methods["CGEns-SLS"](iris) == pytest.approx(error)
