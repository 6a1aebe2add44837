"""Fits on clusters of this machine: the same bits on any number of workers, also where one is killed."""

import os
import signal
from contextlib import contextmanager

import dask
import numpy as np
import pytest
from dask_samples import bits, fit, three_classes, two_classes
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cvxens.dask import DaskInfiniteEnsembleSVC, DaskLPBoostClassifier
from cvxens.dask.shards import ShardedSample
from cvxens.errors import InvalidInput, WorkersLost

QUIET = {
    "distributed.scheduler.allowed-failures": 10,
    "distributed.comm.timeouts.connect": "10s",
    # workers come from a process that has imported the package already
    "distributed.worker.multiprocessing-method": "forkserver",
}


@pytest.fixture(autouse=True)
def on_the_cluster(one_thread):
    """The client's own scheduler, in place of the one thread of the other tests."""
    with dask.config.set({"scheduler": None, **QUIET}):
        yield


def start(n_workers, processes=False):
    get_mp_context().set_forkserver_preload(["cvxens.dask", "distributed"])
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=":0",
        memory_limit=0,
        silence_logs=50,
    )


@contextmanager
def after_questions(number, act, *told):
    """Act when shards are asked for this time; yields a list that grows with every question."""
    ask, asked = ShardedSample.map_reduce, []

    def counted(self, *what, **options):
        asked.append(what)
        if len(asked) == number:
            act(*told)
        return ask(self, *what, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShardedSample, "map_reduce", counted)
        yield asked


PARTITIONS = [], [20], [7, 30], [1, 1, 20, 39]
"""Where shards end: 1, 2, 3 and 5 of them; an empty one is among these, and some of one class."""


def test_fits_are_the_same_bits_for_all_partitions_and_numbers_of_workers(tmp_path):
    X, y = two_classes(40, 2)
    boosted, machine = DaskLPBoostClassifier(C=0.1, tol=1e-2), DaskInfiniteEnsembleSVC(C=0.05)
    saved = clone(boosted).set_params(checkpoint=tmp_path / "fit.checkpoint", max_columns=3)
    several, named = clone(boosted).set_params(tol=0.1), three_classes(30)
    with dask.config.set(scheduler="sync"):
        alone, of_machine = (bits(fit(clone(model), [], X, y)) for model in (boosted, machine))
        of_several = bits(fit(several, [], *named))
    for n_workers in (1, 2):
        with start(n_workers) as cluster, Client(cluster) as client:
            for ends in PARTITIONS[n_workers - 1 :: 2]:
                model = fit(clone(boosted).set_params(client=client), ends, X, y)
                assert model.client_ is client
                assert bits(model) == alone
            assert bits(fit(machine, ends, X, y)) == of_machine
            # begun on one worker, resumed on two
            if n_workers == 1:
                with pytest.warns(ConvergenceWarning, match="max_columns"):
                    fit(saved, [7], X, y)
            else:
                resumed = fit(saved.set_params(max_columns=None), [30], X, y)
                assert resumed.certificate_.holds(1e-2)
                assert len(resumed.history_) > 1
                assert bits(fit(several, [10, 15], *named)) == of_several
            X_late = X.copy()
            X_late[38, 1] = np.nan
            with pytest.raises(InvalidInput, match="found nan in feature 1 in row 38 "):
                fit(clone(boosted), ends, X_late, y)


def test_a_killed_worker_costs_no_bit():
    X, y = two_classes(40, 2)
    boosted = DaskLPBoostClassifier(C=0.1, tol=1e-2)
    with dask.config.set(scheduler="sync"):
        alone = bits(fit(clone(boosted), [], X, y))
    with start(2, processes=True) as cluster, Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        with after_questions(15, os.kill, victim, signal.SIGKILL) as asked:
            model = fit(boosted, [20, 30], X, y)
        assert len(asked) > 20
        assert model.client_ is client
        assert bits(model) == alone


def test_a_client_that_disconnects_is_one_error_with_the_best_state():
    X, y = two_classes(60, 2)
    with start(1) as cluster:
        for model, n in ((DaskLPBoostClassifier(C=0.2, tol=1e-6), 40), (DaskInfiniteEnsembleSVC(C=0.2), 5)):
            client = Client(cluster)
            with after_questions(n, client.close), pytest.raises(WorkersLost, match="the workers were lost") as lost:
                fit(model.set_params(client=client), [20], X, y)
            best = lost.value.best
            if isinstance(model, DaskLPBoostClassifier):
                assert 0 < best.bound < best.solution.objective < 12
            else:
                # its bound is asked for in the end
                assert best is None
            assert not hasattr(model, "certificate_")
