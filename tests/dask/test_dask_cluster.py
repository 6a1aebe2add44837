"""Fits on clusters of this machine: the same bits on any number of workers, also where one is killed."""

import os
import signal
import threading

import dask
import pytest
from dask_samples import cut, two_classes
from distributed import Client, LocalCluster
from test_dask_estimators import bits

from cvxens.dask import DaskLPBoostClassifier
from cvxens.errors import WorkersLost

QUIET = {"distributed.scheduler.allowed-failures": 10, "distributed.comm.timeouts.connect": "10s"}


@pytest.fixture(autouse=True)
def on_the_cluster(one_thread):
    """The client's own scheduler, in place of the one thread of the other tests."""
    with dask.config.set({"scheduler": None, **QUIET}):
        yield


def start(n_workers, processes=False):
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=None,
        memory_limit=0,
        silence_logs=50,
    )


def test_fits_are_the_same_bits_for_all_partitions_and_numbers_of_workers():
    X, y = two_classes(60, 2)
    with dask.config.set(scheduler="sync"):
        alone = bits(DaskLPBoostClassifier(C=0.2, tol=1e-2).fit(cut(X, []), cut(y, [])))
    for n_workers in (1, 2):
        with start(n_workers) as cluster, Client(cluster) as client:
            for ends in ([], [7, 40]) if n_workers == 1 else ([30], [1, 1, 30, 59]):
                model = DaskLPBoostClassifier(C=0.2, tol=1e-2, client=client).fit(cut(X, ends), cut(y, ends))
                assert model.client_ is client
                assert bits(model) == alone


def test_a_killed_worker_costs_no_bit():
    X, y = two_classes(60, 2)
    with dask.config.set(scheduler="sync"):
        alone = bits(DaskLPBoostClassifier(C=0.2, tol=1e-2).fit(cut(X, []), cut(y, [])))
    with start(2, processes=True) as cluster, Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
        killer.start()
        model = DaskLPBoostClassifier(C=0.2, tol=1e-2).fit(cut(X, [20, 40]), cut(y, [20, 40]))
        killer.join()
        assert model.client_ is client
        assert bits(model) == alone


def test_a_client_that_disconnects_is_one_error_with_the_best_state():
    X, y = two_classes(60, 2)
    with start(1) as cluster:
        client = Client(cluster)
        model = DaskLPBoostClassifier(C=0.2, tol=1e-6, client=client)
        rounds = []

        def lose(steps=None):
            rounds.append(steps)
            if len(rounds) == 40:
                client.close()

        from cvxens.dask.shards import ShardedSample

        ask = ShardedSample.ask

        def counted(self, *told, **options):
            lose()
            return ask(self, *told, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ShardedSample, "ask", counted)
            with pytest.raises(WorkersLost, match="the workers were lost") as lost:
                model.fit(cut(X, [20]), cut(y, [20]))
    assert lost.value.best.solution.objective < 12
    assert lost.value.best.bound > 0
    assert not hasattr(model, "certificate_")
