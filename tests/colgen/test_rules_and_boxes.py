"""Rules of two conditions and boxes: exact, anytime where they are told to stop, and readable once they are fitted.

Random samples beside a list of all rules and boxes are in fuzz/interactions.py.
"""

from functools import partial
from math import inf

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from cvxens import AdaBoostClassifier, AdaBoostMHClassifier, LPBoostClassifier
from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import Boxes, Constant, Costed, DepthThreeTrees, DepthTwoTrees, PairRules, Perceptrons
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Rule, Scaled, negate
from cvxens.limits import limit_time

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 4)).round(1)
INSIDE = (X[:, 0] >= 0) & (X[:, 1] < 0.5) & (X[:, 2] >= -1)
Y = np.where(INSIDE, 1.0, -1.0)
S = np.where(INSIDE, 3.0, -1.0) * RNG.uniform(0.5, 1.5, 60)


@pytest.mark.product(row_norm=[1.0, 2.0], make=[PairRules, Boxes, DepthTwoTrees])
def test_hypotheses_are_ranked_and_bounded_by_a_norm_over_the_outputs(make, row_norm):
    s = np.random.default_rng(1).normal(size=(60, 3))
    oracle = make(X, n_bins=5, columns_per_round=1000)
    every = oracle.price(s, row_norm=row_norm)
    for column in every.columns:
        assert column.edge == pytest.approx(np.linalg.norm(column.values @ s, row_norm))
    assert every.edge_bound == pytest.approx(every.best_edge)
    best = every.columns[0].hypothesis
    rest = oracle.price(s, [negate(best)], row_norm=row_norm)
    assert rest.edge_bound == every.edge_bound
    assert rest.outside_bound == pytest.approx(rest.best_edge)
    assert rest.best_edge <= every.best_edge


def test_a_box_is_found_where_two_conditions_are_not_enough():
    boxes, rules = Boxes(X, n_bins=64).price(S), PairRules(X).price(S)
    assert boxes.best_edge >= S[INSIDE].sum() - 1e-12
    assert rules.best_edge < boxes.best_edge
    assert Boxes(X, 2, n_bins=64).price(S).best_edge >= rules.best_edge


def test_what_is_not_allowed_is_in_no_box():
    for options in ({"interactions": [(0, 1), (1, 2, 3)]}, {"forbidden": [(0, 2), (0, 3)]}):
        oracle = Boxes(X, n_bins=6, **options, columns_per_round=1000)
        assert oracle.lists.tolist() == [[4, 0, 1], [1, 2, 3]]
        for column in oracle.price(S).columns:
            if isinstance(column.hypothesis, Rule):
                features = {interval.feature for interval in column.hypothesis.intervals}
                assert features <= {0, 1} or features <= {1, 2, 3}


@pytest.mark.product(cut=[{"max_nodes": 1}, {"max_seconds": 1e-9}, "the limit of a fit"], make=[Boxes, DepthThreeTrees])
def test_a_search_that_is_cut_short_bounds_what_it_has_not_seen(make, cut):
    wide, s = RNG.normal(size=(60, 9)), RNG.normal(size=60)
    exact = make(wide, n_bins=8).price(s)
    with limit_time(inf if isinstance(cut, dict) else 0.0):
        found = make(wide, n_bins=8, **(cut if isinstance(cut, dict) else {})).price(s)
    assert exact.outside_bound == pytest.approx(exact.best_edge, rel=1e-12)
    assert found.columns
    assert found.best_edge <= exact.best_edge <= found.outside_bound < inf
    assert found.outside_bound > 1.01 * exact.best_edge
    assert make is Boxes or found.edge_bound == pytest.approx(np.abs(s).sum())


def test_a_run_over_boxes_that_are_cut_short_is_proven_with_a_gap():
    y = np.where(RNG.uniform(size=60) < 0.2, -Y, Y)
    exact = column_generation(formulations.soft_margin(0.1), Boxes(X, n_bins=8), y, tol=1e-6)
    cut = column_generation(formulations.soft_margin(0.1), Boxes(X, n_bins=8, max_nodes=1), y, tol=1e-6)
    assert exact.certificate.holds(1e-6)
    assert cut.certificate.proven
    assert cut.certificate.dual <= exact.certificate.primal + 1e-9
    assert cut.certificate.primal >= exact.certificate.dual - 1e-9


def test_rules_that_cost_by_their_length_are_shorter():
    y = np.where(RNG.uniform(size=60) < 0.1, -Y, Y)

    def cost(rule):
        return 1.0 if isinstance(rule, Constant) else 1.0 + 2.0 * (len(rule.intervals) - 1)

    rules = PairRules(X[:, :3], n_bins=4, columns_per_round=200)
    run = column_generation(formulations.soft_margin(0.2), Costed(rules, cost, least=1.0), y)
    free = column_generation(formulations.soft_margin(0.2), PairRules(X[:, :3], n_bins=4), y)
    assert run.certificate.holds(1e-6)
    assert free.certificate.primal < run.certificate.primal
    used = [c.hypothesis for c, w in zip(run.columns, run.weights, strict=True) if w > 1e-9]
    assert any(not isinstance(h, Scaled) for h in used)


@pytest.mark.parametrize("oracle", ["pair_rules", "boxes", "depth_two_trees", "stumps"])
def test_scores_are_the_sum_of_the_rules_that_hold(oracle):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LPBoostClassifier(C=0.3, oracle=oracle, tol=0.05).fit(frame, Y)
    table = model.get_rules(frame, Y)
    assert list(table) == ["problem", "rule", "class", "weight", "support", "precision", "length"]
    held = np.column_stack([holds(rule, frame) for rule in table["rule"]])
    assert_allclose(held @ table["weight"] + model.intercept_, model.decision_function(frame), atol=1e-12)
    assert_allclose(table["support"], held.mean(axis=0))
    of_class = (Y[:, None] > 0) == (table["class"] == "1.0").to_numpy()
    assert_allclose(table["precision"], (held & of_class).sum(axis=0) / np.maximum(held.sum(axis=0), 1e-300))
    assert (table["length"] == [0 if rule == "always" else rule.count(" and ") + 1 for rule in table["rule"]]).all()
    assert (table["weight"].abs().diff().dropna() <= 0).all()
    assert not table["rule"].duplicated().any()


def holds(rule, frame):
    """Where a rule of a table holds, by its text."""
    found = np.full(len(frame), True)
    for condition in [] if rule == "always" else rule.split(" and "):
        parts = condition.split()
        for low, sign, high in [parts[:3], parts[2:]] if len(parts) == 5 else [parts]:
            a, b = (frame[end].to_numpy() if end in frame else float(end) for end in (low, high))
            found &= {"<": a < b, "<=": a <= b, ">=": a >= b}[sign]
    return found


def test_lines_say_that_a_rule_has_no_vote_elsewhere():
    model = LPBoostClassifier(C=0.3, oracle="boxes", tol=0.05).fit(X, np.where(INSIDE, "in", "out"))
    lines = model.to_text().splitlines()
    assert all(line.endswith((" -> in, else none", " -> out, else none")) for line in lines if "always" not in line)
    several = AdaBoostMHClassifier(oracle="pair_rules", n_rounds=2).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert ", else none" in several.to_text()


def test_rules_of_several_classes_are_counted_by_their_problems():
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    table = LPBoostClassifier(C=1.0, oracle="pair_rules").fit(X, labels).get_rules(X, labels)
    assert set(table["problem"]) == {0, 1, 2}
    assert set(table["class"]) <= {"rest", "a", "b", "c"}
    assert table["precision"].between(0, 1).all()
    together = AdaBoostMHClassifier(oracle="stumps", n_rounds=3).fit(X, labels).get_rules(X, labels)
    assert {"weight_0", "weight_1", "weight_2"} <= set(together)


def test_weak_learners_that_are_no_rules_are_told_of():
    model = AdaBoostClassifier(partial(Perceptrons, n_directions=3), n_rounds=2, random_state=0).fit(X, Y)
    with pytest.raises(InvalidInput, match="get_rules: found a Perceptron as a weak learner, which is no sum of rules"):
        model.get_rules(X, Y)
