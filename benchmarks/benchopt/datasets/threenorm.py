"""Breiman's threenorm."""

from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Two normal distributions against a third between them."""

    name = "threenorm"
    parameters = {"n": [400], "p": [10], "seed": [0]}
    requirements = ["pip::cvxens"]

    def get_data(self):
        """Return the sample."""
        from cvxens.datasets import make_threenorm

        X, y = make_threenorm(self.n, n_features=self.p, random_state=self.seed)
        return {"X": X, "y": 2.0 * (y > 0) - 1}
