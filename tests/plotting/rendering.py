"""What every picture is held to."""

from matplotlib import pyplot as plt


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
