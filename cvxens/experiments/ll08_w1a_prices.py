"""A check of LL08 Table 5: w1a at every price, as its choice hangs on few samples."""

from cvxens.estimators import InfiniteEnsembleSVC
from cvxens.experiments import ll08
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import ErrorOf

TABLE = Experiment(
    paper="ll08",
    table="w1a_prices",
    title="a check of our own: w1a at prices of the grid, without a choice",
    protocol="""
The set w1a of Table 5, with C given. Of its 2,477 samples to train on 72 are positive.
""",
    rows={"w1a": ll08.DATA["w1a"]},
    columns={
        f"{name}, C = 2^{power}": ErrorOf(InfiniteEnsembleSVC(kernel, C=2.0**power, tol=ll08.TOL))
        for name, kernel in {"SVM-Stump": "stump", "SVM-Perc": "perceptron"}.items()
        for power in range(-9, 4, 2)
    },
)
