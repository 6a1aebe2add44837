"""Shape functions: the curves are the model."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from cvxens.colgen.oracles import Stump
from cvxens.plotting import ShapeDisplay

PAIRS = {"age": ([20, 40, 60], [-1.0, 0.5, 0.0]), "height": ([1.5, 2.0], [0.0, 0.2])}


def axes(n):
    return list(np.ravel(Figure(layout="constrained").subplots(1, n, squeeze=False)))


def test_given_pairs_are_drawn_under_their_names():
    given_axes = axes(2)
    display = ShapeDisplay.from_shapes(PAIRS, ax=given_axes)
    assert display.axes_ == given_axes
    assert display.figure_ is given_axes[0].figure
    for one, (name, (knots, values)) in zip(given_axes, PAIRS.items(), strict=True):
        assert one.get_xlabel() == name
        assert one.lines[1].get_xydata().tolist() == np.column_stack([knots, values]).tolist()
        assert one.lines[1].get_drawstyle() == "default"
        assert len(one.lines) == 2
    display.figure_.canvas.draw()


def test_a_sequence_of_pairs_gets_names():
    display = ShapeDisplay.from_shapes(list(PAIRS.values()), ax=axes(2))
    assert [one.get_xlabel() for one in display.axes_] == ["x[0]", "x[1]"]
    display = ShapeDisplay.from_shapes(list(PAIRS.values()), feature_names=["a", "b"], ax=axes(2))
    assert [one.get_xlabel() for one in display.axes_] == ["a", "b"]


def test_the_rug_is_the_sample():
    X = np.column_stack([np.arange(5.0), [1, 1, 2, 2, 0]])
    display = ShapeDisplay.from_shapes(PAIRS, X, ax=axes(2))
    rugs = [one.lines[2] for one in display.axes_]
    assert [rug.get_xdata().tolist() for rug in rugs] == np.sort(X, axis=0).T.tolist()
    assert [rug.get_marker() for rug in rugs] == ["|", "|"]


def test_the_rug_of_a_large_sample_is_thinned_evenly():
    X = np.random.default_rng(0).permutation(np.arange(5001.0))[:, None]
    rug = ShapeDisplay.from_shapes([([0, 1], [0, 1])], X, ax=axes(1)).axes_[0].lines[2].get_xdata()
    assert len(rug) == 1000
    assert [rug[0], rug[-1]] == [0, 5000]
    assert set(np.diff(rug)) == {5.0, 6.0}


def test_an_own_figure_has_one_scale_and_no_empty_axes():
    display = ShapeDisplay.from_shapes([([0, 1], [0, k]) for k in range(6)])
    assert len(display.figure_.axes) == len(display.axes_) == 6
    assert len({one.get_ylim() for one in display.axes_}) == 1
    assert display.figure_.get_supylabel() == "contribution to f"
    display.figure_.canvas.draw()
    assert plt.get_fignums() == [display.figure_.number]
    plt.close(display.figure_)


def test_important_functions_come_first_and_others_count():
    pairs = [([0, 1], [0, extent]) for extent in (1.0, -3.0, 2.0, 0.0, -2.0)] + [([0, 1, 2], [0, 1.3, 0])]
    display = ShapeDisplay.from_shapes(pairs, n_shown=3, ax=axes(3))
    assert [one.get_xlabel() for one in display.axes_] == ["x[1]", "x[5]", "x[2]"]
    assert display.n_left_out == 2
    assert display.axes_[-1].get_title(loc="right") == "2 less important features are left out"
    assert [one.get_title(loc="right") for one in display.axes_[:-1]] == ["", ""]
    assert ShapeDisplay.from_shapes(pairs, ax=axes(6)).axes_[-1].get_title(loc="right") == ""


@pytest.mark.parametrize(("n_shown", "said"), [(4, "1 less important feature is left out"), (5, ""), (9, "")])
def test_an_own_figure_says_how_many_features_are_left_out(n_shown, said):
    pairs = [([0, 1], [0, extent]) for extent in (1.0, -3.0, 2.0, 0.0, -2.0, 0.5)]
    display = ShapeDisplay.from_shapes(pairs, n_shown=n_shown)
    assert display.figure_.get_supxlabel() == said
    display.figure_.canvas.draw()
    plt.close(display.figure_)


def test_the_staircases_of_a_run_add_up_to_its_scores(run, sample):
    X, _ = sample
    n_used = len({column.hypothesis.feature for column, w in zip(run.columns, run.weights, strict=True) if w > 1e-9})
    display = ShapeDisplay.from_run(run, X, n_shown=4, ax=axes(n_used))
    total = sum(shape.at(X[:, int(shape.name[2])]) for shape in display.shapes)
    assert run.decision_function(X) - total == pytest.approx(run.decision_function(X).mean(), abs=1e-9)
    assert "x[3]" not in [shape.name for shape in display.shapes]


def test_without_a_sample_both_sides_of_a_step_are_shown():
    one = SimpleNamespace(columns=[SimpleNamespace(hypothesis=Stump(1, 2.0, 1))], weights=np.array([0.5]))
    (shape,) = ShapeDisplay.from_run(one, feature_names=["a", "b"], ax=axes(1)).shapes
    assert shape.name == "b"
    assert shape.knots.tolist() == [1.0, 2.0, 2.0, 3.0]
    assert shape.values.tolist() == [-0.5, -0.5, 0.5, 0.5]
