"""Plots refuse what cannot be drawn, by the name of the argument."""

import numpy as np
import pytest

from cvxens import LPBoostClassifier
from cvxens.errors import InvalidInput
from cvxens.kernels import Laplacian
from cvxens.plotting import BoundaryDisplay, ConvergenceDisplay, GapDisplay, GramDisplay, MarginDisplay, PathDisplay

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0], [4.0, 0.0], [5.0, 2.0]])
Y = np.array([-1, 1, -1, 1, 1, 1])
MODEL = LPBoostClassifier().fit(X, Y)
NO_LABELS = [None, 1.0, [[1.0], [1.0, 2.0]], Y[:-1], Y[None], {}, object()]


@pytest.mark.parametrize("display", [BoundaryDisplay, MarginDisplay])
@pytest.mark.parametrize("y", NO_LABELS)
def test_labels(display, y):
    with pytest.raises(InvalidInput, match=r"^y: found"):
        display.from_estimator(MODEL, X, y)


@pytest.mark.parametrize("y", NO_LABELS)
def test_labels_of_a_gram_matrix(y):
    with pytest.raises(InvalidInput, match=r"^y: found"):
        GramDisplay.from_kernel(Laplacian(1.0), X, y)


@pytest.mark.parametrize("kernel", [None, "laplacian", 1.0, np.eye(6), Laplacian])
def test_kernels(kernel):
    with pytest.raises(InvalidInput, match=r"^kernel: found"):
        GramDisplay.from_kernel(kernel, X, Y)


@pytest.mark.parametrize("display", [ConvergenceDisplay, GapDisplay])
@pytest.mark.parametrize("against", [None, "time", 1, ["rounds"], {}, np.array(["rounds", "seconds"])])
def test_axes(display, against):
    with pytest.raises(InvalidInput, match=r"^against: found"):
        display.from_estimator(MODEL, against=against)


@pytest.mark.parametrize("runs", [None, [MODEL], MODEL, "runs"])
def test_runs_without_names(runs):
    for draw in (
        lambda: ConvergenceDisplay.from_runs(runs),
        lambda: PathDisplay.from_runs(runs),
        lambda: MarginDisplay.from_runs(runs, X, Y),
    ):
        with pytest.raises(InvalidInput, match=r"^runs: found"):
            draw()
