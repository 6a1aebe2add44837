"""Rankers: the pairs of grades, the optimum over all stumps listed pair by pair, and what users see of them."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps
from estimator_samples import assert_optimal
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from cvxens import AdditiveRanker, LPBoostRanker, PriceSearchCV
from cvxens.errors import InvalidInput
from cvxens.estimators import prices, rankers
from cvxens.problems.pair_losses import GradedPairs

RANDOM = np.random.default_rng(0)
X = RANDOM.integers(0, 6, (30, 2)).astype(float)
GRADES = np.digitize(X[:, 0] + RANDOM.normal(size=30), [1.0, 3.0, 4.5])
QUERIES = RANDOM.integers(0, 3, 30)


def list_pairs(grades, queries):
    """All pairs of samples of a query, the one of the higher grade first."""
    n = range(len(grades))
    return [(i, j) for i, j in product(n, n) if queries[i] == queries[j] and grades[i] > grades[j]]


def mean_of(values, pairs, queries):
    """The mean over the pairs of a query, and then over queries."""
    names = np.array([queries[i] for i, _ in pairs])
    return np.mean([np.mean(np.asarray(values)[names == name]) for name in np.unique(names)])


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=14))
def test_every_pair_of_grades_is_in_one_group(rows):
    grades, queries, scores = np.array(rows, float).T
    pairs = list_pairs(grades, queries)
    if not pairs:
        with pytest.raises(InvalidInput, match="of another grade"):
            GradedPairs.from_grades(grades, queries)
        return
    found = GradedPairs.from_grades(grades, queries)
    of_groups = [np.flatnonzero(found.groups == group) for group in range(len(found.shares))]
    listed = [
        (int(found.rows[i]), int(found.rows[j]), found.shares[group])
        for group, copies in enumerate(of_groups)
        for i, j in product(copies, copies)
        if found.y[i] > found.y[j]
    ]
    assert sorted((i, j) for i, j, _ in listed) == pairs
    assert len(found.rows) <= len(grades) * (len(np.unique(grades)) - 1).bit_length()
    won = {(i, j): float((scores[i] > scores[j]) + (scores[i] == scores[j]) / 2) for i, j in pairs}
    expected = mean_of(list(won.values()), pairs, queries)
    above, below, shares = found.list_all()
    assert sorted(zip(above, below, shares, strict=True)) == sorted(listed)
    assert found.n_pairs == len(pairs)
    assert sum(share * won[i, j] for i, j, share in listed) == pytest.approx(expected)
    assert found.concordance(scores) == pytest.approx(expected)


@pytest.mark.parametrize("most", [rankers.MOST_LISTED, 0, None], ids=["pairs listed", "pairs sorted", "exponential"])
@pytest.mark.parametrize("grades", [GRADES, GRADES > 2], ids=["four grades", "two grades"])
@pytest.mark.parametrize("queries", [QUERIES, None], ids=["three queries", "one query"])
def test_the_optimum_is_that_over_all_stumps_and_pairs(monkeypatch, most, grades, queries):
    monkeypatch.setattr(rankers, "MOST_LISTED", most)
    known = np.zeros(30) if queries is None else queries
    pairs = list_pairs(grades, known)
    above, below = np.array(pairs).T
    # the price of an additive one is of every sample in a pair
    kind, C = (AdditiveRanker, 5.0 / len({*above, *below})) if most is None else (LPBoostRanker, 5.0)
    model = kind(C=C, oracle="stumps", tol=1e-7).fit(X, grades, qid=queries)
    H = all_stumps(X)[:, :-1]
    w = cp.Variable(H.shape[1])
    costs = [5.0 / sum(known[i] == known[k] for i, _ in pairs) / len({known[i] for i, _ in pairs}) for k, _ in pairs]
    behind = (H[below] - H[above]) @ w
    slack = cp.exp(behind) if most is None else cp.pos(1 + behind)
    optimum = cp.Problem(cp.Minimize(cp.norm1(w) + cp.sum(cp.multiply(costs, slack)))).solve(solver="CLARABEL")
    assert_optimal(model.certificate_, optimum, tol=1e-7, rel=1e-6)
    f = model.predict(X)
    differences = f[below] - f[above]
    paid = np.exp(differences) if most is None else np.maximum(1 + differences, 0)
    assert 5 * mean_of(paid, pairs, known) + np.abs(model.weights_).sum() == pytest.approx(optimum, rel=1e-6)
    # what pulls the samples makes the bound: no stump gains more than its weight costs
    assert np.abs(model.dual_weights_ @ H).max() == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("queries", [np.arange(30) // 3, None], ids=["ten queries", "one query"])
def test_a_price_is_chosen_by_the_pairs_in_order_of_folds_of_whole_queries(queries, monkeypatch):
    monkeypatch.setattr(prices.EnsemblePath._generate, "__defaults__", (1e-4,))
    model = AdditiveRanker(oracle="stumps").fit(X, GRADES, qid=queries)
    sample = rankers.RankedSample.read(model, X, GRADES, model._accepts(), qid=queries)
    rows, row = np.flatnonzero(sample.shares), len(model.cv_results_["params"]) // 2
    for k, both in enumerate(prices.make_folds(None, sample)):
        fold, held_out = (rows[part] for part in both)
        asked, told = (None if queries is None else queries[part] for part in (fold, held_out))
        assert queries is None or not {*asked} & {*told}
        C = model.cv_results_["param_C"][row] * (len(rows) / len(fold)) ** 0.5
        alone = AdditiveRanker(C=C, oracle="stumps", tol=1e-6).fit(X[fold], GRADES[fold], qid=asked)
        found = alone.score(X[held_out], GRADES[held_out], qid=told)
        assert model.cv_results_[f"split{k}_test_score"][row] == pytest.approx(found, abs=0.05)
    again = PriceSearchCV(AdditiveRanker(oracle="stumps")).fit(X, GRADES, qid=queries)
    assert again.cv_results_["param_C"] == pytest.approx(model.cv_results_["param_C"])


def test_two_grades_of_one_query_are_the_area_under_the_curve():
    model = LPBoostRanker(C=5.0).fit(X, GRADES > 1)
    assert model.score(X, GRADES > 1) == pytest.approx(roc_auc_score(GRADES > 1, model.predict(X)))
    other = LPBoostRanker(C=5.0).fit(X, GRADES > 1, qid=np.zeros(30))
    assert model.score(X, GRADES, qid=QUERIES) == pytest.approx(other.score(X, GRADES, qid=QUERIES))


def test_neither_the_order_of_samples_nor_the_names_of_queries_matter():
    model = LPBoostRanker(C=5.0, tol=1e-8).fit(X, GRADES, qid=QUERIES)
    order = RANDOM.permutation(30)
    names = np.array(["c", "a", "b"])[QUERIES]
    other = LPBoostRanker(C=5.0, tol=1e-8).fit(X[order], 10.0 * GRADES[order] - 3, qid=names[order])
    assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-7)
    assert model.certify(X, GRADES, qid=QUERIES).holds(1e-7)
    assert model.certify(X, GRADES, qid=QUERIES, weights=0 * model.weights_).primal == pytest.approx(5.0)
    assert model.certify(X, -GRADES).relative_gap > 1e-3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *((given, "^y: .*30 samples, none of another") for given in ({"y": np.zeros(30)}, {"qid": np.arange(30)})),
        *(({"qid": bad}, "^qid: ") for bad in (QUERIES[:20], [0, "one"] * 15 + [None], [np.nan, *QUERIES[1:]])),
        *(({"y": bad}, "^y: found targets") for bad in (["good", "bad"] * 15, np.arange(30).astype("M8[D]"))),
    ],
)
def test_what_cannot_be_ranked_is_refused_by_name(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        LPBoostRanker().fit(**{"X": X, "y": GRADES, **arguments})
