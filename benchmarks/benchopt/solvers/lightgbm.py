"""Gradient boosting of stumps by LightGBM."""

import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """Trees of two leaves, a round each; what they sum to is scaled to where it is best for this objective."""

    name = "lightgbm"
    sampling_strategy = "iteration"
    requirements = ["pip::lightgbm"]

    def skip(self, problem, **_):
        """Leave out the problem that it does not solve."""
        return problem != "lpboost", "for lpboost"

    def set_objective(self, X, y, C, problem):
        """Keep the sample."""
        self.X, self.y, self.C = X, y, C

    def run(self, n_iter):
        """Boost."""
        import lightgbm

        told = {"objective": "binary", "num_leaves": 2, "learning_rate": 0.3, "min_data_in_leaf": 1, "verbose": -1}
        told |= {"num_threads": 1, "boost_from_average": False}
        data = lightgbm.Dataset(self.X, (self.y > 0).astype(int), params={"min_data_in_bin": 1, "verbose": -1})
        self.model = lightgbm.train(told, data, n_iter) if n_iter else None

    def get_result(self):
        """Return scores and the sum of weights, both scaled."""
        if self.model is None:
            return {"scores": 0.0 * self.y, "size": 0.0}
        leaves = self.model.trees_to_dataframe().query("left_child.isnull()").groupby("tree_index")["value"]
        # leaves a and b are (a + b) / 2, which is of the intercept, and a weight of |a - b| / 2
        size = float((leaves.max() - leaves.min()).sum() / 2)
        scores = self.model.predict(self.X, raw_score=True)
        factors = np.concatenate([[0.0], np.geomspace(1e-3, 10, 200)])
        values = [t * size + self.C * np.maximum(1 - self.y * t * scores, 0).sum() for t in factors]
        best = factors[int(np.argmin(values))]
        return {"scores": best * scores, "size": best * size}
