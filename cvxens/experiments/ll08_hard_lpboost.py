"""A check of LL08 Table 2: LPBoost at the largest price of its grid."""

from cvxens.estimators import LPBoostClassifier
from cvxens.estimators.infinite_ensembles import PRICES
from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import ErrorOf
from cvxens.experiments.splits import OwnTest

TABLE = Experiment(
    paper="ll08",
    table="hard_lpboost",
    title="a check of our own: LPBoost of stumps at the largest price of its grid, beside the print of Table 2",
    protocol="""
The data of Table 2, and LPBoost with C = 2^3, the largest price of the grid, without any choice: nearly a hard margin.
""",
    rows={name: source for name, source in ll08.DATA.items() if not isinstance(source, OwnTest)},
    columns={"LPBoost-Stump": ErrorOf(LPBoostClassifier(C=PRICES[-1], max_columns=1000))},
    against="table2",
)
