"""Column generation: any formulation over any oracle's hypotheses, with a certificate."""

from cvxens.colgen import formulations, masters, oracles
from cvxens.colgen.driver import Step, iterate
from cvxens.colgen.formulation import Formulation
from cvxens.colgen.protocols import Column, Hypothesis, Master, MasterSolution, Oracle, Priced
from cvxens.colgen.run import Round, Run, column_generation
from cvxens.colgen.stopping import Ending

__all__ = [
    "Column",
    "Ending",
    "Formulation",
    "Hypothesis",
    "Master",
    "MasterSolution",
    "Oracle",
    "Priced",
    "Round",
    "Run",
    "Step",
    "column_generation",
    "formulations",
    "iterate",
    "masters",
    "oracles",
]
