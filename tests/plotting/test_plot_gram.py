"""Gram matrices: the image is the matrix, permuted."""

import numpy as np
from rendering import assert_drawn

from cvxens.kernels import Stump
from cvxens.plotting import GramDisplay

K = np.array([[4.0, 1.0, 2.0, 0.0], [1.0, 4.0, 0.5, 3.0], [2.0, 0.5, 4.0, -1.0], [0.0, 3.0, -1.0, 4.0]])
LABELS = ["b", "a", "b", "a"]


def texts(ticks):
    return [tick.get_text() for tick in ticks]


def test_the_image_is_the_matrix_with_each_class_together(ax):
    display = GramDisplay(K, LABELS).plot(ax)
    assert_drawn(display, ax)
    order = [1, 3, 0, 2]
    assert ax.images[0].get_array().tolist() == K[np.ix_(order, order)].tolist()
    assert texts(ax.get_xticklabels()) == texts(ax.get_yticklabels()) == ["a", "b"]
    assert ax.get_xticks().tolist() == [0.5, 2.5]
    assert [line.get_xdata()[0] for line in ax.lines[1::2]] == [1.5]
    assert display.counts_.tolist() == [2, 2]


def test_values_have_a_scale_beside_them(ax):
    GramDisplay(K, LABELS).plot(ax)
    (scale,) = ax.child_axes
    assert scale.get_ylabel() == "K(x, x')"
    assert scale.get_ylim() == (-1.0, 4.0)


def test_one_class_needs_no_lines(ax):
    assert GramDisplay(K, [0, 0, 0, 0]).plot(ax).ax_.lines[:] == []


def test_a_kernel_is_evaluated_on_the_sample(sample, ax):
    X, y = sample
    display = GramDisplay.from_kernel(Stump(), X, y, ax=ax)
    order = np.argsort(y, kind="stable")
    np.testing.assert_allclose(display.K_, Stump()(X[order]), rtol=1e-12)
    assert display.classes_.tolist() == [-1.0, 1.0]
