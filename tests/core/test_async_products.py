"""Products that other threads make while backward goes on: complete, and never seen too early.

What the engine does about them is tried with products that are not made before somebody asks for
them: whoever looks too early sees NaN.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.core import anomaly, engine, node, saving
from clew.kernels.gemm import products
from clew.kernels.runtime import jit
from clew.observer import Observer, observing
from clew.ops.linalg import matmul
from clew.utils.checkpoint import checkpoint
from tests.kernels.runtime.test_thread_pool import run

SIZES = [(64, 128, 96), (6, 4096, 64), (7, 300, 131), (512, 64, 128)]


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = jit.threads()
    jit.set_threads(2)
    yield
    jit.set_threads(before)


def _matrices(m: int, k: int, n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m + k + n)
    return rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m,k,n", SIZES)
def test_the_same_bits(two_threads: None, m: int, k: int, n: int, dtype: Any) -> None:
    a, b = _matrices(m, k, n, dtype)
    pending: products.PendingProducts = []
    made = [products.async_product(a, b, pending) for _ in range(20)]
    transposed = products.async_product(b.T, a.T, pending)
    products.finish(pending)
    assert not pending
    for each in made:
        assert each.tobytes() == products.product(a, b).tobytes()
    assert transposed.tobytes() == products.product(b.T, a.T).tobytes()


def test_more_than_may_wait(two_threads: None) -> None:
    """Where there is no place left, the caller makes the product."""
    a, b = _matrices(64, 256, 64, np.float32)
    kernel = products.ASYNC_PRODUCT.specialize(a)
    made = [kernel(a, b) for _ in range(300)]
    jit.machine().thread_pool.wait_for_jobs()
    assert all(each.tobytes() == products.product(a, b).tobytes() for each in made)


def test_one_thread_leaves_nothing() -> None:
    before = jit.threads()
    jit.set_threads(1)
    try:
        a, b = _matrices(64, 256, 64, np.float32)
        made = products.async_product(a, b, [])
        assert jit.machine().thread_pool.pending_jobs.value == 0
        assert made.tobytes() == products.product(a, b).tobytes()
    finally:
        jit.set_threads(before)


def test_many_threads_and_forks() -> None:
    run("""
from clew.kernels.gemm import products
jit.set_threads(3)
a = np.random.default_rng(1).normal(size=(64, 256)).astype(np.float32)
right = products.product(a, a.T).tobytes()

def work():
    for _ in range(50):
        pending = []
        made = [products.async_product(a, a.T, pending) for _ in range(5)]
        products.finish(pending)
        assert all(each.tobytes() == right for each in made)

threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads:
    each.start()
for _ in range(5):
    child = os.fork()
    if not child:
        work()
        jit.set_threads(2)
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for each in threads:
    each.join()
""")


class Unmade:
    """In place of the workers: products are NaN until somebody asks for them."""

    def __init__(self) -> None:
        self.count = 0

    def product(
        self, a: np.ndarray, b: np.ndarray, pending: products.PendingProducts
    ) -> np.ndarray:
        result = np.full((a.shape[0], b.shape[1]), np.nan, a.dtype)
        pending.append((a, b, result))
        self.count += 1
        return result

    def finish(self, pending: products.PendingProducts) -> None:
        for a, b, result in pending:
            result[...] = a @ b
        pending.clear()


@pytest.fixture
def unmade(monkeypatch: pytest.MonkeyPatch) -> Unmade:
    watch = Unmade()
    monkeypatch.setattr(matmul, "async_product", watch.product)
    monkeypatch.setattr(anomaly, "finish", watch.finish)
    monkeypatch.setattr(engine, "finish", watch.finish)
    monkeypatch.setattr(node, "finish", watch.finish)
    monkeypatch.setattr(saving, "finish", watch.finish)
    return watch


def _network() -> nn.Sequential:
    clew.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))


def _loss(network: nn.Module, rows: tuple[int, ...] = (5,)) -> Any:
    clew.manual_seed(1)
    return network(clew.randn(*rows, 3)).square().sum()


def _gradients(network: nn.Module) -> list[np.ndarray]:
    return [p.grad.detach().numpy().copy() for p in network.parameters()]


def _expected(use: Callable[[nn.Module], None]) -> list[np.ndarray]:
    network = _network()
    with observing(Observer()):  # shows every gradient, so that nothing is deferred
        use(network)
    return _gradients(network)


def _once(network: nn.Module) -> None:
    _loss(network).backward()


def _rows_of_rows(network: nn.Module) -> None:
    _loss(network, (5, 4)).backward()


def _twice(network: nn.Module) -> None:
    _loss(network).backward()
    _loss(network).backward()


def _retained(network: nn.Module) -> None:
    loss = _loss(network)
    loss.backward(retain_graph=True)
    loss.backward()


def _one_weight_for_two(network: nn.Module) -> None:
    weight = network[2].weight
    (_loss(network) + (clew.ones(4, 8) @ weight.t()).sum()).backward()


def _one_transposed_weight_for_two(network: nn.Module) -> None:
    transposed = network[2].weight.t()
    x = clew.ones(4, 8).requires_grad_()
    (_loss(network) + (x @ transposed @ transposed).sum()).backward()


def _created_graph(network: nn.Module) -> None:
    loss = _loss(network)
    loss.backward(create_graph=True)


def _checkpointed(network: nn.Module) -> None:
    clew.manual_seed(1)
    x = clew.randn(5, 3).requires_grad_()
    middle = checkpoint(network[:3], x, use_reentrant=False)
    checkpoint(network[3:], middle, use_reentrant=True).square().sum().backward()


def _bare_matrices(network: nn.Module) -> None:
    clew.manual_seed(1)
    x = clew.randn(5, 8).requires_grad_()
    (x @ network[2].weight @ network[4].weight.T).sum().backward()
    for p in network.parameters():
        p.grad = clew.zeros_like(p) if p.grad is None else p.grad


@pytest.mark.parametrize(
    "use",
    [_once, _rows_of_rows, _twice, _retained, _one_weight_for_two, _one_transposed_weight_for_two,
     _created_graph, _checkpointed, _bare_matrices],
)  # fmt: skip
@pytest.mark.parametrize("checked", [False, True])
def test_backward_completes_them(
    unmade: Unmade,
    monkeypatch: pytest.MonkeyPatch,
    use: Callable[[nn.Module], None],
    checked: bool,
) -> None:
    expected = _expected(use)
    assert not unmade.count
    network = _network()
    with clew.autograd.set_detect_anomaly(checked):
        use(network)
    for mine, right in zip(_gradients(network), expected, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-5, atol=1e-6)
    assert unmade.count or use is _created_graph


class _Identity(clew.autograd.Function):
    looks: Callable[[], None]

    @staticmethod
    def forward(ctx: Any, x: clew.Tensor) -> clew.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: clew.Tensor) -> clew.Tensor:
        _Identity.looks()
        return grad


def _through_function(network: nn.Module, look: Callable[[], None]) -> None:
    _Identity.looks = look
    network[1].register_forward_hook(lambda module, args, out: _Identity.apply(out))


def _through_tensor_hook(network: nn.Module, look: Callable[[], None]) -> None:
    def watch(module: Any, args: Any, out: clew.Tensor) -> None:
        out.register_hook(lambda grad: look())

    network[1].register_forward_hook(watch)


def _through_module_hook(network: nn.Module, look: Callable[[], None]) -> None:
    network[1].register_full_backward_hook(lambda module, gi, go: look())


def _through_leaf_hook(network: nn.Module, look: Callable[[], None]) -> None:
    network[2].bias.register_post_accumulate_grad_hook(lambda p: look())


def _through_node_hook(network: nn.Module, look: Callable[[], None]) -> None:
    def watch(module: Any, args: Any, out: clew.Tensor) -> None:
        out.grad_fn.register_prehook(lambda grads: look())

    network[1].register_forward_hook(watch)


def _through_saved_hook(network: nn.Module, look: Callable[[], None]) -> None:
    def unpack(tensor: clew.Tensor) -> clew.Tensor:
        look()
        return tensor

    def watch(module: Any, args: Any) -> Any:
        module.hooks = clew.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack)
        module.hooks.__enter__()

    network[1].register_forward_pre_hook(watch)
    network[1].register_forward_hook(lambda module, args, out: module.hooks.__exit__())


@pytest.mark.parametrize(
    "way",
    [_through_function, _through_tensor_hook, _through_module_hook, _through_leaf_hook,
     _through_node_hook, _through_saved_hook],
)  # fmt: skip
def test_the_users_code_sees_them_complete(unmade: Unmade, way: Callable[..., None]) -> None:
    network, seen = _network(), []

    def look() -> None:
        grad = network[4].weight.grad
        assert grad is not None
        seen.append(bool(grad.isfinite().all()))

    way(network, look)
    _loss(network).backward()
    assert seen and all(seen)
    assert unmade.count


@pytest.mark.parametrize(
    "way",
    [_through_function, _through_tensor_hook, _through_module_hook, _through_leaf_hook,
     _through_node_hook, _through_saved_hook],
)  # fmt: skip
def test_the_users_code_does_not_run_after_a_nan(unmade: Unmade, way: Callable[..., None]) -> None:
    """Anomaly mode: the gradient of the last weight is NaN before the code below would run."""
    network, seen = _network(), []
    way(network, lambda: seen.append(True))
    network[3].register_forward_hook(lambda module, args, out: out + float("nan"))
    network[4].register_forward_hook(lambda module, args, out: out.nan_to_num())
    last = network[4]
    with (
        clew.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="'AddmmBackward0' returned nan values in its 2th"),
    ):
        _loss(network).backward()
    assert unmade.count and not seen
    assert all(p.grad is None for p in network.parameters() if p is not last.bias)


def test_an_error_leaves_complete_gradients(unmade: Unmade) -> None:
    network = _network()

    def fail(grad: clew.Tensor) -> None:
        raise ValueError("mine")

    network[1].register_forward_hook(lambda module, args, out: out.register_hook(fail) and None)
    with pytest.raises(ValueError, match="mine"):
        _loss(network).backward()
    assert network[4].weight.grad is not None and network[4].weight.grad.isfinite().all()
    assert unmade.count


@pytest.mark.parametrize("order", ["column by column", "every second"])
def test_weights_that_lie_otherwise(unmade: Unmade, order: str) -> None:
    base = clew.randn(16, 16)
    weight = (base.t()[:8, :8] if order == "column by column" else base[::2, ::2]).detach()
    weight.requires_grad_()
    x = clew.randn(5, 8).requires_grad_()
    clew.nn.functional.linear(x, weight).sum().backward()
    assert weight.grad is not None
    np.testing.assert_allclose(
        weight.grad.numpy(), np.tile(x.detach().numpy().sum(0), (8, 1)), rtol=1e-5
    )


def test_gradients_of_a_real_step_do_not_depend_on_it(two_threads: None) -> None:
    def step(allowed: bool) -> list[bytes]:
        clew.manual_seed(0)
        network = nn.Sequential(*[nn.Linear(128, 128) for _ in range(30)])
        with nullcontext() if allowed else observing(Observer()):
            for _ in range(3):
                network.zero_grad()
                network(clew.randn(64, 128)).square().mean().backward()
        return [p.grad.numpy().tobytes() for p in network.parameters()]

    assert step(True) == step(False)
