"""Column-generation estimators against the formulations, and what a fitted one tells."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from estimator_samples import assert_optimal, three_classes, two_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cvxens import CGEnsClassifier, CGEnsSLSClassifier, ColumnGenerationClassifier, LPBoostClassifier
from cvxens.colgen import Priced, formulations, oracles
from cvxens.problems import SLSSVM, LPBoost, Signed, SoftMarginBoosting, StumpColumns, SVMPrimal, simplex_codes

X, Y = two_classes()
SIGNS = np.where(Y == "yes", 1.0, -1.0)
EXACT = {"tol": 1e-7, "oracle": "stumps"}

REFERENCES = {
    "nu": (LPBoostClassifier(nu=0.4, **EXACT), lambda: LPBoost(Signed(StumpColumns(X)), SIGNS, 1 / (0.4 * len(X)))),
    "price": (LPBoostClassifier(C=0.7, **EXACT), lambda: SoftMarginBoosting(Signed(StumpColumns(X)), SIGNS, 0.7)),
    "svm": (CGEnsClassifier(C=0.01, **EXACT), lambda: SVMPrimal(StumpColumns(X), SIGNS, 0.01)),
    "sls": (CGEnsSLSClassifier(C=0.01, **EXACT), lambda: SLSSVM(StumpColumns(X), -SIGNS[:, None], 0.01)),
    "any": (
        ColumnGenerationClassifier(formulations.soft_margin(0.7), **EXACT),
        lambda: SoftMarginBoosting(Signed(StumpColumns(X)), SIGNS, 0.7),
    ),
}


@pytest.mark.thinned(1, case=REFERENCES, solver=["fast", "reference"])
def test_the_optimum_is_that_of_the_formulation(case, solver):
    estimator, problem = REFERENCES[case]
    fitted = clone(estimator).set_params(solver=solver).fit(X, Y)
    assert_optimal(fitted.certificate_, problem().solve().objective, tol=1e-6, rel=1e-5)


def test_simplex_least_squares_take_three_classes_at_once():
    X, y = three_classes()
    fitted = CGEnsSLSClassifier(C=0.1, tol=1e-7, oracle="stumps").fit(X, y)
    problem = SLSSVM(StumpColumns(X), simplex_codes(3)[y], 0.1)
    assert fitted.certificate_.primal == pytest.approx(problem.solve().objective, rel=1e-5)
    scores = fitted.decision_function(X)
    np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), scores.argmax(axis=1))


def test_the_dual_weights_prove_the_bound():
    model = LPBoostClassifier(C=0.7, **EXACT).fit(X, Y)
    u = model.dual_weights_
    edge = oracles.Stumps(X).price(SIGNS * u).edge_bound
    assert np.all((u >= 0) & (u <= 0.7 + 1e-12))
    assert u.sum() / max(1.0, edge) == pytest.approx(model.certificate_.dual)


class Exhausted(oracles.Stumps):
    """Stumps that answer twice, and have no hypotheses from then on, but a bound."""

    rounds = 0

    def price(self, s, exclude=()):
        self.rounds += 1
        priced = super().price(s, exclude)
        return priced if self.rounds < 3 else Priced((), priced.edge_bound, priced.edge_square_sum)


@pytest.mark.parametrize("estimator", [LPBoostClassifier, CGEnsClassifier])
def test_a_fit_that_ends_short_of_its_tolerance_says_so_whatever_ended_it(estimator):
    model = estimator(oracle=Exhausted, columns_per_round=1)
    with pytest.warns(ConvergenceWarning, match="no hypothesis that the oracle finds improves; the relative gap is"):
        model.fit(X, Y)
    assert model.certificate_.relative_gap > model.tol


@pytest.mark.parametrize("oracle", ["fourier", partial(oracles.Perceptrons, n_directions=30)])
def test_sampled_oracles_follow_the_seed(oracle):
    fits = [LPBoostClassifier(oracle=oracle, random_state=seed, tol=0.1).fit(X, Y) for seed in (0, 0, 1)]
    scores = [model.decision_function(X).tolist() for model in fits]
    assert scores[0] == scores[1] != scores[2]
    assert not fits[0].certificate_.proven


def test_columns_per_round_are_limited():
    model = LPBoostClassifier(columns_per_round=1).fit(X, Y)
    assert max(np.diff([row.size for row in model.history_])) == 1


def test_the_ensemble_as_a_table():
    model = LPBoostClassifier().fit(pd.DataFrame(X, columns=["length", "width", "noise"]), Y)
    table = model.to_frame()
    assert list(table.columns) == ["problem", "hypothesis", "weight", "feature", "threshold", "sign"]
    assert table["weight"].sum() == pytest.approx(model.weights_.sum())
    assert table["weight"].is_monotonic_decreasing
    assert set(table["feature"].dropna()) <= {"length", "width", "noise"}
    lines = model.to_text(most=3).splitlines()
    assert len(lines) == 4
    assert table["hypothesis"][0].rpartition(" -> ")[0] in lines[0]
    assert lines[-1] == f"and {len(table) - 3} more"


def test_the_ensembles_of_sub_problems_as_a_table():
    model = LPBoostClassifier().fit(*three_classes())
    assert set(model.to_frame()["problem"]) == {0, 1, 2}
    assert model.to_text().startswith("[0 vs rest] +")
    simplex = CGEnsSLSClassifier().fit(*three_classes())
    assert {"weight_0", "weight_1"} <= set(simplex.to_frame().columns)


def test_quantile_stumps_are_the_default_of_squared_penalties():
    model = CGEnsClassifier(oracle=partial(oracles.QuantileStumps, n_thresholds=1)).fit(X, Y)
    assert len(model.weak_learners_) <= 4
