"""Breiman's threenorm: a sample of any size, whose classes no single feature tells apart."""

from benchopt import BaseDataset


class Dataset(BaseDataset):
    """n samples of p features: two normal distributions (+1) against a third one between them (-1)."""

    name = "threenorm"
    parameters = {"n": [400], "p": [10], "seed": [0]}
    requirements = ["pip::cvxens"]

    def get_data(self):
        """Draw the sample by its seed, and write its labels as -1 and +1."""
        from cvxens.datasets import make_threenorm

        X, y = make_threenorm(self.n, n_features=self.p, random_state=self.seed)
        return {"X": X, "y": 2.0 * (y > 0) - 1}
