"""All trees of depth 2: what the search says on samples where it can be seen, and what it refuses.

Random samples beside a list of all trees are in fuzz/interactions.py.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from cvxens import AdaBoostClassifier, CGEnsClassifier, LPBoostClassifier, load_model
from cvxens.colgen import Checkpoint, column_generation, formulations
from cvxens.colgen.oracles import DepthTwoTrees, Stumps
from cvxens.hypotheses import Branch

RNG = np.random.default_rng(3)
X = RNG.normal(size=(50, 3)).round(1)
XOR = np.sign(X[:, 0] * X[:, 1] + 0.05)
S = XOR * RNG.uniform(0.5, 1.5, 50)


def test_the_best_tree_of_binary_features_is_that_of_one_weighted_gram_matrix():
    B = (RNG.uniform(size=(60, 7)) < 0.5).astype(float)
    s = RNG.normal(size=60)
    P, total = B.T @ (s[:, None] * B), s.sum()
    d = np.diag(P)
    above = np.abs(P) + np.abs(d[:, None] - P)
    below = np.abs(d - P) + np.abs(total - d[:, None] - d + P)
    priced = DepthTwoTrees(B).price(s)
    assert priced.best_edge == pytest.approx((above.max(axis=1) + below.max(axis=1)).max(), rel=1e-12)
    assert priced.edge_bound == pytest.approx(priced.best_edge, rel=1e-12)


def test_no_tree_of_scikit_learn_is_better_and_with_every_value_a_bin_the_thresholds_are_all():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, XOR, sample_weight=np.abs(S))
    oracle = DepthTwoTrees(X, n_bins=256)
    assert oracle.price(S).best_edge >= S @ tree.predict(X)
    assert oracle.binned.counts.tolist() == [len(np.unique(column)) - 1 for column in X.T]
    assert DepthTwoTrees(X, n_bins=8).binned.counts.tolist() == [7, 7, 7]


def test_interactions_that_are_not_allowed_are_in_no_tree_and_stumps_are_left():
    stumps = Stumps(X, square_sum=False).price(S).best_edge
    for options in ({"interactions": []}, {"forbidden": [(0, 1, 2)]}):
        alone = DepthTwoTrees(X, n_bins=256, **options).price(S)
        assert stumps <= alone.best_edge < 0.7 * DepthTwoTrees(X).price(S).best_edge
        assert all(len(features) == 1 for features in features_of(alone))
    only = DepthTwoTrees(X, interactions=[(2, 1)]).price(S)
    assert features_of(only) <= {frozenset({0}), frozenset({1}), frozenset({2}), frozenset({1, 2})}


def features_of(priced):
    """The sets of features that trees of an answer look at."""
    trees = (column.hypothesis for column in priced.columns if isinstance(column.hypothesis, Branch))
    return {frozenset(tree.feature_shares[0].tolist()) for tree in trees}


def test_a_run_is_proven_where_stumps_are_not_enough_and_goes_on_from_its_checkpoint(tmp_path):
    y, kept = XOR, Checkpoint(tmp_path / "run.checkpoint", every_rounds=1)
    stumps = column_generation(formulations.soft_margin(0.2), Stumps(X), y)
    first = column_generation(formulations.soft_margin(0.2), DepthTwoTrees(X), y, max_columns=8, checkpoint=kept)
    run = column_generation(formulations.soft_margin(0.2), DepthTwoTrees(X), y, checkpoint=kept)
    assert run.certificate.holds(1e-6)
    assert run.certificate.primal < 0.6 * stumps.certificate.primal
    assert run.history[: len(first.history)] == first.history


def test_the_optimum_has_no_more_than_that_of_depth_one_on_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150, :6], 2.0 * y[:150] - 1
    deep = column_generation(formulations.soft_margin(0.05), DepthTwoTrees(X, n_bins=256), y)
    flat = column_generation(formulations.soft_margin(0.05), Stumps(X), y)
    assert deep.certificate.holds(1e-6)
    assert deep.certificate.primal < flat.certificate.dual


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [LPBoostClassifier, CGEnsClassifier, AdaBoostClassifier])
def test_estimators_take_them_by_name_and_files_give_them_back(estimator, tmp_path):
    model = estimator(oracle="depth_two_trees", max_time=20.0)
    model.set_params(**({"n_rounds": 5} if estimator is AdaBoostClassifier else {"tol": 0.2, "max_columns": 40}))
    model.fit(X, XOR)
    assert model.score(X, XOR) > 0.9
    assert any(isinstance(h, Branch) for h in model.weak_learners_)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.to_text() == model.to_text()
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_texts_have_the_names_of_features_and_classes():
    frame = pd.DataFrame(X, columns=["age", "dose", "height"])
    model = LPBoostClassifier(C=1.0, oracle="depth_two_trees").fit(frame, np.where(XOR > 0, "well", "ill"))
    text = model.to_text(most=1)
    assert "age" in text
    assert "dose" in text
    assert text.splitlines()[0].endswith(("-> well", "-> ill"))
