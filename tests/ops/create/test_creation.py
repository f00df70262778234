"""Making tensors: every line gives in clew what it gives in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import clew
from tests import oracle
from tests.expressions import check

# From numbers, sequences, arrays and buffers.
DATA = [
    "torch.tensor(np.float64(3)).dtype",
    "torch.tensor([np.float64(3)]).dtype",
    "torch.tensor([np.float32(3), 2.0]).dtype",
    "torch.tensor([np.float16(3), 2]).dtype",
    "torch.tensor([np.int8(3), np.int16(2)]).dtype",
    "torch.tensor([np.int32(3), True]).dtype",
    "torch.tensor([np.array([1,2]), np.array([3,4])])",
    "torch.tensor([np.array([1.,2]), [3,4]])",
    "torch.tensor([torch.tensor(1), torch.tensor(2.5)])",
    "torch.tensor([torch.ones(2), torch.ones(2)])",
    "torch.tensor([torch.ones(1), torch.ones(1)])",
    "torch.tensor([[1,2],[3,4,5]])",
    "torch.tensor([[1],2])",
    "torch.tensor([1,[2]])",
    "torch.tensor([[1,2],[3]])",
    "torch.tensor(['a'])",
    "torch.tensor('a')",
    "torch.tensor(None)",
    "torch.tensor([None])",
    "torch.tensor({})",
    "torch.tensor([1, None])",
    "torch.tensor([1, 'a'])",
    "torch.tensor(2**63)",
    "torch.tensor([2**63])",
    "torch.tensor([300], dtype=torch.uint8)",
    "torch.tensor([-1], dtype=torch.uint8)",
    "torch.tensor(-300, dtype=torch.uint8)",
    "torch.tensor(200, dtype=torch.int8)",
    "torch.tensor(1.5, dtype=torch.int64)",
    "torch.tensor(float('nan'), dtype=torch.int64)",
    "torch.tensor(1e40)",
    "torch.tensor(1e400)",
    "torch.tensor(1j, dtype=torch.float32)",
    "torch.tensor([1+0j], dtype=torch.float32)",
    "torch.tensor(2.5, dtype=torch.bool)",
    "torch.tensor([True, 2, 3.0]).dtype",
    "torch.tensor([])",
    "torch.tensor([[]])",
    "torch.tensor([[],[]]).shape",
    "torch.tensor(range(3))",
    "torch.tensor((1,2.5))",
    "torch.tensor(bytearray(b'ab'))",
    "torch.tensor(np.array([1,2],dtype='>i4'))",
    "torch.tensor(np.array([1,2],dtype=np.uint16))",
    "torch.tensor(np.array(['a']))",
    "torch.tensor(np.arange(3)[::-1])",
    "torch.from_numpy(np.arange(3)[::-1])",
    "torch.from_numpy([1])",
    "torch.from_numpy(np.array(['a']))",
    "torch.from_numpy(np.array([1,2],dtype='>i4'))",
    "torch.as_tensor(np.arange(3)[::-1])",
    "torch.tensor([1,2], requires_grad=True)",
    "torch.tensor(1, dtype=complex)",
    "torch.zeros(torch.tensor(3))",
    "torch.zeros((torch.tensor(3),2)).shape",
    "torch.full((2,), torch.tensor(3))",
    "torch.arange(torch.tensor(5))",
    "torch.arange(torch.tensor(5.))",
    "torch.linspace(torch.tensor(0),torch.tensor(3.),4)",
    "torch.linspace(torch.tensor([0]),3.,4)",
    "torch.logspace(torch.tensor(0.),2,3)",
    "torch.vander(torch.tensor([1,2,3]))",
    "torch.vander(torch.tensor([1.,2,3]),N=2,increasing=True)",
    "torch.vander(torch.tensor(1))",
    "torch.scalar_tensor(3)",
    "torch.scalar_tensor(3, dtype=torch.int32)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.uint8)",
    "torch.frombuffer(b'abcd', dtype=torch.uint8)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16, count=1, offset=2)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16, offset=1)",
    "torch.frombuffer(bytearray(b''), dtype=torch.int16)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16, count=3)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16, offset=4)",
    "torch.frombuffer(3, dtype=torch.int16)",
    "torch.tensor([[1,2],[3,4]],dtype=torch.bfloat16)",
    "torch.tensor(torch.tensor([1,2]))",
    "torch.tensor(torch.ones(2,requires_grad=True)*2)",
    "torch.tensor([True,False])",
    "torch.tensor([[True,1],[2.5,1j]])",
    "torch.tensor([np.bool_(True)])",
    "torch.tensor(np.bool_(True))",
    "torch.tensor([np.complex64(1j)])",
    "torch.tensor([np.uint8(3), 300])",
    "torch.tensor(np.array(3.0))",
    "torch.tensor(np.array(3.0, dtype=np.float32), dtype=torch.int32)",
    "torch.tensor([float('inf'), float('-inf'), float('nan')])",
    "torch.tensor([1.5, -2.5], dtype=torch.int8)",
    "torch.tensor([1e10], dtype=torch.float16)",
    "torch.tensor(10**30)",
    "torch.tensor([10**30], dtype=torch.float32)",
    "torch.tensor(10**400, dtype=torch.float32)",
    "torch.tensor([1,2],device='cpu').device",
    "torch.tensor(data=[1,2])",
    "torch.tensor([1],dtype='float32')",
    "torch.tensor()",
    "torch.tensor(range(0))",
    "torch.tensor([(1,2),[3,4]])",
    "torch.tensor([[[1],[2]],[[3],[4]]]).shape",
    "torch.tensor([[1,2],[3,4]]).is_contiguous()",
    "torch.tensor(memoryview(b'ab'))",
    "torch.tensor(b'ab')",
    "torch.tensor({1,2})",
    "torch.tensor(object())",
    "torch.tensor([object()])",
    "torch.tensor([torch.tensor([[1.]])])",
    "torch.tensor([[torch.tensor(1.), 2],[3, torch.tensor(4)]])",
    "torch.tensor(np.ones((2,3),order='F')).stride()",
    "torch.from_numpy(np.ones((2,3),order='F')).stride()",
    "torch.from_numpy(np.ones((2,3)).T).stride()",
    "torch.from_numpy(np.float32(3))",
    "torch.from_numpy(np.array(3.))",
    "torch.as_tensor(np.ones(2), dtype=torch.float32).dtype",
    "torch.as_tensor([[1,2],[3,4]])",
    "torch.as_tensor('a')",
    "torch.as_tensor(torch.ones(2), dtype=torch.float64)",
    "torch.as_tensor(torch.ones(2,requires_grad=True), dtype=torch.float64)",
    "torch.asarray(np.ones(2), copy=False)",
    "torch.asarray([1,2], copy=False)",
    "torch.asarray(3.5)",
    "torch.asarray(np.float32(3.5))",
    "torch.asarray(torch.ones(2), requires_grad=True)",
    "torch.from_dlpack(torch.ones(2))",
    "torch.from_dlpack(3)",
    "torch.frombuffer(bytearray(8), dtype=torch.float32, requires_grad=True)",
]

# Ranges and index grids.
RANGES = [
    "torch.arange(5)",
    "torch.arange(5.)",
    "torch.arange(1,5,0.5)",
    "torch.arange(0, 5, dtype=torch.bool)",
    "torch.arange(5, 0)",
    "torch.arange(0,5,0)",
    "torch.arange(5,0,-1)",
    "torch.arange(True)",
    "torch.arange(1j)",
    "torch.arange(float('inf'))",
    "torch.arange(end=4)",
    "torch.arange(start=1,end=4)",
    "torch.arange(0,1,0.1,dtype=torch.float16)",
    "torch.arange(0,1,0.1,dtype=torch.int32)",
    "torch.arange(2.5, dtype=torch.int64)",
    "torch.range(0,4)",
    "torch.range(0,4,2,dtype=torch.int64)",
    "torch.range(4)",
    "torch.linspace(0,1,5)",
    "torch.linspace(0,1,1)",
    "torch.linspace(0,1,0)",
    "torch.linspace(0,10,5,dtype=torch.int64)",
    "torch.linspace(3,-10,5,dtype=torch.int32)",
    "torch.linspace(0,1j,3)",
    "torch.linspace(0,1,-1)",
    "torch.logspace(0,2,3)",
    "torch.logspace(0,2,3,base=2)",
    "torch.logspace(0,2,3,dtype=torch.int64)",
    "torch.eye(3,2)",
    "torch.eye(-1)",
    "torch.eye(2,dtype=torch.bool)",
    "torch.tril_indices(3,3,-1)",
    "torch.triu_indices(3,4,1)",
    "torch.tril_indices(-1,3)",
    "torch.arange(0,5,1.5,dtype=torch.int64)",
    "torch.arange(0.5,5.5,dtype=torch.int64)",
    "torch.arange(0.5,5.5,dtype=torch.int32)",
    "torch.arange(0,5.5,1.5,dtype=torch.int32)",
    "torch.arange(2.5,dtype=torch.int32)",
    "torch.arange(-2.5,2.5,dtype=torch.int32)",
    "torch.arange(2**60, 2**60+3)",
    "torch.arange(2**24, 2**24+5, dtype=torch.float32)",
    "torch.arange(0,300,dtype=torch.uint8).shape",
    "torch.arange(0, 5, dtype=torch.uint16)",
    "torch.arange(3, dtype=torch.complex64)",
    "torch.arange(float('nan'))",
    "torch.arange(1,2,3,4)",
    "torch.arange()",
    "torch.arange('a')",
    "torch.arange(None)",
    "torch.arange(0,10,step=2)",
    "torch.arange(0,end=10,step=2)",
    "torch.arange(1, out=torch.empty(3))",
    "torch.arange(5, out=torch.empty(5,dtype=torch.int32))",
    "torch.range(0,1.5,.5)",
    "torch.range(1,0)",
    "torch.eye(2, out=torch.empty(2,2,dtype=torch.int32))",
    "torch.linspace(0,1,3,out=torch.empty(3,dtype=torch.float64))",
    "torch.linspace(1,5,5,dtype=torch.float16)",
    "torch.linspace(1,5,7,dtype=torch.bfloat16)",
    "torch.linspace(0,5,7,dtype=torch.uint8)",
    "torch.linspace(0,5,3,dtype=torch.bool)",
    "torch.linspace(start=0,end=5,steps=3)",
    "torch.linspace(0,1j,3,dtype=torch.float32)",
    "torch.logspace(0,1,3,base=-2)",
    "torch.logspace(0,1,3,base=2,dtype=torch.complex64)",
]

# Sizes, dtypes, constants.
CONSTANTS = [
    "torch.zeros(2, dtype=torch.int64, requires_grad=True)",
    "torch.ones(2, dtype=torch.int64).requires_grad_()",
    "torch.zeros(2, dtype=float)",
    "torch.zeros(2, dtype=int)",
    "torch.zeros(2, dtype=np.float32)",
    "torch.zeros(-1)",
    "torch.zeros(2,-3)",
    "torch.zeros(2.0)",
    "torch.zeros([2,2.0])",
    "torch.zeros('a')",
    "torch.zeros()",
    "torch.zeros(())",
    "torch.zeros(np.int64(3))",
    "torch.zeros(2, names=('a',))",
    "torch.full((2,), 1).dtype",
    "torch.full((2,), True).dtype",
    "torch.full((2,), 1.5).dtype",
    "torch.full((2,), 1j).dtype",
    "torch.full(2, 1)",
    "torch.full((2,), 1.5, dtype=torch.int64)",
    "torch.full((2,), 300, dtype=torch.uint8)",
    "torch.full((2,), -1, dtype=torch.uint8)",
    "torch.full((2,), 1e40)",
    "torch.full((2,), 2**63)",
    "torch.empty_strided((2,3),(1,2)).stride()",
    "torch.hann_window(1)",
    "torch.hann_window(0)",
    "torch.hann_window(4, dtype=torch.int64)",
    "torch.hann_window(-1)",
    "torch.zeros(2,3,out=torch.ones(2,3))",
    "torch.zeros(2,out=torch.ones(5,dtype=torch.int8))",
    "torch.full((2,),3,out=torch.ones(2))",
    "torch.zeros(2, requires_grad=True)",
    "torch.full_like(torch.ones(2,dtype=torch.int8),2.7)",
    "torch.full_like(torch.ones(2),2,dtype=torch.int16)",
    "torch.ones_like(torch.ones(2,3,requires_grad=True)).requires_grad",
    "torch.zeros_like(torch.ones(2),requires_grad=True)",
    "torch.empty_like(torch.ones(2,3).t()).stride()",
    "torch.empty_strided((2,3),(1,))",
    "torch.empty_strided((2,3),(-1,2))",
    "torch.empty_strided((2,0),(3,1)).stride()",
]

# Formulas that both libraries round in their own order.
WINDOWS = [
    f"torch.{name}_window({arguments})"
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")
    for arguments in ("0", "1", "2", "5", "6, False", "7, True, dtype=torch.float64", "16")
] + ["torch.hamming_window(5, True, 0.5, 0.4)", "torch.kaiser_window(9, False, 3.0)"]


@pytest.mark.parametrize("text", [*DATA, *RANGES, *CONSTANTS])
def test_same_as_torch(text: str) -> None:
    check(text)


@pytest.mark.parametrize("text", [*WINDOWS, "torch.logspace(-3, 3, 7)"])
def test_close_to_torch(text: str) -> None:
    oracle.assert_same(eval(text, {"torch": clew}), eval(text, {"torch": torch}))


@pytest.mark.parametrize("count", [1, 7, 15, 16, 33, 100, 1001])
def test_ranges_round_as_in_torch(count: int) -> None:
    check(f"torch.arange(0.3, 0.3 + 0.1 * {count} - 0.05, 0.1)")
    check(f"torch.linspace(-1.3, 2.7, {count})")
    check(f"torch.linspace(-1.3, 2.7, {count}, dtype=torch.float64)")


def test_from_numpy_shares_memory_both_ways() -> None:
    array = np.zeros((2, 3), np.float32)
    tensor = clew.from_numpy(array)
    tensor[0, 1] = 5.0
    array[1, 2] = 7.0
    assert array[0, 1] == 5.0 and tensor[1, 2].item() == 7.0
    assert clew.as_tensor(array).data_ptr() == tensor.data_ptr()
    assert clew.asarray(array).data_ptr() == tensor.data_ptr()
    assert clew.tensor(array).data_ptr() != tensor.data_ptr()


def test_from_dlpack_shares_memory_both_ways() -> None:
    array = np.zeros(3)
    tensor = clew.from_dlpack(array)
    tensor[0] = 2.0
    assert array[0] == 2.0
    back = np.from_dlpack(tensor)
    back[1] = 3.0
    assert tensor[1].item() == 3.0


def test_frombuffer_shares_memory() -> None:
    buffer = bytearray(4)
    clew.frombuffer(buffer, dtype=clew.uint8)[1] = 9
    assert buffer[1] == 9


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps"])
def test_no_tensor_is_made_on_other_devices(device: str) -> None:
    for make in (
        lambda: clew.zeros(2, device=device),
        lambda: clew.tensor([1.0], device=clew.device(device)),
        lambda: clew.ones(2).to(device),
        lambda: clew.randn(2, device=device),
    ):
        with pytest.raises(RuntimeError, match=r"no [A-Z]+ support"):
            make()


def test_default_device() -> None:
    assert clew.get_default_device() == clew.device("cpu")
    with clew.device("cuda"):
        assert clew.get_default_device() == clew.device("cuda")
        with pytest.raises(RuntimeError, match="no CUDA support"):
            clew.zeros(2)
        with clew.device("cpu"):
            assert clew.zeros(2).device == clew.device("cpu")
    clew.set_default_device("cuda")
    try:
        with pytest.raises(RuntimeError, match="no CUDA support"):
            clew.tensor([1.0])
    finally:
        clew.set_default_device(None)
    assert clew.zeros(1).device.type == "cpu"


def test_default_dtype_decides_what_floats_become() -> None:
    text = "[t.dtype for t in (torch.tensor([1.5]), torch.zeros(1), torch.full((1,), 1j))]"
    setup = "torch.set_default_dtype(torch.float64)"
    try:
        check(text, setup="torch.set_default_dtype(torch.float16)")
        check(text, setup=setup)
        check("torch.tensor(1.5), torch.ones(2), torch.arange(2.0)", setup=setup)
        check("1", setup="torch.set_default_tensor_type(torch.DoubleTensor)")
        assert clew.get_default_dtype() is clew.float64
    finally:
        clew.set_default_dtype(clew.float32)
        torch.set_default_dtype(torch.float32)


def test_only_the_strided_layout_is_made() -> None:
    with pytest.raises(RuntimeError, match="only the strided layout"):
        clew.ones(2, layout=clew.sparse_coo)


def test_out_that_requires_grad_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"out=... arguments don't support automatic diff"):
        clew.zeros(2, out=clew.zeros(2, requires_grad=True))


def test_copying_a_tensor_warns() -> None:
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        clew.tensor(clew.ones(2))
    with pytest.warns(UserWarning, match="not writable"):
        clew.frombuffer(b"ab", dtype=clew.uint8)


def test_vander_has_gradients() -> None:
    # PyTorch's own raises here: it overwrites what its backward needs.
    x = clew.tensor([1.0, 2.0, 3.0], dtype=clew.float64, requires_grad=True)
    (grad,) = clew.autograd.grad(clew.vander(x, 4).square().sum(), x)
    assert grad.tolist() == [6 * v**5 + 4 * v**3 + 2 * v for v in (1.0, 2.0, 3.0)]
