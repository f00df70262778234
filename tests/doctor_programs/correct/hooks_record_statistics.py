# expect: nothing
# Forward and gradient hooks keep numbers and detached tensors only.

import torch
from torch import nn

torch.manual_seed(258)
stats, grads = {}, []


def record(name):
    def hook(module, inputs, output):
        stats.setdefault(name, []).append(output.detach().std().item())

    return hook


model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2))
for name, module in model.named_children():
    module.register_forward_hook(record(name))
model[0].weight.register_hook(lambda g: grads.append(g.norm().item()))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
x = torch.randn(80, 4)
y = (x[:, 0] > x[:, 1]).long()
losses = []
for _ in range(50):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("kept", len(grads), {k: len(v) for k, v in stats.items()})
print(losses[0], losses[-1])
