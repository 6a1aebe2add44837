"""TT06: the forest and both kernels learn, and are three different classifiers."""

import numpy as np
from data_directory import make_directory
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

from cvxens.experiments import Partitioned, experiment_of
from cvxens.experiments.run import draw_split

TABLE = experiment_of("tt06", "forest")


def test_all_methods(tmp_path, monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setenv("CVXENS_DATA", str(make_directory(tmp_path, wine={"X": X[:, :2], "y": y})))
    split = draw_split(Partitioned("wine", 0.75).open(), 0)
    errors = {method: error(split) for method, error in TABLE.methods.items()}
    forest = RandomForestClassifier(random_state=split.random_state).fit(split.X, split.y)
    assert errors["forest"] == 100 * np.mean(forest.predict(split.X_test) != split.y_test)
    assert list(errors) == ["forest", "experts, leaf", "experts, depth"]
    assert max(errors.values()) < 40
