"""scikit-learn's own checks, without exception."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from cvxens import estimators

EVERY = [getattr(estimators, name)() for name in estimators.__all__]


@parametrize_with_checks(EVERY)
def test_scikit_learn_checks(estimator, check):
    assert check(estimator) is None
