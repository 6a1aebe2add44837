"""What ensembles tell of themselves: importances of features, tables and text, of stumps and of trees."""

import numpy as np
import pandas as pd
import pytest
from estimator_samples import three_classes, two_classes

from cvxens import AdaBoostClassifier, AdaBoostECCClassifier, AdaBoostMHClassifier

X, Y = two_classes()
NAMED = pd.DataFrame(X, columns=["length", "width", "noise"])


def test_trees_have_the_names_of_features():
    model = AdaBoostClassifier("trees", n_rounds=3).fit(NAMED, Y)
    told = model.to_text()
    assert "length <= " in told
    assert "x0" not in told
    assert all("length" in tree or "width" in tree or "noise" in tree for tree in model.to_frame()["hypothesis"])
    assert "x0 <= " in AdaBoostClassifier("trees", n_rounds=3).fit(X, Y).to_text()


def test_importances_of_trees_are_shared_among_their_tests():
    model = AdaBoostClassifier("trees", n_rounds=1).fit(X, Y)
    (hypothesis,) = model.weak_learners_
    nodes = hypothesis.tree.nodes
    expected = np.zeros(3)
    for feature, counts in zip(nodes.feature, nodes.counts, strict=True):
        if feature >= 0:
            expected[feature] += counts.sum()
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())
    many = AdaBoostClassifier("trees", n_rounds=5).fit(X, Y).feature_importances_
    assert many.sum() == pytest.approx(1)
    assert many.min() >= 0


def test_hypotheses_without_a_feature_have_no_importances():
    assert not hasattr(AdaBoostClassifier("perceptrons", n_rounds=3, random_state=0).fit(X, Y), "feature_importances_")


@pytest.mark.parametrize("estimator", [AdaBoostMHClassifier(n_rounds=9), AdaBoostECCClassifier(n_rounds=9)])
def test_votes_for_several_classes_as_a_table(estimator):
    Z, y = three_classes()
    model = estimator.fit(pd.DataFrame(Z, columns=["a", "b"]), y)
    table = model.to_frame()
    votes = table[["weight_0", "weight_1", "weight_2"]].to_numpy()
    assert sorted(map(tuple, votes)) == sorted(map(tuple, model.weights_))
    assert set(table["feature"].dropna()) <= {"a", "b"}
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert len(model.to_text(most=2).splitlines()) == 3
