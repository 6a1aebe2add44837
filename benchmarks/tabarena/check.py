"""Fit the entry as the arena's own test does, on AutoGluon's small tables, and name two configurations.

`python benchmarks/tabarena/check.py`, where autogluon.tabular, tabarena and cvxens are installed and the folder
`cvxens_additive` is one of tabarena/models.
"""

import os
from tempfile import TemporaryDirectory

from autogluon.tabular.testing import FitHelper
from tabarena.models import get_model_registry
from tabarena.models.warmup import warmup_model_cls

info = get_model_registry()["CvxensAdditive"]
warmup_model_cls(info.model_cls)
with TemporaryDirectory() as folder:
    # AutoGluon keeps its tables and models where it runs
    os.chdir(folder)
    for hyperparameters in ({}, {"pairs": True, "n_bins": 32, "pair_cost": 1.5}):
        FitHelper.verify_model(model_cls=info.model_cls, model_hyperparameters=hyperparameters)
        print("fits of the three kinds of problems, bagged, refitted, saved and read:", hyperparameters)
    os.chdir(os.path.dirname(folder))
for experiment in info.search_space.generate_all_bag_experiments(num_random_configs=1):
    print(experiment.name)
