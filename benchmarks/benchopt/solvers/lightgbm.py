"""LightGBM: gradient boosting of stumps, scaled to where its vote is best for the problem."""

import numpy as np
from benchmark_utils.frames import OneProblem


class Solver(OneProblem):
    """Trees of two leaves under the logistic loss, one a round; each point of the curve is a fit of more rounds."""

    name = "lightgbm"
    sampling_strategy = "iteration"
    requirements = ["pip::lightgbm"]

    def run(self, n_iter):
        """Boost for so many rounds from nothing, on one thread, with a bin for each value that LightGBM can tell."""
        import lightgbm

        told = {"objective": "binary", "num_leaves": 2, "learning_rate": 0.3, "min_data_in_leaf": 1, "verbose": -1}
        told |= {"num_threads": 1, "boost_from_average": False}
        data = lightgbm.Dataset(self.X, (self.y > 0).astype(int), params={"min_data_in_bin": 1, "verbose": -1})
        self.model = lightgbm.train(told, data, n_iter) if n_iter else None

    def get_result(self):
        """Return scores and the sum of weights, both times the factor that makes the problem's objective least."""
        if self.model is None:
            return {"scores": 0.0 * self.y, "size": 0.0}
        leaves = self.model.trees_to_dataframe().query("left_child.isnull()").groupby("tree_index")["value"]
        # leaves a and b are a weight of |a - b| / 2, and (a + b) / 2 of the constant, which costs what a stump costs
        size = float((leaves.max() - leaves.min()).sum() / 2 + abs((leaves.max() + leaves.min()).sum()) / 2)
        scores = self.model.predict(self.X, raw_score=True)
        factors = np.concatenate([[0.0], np.geomspace(1e-3, 10, 200)])
        values = [t * size + self.C * np.maximum(1 - self.y * t * scores, 0).sum() for t in factors]
        best = factors[int(np.argmin(values))]
        return {"scores": best * scores, "size": best * size}
