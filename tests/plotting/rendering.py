"""What every picture is held to."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

K = np.array([[4.0, 1.0, 2.0, 0.0], [1.0, 4.0, 0.5, 3.0], [2.0, 0.5, 4.0, -1.0], [0.0, 3.0, -1.0, 4.0]])
C, WEIGHTS = [1.0, 0.01, 0.1], np.array([[3.0, 0.0, -5.0], [1.0, 0.0, 0.0], [2.0, 0.0, -4.0]])
PAIRS = {"age": ([20, 40, 60], [-1.0, 0.5, 0.0]), "height": ([1.5, 2.0], [0.0, 0.2])}


def axes(n):
    """So many axes that pyplot knows nothing of."""
    return list(np.ravel(Figure(layout="constrained").subplots(1, n, squeeze=False)))


def assert_drawn(display, ax):
    """Drawn on the axes that were given, with labels, nothing opened by pyplot; and it can be rendered."""
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_xlabel()
    assert plt.get_fignums() == []
    ax.figure.canvas.draw()


def assert_opens_one_figure(display):
    """Drawn without axes: one figure of its own, closed here."""
    assert [plt.figure(number) for number in plt.get_fignums()] == [display.figure_]
    display.figure_.canvas.draw()
    plt.close(display.figure_)


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
