"""torch.ao.quantization: observers, rounding and its gradients, prepare and convert."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from tests.twice import leaf, twice


def quantization(lib: Any) -> Any:
    # PyTorch warns that all of it is deprecated.
    warnings.simplefilter("ignore")
    return importlib.import_module(f"{lib.__name__}.ao.quantization")


def network(lib: Any) -> Any:
    """Two linear layers between the stubs."""
    q, nn = quantization(lib), lib.nn

    class Net(nn.Module):  # type: ignore[misc, name-defined]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.first, self.relu, self.second = nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.dequant(self.second(self.relu(self.first(self.quant(x)))))

    return Net()


@twice
def test_observers(lib: Any) -> Any:
    q = quantization(lib)
    x, seen = lib.randn(6, 4), []
    for name in (
        "MinMaxObserver", "MovingAverageMinMaxObserver", "PerChannelMinMaxObserver",
        "MovingAveragePerChannelMinMaxObserver",
    ):  # fmt: skip
        chosen = {"quant_min": 0, "quant_max": 63}
        for options in ({}, {"dtype": lib.qint8}, {"reduce_range": True}, chosen):
            observer = getattr(q, name)(**options)
            same = observer(x) is x
            observer(2 * x)
            scale, zero_point = observer.calculate_qparams()
            seen.append([same, scale, zero_point.int(), observer.min_val, repr(observer)])
    symmetric = q.MinMaxObserver(dtype=lib.qint8, qscheme=lib.per_tensor_symmetric)
    symmetric(x)
    return [seen, symmetric.calculate_qparams()[0], list(symmetric.state_dict())]


@twice
def test_rounding_and_its_gradient(lib: Any) -> Any:
    x = leaf(lib, [[-3.0, 0.12, 0.5], [0.26, 9.0, 1.0]], "float32")
    one = lib.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)
    one.sum().backward()
    grad, x.grad = x.grad, None
    scales, zeros = lib.tensor([0.1, 0.5]), lib.tensor([0, 3], dtype=lib.int32)
    other = lib.fake_quantize_per_channel_affine(x, scales, zeros, 0, -8, 7)
    (other * 2).sum().backward()
    return [one, grad, other, x.grad]


@twice
def test_fake_quantize_and_its_switches(lib: Any) -> Any:
    q = quantization(lib)
    module = q.FakeQuantize(observer=q.MovingAverageMinMaxObserver, quant_min=0, quant_max=255)
    x = lib.randn(8)
    first = module(x)
    module.apply(q.disable_observer)
    second = module(3 * x)
    module.apply(q.disable_fake_quant)
    return [first, second, module(x), module.scale, module.zero_point, list(module.state_dict())]


@twice
def test_training_with_rounding(lib: Any) -> Any:
    q = quantization(lib)
    model = network(lib).train()
    # Before: PyTorch makes new layers, whose first weights are random numbers, too.
    x, losses = lib.randn(8, 4), []
    model.qconfig = q.default_qat_qconfig
    model = q.prepare_qat(model)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = (model(x) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 4))
    return [losses, [name for name, _ in model.named_parameters()]]


@twice
def test_calibration_and_conversion(lib: Any) -> Any:
    q = quantization(lib)
    model = network(lib).eval()
    model.qconfig = q.default_qconfig
    prepared = q.prepare(model)
    x = lib.randn(16, 4)
    prepared(x)
    scales = [
        part.activation_post_process.calculate_qparams()[0]
        for part in (prepared.quant, prepared.first, prepared.second)
    ]
    converted = q.convert(prepared)
    # A result may lie one step beside where PyTorch's integer kernels round it to.
    near = (converted(x) - model(x)).abs().max().item() < 4 * scales[-1].item()
    return [scales, near]
