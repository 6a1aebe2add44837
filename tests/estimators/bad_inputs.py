"""What estimators are to refuse: samples, targets, weights, parameters, files."""

import numpy as np
import pandas as pd
import polars as pl
from public_estimators import X, Y
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from cvxens import Convex, EqualMeanScores, InfiniteEnsembleSVC, Interactions, LPBoostClassifier, Monotone, RhoSVC
from cvxens.colgen import formulations, oracles
from cvxens.kernels import Stump

n = len(X)
NAMES = ["a", "b", "c"]


def with_cell(value, dtype=float):
    changed = X.astype(dtype)
    changed[3, 1] = value
    return changed


def with_label(value):
    changed = Y.astype(object)
    changed[3] = value
    return changed


def with_weight(value):
    return np.r_[value, np.ones(n - 1)]


def table(frame, column):
    return frame({"a": list(X[:, 0]), "b": column, "c": list(X[:, 2])})


WORDS = ["red", "blue"] * (n // 2)
DAYS = pd.date_range("2020-01-01", periods=n)

SAMPLES = {
    "no samples": (X[:0], "0 sample"),
    "no features": (X[:, :0], "0 feature"),
    "one dimension": (X[:, 0], "2D array"),
    "three dimensions": (X[None], "dim 3|3 dimensions|inconsistent"),
    "a number": (1.0, "2D array|scalar"),
    "None": (None, "2D array|None|scalar|NoneType"),
    "a word": ("X", "2D array|scalar|convert"),
    "a class": (list, "2D array|scalar|convert|argument"),
    "a generator": ((row for row in X), "2D array|scalar|convert|argument"),
    "a dictionary": ({"a": [1.0]}, "2D array|scalar|convert|argument"),
    "a set": ({1.0, 2.0}, "2D array|scalar|convert|argument"),
    "ragged rows": ([[1.0, 2.0, 3.0], [1.0]] * (n // 2), "inhomogeneous|sequence"),
    "NaN": (with_cell(np.nan), "NaN"),
    "NaN of 32 bits": (with_cell(np.nan, np.float32), "NaN"),
    "infinity": (with_cell(np.inf), "infinity"),
    "negative infinity": (with_cell(-np.inf), "infinity"),
    "infinity of 32 bits": (with_cell(np.inf, np.float32), "infinity"),
    "an integer without end": (with_cell(10**400, object), "^X: .*too large"),
    "one word": (with_cell("red", object), "could not convert|numeric"),
    "only words": (np.full(X.shape, "red"), "^X: |numeric"),
    "bytes": (np.full(X.shape, b"red"), "could not convert|numeric"),
    "nothing in a cell": (with_cell(None, object), "NaN|NoneType"),
    "a list in a cell": (with_cell([1.0], object), "sequence|number|argument|setting"),
    "complex numbers": (X + 1j, "[Cc]omplex"),
    "moments": (np.full(X.shape, np.datetime64("2020-01-01")), "^X: found values of type"),
    "spans of time": (np.full(X.shape, np.timedelta64(1, "D")), "^X: found values of type"),
    "a frame with words": (table(pd.DataFrame, WORDS), "could not convert|no numbers in the columns b"),
    "a frame with categories": (table(pd.DataFrame, pd.Categorical(WORDS)), "convert|no numbers in the columns b"),
    "a frame with days": (table(pd.DataFrame, DAYS), "DType|datetime|Timestamp|promote|argument|dates in column"),
    "a frame with holes": (table(pd.DataFrame, pd.array([None] * n, "Int64")), "NaN"),
    "a polars frame with words": (table(pl.DataFrame, WORDS), "could not convert|no numbers in the columns b"),
    "a polars frame with holes": (table(pl.DataFrame, [None, 1.0] * (n // 2)), "NaN"),
    "a frame with names of two types": (pd.DataFrame(X, columns=["a", 1, 2]), "string|names"),
    "sparse with NaN": (csr_array(with_cell(np.nan)), "NaN|dense"),
    "sparse with infinity": (csr_array(with_cell(np.inf)), "infinity|dense"),
}
"""X with the part of the message that says what is wrong with it."""

TAKES_MISSING = {"NaN", "NaN of 32 bits", "nothing in a cell", "a frame with holes", "a polars frame with holes"}
"""Samples that those who take missing values accept."""

TAKES_NOMINAL = {"a frame with words", "a frame with categories", "a polars frame with words"}
"""Samples that those who take nominal features accept."""

TAKES_CONSTANTS = {"SupervisedKernelRLSClassifier"}

FITS = {
    "one sample": (X[:1], Y[:1], "1 sample|one sample|one class|1 class|n_samples=1"),
    "constant features": (np.ones_like(X), Y, "constant|alike"),
    "fewer labels": (X, Y[:-1], "inconsistent"),
    "more labels": (X, np.r_[Y, Y[:1]], "inconsistent"),
    "no labels": (X, [], "y|inconsistent"),
    "None for labels": (X, None, "requires y"),
    "a label for labels": (X, "yes", "y should be a 1d array|1d array"),
    "a dictionary for labels": (X, dict.fromkeys(range(n), 1), "y should be|1d array|argument|inconsistent"),
    "labels of two columns": (X, np.stack([Y, Y], axis=1), "1d array|shape"),
    "several labels each": (X, np.eye(2)[(Y == "yes").astype(int)], "1d array|shape"),
    "one class": (X, np.ones(n), "class"),
    "a continuous target": (X, np.linspace(0, 1, n), "continuous"),
    "complex labels": (X, np.where(Y == "yes", 1j, 1), "[Cc]omplex"),
    "NaN among the labels": (X, np.where(Y == "yes", np.nan, 1.0), "NaN"),
    "infinity among the labels": (X, np.where(Y == "yes", np.inf, 1.0), "infinity|large"),
    "None among the labels": (X, with_label(None), "NoneType|None|type|NaN"),
    "NaN among the words": (X, with_label(np.nan), "missing|NaN|type"),
    "a number among the words": (X, with_label(1), "[Mm]ix|str|type"),
    "a list among the words": (X, with_label(["yes"]), "^y: found labels without an order"),
}
"""What classifiers are not to be fitted to."""

REGRESSIONS = {
    "fewer values": (X, X[:-1, 0], "inconsistent"),
    "more values": (X, np.r_[X[:, 0], 0.0], "inconsistent"),
    "no values": (X, [], "y|inconsistent"),
    "None for values": (X, None, "requires y"),
    "a number for values": (X, 1.0, "1d array"),
    "values of two columns": (X, X[:, :2], "1d array|shape"),
    "words for values": (X, Y, "could not convert|numeric"),
    "a word among the values": (X, with_label("red"), "could not convert|numeric"),
    "complex values": (X, X[:, 0] + 1j, "[Cc]omplex"),
    "NaN among the values": (X, with_cell(np.nan)[:, 1], "NaN"),
    "infinity among the values": (X, with_cell(np.inf)[:, 1], "infinity"),
}
"""What regressors are not to be fitted to."""

WEIGHTS = {
    "too few": (np.ones(3), "sample_weight"),
    "too many": (np.ones(n + 1), "sample_weight"),
    "two dimensions": (np.ones((n, 2)), "1D|Sample weights|2 dimensions"),
    "all negative": (-np.ones(n), "sample_weight|negative"),
    "one negative": (with_weight(-1e-9), "sample_weight|negative"),
    "NaN": (with_weight(np.nan), "NaN"),
    "infinity": (with_weight(np.inf), "infinity"),
    "negative infinity": (with_weight(-np.inf), "infinity"),
    "all zero": (np.zeros(n), "non-zero|class|zero"),
    "none for a class": ((Y == "yes").astype(float), "class"),
    "words": (np.full(n, "heavy"), "could not convert|not numeric"),
    "one word": (["heavy", *np.ones(n - 1)], "could not convert|not numeric"),
    "nothing": ([None, *np.ones(n - 1)], "NaN|NoneType"),
    "complex": (np.ones(n) + 1j, "[Cc]omplex"),
    "a dictionary": ({0: 1.0}, "sample_weight|argument|1D|array"),
    "a word": ("balanced", "could not convert|1D|array"),
}

NOT_POSITIVE = [0, -1.0, np.nan, np.inf, -np.inf, "1", True, [1.0], np.array([1.0, 2.0]), 1j, float]
NEGATIVE = [value for value in NOT_POSITIVE if value is not NOT_POSITIVE[0]]
NOT_WHOLE = [0, -3, 1.5, 2.0, np.nan, "many", True, [3], np.array([1, 2]), 10**400, int]
NOT_A_NAME = ["nonsense", "", "FAST", 3, True, None, np.nan, ["fast"], {"fast": 1}, np.array(["fast", "slow"]), str]

PARAMETERS = {
    "C": NOT_POSITIVE,
    "lam": NOT_POSITIVE,
    "gamma": NOT_POSITIVE,
    "min_edge": NOT_POSITIVE,
    "epsilon": NEGATIVE,
    "least_epsilon": NOT_POSITIVE,
    "delta": NOT_POSITIVE,
    "loss": NOT_A_NAME,
    "quantile": [0, 1, -0.1, 1.1, np.nan, np.inf, "half", True, [], [0.5, 2.0], 0.5j],
    "power": [0.9, 2.1, -1, np.nan, np.inf, "half", True, [1.5], None],
    "max_rounds": NOT_WHOLE,
    "constraints": [
        *["equal", 3, ["sex"], [None], {"sex": 0.1}, EqualMeanScores(0), [EqualMeanScores(0, -1.0)]],
        *([Monotone(signs)] for signs in ("up", 3, {0: 2}, {0: "up"}, {9: 1}, {"weight": 1}, [1, -1, 0, 1])),
        *([Convex(features)] for features in ("weight", 9, [0, 9], None)),
        *([Interactions(groups)] for groups in ("all", 3, [(0, 9)], [("a", "b")], [(0, 1, 2, 3, 4)])),
    ],
    "cache_size": NOT_POSITIVE,
    "tol": [*NOT_POSITIVE, None],
    "max_time": [value for value in NOT_POSITIVE if value is not np.inf],
    "nu": [0, -0.1, 1.1, np.nan, np.inf, "small", True, [0.5], np.array([0.1, 0.2]), 0.5j],
    "n_rounds": NOT_WHOLE,
    "n_experts": [*NOT_WHOLE, None],
    "max_updates": [*NOT_WHOLE, None],
    "max_rank": [*NOT_WHOLE, None],
    "max_columns": NOT_WHOLE,
    "columns_per_round": NOT_WHOLE,
    "n_jobs": [0, 1.5, np.nan, "two", False, [1], 10**400, int],
    "verbose": [-1, 0.5, np.nan, "loud", None, [1]],
    "random_state": [-1, 1.5, np.nan, "seed", object(), int],
    "warm_start": ["yes", 0, 1, np.nan, None, [True], np.array([True, False]), bool],
    "solver": NOT_A_NAME,
    "penalty": [*NOT_A_NAME, None],
    "oracle": [*NOT_A_NAME, oracles.Stumps(X), LPBoostClassifier(), np.asarray],
    "kernel": [*NOT_A_NAME, Stump, 0.5, LogisticRegression()],
    "class_weight": [
        *["balance", "", 2.0, True, np.ones(2), [1.0, 2.0], ("yes", 2.0), dict, {"perhaps": 1.0}],
        *[{"yes": -1.0}, {"yes": np.nan}, {"yes": np.inf}, {"yes": "2"}, {"yes": None}],
    ],
    "formulation": ["lpboost", None, 3, formulations.soft_margin(1.0).terms, dict, LPBoostClassifier()],
    "forest": ["forest", 3, LogisticRegression, [1], np.nan],
    "sample_share": [0, -0.5, 1.5, np.nan, "half", True, None, (0.9, 0.5), (0.1, 0.2, 0.3), (0.5, 2.0), [], 1j],
    "estimator": ["svc", 3, InfiniteEnsembleSVC, LogisticRegression(), RhoSVC()],
    "param_grid": ["gamma", 3, {"gamma": 1.0}, {"width": [1.0]}, [{}], {"C": [1.0]}],
    "prices": [[], [0.0], [1.0, -1.0], [np.nan], [np.inf], 1.0, "all", ["1"], [[1.0]], [1j]],
    "cv": [0, 1, -2, 1.5, "five", [], [1, 2], 10**6, object(), [([0], [1], [2])]],
    "one_standard_error": ["yes", 2, None, np.nan, [True]],
    "average": ["yes", 2, None, np.nan, [True]],
    "pairs": ["some", 2, None, np.nan, [True]],
    "scoring": ["precise", 3, [], ["accuracy"], {"a": "accuracy"}, np.nan, object(), lambda y, f: 0, max],
}
"""Wrong values of every parameter of a constructor."""

NEW_SAMPLES = {
    **{case: found for case, found in SAMPLES.items() if case != "a frame with names of two types"},
    "fewer features": (X[:, :2], "2 features"),
    "more features": (np.hstack([X, X]), "6 features"),
    "one feature": (X[:, :1], "1 features"),
}

NEW_NAMES = {
    "reordered": ["b", "a", "c"],
    "reversed": ["c", "b", "a"],
    "one unknown": ["a", "b", "d"],
    "all unknown": ["x", "y", "z"],
    "capitals": ["A", "B", "C"],
}
