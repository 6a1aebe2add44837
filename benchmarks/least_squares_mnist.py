"""CGEns-SLS with 500 stumps on the full MNIST, ten classes: seconds and peak memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np

from benchmarks import take_least
from cvxens import datasets
from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import Stumps
from cvxens.problems import simplex_codes

N_STUMPS = 500
SECONDS = 300.0


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for twenty and for five stumps per round; memory is the peak of the process so far."""
    data = datasets.load("mnist")
    X, classes = np.asarray(data.X), np.asarray(data.y).astype(int)
    codes = simplex_codes(10)
    for columns_per_round in (20, 5):
        generate = partial(
            column_generation,
            formulations.simplex_least_squares(codes[classes], 1 / len(X)),
            max_columns=N_STUMPS,
            max_time=SECONDS,
        )
        seconds, found = take_least(lambda n=columns_per_round, run=generate: run(Stumps(X, columns_per_round=n)))
        yield {
            "stumps per round": columns_per_round,
            "stumps": len(found.columns),
            "seconds": seconds,
            "of them in the master": sum(r.master_seconds for r in found.history),
            "objective": found.certificate.primal,
            "gap": found.certificate.relative_gap,
            "peak GB": getrusage(RUSAGE_SELF).ru_maxrss / 2**20,
        }
