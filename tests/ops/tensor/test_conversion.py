"""Converting tensors, leaving for NumPy and Python, and what tensors say of themselves."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

import clew
from tests.expressions import check
from tests.twice import twice

LEAVING = [
    "g.numpy()",
    "(g*2).numpy()",
    "torch.ones(2,dtype=torch.bfloat16).numpy()",
    "(g*2).numpy(force=True)",
    "np.asarray(g)",
    "a.__array__(np.float64)",
    "np.array(a, copy=True)",
    "np.exp(a)",
    "np.add(a, 1)",
    "np.sin(a, out=None)",
    "np.float64(2)*torch.ones(3)",
    "torch.ones(3)*np.float64(2)",
    "bool(a)",
    "bool(torch.ones(0))",
    "float(a)",
    "int(a)",
    "a.item()",
    "torch.ones(0).item()",
    "float(torch.ones(1,1))",
    "float(torch.tensor(1+0j))",
    "float(torch.tensor(1+1j))",
    "int(torch.tensor(2.7))",
    "complex(torch.tensor(2.))",
    "[1,2,3][torch.tensor(1)]",
    "[1,2,3][torch.tensor(1.)]",
    "[1,2,3][torch.tensor([1])]",
    "[1,2,3][torch.tensor([1,2])]",
    "[1,2,3][torch.tensor(True)]",
    "format(torch.tensor(1.23456),'.2f')",
    "format(a,'.2f')",
    "format(g.sum(),'.2f')",
    "f'{g.sum()}'",
    "f'{a[0,0]}'",
    "f'{torch.tensor(3)}'",
    "f'{torch.tensor(3):5d}'",
    "f'{torch.tensor(True)}'",
    "a.to(memory_format=torch.channels_last)",
    "a.to(dtype=torch.float16, memory_format=torch.preserve_format).dtype",
    "torch.preserve_format",
    "a.is_contiguous(memory_format=torch.channels_last)",
    "torch.ones(2,3,4,5).is_contiguous(memory_format=torch.channels_last)",
    "torch.is_floating_point(3)",
    "torch.Tensor(np.array([1,2]))",
    "torch.Tensor(np.array([1.,2]))",
    "torch.zeros_like(torch.ones(2,3,4).permute(2,0,1),memory_format=torch.contiguous_format).stride()",
    "torch.empty(2,3,4,5,memory_format=torch.channels_last).stride()",
    "torch.empty(2,3,4,memory_format=torch.channels_last).stride()",
    "a.tolist()",
    "torch.tensor(3).tolist()",
    "torch.tensor([1+2j]).tolist()",
    "torch.ones(2,dtype=torch.bfloat16).tolist()",
    "torch.ones(0,2).tolist()",
    "a.half().numpy().dtype",
    "np.from_dlpack(a)",
    "torch.from_dlpack(np.arange(3))",
    "torch.asarray(np.arange(3))",
    "torch.as_tensor(np.ones(2)).dtype",
    "torch.as_tensor(np.float64(2))",
]
COPIES = [
    "copy.deepcopy(g*2)",
    "copy.deepcopy(g)",
    "copy.copy(g)",
    "copy.copy(g*2)",
    "pickle.loads(pickle.dumps(g))",
    "pickle.loads(pickle.dumps(g*2))",
    "pickle.loads(pickle.dumps(a.t()))",
    "a.to(torch.float32, copy=True) is a",
    "torch.asarray(a, copy=True) is a",
    "torch.asarray(a, dtype=torch.float64, copy=False)",
]
CONVERSIONS = [
    "a.to(torch.float64)",
    "a.to('cpu') is a",
    "a.to('cpu', torch.int32)",
    "a.to(torch.device('cpu'), dtype=torch.int32)",
    "a.to(torch.ones(1,dtype=torch.int8)).dtype",
    "a.to(torch.float32, True, True) is a",
    "a.to()",
    "a.to(3)",
    "a.to('float32')",
    "a.to(float).dtype",
    "a.type()",
    "a.type(torch.int32).dtype",
    "a.type('torch.DoubleTensor').dtype",
    "a.type(torch.FloatTensor).dtype",
    "a.type('foo')",
    "a.type_as(torch.ones(1,dtype=torch.int8)).dtype",
    "a.pin_memory()",
    "a.is_pinned()",
    "a.share_memory_() is a",
    "a.is_shared()",
    "torch.typename(a)",
]
DEVICES = [
    "torch.device('cpu')",
    "torch.device('cpu:0')",
    "torch.device('cpu',0)",
    "torch.device('cuda:1')",
    "torch.device('meta')",
    "torch.device(0)",
    "torch.device('foo')",
    "torch.device('cpu:-1')",
    "torch.device('cpu:x')",
    "torch.device('cpu:0', 1)",
    "torch.device(type='cpu')",
    "torch.device(torch.device('cpu'))",
    "torch.device()",
    "torch.device(None)",
    "torch.device('cpu')==torch.device('cpu:0')",
    "str(torch.device('cuda:0'))",
    "hash(torch.device('cpu'))==hash(torch.device('cpu'))",
    "torch.device('cpu')=='cpu'",
    "torch.zeros(2,device='foo')",
    "torch.zeros(2,device=0)",
    "torch.zeros(2,device='cpu:0').device",
    "torch.zeros(2,device='cpu:1').device",
    "a.device",
    "torch.strided",
    "a.layout",
    "torch.get_default_device()",
    "a.get_device()",
    "torch.Tensor([2],device='cpu')",
]
INFORMATION = [
    "torch.channels_last",
    "a.size(5)",
    "a.size(-1)",
    "a.stride(5)",
    "a.size(dim=1)",
    "torch.is_nonzero(a)",
    "torch.is_nonzero(torch.ones(0))",
    "a.untyped_storage().nbytes()",
    "len(a.storage())",
    "a.storage().size()",
    "torch.result_type(a, 1)",
    "torch.result_type(torch.tensor(1), 1.0)",
    "torch.result_type(1, 1.0)",
    "torch.can_cast(torch.double, torch.int)",
    "torch.can_cast(torch.int, torch.bool)",
    "torch.can_cast(torch.uint8, torch.int8)",
    "torch.zeros(size=(2,3)).shape",
    "torch.zeros_like(a.t()).stride()",
    "torch.zeros_like(torch.ones(1,3).expand(4,3)).stride()",
    "torch.zeros_like(torch.ones(4,6)[:,::2]).stride()",
    "torch.zeros_like(torch.ones(2,3,4).permute(2,0,1)).stride()",
    "torch.zeros_like(torch.ones(2,3,4)[:,:,::2].permute(2,0,1)).stride()",
    "torch.zeros_like(3)",
    "torch.is_storage(a)",
    "torch.is_tensor(3)",
    "torch.set_default_dtype(torch.int32)",
    "torch.set_default_tensor_type('torch.IntTensor')",
    "a.apply_(lambda v: v+1)",
    "g.apply_(lambda v: v+1)",
    "x.map_(x, lambda p,q: p+q)",
    "x.double().apply_(lambda v: v*2)",
    "g.__dlpack__()",
    "torch.asarray([1,2])",
    "torch.asarray(a) is a",
    "torch.asarray(a, dtype=torch.float64)",
    "torch.asarray([1,2.5], requires_grad=True)",
    "torch.asarray(g)",
    "torch.asarray(g*2)",
    "torch.asarray(bytearray(b'abcd'), dtype=torch.uint8)",
    "torch.as_tensor(3)",
    "torch.as_tensor(a) is a",
    "torch.as_tensor([1], dtype=torch.float16)",
    "torch.as_tensor(g).requires_grad",
]
LEGACY = [
    "torch.FloatTensor(2,3).shape",
    "torch.FloatTensor([1,2])",
    "torch.LongTensor([1.5,2])",
    "torch.FloatTensor(a) is a",
    "torch.Tensor([1,2])",
    "torch.Tensor(2,3).shape",
    "torch.Tensor(2.5)",
    "torch.Tensor()",
    "torch.Tensor(torch.Size([2,3])).shape",
    "torch.Tensor(a) is a",
    "torch.Tensor(torch.ones(2,dtype=torch.int64))",
    "torch.Tensor(1,dtype=torch.int32)",
    "torch.Tensor(True)",
    "torch.Tensor('a')",
    "torch.Tensor([[1,2],[3]])",
    "isinstance(a, torch.FloatTensor)",
    "isinstance(a, torch.LongTensor)",
    "torch.FloatTensor.dtype",
    "torch.FloatTensor",
    "torch.BoolTensor([1,0])",
    "a.new([1,2])",
    "a.new(2,3).shape",
    "a.new_tensor([1,2]).dtype",
    "a.new_tensor([1,2],dtype=torch.int8).dtype",
    "torch.ones(2,dtype=torch.int64).new_tensor([1.5,2])",
    "a.new_zeros(2,3).shape",
    "a.new_zeros((2,3),dtype=torch.int8).dtype",
    "a.new_full((2,),7)",
    "torch.ones(2,dtype=torch.int64).new_full((2,),7.5)",
    "a.new_empty(3).shape",
    "a.new_ones(size=(2,)).shape",
]
SETUP = """
a = torch.ones(2, 3)
g = torch.ones(2, requires_grad=True)
x = torch.arange(6.0).reshape(2, 3)
"""


# What only a CPU build of torch answers as clew does; some Pythons get torch's CUDA build.
CPU_BUILD_ONLY = ("a.to(3)", "a.pin_memory()", "torch.device(0)", "torch.zeros(2,device=0)")


@pytest.mark.parametrize("text", [*LEAVING, *COPIES, *CONVERSIONS, *DEVICES, *LEGACY, *INFORMATION])
def test_same_as_torch(text: str) -> None:
    if text in CPU_BUILD_ONLY and torch.version.cuda is not None:
        pytest.skip("the installed torch is a CUDA build, which answers for a GPU")
    check(text, setup=SETUP)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
     "float64", "complex64", "complex128"],
)  # fmt: skip
@pytest.mark.parametrize("source", ["[0.0, 1.9, 2.5]", "[0, 1, 3]", "[True, False, True]"])
def test_every_conversion(source: str, dtype: str) -> None:
    check(f"torch.tensor({source}).to(torch.{dtype})")
    check(f"torch.tensor({source}, dtype=torch.{dtype}).float()")
    check(f"torch.tensor({source}, dtype=torch.{dtype}).tolist()")
    check(f"pickle.loads(pickle.dumps(torch.tensor({source}, dtype=torch.{dtype})))")


def test_conversion_is_differentiable() -> None:
    setup = "x = torch.tensor([1.5, 2.5], requires_grad=True)"
    check("torch.autograd.grad((x.double() ** 2).sum(), x)", setup=setup)
    check("x.to(torch.float64).grad_fn", setup=setup)
    check("torch.autograd.grad(x.half().float().sum(), x)", setup=setup)
    check("x.int().requires_grad", setup=setup)


def test_memory_formats() -> None:
    setup = "x = torch.arange(120.0).reshape(2, 3, 4, 5)"
    check("x.to(memory_format=torch.channels_last)", setup=setup)
    check("x.to(torch.float64, memory_format=torch.channels_last).stride()", setup=setup)
    check("x.permute(0, 2, 3, 1).double()", setup=setup)
    check("x.permute(0, 2, 3, 1).int(memory_format=torch.contiguous_format)", setup=setup)
    check("x[:, :, ::2].double()", setup=setup)
    check("torch.ones(1, 3).expand(4, 3).double()")
    check("torch.ones(3, 1, 2).expand(3, 4, 2).permute(2, 1, 0).half()")
    check(
        "x.to(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)",
        setup=setup,
    )


# -- copies ------------------------------------------------------------------------------------


def test_deepcopy_keeps_shared_memory_shared() -> None:
    whole = clew.arange(6.0)
    part = whole[2:4]
    again = copy.deepcopy({"whole": whole, "part": part, "same": whole})
    again["part"][0] = 100.0
    assert again["whole"][2].item() == 100.0 and whole[2].item() == 2.0
    assert again["same"] is again["whole"]


def test_deepcopy_takes_gradients_and_attributes_along() -> None:
    x = clew.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    x.label = ["weights"]
    again = copy.deepcopy(x)
    assert again.grad.tolist() == [2.0, 2.0, 2.0] and again.grad is not x.grad
    assert again.requires_grad and again.label == ["weights"] and again.label is not x.label


def test_copy_shares_memory() -> None:
    x = clew.zeros(2)
    copy.copy(x)[0] = 3.0
    assert x[0].item() == 3.0 and x._version == 1


def test_pickles_of_constants_are_the_constants() -> None:
    for constant in (
        clew.bool, clew.float32, clew.bfloat16, clew.strided, clew.channels_last,
        clew.contiguous_format,
    ):  # fmt: skip
        assert pickle.loads(pickle.dumps(constant)) is constant
    assert pickle.loads(pickle.dumps(clew.device("cuda", 1))) == clew.device("cuda:1")
    assert pickle.loads(pickle.dumps(clew.Size([2, 3]))) == clew.Size([2, 3])
    generator = clew.Generator().manual_seed(7)
    again = pickle.loads(pickle.dumps(generator))
    assert clew.rand(3, generator=again).tolist() == clew.rand(3, generator=generator).tolist()


# -- storage -----------------------------------------------------------------------------------


def test_storage_of_views() -> None:
    setup = "x = torch.arange(12.0).reshape(3, 4); v = x[1:, 1:]"
    check("v.storage_offset(), v.untyped_storage().nbytes(), v.storage().size()", setup=setup)
    check("v.data_ptr() - x.data_ptr()", setup=setup)
    check("v.untyped_storage().data_ptr() == x.data_ptr()", setup=setup)
    check("v.stride(), v.is_contiguous(), v.t().is_contiguous(), v.nbytes", setup=setup)
    check("x.is_set_to(x.view(3, 4)), x.is_set_to(v), x.t().storage_offset()", setup=setup)
    check("torch.is_storage(x.untyped_storage()), len(x.untyped_storage())", setup=setup)


def test_flags() -> None:
    flags = (
        "is_cuda", "is_cpu", "is_meta", "is_sparse", "is_quantized", "is_mkldnn", "is_nested",
        "is_leaf", "requires_grad", "itemsize", "nbytes", "ndim", "layout", "device",
    )  # fmt: skip
    for flag in flags:
        check(f"torch.ones(2, 3).{flag}")


def test_subclasses_are_kept() -> None:
    class Named(clew.Tensor):
        pass

    tensor = clew.ones(2).as_subclass(Named)
    assert type(tensor) is Named and type(copy.deepcopy(tensor)) is Named
    assert repr(tensor) == "Named([1., 1.])"


def test_number_of_threads() -> None:
    before = clew.get_num_threads()
    assert before >= 1
    clew.set_num_threads(3)
    assert clew.get_num_threads() == 3
    clew.set_num_threads(before)
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        clew.set_num_threads(0)


@pytest.mark.skipif(
    torch.version.cuda is not None,
    reason="the installed torch is a CUDA build, which answers for a GPU",
)
def test_there_is_no_gpu_and_programs_can_ask() -> None:
    for question in (
        "cuda.is_available()", "cuda.device_count()", "cuda.is_initialized()",
        "cuda.memory_allocated()", "cuda.is_bf16_supported()", "cuda.manual_seed(1)",
        "cuda.empty_cache()", "backends.mps.is_available()", "backends.cudnn.deterministic",
        "backends.cudnn.benchmark", "backends.cuda.is_built()", "get_float32_matmul_precision()",
        "are_deterministic_algorithms_enabled()",
    ):  # fmt: skip
        check(f"torch.{question}")
    for raising in (clew.cuda.current_device, clew.cuda.synchronize, clew.cuda.get_device_name):
        with pytest.raises(RuntimeError, match="no CUDA support"):
            raising()


def test_settings_are_kept() -> None:
    clew.use_deterministic_algorithms(True)
    assert clew.are_deterministic_algorithms_enabled()
    clew.use_deterministic_algorithms(False)
    clew.set_float32_matmul_precision("high")
    assert clew.get_float32_matmul_precision() == "high"
    clew.set_float32_matmul_precision("highest")
    with pytest.raises(ValueError, match="is not one of"):
        clew.set_float32_matmul_precision("low")


def test_in_place_methods_that_are_functions() -> None:
    check("torch.relu_(torch.tensor([-1.0, 2.0])), torch.exp_(torch.zeros(2))")


def test_order_of_dimensions() -> None:
    check("torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()")
    check("torch.empty_permuted((2, 3), (1, 1))")
    check("torch.empty_permuted((2, 3), (1,))", words=6)
    check("torch.empty(2, 3, 4).permute(1, 2, 0).dim_order(), torch.ones(2).get_device()")


@twice
def test_casting_complex_to_real_warns(torch: Any) -> Any:
    return torch.tensor([1 + 2j]).to(torch.float32)


@pytest.mark.parametrize("target", ["uint8", "int8", "int16", "int32", "int64", "uint16", "bool"])
def test_numbers_out_of_range_wrap_as_in_torch(target: str) -> None:
    numbers = "[300.0, -1.0, -300.0, 1e10, -1e10, 3e9, math.nan, math.inf, -math.inf]"
    for source in ("float32", "float64", "bfloat16"):
        check(f"torch.tensor({numbers}, dtype=torch.{source}).to(torch.{target})")
    check(f"torch.tensor([300, -1, 70000, 2**40, -(2**40)]).to(torch.{target})")
