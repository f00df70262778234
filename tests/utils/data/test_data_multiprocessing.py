"""clew.multiprocessing: tensors between processes, shared memory, groups of processes.

This file does not import torch, because processes that are not forked import it again.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest

import clew
import clew.multiprocessing as mp
from clew.utils.data import DataLoader, get_worker_info

# Generous, because the machine may be busy.
PATIENCE = 60


class Draws:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return [float(clew.rand(())), random.random(), float(np.random.rand()), str(info.seed)]


def test_the_start_method_does_not_change_the_batches() -> None:
    def batches(method: str) -> list[Any]:
        clew.manual_seed(4)
        loader = DataLoader(Draws(), 2, True, num_workers=1, multiprocessing_context=method)
        return [list(loader), clew.rand(1)]

    expected = batches("fork")
    assert repr(batches("spawn")) == repr(expected)
    assert repr(batches("forkserver")) == repr(expected)


# -- pickling ----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_tensors_are_independent_and_writable(protocol: int) -> None:
    tensors = [
        clew.arange(12.0).reshape(3, 4).t(), clew.tensor(3), clew.zeros(0, 3),
        clew.ones(3).bfloat16(), clew.ones(2, dtype=clew.bool), clew.ones(3).expand(2, 3),
        clew.ones(2, requires_grad=True), clew.nn.Parameter(clew.ones(2)),
    ]  # fmt: skip
    for tensor in tensors:
        before = tensor.tolist()
        copied = pickle.loads(pickle.dumps(tensor, protocol))
        assert type(copied) is type(tensor) and copied.dtype == tensor.dtype
        assert clew.equal(copied, tensor) and copied.requires_grad == tensor.requires_grad
        with clew.no_grad():
            copied.zero_()
        assert tensor.tolist() == before
    assert pickle.loads(pickle.dumps(tensors[0], protocol)).stride() == (1, 4)


def test_the_memory_of_a_tensor_can_be_pickled_apart() -> None:
    tensor = clew.arange(1000.0)
    buffers: list[Any] = []
    small = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    assert len(small) < 1000 and len(buffers) == 1
    same = pickle.loads(small, buffers=buffers)
    assert same.data_ptr() == tensor.data_ptr()
    from_read_only = pickle.loads(small, buffers=[bytes(buffers[0])])
    assert clew.equal(from_read_only, tensor)
    from_read_only.zero_()


def test_queue_and_pipe() -> None:
    queue = mp.SimpleQueue()
    queue.put({"x": clew.arange(3), "p": clew.nn.Parameter(clew.ones(1))})
    got = queue.get()
    assert got["x"].tolist() == [0, 1, 2] and isinstance(got["p"], clew.nn.Parameter)
    near, far = mp.Pipe()
    near.send(clew.ones(2, 2))
    assert far.recv().shape == (2, 2)
    with pytest.raises(RuntimeError, match=r"^Cowardly refusing to serialize non-leaf tensor"):
        near.send(clew.ones(2, requires_grad=True) * 2)
    near.close(), far.close(), queue.close()


# -- shared memory -----------------------------------------------------------------------------


def test_share_memory() -> None:
    for tensor in (
        clew.randn(3, 4), clew.zeros(()), clew.zeros(0, 2), clew.ones(2, 3).bfloat16(),
        clew.empty_like(clew.randn(2, 3, 4, 5), memory_format=clew.channels_last).normal_(),
    ):  # fmt: skip
        before, strides = tensor.tolist(), tensor.stride()
        assert not tensor.is_shared()
        assert tensor.share_memory_() is tensor
        assert tensor.is_shared() and tensor.tolist() == before and tensor.stride() == strides
        address = tensor.data_ptr()
        assert tensor.share_memory_().data_ptr() == address
    shared = clew.zeros(3).share_memory_()
    assert shared[0].is_shared() and not shared.clone().is_shared()
    assert shared.untyped_storage().is_shared()
    with clew.inference_mode():
        assert clew.zeros(1).share_memory_().is_shared() and not clew.zeros(1).is_shared()
    with pytest.raises(RuntimeError, match="this tensor is a view"):
        clew.zeros(4)[1:].share_memory_()


def _count(rank: int, model: Any, counter: Any, part: Any, queue: Any, done: Any) -> None:
    with clew.no_grad():
        model.weight.add_(1)
    counter.add_(1)
    part.fill_(9)
    queue.put((clew.full((2,), float(rank)), counter))
    done.wait(PATIENCE)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_write_to_the_same_memory(method: str) -> None:
    context = mp.get_context(method)
    model = clew.nn.Linear(2, 1, bias=False)
    with clew.no_grad():
        model.weight.zero_()
    model.share_memory()
    counter, whole = clew.zeros(1).share_memory_(), clew.zeros(4).share_memory_()
    queue, done = context.Queue(), context.Event()
    arguments = (7, model, counter, whole[2:], queue, done)
    process = context.Process(target=_count, args=arguments)
    process.start()
    copied, same = queue.get(timeout=PATIENCE)
    done.set()
    process.join()
    assert process.exitcode == 0
    assert model.weight.tolist() == [[1.0, 1.0]] and model.weight.requires_grad
    assert counter.tolist() == [1.0] and whole.tolist() == [0.0, 0.0, 9.0, 9.0]
    assert copied.tolist() == [7.0, 7.0] and not copied.is_shared()
    counter.fill_(5)
    assert same.is_shared() and same.tolist() == [5.0]


# -- groups of processes -----------------------------------------------------------------------


def _act(rank: int, what: str, counter: Any) -> None:
    counter[rank] = rank + 1.0
    if rank == 1 and what != "fine":
        if what == "raise":
            raise ValueError("boom")
        if what == "exit":
            os._exit(7)
        if what == "sys.exit":
            sys.exit(5)
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 0 and what != "fine":
        time.sleep(PATIENCE)


def test_spawn() -> None:
    counter = clew.zeros(2).share_memory_()
    assert mp.spawn(_act, args=("fine", counter), nprocs=2, join=True) is None
    assert counter.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("what", "kind", "message"),
    [
        ("raise", mp.ProcessRaisedException, "\n\n-- Process 1 terminated with the following err"),
        ("exit", mp.ProcessExitedException, "process 1 terminated with exit code 7"),
        ("sys.exit", mp.ProcessExitedException, "process 1 terminated with exit code 5"),
        ("kill", mp.ProcessExitedException, "process 1 terminated with signal SIGKILL"),
    ],
)
def test_an_error_in_one_process_ends_all(what: str, kind: type, message: str) -> None:
    start = time.monotonic()
    with pytest.raises(mp.ProcessException) as caught:
        mp.start_processes(_act, (what, clew.zeros(2)), nprocs=2, start_method="fork")
    assert time.monotonic() - start < PATIENCE / 2
    error = caught.value
    assert type(error) is kind and str(error).startswith(message)
    assert error.error_index == 1 and error.pid > 0
    if what == "raise":
        assert str(error).rstrip().endswith("ValueError: boom")
    else:
        expected = {"exit": (7, None), "sys.exit": (5, None), "kill": (-9, "SIGKILL")}[what]
        assert (error.exit_code, error.signal_name) == expected
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_waiting_for_a_group() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        group = mp.spawn(_act, ("fine", clew.zeros(2)), 2, join=False, start_method="fork")
    # Since 3.12 Python warns of forks beside threads, too.
    ours = [each.category for each in caught if each.category is not DeprecationWarning]
    assert ours == [FutureWarning]
    assert isinstance(group, mp.ProcessContext) and len(group.pids()) == 2
    while not group.join(timeout=PATIENCE):
        pass
    assert group.join()
    files = group.error_files
    assert all(os.path.exists(file) for file in files)
    del group
    assert not any(os.path.exists(file) for file in files)


def test_names_of_pythons_module_and_strategies() -> None:
    for name in (
        "Process", "Queue", "Pool", "Lock", "Value", "Manager", "cpu_count", "get_start_method",
        "set_start_method", "get_context", "current_process",
    ):  # fmt: skip
        assert callable(getattr(mp, name)), name
    assert clew.multiprocessing is mp
    assert mp.get_sharing_strategy() == "file_descriptor"
    for strategy in sorted(mp.get_all_sharing_strategies(), reverse=True):
        mp.set_sharing_strategy(strategy)
        assert mp.get_sharing_strategy() == strategy
    with pytest.raises(AssertionError, match=r"^invalid sharing strategy 'x', expected one of"):
        mp.set_sharing_strategy("x")
