"""Mixed precision: autocast, custom functions under it, and training, compared with torch."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

import clew
from tests import oracle
from tests.twice import raised, twice

# -- the dtype of every function's result --------------------------------------------------------

# clew has no counterpart, or torch's entry is Python code that refuses other libraries' tensors.
NO_COUNTERPART = (
    "svd_lowrank", "pca_lowrank", "chalf", "to_sparse", "max_pool2d_with_indices_backward",
    "masked.", "__r",
)  # fmt: skip
# torch's linalg.pinv ends with a matrix product, which autocast rounds to the lower dtype; clew's
# is one operation in float32. torch's det does not look at the dtype of an empty matrix.
KNOWN_DIFFERENCES = ("linalg.pinv", "linalg.det")


def with_floats(value: Any, dtype: torch.dtype) -> Any:
    def convert(leaf: Any) -> Any:
        is_float = isinstance(leaf, torch.Tensor) and leaf.dtype.is_floating_point
        return leaf.detach().to(dtype) if is_float else leaf

    return tree_map(convert, value)


def dtypes_of(result: Any) -> list[str]:
    if isinstance(result, (tuple, list)):
        return [name for each in result for name in dtypes_of(each)]
    is_tensor = isinstance(result, (torch.Tensor, clew.Tensor))
    return [str(result.dtype)] if is_tensor else []


def compare_dtypes(name: str, entry: Any, function: Any, dtype: torch.dtype, fast: str) -> None:
    sample = next(iter(entry.sample_inputs("cpu", torch.float32, requires_grad=False)))
    given = with_floats((sample.input, sample.args, sample.kwargs), dtype)
    try:
        first, rest, options = oracle.to_clew(given)
    except oracle.Untranslatable:
        return
    try:
        with torch.autocast("cpu", dtype=getattr(torch, fast)):
            expected = dtypes_of(entry.op(given[0], *given[1], **given[2]))
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return  # what torch cannot compute, clew need not
    with clew.autocast("cpu", dtype=getattr(clew, fast)):
        actual = dtypes_of(function(first, *rest, **options))
    assert actual == expected, f"{name} of {dtype} under {fast}"


@functools.cache
def entries() -> dict[str, tuple[Any, Any]]:
    found = {}
    for entry in op_db:
        name = ".".join(filter(None, (entry.name, entry.variant_test_name)))
        if name.startswith((*NO_COUNTERPART, *KNOWN_DIFFERENCES)):
            continue
        try:
            found[name] = entry, oracle.counterpart(entry.op)
        except oracle.Missing:
            continue
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", range(4))
def test_every_function_gives_the_dtype_that_torch_gives(group: int) -> None:
    compared = list(entries().items())[group::4]
    assert len(compared) > 100
    for name, (entry, function) in compared:
        for dtype in (torch.float32, torch.bfloat16):
            compare_dtypes(name, entry, function, dtype, "bfloat16")


@twice
def test_functions_by_hand(t: Any) -> list[Any]:
    a = t.arange(4.0).reshape(2, 2) / 4
    b, h, d = a.bfloat16(), a.half(), a.double()
    f = t.nn.functional
    with t.autocast("cpu"):
        return [
            str(result.dtype)
            for result in (
                a @ a, d @ d, h @ h, h @ b, a @ a[0], a[0] @ a[0], t.mv(a, a[0]),
                t.dot(a[0], a[0]), t.addmv(a[0], a, a[0]), t.einsum("ij,jk->ik", a, a),
                t.inner(a, a), t.outer(a[0], a[0]), t.cat([a, b]), t.stack([a, b]),
                t.cat([d, b]), t.hstack([a, b]), f.linear(a[None], a, a[0]), f.linear(a[0], a),
                f.linear(b, a, a[0]), t.addmm(a, b, a), t.addmm(a[0], b, a, beta=2),
                a.clone().addmm_(a, a), t.mm(a, a, out=t.empty(2, 2)), f.softmax(b, 0),
                f.layer_norm(b, (2,)), f.cross_entropy(b, t.tensor([0, 1])), f.cross_entropy(b, b),
                f.cross_entropy(b, t.tensor([0, 1]), weight=a[0]), f.mse_loss(b, a),
                f.pad(b[None], (1, 1), mode="reflect"), f.pad(b[None], (1, 1), mode="circular"),
                f.pad(b[None, None], (1, 1, 1, 1, 0, 0), mode="reflect"),
                f.pad(b[None, None], (1,) * 6, mode="replicate"), b.prod(), b.prod(0),
                b.prod(dtype=t.bfloat16), b.cumprod(0), t.fft.fft(b),
                f.bilinear(a, a, t.ones(3, 2, 2)),
                t.index_copy(a, 0, t.tensor([0]), b[:1]), f.prelu(a, t.ones(1)), a + b, b.norm(),
                f.interpolate(b[None, None], scale_factor=2, mode="bilinear"),
                f.gaussian_nll_loss(b, b, b + 1),
            )
        ]  # fmt: skip


@twice
def test_recurrent_layers(t: Any) -> list[Any]:
    x = t.ones(3, 2)
    nn = t.nn
    with t.autocast("cpu"):
        outs = [nn.GRU(2, 2)(x)[0], nn.RNN(2, 2)(x)[0]]
        outs += [nn.LSTMCell(2, 2)(x)[0], nn.GRUCell(2, 2)(x), nn.RNNCell(2, 2)(x)]
        outs += [nn.MultiheadAttention(2, 1)(x, x, x)[0], nn.TransformerEncoderLayer(2, 1)(x)]
    return [str(out.dtype) for out in outs]


def test_lstm_computes_in_the_lower_dtype() -> None:
    """torch's LSTM raises on processors whose oneDNN has no bfloat16; clew's works on all."""
    can_torch = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    for t in (clew, torch) if can_torch else (clew,):
        x = t.ones(3, 2)
        with t.autocast("cpu"):
            outs = [t.nn.LSTM(2, 2)(x)[0], t.nn.LSTM(2, 2)(x.bfloat16())[0]]
        assert [out.dtype for out in outs] == [t.bfloat16] * 2, t.__name__


@twice
def test_float64_and_integers_are_left_alone(t: Any) -> list[Any]:
    a = t.ones(2, 2)
    with t.autocast("cpu"):
        return [
            raised(t.mm, a, a.double(), words=3),
            raised(t.mm, a, t.ones(2, 2, dtype=t.int64), words=3),
            str(t.cat([a.long(), a.long()]).dtype),
        ]


# -- training ------------------------------------------------------------------------------------


def network(t: Any) -> Any:
    t.manual_seed(0)
    return t.nn.Sequential(t.nn.Linear(6, 8), t.nn.ReLU(), t.nn.LayerNorm(8), t.nn.Linear(8, 3))


@twice
def test_gradients_come_back_in_the_dtype_of_the_parameters(t: Any) -> list[Any]:
    model = network(t)
    x, target = t.randn(5, 6), t.tensor([0, 1, 2, 1, 0])
    with t.autocast("cpu"):
        out = model(x)
        loss = t.nn.functional.cross_entropy(out, target)
    loss.backward()
    grads = [p.grad for p in model.parameters()]
    return [
        str(out.dtype),
        str(loss.dtype),
        [str(g.dtype) for g in grads],
        [g.shape for g in grads],
    ]


def test_gradients_are_close_to_those_of_torch() -> None:
    grads = []
    for t in (torch, clew):
        model = network(t)
        x = t.randn(5, 6)
        with t.autocast("cpu"):
            loss = t.nn.functional.mse_loss(model(x), t.ones(5, 3))
        loss.backward()
        grads.append([p.grad.tolist() for p in model.parameters()])
    for theirs, ours in zip(*grads, strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=0.05, atol=0.02)


@twice
def test_graph_of_a_converted_product(t: Any) -> list[str]:
    w, x = t.ones(2, 2, requires_grad=True), t.ones(2, 2)
    with t.autocast("cpu"):
        y = t.mm(x, w)
    names = [type(y.grad_fn).__name__]
    names.append(type(y.grad_fn.next_functions[1][0]).__name__)
    return names


@twice
def test_backward_inside_the_region(t: Any) -> list[str]:
    w = t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        (t.ones(2, 2) @ w).sum().backward()
        double = t.autograd.grad((t.ones(2, 2) @ w).pow(2).sum(), w, create_graph=True)[0]
        double.sum().backward()
    return [str(w.grad.dtype), str(double.dtype), w.grad.tolist()]


def test_parameters_are_converted_once_in_a_region() -> None:
    w = clew.ones(2, 2, requires_grad=True)
    x = clew.ones(2, 2)
    with clew.autocast("cpu"):
        first, second = clew.mm(x, w), clew.mm(x, w)
        edges = [y.grad_fn.next_functions[1][0] for y in (first, second)]
        assert edges[0] is edges[1]
        with clew.no_grad():
            w.add_(1)
        assert clew.mm(x, w)[0, 0].item() == 4.0, "a write must not be overlooked"
    with clew.autocast("cpu", cache_enabled=False):
        edges = [clew.mm(x, w).grad_fn.next_functions[1][0] for _ in range(2)]
        assert edges[0] is not edges[1]


def test_a_conversion_under_no_grad_does_not_cut_later_gradients() -> None:
    w = clew.ones(2, 2, requires_grad=True)
    with clew.autocast("cpu"):
        with clew.no_grad():
            assert not clew.mm(w, w).requires_grad
        clew.mm(clew.ones(2, 2), w).sum().backward()
    assert w.grad is not None


@twice
def test_checkpointed_blocks_run_again_under_the_same_autocast(t: Any) -> list[Any]:
    results = []
    for reentrant in (False, True):
        w = t.full((2, 2), 0.3, requires_grad=True)
        x = t.ones(2, 2, requires_grad=True)
        with t.autocast("cpu"):
            y = t.utils.checkpoint.checkpoint(
                lambda a, b: (a @ b).tanh(), x, w, use_reentrant=reentrant
            )
        y.float().sum().backward()
        results += [str(y.dtype), str(w.grad.dtype), w.grad]
    return results


@twice
def test_forward_mode(t: Any) -> list[Any]:
    forward = t.autograd.forward_ad
    w = t.ones(2, 2)
    with forward.dual_level(), t.autocast("cpu"):
        y = forward.make_dual(w, t.full((2, 2), 2.0)) @ w
        tangent = forward.unpack_dual(y).tangent
    with t.autocast("cpu"), forward.dual_level():
        other = forward.unpack_dual(forward.make_dual(w, w) @ w).tangent
    return [str(y.dtype), str(tangent.dtype), tangent, other]


@twice
def test_float16_training_with_autocast_and_a_scaler(t: Any) -> list[Any]:
    model = network(t)
    optimizer = t.optim.SGD(model.parameters(), lr=0.05)
    scaler = t.amp.GradScaler("cpu", init_scale=256.0, growth_interval=3)
    x, target = t.randn(16, 6), t.randint(0, 3, (16,))
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        with t.autocast("cpu", dtype=t.float16):
            loss = t.nn.functional.cross_entropy(model(x), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return [scaler.get_scale(), losses[-1] < losses[0], [round(each, 1) for each in losses]]


# -- regions -------------------------------------------------------------------------------------


@twice
def test_nested_regions(t: Any) -> list[Any]:
    a, seen = t.ones(2, 2), []

    def look() -> None:
        seen.extend(
            [t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu")), str((a @ a).dtype)]
        )

    look()
    with t.autocast("cpu"):
        look()
        with t.autocast("cpu", enabled=False):
            look()
            with t.autocast("cpu", dtype=t.float16):
                look()
        look()
        with t.autocast("cpu", cache_enabled=False):
            seen.append(t.is_autocast_cache_enabled())
    look()
    return seen


@twice
def test_decorator(t: Any) -> list[Any]:
    @t.autocast("cpu")
    def product(a: Any) -> Any:
        """Documented."""
        return a @ a

    model = network(t)
    model.forward = t.amp.autocast("cpu")(model.forward)
    return [str(product(t.ones(2, 2)).dtype), product.__name__, product.__doc__,
            str(model(t.ones(1, 6)).dtype), t.is_autocast_enabled("cpu")]  # fmt: skip


@twice
def test_a_region_ends_when_something_is_raised(t: Any) -> Any:
    def fail() -> None:
        with t.autocast("cpu"):
            t.mm(t.ones(2), t.ones(2))

    return raised(fail, words=2), t.is_autocast_enabled("cpu")


@twice
def test_regions_belong_to_a_thread(t: Any) -> Any:
    seen = []
    with t.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(t.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    return seen


@twice
def test_what_disables_a_region(t: Any) -> list[Any]:
    seen = []
    for args, options in (
        (("cpu", t.float32), {}), (("cpu",), {"dtype": t.float64}), (("cuda",), {}),
        (("cuda",), {"enabled": False}), (("cuda", t.float32), {}), (("xpu",), {}), (("mps",), {}),
        (("cpu", t.float32), {"enabled": False}),
    ):  # fmt: skip
        with t.autocast(*args, **options) as region:
            seen += [t.is_autocast_enabled("cpu"), t.is_autocast_enabled("cuda")]
            seen += [
                str(region.fast_dtype),
                region.device,
                str((t.ones(2, 2) @ t.ones(2, 2)).dtype),
            ]
    return seen


@twice
def test_refused_regions(t: Any) -> list[Any]:
    return [
        raised(t.autocast, "foo"),
        raised(t.autocast, 3),
        raised(t.autocast, t.device("cpu")),
        raised(t.autocast, "meta", words=2),
        raised(t.amp.is_autocast_available, "foo"),
    ]


@twice
def test_questions_and_switches(t: Any) -> list[Any]:
    seen: list[Any] = [t.amp.is_autocast_available(d) for d in ("cpu", "cuda", "mps", "meta")]
    seen += [str(t.get_autocast_dtype(d)) for d in ("cpu", "cuda", "xpu", "mps")]
    seen += [t.autocast_increment_nesting(), t.autocast_increment_nesting()]
    seen += [t.autocast_decrement_nesting(), t.autocast_decrement_nesting()]
    t.set_autocast_enabled("cpu", True)
    t.set_autocast_dtype("cpu", t.float16)
    seen += [t.is_autocast_enabled("cpu"), str((t.ones(2, 2) @ t.ones(2, 2)).dtype)]
    t.set_autocast_enabled("cpu", False)
    t.set_autocast_dtype("cpu", t.bfloat16)
    t.set_autocast_enabled(True)
    seen += [t.is_autocast_enabled(), t.is_autocast_enabled("cuda"), t.is_autocast_enabled("cpu")]
    t.set_autocast_enabled(False)
    t.set_autocast_cache_enabled(False)
    seen.append(t.is_autocast_cache_enabled())
    t.set_autocast_cache_enabled(True)
    t.clear_autocast_cache()
    return seen


def test_older_switches_say_so() -> None:
    with pytest.warns(DeprecationWarning, match=r"torch.is_autocast_cpu_enabled\(\) is deprecated"):
        assert clew.is_autocast_cpu_enabled() is False
    with pytest.warns(DeprecationWarning, match="get_autocast_gpu_dtype"):
        assert clew.get_autocast_gpu_dtype() is clew.float16
    with pytest.warns(DeprecationWarning, match="set_autocast_cpu_dtype"):
        clew.set_autocast_cpu_dtype(clew.bfloat16)


@twice
def test_older_names(t: Any) -> list[Any]:
    seen = []
    with t.cpu.amp.autocast():
        seen.append(t.is_autocast_enabled("cpu"))
    with t.cuda.amp.autocast(enabled=False):
        seen.append(t.is_autocast_enabled("cuda"))
    with t.cuda.amp.autocast(dtype=t.bfloat16) as region:
        seen += [str(region.fast_dtype), t.is_autocast_enabled("cuda")]
    scaler = t.cuda.amp.GradScaler(enabled=False)
    seen += [scaler.is_enabled(), t.cpu.amp.GradScaler(init_scale=8.0).get_scale()]
    return seen


# -- custom functions ----------------------------------------------------------------------------


def product_function(t: Any, **options: Any) -> Any:
    seen: list[Any] = []

    class Product(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", **options)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            seen.extend([str(a.dtype), t.is_autocast_enabled("cpu")])
            return a @ b

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            seen.extend([str(g.dtype), t.is_autocast_enabled("cpu")])
            return g @ b.t(), a.t() @ g

    return Product, seen


@twice
def test_custom_functions(t: Any) -> list[Any]:
    results = []
    for options in ({}, {"cast_inputs": t.float32}, {"cast_inputs": t.float64}):
        function, seen = product_function(t, **options)
        a, b = t.ones(2, 2, requires_grad=True), t.ones(2, 2, requires_grad=True)
        for enabled in (True, False):
            with t.autocast("cpu", enabled=enabled):
                y = function.apply(a, b)
            y.sum().backward()
            results += [str(y.dtype), str(a.grad.dtype), a.grad]
        results.append(seen)
    return results


@twice
def test_a_custom_function_without_decorators_runs_under_autocast(t: Any) -> Any:
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a @ a

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    with t.autocast("cpu"):
        return str(Double.apply(t.ones(2, 2, requires_grad=True)).dtype)


@twice
def test_custom_fwd_without_a_device_type(t: Any) -> Any:
    return raised(t.amp.custom_fwd, lambda ctx: None, device_type=t.device("cpu"), words=4)
