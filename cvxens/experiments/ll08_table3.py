"""LL08 Table 3."""

from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment

TABLE = Experiment(
    paper="ll08",
    table="table3",
    title="perceptrons: an SVM over all of them, against boosting",
    protocol=ll08.PROTOCOL,
    rows=ll08.DATA,
    columns={
        "SVM-Perc": ll08.SVM_PERC,
        "AdaBoost-Perc": ll08.choose_rounds(ll08.RCD_BIAS),
        "LPBoost-Perc": ll08.choose_lpboost(ll08.RCD_BIAS),
    },
    home=ll08.HOME,
    other_data=ll08.OTHER_DATA,
)
