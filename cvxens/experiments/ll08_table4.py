"""LL08 Table 4."""

from cvxens.colgen.oracles import Trees
from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment

TABLE = Experiment(
    paper="ll08",
    table="table4",
    title="decision trees: an SVM over them, by the Laplacian kernel, against boosting",
    protocol=ll08.PROTOCOL,
    rows=ll08.DATA,
    columns={
        "SVM-Dec": ll08.SVM_DEC,
        "AdaBoost-Dec": ll08.choose_rounds(Trees),
        "LPBoost-Dec": ll08.choose_lpboost(Trees),
    },
    home=ll08.HOME,
    other_data=ll08.OTHER_DATA,
)
