"""The pool beside other libraries: what threadpoolctl sees and limits, and how many threads the
workers of joblib and dask use."""

import os
import subprocess
import sys
import types

import joblib
import numpy as np
import pytest
import threadpoolctl

from finch_backend_c import threads as pool
from finch_core import _, parallel, set_threads
from finch_core.runtime import threads
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options


@pytest.fixture(autouse=True)
def _threads():
    yield
    set_threads(None)


def counted(y):
    for i in parallel(_):
        y[i] += i


def ours():
    return [found for found in threadpoolctl.threadpool_info() if found["user_api"] == "finch"]


def test_threadpoolctl_sees_and_limits_the_threads():
    kernel = Kernel(counted, Options(backend="c", least_work=64))
    y = np.zeros(1000)
    kernel(y)
    set_threads(3)
    (found,) = ours()
    assert found["num_threads"] == 3
    assert os.path.exists(found["filepath"])
    with threadpoolctl.threadpool_limits(1):
        assert threads.threads() == 1
        kernel(y)
    with threadpoolctl.threadpool_limits(2, user_api="finch"):
        assert ours()[0]["num_threads"] == 2
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert threads.threads() == 3
    assert threads.threads() == 3
    assert np.array_equal(y, 2 * np.arange(1000))


def test_an_older_threadpoolctl_leaves_the_threads_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", types.ModuleType("threadpoolctl"))
    monkeypatch.setattr(pool.POOL, "made", None)
    assert pool.pool()


@pytest.mark.parametrize(
    ("given", "number"),
    [("1", 1), ("2,1", 2), ("none", 5), ("0", 5), ("", 5), (" 4 ", 4), ("900", 5)],
)
def test_the_default_is_at_most_what_all_libraries_are_given(monkeypatch, given, number):
    monkeypatch.delenv("FINCH_THREADS", raising=False)
    monkeypatch.setattr(threads, "cores", lambda: 5)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    set_threads(None)
    assert threads.threads() == number
    monkeypatch.setenv("FINCH_THREADS", "7")
    set_threads(None)
    assert threads.threads() == 7


def number_of_threads(_task):
    from finch_core.runtime import threads

    return os.getpid(), threads.threads()


def test_processes_of_joblib_share_the_cores(monkeypatch):
    monkeypatch.delenv("FINCH_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with joblib.parallel_config("loky", n_jobs=2):
        found = dict(joblib.Parallel()(map(joblib.delayed(number_of_threads), range(4))))
    assert os.getpid() not in found
    assert set(found.values()) == {max(1, joblib.cpu_count() // 2)}


def test_processes_of_dask_use_one_thread_each():
    program = """
import os
from distributed import Client, LocalCluster

def number():
    from finch_core.runtime import threads
    return threads.threads()

if __name__ == "__main__":
    os.environ.pop("FINCH_THREADS", None)
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            print(client.submit(number).result(timeout=100))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "1", done.stderr[-2000:]
