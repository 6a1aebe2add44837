"""Fits that start from the weak learners of the last one: the same certified optimum in fewer rounds."""

import numpy as np
import pytest
from estimator_samples import BY_MARGINS, EVERY, called, three_classes, two_classes
from sklearn.base import clone

from cvxens import CGEnsClassifier, LPBoostClassifier
from cvxens.colgen import column_generation
from cvxens.errors import InvalidInput
from cvxens.estimators import ensembles

X, Y = two_classes(80)
PATHS = {"LPBoostClassifier": [0.05, 0.1, 0.2, 0.5], "CGEnsClassifier": [0.003, 0.01, 0.03, 0.1]}
EXACT = {"tol": 1e-6}


def rounds(model):
    histories = model.history_ if hasattr(model, "estimators_") else [model.history_]
    return [len(history) for history in histories]


def primals(model):
    certificates = model.certificate_ if hasattr(model, "estimators_") else [model.certificate_]
    assert all(certificate.holds(model.tol) for certificate in certificates)
    return [certificate.primal for certificate in certificates]


def warm(estimator, **parameters):
    return clone(estimator).set_params(warm_start=True, **parameters)


@pytest.mark.thinned(1, estimator=EVERY, sample=[two_classes(80), three_classes(60)])
def test_fitted_again_it_is_done_after_the_first_master(estimator, sample):
    model = warm(estimator, columns_per_round=2, **EXACT).fit(*sample)
    before, optimum = rounds(model), primals(model)
    model.fit(*sample)
    assert primals(model) == pytest.approx(optimum, rel=1e-6)
    assert sum(rounds(model)) < sum(before)
    # multipliers of linear programs are not unique, those of squared penalties are
    if model.oracle == "quantile_stumps":
        assert max(rounds(model)) <= 4
    cold = clone(model).set_params(warm_start=False).fit(*sample)
    assert rounds(cold) == before


@pytest.mark.parametrize("estimator", [e for e in EVERY if called(e) in PATHS], ids=called)
def test_along_a_path_of_prices_rounds_are_spared_and_optima_are_the_same(estimator):
    cold, warmed = (clone(estimator).set_params(warm_start=w, columns_per_round=2, **EXACT) for w in (False, True))
    spent = np.zeros(2)
    for C in PATHS[called(estimator)]:
        for k, model in enumerate((cold, warmed)):
            spent[k] += sum(rounds(model.set_params(C=C).fit(X, Y)))
        assert primals(warmed) == pytest.approx(primals(cold), rel=2e-6)
    assert spent[1] < 0.8 * spent[0]


@pytest.mark.parametrize("estimator", BY_MARGINS, ids=called)
def test_each_sub_problem_starts_from_its_own(estimator, monkeypatch):
    Z, labels = three_classes(90)
    model = warm(estimator, **EXACT).fit(Z, labels)
    own, starts = list(model.weak_learners_), []

    def listening(*arguments, start, **options):
        starts.append(start)
        return column_generation(*arguments, start=start, **options)

    monkeypatch.setattr(ensembles, "column_generation", listening)
    # without the first ten it is another sample, of the same sub-problems
    model.fit(Z[10:], labels[10:])
    assert starts == own
    once = clone(model).fit(Z, labels)
    for part, fresh in zip((model, *model.estimators_), (once, *once.estimators_), strict=True):
        assert vars(part).keys() == vars(fresh).keys()


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_on_another_sample_it_starts_from_what_it_knows(estimator):
    model = warm(estimator, **EXACT).fit(X, Y)
    more, labels = two_classes(120, random_state=3)
    model.fit(more, labels)
    cold = clone(model).set_params(warm_start=False).fit(more, labels)
    assert sum(rounds(model)) <= sum(rounds(cold))
    # at quantiles of the first sample there are further stumps, so the optimum over all of them is no worse
    (warmed,), (plain,) = primals(model), primals(cold)
    assert warmed <= plain * (1 + 2e-6)
    if model.oracle == "stumps":
        assert warmed == pytest.approx(plain, rel=2e-6)


def test_weak_learners_of_other_features_are_refused_and_the_model_stays():
    model = warm(LPBoostClassifier()).fit(X, Y)
    scores = model.decision_function(X)
    for other in (X[:, :2], np.hstack([X, X])):
        with pytest.raises(
            InvalidInput, match=rf"^X: found {other.shape[1]} features for weak learners of 3; give samp"
        ):
            model.fit(other, Y)
    assert np.array_equal(model.decision_function(X), scores)
    assert model.set_params(warm_start=False).fit(X[:, :2], Y).n_features_in_ == 2


def test_a_first_fit_and_other_classes_start_from_nothing():
    two, three = (X, Y), (X, np.digitize(X[:, 0], [-0.5, 0.5]))
    model = warm(CGEnsClassifier())
    for sample in (two, three, two, (X, np.where(Y == "yes", "a", "b"))):
        model.fit(*sample)
        cold = CGEnsClassifier().fit(*sample)
        assert primals(model) == pytest.approx(primals(cold), rel=2e-3)
