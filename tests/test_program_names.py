"""Small parts of PyTorch that programs touch on the way: compilers, devices, trees, reports."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import struct
import warnings
import zlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils._pytree

import clew
import clew.distributed
import clew.hub
import clew.utils.benchmark
import clew.utils.model_zoo
from clew.utils.tensorboard import SummaryWriter, events
from tests.twice import raised, twice

# -- compilers -------------------------------------------------------------------------------------


def double(x: Any) -> Any:
    return x * 2


def test_compile_is_called_as_programs_call_it() -> None:
    model, x = clew.nn.Linear(2, 2), clew.ones(2)
    assert clew.compile(model, disable=True) is model
    assert clew.compile(double, backend="eager") is double
    assert clew.compile(double, mode="max-autotune", dynamic=True, fullgraph=True)(x)[0] == 2
    assert clew.compile(mode="reduce-overhead", backend="inductor")(double)(x)[0] == 2
    assert clew.compiler.disable(double)(x)[0] == 2
    assert clew.compiler.disable(recursive=False)(double)(x)[0] == 2
    assert clew._dynamo.allow_in_graph(double) is double
    assert clew._dynamo.optimize("eager")(double) is double
    assert clew._dynamo.optimize("inductor")(double)(x)[0] == 2
    assert not clew.compiler.is_compiling()
    with clew.compiler.set_stance("force_eager"):
        clew.compiler.reset()
    clew._dynamo.config.suppress_errors = True
    clew._inductor.config.triton.cudagraphs = True


MARKED = clew.fx.wrap(double), clew.fx.wrap("double")


def test_functions_can_be_marked_for_the_tracer() -> None:
    assert (double, "double") == MARKED
    for lib in (torch, clew):
        with pytest.raises(NotImplementedError, match="wrap must be called at the top level"):
            lib.fx.wrap(double)


def test_compile_refuses_what_pytorch_refuses() -> None:
    for lib in (torch, clew):
        with pytest.raises(RuntimeError, match="Either mode or options can be specified, but both"):
            lib.compile(double, mode="default", options={"x": 1})
        with pytest.raises(AssertionError, match="A callable function is expected, but"):
            lib.compile(3)


def test_jit_runs_python() -> None:
    jit = clew.jit
    model = clew.nn.Linear(2, 2)
    assert jit.script(model) is model
    assert jit.script(double) is double
    assert jit.trace(model, clew.ones(1, 2)) is model
    assert jit.ignore(double) is double
    assert jit.ignore(drop=True)(double) is double
    assert jit.annotate(list[int], [1]) == [1]
    assert jit.wait(jit.fork(double, 3)) == 6
    assert jit.isinstance([1], list[int]) and not jit.isinstance(1, str)
    assert not jit.is_scripting() and not jit.is_tracing()

    class Net(jit.ScriptModule):
        @jit.script_method
        def forward(self, x: Any) -> Any:
            return x + 1

    assert Net()(clew.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match=r"clew has no TorchScript.*state_dict"):
        jit.save(model, "model.pt")
    with pytest.raises(RuntimeError, match="clew has no TorchScript"):
        jit.load("model.pt")


# -- devices and processes -------------------------------------------------------------------------

QUESTIONS = (
    "accelerator.is_available()", "accelerator.current_accelerator()", "accelerator.device_count()",
    "mps.is_available()", "xpu.is_available()", "xpu.device_count()", "cuda._initialized",
    "backends.cudnn.is_available()", "backends.cudnn.version()", "backends.cudnn.enabled",
    "backends.cudnn.allow_tf32", "backends.cudnn.benchmark_limit", "backends.mps.is_built()",
    "backends.cuda.matmul.allow_tf32", "backends.cuda.flash_sdp_enabled()",
    "backends.cuda.matmul.allow_fp16_reduced_precision_reduction", "cuda.is_bf16_supported()",
    "version.cuda", "version.hip", "version.debug", "distributed.is_initialized()",
    "distributed.is_nccl_available()", "distributed.is_torchelastic_launched()",
    "get_deterministic_debug_mode()", "is_deterministic_algorithms_warn_only_enabled()",
    "utils.deterministic.fill_uninitialized_memory", "cuda.get_rng_state_all()",
)  # fmt: skip


@pytest.mark.skipif(
    torch.version.cuda is not None,
    reason="the installed torch is a CUDA build, which answers for a GPU",
)
@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_have_pytorchs_answers(question: str) -> None:
    mine, theirs = (eval(f"lib.{question}", {"lib": lib}) for lib in (clew, torch))
    assert mine == theirs
    assert type(mine) is type(theirs)


REFUSED = (
    "accelerator.synchronize()", "accelerator.current_device_index()", "mps.synchronize()",
    "cuda.current_stream()", "cuda.Stream()", "cuda.FloatTensor(3)", "cuda.init()",
    "cuda.get_rng_state()", "Generator(device='cuda')", "distributed.get_rank()",
    "distributed.get_world_size()", "distributed.barrier()", "distributed.destroy_process_group()",
    "distributed.all_reduce(lib.ones(2))", "nn.parallel.DistributedDataParallel(lib.nn.ReLU())",
    "set_deterministic_debug_mode('often')", "set_deterministic_debug_mode(3)",
    "random.fork_rng(devices=[0]).__enter__()",
    "nn.attention.sdpa_kernel('fast').__enter__()", "cuda.Event()", "cuda.CUDAGraph()",
    "cuda.graph(None)", "cuda.graph_pool_handle()", "cuda.FloatStorage(3)",
    "cuda.ByteStorage.from_buffer(b'ab')", "cuda.make_graphed_callables(lib.nn.ReLU(), ())",
    "set_default_tensor_type(lib.cuda.HalfTensor)",
    "set_default_tensor_type('torch.cuda.FloatTensor')",
)  # fmt: skip


@pytest.mark.skipif(
    torch.version.cuda is not None,
    reason="the installed torch is a CUDA build, which answers for a GPU",
)
@pytest.mark.parametrize("call", REFUSED)
def test_what_is_not_there_raises_as_in_pytorch(call: str) -> None:
    raised = []
    for lib in (torch, clew):
        with pytest.raises((RuntimeError, AssertionError, ValueError, TypeError)) as caught:
            eval(f"lib.{call}", {"lib": lib})
        raised.append(caught.value)
    assert isinstance(raised[1], type(raised[0]))
    if "Generator" not in call:  # PyTorch speaks of its shared libraries there
        words = str(raised[0]).split()[:4]
        assert " ".join(str(raised[1]).split()[:4]).rstrip(".:,") == " ".join(words).rstrip(".:,")


def test_switches_are_kept() -> None:
    clew.backends.cudnn.benchmark = True
    with clew.backends.cudnn.flags(enabled=False, benchmark=False):
        assert not clew.backends.cudnn.enabled and not clew.backends.cudnn.benchmark
    assert clew.backends.cudnn.enabled and clew.backends.cudnn.benchmark
    clew.backends.cudnn.benchmark = False
    with (
        pytest.warns(FutureWarning, match="is deprecated"),
        clew.backends.cuda.sdp_kernel(enable_flash=False),
    ):
        assert not clew.backends.cuda.flash_sdp_enabled()
    assert clew.backends.cuda.flash_sdp_enabled()
    clew.set_deterministic_debug_mode("warn")
    assert clew.get_deterministic_debug_mode() == 1
    assert clew.are_deterministic_algorithms_enabled()
    assert clew.is_deterministic_algorithms_warn_only_enabled()
    clew.set_deterministic_debug_mode(0)
    assert not clew.are_deterministic_algorithms_enabled()
    assert clew.set_flush_denormal(True) is False


def test_fork_rng_without_devices() -> None:
    clew.manual_seed(1)
    state = clew.get_rng_state()
    with clew.random.fork_rng(devices=range(clew.cuda.device_count())):
        clew.rand(3)
    assert clew.equal(clew.get_rng_state(), state)


def test_cuda_types_are_types() -> None:
    tensor_type = clew.cuda.FloatTensor if clew.cuda.is_available() else clew.FloatTensor
    assert isinstance(clew.ones(2), tensor_type)
    assert not isinstance(clew.ones(2), clew.cuda.FloatTensor)
    assert repr(clew.cuda.LongTensor) == repr(torch.cuda.LongTensor)
    with pytest.raises(RuntimeError, match="CUDA"):
        clew.ones(2).type(clew.cuda.FloatTensor)
    with clew.cuda.device(0), clew.cuda.stream(None):
        pass


def test_distributed_says_why() -> None:
    assert clew.distributed.is_available()
    with pytest.raises(RuntimeError, match="moves tensors between GPUs"):
        clew.distributed.init_process_group("nccl", rank=0, world_size=1)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        importlib.import_module("clew.distributed.nn").all_reduce(clew.ones(2))
    assert clew.distributed.ReduceOp.SUM.name == "SUM"


def test_data_parallel_is_the_module() -> None:
    def scenario(lib: Any) -> Any:
        lib.manual_seed(0)
        model = lib.nn.DataParallel(lib.nn.Linear(2, 2))
        x = lib.ones(3, 2)
        state = list(model.state_dict())
        return [repr(model), state, model.device_ids, model(x), model.module(x)]

    twice(scenario)()


def test_attention_with_a_chosen_kernel() -> None:
    backend = clew.nn.attention.SDPBackend
    assert {each.name: each.value for each in backend} == {
        name: int(each) for name, each in torch.nn.attention.SDPBackend.__members__.items()
    }
    x = clew.rand(1, 1, 3, 2)
    attend = clew.nn.functional.scaled_dot_product_attention
    with clew.nn.attention.sdpa_kernel([backend.FLASH_ATTENTION, backend.MATH]):
        assert clew.equal(attend(x, x, x), attend(x, x, x))


def test_memory_is_shared_by_dlpack() -> None:
    x = clew.arange(3.0)
    y = clew.utils.dlpack.from_dlpack(x)
    y[0] = 7
    assert x[0] == 7
    assert type(clew.utils.dlpack.to_dlpack(x)).__name__ == "PyCapsule"


# -- old names -------------------------------------------------------------------------------------


def test_volatile_warns() -> None:
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        clew.autograd.Variable(clew.ones(2), volatile=True)


def test_dense_tensors_where_sparse_ones_could_be() -> None:
    x = clew.ones(2, 2)
    assert x.to_dense() is x
    assert x.to_dense(dtype=clew.float64).dtype is clew.float64
    assert clew.equal(clew.spmm(x, x), clew.mm(x, x))


# -- lists and trees of tensors --------------------------------------------------------------------


def test_foreach_matches_pytorch() -> None:
    def scenario(lib: Any) -> Any:
        def tensors() -> list[Any]:
            return [lib.arange(1.0, 4.0), lib.tensor([[4.0, 0.5]])]

        seen: list[Any] = []
        for name, *args in (
            ("add", 2), ("add", [1, 2.5]), ("add", tensors()), ("mul", tensors()), ("sqrt",),
            ("div", 3.0), ("sub", [1.0, 2.0]), ("neg",), ("pow", 2), ("exp",), ("maximum", 2.0),
            ("minimum", tensors()), ("addcmul", tensors(), tensors(), 0.5), ("clamp_min", 1.5),
            ("addcdiv", tensors(), tensors(), [0.5, 2.0]), ("lerp", tensors(), 0.25), ("norm",),
        ):  # fmt: skip
            function = getattr(lib, f"_foreach_{name}")
            seen.append(list(function(tensors(), *args)))
            if hasattr(lib, f"_foreach_{name}_"):
                changed = tensors()
                getattr(lib, f"_foreach_{name}_")(changed, *args)
                seen.append(changed)
        changed = tensors()
        lib._foreach_add_(changed, tensors(), alpha=2)
        lib._foreach_lerp_(changed, tensors(), weight=0.5)
        lib._foreach_zero_(second := tensors())
        lib._foreach_copy_(second[:1], tensors()[:1])
        return [seen, changed, second]

    twice(scenario)()


def test_foreach_refuses_lists_of_other_lengths() -> None:
    for lib in (torch, clew):
        with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors"):
            lib._foreach_add([lib.ones(1)], [lib.ones(1), lib.ones(1)])
        with pytest.raises(RuntimeError, match="Tensor list must have at least one tensor"):
            lib._foreach_neg([])
    assert not hasattr(clew, "_foreach_nothing")


Pair = namedtuple("Pair", "left right")
TREE = {
    "b": [1, (2, None)], "a": Pair(3, OrderedDict(x=4)), "c": deque([5], maxlen=2),
    "d": defaultdict(list, {"k": 6}), "e": (), "f": {7},
}  # fmt: skip


def test_trees_match_pytorch() -> None:
    mine, theirs = clew.utils._pytree, torch.utils._pytree
    leaves, spec = mine.tree_flatten(TREE)
    expected, expected_spec = theirs.tree_flatten(TREE)
    assert leaves == expected
    assert repr(spec) == repr(expected_spec)
    assert (spec.num_leaves, spec.num_nodes) == (expected_spec.num_leaves, expected_spec.num_nodes)
    rebuilt = mine.tree_unflatten(leaves, spec)
    assert rebuilt == TREE
    assert rebuilt["c"].maxlen == 2 and rebuilt["d"].default_factory is list
    assert spec == mine.tree_structure(TREE)
    assert mine.tree_map(lambda a, b: (a, b), [1, [2]], [3, [4]]) == [(1, 3), [(2, 4)]]
    assert mine.tree_map_only(int, lambda n: n + 1, [1, "x"]) == [2, "x"]
    assert mine.tree_any(lambda n: n == 2, [1, [2]]) and not mine.tree_all(lambda n: n == 2, [1, 2])
    assert mine.tree_leaves([1, [2]], is_leaf=lambda x: x == [2]) == [1, [2]]


def test_trees_refuse_what_pytorch_refuses() -> None:
    for pytree in (clew.utils._pytree, torch.utils._pytree):
        spec = pytree.tree_structure([1, 2, 3])
        with pytest.raises(ValueError, match="`leaves` has length 2 but the spec refers to a"):
            pytree.tree_unflatten([1, 2], spec)
        with pytest.raises(ValueError):
            pytree.tree_map(lambda *leaves: leaves, [1, [2]], [1, 2])
        with pytest.raises(TypeError):
            pytree.tree_unflatten([1], "spec")


def test_a_class_can_become_a_container() -> None:
    class Box:
        def __init__(self, content: Any) -> None:
            self.content = content

    clew.utils._pytree.register_pytree_node(
        Box, lambda box: ([box.content], None), lambda children, _: Box(*children)
    )
    doubled = clew.utils._pytree.tree_map(double, [Box(2), 3])
    assert doubled[0].content == 4 and doubled[1] == 6
    with pytest.raises(ValueError, match="already registered"):
        clew.utils._pytree.register_pytree_node(Box, lambda box: ([], None), lambda *args: None)


# -- pickles ---------------------------------------------------------------------------------------


def test_pickles_of_pytorch_are_read_as_clew() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    x = torch.arange(6.0)
    data = pickle.dumps([model, x[::2], torch.float16, torch.Size([1, 2])])
    expected = model(x.reshape(2, 3)).detach().numpy()
    with clew.as_torch():
        mine, strided, dtype, size = pickle.loads(data)
    assert type(mine) is clew.nn.Sequential
    np.testing.assert_allclose(mine(clew.arange(6.0).reshape(2, 3)).detach().numpy(), expected)
    assert strided.tolist() == [0.0, 2.0, 4.0]
    assert (dtype, size) == (clew.float16, clew.Size([1, 2]))


# -- reports ---------------------------------------------------------------------------------------


def test_timer_measures() -> None:
    timer = clew.utils.benchmark.Timer(
        "double(x)", globals={"double": double, "x": 3}, label="times", sub_label="two"
    )
    once = timer.timeit(200)
    assert len(once.times) == 1 and 0 < once.mean < 0.1
    assert repr(once).splitlines()[1] == "times: two"
    many = timer.blocked_autorange(min_run_time=0.02)
    assert len(many.times) > 3 and many.median > 0 and many.iqr >= 0
    assert "Median:" in repr(many)
    steady = timer.adaptive_autorange(threshold=10.0, min_run_time=0.01)
    assert steady.number_per_run >= 1
    with pytest.raises(ValueError, match="runs Python"):
        clew.utils.benchmark.Timer("1;", language="c++")


def read_fields(data: bytes) -> dict[int, list[Any]]:
    """The fields of a protocol buffer, those with a length as bytes."""
    fields: dict[int, list[Any]] = {}
    position = 0

    def varint() -> int:
        nonlocal position
        result = shift = 0
        while True:
            byte = data[position]
            position += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    while position < len(data):
        key = varint()
        if key & 7 == 0:
            value: Any = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value = data[position : position + size]
            position += size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def read_events(folder: Path) -> list[dict[int, list[Any]]]:
    (path,) = (each for each in folder.iterdir() if each.is_file())
    data, found = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        body = data[12 : 12 + length]
        checks = struct.unpack("<I", data[8:12]) + struct.unpack("<I", data[12 + length :][:4])
        assert checks == (events.masked_crc(data[:8]), events.masked_crc(body))
        found.append(read_fields(body))
        data = data[16 + length :]
    return found


def test_summaries_can_be_read_back(tmp_path: Path) -> None:
    # The published check value of CRC-32C, before rotating and adding as records do.
    assert events.masked_crc(b"123456789") == (
        ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
    )
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", clew.tensor(0.5), 300)
        writer.add_scalars("both", {"a": 1, "b": np.float64(2)}, 1)
        writer.add_text("note", "hello", 2)
        writer.add_histogram("weights", clew.arange(10.0), 3, bins=5)
        writer.add_image("picture", clew.zeros(3, 4, 5), 4)
        writer.add_images("pictures", np.zeros((9, 2, 2, 1), np.uint8), 5, dataformats="NHWC")
    version, *found = read_events(tmp_path)
    assert version[3] == [b"brain.Event:2"]
    assert [event[2] for event in found] == [[300], [2], [3], [4], [5]]
    values = [read_fields(read_fields(event[5][0])[1][0]) for event in found]
    tags = [b"loss", b"note/text_summary", b"weights", b"picture", b"pictures"]
    assert [value[1] for value in values] == [[tag] for tag in tags]
    assert struct.unpack("<f", values[0][2][0]) == (0.5,)
    assert read_fields(values[1][8][0])[8] == [b"hello"]
    histogram = read_fields(values[2][5][0])
    assert struct.unpack("<6d", histogram[7][0]) == (0.0, 2.0, 2.0, 2.0, 2.0, 2.0)
    assert struct.unpack("<d", histogram[4][0]) == (45.0,)
    picture = read_fields(values[3][4][0])
    assert (picture[1], picture[2], picture[3]) == ([4], [5], [3])
    assert picture[4][0].startswith(b"\x89PNG")
    body = picture[4][0].partition(b"IDAT")[2]
    assert len(zlib.decompressobj().decompress(body)) == 4 * (1 + 5 * 3)
    assert read_fields(values[4][4][0])[1] == [4] and read_fields(values[4][4][0])[2] == [16]
    (other,) = read_events(tmp_path / "both_b")[1:]
    assert struct.unpack("<f", read_fields(read_fields(other[5][0])[1][0])[2][0]) == (2.0,)


def test_a_summary_writer_refuses(tmp_path: Path) -> None:
    with contextlib.closing(SummaryWriter(tmp_path)) as writer:
        with pytest.raises(AssertionError, match="scalar should be 0D"):
            writer.add_scalar("loss", [1.0, 2.0])
        with pytest.raises(ValueError, match=r"The input has no element\."):
            writer.add_histogram("empty", [])
        with pytest.raises(AssertionError, match="size of input tensor and input format are"):
            writer.add_image("picture", np.zeros((2, 2)))


def test_hub_loads_from_folders_and_kept_files(tmp_path: Path) -> None:
    (tmp_path / "hubconf.py").write_text("def build(n, scale=1):\n    return [scale] * n\n")
    assert clew.hub.load(str(tmp_path), "build", 2, scale=3, source="local") == [3, 3]
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        clew.hub.load(str(tmp_path), "other", source="local")
    with pytest.raises(RuntimeError, match="does not fetch and run code from GitHub"):
        clew.hub.load("pytorch/vision", "resnet18")
    source = tmp_path / "weights-0123.pt"
    clew.save({"w": clew.ones(2)}, source)
    folder = tmp_path / "kept"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):  # fetched, then found
            state = clew.utils.model_zoo.load_url(source.as_uri(), str(folder))
    assert state["w"].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "0123"'):
        clew.hub.load_state_dict_from_url(
            source.as_uri(), str(tmp_path / "checked"), check_hash=True
        )
    assert list((tmp_path / "checked").iterdir()) == []


@twice
def test_attention_kernels_that_are_allowed(lib: Any) -> Any:
    kernel, switches = lib.nn.attention.SDPBackend, lib.backends.cuda
    names = ("flash", "mem_efficient", "math", "cudnn")
    x, mask, seen = lib.ones(1, 2, 3, 4), lib.ones(3, 3, dtype=lib.bool), []
    attention = lib.nn.functional.scaled_dot_product_attention

    def note() -> None:
        seen.append([getattr(switches, f"{name}_sdp_enabled")() for name in names])
        seen.append(raised(attention, x, x, x, mask, 0.0, True))

    note()
    with lib.nn.attention.sdpa_kernel(kernel.MATH):
        note()
        with lib.nn.attention.sdpa_kernel([kernel.FLASH_ATTENTION, kernel.MATH]):
            note()
        note()
    note()
    return seen
