"""What oracles over hypotheses of several features have in common."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from cvxens.colgen.oracles import Boxes, DepthThreeTrees, DepthTwoTrees, PairRules
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Branch, Constant, Interval, Rule, Stump
from cvxens.limits import limit_threads

RNG = np.random.default_rng(3)
X = RNG.normal(size=(50, 4)).round(1)
S = np.sign(X[:, 0] * X[:, 1] + 0.05) * RNG.uniform(0.5, 1.5, 50)
FIRST = Stump(0, 0.5, 1)
HALF = Branch(Stump(1, 0.5, 1), Constant(1), Constant(-1))
STRANGE = [
    Branch(FIRST, HALF, Constant(1)),
    Branch(FIRST, Branch(HALF.root, Branch(FIRST, Stump(3, 0.5, 1), Constant(1)), Constant(1)), Constant(-1)),
    Branch(Stump(0, 0.05, 1), Stump(1, 77.0, 1), Constant(1)),
    Branch(FIRST, Constant(1), np.ravel),
    Stump(0, 0.123456, 1),
    Stump(9, 0.5, 1),
    Rule((), 1),
    Rule((Interval(0, 0.123, np.inf),), 1),
    Rule((Interval(9, 0.0, np.inf),), 1),
    Rule((Interval(0, -np.inf, np.inf), Interval(1, -np.inf, np.inf)), 1),
    Rule(tuple(Interval(j, 0.0, np.inf) for j in (0, 1, 2, 3)), 1),
    np.ravel,
]

pytestmark = pytest.mark.parametrize("make", [DepthTwoTrees, DepthThreeTrees, PairRules, Boxes])


def test_sparse_samples_and_numbers_of_threads_make_no_difference(make):
    dense, sparse = make(X).price(S), make(csc_array(X)).price(S)
    with limit_threads(1):
        alone = make(X).price(S)
    for other in (sparse, alone):
        assert [str(c.hypothesis) for c in other.columns] == [str(c.hypothesis) for c in dense.columns]
        assert (other.edge_bound, other.edge_square_sum) == (dense.edge_bound, dense.edge_square_sum)


def test_others_that_are_excluded_close_nothing(make):
    oracle = make(X, n_bins=6)
    assert oracle.price(S, STRANGE).outside_bound == oracle.price(S).outside_bound


def test_weights_of_nothing_and_of_one_sample(make):
    oracle = make(X)
    nothing = oracle.price(np.zeros(50))
    assert (nothing.edge_bound, nothing.best_edge) == (0, 0)
    assert oracle.price(np.eye(50)[7]).best_edge == 1.0


@pytest.mark.parametrize(
    "change", [{"n_bins": 1}, {"n_bins": 2.5}, {"columns_per_round": 0}, {"max_nodes": 0}, {"max_seconds": -1.0}]
)
def test_numbers_that_make_no_sense_are_refused(make, change):
    name = next(iter(change))
    with pytest.raises(InvalidInput if name in make.__dataclass_fields__ else TypeError, match=name):
        make(X, **change)


@pytest.mark.parametrize("argument", ["interactions", "forbidden"])
@pytest.mark.parametrize("groups", [[(0,)], [(0, 4)], [("a", "b")], [0, 1], [(0, -1)], [(0.0, 1.0)]])
def test_groups_are_of_two_features_that_there_are(make, argument, groups):
    with pytest.raises(InvalidInput, match=f"{argument}: found .*; give groups of at least two of the features 0 to 3"):
        make(X, **{argument: groups})
