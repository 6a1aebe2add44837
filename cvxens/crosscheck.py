"""The cross-check: every formulation on real data, by reference and by its fast path, with the proof."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf, isfinite

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from cvxens import validation
from cvxens.certificates import Certificate, relative
from cvxens.colgen import Ending, Formulation, Run, column_generation, formulations
from cvxens.colgen.masters import HighsMaster
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput, NotSeparable, SolverFailed, SolverFallbackWarning
from cvxens.kernels import Stump
from cvxens.problems import (
    FORMULATIONS,
    SLSSVM,
    EntropyProjection,
    HardMarginBoosting,
    InfiniteSVM,
    LPBoost,
    Problem,
    RegularizedExpLoss,
    RegularizedLeastSquares,
    RhoSVM,
    Signed,
    SoftMarginBoosting,
    StumpColumns,
    SVMDual,
    SVMPrimal,
)
from cvxens.solvers import (
    solve_entropy_projection,
    solve_regularized_exp_loss,
    solve_regularized_least_squares,
    solve_rho_svm,
    solve_slssvm,
    solve_svm_dual,
    solve_svm_primal,
)
from cvxens.types import Array, Attempt, Data, Indices, Solution

__all__ = ["Row", "Sample", "Side", "crosscheck", "named"]

MAX_SAMPLES = 600
MAX_ENTRIES = 25_000

AGREEMENT = 1e-5
"""The relative difference of objectives, and the relative certified gap, up to which a row agrees."""

ZERO = 1e-8
"""Objectives below this count as 0: the reference solvers are asked for nine digits."""

SOLVERS: dict[type[Problem], Callable[..., Solution]] = {
    SVMPrimal: solve_svm_primal,
    SVMDual: solve_svm_dual,
    InfiniteSVM: solve_svm_primal,
    RhoSVM: solve_rho_svm,
    EntropyProjection: solve_entropy_projection,
    RegularizedExpLoss: solve_regularized_exp_loss,
    SLSSVM: solve_slssvm,
    RegularizedLeastSquares: solve_regularized_least_squares,
}
"""The fast path of a formulation, a function of `cvxens.solvers`; that of the others is column generation."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A two-class sample with features scaled to [0, 1]."""

    X: Array  # (n_samples, n_features), in [0, 1]
    y: Array  # (n_samples,), labels -1 and +1
    note: str = ""  # how it was cut down, empty where it was not

    @classmethod
    def from_arrays(cls, X: Data, y: ArrayLike, random_state: int = 0) -> Sample:
        """Scale (X, y); above 600 samples or 25,000 entries, draw a stratified subsample that fits."""
        y = validation.signs(y)
        table = csr_array(X) if issparse(X) else validation.finite_array("X", X, ndim=2)
        n, d = table.shape
        validation.same_length("y", y, n)
        rng = np.random.default_rng(random_state)
        features = _draw(rng, np.arange(d), MAX_ENTRIES // 100)
        room = min(MAX_SAMPLES, MAX_ENTRIES // max(1, len(features)))
        # of each class as many as its share of the room, at least one
        shares = {s: max(1, round(room * float((y == s).mean()))) if n > room else n for s in (-1.0, 1.0)}
        rows = np.sort(np.concatenate([_draw(rng, np.flatnonzero(y == s), most) for s, most in shares.items()]))
        table = table[rows][:, features] if (len(rows), len(features)) != (n, d) else table
        X = validation.samples(table if isinstance(table, np.ndarray) else table.toarray())
        # halves first: the difference of the largest numbers overflows
        low, half = X.min(axis=0) / 2, X.max(axis=0) / 2 - X.min(axis=0) / 2
        scaled = (X / 2 - low) / np.where(half > 0, half, 1.0)
        parts = ((len(rows), n, "samples"), (len(features), d, "features"))
        return cls(scaled, y[rows], ", ".join(f"{kept} of {all_} {what}" for kept, all_, what in parts if kept < all_))

    @cached_property
    def stump_kernel(self) -> Array:
        """The stump kernel, shape (n_samples, n_samples)."""
        return Stump()(self.X)

    @property
    def mean_diagonal(self) -> float:
        """The mean of the kernel's diagonal, which parameters are relative to."""
        return float(np.diag(self.stump_kernel).mean())

    @property
    def softened_kernel(self) -> Array:
        """The kernel of squared slacks: a hundredth of its mean diagonal is added to the stump kernel's."""
        return self.stump_kernel + 0.01 * self.mean_diagonal * np.eye(len(self.y))


def _draw(rng: np.random.Generator, items: Indices, most: int) -> Indices:
    return items if len(items) <= most else np.sort(rng.choice(items, most, replace=False))


def generate(formulation: Formulation, sample: Sample) -> Run:
    """Run column generation over all stumps to the end, or not at all."""
    run = column_generation(formulation, Stumps(sample.X), sample.y, tol=1e-9, master=HighsMaster)
    if run.ending is Ending.INTERRUPTED:
        raise KeyboardInterrupt
    return run


def solve_fast(problem: Problem, sample: Sample) -> tuple[str, float, Certificate]:
    """Return the name of the fast path, its objective, and the certificate of its answer."""
    if type(problem) in SOLVERS:
        solution = SOLVERS[type(problem)](problem)
        return solution.solver, solution.objective, problem.certify(solution)
    run = generate(problem.formulation, sample)
    return "HiGHS columns", run.certificate.primal, run.certificate


# C of P1 and P2 is one over the mean diagonal of H H' or K, so that the scale is of no account


def place_svm_primal(sample: Sample) -> Problem:
    """P1 over all stumps."""
    H = StumpColumns(sample.X)
    return SVMPrimal(H, sample.y, 1 / H.shape[1])


def place_lpboost(sample: Sample) -> Problem:
    """LPBoost over all stumps, in the parametrisation that makes it P4: D = C/U, so that its optimum is 1/U."""
    C = 20 / len(sample.y)
    U = generate(formulations.soft_margin(C), sample).certificate.primal
    return LPBoost(Signed(StumpColumns(sample.X)), sample.y, C / U)


def place_entropy_projection(sample: Sample) -> Problem:
    """A projection as multiplicative updates take them, half way to the smallest margin.

    Its weights grow from sample to sample, so that margins differ even where all samples are alike to the kernel.
    """
    K, y, n = sample.softened_kernel, sample.y, len(sample.y)
    alpha_t = np.arange(1, n + 1) * 2 / (n * (n + 1))
    q = y * (K @ (y * alpha_t))
    return EntropyProjection(K, y, alpha_t, float(q @ alpha_t + q.min()) / 2)


def place_slssvm(sample: Sample) -> Problem:
    """Simplex least squares over all stumps; two classes have one output."""
    H = StumpColumns(sample.X)
    return SLSSVM(H, sample.y[:, None], 1 / H.shape[1])


CASES: Mapping[type[Problem], tuple[Callable[[Sample], Problem], str]] = {
    SVMPrimal: (place_svm_primal, "all stumps"),
    SVMDual: (lambda s: SVMDual(s.stump_kernel, s.y, 1 / s.mean_diagonal), "stump kernel"),
    HardMarginBoosting: (lambda s: HardMarginBoosting(Signed(StumpColumns(s.X)), s.y), "all stumps"),
    SoftMarginBoosting: (lambda s: SoftMarginBoosting(Signed(StumpColumns(s.X)), s.y, 20 / len(s.y)), "all stumps"),
    InfiniteSVM: (lambda s: InfiniteSVM(Stump().cells(s.X), s.y, 1 / s.mean_diagonal), "all stumps, cells"),
    LPBoost: (place_lpboost, "all stumps, D = C/U of P4"),
    RhoSVM: (lambda s: RhoSVM(s.softened_kernel, s.y), "stump kernel, squared slacks"),
    EntropyProjection: (place_entropy_projection, "stump kernel, squared slacks"),
    RegularizedExpLoss: (lambda s: RegularizedExpLoss(s.stump_kernel, s.y, 1e-3 * s.mean_diagonal), "stump kernel"),
    SLSSVM: (place_slssvm, "all stumps"),
    RegularizedLeastSquares: (
        lambda s: RegularizedLeastSquares(s.stump_kernel, s.y, 1e-3 * s.mean_diagonal),
        "stump kernel",
    ),
}
"""Each formulation's problem on a sample, and what its hypotheses are; a test sees to it that none is missing."""


@dataclass(frozen=True)
class Side:
    """One solver's answer."""

    solver: str
    objective: float  # its optimum; inf where it proved that there is no feasible point, nan where it failed
    seconds: float  # wall-clock time, the model's set-up included


@dataclass(frozen=True)
class Row:
    """Two roads to one number, and the proof of it."""

    formulation: str
    source: str
    reference: Side  # the modelled problem
    fast: Side  # the fast path
    certificate: Certificate  # of the fast path's answer
    note: str = ""  # what the row is over, and what had to be left out

    @property
    def relative_difference(self) -> float:
        """|reference - fast| / max(|reference|, |fast|); 0 where both count as 0, or proved that there is no point."""
        a, b = self.reference.objective, self.fast.objective
        if a == b or max(abs(a), abs(b)) < ZERO:
            return 0.0
        return relative(abs(a - b), a, b) if isfinite(a) and isfinite(b) else inf

    @property
    def agrees(self) -> bool:
        """True if the objectives agree and the certificate holds; an optimum of 0 has no relative gap but infinity."""
        largest = max(abs(self.reference.objective), abs(self.fast.objective))
        at_zero = self.certificate.proven and largest < ZERO and 0 <= self.certificate.gap < ZERO
        return self.relative_difference <= AGREEMENT and (self.certificate.holds(AGREEMENT) or at_zero)

    def to_dict(self) -> dict[str, object]:
        """Return the row as JSON has it; a number that is not finite is null."""
        sides = {
            name: {**asdict(side), "objective": side.objective if isfinite(side.objective) else None}
            for name, side in (("reference", self.reference), ("fast", self.fast))
        }
        difference = self.relative_difference
        return {
            "formulation": self.formulation,
            "source": self.source,
            **sides,
            "relative_difference": difference if isfinite(difference) else None,
            "certificate": self.certificate.to_dict(),
            "agrees": self.agrees,
            "note": self.note,
        }


def named(formulation: str | None) -> Sequence[type[Problem]]:
    """Return the formulations to check: the one that is named, whatever its case, or all."""
    if formulation is None:
        return FORMULATIONS
    chosen = [problem for problem in FORMULATIONS if problem.__name__.lower() == formulation.lower()]
    if not chosen:
        names = ", ".join(problem.__name__ for problem in FORMULATIONS)
        raise InvalidInput("formulation", f"found {formulation!r}", f"name one of {names}")
    return chosen


def crosscheck(sample: Sample, formulations: Sequence[type[Problem]] = FORMULATIONS) -> Iterator[Row]:
    """Check formulations on a sample.

    Parameters
    ----------
    sample : Sample
        Small enough for the reference solvers.
    formulations : sequence of Problem classes
        Which ones.

    Yields
    ------
    Row
        As each is done.

    Examples
    --------
    >>> from cvxens.problems import SVMDual
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    >>> [row.agrees for row in crosscheck(Sample.from_arrays(X, y), [SVMDual])]
    [True]
    """
    for formulation in formulations:
        place, over = CASES[formulation]
        problem = place(sample)
        fast, certificate, unsolved = _solve_fast(problem, sample)
        reference, failures = _solve_reference(problem)
        note = "; ".join(part for part in (over, sample.note, unsolved, failures) if part)
        yield Row(formulation.__name__, formulation.source, reference, fast, certificate, note)


def _solve_fast(problem: Problem, sample: Sample) -> tuple[Side, Certificate, str]:
    """Return the fast path's answer, its certificate, and what failed."""
    if type(problem) not in SOLVERS:
        Stumps(sample.X).price(sample.y)  # compiled beforehand, as solvers need not be
    start, failed = time.perf_counter(), ""
    try:
        solver, objective, certificate = solve_fast(problem, sample)
    except NotSeparable as proof:
        # the Farkas vector's largest edge, at most 0 up to rounding, is the residual of infeasibility
        residuals, note = {"Farkas vector": max(0.0, proof.max_edge)}, "no feasible point, by the Farkas vector"
        solver, objective = "HiGHS columns", inf
        certificate = Certificate(inf, inf, 0.0, 0.0, residuals, {}, True, note)
    except SolverFailed as failure:
        solver, objective, failed = "failed", np.nan, _list(failure.attempts)
        certificate = Certificate(np.nan, np.nan, inf, inf, {"none": inf}, {}, False)
    return Side(solver, objective, time.perf_counter() - start), certificate, failed


def _solve_reference(problem: Problem) -> tuple[Side, str]:
    """Return the reference's answer, and which solvers failed before one did not."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SolverFallbackWarning)
            solution = problem.solve()
    except NotSeparable:
        return Side("Farkas vector", inf, time.perf_counter() - start), ""
    except SolverFailed as failure:
        return Side("failed", np.nan, time.perf_counter() - start), _list(failure.attempts)
    return Side(solution.solver, solution.objective, time.perf_counter() - start), _list(solution.attempts[:-1])


def _list(failed: Sequence[Attempt]) -> str:
    return ", ".join(f"{attempt.solver} {attempt.status}" for attempt in failed)
