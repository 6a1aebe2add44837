"""What all solvers minimise, and how their answers are judged: size(f) + C sum of hinges, over votes of stumps."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """The regularised hinge loss of an ensemble, from its scores and its size."""

    name = "Hinge loss over all stumps"
    min_benchopt_version = "1.6"
    requirements = ["numpy"]
    parameters = {"problem": ["lpboost", "svm"], "C": [0.05]}
    test_dataset_name = "threenorm"
    test_config = {"problem": "lpboost", "dataset": {"n": 60, "p": 3}}

    def set_data(self, X, y):
        """Take a sample from a data set; labels are -1 and +1."""
        self.X, self.y = X, y

    def get_objective(self):
        """Return what `set_objective` of each solver is called with."""
        return {"X": self.X, "y": self.y, "C": self.C, "problem": self.problem}

    def evaluate_result(self, scores, size):
        """Evaluate the objective of a solver's answer anew, and the share of the sample on the wrong side."""
        margins = self.y * scores
        value = size + self.C * np.maximum(1 - margins, 0).sum()
        return {"value": float(value), "train_error": float((margins <= 0).mean())}

    def get_one_result(self):
        """Return an answer that is feasible, the vote of no stump, for benchopt's own tests."""
        return {"scores": np.zeros(len(self.y)), "size": 0.0}
