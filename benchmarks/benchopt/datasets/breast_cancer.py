"""Wisconsin breast cancer, as scikit-learn brings it: a table that everybody has."""

from benchopt import BaseDataset


class Dataset(BaseDataset):
    """569 samples of 30 numeric features, malignant (-1) or benign (+1)."""

    name = "breast_cancer"
    requirements = ["scikit-learn"]

    def get_data(self):
        """Load the sample, and write its labels as -1 and +1."""
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return {"X": X, "y": 2.0 * y - 1}
