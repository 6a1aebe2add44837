"""scikit-learn's own checks of boosting, without exception, by default and with a guarantee."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from cvxens import AdaBoostClassifier, AdaBoostECCClassifier, AdaBoostMHClassifier, MultiBoostClassifier

BOOSTING = [
    AdaBoostClassifier(),
    AdaBoostClassifier(nu=0.6),
    AdaBoostMHClassifier(),
    AdaBoostECCClassifier(),
    MultiBoostClassifier(),
]


@parametrize_with_checks(BOOSTING)
def test_scikit_learn_checks_of_boosting(estimator, check):
    assert check(estimator) is None
