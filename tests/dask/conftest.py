"""Without a cluster the tests of this folder run in one thread: what dask schedules is the same."""

import dask
import pytest


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield
