"""Names that packages built on PyTorch import: they are there, and what needs more says so."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from typing import Any

import pytest
import torch

import clew
from tests.twice import raised, twice

LISTED = """
_C _C._functorch _C._nn _C._distributed_c10d _C._distributed_rpc _custom_ops _dynamo
_dynamo.config _dynamo.eval_frame _dynamo.exc _dynamo.utils _inductor _inductor.config _jit_internal
_library.custom_ops _ops _subclasses.fake_tensor _tensor_str ao.quantization classes cuda.amp.common
cuda.amp.grad_scaler cuda.comm cuda.graphs cuda.nvtx cuda.profiler cuda.random
distributed._composable.fsdp distributed._functional_collectives distributed._tensor
distributed.algorithms.ddp_comm_hooks.default_hooks distributed.algorithms.join
distributed.algorithms._checkpoint.checkpoint_wrapper
distributed.algorithms.model_averaging.averagers
distributed.checkpoint.state_dict distributed.checkpoint.stateful distributed.constants
distributed.device_mesh distributed.distributed_c10d distributed.elastic.multiprocessing.errors
distributed.fsdp.api distributed.fsdp.fully_sharded_data_parallel
distributed.fsdp.sharded_grad_scaler distributed.fsdp.wrap distributed.launcher.api
distributed.nn.functional distributed.optim distributed.rpc distributed.run
distributed.tensor.experimental distributed.tensor.parallel distributed.tensor.placement_types
distributed.utils export futures jit.annotations jit._recursive library
nn.attention.flex_attention nn.parallel.scatter_gather nn.quantized onnx.symbolic_helper
onnx.symbolic_opset11 onnx.utils quantization return_types utils._contextlib utils._cxx_pytree
utils._foreach_utils utils._triton utils.cpp_extension utils.data.datapipes.iter
utils.data.datapipes.map utils.data.datapipes.utils.common utils.model_zoo utils.weak
"""
MODULES = LISTED.split()


def test_modules_are_found_as_torch() -> None:
    """In a process of its own: `torch` is clew there, also by its name."""
    lines = "\n".join(f"import torch.{name}" for name in MODULES)
    program = f"""
import clew.aliasing
clew.aliasing.install()
import torch
{lines}
assert torch.__name__ == "torch" and torch.torch is torch
clew.aliasing.uninstall()
import clew
assert clew.__name__ == "clew"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_lists_is_there(name: str) -> None:
    module = importlib.import_module(f"clew.{name}")
    for each in getattr(module, "__all__", ()):
        assert hasattr(module, each), each


def test_what_needs_several_processes_says_so() -> None:
    from clew.distributed import fsdp, rpc, tensor

    for call in (
        lambda: fsdp.FullyShardedDataParallel(clew.nn.Linear(1, 1)),
        lambda: tensor.distribute_tensor(clew.ones(1)),
        lambda: rpc.init_rpc("worker"),
        lambda: clew.distributed.init_device_mesh("cpu", (1,)),
    ):
        with pytest.raises(RuntimeError, match="clew trains in one process"):
            call()
    assert not isinstance(clew.ones(1), tensor.DTensor)
    assert tensor.Shard(1).is_shard(1) and tensor.Replicate().is_replicate()


@twice
def test_conditions(lib: Any) -> Any:
    def text() -> str:
        return "said so"

    return [
        raised(lambda: lib._check(False, text)), raised(lambda: lib._check_value(False, text)),
        raised(lambda: lib._check_index(False)), raised(lambda: lib._check_type(False)),
        raised(lambda: lib._check(1)), raised(lambda: lib._check_not_implemented(False, text)),
        raised(lambda: lib._check_tensor_all(lib.tensor([True, False]), text)),
        lib.sym_int(2.7), lib.sym_float(2), lib.sym_max(1, 2.0), lib.sym_min(1, 2),
        lib.sym_not(True), lib.sym_ite(False, 1, 2), lib.sym_sum([1, 2]),
    ]  # fmt: skip


@twice
def test_parse_to(lib: Any) -> Any:
    parse = lib._C._nn._parse_to
    found = [
        parse("cpu", lib.float32), parse(lib.float16), parse(lib.ones(1), non_blocking=True),
        parse(memory_format=lib.channels_last), parse(device="cpu"),
    ]  # fmt: skip
    return [[str(each) for each in one] for one in found]


@twice
def test_futures(lib: Any) -> Any:
    futures = lib.futures
    one, other = futures.Future(), futures.Future()
    both = futures.collect_all([one, other])
    later = one.then(lambda done: done.value() + 1)
    failing = other.then(lambda done: 1 / 0)
    threading.Thread(target=lambda: one.set_result(1)).start()
    first = one.wait()
    other.set_result(2)
    return [
        first, later.wait(), [each.value() for each in both.wait()], both.done(),
        raised(failing.wait, words=2), raised(lambda: one.set_result(3), words=3),
        futures.wait_all([one, other]),
    ]  # fmt: skip


def test_compiled_extensions_are_refused() -> None:
    for call in (
        lambda: clew.ops.load_library("extension.so"),
        lambda: clew.classes.load_library("extension.so"),
    ):
        with pytest.raises(OSError, match="compiled for PyTorch's binary interface"):
            call()
    with pytest.raises(RuntimeError, match="does not exist"):
        clew.classes.mine.Thing()


def test_reader_of_saved_files(tmp_path: Any) -> None:
    torch.save({"w": torch.ones(2)}, tmp_path / "model.pt")
    ours, theirs = (lib._C.PyTorchFileReader(str(tmp_path / "model.pt")) for lib in (clew, torch))
    assert sorted(ours.get_all_records()) == sorted(theirs.get_all_records())
    assert ours.get_record("data/0") == theirs.get_record("data/0")
    assert ours.has_record("data.pkl") and not ours.has_record("nothing")


def test_settings_of_the_compiler_are_patched_and_put_back() -> None:
    config = clew._dynamo.config
    before = config.recompile_limit
    with config.patch(recompile_limit=99, newly_made=1):
        assert (config.recompile_limit, config.newly_made) == (99, 1)
    assert config.recompile_limit == before and not hasattr(config, "newly_made")
