"""SL's tables: methods, and the data they are on."""

import pytest
from data_directory import make_directory
from sklearn.datasets import load_iris

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


def test_three_quarters_to_train_on(iris):
    assert (len(iris.y), len(iris.y_test)) == (37, 13)
