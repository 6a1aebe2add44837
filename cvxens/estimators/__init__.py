"""Estimators as scikit-learn knows them, each fitted with a certificate."""

from cvxens.estimators.additive import AdditiveClassifier, AdditiveRegressor
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

__all__ = [
    "TRUSTED_TYPES",
    "AdaBoostClassifier",
    "AdaBoostECCClassifier",
    "AdaBoostMHClassifier",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "CGEnsClassifier",
    "CGEnsSLSClassifier",
    "ClassLoss",
    "ColumnGenerationClassifier",
    "ColumnGenerationRegressor",
    "ColumnGenerationSurvival",
    "Concave",
    "Constraint",
    "Convex",
    "EqualMeanScores",
    "FeatureBudget",
    "GroupLoss",
    "InfiniteEnsembleSVC",
    "InfiniteEnsembleSVR",
    "Interactions",
    "LPBoostClassifier",
    "LPBoostRanker",
    "LPBoostRegressor",
    "Monotone",
    "MultiBoostClassifier",
    "PartialSVMEnsembleClassifier",
    "PriceSearchCV",
    "RegAdaBoostClassifier",
    "RhoSVC",
    "SupervisedKernelRLSClassifier",
    "SupervisedKernelRLSRegressor",
    "certify_model",
    "load_model",
    "reweight",
]
