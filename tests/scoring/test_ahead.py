"""Iterators that work ahead in a thread."""

import threading
import time

import pytest

from rejo.scoring.ahead import ahead


def test_items_and_their_order():
    assert list(ahead(range(100), 3)) == list(range(100))
    assert list(ahead([])) == []


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        yield 2
        raise KeyError("three")

    seen = []
    with pytest.raises(KeyError, match="three"):
        seen.extend(ahead(items()))
    assert seen == [1, 2]


def test_no_more_is_made_than_asked_for():
    made = []

    def items():
        for i in range(100):
            made.append(i)
            yield i

    some = ahead(items(), 2)
    assert next(some) == 0
    time.sleep(0.05)
    assert len(made) <= 5
    some.close()
    n = len(made)
    time.sleep(0.05)
    assert len(made) == n < 100


def test_files_are_closed_where_they_were_opened():
    threads = []

    def items():
        threads.append(threading.current_thread())
        try:
            yield from range(100)
        finally:
            threads.append(threading.current_thread())

    some = ahead(items())
    next(some)
    some.close()
    assert len(threads) == 2
    assert threads[0] is threads[1] is not threading.current_thread()
