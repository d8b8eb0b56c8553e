"""Threads: when they are started, kept and ended."""

from __future__ import annotations

import os
import threading

import pytest

from skipchain.kernels.kernel import interpreted
from skipchain.parallel import MAX_IDLE, Workers

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def started(monkeypatch):
    """The threads that have been started, one after the other."""
    threads: list[threading.Thread] = []
    start = threading.Thread.start

    def started(thread):
        threads.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)
    return threads


def where(_):
    return threading.get_ident()


def test_one_piece_of_work_needs_no_thread(started):
    for _ in range(5):
        with Workers(2) as workers:
            assert workers.map(where, []) == []
            assert workers.map(where, [1]) == [threading.get_ident()]
    with Workers(1) as workers:
        assert workers.map(where, range(5)) == [threading.get_ident()] * 5
    with interpreted(), Workers(2) as workers:
        assert workers.map(where, range(5)) == [threading.get_ident()] * 5
    assert not started


def test_threads_are_kept_from_block_to_block(started):
    both = threading.Barrier(2)

    def meet(number):
        both.wait(timeout=60)
        return number, threading.get_ident()

    seen = set()
    for _ in range(20):
        with Workers(2) as workers:
            numbers, idents = zip(*workers.map(meet, range(2)), strict=True)
            assert numbers == (0, 1)
            seen.update(idents)
    assert len(seen) == 2
    assert len(started) <= 2  # another test may have left some


def test_blocks_inside_each_other_have_threads_of_their_own():
    def inner(_):
        with Workers(2) as workers:
            return workers.map(lambda number: 2 * number, range(3))

    with Workers(2) as workers:
        assert workers.map(inner, range(4)) == [[0, 2, 4]] * 4


def test_items_are_made_ahead_one_at_a_time_and_in_order():
    made = []

    def items():
        for number in range(4):
            made.append((number, threading.get_ident()))
            yield number

    for threads in (1, 2):
        made.clear()
        with Workers(threads) as workers:
            for number in workers.ahead(items()):
                assert len(made) <= number + 2
        assert [number for number, _ in made] == list(range(4))
        here = {ident == threading.get_ident() for _, ident in made}
        assert here == {threads == 1}


def test_a_failure_to_make_an_item_comes_where_the_item_would():
    def items():
        yield 1
        raise ValueError("no second")

    with Workers(2) as workers:
        made = workers.ahead(items())
        assert next(made) == 1
        with pytest.raises(ValueError, match="no second"):
            next(made)


def test_work_goes_on_after_a_failure():
    def fail(number):
        raise ValueError(f"number {number}")

    for _ in range(3):
        with pytest.raises(ValueError, match="number 0"), Workers(2) as workers:
            workers.map(fail, range(4))
    with Workers(2) as workers:
        assert workers.map(abs, [-1, 2, -3]) == [1, 2, 3]


def test_no_more_threads_are_kept_than_may_be_used():
    with Workers(3) as workers:
        workers.map(abs, range(3))
        before = threading.active_count()
    blocks = [Workers(3) for _ in range(2 * MAX_IDLE)]
    for block in blocks:
        block.__enter__().map(abs, range(3))
    for block in blocks:
        block.__exit__(None, None, None)
    assert threading.active_count() - before <= 3 * MAX_IDLE


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_begins_with_threads_of_its_own():
    with Workers(2) as workers:
        workers.map(abs, range(4))
    child = os.fork()
    if child == 0:
        with Workers(2) as workers:
            os._exit(0 if workers.map(abs, [-1, -2, 3]) == [1, 2, 3] else 1)
    assert os.waitpid(child, 0)[1] == 0
