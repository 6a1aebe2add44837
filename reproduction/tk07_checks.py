"""Checks of our own beside TK07's Table 2: other machines of the path, and other sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvxens.datasets import as_signs
from cvxens.problems import RhoSVM, SVMDual
from cvxens.solvers import solve_rho_svm
from reproduction import tk07
from reproduction.experiment import Experiment
from reproduction.methods import Outcome, Proof
from reproduction.splits import Realised, Split
from reproduction.svm_path import svm_path


@dataclass(frozen=True)
class EndOfPath:
    """The machine at the last breakpoint of the regularisation path, with as hard a margin as there is."""

    def __call__(self, split: Split, /) -> Outcome:
        """Follow the path, and test its end."""
        given = tk07.Kernels.from_split(split)
        path = svm_path(given.K, given.y)
        C = float(path.C[-1])
        u, b = path.at(C)
        proof = SVMDual(given.K, given.y, C).certify(u=u, b=b)
        value = given.error_of(given.rows @ (given.y * u) + b)
        return Outcome(value, (Proof.from_certificate(proof),), {"chosen": {"C": C}})


@dataclass(frozen=True)
class Exact:
    """The rho-SVM at its optimum, found by an active-set method."""

    def __call__(self, split: Split, /) -> Outcome:
        """Fit the method to the training part of a split, and measure its error on the test part."""
        given = tk07.Kernels.from_split(split)
        problem = RhoSVM(given.K, given.y)
        solution = solve_rho_svm(problem)
        value = given.error_of(given.rows @ solution.variables["c"])
        return Outcome(value, (Proof.from_certificate(problem.certify(solution)),))


@dataclass(frozen=True)
class Contradictions:
    """The number of samples to train on that have a twin of the other class."""

    def __call__(self, split: Split, /) -> Outcome:
        """Sort the samples, and count those whose features come with both classes."""
        _, which = np.unique(split.X, axis=0, return_inverse=True)
        y = as_signs(split.y)
        both = np.minimum(np.bincount(which, y > 0), np.bincount(which, y < 0)) > 0
        return Outcome(float(both[which].sum()))


PUBLISHED = {"cancer": "breast-cancer", "german": "german", "titanic": "titanic", "waveform": "waveform"}
"""Sets of which the data directory has published partitions, and their names there."""

STOPS = (0.05, 0.02, 0.01, 0.002)
"""Least values of epsilon beside the print's 0.005."""

CHECKS = (
    Experiment(
        paper="tk07",
        table="paths",
        title="a check of our own: other machines of the regularisation path, beside both columns of Table 2",
        protocol="""
As Table 2: the machine with the lowest share of support vectors, another bound on the leave-one-out error, and the end
of the path, where the margin is as hard as it gets. The print has 26.1, 28.9, 24.9, 25.5 and 18.8 for SVM (LOO), and
for SVM (BEST) on waveform 11.2.
""",
        rows={name: tk07.DATA[name] for name in ("cancer", "diabetis", "german", "titanic", "waveform")},
        columns={"fewest support vectors": tk07.OnPath(by_test=False), "end of the path": EndOfPath()},
    ),
    Experiment(
        paper="tk07",
        table="stops",
        title="a check of our own: where Algorithm 1 stops, and the optimum that it stops before",
        protocol="""
As Table 2, with other least values of epsilon than 0.005. The print has, as Table 2 has them, the last hypothesis
(rho-SVM) and the ensemble.
""",
        rows={name: tk07.DATA[name] for name in ("cancer", "diabetis", "german", "waveform", "astro", "adult1")},
        columns={
            **{f"rho-SVM, to {least}": tk07.PartlyTrained("last", least_epsilon=least) for least in STOPS},
            "rho-SVM, optimum": Exact(),
            **{f"ensemble, to {least}": tk07.PartlyTrained("coefficients", least_epsilon=least) for least in STOPS},
        },
        against="table2",
        prints={
            **{f"rho-SVM, to {least}": "rho-SVM" for least in STOPS},
            "rho-SVM, optimum": "rho-SVM",
            **{f"ensemble, to {least}": "proposed ensemble" for least in STOPS},
        },
        splits=tk07.TABLES[0].splits,
    ),
    Experiment(
        paper="tk07",
        table="published",
        title="a check of our own: the ten published realisations alone, beside Table 2",
        protocol="""
As Table 2, without the random partitions that follow the published ones there.
""",
        rows={name: Realised(theirs, published=True) for name, theirs in PUBLISHED.items()},
        columns={
            name: method
            for name, method in tk07.TABLES[0].columns.items()
            if name in {"Parzen window", "rho-SVM", "proposed ensemble"}
        },
        against="table2",
        splits=10,
    ),
    Experiment(
        paper="tk07",
        table="contradictions",
        title="a check of our own: samples to train on whose features another sample of the other class has",
        protocol="""
Where there are any, no hard margin is feasible: rho* = 0, (11), Proposition 1 and the proof of convergence do not
apply, and no bound on rho* says anything of how far Algorithm 1 has come.
""",
        rows={name: source for name, source in tk07.DATA.items() if isinstance(source, Realised)},
        columns={"samples": Contradictions()},
        measure="samples",
        judged=False,
        splits=tk07.TABLES[0].splits,
    ),
)
