"""Classifiers as scikit-learn knows them, each fitted with a certificate."""

from cvxens.estimators.cgens import CGEnsClassifier
from cvxens.estimators.cgens_sls import CGEnsSLSClassifier
from cvxens.estimators.column_generation import ColumnGenerationClassifier
from cvxens.estimators.lpboost import LPBoostClassifier

__all__ = ["CGEnsClassifier", "CGEnsSLSClassifier", "ColumnGenerationClassifier", "LPBoostClassifier"]
