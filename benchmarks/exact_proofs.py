"""Exact proofs of boosting over all stumps and of support vector machines: how long they take, and what gap is left.

The checker runs in a process of its own, on the standard library alone. Of the larger samples no vertex is looked for,
and the multipliers of the run in floats are rounded and repaired: the gap is that of the run. Machines are proven as
they are solved.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from cvxens import InfiniteEnsembleSVC, LPBoostClassifier
from cvxens.datasets import load, make_threenorm
from cvxens.proofs import checker

NAMES = ("heart", "ionosphere", "sonar", "german", "pima")
KERNELS = ("stump", "perceptron", "laplacian", "gaussian")
MAX_TIME = 45.0
"""Seconds of the run in floats."""


def samples() -> dict[str, tuple[Any, Any, float | None]]:
    """Return features, labels and the price of slack by name."""
    X, y = load_breast_cancer(return_X_y=True)
    found: dict[str, tuple[Any, Any, float | None]] = {"breast cancer": (X, y, 1 / 20), "breast cancer ": (X, y, 1.0)}
    for name in NAMES:
        data = load(name)
        found[name] = np.asarray(data.X, dtype=float), data.y, 1.0
    X, y = make_threenorm(20_000, 10, random_state=0)
    return found | {"threenorm": (X, y, None)}


def measure(name: str, model: Any, X: Any, y: Any, folder: Path) -> dict[str, Any]:
    """Fit, prove and check one sample."""
    model.fit(X, y)
    start = perf_counter()
    proof = model.prove(X, y, max_time=MAX_TIME)
    made = perf_counter()
    files = folder / "proof.json", folder / "data.csv"
    proof.save(*files)
    written = perf_counter()
    done = subprocess.run([sys.executable, "-I", checker.__file__, *map(str, files)], capture_output=True, check=False)
    checked = perf_counter()
    return {
        "sample": f"{name}, {X.shape[0]} x {X.shape[1]}",
        "prove s": made - start,
        "check s": checked - written,
        "passes": done.returncode == 0,
        "objective": float(proof.objective),
        "relative gap": proof.relative_gap,
        "exact": proof.gap == 0,
        "digits of u": len(proof.document["multipliers"][0]),
        "checker MB at most": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every sample."""
    with TemporaryDirectory() as folder:
        for name, (X, y, C) in samples().items():
            price = "100/n" if C is None else f"{C:g}"
            model = LPBoostClassifier(C=C, max_time=MAX_TIME)
            yield measure(f"{name.strip()}, C = {price}", model, X, y, Path(folder))
        X, y = load_breast_cancer(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        machines = {f"breast cancer, {kernel} kernel": InfiniteEnsembleSVC(kernel=kernel) for kernel in KERNELS}
        for name, machine in machines.items():
            yield measure(name, machine, X, y, Path(folder))
        X, y = make_threenorm(20_000, 10, random_state=0)
        large = InfiniteEnsembleSVC(C=0.01, max_time=MAX_TIME)
        yield measure("threenorm, stump kernel, C = 0.01", large, X, y, Path(folder))
