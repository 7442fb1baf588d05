"""Calls of several threads that write one tensor."""

import threading

import numpy as np
import pytest

from finch_array import assignment, methods
from finch_core import LifecycleError, Tensor, _, kernel
from finch_core.runtime.writers import Writer, marked
from finch_levels import Dense, Element, SparseHash, SparseList

HASH = SparseHash(Element(0.0))


@kernel
def insert(h, keys):
    for p in range(len(keys)):
        h[keys[p]] += 1.0


@kernel
def twice(C, A):
    C[...] = 0
    for i, j in _:
        C[i, j] = 2 * A[i, j]


def keys(seed, n=100_000):
    return np.random.default_rng(seed).integers(0, 10**7, n)


def together(calls):
    """What the calls raised, each in a thread of its own."""
    errors, start = [], threading.Barrier(len(calls))

    def run(call):
        start.wait()
        try:
            call()
        except LifecycleError as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_one_tensor_is_written_by_one_call_at_a_time():
    table, parts = Tensor(HASH, (10**7,)), [keys(seed) for seed in range(6)]
    insert(table, parts[0])
    errors = together([lambda part=part: insert(table, part) for part in parts])
    done = len(parts) - len(errors) + 1
    assert table.to_numpy().sum() == done * len(parts[0])
    for error in errors:
        assert "h is being written by another call" in str(error)
        assert "hold a lock around the calls" in str(error)
    assert table.writer.ended


def test_bound_calls_are_told_apart_too():
    table, parts = Tensor(HASH, (10**7,)), [keys(seed) for seed in range(4)]
    insert(table, parts[0])
    bound = [insert.bind(table, part) for part in parts]
    errors = together(bound)
    assert table.to_numpy().sum() == (len(parts) - len(errors) + 1) * len(parts[0])


def test_a_call_beside_another_is_refused_and_changes_nothing():
    table = Tensor(HASH, (10,))
    insert(table, np.array([1, 2]))
    run = insert.bind(table, np.array([3]))
    marked(table).writer = other = Writer()
    for call in (lambda: insert(table, np.array([4])), run):
        with pytest.raises(LifecycleError, match="h is being written by another call"):
            call()
    other.ended = True
    assert table.nstored == 2
    run()
    assert table.nstored == 3


def test_each_thread_may_write_its_own_and_read_the_same():
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(200))
    made = [Tensor(Dense(SparseList(Element(0.0)))) for _ in range(4)]
    twice(Tensor(made[0].format), A)
    assert together([lambda C=C: twice(C, A) for C in made]) == []
    assert all((C.to_numpy() == 2 * np.eye(200)).all() for C in made)


def test_a_failing_call_leaves_the_tensor_to_others():
    table = Tensor(HASH, (10,))
    with pytest.raises(IndexError):
        insert(table, np.array([1, 99]))
    insert(table, np.array([1, 2]))
    assert table.writer.ended


CHANGES = {
    "an element": lambda h: h.__setitem__(3, 1.0),
    "a part": lambda h: h.__setitem__(slice(2, 5), 0.0),
    "a mask": lambda h: h.__setitem__(h > 0, 2.0),
    "in place": lambda h: h.__iadd__(h),
}


@pytest.mark.parametrize("name", CHANGES)
def test_assignments_beside_a_call_are_refused_and_change_nothing(name):
    table = Tensor(HASH, (10,))
    insert(table, np.array([1, 2]))
    marked(table).writer = other = Writer()
    with pytest.raises(LifecycleError, match="the array is being written by another call"):
        CHANGES[name](table)
    other.ended = True
    assert table.nstored == 2
    CHANGES[name](table)
    assert table.writer.ended


def test_assignments_that_fail_leave_no_mark():
    table = Tensor(HASH, (10,))
    with pytest.raises(IndexError):
        table[11] = 1.0
    assert table.writer.ended
    insert(table, np.array([1]))


@pytest.mark.parametrize("module", [assignment, methods])
def test_an_interrupt_leaves_no_mark(module, monkeypatch):
    """A signal's handler may raise as the function returns that marks the tensor."""
    table, begin = Tensor(HASH, (10,)), module.begin_writing

    def interrupted(*args):
        begin(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "begin_writing", interrupted)
    change = CHANGES["an element" if module is assignment else "in place"]
    with pytest.raises(KeyboardInterrupt):
        change(table)
    assert table.writer.ended
    insert(table, np.array([1]))


def test_a_tensor_stays_lent_where_parts_of_it_are_assigned():
    """SciPy's array is over the indices of a row that is assigned values alone."""
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
    seen = A.to_scipy()
    A[1, 1] = 5.0
    twice(A, np.ones((3, 3)))
    assert seen.toarray().tolist() == np.eye(3).tolist()


def test_assignments_and_calls_of_several_threads():
    table, part = Tensor(HASH, (10**7,)), keys(0, 20_000)
    insert(table, part)

    def assign():
        for k in range(200):
            table[k] = 2.0

    errors = together([assign, lambda: [insert(table, part) for _ in range(20)], assign])
    assert table.writer.ended
    assert all("is being written by another call" in str(error) for error in errors)
    table[5] = 7.0
    assert table[5] == 7
