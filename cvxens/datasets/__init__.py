"""Generators and loaders of data sets, seeded and checked."""

from cvxens.datasets.catalogue import available, breast_cancer, load
from cvxens.datasets.dataset import Dataset, as_signs
from cvxens.datasets.reading import Samples, load_file, load_samples
from cvxens.datasets.synthetic import make_ringnorm, make_threenorm, make_twonorm

__all__ = [
    "Dataset", "Samples", "as_signs", "available", "breast_cancer", "load", "load_file", "load_samples",
    "make_ringnorm", "make_threenorm", "make_twonorm",
]  # fmt: skip
