"""Stores: what they answer is what PyTorch's answer; processes and threads share them."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed

from clew import distributed as dist


def answers(store: Any) -> list[Any]:
    """What a store says to a sequence of calls."""
    found = []
    store.set("a", "1")
    found += [store.get("a"), store.add("n", 2), store.add("n", -5), store.get("n")]
    found += [store.check(["a", "n"]), store.check(["a", "none"])]
    found += [store.compare_set("a", "1", "2"), store.compare_set("a", "1", "3"), store.get("a")]
    found += [store.compare_set("new", "", "x"), store.get("new")]
    store.append("a", "more")
    store.multi_set(["p", "q"], ["5", b"6"])
    found += [store.get("a"), store.multi_get(["p", "q"]), store.has_extended_api()]
    found += [store.delete_key("a"), store.delete_key("a"), store.check(["a"])]
    store.wait(["p"], timedelta(seconds=1))
    return found


def test_the_answers_are_pytorchs(tmp_path: Path) -> None:
    expected = answers(torch.distributed.HashStore())
    plain = dist.HashStore()
    assert answers(plain) == expected
    assert answers(dist.PrefixStore("run", plain)) == expected
    assert plain.get("run/p") == b"5" and sorted(plain.list_keys())[0] == "n"
    assert answers(dist.FileStore(str(tmp_path / "values"), 1)) == expected
    assert answers(dist.TCPStore("127.0.0.1", 0, 1, True)) == expected


def test_waiting_in_vain_says_for_what() -> None:
    store = dist.HashStore()
    with pytest.raises(dist.DistStoreError, match=r"wait timeout after 10ms, keys: b"):
        store.wait(["b"], timedelta(milliseconds=10))
    with pytest.raises(dist.QueueEmptyError):
        store.queue_pop("q", block=False)
    with pytest.raises(dist.DistNetworkError, match="no process of this machine has made"):
        dist.TCPStore("127.0.0.1", 1, 1, False, timedelta(milliseconds=10))
    first = dist.TCPStore("127.0.0.1", 0, 1, True)
    with pytest.raises(dist.DistNetworkError, match="address already in use"):
        dist.TCPStore("127.0.0.1", first.port, 1, True)


def _count(store: Any, times: int) -> None:
    for _ in range(times):
        store.add("n", 1)


def _from_thread(store: Any) -> Callable[[], None]:
    thread = threading.Thread(target=_count, args=(store, 50))
    thread.start()
    return thread.join


def test_nothing_is_lost_between_processes_and_threads(tmp_path: Path) -> None:
    store = dist.FileStore(str(tmp_path / "values"), 3)
    store.set("start", "")
    # A forked process has the open file of this one, and must not share its lock.
    process = multiprocessing.get_context("fork").Process(target=_count, args=(store, 50))
    process.start()
    join = _from_thread(store)
    other = pickle.loads(pickle.dumps(store))
    _count(other, 50)
    process.join()
    join()
    assert store.add("n", 0) == other.add("n", 0) == 150


def test_a_queue_gives_what_came_first() -> None:
    store = dist.HashStore()
    thread = threading.Thread(target=lambda: (time.sleep(0.05), store.queue_push("q", "x")))
    thread.start()
    assert store.queue_pop("q") == b"x"
    thread.join()
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert store.queue_len("q") == 2 and store.queue_pop("q") == b"1"
