# expect: nothing
# Each parameter has its own optimizer that steps and clears inside a hook during backward.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1000)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
optimizers = {p: torch.optim.Adam([p], lr=5e-3) for p in model.parameters()}


def step_now(p):
    optimizers[p].step()
    optimizers[p].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(step_now)
x = torch.randn(120, 6)
y = x[:, :3].argmax(1)
losses = []
for _ in range(15):
    for xb, yb in zip(x.split(40), y.split(40)):
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        losses.append(loss.item())
print(losses[0], losses[-1])
