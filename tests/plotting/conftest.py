import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from rendering import axes

from cvxens.colgen import column_generation, formulations, oracles
from cvxens.problems import simplex_codes


@pytest.fixture(autouse=True)
def no_figure_is_left():
    """Each test closes what it opens; whatever is drawn can be rendered."""
    plt.close("all")
    yield
    left = plt.get_fignums()
    plt.close("all")
    assert left == []


@pytest.fixture
def ax():
    return axes(1)[0]


@pytest.fixture(scope="session")
def sample():
    """Three features that matter, and a constant one."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 3)), np.ones(60)])
    return X, np.where(X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=60) > 0.6, 1.0, -1.0)


@pytest.fixture(scope="session")
def run_at(sample):
    """Column generation over stumps at a C."""
    X, y = sample
    return lambda C: column_generation(formulations.soft_margin(C), oracles.Stumps(X, columns_per_round=2), y)


@pytest.fixture(scope="session")
def run(run_at):
    return run_at(1.0)


@pytest.fixture(scope="session")
def two_outputs(sample):
    X, y = sample
    codes = simplex_codes(3)[np.where(X[:, 2] > 0, 2, y > 0).astype(int)]
    return column_generation(formulations.simplex_least_squares(codes, C=1.0), oracles.Stumps(X), max_columns=6)
