"""The script prints the figures of docs/constraints.md: python docs/constraints.py [N_SAMPLES]."""

import sys
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from cvxens import CGEnsClassifier, EqualMeanScores, LPBoostClassifier, Monotone


def measure(model: Any, *data: Any, **more: Any) -> None:
    """Print time, gap and prices of a fit; what the constraints cost takes a second run, which counts."""
    began, used = time.perf_counter(), time.process_time()
    model.fit(*data, **more)
    gap, seconds = model.certificate_.relative_gap, (time.perf_counter() - began, time.process_time() - used)
    sys.stdout.write(f"{model!r:.100}\n  {seconds[0]:.1f} s, {seconds[1]:.1f} of the processor; gap {gap:.1e}" + "\n")
    sys.stdout.write(f"  prices {model.prices_}, cost of all {model.price_of_constraints_}" + "\n")


if __name__ == "__main__":
    X, y = load_breast_cancer(return_X_y=True)
    measure(CGEnsClassifier(), X, y)
    measure(CGEnsClassifier(constraints=[Monotone({0: -1})]), X, y)
    n, random = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, np.random.default_rng(0)
    X = random.normal(size=(n, 20))
    group = X[:, 0] + random.normal(size=n) > 0
    y = X[:, 0] + X[:, 1] ** 2 - 1 + np.sin(2 * X[:, 2]) + random.normal(size=n) > 0
    measure(LPBoostClassifier(C=10 / n), X, y)
    fair = LPBoostClassifier(C=10 / n, constraints=[EqualMeanScores(at_most=0.1)])
    measure(fair, X, y, sensitive_features=group)
    f = fair.decision_function(X)
    sys.stdout.write(f"  means differ by {f[group].mean() - f[~group].mean():.12f}" + "\n")
