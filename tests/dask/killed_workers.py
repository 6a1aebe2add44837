"""Fits of which a worker is killed at a random moment: all are to end in the same bits. Run by `make fuzz`.

Every other one is the stump SVM, which is over sooner; the moment is one of the fit on both workers, or before it.
"""

import os
import random
import signal
import sys
import threading

import dask
from dask_samples import bits, fit, two_classes
from distributed import Client, LocalCluster

from cvxens.dask import DaskInfiniteEnsembleSVC, DaskLPBoostClassifier

FITS = (DaskLPBoostClassifier(C=0.02), 2000, 5.0), (DaskInfiniteEnsembleSVC(), 20_000, 2.0)
"""Models, their rows, and the seconds within which a worker is killed."""


def main(n_kills, seed=0):
    with dask.config.set(scheduler="sync"):
        expected = [bits(fit(model, [], *two_classes(n, 4))) for model, n, _ in FITS]
    rng, right = random.Random(seed), 0
    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    for k in range(n_kills):
        (model, n, within), known = FITS[k % 2], expected[k % 2]
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            victim = rng.choice(list(client.run(os.getpid).values()))
            killer = threading.Timer(rng.uniform(0.0, within), os.kill, (victim, signal.SIGKILL))
            killer.start()
            right += bits(fit(model, [500, 1200], *two_classes(n, 4))) == known
            killer.join()
        sys.stdout.write(f"{k + 1} kills, {right} right answers\n")
        sys.stdout.flush()
    return right == n_kills


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1]), *map(int, sys.argv[2:])))
