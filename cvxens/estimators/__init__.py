"""Classifiers as scikit-learn knows them, each fitted with a certificate."""

from cvxens.estimators.adaboost import AdaBoostClassifier
from cvxens.estimators.cgens import CGEnsClassifier
from cvxens.estimators.cgens_sls import CGEnsSLSClassifier
from cvxens.estimators.column_generation import ColumnGenerationClassifier
from cvxens.estimators.lpboost import LPBoostClassifier

__all__ = [
    "AdaBoostClassifier",
    "CGEnsClassifier",
    "CGEnsSLSClassifier",
    "ColumnGenerationClassifier",
    "LPBoostClassifier",
]
