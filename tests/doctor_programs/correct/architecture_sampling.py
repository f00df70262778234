# expect: nothing
# One of three operations is sampled per step; the architecture weights learn by REINFORCE.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1016)
ops = nn.ModuleList(
    [
        nn.Linear(5, 8),
        nn.Sequential(nn.Linear(5, 8), nn.ReLU()),
        nn.Sequential(nn.Linear(5, 8), nn.Tanh()),
    ]
)
head = nn.Linear(8, 1)
alpha = nn.Parameter(torch.zeros(3))
opt_w = torch.optim.Adam([*ops.parameters(), *head.parameters()], lr=1e-2)
opt_a = torch.optim.Adam([alpha], lr=1e-2)
x = torch.randn(100, 5)
y = x[:, :1].abs() + x[:, 1:2]
losses, baseline = [], None
for _ in range(90):
    dist = torch.distributions.Categorical(logits=alpha)
    choice = dist.sample()
    loss = F.mse_loss(head(ops[choice.item()](x)), y)
    opt_w.zero_grad()
    loss.backward()
    opt_w.step()
    value = loss.item()
    baseline = value if baseline is None else 0.9 * baseline + 0.1 * value
    opt_a.zero_grad()
    (dist.log_prob(choice) * (value - baseline)).backward()
    opt_a.step()
    losses.append(value)
print(sum(losses[:6]) / 6, sum(losses[-6:]) / 6)
