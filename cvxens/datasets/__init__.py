"""Generators and loaders of data sets, seeded and checked."""

from cvxens.datasets.catalogue import available, breast_cancer, load
from cvxens.datasets.dataset import Dataset, as_signs
from cvxens.datasets.reading import Samples, load_file, load_samples
from cvxens.datasets.synthetic import (
    add_noise_features,
    make_random_function,
    make_ringnorm,
    make_slope,
    make_three_circles,
    make_threenorm,
    make_twonorm,
    make_waveform,
)

__all__ = [
    "Dataset",
    "Samples",
    "add_noise_features",
    "as_signs",
    "available",
    "breast_cancer",
    "load",
    "load_file",
    "load_samples",
    "make_random_function",
    "make_ringnorm",
    "make_slope",
    "make_three_circles",
    "make_threenorm",
    "make_twonorm",
    "make_waveform",
]
