"""The tables and figures of the papers: data, methods, protocol and published figures of each experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from cvxens.datasets import as_signs, make_ringnorm, make_threenorm, make_twonorm
from cvxens.errors import InvalidInput
from cvxens.estimators import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    CGEnsSLSClassifier,
    InfiniteEnsembleSVC,
    InfiniteEnsembleSVCCV,
    LPBoostClassifier,
    MultiBoostClassifier,
    SupervisedKernelRLSClassifier,
)
from cvxens.estimators.infinite_ensembles import PRICES, WIDTHS
from cvxens.experiments.experiment import (
    Experiment,
    Generated,
    Method,
    Partitioned,
    Published,
    Source,
    Split,
    measure_error,
)
from cvxens.problems import RhoSVM
from cvxens.solvers import Update, adaptive_updates, fixed_updates, solve_rho_svm
from cvxens.types import Array
from cvxens.validation import RandomState

# LL08 Table 2

LL08_PROTOCOL = """\
Artificial sets: Breiman's generators, 300 samples to train on, 3,000 to test on; "-n": 10 % of the labels to train \
on are turned round. Real sets: 60 % of the samples to train on, at random, the others to test on. Features are mapped \
to [-1, 1] on the training part. Parameters have the best accuracy in 5-fold cross-validation on the training part, \
the first of equals: C = 2^-17, 2^-15, ..., 2^3, and for SVM-Dec (Laplacian kernel) gamma = 2^-15, 2^-13, ..., 2^3. \
The paper has 100 runs. Not known from the paper, and chosen here: the narrow class of ringnorm around 1/sqrt(20), as \
some packages have it, in place of Breiman's 2/sqrt(20), which makes every method better than the figures by four \
standard errors or more; the grids of SVM-Dec and of LPBoost-Stump (P4); breast without the column of sample numbers; \
votes84 with 0 for what is missing."""

CONFERENCE = "Lin & Li, ECML 2005, the conference version of LL08, 100 runs"

PUBLISHED = {"SVM-Stump": CONFERENCE, "SVM-Perc": "LL08, 100 runs", "AB-Stump(100)": CONFERENCE}

FIGURES = {
    "twonorm": ((2.86, 0.04), (2.55, 0.03), (5.06, 0.06)),
    "twonorm-n": ((3.08, 0.06), (2.75, 0.05), None),
    "threenorm": ((17.7, 0.1), (14.6, 0.08), (21.8, 0.09)),
    "threenorm-n": ((19.0, 0.14), (16.3, 0.1), None),
    "ringnorm": ((3.97, 0.07), (2.46, 0.04), (12.2, 0.13)),
    "ringnorm-n": ((5.56, 0.11), (3.5, 0.09), None),
    "australian": ((14.5, 0.21), (14.5, 0.17), (14.7, 0.18)),
    "breast": ((3.11, 0.08), (3.23, 0.08), (4.27, 0.11)),
    "german": ((24.7, 0.18), (24.6, 0.2), (25.0, 0.18)),
    "heart": ((16.4, 0.27), (17.6, 0.31), (19.9, 0.36)),
    "ionosphere": ((8.13, 0.17), (6.4, 0.2), (11.0, 0.23)),
    "pima": ((24.2, 0.23), (23.5, 0.21), (24.8, 0.22)),
    "sonar": ((16.6, 0.42), (15.6, 0.4), (19.0, 0.37)),
    "votes84": ((4.76, 0.14), (4.43, 0.14), (4.07, 0.14)),
}
"""Mean and standard error, in percent, of the three methods of `PUBLISHED`, None where none is known."""


def near_ringnorm(n_samples: int, *, random_state: RandomState) -> tuple[Array, Array]:
    """Breiman's ringnorm with the narrow class around (a, ..., a), a = 1 / sqrt(20), half as far from the wide one."""
    X, y = make_ringnorm(n_samples, random_state=random_state)
    return X - (y[:, None] < 0) / np.sqrt(X.shape[1]), y


LL08_DATA: Mapping[str, Source] = {
    "twonorm": Generated(make_twonorm),
    "twonorm-n": Generated(make_twonorm, mislabelled=0.1),
    "threenorm": Generated(make_threenorm),
    "threenorm-n": Generated(make_threenorm, mislabelled=0.1),
    "ringnorm": Generated(near_ringnorm),
    "ringnorm-n": Generated(near_ringnorm, mislabelled=0.1),
    "australian": Partitioned("australian"),
    "breast": Partitioned("breast", without=(0,)),
    "german": Partitioned("german"),
    "heart": Partitioned("heart"),
    "ionosphere": Partitioned("ionosphere"),
    "pima": Partitioned("pima"),
    "sonar": Partitioned("sonar"),
    "votes84": Partitioned("votes84"),
}


def make_svm(kernel: str, _random_state: int) -> InfiniteEnsembleSVCCV:
    """Return LL08 Algorithm 1, C and gamma by cross-validation over the grids of the paper."""
    gammas = WIDTHS if kernel in {"laplacian", "gaussian"} else None
    return InfiniteEnsembleSVCCV(InfiniteEnsembleSVC(kernel, tol=1e-5), Cs=PRICES, gammas=gammas)


def make_lpboost(random_state: int) -> GridSearchCV:
    """Return LL08 P4 over all stumps, C by cross-validation."""
    return GridSearchCV(LPBoostClassifier(random_state=random_state), {"C": PRICES}, cv=5)


LL08_TABLE2 = Experiment(
    paper="ll08",
    table="table2",
    title="SVM over all stumps, perceptrons and trees against boosted stumps",
    measure="test error, %",
    protocol=LL08_PROTOCOL,
    data=LL08_DATA,
    methods={
        "SVM-Stump": measure_error(partial(make_svm, "stump")),
        "SVM-Perc": measure_error(partial(make_svm, "perceptron")),
        "SVM-Dec": measure_error(partial(make_svm, "laplacian")),
        "AB-Stump(100)": measure_error(lambda seed: AdaBoostClassifier(n_rounds=100, random_state=seed)),
        "AB-Stump(1000)": measure_error(lambda seed: AdaBoostClassifier(n_rounds=1000, random_state=seed)),
        "LPBoost-Stump": measure_error(make_lpboost),
    },
    published={
        (data, method): Published(*figure, source)
        for data, figures in FIGURES.items()
        for (method, source), figure in zip(PUBLISHED.items(), figures, strict=True)
        if figure is not None
    },
)

# TK07 Figure 1

TK07_PROTOCOL = """\
The paper's figures are not known; this is ours. Updates from uniform weights until the objective u'K~u is within 1 % \
of the optimum, which an active-set method finds; after 3,000 they count as 3,000. Gaussian kernel with gamma one over \
the mean squared distance, hard margin; features are mapped to [-1, 1]; 60 % of the samples, at random."""

MOST_UPDATES = 3000
NEAR_OPTIMUM = 1.01


def count_updates(updates: Callable[..., Iterator[Update]]) -> Method:
    """Return a method that counts the updates of u until u'K~u is at most 1.01 times the optimum."""

    def count(split: Split) -> float:
        D = cdist(split.X, split.X, "sqeuclidean")
        y = as_signs(split.y)
        problem = RhoSVM(np.exp(-D / D.mean()), y)
        near_optimum = NEAR_OPTIMUM * solve_rho_svm(problem).objective
        path = updates((problem.K * np.outer(y, y)).__matmul__, np.full(len(y), 1 / len(y)))
        return float(sum(1 for _ in islice(takewhile(lambda update: update.value > near_optimum, path), MOST_UPDATES)))

    return count


TK07_FIGURE1 = Experiment(
    paper="tk07",
    table="figure1",
    title="multiplicative updates of adaptive and of fixed eta for the rho-SVM",
    measure="updates",
    protocol=TK07_PROTOCOL,
    data={
        "twonorm": Generated(make_twonorm, n_samples=200, n_new=2),
        "threenorm": Generated(make_threenorm, n_samples=200, n_new=2),
        **{name: Partitioned(name) for name in ("heart", "ionosphere", "sonar")},
    },
    methods={
        "adaptive": count_updates(adaptive_updates),
        **{f"eta = {eta:g}": count_updates(partial(fixed_updates, eta=eta)) for eta in (0.1, 1.0, 10.0, 100.0)},
    },
)

# TT06

TT06_PROTOCOL = """\
The paper's protocol and figures are not known; this is ours. 75 % of the samples to train on, at random, the others \
to test on. Both methods with their defaults, 100 trees; "leaf": samples are alike where they share a leaf, TT06 (8); \
"depth": by the depth of their last common node, TT06 (9)."""


TT06_FOREST = Experiment(
    paper="tt06",
    table="forest",
    title="least squares with the kernel of a forest against the forest",
    measure="test error, %",
    protocol=TT06_PROTOCOL,
    data={name: Partitioned(name, 0.75) for name in ("heart", "ionosphere", "sonar", "german", "glass", "vehicle")},
    methods={
        "forest": measure_error(lambda seed: RandomForestClassifier(random_state=seed)),
        "experts, leaf": measure_error(lambda seed: SupervisedKernelRLSClassifier(kernel="leaf", random_state=seed)),
        "experts, depth": measure_error(lambda seed: SupervisedKernelRLSClassifier(kernel="depth", random_state=seed)),
    },
)

# SL Table III

SL_PROTOCOL = """\
The paper's protocol and figures are not known; this is ours. 75 % of the samples to train on, at random, the others \
to test on; features are mapped to [-1, 1] on the training part. AdaBoost: 500 rounds, all stumps. MultiBoost: all \
stumps, prices of 300 in sum, to a relative gap of 1 %. CGEns-SLS: at most 32 stumps per feature, C of the best \
accuracy in 5-fold cross-validation on the training part among 10^-4, 10^-3, ..., 1, the first of equals."""


def make_simplex_least_squares(random_state: int) -> GridSearchCV:
    """Return CGEns-SLS, C by cross-validation."""
    Cs = [10.0**k for k in range(-4, 1)]
    return GridSearchCV(CGEnsSLSClassifier(random_state=random_state), {"C": Cs}, cv=5)


SL_TABLE3 = Experiment(
    paper="sl",
    table="table3",
    title="simplex least squares over stumps against boosting, of several classes",
    measure="test error, %",
    protocol=SL_PROTOCOL,
    data={name: Partitioned(name, 0.75) for name in ("iris", "wine", "glass", "vehicle", "vowel", "segment", "dna")},
    methods={
        "AdaBoost.ECC": measure_error(lambda seed: AdaBoostECCClassifier(n_rounds=500, random_state=seed)),
        "AdaBoost.MH": measure_error(lambda seed: AdaBoostMHClassifier(n_rounds=500, random_state=seed)),
        "MultiBoost": measure_error(lambda seed: MultiBoostClassifier(tol=1e-2, random_state=seed)),
        "CGEns-SLS": measure_error(make_simplex_least_squares),
    },
)

EXPERIMENTS: tuple[Experiment, ...] = (LL08_TABLE2, TK07_FIGURE1, TT06_FOREST, SL_TABLE3)
"""Every experiment, by paper."""


def experiment_of(paper: str, table: str) -> Experiment:
    """Return the experiment of a paper and a table; `InvalidInput` for none, whatever the case of the letters.

    Examples
    --------
    >>> experiment_of("LL08", "Table2").measure
    'test error, %'
    """
    return of_paper(paper, table)[0]


def of_paper(paper: str, table: str | None = None) -> Sequence[Experiment]:
    """Return the experiments of a paper, or the one of a table.

    Raises
    ------
    InvalidInput
        There is none; the error lists those that there are.

    Examples
    --------
    >>> [experiment.name for experiment in of_paper("ll08")]
    ['ll08 table2']
    """
    words = [word.lower() for word in (paper, table) if word is not None]
    found = [each for each in EXPERIMENTS if [each.paper, each.table][: len(words)] == words]
    if not found:
        known = ", ".join(each.name for each in EXPERIMENTS)
        raise InvalidInput("experiment", f"found {' '.join(words)!r}", f"name one of {known}")
    return found
