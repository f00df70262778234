# expect: inplace-saved-tensor line 11
# The gate is shifted with sub_ after tanh has kept it for its backward.
# saved: line 10

import torch
from torch import nn


def highway(x, transform, gate_layer):
    gate = torch.tanh(gate_layer(x))
    gate.sub_(0.5)
    return gate * transform(x) + (1 - gate) * x


torch.manual_seed(908)
transform, gate_layer, out = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 1)
params = [p for m in (transform, gate_layer, out) for p in m.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-2)
x = torch.randn(50, 6)
y = x.prod(dim=1, keepdim=True)
for epoch in range(4):
    loss = nn.functional.mse_loss(out(highway(x, transform, gate_layer)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
