"""Classifiers as scikit-learn knows them, each fitted with a certificate."""

from cvxens.estimators.boosting import AdaBoostClassifier, AdaBoostECCClassifier, AdaBoostMHClassifier
from cvxens.estimators.ensembles import (
    CGEnsClassifier,
    CGEnsSLSClassifier,
    ColumnGenerationClassifier,
    LPBoostClassifier,
    MultiBoostClassifier,
)
from cvxens.estimators.foreign import certify_model, reweight
from cvxens.estimators.infinite_ensemble_svc import InfiniteEnsembleSVC
from cvxens.estimators.infinite_ensemble_svc_cv import InfiniteEnsembleSVCCV
from cvxens.estimators.partial_svm_ensemble import PartialSVMEnsembleClassifier
from cvxens.estimators.reg_adaboost import RegAdaBoostClassifier
from cvxens.estimators.rho_svc import RhoSVC
from cvxens.estimators.saving import load_model
from cvxens.estimators.supervised_kernel_rls import SupervisedKernelRLSClassifier, SupervisedKernelRLSRegressor
from cvxens.estimators.trusted import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "AdaBoostClassifier",
    "AdaBoostECCClassifier",
    "AdaBoostMHClassifier",
    "CGEnsClassifier",
    "CGEnsSLSClassifier",
    "ColumnGenerationClassifier",
    "InfiniteEnsembleSVC",
    "InfiniteEnsembleSVCCV",
    "LPBoostClassifier",
    "MultiBoostClassifier",
    "PartialSVMEnsembleClassifier",
    "RegAdaBoostClassifier",
    "RhoSVC",
    "SupervisedKernelRLSClassifier",
    "SupervisedKernelRLSRegressor",
    "certify_model",
    "load_model",
    "reweight",
]
