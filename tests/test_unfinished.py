"""What is begun is cleared up, by its block or by the end of the process, whatever fails."""

from __future__ import annotations

import pytest

from skipchain.unfinished import Clearing, clear_up


def test_the_last_is_cleared_up_first_and_failures_hinder_nobody():
    done = []

    def fail():
        done.append("second")
        if len(done) == 2:
            raise OSError("it has gone")

    with (
        Clearing(lambda: done.append("first")),
        Clearing(fail),
        Clearing(lambda: done.append("third")),
    ):
        clear_up()
        assert done == ["third", "second", "first"]
        clear_up()
        assert len(done) == 3  # each has had its turn


def test_a_block_that_has_ended_is_not_cleared_up_again():
    done = []
    with pytest.raises(KeyboardInterrupt), Clearing(lambda: done.append("cleared up")):
        raise KeyboardInterrupt
    clear_up()
    assert done == ["cleared up"]
