"""The meta device against PyTorch's: shapes, dtypes and strides of the whole table of operations,
and what programs do with it."""

from __future__ import annotations

import copy
import io
import pickle
import threading
import warnings
from typing import Any

import pytest
import torch

import clew
from clew.core.meta import shapes as meta_shapes
from clew.core.meta.memory import RANGE
from clew.core.state import local
from tests.ops.test_ops import CASES
from tests.sampling import Maker, OpCase
from tests.twice import raised, twice

# Where PyTorch's meta kernels do not check the dtype.
LAX = {"bitwise_xor", "bitwise_or", "bitwise_and", "bitwise_not", "gcd", "lcm", "sub", "subtract",
       "rsub"}  # fmt: skip
# What looks at elements, or makes tensors of its own on the CPU, and so raises here.
LOOKS = {"segment_reduce", "nanquantile", "ormqr", "linalg.ldl_solve", "linalg.vander",
         "repeat_interleave", "nn.functional.gaussian_nll_loss", "nn.functional.ctc_loss",
         "cosine_similarity", "nn.functional.cosine_similarity"}  # fmt: skip
# Where clew's results lie in memory otherwise than PyTorch's, on the CPU as well.
LAID_OUT_OTHERWISE = {"linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.solve", "put",
    "slice_scatter", "select_scatter", "unsafe_split", "unsafe_chunk", "hash_tensor", "conv_tbc",
    "rsub"}  # fmt: skip
# PyTorch's meta kernel gives another shape than its kernel for the CPU.
WRONG_THERE = {"nn.functional.multi_margin_loss", "nn.functional.multilabel_margin_loss"}


def _theirs(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        layout = {"dtype": value.dtype, "device": "meta"}
        return torch.empty_strided(value.shape, value.stride(), **layout)
    return type(value)(map(_theirs, value)) if type(value) in (list, tuple) else value


def _ours(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        layout = {"dtype": _ours(value.dtype), "device": "meta"}
        return clew.empty_strided(tuple(value.shape), value.stride(), **layout)
    if isinstance(value, (torch.dtype, torch.memory_format)):
        return getattr(clew, str(value).removeprefix("torch."))
    return type(value)(map(_ours, value)) if type(value) in (list, tuple) else value


def _described(result: Any, strides: bool) -> Any:
    if isinstance(result, (list, tuple)):
        return [_described(each, strides) for each in result]
    if not isinstance(result, (torch.Tensor, clew.Tensor)):
        return result
    said = [tuple(result.shape), str(result.dtype).rpartition(".")[2], str(result.device)]
    if strides and result.numel():
        said += [s for n, s in zip(result.shape, result.stride(), strict=True) if n > 1]
    return said


def _compare(case: OpCase) -> list[str]:
    failed = []
    dtype = torch.float32 if torch.float32 in case.dtypes else case.dtypes[0]
    for sample in list(case.samples(Maker(dtype, case.domain)))[:4]:
        args, kwargs = sample.args, sample.kwargs
        try:
            expected = case.torch_function()(
                *map(_theirs, args), **{name: _theirs(value) for name, value in kwargs.items()}
            )
        except Exception:  # it has no meta kernel, or refuses the call
            continue
        try:
            actual = case.function_of(clew)(
                *map(_ours, args), **{name: _ours(value) for name, value in kwargs.items()}
            )
        except Exception as error:
            if case.name not in LAX | LOOKS:
                failed.append(f"{case.name}{sample}: {type(error).__name__}: {error}")
            continue
        strides = case.name not in LAID_OUT_OTHERWISE and not case.name.startswith("fft.")
        wanted = [_described(expected, strides)]
        if _described(actual, strides) not in wanted and case.name not in WRONG_THERE:
            wanted.append(_on_cpu(case, args, kwargs, strides))
            if _described(actual, strides) not in wanted:
                failed.append(f"{case.name}{sample}: {_described(actual, strides)} {wanted}")
    return failed


def _on_cpu(case: OpCase, args: Any, kwargs: Any, strides: bool) -> Any:
    """What the result looks like where there are elements: some meta kernels are less exact."""
    text = repr(_described(case.torch_function()(*args, **kwargs), strides))
    return eval(text.replace("'cpu'", "'meta'"), {"nan": float("nan"), "inf": float("inf")})


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("by_stand_ins", [False, True])
def test_whole_table(part: int, by_stand_ins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Computed from zeros, or derived from a run on stand-ins: the same, and PyTorch's."""
    if by_stand_ins:
        monkeypatch.setattr(meta_shapes, "_FEW", 0)
        monkeypatch.setattr(meta_shapes, "_SHORT", 1)
    failed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES[part::8]:
            # Stand-ins of lengths as short as 2 are taken for the dimension that is summed, 2.
            is_mistaken = by_stand_ins and case.name == "cosine_similarity"
            if "function" in case.variants and not is_mistaken:
                failed += _compare(case)
    assert not failed, f"{len(failed)} calls\n" + "\n".join(failed)


# -- what programs do ------------------------------------------------------------------------------


def _outcome(library: Any, program: Any) -> str:
    try:
        result = program(library)
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split()[:6])}"
    return repr(result)


def _empty(library: Any, *shape: int, **options: Any) -> Any:
    return library.empty(*shape, device="meta", **options)


def _trained(library: Any) -> Any:
    with library.device("meta"):
        model = library.nn.Sequential(library.nn.Linear(4, 3), library.nn.LayerNorm(3))
    optimizer = library.optim.AdamW(model.parameters())
    for _ in range(2):
        model(_empty(library, 5, 4)).square().mean().backward()
        optimizer.step()
    return [(p, p.grad) for p in model.parameters()]


def _filled_in(library: Any) -> Any:
    library.manual_seed(0)
    with library.device("meta"):
        model = library.nn.Linear(2, 3)
    state = library.nn.Linear(2, 3).state_dict()
    model.load_state_dict(state, assign=True)
    return model.weight, model(library.ones(2))


def _saved(library: Any) -> Any:
    file = io.BytesIO()
    library.save({"x": _empty(library, 2, 3).t()}, file)
    file.seek(0)
    x = library.load(file)["x"]
    return x, x.stride()


def _skipped(library: Any) -> Any:
    library.manual_seed(0)
    layer = library.nn.utils.skip_init(library.nn.Linear, 3, 4)
    return layer, layer.weight.device, library.rand(2)


def _written(library: Any) -> Any:
    x = _empty(library, 3, 4)
    x[0] = 1.0
    x[:, 1].fill_(2)
    x.copy_(library.ones(3, 4)).normal_().uniform_()
    library.nn.init.xavier_uniform_(x)
    return x, x._version > 3


PROGRAMS = {
    "repr": lambda t: [_empty(t, 3), _empty(t, 0, 2, dtype=t.int64), t.tensor([1], device="meta")],
    "made": lambda t: [
        make(2, 3, device="meta") for make in (t.zeros, t.ones, t.empty, t.rand, t.randn)
    ],
    "like": lambda t: [t.zeros_like(_empty(t, 2)), t.ones_like(t.ones(2), device="meta"),
                       t.empty_like(_empty(t, 2), device="cpu").shape, _empty(t, 2).new_ones(3),
                       t.rand_like(_empty(t, 2)), t.full((2,), 3, device="meta"),
                       t.arange(5, device="meta"), t.eye(3, device="meta")],
    "no random numbers": lambda t: [t.manual_seed(1) and t.randn(4, device="meta"), t.rand(2)],
    "facts": lambda t: [_empty(t, 2).is_meta, _empty(t, 2).is_cpu, _empty(t, 2).device,
                        _empty(t, 2).data_ptr(), _empty(t, 2).untyped_storage().nbytes(),
                        _empty(t, 2).untyped_storage().device, _empty(t, 2, 3).t().is_contiguous()],
    "item": lambda t: _empty(t, 1).item(),
    "bool": lambda t: bool(_empty(t, 1)),
    "tolist": lambda t: _empty(t, 2).tolist(),
    "numpy": lambda t: _empty(t, 2).numpy(),
    "to cpu": lambda t: _empty(t, 2).to("cpu"),
    "cpu": lambda t: _empty(t, 2).cpu(),
    "copy out": lambda t: t.ones(2).copy_(_empty(t, 2)),
    "two devices": lambda t: _empty(t, 2) + t.ones(2),
    "two devices again": lambda t: t.ones(2) * _empty(t, 2),
    "number": lambda t: [_empty(t, 2) + t.tensor(1.0), t.tensor(1.0) * _empty(t, 2)],
    "number without a value": lambda t: t.ones(2) + _empty(t),
    "composed in place": lambda t: [
        _empty(t, 2).clamp_(0.0, 1.0), _empty(t, 2).addcmul_(_empty(t, 2), _empty(t, 2)),
        t.cosine_similarity(_empty(t, 2, 3), _empty(t, 2, 3))],
    "attention on two devices": lambda t: t.nn.functional.scaled_dot_product_attention(
        t.ones(1, 2, 3, 4), _empty(t, 1, 2, 3, 4), _empty(t, 1, 2, 3, 4)),
    "attention to values of another device": lambda t: (
        t.nn.functional.scaled_dot_product_attention(
            _empty(t, 1, 2, 3, 4), _empty(t, 1, 2, 3, 4), t.ones(1, 2, 3, 4))),
    "a mask of another device": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[_empty(t, 1, 2, 3, 4)] * 3, attn_mask=t.ones(3, 3, dtype=t.bool)),
    "targets of another device": lambda t: t.nn.functional.cross_entropy(
        t.ones(2, 3), t.zeros(2, dtype=t.int64, device="meta")),
    "a recurrent layer of another device": lambda t: t.nn.LSTM(2, 3, device="meta")(t.ones(4, 2)),
    "scales of another device": lambda t: t.nn.functional.group_norm(
        t.ones(1, 2, 3), 2, _empty(t, 2)),
    "mask": lambda t: _empty(t, 2)[_empty(t, 2, dtype=t.bool)],
    "to": lambda t: [t.ones(2, 3).t().to("meta").stride(), t.ones(2).to("meta", t.float64),
                     t.nn.Linear(2, 1).to("meta").weight, t.ones(2).to(_empty(t, 2))],
    "to_empty": lambda t: t.nn.Linear(2, 1, device="meta").to_empty(device="cpu").weight.device,
    "deepcopy": lambda t: copy.deepcopy(t.nn.Linear(2, 3, device="meta")).weight,
    "pickle": lambda t: pickle.loads(pickle.dumps(_empty(t, 2, 3).t())).stride(),
    "complex parts": lambda t: [
        t.view_as_complex(_empty(t, 3, 4, 2, dtype=t.float64)),
        (z := _empty(t, 2, 3, dtype=t.cfloat)).real, t.view_as_real(z), z.imag.stride(),
        z.conj().shape, z.requires_grad_().abs().sum().backward(), z.grad],
    "wrong shapes": lambda t: _empty(t, 2, 3) @ _empty(t, 4, 5),
    "wrong length": lambda t: _empty(t, 4096, 30) @ _empty(t, 4096, 30),
    "large": lambda t: [(_empty(t, 4096, 11008) @ _empty(t, 11008, 4096)).softmax(-1).sum(1).shape,
                        t.cat([_empty(t, 4096, 512)] * 3, 1).shape,
                        t.conv2d(_empty(t, 64, 64, 99, 99), _empty(t, 32, 64, 16, 16)).shape],
    "trained": _trained, "filled in": _filled_in, "saved": _saved, "skip_init": _skipped,
    "written": _written,
}  # fmt: skip


# PyTorch's meta kernels say it otherwise than those for the CPU; clew has the words of the latter.
OTHER_WORDS = {"mask", "wrong shapes", "wrong length"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    ours, theirs = (_outcome(library, PROGRAMS[name]) for library in (clew, torch))
    if name in OTHER_WORDS:
        ours, theirs = ours.partition(":")[0], theirs.partition(":")[0]
    assert ours == theirs


def test_no_memory_and_no_traces() -> None:
    x = clew.empty(1 << 20, 1 << 20, device="meta", requires_grad=True)  # 4 TiB
    (x * 2).sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape
    del x
    assert RANGE.alive == 0
    assert local.state.intercept is None


def test_other_threads() -> None:
    x = clew.empty(3, device="meta")
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append((x + 1).device))
    thread.start()
    thread.join()
    assert found == [clew.device("meta")]


def test_inside_transforms() -> None:
    x = clew.empty(5, 3, device="meta")
    assert clew.vmap(lambda row: row @ row)(x).shape == (5,)
    assert clew.func.grad(lambda x: (x * x).sum())(x).is_meta


@twice
def test_products_and_norms_take_operands_of_one_device(torch: Any) -> Any:
    def meta(*shape: int) -> Any:
        return torch.empty(*shape, device="meta")

    ones, functional = torch.ones, torch.nn.functional
    mixed = [
        lambda: functional.linear(meta(2, 3), ones(4, 3), ones(4)),
        lambda: torch.nn.Linear(2, 3, device="meta")(ones(1, 2)),
        lambda: torch.addmm(ones(2), meta(2, 3), meta(3, 2)),
        lambda: torch.addmv(ones(2), meta(2, 3), ones(3)),
        lambda: meta(2, 3) @ ones(3),
        lambda: torch.dot(meta(2), ones(2)),
        lambda: functional.layer_norm(meta(2, 3), (3,), ones(3)),
        lambda: functional.batch_norm(meta(2, 3), ones(3), ones(3)),
    ]
    taken = torch.addmm(meta(2), meta(2, 3), ones(3, 2)), meta(2, 3) @ ones(3, 2)
    return [raised(each, words=11) for each in mixed], [each.device.type for each in taken]
