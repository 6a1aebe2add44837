"""Classifiers as scikit-learn knows them, each fitted with a certificate."""

from cvxens.estimators.adaboost import AdaBoostClassifier
from cvxens.estimators.adaboost_ecc import AdaBoostECCClassifier
from cvxens.estimators.adaboost_mh import AdaBoostMHClassifier
from cvxens.estimators.cgens import CGEnsClassifier
from cvxens.estimators.cgens_sls import CGEnsSLSClassifier
from cvxens.estimators.column_generation import ColumnGenerationClassifier
from cvxens.estimators.foreign import certify_model, reweight
from cvxens.estimators.infinite_ensemble_svc import InfiniteEnsembleSVC
from cvxens.estimators.infinite_ensemble_svc_cv import InfiniteEnsembleSVCCV
from cvxens.estimators.lpboost import LPBoostClassifier
from cvxens.estimators.multiboost import MultiBoostClassifier
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
