"""The breast-cancer data that scikit-learn has."""

from benchopt import BaseDataset


class Dataset(BaseDataset):
    """569 samples of 30 features."""

    name = "breast_cancer"
    requirements = ["scikit-learn"]

    def get_data(self):
        """Return the sample."""
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return {"X": X, "y": 2.0 * y - 1}
