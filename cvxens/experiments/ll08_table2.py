"""LL08 Table 2."""

from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment

TABLE = Experiment(
    paper="ll08",
    table="table2",
    title="stumps: SVMs over all of them and over the middle ones, against boosting",
    protocol=ll08.PROTOCOL,
    rows=ll08.DATA,
    columns=ll08.OF_STUMPS,
    home=ll08.HOME,
    other_data=ll08.OTHER_DATA,
)
