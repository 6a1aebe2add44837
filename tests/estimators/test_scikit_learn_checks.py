"""scikit-learn's own checks, one in other words, of estimators as they are by default but for the number of rounds."""

import os
import subprocess
import sys

import pytest
from public_estimators import PUBLIC
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from cvxens import AdaBoostClassifier, LPBoostClassifier, RhoSVC

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(updates have ended|low-rank kernel leaves out):sklearn.exceptions.ConvergenceWarning"
)
"""Few updates or pivots are all that some of these tests want."""

SHORT = {
    "AdaBoostClassifier": {"n_rounds": 20},
    "AdaBoostECCClassifier": {"n_rounds": 20},
    "AdaBoostMHClassifier": {"n_rounds": 20},
    "AdditiveClassifier": {"C": 1.0, "pairs": False},
    "AdditiveRegressor": {"C": 1.0, "pairs": False},
    "LPBoostRanker": {"C": 10.0},
    "PartialSVMEnsembleClassifier": {"max_updates": 20},
    "SupervisedKernelRLSClassifier": {"forest": RandomForestClassifier(10, random_state=0)},
    "SupervisedKernelRLSRegressor": {"forest": RandomForestRegressor(10, random_state=0)},
}
"""Fewer rounds, weak learners and trees than by default, and no search: the checks are of what it accepts and keeps."""

CHECKED = [type(estimator)(**SHORT.get(name, {})) for name, estimator in PUBLIC.items()]

ARRAY_CHECKS = """
import warnings
from sklearn.utils.estimator_checks import estimator_checks_generator
from test_scikit_learn_checks import CHECKED

warnings.simplefilter("error")
for estimator in CHECKED:
    for copied, check in estimator_checks_generator(estimator):
        if "array_api" in str(check):
            check(copied)
            print(type(estimator).__name__)
"""
"""The check that scikit-learn leaves out unless scipy was imported with this switch."""


CLASS_WEIGHTS = "check_class_weight_classifiers"
"""The check that with weights of 1e7 to 1 nearly all of fifty new samples of a mixture are of the heavy class."""

SPARE = {
    *(f"AdaBoost{kind}Classifier" for kind in ("", "ECC", "MH")),
    *("AdditiveClassifier", "LPBoostClassifier", "MultiBoostClassifier"),
}
"""Of few stumps: one with all samples of the heavy class on one side beats a constant, whatever is beyond it."""


def keeps_the_heavy_class(classifier):
    """All samples of a class of 1e7 times the weight are right, and more of the new ones are taken for it."""
    for n_classes in (2, 3):
        X, y = make_blobs(centers=n_classes, random_state=0, cluster_std=20)
        weights = dict.fromkeys(range(n_classes), 1e-4) | {0: 1000}
        model = clone(classifier).set_params(class_weight=weights).fit(X[::2], y[::2])
        assert (model.predict(X[::2])[y[::2] == 0] == 0).all()
        even = clone(classifier).fit(X[::2], y[::2])
        assert (model.predict(X[1::2]) == 0).sum() > (even.predict(X[1::2]) == 0).sum()


@parametrize_with_checks([*CHECKED, AdaBoostClassifier(nu=0.6, n_rounds=20)])
def test_scikit_learn_checks(estimator, check):
    if getattr(check, "func", check).__name__ == CLASS_WEIGHTS and type(estimator).__name__ in SPARE:
        keeps_the_heavy_class(estimator)
    else:
        assert check(estimator) is None


def test_checks_of_other_arrays():
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", ARRAY_CHECKS], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert set(done.stdout.split()) == PUBLIC.keys()


def test_checks_where_metadata_are_routed():
    with config_context(enable_metadata_routing=True):
        for estimator in (LPBoostClassifier(tol=0.1), RhoSVC(tol=0.1)):
            results = check_estimator(estimator, on_skip=None, on_fail=None)
            failed = {result["check_name"] for result in results if result["status"] not in {"passed", "skipped"}}
            assert failed <= ({CLASS_WEIGHTS} if type(estimator).__name__ in SPARE else set())
