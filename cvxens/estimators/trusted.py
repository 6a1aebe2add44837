"""The classes and functions that files of fitted estimators may name.

skops tells of the types in a file that it does not know, and makes objects of them only if it is told to trust them.
Those of `TRUSTED_TYPES` hold numbers, text, arrays and each other, and run nothing when they are made.

Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> from skops.io import dumps, loads
>>> from cvxens import InfiniteEnsembleSVC
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = make_pipeline(StandardScaler(), InfiniteEnsembleSVC(C=0.01)).fit(X, y)
>>> again = loads(dumps(model), trusted=TRUSTED_TYPES)
>>> bool((again.decision_function(X) == model.decision_function(X)).all())
True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from inspect import isabstract
from types import ModuleType
from typing import Any

from cvxens import hypotheses, trees
from cvxens.certificates import Certificate
from cvxens.colgen import BoostingRound, Formulation, Round, oracles
from cvxens.estimators import constraints
from cvxens.estimators.base import Learner
from cvxens.estimators.boosting import Coded
from cvxens.estimators.classifiers import soft_margin
from cvxens.estimators.expansions import PartialSVM
from cvxens.estimators.machines import Expansion, TrainingKernel, _take_values
from cvxens.estimators.price_search import PriceSearchCV
from cvxens.estimators.regressors import absolute_errors
from cvxens.estimators.samples import ORACLES
from cvxens.estimators.saving import KNOWN
from cvxens.kernels import finite, kernel, logic, perceptron, radial, stumps, tree_ensemble
from cvxens.problems import losses, penalties
from cvxens.solvers import LeastSquaresExperts
from cvxens.solvers.additive import AdditiveModel
from cvxens.tables import Dates, Feature, Numerals, TableColumn, TableEncoder

MODULES_OF_RECORDS = (constraints, hypotheses, finite, kernel, logic, perceptron, radial, stumps, tree_ensemble, trees)
"""Those of constraints, hypotheses and kernels, all of whose records are trusted but for the following."""

OF_OTHERS = {
    constraints.Spent,
    hypotheses.FittedClassifier,
    hypotheses.TabulatedColumn,
    tree_ensemble.SklearnTrees,
    tree_ensemble.TreeMatrix,
}
"""Records that hold what is not of ours: classifiers, data and forests; and one of a run."""

OTHERS: tuple[Any, ...] = (
    *(Certificate, Round, BoostingRound, Coded, Feature, PartialSVM),
    *(hypotheses.Among, hypotheses.Interval, trees.Nodes, tree_ensemble.ThresholdTree),
    *(AdditiveModel, Expansion, TrainingKernel, LeastSquaresExperts),
    *(TableEncoder, TableColumn, Numerals, Dates),
    *(_take_values, hypotheses._unlike, soft_margin, absolute_errors),
    *(Formulation, penalties.L1, penalties.SquaredL2),
    *(losses.Hinge, losses.SquaredHinge, losses.Exponential, losses.Logistic),
    *(*ORACLES.values(), *(getattr(oracles, name) for name in oracles.__all__)),
)
"""Records and functions in the attributes and parameters of estimators; formulations of the losses for margins."""


def list_records(module: ModuleType) -> Iterator[type]:
    """Yield the dataclasses that a module defines."""
    for found in vars(module).values():
        if isinstance(found, type) and is_dataclass(found) and found.__module__ == module.__name__:
            yield found


def list_kinds(kind: type) -> Iterator[type]:
    """Yield the classes that are derived from one, and are not for others to be derived from."""
    derived: type
    for derived in kind.__subclasses__():
        yield from list_kinds(derived)
        if not isabstract(derived):
            yield derived


ESTIMATORS = (*list_kinds(Learner), PriceSearchCV)
"""Our estimators."""

TRUSTED_TYPES = tuple(
    sorted(
        f"{kind.__module__}.{kind.__qualname__}"
        for kind in {*(each for module in MODULES_OF_RECORDS for each in list_records(module)), *OTHERS, *ESTIMATORS}
        - OF_OTHERS
        if hasattr(kind, "__qualname__")
    )
)
"""The names of all these, as ``skops.io.load(file, trusted=TRUSTED_TYPES)`` takes them.

What you give an estimator yourself, such as an oracle, a function to a formulation or a kernel of your own, is yours to
trust. So is ``sklearn.tree._tree.Tree``, of which the forests of supervised kernels are made: compiled code, which
follows the numbers of a file without a look at where they lead. Records of ours that compiled code follows look
themselves, when they are made: a forged file of skops is refused, or is a model, which runs nothing.
"""

KNOWN.update(TRUSTED_TYPES)
