"""How far a fit is from its solver: what a reader of one has to follow."""

import sys
from pathlib import Path

from estimator_samples import two_classes

import cvxens
from cvxens import LPBoostClassifier

PACKAGE = str(Path(cvxens.__file__).parent)
MASTERS = str(Path(PACKAGE, "colgen", "masters"))


def test_a_fit_of_lpboost_reaches_its_master_through_few_files_and_frames():
    X, y = two_classes(150)
    files, depth = set(), []

    def watch(frame, event, _argument):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE) or depth:
            return
        files.add(code.co_filename)
        if code.co_filename.startswith(MASTERS) and code.co_name == "solve":
            caller, n_frames = frame.f_back, 0
            while caller is not None:
                n_frames += caller.f_code.co_filename.startswith(PACKAGE)
                caller = caller.f_back
            depth.append(n_frames)

    model = LPBoostClassifier()
    sys.setprofile(watch)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    assert depth[0] <= 10
    # of these are what ensembles share, choices of the price, early stopping, shapes, sides, kinds and levels, and how
    # columns are kept
    assert len(files) <= 26
