"""TT06 Figures 1 to 3: similarities by forests, and experts with them against the forests on random functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import OneHotEncoder

from cvxens.estimators import SupervisedKernelRLSClassifier, SupervisedKernelRLSRegressor
from cvxens.kernels import Linear, TreeEnsemble
from cvxens.trees import fit_forest
from cvxens.types import Array
from reproduction import drawing
from reproduction.experiment import Experiment
from reproduction.methods import ErrorOrRms, Outcome, percent_wrong, proofs_of, rounded
from reproduction.samples import add_noise_features, make_random_function, make_three_circles
from reproduction.splits import Generated, OneDraw, Partitioned, Split


@dataclass(frozen=True)
class Similarity:
    """The similarity (9) of all samples to one of a class.

    The value is the share of the ten samples most similar to it, of the other ones, that are of its class, in percent.
    """

    label: int

    def __call__(self, split: Split, /) -> Outcome:
        """Grow a forest, and evaluate its kernel."""
        forest = RandomForestClassifier(random_state=split.random_state).fit(split.X, split.y)
        at = int(np.flatnonzero(split.y == self.label)[0])
        k = TreeEnsemble(forest, kind="depth")(split.X, split.X[[at]])[:, 0]
        nearest = np.argsort(-np.delete(k, at))[:10]
        share = 100 * float(np.mean(np.delete(split.y, at)[nearest] == self.label))
        return Outcome(share, (), {"X": rounded(split.X), "similarity": rounded(k), "at": rounded(split.X[at])})


@dataclass(frozen=True)
class IrisMatrix:
    """A similarity matrix of Iris, by class, of every other sample.

    The value is the mean of the entries within a class less that of those between classes, over the largest.
    """

    forest: bool
    n_noise: int = 0

    def __call__(self, split: Split, /) -> Outcome:
        """Evaluate the kernel on the samples of a split, and measure how it tells the classes apart."""
        order = np.argsort(split.y, kind="stable")
        X, y = split.X[order], split.y[order]
        if self.n_noise:
            X = add_noise_features(X, self.n_noise, random_state=split.random_state)
        if self.forest:
            grown = RandomForestClassifier(random_state=split.random_state).fit(X, y)
            K = TreeEnsemble(grown, kind="depth")(X, X)
        else:
            K = Linear(np.eye(X.shape[1]))(X - X.mean(axis=0), X - X.mean(axis=0))
        K = K / np.abs(K).max()
        same = np.equal.outer(y, y)
        return Outcome(float(K[same].mean() - K[~same].mean()), (), {"matrix": rounded(K[::2, ::2], 2)})


MOST_LEVELS = 10
"""Levels of a feature of mixed functions at most, each of many samples: what has more values is continuous."""


@dataclass(frozen=True)
class OnLevels:
    """The error in percent of a forest, or of experts with its kernel, which take levels for names and not for numbers.

    Both have the same kind of forest, C4.5 trees. Where the targets are numbers, whose root mean square error it is,
    C4.5 has none: there the forest is scikit-learn's, with a feature 0 or 1 for every level. Inputs without levels are
    for the other methods given.
    """

    experts: bool
    without: ErrorOrRms  # levels

    def __call__(self, split: Split, /) -> Outcome:
        """Fit the one that the inputs and the targets are for."""
        both = np.concatenate([split.X, split.X_test])
        levels = [d for d in range(both.shape[1]) if len(np.unique(both[:, d])) <= MOST_LEVELS]
        if not levels:
            return self.without(split)
        numbers, seed = not set(np.unique(split.y)) <= {-1.0, 1.0}, split.random_state
        if not self.experts and numbers:
            encoder = make_column_transformer((OneHotEncoder(sparse_output=False), levels), remainder="passthrough")
            encoder.fit(both)
            forest = RandomForestRegressor(random_state=seed).fit(encoder.transform(split.X), split.y)
            return Outcome(rms(forest.predict(encoder.transform(split.X_test)) - split.y_test))
        table, new = (pd.DataFrame(X).astype(dict.fromkeys(levels, str)) for X in (split.X, split.X_test))
        if not self.experts:
            trees = fit_forest(table, split.y, random_state=seed)
            votes = np.mean([np.asarray(tree.predict(new), np.float64) for tree in trees], axis=0)
            return Outcome(percent_wrong(np.where(votes > 0, 1.0, -1.0), split.y_test))
        made: Any = SupervisedKernelRLSRegressor if numbers else SupervisedKernelRLSClassifier
        model = made(random_state=seed).fit(table, split.y)
        answers = model.predict(new)
        value = rms(answers - split.y_test) if numbers else percent_wrong(answers, split.y_test)
        return Outcome(value, proofs_of(model))


def rms(errors: Array) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(errors**2)))


FIGURES = (
    Experiment(
        paper="tt06",
        table="figure1",
        title="the similarity of samples to one of them, by a forest on three discs",
        protocol="""
1,000 samples in a square, those within three discs of one class; a forest of 100 trees, similarity (9); light is
similar. Chosen here, as the paper does not say it: where the discs are, and the number of trees. The figures are the
shares of the ten most similar samples that are of the same class.
""",
        rows={"three circles": Generated(make_three_circles, 1000, 2)},
        columns={"a sample in a disc": Similarity(1), "a sample outside": Similarity(-1)},
        measure="of the same class, %",
        draw=drawing.draw_similarities,
    ),
    Experiment(
        paper="tt06",
        table="figure2",
        title="similarity matrices of Iris, linear and by a forest, of its four features and with 40 of noise",
        protocol="""
All samples but one, by class. Chosen here, as the paper does not say it: the noise is normal, with the means and the
spreads of the four features, and the linear kernel is of centred features. The figures are the means of entries within
classes less those between them, with entries divided by the largest.
""",
        rows={"Iris": Partitioned("iris", 149, scaled=False)},
        columns={
            "linear": IrisMatrix(forest=False),
            "forest": IrisMatrix(forest=True),
            "linear, 40 of noise": IrisMatrix(forest=False, n_noise=40),
            "forest, 40 of noise": IrisMatrix(forest=True, n_noise=40),
        },
        measure="within less between",
        draw=drawing.draw_matrices,
    ),
    Experiment(
        paper="tt06",
        table="figure3",
        title="experts with the kernel of a forest against the forest, on random functions, one point each",
        protocol="""
Every split is another random function of Friedman's generator: 500 samples to train on and 500 to test on, 20 features,
of which 10 matter. The paper has 100 functions and no numbers. Chosen here, as the paper does not say it: the target is
cut at its median, no noise, levels with equal shares of the samples, and defaults of both methods, 100 trees and 100
experts. Levels are names, of which C4.5 trees make branches; where the targets are numbers, the forest itself, which
C4.5 has none of, has a feature 0 or 1 for each. Errors in percent of classes, root mean squares of numbers.
""",
        rows={
            f"{target}, {inputs}": OneDraw(
                partial(make_random_function, target=target, mixed=inputs == "mixed"), 500, 500
            )
            for target in ("classes", "numbers")
            for inputs in ("continuous", "mixed")
        },
        columns={
            "forest": OnLevels(False, ErrorOrRms(RandomForestClassifier(), RandomForestRegressor())),
            "experts": OnLevels(True, ErrorOrRms(SupervisedKernelRLSClassifier(), SupervisedKernelRLSRegressor())),
        },
        measure="error, % or RMS",
        splits=100,
        draw=drawing.draw_pairs,
    ),
)
