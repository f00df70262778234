"""Names that packages built on PyTorch import: they are there, and what needs more says so."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import threading
import types
import typing
from typing import Any

import pytest
import torch

import clew
from clew import aliasing
from tests.twice import raised, twice

LISTED = """
_C _C._functorch _C._nn _C._distributed_c10d _C._distributed_rpc _custom_ops _dynamo
_higher_order_ops.associative_scan
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
backends.mha backends.nnpack backends.quantized backends.xnnpack jit._state nn._reduction
nn.common_types nn.parallel.parallel_apply nn.parallel.replicate quantization.observer
autograd.grad_mode fx.experimental.symbolic_shapes
utils.tensorboard.summary optim._multi_tensor
quantization.fake_quantize quantization.qconfig utils.data._utils.signal_handling
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


def test_what_is_not_there_says_so() -> None:
    from clew.distributed import rpc, tensor

    with pytest.raises(RuntimeError, match="call no functions of each other"):
        rpc.init_rpc("worker")
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


@twice
def test_products_of_bytes(lib: Any) -> Any:
    a = lib.arange(-8, 8, dtype=lib.int8).reshape(4, 4)
    return [
        lib._int_mm(a, a), lib.vmap(lib._int_mm, (0, None))(lib.stack([a, -a]), a),
        lib._int_mm(a.to(lib.uint8), a), raised(lib._int_mm, a.float(), a),
        raised(lib._int_mm, a, a.int()), raised(lib._int_mm, a[0], a),
        raised(lib._int_mm, a[:, 1:], a),
    ]  # fmt: skip


@twice
def test_rows_of_sparse_matrices(lib: Any) -> Any:
    rows, columns = lib.tensor([0, 0, 2]), lib.tensor([1, 2, 0])
    starts = lib._convert_indices_from_coo_to_csr(rows, 4)
    back = lib._convert_indices_from_csr_to_coo
    return [
        starts, lib._convert_indices_from_coo_to_csr(rows, 3, out_int32=True),
        back(starts, columns), back(starts, columns, out_int32=True, transpose=True),
        lib._segment_reduce(lib.ones(3), "sum", offsets=lib.tensor([0, 1, 3])),
    ]  # fmt: skip


@twice
def test_questions_of_packages(lib: Any) -> Any:
    reduction = lib.nn._reduction
    linear = lib.nn.Linear(2, 2)
    return [
        [reduction.get_enum(each) for each in ("none", "mean", "sum")],
        raised(reduction.get_enum, "most"), reduction.legacy_get_string(None, None, False),
        reduction.legacy_get_string(False, None), reduction.legacy_get_enum(True, False),
        lib.autograd._is_checkpoint_valid(), lib.cuda.amp.common.amp_definitely_not_available(),
        lib.backends.cuda.is_flash_attention_available(),
        lib.nn.functional._Reduction is reduction, isinstance(linear.weight, lib.nn.Parameter),
        type(lib.nn.Parameter) is lib.nn.parameter._ParameterMeta,
    ]  # fmt: skip


def test_torchaudio_finds_answers() -> None:
    """Its compiled part cannot be loaded; its functions in Python do without it."""
    clew.ops.load_library("/somewhere/torchaudio/lib/_torchaudio.abi3.so")
    assert clew.ops._torchaudio.cuda_version() is None
    assert clew.ops._torchaudio.is_align_available() is False
    with pytest.raises(OSError, match="binary interface"):
        clew.ops.load_library("/somewhere/mine.so")


def test_several_devices_are_one() -> None:
    linear, x = clew.nn.Linear(2, 2), clew.ones(1, 2)
    copies = clew.nn.parallel.replicate(linear, [0, 1])
    results = clew.nn.parallel.parallel_apply(copies, [x, (x,)])
    assert len(results) == 2 and all(clew.equal(each, linear(x)) for each in results)
    with pytest.raises(AssertionError, match="is not equal to the number of inputs"):
        clew.nn.parallel.parallel_apply(copies, [x])


@twice
def test_partial_results(lib: Any) -> Any:
    path = f"{lib.__name__}._higher_order_ops.associative_scan"
    scan = importlib.import_module(path).associative_scan
    x = lib.arange(10, dtype=lib.float64).reshape(2, 5) / 7 + 1
    x.requires_grad_()

    def states(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    sums = scan(lambda a, b: a + b, x, 1, combine_mode="generic")
    both = scan(states, (x, x * 2), 1, reverse=True, combine_mode="generic")
    (sums.sum() + both[1].sum()).backward()
    return [sums, *both, x.grad]


@twice
def test_factors_in_tensors(lib: Any) -> Any:
    """`alpha=` may be a tensor without dimensions and history."""
    x, matrix, half = lib.ones(3), lib.ones(3, 3), lib.tensor(0.5)
    index = lib.tensor([0])
    wrong = lib.nn.Parameter(half)
    calls = [
        lambda a: lib.add(x, x, alpha=a), lambda a: x.clone().add_(x, alpha=a),
        lambda a: lib.sub(x, x, alpha=a), lambda a: x.clone().sub_(x, alpha=a),
        lambda a: lib.addcmul(x, x, x, value=a), lambda a: x.clone().addcdiv_(x, x, value=a),
        lambda a: x.index_add(0, index, x[:1], alpha=a),
    ]  # fmt: skip
    results = [call(half) for call in calls] + [call(lib.tensor(2)) for call in calls]
    results += [raised(call, each) for call in calls for each in (wrong, half[None])]
    for product in (lib.addmm, lib.Tensor.addmm_):
        results.append(product(lib.zeros(3, 3) + 1, matrix, matrix, beta=half, alpha=half))
    results.append(lib.baddbmm(x, matrix[None], matrix[None], alpha=half))
    return [*results, lib.rsub(x, x, alpha=half), lib._foreach_add([x], [x], alpha=half)[0]]


@twice
def test_flags_of_opt_einsum_are_put_back(lib: Any) -> Any:
    flags = lib.backends.opt_einsum
    before = flags.set_flags(False, None)
    with flags.flags(enabled=False):
        inside = flags.enabled
    return before, inside, flags.strategy


def test_the_hub_has_the_bar_of_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("tqdm")
    package.tqdm = object()
    monkeypatch.setitem(sys.modules, "tqdm", package)
    assert clew.hub.tqdm is package.tqdm


@twice
def test_vmap_of_functions_that_return_none(lib: Any) -> Any:
    internals = importlib.import_module(f"{lib.__name__}._vmap_internals")
    x = lib.arange(3.0)
    twice_x, nothing = internals._vmap(lambda x: (x * 2, None), allow_none_pass_through=True)(x)
    return twice_x, nothing, internals._vmap(lambda x: x + 1)(x)


@twice
def test_helpers_of_the_functional_api(lib: Any) -> Any:
    parts = lib.autograd.functional
    x, y = lib.ones(2, requires_grad=True), lib.ones(1, dtype=lib.float64)
    return (
        parts._construct_standard_basis_for((x, y), (2, 1)),
        parts._as_tuple(x), parts._as_tuple((x,), "inputs", "f"),
        raised(parts._as_tuple, (x, 1), "inputs", "f", words=20),
        parts._grad_postprocess(((x * 2,),), create_graph=False)[0][0].requires_grad,
        parts._grad_postprocess((x * 2,), create_graph=True)[0].requires_grad,
        parts._tuple_postprocess(((x,),), (False, False)), parts._tuple_postprocess((x,), True),
    )  # fmt: skip


def test_names_for_a_star_are_functions_and_classes() -> None:
    assert {"Tensor", "save", "relu", "float32", "abs_"} < set(clew.__all__)
    assert not {"nn", "optim", "_C"} & set(clew.__all__)
    with clew._dynamo.utils.disable_cache_limit():
        assert issubclass(clew.nn.ConvTranspose2d, clew.nn.modules.conv._ConvTransposeNd)
    with pytest.warns(FutureWarning, match="_ConvTransposeMixin is a deprecated internal class"):
        options = ((1,), (1,), (0,), (1,), True, (0,), 1, True, "zeros")
        clew.nn.modules.conv._ConvTransposeMixin(1, 1, *options)


def test_what_torchvision_takes_from_graph_modules() -> None:
    """For `create_feature_extractor`: a copy is made of the state alone."""
    module = importlib.import_module("clew.fx.graph_module")
    traced = clew.fx.symbolic_trace(clew.nn.Sequential(clew.nn.Linear(2, 2)))
    bare = module._CodeOnlyModule(dict(traced.__dict__))
    again = clew.fx.GraphModule(bare, traced.graph)
    x = clew.ones(1, 2)
    assert again(x).tolist() == traced(x).tolist()
    assert module._USER_PRESERVED_ATTRIBUTES_KEY not in traced.meta


@twice
def test_tensors_are_taken_in_lists_of_one_dtype(lib: Any) -> Any:
    sizes = [(3, lib.float32), (3, lib.int32), (5, lib.float32), (9, lib.float32), (2, lib.int32)]
    tensors = [lib.ones(size, dtype=dtype) for size, dtype in sizes]
    utils = importlib.import_module(f"{lib.__name__}._utils")
    return [[len(each) for each in found] for found in utils._take_tensors(tensors, 24)]


@twice
def test_the_line_search_of_lbfgs(lib: Any) -> Any:
    search = importlib.import_module(f"{lib.__name__}.optim.lbfgs")._strong_wolfe
    x, d = lib.tensor([2.0, -1.0]), lib.tensor([-4.0, 2.0])

    def at(x: Any, t: float, d: Any) -> Any:
        place = x + t * d
        return float((place**4).sum() + (place**2).sum()), 4 * place**3 + 2 * place

    loss, grad = at(x, 0.0, d)
    found = search(at, x, 1.0, d, loss, grad, grad.dot(d))
    return [float(found[0]), found[1], float(found[2]), found[3]]


@twice
def test_cubics_of_the_line_search(lib: Any) -> Any:
    cubic = importlib.import_module(f"{lib.__name__}.optim.lbfgs")._cubic_interpolate
    places = [
        (0.0, 3.0, -4.0, 1.0, 2.0, 3.0), (1.0, 2.0, 3.0, 0.0, 3.0, -4.0),
        (0.0, 1.0, 1.0, 1.0, 3.0, 1.0),
    ]  # fmt: skip
    tensors = [lib.tensor(each) for each in places]
    found = [cubic(*each, bounds=bounds) for each in tensors for bounds in (None, (0.2, 0.5))]
    return [float(each) for each in found]


@twice
def test_limits_of_pythons_own_types(lib: Any) -> Any:
    limits = lib.finfo(float), lib.finfo(complex), lib.iinfo(int)
    wrong = raised(lib.finfo, int), raised(lib.iinfo, float), raised(lib.iinfo, bool)
    return [str(each) for each in limits], wrong


CLASSES = """
Tensor dtype device Size finfo layout memory_format Generator nn.Module nn.Linear nn.Conv2d nn.LSTM
nn.LSTMCell nn.MultiheadAttention nn.GELU nn.ConvTranspose2d nn.MaxPool2d nn.CrossEntropyLoss
nn.ParameterList nn.Parameter nn.TransformerEncoderLayer optim.SGD optim.AdamW optim.Adafactor
optim.lr_scheduler.StepLR optim.lr_scheduler.OneCycleLR optim.swa_utils.AveragedModel
utils.data.Dataset utils.data.DataLoader utils.data.RandomSampler distributions.Normal
distributions.AffineTransform autograd.Function autograd.function.FunctionCtx autograd.graph.Node
no_grad fx.GraphModule fx.Graph fx.graph.CodeGen amp.GradScaler amp.autocast
nn.utils.parametrize.ParametrizationList utils.tensorboard.SummaryWriter
"""


def test_classes_are_in_the_modules_of_pytorch() -> None:
    """While `torch` is clew, and for `typing` and pickles, which look for them there."""

    def homes() -> list[str]:
        return [f"{each.__module__}.{each.__qualname__}" for each in map(find, CLASSES.split())]

    def find(name: str) -> Any:
        module = importlib.import_module("torch")
        parts = name.split(".")
        for number, part in enumerate(parts[:-1]):
            name = ".".join(["torch", *parts[: number + 1]])
            module = getattr(module, part, None) or importlib.import_module(name)
        return getattr(module, parts[-1])

    expected = homes()
    own = clew.nn.Linear.__module__
    with clew.as_torch():
        assert homes() == expected
        layer = pickle.loads(pickle.dumps(clew.nn.MultiheadAttention(2, 1)))
        assert type(layer) is clew.nn.MultiheadAttention
        assert typing.get_type_hints(clew.nn.Linear)["in_features"] is int
        assert clew.fx.symbolic_trace(clew.nn.Sequential(clew.nn.ReLU())).graph.find_nodes(
            op="call_module", target="0"
        )
    assert clew.nn.Linear.__module__ == own == "clew.nn.modules.linear"


def test_classes_are_found_by_their_names() -> None:
    """All that are loaded: under the name that they have while `torch` is clew."""
    with clew.as_torch():
        for value, _, home in aliasing._named:
            if "<locals>" in value.__qualname__ or value.__module__.startswith("torch.ao"):
                continue
            found: Any = importlib.import_module(home)
            for part in value.__qualname__.split("."):
                found = getattr(found, part)
            assert found is value, home


@twice
def test_questions_about_sizes(t: Any) -> Any:
    shapes = importlib.import_module(f"{t.__name__}.fx.experimental.symbolic_shapes")
    return (
        [shapes.guard_int(3), shapes.guard_or_true(3 > 2), shapes.statically_known_true(False)],
        [shapes.sym_eq([1, 2], (1, 2)), shapes.sym_eq(1, 2), shapes.is_symbolic(3)],
        [len(shapes.free_symbols([1, t.ones(2)])), shapes.has_free_symbols(2)],
        raised(shapes.guard_int, 3.5),
    )


@twice
def test_optimizers_of_many_tensors(t: Any) -> Any:
    many = importlib.import_module(f"{t.__name__}.optim._multi_tensor")
    weight = t.nn.Parameter(t.ones(2))
    optimizer = many.RMSprop([weight], lr=0.1)
    weight.sum().backward()
    optimizer.step()
    with importlib.import_module(f"{t.__name__}._tensor_str").printoptions(precision=2):
        text = repr(weight.detach())
    return weight, optimizer.defaults["foreach"], text, t.autograd.DeviceType.CPU.name


def test_hyperparameters_for_writers_of_packages(tmp_path: Any) -> None:
    """Packages write the three summaries themselves; TensorBoard's reader finds them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    names = {}
    for lib, summary in ((clew, "clew.utils.tensorboard.summary"), (torch, None)):
        folder = tmp_path / lib.__name__
        tensorboard = importlib.import_module(f"{lib.__name__}.utils.tensorboard")
        module = importlib.import_module(summary or "torch.utils.tensorboard.summary")
        with tensorboard.SummaryWriter(str(folder)) as writer:
            settings = {"rate": 0.1, "kind": "sgd", "deep": True, "size": lib.tensor([3.0])}
            for each in module.hparams(settings, {"loss": 1.0}):
                writer._get_file_writer().add_summary(each)
        read = EventAccumulator(str(folder)).Reload()
        names[lib.__name__] = {
            tag: read.SummaryMetadata(tag).plugin_data.content
            for tag in read.PluginTagToContent("hparams")
        }
    assert list(names["clew"]) == list(names["torch"])
