"""What comparisons with other libraries share: tables, peers as they are, and fits in a process of their own.

Fits are kept in a file of JSON lines, and none is repeated: delete lines for what is to be measured anew.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from itertools import product
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks._record import describe_machine, read_commit
from cvxens.estimators.explanations import find_shares
from cvxens.hypotheses import Branch, LevelStump, Scaled, Stump
from cvxens.limits import limit_threads

LIMIT = 300
"""The CPU seconds that a fit may take with its predictions; where one takes more the table's other splits are left out
for this method."""

Terms = Callable[[Any], int]
Method = tuple[Callable[[], Any], Terms]
Part = tuple[pd.DataFrame, Any, pd.DataFrame, Any]


def read_columns(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a table as estimators take it: floats where all cells that are there are numbers, else categories."""
    columns = {}
    for name, column in cells.items():
        try:
            columns[str(name)] = pd.to_numeric(column).astype(float)
        except (TypeError, ValueError):
            columns[str(name)] = column.astype("str").where(column.notna()).astype("category")
    return pd.DataFrame(columns)


def encode(model: Any, scaled: bool = True) -> Any:
    """Return a model behind medians for gaps, an indicator for each category and, if asked for, a standard scale."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), *([StandardScaler()] if scaled else []))
    levels = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    chosen = make_column_selector(dtype_include="number"), make_column_selector(dtype_include="category")
    return make_pipeline(
        make_column_transformer((numbers, chosen[0]), (levels, chosen[1]), sparse_threshold=0.0), model
    )


class CatBoost(BaseEstimator):
    """CatBoost, told which columns are categories, of which a gap is one."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: pd.DataFrame, y: Any) -> CatBoost:
        """Fit the model."""
        self.categories = list(X.select_dtypes("category"))
        self.model.fit(self.prepare(X), y, cat_features=self.categories)
        return self

    def prepare(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the table with categories as words."""
        return X.assign(**{name: X[name].astype(object).fillna("none").astype(str) for name in self.categories})

    def predict(self, X: pd.DataFrame) -> Any:
        """Return classes, or numbers."""
        return np.ravel(self.model.predict(self.prepare(X)))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Return probabilities of classes."""
        return self.model.predict_proba(self.prepare(X))


def list_peers(classify: bool) -> dict[str, Method]:
    """Return how each peer is made, and how its terms are counted; those that are not installed are left out."""
    peers: dict[str, Method] = {}
    if find_spec("interpret"):
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        boosted = ExplainableBoostingClassifier if classify else ExplainableBoostingRegressor
        peers["EBM"] = lambda: boosted(n_jobs=1), lambda model: len(model.term_features_)
    if find_spec("catboost"):
        from catboost import CatBoostClassifier, CatBoostRegressor

        kind = CatBoostClassifier if classify else CatBoostRegressor
        peers["CatBoost"] = (
            lambda: CatBoost(kind(thread_count=1, verbose=False, allow_writing_files=False)),
            lambda model: int(model.model.get_tree_leaf_counts().sum()),
        )
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier, LGBMRegressor

        light = LGBMClassifier if classify else LGBMRegressor
        peers["LightGBM"] = (
            lambda: light(n_jobs=1, verbose=-1),
            lambda model: sum(tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"]),
        )
    peers["HistGradientBoosting"] = (
        HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor,
        lambda model: sum(tree.get_n_leaf_nodes() for trees in model._predictors for tree in trees),
    )
    forest = RandomForestClassifier if classify else RandomForestRegressor
    peers["random forest"] = (
        lambda: encode(forest(random_state=0), scaled=False),
        lambda model: sum(tree.get_n_leaves() for tree in model[-1].estimators_),
    )
    peers["logistic" if classify else "ridge"] = (
        lambda: encode(LogisticRegression(max_iter=1000) if classify else Ridge()),
        lambda model: int((np.atleast_2d(model[-1].coef_) != 0).any(axis=0).sum()),
    )
    return peers


def count_ours(model: Any) -> int:
    """Count the main effects and pairs of an ensemble, the most of a class."""
    parts = getattr(model, "estimators_", None) or [model]
    learners = [[h for h, w in zip(p.weak_learners_, p.weights_, strict=True) if np.any(w)] for p in parts]
    return max(len(set().union(*map(list_terms, each))) for each in learners)


def list_terms(hypothesis: Any) -> set[tuple[int, ...]]:
    """Return the main effects and pairs that a weak learner adds to: a tree of depth 2 has one for each half."""
    while isinstance(hypothesis, Scaled):
        hypothesis = hypothesis.hypothesis
    halves = [hypothesis.above, hypothesis.below] if isinstance(hypothesis, Branch) else []
    if halves:
        own = {hypothesis.root.feature}
        found = [own | {half.feature} for half in halves if isinstance(half, Stump | LevelStump)] or [own]
    else:
        found = [set(find_shares(hypothesis)[0].tolist())]
    return {tuple(sorted(features)) for features in found if features}


def fit(make: Callable[[], Any], terms: Terms, part: Part) -> tuple[Any, dict[str, Any]]:
    """Fit a model to a split, by one thread, and return it with what is said of every fit."""
    X, y, *_ = part
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model = make().fit(X, y)
        seconds = time.process_time() - start
    certificates = np.atleast_1d(np.array(getattr(model, "certificate_", None), dtype=object))
    gaps = [getattr(certificate, "relative_gap", nan) for certificate in certificates]
    return model, {
        "terms": int(terms(model)),
        "CPU s": seconds,
        "gap": float(max(gaps)),
        "samples": len(y),
        "features": X.shape[1],
        "classes": len(np.unique(y)) if is_classifier(model) or hasattr(model, "predict_proba") else 0,
        "warned": sorted({f"{each.category.__name__}: {str(each.message)[:200]}" for each in caught})[:3],
    }


def run_apart(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what `work` does in a copy of this process, or what ended it: its error, or `LIMIT` seconds of CPU."""
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 10))
        try:
            with limit_threads(1), threadpool_limits(1):
                found = work()
        except Exception as error:
            # an error of a library is a result: the page says which table it has no fit of
            found = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
        there.send(found)

    child = fork.Process(target=run)
    child.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = {}
    child.join()
    if found:
        return found
    over = child.exitcode in {-signal.SIGXCPU, -signal.SIGKILL}
    return {"over": LIMIT} if over else {"failed": f"ended by {child.exitcode}"}


def keep(
    path: Path,
    methods: Mapping[str, Method],
    sizes: Mapping[str, int],
    splits: int,
    measure: Callable[[Callable[[], Any], Terms, str, int], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield a row for every fit: those of a file as they are, others measured and kept.

    Small tables come first, and get another split before one that is three times as large gets its first.
    """
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    kept = {(row["method"], row["data"], row["split"]): row for row in rows}
    lost = {(row["method"], row["data"]) for row in rows if "error" not in row and "RMSE" not in row}
    path.parent.mkdir(exist_ok=True)
    told = {"machine": describe_machine(), "commit": read_commit()}
    order: Iterable[tuple[str, int]] = sorted(
        product(sizes, range(splits)), key=lambda part: sizes[part[0]] * 3.0 ** part[1]
    )
    for name, split in order:
        for method, (make, terms) in methods.items():
            row = kept.get((method, name, split))
            if row is None and (method, name) not in lost:
                found = run_apart(partial(measure, make, terms, name, split))
                row = {"method": method, "data": name, "split": split, **found, **told}
                if {"over", "failed"} & set(row):
                    lost.add((method, name))
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            if row is not None:
                yield {key: value for key, value in row.items() if key not in {"machine", "commit", "warned"}}
