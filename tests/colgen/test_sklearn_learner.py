import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen.oracles import SklearnLearner
from cvxens.colgen.oracles.stumps import Stumps
from cvxens.hypotheses import Constant, Scaled


@pytest.fixture
def sample():
    random = np.random.default_rng(0)
    return random.standard_normal((60, 3)), random.standard_normal(60)


@pytest.mark.parametrize("classifier", [DecisionTreeClassifier(max_depth=2), LogisticRegression(), SVC()])
def test_the_edge_is_what_the_hypothesis_attains(classifier, sample):
    X, s = sample
    priced = SklearnLearner(classifier, X, random_state=0).price(s)
    (column,) = priced.columns
    assert set(column.values) <= {-1.0, 1.0}
    assert column.edge == s @ column.values
    assert column.edge > 0
    assert priced.edge_bound == priced.edge_square_sum == math.inf
    assert not hasattr(classifier, "classes_")


def test_a_stump_of_a_tree_is_no_better_than_the_best_stump(sample):
    X, s = sample
    learner = SklearnLearner(DecisionTreeClassifier(max_depth=1), X, random_state=0)
    assert 0 < learner.price(s).columns[0].edge <= Stumps(X).price(s).edge_bound


def test_weights_count_as_multiplicities(sample):
    X = sample[0]
    s = np.random.default_rng(1).choice([-3.0, -1.0, 0.0, 1.0, 2.0], 60)
    copies = np.abs(s).astype(int)
    plain = SVC(C=2.0, gamma=0.5).fit(np.repeat(X, copies, axis=0), np.repeat(np.sign(s), copies))
    (column,) = SklearnLearner(SVC(C=2.0 * copies.mean(), gamma=0.5), X).price(s).columns
    np.testing.assert_array_equal(column.values, plain.predict(X))


def test_the_scale_of_the_weights_does_not_matter(sample):
    X, s = sample
    learner = SklearnLearner(LogisticRegression(), X)
    np.testing.assert_array_equal(learner.price(s).columns[0].values, learner.price(s / 1e6).columns[0].values)


def test_worse_than_chance_is_negated(sample):
    X, s = sample

    class Contrary(DecisionTreeClassifier):
        def predict(self, X):
            return -super().predict(X)

    (column,) = SklearnLearner(Contrary(max_depth=2), X).price(s).columns
    assert isinstance(column.hypothesis, Scaled)
    assert column.edge == pytest.approx(s @ column.values)
    assert column.edge > 0


def test_every_output_gets_its_column(sample):
    X, _ = sample
    s = np.column_stack([np.sign(X[:, 0]), np.zeros(60), 3 * np.sign(X[:, 1])])
    first, second = SklearnLearner(DecisionTreeClassifier(max_depth=1), X, random_state=0).price(s).columns
    np.testing.assert_array_equal(first.values, np.sign(X[:, 1]))
    assert first.edge == 180.0
    np.testing.assert_array_equal(second.values, np.sign(X[:, 0]))
    assert second.edge == np.abs(s.T @ second.values).max()


def test_weights_of_one_sign_get_the_constant_and_zeros_get_nothing(sample):
    X, s = sample
    learner = SklearnLearner(LogisticRegression(), X)
    (column,) = learner.price(-np.abs(s)).columns
    assert column.hypothesis == Constant(-1)
    assert column.edge == pytest.approx(np.abs(s).sum(), rel=1e-14)
    priced = learner.price(np.zeros(60))
    assert (len(priced.columns), priced.edge_bound, priced.edge_square_sum) == (0, 0.0, 0.0)


def test_seeds_give_the_same_columns_and_each_call_a_new_one(sample):
    X, s = sample
    forest = RandomForestClassifier(n_estimators=2, max_depth=2)
    learners = [SklearnLearner(forest, X, random_state=5) for _ in range(2)]
    runs = [[learner.price(s).columns[0] for _ in range(3)] for learner in learners]
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
    assert len({column.hypothesis.estimator.random_state for column in runs[0]}) == 3
    assert forest.random_state is None


def test_without_a_seed_the_classifier_keeps_its_own(sample):
    X, s = sample
    learner = SklearnLearner(RandomForestClassifier(n_estimators=2, random_state=4), X)
    assert learner.price(s).columns[0].hypothesis.estimator.random_state == 4


class ByName(ClassifierMixin, BaseEstimator):
    """Predicts the sign of the column named "b" and takes nothing but tables with names."""

    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.sign(X.columns["b"])


@dataclass
class Table:
    columns: dict

    @property
    def shape(self):
        return len(self.columns["b"]), len(self.columns)


def test_tables_and_sparse_matrices_pass_through_untouched(sample):
    X, s = sample
    table = Table(dict(zip("abc", X.T, strict=True)))
    (column,) = SklearnLearner(ByName(), table).price(s).columns
    assert column.sample is table
    assert column.edge == abs(s @ np.sign(X[:, 1]))
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    dense, packed = (SklearnLearner(tree, data).price(s).columns[0] for data in (X, csr_array(X)))
    assert dense.edge == packed.edge
    assert str(dense.hypothesis) == str(packed.hypothesis) == "DecisionTreeClassifier(max_depth=2, random_state=0)"
