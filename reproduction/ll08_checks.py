"""Checks of our own beside LL08's tables: what cells that do not agree with the print depend on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cvxens.colgen.oracles import Trees
from cvxens.datasets import make_ringnorm
from cvxens.estimators import AdaBoostClassifier, InfiniteEnsembleSVC, LPBoostClassifier
from cvxens.kernels import Kernel, Stump, and_
from cvxens.kernels.logic import Constants
from cvxens.types import Array
from reproduction import ll08
from reproduction.experiment import Experiment
from reproduction.methods import ErrorOf
from reproduction.splits import Generated, OwnTest


def print_regions(level: int, stump: Stump) -> Kernel:
    """Return the kernel of regions of LL08 Definition 17 as it is printed, from a stump kernel of known ranges.

    With the printed masses M_L = L (2 Delta_S)^L it is ``1/L (K_L + M_L) (K_S + Delta_S) + (1 - 1/L) K_L K_1`` level by
    level, and ``(2 Delta_S)^L sum_{l=1}^{L} (k / (2 Delta_S))^l`` in closed form, k = K_S + Delta_S.
    """
    first = stump + Constants(stump.total_mass())
    kernel: Kernel = first
    for below in range(1, level):
        joined = and_(kernel, stump)
        kernel = (1 / below) * joined + (1 - 1 / below) * (kernel * first) if below > 1 else joined
    return kernel


def weigh_stumps(cumulative: Callable[[Array], Array], low: Any, high: Any) -> Callable[[Any, Any], Array]:
    """Return the kernel of all stumps with a weight r(alpha) of their thresholds, as LL08 Definitions 1 and 2 have it.

    ``K(x, x') = sum_q sum_d int r_d(a)^2 sign(x_d - a) sign(x'_d - a) da`` over both signs q is that of r = 1/2 on
    features ``4 R_d(x_d)``, R_d the integral of r_d^2 up to x_d: weights move the samples, and no other machine is
    needed. A finite part of an infinite J, with weights, is `WeakLearner` of `Kernel.sample`.

    Parameters
    ----------
    cumulative : callable
        From samples (n_samples, n_features) to R_d(x_d) of each of their features, ascending.
    low, high : array-like of shape (n_features,)
        The range of thresholds of each feature.

    Examples
    --------
    With r(a)^2 = a / 2 on [0, 2], by the integral over thresholds:

    >>> x, z = 0.5, 1.0
    >>> K = weigh_stumps(lambda X: X**2 / 4, [0.0], [2.0])
    >>> a = (np.arange(200_000) + 0.5) / 100_000
    >>> expected = 2 * np.sum(a / 2 * np.sign(x - a) * np.sign(z - a)) / 100_000
    >>> bool(abs(K([[x]], [[z]])[0, 0] - expected) < 1e-6), round(float(expected), 3)
    (True, 1.25)
    """
    box = 4 * cumulative(np.array([low, high], np.float64))
    stump = Stump(tuple(box[0]), tuple(box[1]))
    return lambda X, Z: stump(*(4 * cumulative(np.asarray(each, np.float64)) for each in (X, Z)))


CHECKS = (
    Experiment(
        paper="ll08",
        table="hard_lpboost",
        title="a check of our own: LPBoost of stumps at the largest price of its grid, beside the print of Table 2",
        protocol="""
The data of Table 2, and LPBoost with C = 2^3, the largest price of the grid, without any choice: nearly a hard margin.
""",
        rows={name: source for name, source in ll08.DATA.items() if not isinstance(source, OwnTest)},
        columns={"LPBoost-Stump": ErrorOf(LPBoostClassifier(C=ll08.PRICES[-1], max_columns=1000))},
        against="table2",
    ),
    Experiment(
        paper="ll08",
        table="unscaled",
        title="a check of our own: a1a and w1a with features 0 and 1, beside the print of Table 5",
        protocol="""
As Table 5, with features as they are, and not mapped to [-1, 1].
""",
        rows={name: OwnTest(name, scaled=False) for name in ("a1a", "w1a")},
        columns=ll08.RADIAL,
        against="table5",
    ),
    Experiment(
        paper="ll08",
        table="w1a_prices",
        title="a check of our own: w1a at prices of the grid, without a choice",
        protocol="""
The set w1a of Table 5, with C given, and 2^-5 for the gamma of SVM-Dec. Of its 2,477 samples to train on 72 are
positive.
""",
        rows={"w1a": ll08.DATA["w1a"]},
        columns={
            f"{name}, C = 2^{power}": ErrorOf(InfiniteEnsembleSVC(kernel, C=2.0**power, tol=ll08.TOL))
            for name, kernel in {"SVM-Stump": "stump", "SVM-Perc": "perceptron"}.items()
            for power in range(-9, 4, 2)
        }
        | {
            f"SVM-Dec, C = 2^{power}": ErrorOf(
                InfiniteEnsembleSVC("laplacian", gamma=2.0**-5, C=2.0**power, tol=ll08.TOL)
            )
            for power in range(-3, 8, 2)
        },
    ),
    Experiment(
        paper="ll08",
        table="ringnorm",
        title="a check of our own: ringnorm with the narrow class around 2/sqrt(20), beside the print of Table 5",
        protocol="""
As Table 5, with the narrow class where Breiman has it.
""",
        rows={"ringnorm": Generated(make_ringnorm), "ringnorm-n": Generated(make_ringnorm, mislabelled=0.1)},
        columns=ll08.take("SVM-Stump", "SVM-Perc"),
        against="table5",
    ),
    Experiment(
        paper="ll08",
        table="stump_rounds",
        title="a check of our own: AdaBoost of stumps after a given number of rounds, beside Table 2",
        protocol="""
As Table 2, with the number of rounds given. The print has 10.1 on ringnorm and 2.18 on w1a.
""",
        rows={name: ll08.DATA[name] for name in ("ringnorm", "w1a")},
        columns={
            f"AdaBoost-Stump, {n} rounds": ErrorOf(AdaBoostClassifier(n_rounds=n))
            for n in (10, 30, 100, 200, 300, 500, 1000, 1500)
        },
    ),
    Experiment(
        paper="ll08",
        table="tree_columns",
        title="a check of our own: LPBoost of trees with a given number of columns, beside Table 4",
        protocol="""
As Table 4, with C = 2^-1, which is nearly a hard margin, and so many columns. The print has, in the order of the rows,
4.8, 7.89, 18.3, 22, 6 and 8.76.
""",
        rows={name: source for name, source in ll08.DATA.items() if isinstance(source, Generated)},
        columns={
            f"LPBoost-Dec, {n} columns": ErrorOf(LPBoostClassifier(C=2.0**-1, max_columns=n, oracle=Trees))
            for n in (30, 100, 300, 1000)
        },
    ),
)
