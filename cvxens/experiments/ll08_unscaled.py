"""A check of LL08 Table 5: the sets with test parts of their own, with their features as they are."""

from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.splits import OwnTest

TABLE = Experiment(
    paper="ll08",
    table="unscaled",
    title="a check of our own: a1a and w1a with features 0 and 1, beside the print of Table 5",
    protocol="""
As Table 5, with features as they are, and not mapped to [-1, 1].
""",
    rows={name: OwnTest(name, scaled=False) for name in ("a1a", "w1a")},
    columns={
        "SVM-Stump": ll08.SVM_STUMP,
        "SVM-Perc": ll08.SVM_PERC,
        "SVM-Dec": ll08.SVM_DEC,
        "SVM-Gauss": ll08.SVM_GAUSS,
    },
    against="table5",
)
