"""scikit-learn's own checks, without exception."""

from estimator_samples import EVERY
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks(EVERY)
def test_scikit_learn_checks(estimator, check):
    assert check(estimator) is None
