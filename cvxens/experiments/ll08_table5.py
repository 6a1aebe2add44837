"""LL08 Table 5."""

from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment

TABLE = Experiment(
    paper="ll08",
    table="table5",
    title="SVMs with radial basis functions",
    protocol=ll08.PROTOCOL,
    rows=ll08.DATA,
    columns={
        "SVM-Stump": ll08.SVM_STUMP,
        "SVM-Perc": ll08.SVM_PERC,
        "SVM-Dec": ll08.SVM_DEC,
        "SVM-Gauss": ll08.SVM_GAUSS,
    },
    home=ll08.HOME,
    other_data=ll08.OTHER_DATA,
)
