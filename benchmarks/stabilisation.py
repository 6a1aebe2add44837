"""Ways to stabilise LPBoost's column generation: oracle calls and seconds to gaps of 1e-3 and 1e-6, on ten instances.

All solve LPBoost (DBS02) over all stumps, min over u of the largest edge, u in the capped simplex, and differ in which
multipliers u they price:

- **plain**: a vertex of the restricted program;
- **in-out** (Wentges 1997): halfway from the vertex to the point with the best bound;
- **directional** (Pessoa et al. 2018): from the best point towards the oracle's subgradient, by a share that adjusts;
- **box** (Marsten, Hogan & Blankenship 1975): the vertex within a box around the best point, which grows where it is in
  the way;
- **level** (Lemarechal, Nemirovskii & Nesterov 1995): the point nearest to the best one whose edges so far are at most
  a mean of the restricted optimum and the best bound: a quadratic program;
- **interior point** (Gondzio et al. 2016): the centred point of a program that is not solved to its end;
- **Frank-Wolfe with LP steps** (Mitsuboshi, Hatano & Takimoto 2022, MLPBoost): the entropic multipliers of the better
  of two ensembles, that of a Frank-Wolfe step and the restricted optimum.

All but the interior point take their weights, and the objective, from HiGHS over the columns so far. The oracle answers
with the best stump of every feature, or with `COLUMNS` of them. Where nothing new is found, the vertex is priced next,
so all end at the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

from benchmarks.smoothing import Averaged, InOut, stabilised
from cvxens.colgen import Column, Formulation, Master, MasterSolution, Priced, Step, column_generation, formulations
from cvxens.colgen.masters import HighsMaster, InteriorPointMaster
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm
from cvxens.problems.duality import capped_simplex

SECONDS, N_INSTANCES, TOLERANCES = 30.0, 10, (1e-3, 1e-6)
"""The most seconds of a run, how many instances are run, and the relative gaps that are waited for."""

COLUMNS: int | None = None
"""The most columns of an answer; None for the best stump of every feature."""

SHORT = {"SECONDS": 3.0, "N_INSTANCES": 2}

SHARE, LEVEL, BOX = 0.5, 0.3, 4.0
"""Of the centre, of the best bound in a level, and the first half-width of a box, in units of 1 / n."""


@dataclass(frozen=True)
class Instance:
    """A sample with labels -1 and +1, and the share of it that may be below the margin."""

    name: str
    X: NDArray
    y: NDArray
    nu: float


def list_instances() -> list[Instance]:
    """Return ten instances, of strong and of weak regularisation."""
    cancer, digits = load_breast_cancer(), load_digits()
    three, ring, two = (make(800, 10, random_state=0) for make in (make_threenorm, make_ringnorm, make_twonorm))
    wide, labels = make_classification(600, 40, n_informative=10, flip_y=0.1, random_state=0)
    of_cancer, odd = 2.0 * cancer.target - 1, np.where(digits.target % 2, 1.0, -1.0)
    of_wide = 2.0 * labels - 1
    return [
        Instance("breast cancer 569 x 30", cancer.data, of_cancer, 0.2),
        Instance("breast cancer 569 x 30", cancer.data, of_cancer, 0.05),
        Instance("digits, odd, 1797 x 64", digits.data, odd, 0.4),
        Instance("digits, odd, 1797 x 64", digits.data, odd, 0.2),
        Instance("threenorm 800 x 10", *three, 0.5),
        Instance("threenorm 800 x 10", *three, 0.25),
        Instance("ringnorm 800 x 10", *ring, 0.2),
        Instance("twonorm 800 x 10", *two, 0.1),
        Instance("flipped 600 x 40", wide, of_wide, 0.5),
        Instance("flipped 600 x 40", wide, of_wide, 0.3),
    ]


class Separating(HighsMaster):
    """LPBoost by HiGHS, which hands over other multipliers than the vertex; subclasses say which."""

    def __init__(self, formulation: Formulation, y: NDArray) -> None:
        super().__init__(formulation, y)
        self.caps = np.broadcast_to(self.loss.linear_dual.hinges[0].prices, y.shape)
        self.centre = capped_simplex(np.full(len(y), 1 / len(y)), self.caps)
        self.best, self.has_new = -np.inf, False
        """The bound at the centre, as that of a minimum: minus its largest edge."""
        self.M = np.empty((0, len(y)))

    def add(self, columns: Sequence[Column]) -> None:
        """Keep the columns' margins too."""
        super().add(columns)
        self.has_new = True
        self.M = np.vstack([self.M, *(self.restricted.y * column.values for column in columns)])

    def solve(self) -> MasterSolution:
        """Return the weights of the vertex with the multipliers that are to be priced."""
        solution = super().solve()
        if not (self.has_new and len(self.M)):
            return solution
        self.has_new = False
        u = capped_simplex(np.maximum(self.choose(solution), 0.0), self.caps)
        return replace(solution, u=u, s=self.restricted.y * u, exact=False, edges=None)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound as ever, and move the centre."""
        bound = super().bound(solution, priced)
        self.learn(solution.u, bound, priced)
        if bound > self.best:
            self.best, self.centre = bound, solution.u
        return bound

    def learn(self, u: NDArray, bound: float, priced: Priced) -> None:
        """Take note of an answer, before the centre moves."""

    def choose(self, solution: MasterSolution) -> NDArray:
        """Return the multipliers to price, from those of the vertex."""
        raise NotImplementedError


class Directional(Separating):
    """Directional smoothing, whose angle and share adjust themselves."""

    def __init__(self, formulation: Formulation, y: NDArray) -> None:
        super().__init__(formulation, y)
        self.share, self.slope, self.vertex = SHARE, np.zeros(len(y)), self.centre

    def learn(self, u: NDArray, bound: float, priced: Priced) -> None:
        """Adjust to the answer."""
        if not priced.columns:
            return
        # the subgradient of minus the largest edge
        slope = -self.restricted.y * priced.columns[0].values
        ahead = slope @ (self.vertex - u) > 0
        # rises by a tenth of what is left, up to 0.99, and falls as much
        share = self.share
        falls = share / 1.1 if share >= 1 / 2 else max(share - 0.1 * (1 - share), 0.0)
        self.share = falls if ahead else min(share + 0.1 * (1 - share), 0.99)
        if bound > self.best:
            self.slope = slope

    def choose(self, solution: MasterSolution) -> NDArray:
        """Return the multipliers to price."""
        self.vertex = solution.u
        way = self.vertex - self.centre
        length, steep = float(np.linalg.norm(way)), self.slope - self.slope.mean()
        size = float(np.linalg.norm(steep))
        if not length * size > 0:
            return self.vertex
        turned = steep * (length / size)
        cosine = max(float(way @ turned) / length**2, 0.0)
        direction = cosine * turned + (1 - cosine) * way
        return self.centre + (1 - self.share) * length * direction / max(float(np.linalg.norm(direction)), 1e-300)


class Box(Separating):
    """The vertex within a box around the best point."""

    def __init__(self, formulation: Formulation, y: NDArray) -> None:
        super().__init__(formulation, y)
        self.half = BOX / len(y)
        self.boxed = HighsMaster(formulation, y)

    def add(self, columns: Sequence[Column]) -> None:
        """Keep the columns' margins too."""
        super().add(columns)
        self.boxed.add(columns)

    def learn(self, u: NDArray, bound: float, priced: Priced) -> None:
        """Adjust to the answer."""
        # a serious step, or a null step
        self.half *= 1.3 if bound > self.best else 0.9

    def choose(self, solution: MasterSolution) -> NDArray:
        """Return the multipliers to price."""
        n, program = len(self.centre), self.boxed.program
        lower = np.maximum(self.centre - self.half, 0.0)
        upper = np.minimum(self.centre + self.half, self.caps)
        program.highs.changeColsBounds(n, program.indices[:n], lower, upper)
        return program.solve()[0][:n]


class Level(Separating):
    """The point of a level of the restricted program that is nearest to the best one."""

    def choose(self, solution: MasterSolution) -> NDArray:
        """Return the multipliers to price."""
        lower, upper = -solution.objective, -self.best
        if not np.isfinite(upper):
            return solution.u
        level = lower + LEVEL * (upper - lower)
        scale = len(self.centre)

        def dual(multipliers: NDArray) -> tuple[float, NDArray]:
            """Evaluate minus ``min 1/2 |n u - n centre|^2 + multipliers'(M n u - n level)`` and its gradient."""
            u = self.nearest(multipliers)
            excess = scale * (self.M @ u - level)
            value = 0.5 * float(np.square(scale * (u - self.centre)).sum()) + float(multipliers @ excess)
            return -value, -excess

        found = minimize(dual, np.zeros(len(self.M)), jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(self.M))
        return self.nearest(found.x)

    def nearest(self, multipliers: NDArray) -> NDArray:
        """Return the best multipliers of samples, a projection, for those of the rows."""
        return capped_simplex(self.centre - self.M.T @ multipliers / len(self.centre), self.caps)


class FrankWolfe(Separating):
    """MLPBoost: entropic multipliers of the better ensemble of two."""

    def __init__(self, formulation: Formulation, y: NDArray) -> None:
        super().__init__(formulation, y)
        self.z, self.u = np.zeros(len(y)), self.centre
        self.best_column: NDArray | None = None

    def learn(self, u: NDArray, bound: float, priced: Priced) -> None:
        """Adjust to the answer."""
        self.best_column = self.restricted.y * priced.columns[0].values if priced.columns else None

    def choose(self, solution: MasterSolution) -> NDArray:
        """Return the multipliers to price."""
        # what is smoothed away is at most half of what is asked for first
        nu = 1 / float(self.caps.sum())
        eta = 2 * log(1 / nu) / (TOLERANCES[0] * max(abs(solution.objective), 1e-3))
        if self.best_column is not None:
            step = self.best_column - self.z
            self.u, _ = project(self.z, eta, self.caps)
            length = min(max(float(self.u @ step) / (eta * float(np.abs(step).max()) ** 2 + 1e-300), 0.0), 1.0)
            self.z = self.z + length * step
        by_program = self.M.T @ solution.w
        self.z = max((self.z, by_program), key=lambda z: project(z, eta, self.caps)[1])
        return project(self.z, eta, self.caps)[0]


def project(z: NDArray, eta: float, caps: NDArray) -> tuple[NDArray, float]:
    """Return argmin z'u + sum u ln(n u) / eta over the capped simplex, min(cap_i, c exp(-eta z_i)), and the value."""
    logs = -eta * (z - z.min())
    low, high = -800.0, 800.0
    for _ in range(80):
        middle = (low + high) / 2
        total = np.minimum(caps, np.exp(np.clip(logs + middle, -700, 50))).sum()
        low, high = (middle, high) if total < 1 else (low, middle)
    u = np.minimum(caps, np.exp(np.clip(logs + high, -700, 50)))
    u = u / u.sum()
    positive = u[u > 0]
    return u, float(z @ u + (positive * np.log(len(u) * positive)).sum() / eta)


WAYS: dict[str, Callable[[Formulation, NDArray], Master]] = {
    "plain": HighsMaster,
    "in-out 0.5": stabilised(HighsMaster, InOut(SHARE)),
    "averaged 0.5": stabilised(HighsMaster, Averaged(SHARE)),
    "directional": Directional,
    "box": Box,
    "level": Level,
    "interior point": InteriorPointMaster,
    "interior point, in-out 0.3": stabilised(InteriorPointMaster, InOut(0.3)),
    "Frank-Wolfe and LP": FrankWolfe,
}


def measure(instance: Instance, make: Callable[[Formulation, NDArray], Master]) -> dict[str, Any]:
    """Run column generation to the last tolerance, and return when each was reached."""
    formulation = formulations.lpboost(1 / (instance.nu * len(instance.y)))
    oracle, reached = Stumps(instance.X, square_sum=False, columns_per_round=COLUMNS), {}
    start = perf_counter()

    def watch(step: Step) -> bool:
        for tol in TOLERANCES:
            if tol not in reached and step.relative_gap <= tol:
                reached[tol] = step.number, perf_counter() - start
        return False

    found = column_generation(
        formulation, oracle, instance.y, tol=TOLERANCES[-1], max_time=SECONDS, master=make, callback=watch
    )
    row: dict[str, Any] = {}
    for tol in TOLERANCES:
        calls, seconds = reached.get(tol, ("", ""))
        row |= {f"calls to {tol:g}": calls, f"seconds to {tol:g}": seconds}
    certificate = found.certificate
    return row | {
        "gap": certificate.relative_gap,
        "objective": f"{certificate.primal:.6f}",
        "columns": len(found.columns),
    }


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every instance and way, then one for every way over all instances."""
    instances = list_instances()[:N_INSTANCES]
    measure(replace(instances[0], nu=0.5), HighsMaster)
    measure(replace(instances[0], nu=0.5), InteriorPointMaster)
    rows = []
    for instance in instances:
        for name, make in WAYS.items():
            row = {"instance": instance.name, "nu": instance.nu, "way": name, **measure(instance, make)}
            rows.append(row)
            yield row
    for name in WAYS:
        of_way = [row for row in rows if row["way"] == name]
        total: dict[str, Any] = {"instance": "all", "nu": "", "way": name}
        for tol in TOLERANCES:
            done = [row for row in of_way if row[f"calls to {tol:g}"] != ""]
            # what was not reached counts as the limit
            seconds = [row[f"seconds to {tol:g}"] or SECONDS for row in of_way]
            total[f"calls to {tol:g}"] = sum(row[f"calls to {tol:g}"] for row in done)
            total[f"seconds to {tol:g}"] = sum(seconds)
            total[f"reached {tol:g}"] = f"{len(done)} of {len(of_way)}"
        yield total
