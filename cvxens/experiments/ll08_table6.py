"""LL08 Table 6."""

from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment

TABLE = Experiment(
    paper="ll08",
    table="table6",
    title="seconds of the selection of parameters",
    protocol=ll08.PROTOCOL
    + """
Seconds are processor time of one process, on whatever machine; the print's are of 2005. What can be compared is how
the columns relate.
""",
    rows={name: ll08.DATA[name] for name in ("twonorm", "threenorm", "ringnorm")},
    columns={
        "SVM-Stump": ll08.SVM_STUMP,
        "SVM-Perc": ll08.SVM_PERC,
        "SVM-Dec": ll08.SVM_DEC,
        "SVM-Gauss": ll08.SVM_GAUSS,
    },
    measure="seconds",
    home=ll08.HOME,
    reads="seconds of the choice",
    judged=False,
)
