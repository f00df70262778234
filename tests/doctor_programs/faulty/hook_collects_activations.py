# expect: graph-leak line 15
# A forward hook keeps every activation, with its graph, in a dictionary for later plots.

from collections import defaultdict

import torch
from torch import nn

torch.manual_seed(76)
activations = defaultdict(list)


def remember(name):
    def hook(module, inputs, output):
        activations[name].append(output)

    return hook


model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2))
for name, module in model.named_children():
    if isinstance(module, nn.Tanh):
        module.register_forward_hook(remember(name))

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
y = (x[:, 0] * x[:, 1] > 0).long()
for _ in range(50):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for name, values in activations.items():
    print(name, len(values), values[0].abs().mean().item(), values[-1].abs().mean().item())
print("final loss", loss.item())
