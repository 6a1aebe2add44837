"""Bag the entry as the arena does, eight folds, beside AutoGluon's EBM, LightGBM and random forest, on small tables.

`python benchmarks/tabarena/beside.py [TABLE]...`, where `check.py` runs, with interpret-core and lightgbm; tables are
those of `readable_models`, in the directory CVXENS_DATA, two thirds to fit. A line of JSON for each table and split.
"""

import json
import sys
import time
from tempfile import TemporaryDirectory

import numpy as np
from autogluon.tabular import TabularPredictor
from sklearn.metrics import log_loss, roc_auc_score
from tabarena.models.cvxens_additive.model import CvxensAdditiveModel

from benchmarks.readable_models import draw

SPLITS = 2
TABLES = ("heart", "pima", "credit_german", "heart_hungarian", "wdbc", "hepatitis", "horse_colic", "credit_approval")
METHODS = {CvxensAdditiveModel: {}, "EBM": {}, "GBM": {}, "RF": {}}

CvxensAdditiveModel.warmup()
for name in sys.argv[1:] or TABLES:
    for split in range(SPLITS):
        X, y, X_test, y_test = draw(name, split)
        row = {"data": name, "split": split}
        for method, parameters in METHODS.items():
            with TemporaryDirectory() as folder:
                start = time.process_time()
                predictor = TabularPredictor("class", eval_metric="roc_auc", path=folder, verbosity=0)
                predictor.fit(
                    X.assign(**{"class": y}),
                    hyperparameters={method: parameters},
                    num_bag_folds=8,
                    fit_weighted_ensemble=False,
                    num_cpus=1,
                    ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
                )
                seconds = time.process_time() - start
                p = predictor.predict_proba(X_test).to_numpy()
            row[method if isinstance(method, str) else "ours"] = {
                "AUC": round(float(roc_auc_score(y_test, p[:, 1])), 4),
                "log loss": round(float(log_loss(y_test, p)), 4),
                "error": round(float(np.mean(p.argmax(axis=1) != y_test)), 4),
                "CPU s": round(seconds, 1),
            }
        print(json.dumps(row), flush=True)
