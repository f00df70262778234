# expect: nothing
# Two losses over one trunk are back-propagated one after the other, the first retains the graph.

import torch
from torch import nn

torch.manual_seed(213)
trunk = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
head_a, head_b = nn.Linear(24, 1), nn.Linear(24, 3)
params = [*trunk.parameters(), *head_a.parameters(), *head_b.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)
x = torch.randn(80, 6)
ya, yb = x.abs().mean(1, keepdim=True), x[:, :3].argmax(1)

losses = []
for _ in range(30):
    optimizer.zero_grad()
    h = trunk(x)
    loss_a = nn.functional.mse_loss(head_a(h), ya)
    loss_b = nn.functional.cross_entropy(head_b(h), yb)
    loss_a.backward(retain_graph=True)
    norm_a = trunk[0].weight.grad.norm().item()
    loss_b.backward()
    optimizer.step()
    losses.append(loss_a.item() + loss_b.item())
print("gradient of a", norm_a)
print("sum of losses", losses[0], losses[-1])
