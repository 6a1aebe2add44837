"""Limits of time, Ctrl-C and the line of progress of the boosting and kernel peers."""

import numpy as np
import pytest
from estimator_samples import BOOSTING, FEW, IN_ROUNDS, Interrupting, called, three_classes, two_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cvxens import AdaBoostClassifier, InfiniteEnsembleSVC, RegAdaBoostClassifier, RhoSVC
from cvxens.estimators import base

pytestmark = FEW

X, Y = two_classes()

SHOWN = [*IN_ROUNDS, RhoSVC(), RegAdaBoostClassifier(), InfiniteEnsembleSVC()]


@pytest.mark.parametrize("estimator", BOOSTING, ids=called)
def test_an_interrupt_keeps_what_is_done(estimator):
    model = clone(estimator).set_params(oracle=Interrupting)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 of 9 rounds: fit again to go further"):
        model.fit(X, Y)
    few = clone(estimator).set_params(n_rounds=2).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), few.decision_function(X))


def test_limits_are_of_each_sub_problem():
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = AdaBoostClassifier(max_time=1e-9).fit(*three_classes())
    assert [len(history) for history in model.history_] == [1, 1, 1]


@pytest.mark.parametrize("estimator", SHOWN, ids=called)
def test_a_line_of_progress_where_it_is_asked_for(estimator, capsys):
    clone(estimator).set_params(verbose=1).fit(X, Y)
    shown = capsys.readouterr()
    assert f"{called(estimator)}: {'round' if estimator in IN_ROUNDS else ''}" in shown.err
    assert shown.out == ""
    clone(estimator).fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_in_a_notebook_the_line_is_overwritten_without_widgets(monkeypatch, capsys):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    consoles, line = [], base.Progress
    monkeypatch.setattr(
        base, "Progress", lambda *columns, console: (consoles.append(console), line(*columns, console=console))[1]
    )
    AdaBoostClassifier(n_rounds=3, verbose=1).fit(X, Y)
    assert [(console.is_jupyter, console.is_terminal) for console in consoles] == [(False, True)]
    shown = capsys.readouterr()
    assert "AdaBoostClassifier: round 3, edge" in shown.err
    assert "\r" in shown.err
    assert shown.out == ""
