"""scikit-learn's own checks of the boosting and kernel peers, without exception, of few rounds and by default."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from cvxens import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    PartialSVMEnsembleClassifier,
    RegAdaBoostClassifier,
    RhoSVC,
)

PEERS = [
    AdaBoostClassifier(n_rounds=10),
    AdaBoostClassifier(nu=0.6),
    AdaBoostMHClassifier(n_rounds=10),
    AdaBoostECCClassifier(n_rounds=10),
    RhoSVC(),
    PartialSVMEnsembleClassifier(max_updates=20),
    RegAdaBoostClassifier(),
]


@parametrize_with_checks(PEERS)
def test_scikit_learn_checks_of_peers(estimator, check):
    assert check(estimator) is None
