"""A check of LL08 Table 5: ringnorm as Breiman has it."""

from cvxens.datasets import make_ringnorm
from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.splits import Generated

TABLE = Experiment(
    paper="ll08",
    table="ringnorm",
    title="a check of our own: ringnorm with the narrow class around 2/sqrt(20), beside the print of Table 5",
    protocol="""
As Table 5, with the narrow class where Breiman has it.
""",
    rows={"ringnorm": Generated(make_ringnorm), "ringnorm-n": Generated(make_ringnorm, mislabelled=0.1)},
    columns={"SVM-Stump": ll08.SVM_STUMP, "SVM-Perc": ll08.SVM_PERC},
    against="table5",
)
