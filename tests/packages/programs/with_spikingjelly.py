"""SpikingJelly: spiking neurons, step by step and over time."""

import torch
from spikingjelly.activation_based import encoding, functional, layer, neuron, surrogate

torch.manual_seed(0)
n = torch.nn.Sequential(
    layer.Flatten(),
    layer.Linear(16, 8, bias=False),
    neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan()),
    layer.Linear(8, 3),
    neuron.IFNode(surrogate_function=surrogate.Sigmoid()),
)
opt = torch.optim.Adam(n.parameters(), 1e-2)
x = torch.rand(4, 1, 4, 4)
e = encoding.PoissonEncoder()
for i in range(3):
    opt.zero_grad()
    o = sum(n(e(x)) for _ in range(6)) / 6
    loss = torch.nn.functional.mse_loss(o, torch.eye(3)[[0, 1, 2, 0]])
    loss.backward()
    opt.step()
    functional.reset_net(n)
    print(f"{loss.item():.5f}")
m = torch.nn.Sequential(
    layer.Conv2d(1, 2, 3, step_mode="m"),
    layer.BatchNorm2d(2, step_mode="m"),
    neuron.ParametricLIFNode(step_mode="m"),
    layer.MaxPool2d(2, step_mode="m"),
)
y = m(torch.randn(4, 2, 1, 6, 6) * 3)
y.sum().backward()
print(f"{y.sum().item():.4f}", f"{m[2].w.grad.item():.5f}")
