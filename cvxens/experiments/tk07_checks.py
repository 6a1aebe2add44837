"""Checks of our own beside TK07's Table 2: other machines of the path, and other sizes."""

from __future__ import annotations

from dataclasses import dataclass

from cvxens.experiments import tk07
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import Outcome, Proof
from cvxens.experiments.splits import Split
from cvxens.problems import SVMDual
from cvxens.solvers import svm_path


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
)
