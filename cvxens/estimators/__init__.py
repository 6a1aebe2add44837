"""Estimators as scikit-learn knows them, each fitted with a certificate."""

import warnings
from collections.abc import Mapping
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cvxens.estimators.additive import AdditiveClassifier, AdditiveRanker, AdditiveRegressor
from cvxens.estimators.base import Learner
from cvxens.estimators.boosting import AdaBoostClassifier, AdaBoostECCClassifier, AdaBoostMHClassifier
from cvxens.estimators.classifiers import (
    CGEnsClassifier,
    CGEnsSLSClassifier,
    ColumnGenerationClassifier,
    LPBoostClassifier,
    MultiBoostClassifier,
)
from cvxens.estimators.constraints import (
    ClassLoss,
    Concave,
    Constraint,
    Convex,
    EqualMeanScores,
    FeatureBudget,
    GroupLoss,
    Interactions,
    Monotone,
)
from cvxens.estimators.expansions import PartialSVMEnsembleClassifier, RegAdaBoostClassifier, RhoSVC
from cvxens.estimators.foreign import certify_model, reweight
from cvxens.estimators.forests import SupervisedKernelRLSClassifier, SupervisedKernelRLSRegressor
from cvxens.estimators.infinite_ensembles import InfiniteEnsembleSVC, InfiniteEnsembleSVR
from cvxens.estimators.price_search import PriceSearchCV
from cvxens.estimators.rankers import LPBoostRanker
from cvxens.estimators.regressors import ColumnGenerationRegressor, LPBoostRegressor
from cvxens.estimators.saving import load_model
from cvxens.estimators.survival import ColumnGenerationSurvival
from cvxens.estimators.trusted import TRUSTED_TYPES
from cvxens.validation import one_of

__all__ = [
    "TRUSTED_TYPES", "AdaBoostClassifier", "AdaBoostECCClassifier", "AdaBoostMHClassifier", "AdditiveClassifier",
    "AdditiveRanker", "AdditiveRegressor", "CGEnsClassifier", "CGEnsSLSClassifier", "ClassLoss",
    "ColumnGenerationClassifier", "ColumnGenerationRegressor", "ColumnGenerationSurvival", "Concave", "Constraint",
    "Convex", "EqualMeanScores", "FeatureBudget", "GroupLoss", "InfiniteEnsembleSVC", "InfiniteEnsembleSVR",
    "Interactions", "LPBoostClassifier", "LPBoostRanker", "LPBoostRegressor", "Monotone", "MultiBoostClassifier",
    "PartialSVMEnsembleClassifier", "PriceSearchCV", "RegAdaBoostClassifier", "RhoSVC", "SupervisedKernelRLSClassifier",
    "SupervisedKernelRLSRegressor", "certify_model", "load_model", "reweight", "warmup",
]  # fmt: skip


def warmup(*names: str) -> float:
    """Compile what first fits would wait for, by fits to small samples, and return the seconds that it took.

    numba keeps what it compiles, beside the package or in `NUMBA_CACHE_DIR`, so that once is enough.
    Without it, a first fit compiles while its `max_time` runs. `cvxens warmup` is the same as a command.

    Parameters
    ----------
    *names : str
        The estimators to fit, and others that share their code are warm, too; all by default.

    Returns
    -------
    float
        Seconds of the clock.

    Examples
    --------
    >>> from cvxens import warmup
    >>> warmup("LPBoostRegressor") > 0
    True
    """
    # what is compiled varies with the weak learners and with the size of the sample, by which fast paths are chosen
    fits: tuple[tuple[type[Learner], Mapping[str, object], tuple[int, ...]], ...] = (
        (LPBoostClassifier, {}, (60, 300, 1000, 20000)),
        (LPBoostClassifier, {"oracle": "boxes", "max_columns": 9}, (60,)),
        (LPBoostClassifier, {"oracle": "perceptrons", "max_columns": 9}, (60,)),
        (AdditiveClassifier, {"C": 1.0}, (60,)),
        (AdditiveRegressor, {"C": 1.0}, (60,)),
        (LPBoostRegressor, {}, (60,)),
        (LPBoostRanker, {"max_columns": 9}, (60, 800)),
        (ColumnGenerationSurvival, {}, (60,)),
        (AdaBoostMHClassifier, {}, (60,)),
        (InfiniteEnsembleSVC, {}, (60, 3000)),
        (InfiniteEnsembleSVC, {"kernel": "perceptron"}, (3000,)),
        (SupervisedKernelRLSClassifier, {}, (60,)),
    )
    start, random = perf_counter(), np.random.default_rng(0)
    for name in names:
        one_of("names", name, dict.fromkeys(kind.__name__ for kind, *_ in fits))
    for kind, parameters, sizes in fits:
        for n in sizes if kind.__name__ in (names or [kind.__name__]) else ():
            X = random.normal(size=(n, 3))
            score = X[:, 0] * X[:, 1] + X[:, 2]
            y = score if kind in (AdditiveRegressor, LPBoostRegressor) else np.digitize(score, [0.0])
            if kind is ColumnGenerationSurvival:
                y = np.array([(f < 1, np.exp(-f)) for f in score], dtype=[("event", bool), ("time", float)])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                kind(**parameters).fit(X, y)
    return perf_counter() - start
