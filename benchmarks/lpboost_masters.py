"""Masters of soft-margin boosting over all stumps side by side, to the same certified gap, and what smoothing does.

The default way is all stumps at once, then column generation with the interior-point method, beside which it is held
alone. Peers: HiGHS's dual simplex with a row added for every
column, and the model built anew in cvxpy every round. A slow peer is stopped at a multiple of the fast time: its gap
says that it was not done, and its ratio is a lower bound.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from benchmarks.smoothing import Averaged, InOut, stabilised
from cvxens.colgen import Formulation, Master, column_generation, formulations
from cvxens.colgen.masters import CvxpyMaster, HighsMaster, InteriorPointMaster, fastest_master
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import load, make_threenorm

SHARE = 1.0
"""The part of every sample that is used: less for a first look."""

SECONDS = inf
"""The most that a first way may take."""

SHORT = {"SHARE": 0.1}
"""For a run of a minute."""

Make = Callable[[Formulation, NDArray], Master]


@dataclass(frozen=True)
class Task:
    """A sample, its price of slack or share nu, and the gap to reach with stumps of so many features a round."""

    data: str
    X: NDArray
    y: NDArray
    C: float
    tol: float
    columns: int | None
    nu: float | None = None
    """In place of C."""

    def formulate(self, n_samples: int) -> Formulation:
        """Return the formulation on so many samples."""
        return formulations.soft_margin(self.C) if self.nu is None else formulations.lpboost(1 / (self.nu * n_samples))


@dataclass(frozen=True)
class Way:
    """A master, and the multiple of the first way's time at which it is stopped, or of `SECONDS` for the first."""

    name: str
    make: Make = InteriorPointMaster
    patience: float = inf


def measure(task: Task, way: Way, limit: float) -> dict[str, Any]:
    """Run column generation once; seconds include sorting the features."""
    start, used = perf_counter(), process_time()
    X, y = (values[: int(SHARE * len(values))] for values in (task.X, task.y))
    oracle = Stumps(X, columns_per_round=task.columns, square_sum=False)
    formulation = task.formulate(len(y))
    spent: list[float] = []
    run = column_generation(
        formulation,
        oracle,
        y,
        tol=task.tol,
        max_time=limit,
        master=way.make,
        callback=lambda step: spent.append(step.master_seconds),
    )
    return {
        "data": task.data,
        "master": way.name,
        "stumps a round": task.columns,
        "asked": task.tol,
        "seconds": perf_counter() - start,
        "of processors": process_time() - used,
        "in master": sum(spent),
        "certified gap": run.certificate.relative_gap,
        "objective": f"{run.certificate.primal:.8g}",
        "rounds": len(run.history),
        "columns": len(run.columns),
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def compare(tasks: Sequence[tuple[Task, Way]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each, with its time over that of the first one."""
    first = inf
    for task, way in tasks:
        row = measure(task, way, SECONDS if first == inf else way.patience * first)
        first = row["seconds"] if first == inf else first
        unfinished = ">" if row["certified gap"] > row["asked"] else ""
        yield row | {"ratio": f"{unfinished}{row['seconds'] / first:.1f}"}


def strong() -> Iterator[dict[str, Any]]:
    """Threenorm, 10,000 x 20, C = 2^-8, gap 1e-3: masters, stumps a round, and smoothing."""
    X, y = make_threenorm(10_000, 20, random_state=0)
    many = Task("threenorm 10,000 x 20, C = 2^-8", X, y, 2.0**-8, 1e-3, 21)
    one = replace(many, columns=1)
    return compare(
        [
            (many, Way("default", fastest_master)),
            (many, Way("interior point", InteriorPointMaster, 10)),
            (one, Way("HiGHS", HighsMaster, 25)),
            (one, Way("cvxpy, built anew", CvxpyMaster, 55)),
            (one, Way("interior point", InteriorPointMaster, 10)),
            (many, Way("HiGHS", HighsMaster, 10)),
            (many, Way("interior point, in-out 0.3", stabilised(InteriorPointMaster, InOut(0.3)), 10)),
            (many, Way("HiGHS, in-out 0.5", stabilised(HighsMaster, InOut(0.5)), 10)),
            (many, Way("HiGHS, averaged 0.5", stabilised(HighsMaster, Averaged(0.5)), 10)),
            (one, Way("HiGHS, in-out 0.5", stabilised(HighsMaster, InOut(0.5)), 25)),
        ]
    )


def weak() -> Iterator[dict[str, Any]]:
    """Weak regularisation: make_classification, 5,000 x 50, C = 200/n."""
    X, labels = make_classification(5000, 50, n_informative=10, flip_y=0.1, random_state=0)
    task = Task("make_classification 5,000 x 50, C = 200/n", X, 2.0 * labels - 1, 0.04, 1e-3, 20)
    return compare(
        [
            (task, Way("default", fastest_master)),
            (replace(task, tol=1e-4), Way("default", fastest_master)),
            (replace(task, tol=1e-6), Way("default", fastest_master)),
            (task, Way("interior point")),
            (replace(task, tol=1e-4), Way("interior point")),
            (replace(task, tol=1e-6), Way("interior point")),
            (replace(task, tol=1e-4), Way("interior point, in-out 0.3", stabilised(InteriorPointMaster, InOut(0.3)))),
            (task, Way("HiGHS, in-out 0.5", stabilised(HighsMaster, InOut(0.5)), 6)),
            (task, Way("HiGHS", HighsMaster, 6)),
        ]
    )


def at_once(task: Task) -> Iterator[dict[str, Any]]:
    """Compare the default way with the interior-point method alone in twice the time."""
    return compare([(task, Way("default", fastest_master)), (task, Way("interior point", patience=2))])


def small_nu() -> Iterator[dict[str, Any]]:
    """Threenorm, 20,000 x 10, nu = 0.3, gap 1e-3: C = D / rho is 2,500 / n, and the optimum has some 3,000 stumps."""
    X, y = make_threenorm(20_000, 10, random_state=0)
    return at_once(Task("threenorm 20,000 x 10, nu = 0.3", X, y, 0.0, 1e-3, None, nu=0.3))


def large() -> Iterator[dict[str, Any]]:
    """Sixty thousand samples, gap 1e-3; MNIST, odd against even, is bytes."""
    X, y = make_threenorm(60_000, 100, random_state=0)
    yield from at_once(Task("threenorm 60,000 x 100, C = 2^-10", X, y, 2.0**-10, 1e-3, None))
    mnist = load("mnist")
    odd = np.where(mnist.y % 2, 1.0, -1.0)
    yield from at_once(Task("MNIST 60,000 x 784, C = 2^-10", mnist.X, odd, 2.0**-10, 1e-3, None))


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every data set and master; ratios are within a data set."""
    X, y = make_threenorm(int(6000 / SHARE), 20, random_state=1)
    for way in (Way("interior point"), Way("default", fastest_master)):
        measure(Task("compiles", X, y, 0.01, 1e-2, 21), way, inf)
    yield from strong()
    yield from weak()
    yield from small_nu()
    yield from large()
