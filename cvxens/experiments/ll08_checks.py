"""Checks of our own beside LL08's tables: what cells that do not agree with the print depend on."""

from cvxens.datasets import make_ringnorm
from cvxens.estimators import InfiniteEnsembleSVC, LPBoostClassifier
from cvxens.estimators.infinite_ensembles import PRICES
from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import ErrorOf
from cvxens.experiments.splits import Generated, OwnTest

CHECKS = (
    Experiment(
        paper="ll08",
        table="hard_lpboost",
        title="a check of our own: LPBoost of stumps at the largest price of its grid, beside the print of Table 2",
        protocol="""
The data of Table 2, and LPBoost with C = 2^3, the largest price of the grid, without any choice: nearly a hard margin.
""",
        rows={name: source for name, source in ll08.DATA.items() if not isinstance(source, OwnTest)},
        columns={"LPBoost-Stump": ErrorOf(LPBoostClassifier(C=PRICES[-1], max_columns=1000))},
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
)
