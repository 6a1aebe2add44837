"""How accurate and how fast are the C4.5-like trees.

Per data set the error of ten-fold cross-validation (stratified; the mean and standard deviation over REPEATS runs) of
`fit_tree` with its defaults, on the table as it is, against scikit-learn's CART on the same folds, on imputed (median,
most frequent) and one-hot encoded data, its cost-complexity pruning chosen by five-fold cross-validation. On adult,
one fit to the training file and the error on the test file.

Quinlan (Improved use of continuous attributes in C4.5, JAIR 4, 1996) reports errors of C4.5 on these sets; they are not
given beside ours, as no copy of his table could be checked. On labor, 57 samples, one error is 1.75 percentage points.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from benchmarks import take_least
from cvxens.trees import Table, fit_tree, match

DATA = Path(os.environ.get("CVXENS_DATA", "."))
NAMES = ("credit_approval", "hepatitis", "horse_colic", "soybean", "anneal", "labor")
REPEATS = 5
ALPHAS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05)

Learner = Callable[[Table, Any, Table], Any]


def run() -> Iterator[dict[str, Any]]:
    """Yield a row per data set: errors in percent, seconds per fit to all data, and leaves."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        yield from map(cross_validate, NAMES)
        yield adult()


def load(name: str) -> tuple[Table, Any]:
    """Read a table and its labels, the last column."""
    cells = pd.read_csv(DATA / f"{name}.csv.gz", dtype=str, keep_default_na=False)
    return Table.read(cells.iloc[:, :-1]), cells.iloc[:, -1].str.strip().to_numpy()


def c45(train: Table, y: Any, test: Table) -> Any:
    """Predict by a C4.5-like tree."""
    return fit_tree(train, y).predict(test)


def cart(train: Table, y: Any, test: Table) -> Any:
    """Predict by pruned CART on imputed and one-hot encoded data."""
    nominal = [j for j, feature in enumerate(train.features) if feature.categories]
    numeric = [j for j, feature in enumerate(train.features) if not feature.categories]
    fill = make_pipeline(
        SimpleImputer(strategy="most_frequent", keep_empty_features=True), OneHotEncoder(handle_unknown="ignore")
    )
    encode = make_column_transformer(
        (fill, nominal), (SimpleImputer(strategy="median", keep_empty_features=True), numeric), sparse_threshold=0
    )
    tree = DecisionTreeClassifier(random_state=0)
    chosen = GridSearchCV(tree, {"ccp_alpha": ALPHAS}, cv=StratifiedKFold(5, shuffle=True, random_state=0))
    return chosen.fit(encode.fit_transform(train.columns.T), y).predict(encode.transform(test.columns.T))


def cross_validate(name: str) -> dict[str, Any]:
    """Compare both learners on the same folds."""
    table, y = load(name)
    ours, theirs = (np.array([error(learn, table, y, seed) for seed in range(REPEATS)]) for learn in (c45, cart))
    return row(name, ours, theirs, *time_fit(table, y))


def error(learn: Learner, table: Table, y: Any, seed: int) -> float:
    """Return the error, in percent, of one ten-fold cross-validation."""
    wrong = 0
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        wrong += (learn(table.take(train), y[train], table.take(test)) != y[test]).sum()
    return 100.0 * wrong / len(y)


def adult() -> dict[str, Any]:
    """Fit to the training file of adult, and err on the test file."""
    (table, y), (test, y_test) = load("adult_train"), load("adult_test")
    test = match(table.features, test)
    ours, theirs = (np.array([100.0 * (learn(table, y, test) != y_test).mean()]) for learn in (c45, cart))
    return row("adult", ours, theirs, *time_fit(table, y))


def time_fit(table: Table, y: Any) -> tuple[float, int]:
    """Return the seconds of a fit and the leaves of its tree; everything is compiled by now."""
    seconds, tree = take_least(lambda: fit_tree(table, y))
    return seconds, tree.n_leaves


def row(name: str, ours: Any, theirs: Any, seconds: float, n_leaves: int) -> dict[str, Any]:
    """Return one line of the table."""
    return {
        "data": name,
        "C4.5-like error %": round(float(ours.mean()), 2),
        "+-": round(float(ours.std()), 2),
        "CART error %": round(float(theirs.mean()), 2),
        "difference": round(float(ours.mean() - theirs.mean()), 2),
        "fit seconds": round(seconds, 3),
        "leaves": n_leaves,
    }
