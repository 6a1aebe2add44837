"""Fits of which a worker is killed at a random moment: all are to end in the same bits. Run by `make fuzz`.

Every other one is the stump SVM, which is over sooner; the moment is one of the fit on both workers, or before it.
"""

import os
import random
import signal
import sys
import threading

import dask
from dask_samples import cut, two_classes
from distributed import Client, LocalCluster

from cvxens.dask import DaskInfiniteEnsembleSVC, DaskLPBoostClassifier


def boost(ends):
    X, y = two_classes(2000, 4)
    model = DaskLPBoostClassifier(C=0.02).fit(cut(X, ends), cut(y, ends))
    return model.weak_learners_, model.weights_.tolist(), model.certificate_.primal, model.certificate_.dual


def fit_machine(ends):
    X, y = two_classes(20_000, 4)
    model = DaskInfiniteEnsembleSVC().fit(cut(X, ends), cut(y, ends))
    return [own.tolist() for _, own in model.shape_functions_], model.certificate_.primal, model.certificate_.dual


FITS = (boost, 5.0), (fit_machine, 2.0)
"""Fits, and the seconds within which a worker is killed."""


def main(n_kills, seed=0):
    with dask.config.set(scheduler="sync"):
        expected = [fit([]) for fit, _ in FITS]
    rng, right = random.Random(seed), 0
    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    for k in range(n_kills):
        (fit, within), known = FITS[k % 2], expected[k % 2]
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            victim = rng.choice(list(client.run(os.getpid).values()))
            killer = threading.Timer(rng.uniform(0.0, within), os.kill, (victim, signal.SIGKILL))
            killer.start()
            right += fit([500, 1200]) == known
            killer.join()
        sys.stdout.write(f"{k + 1} kills, {right} right answers\n")
        sys.stdout.flush()
    return right == n_kills


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1]), *map(int, sys.argv[2:])))
