# expect: nothing
# Uncertainty weighting: learned log-variances with their own group.

import clew as torch
from clew import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
reg, cls = nn.Linear(24, 1), nn.Linear(24, 3)
log_var = nn.Parameter(torch.zeros(2))
opt = torch.optim.Adam(
    [
        {"params": [*body.parameters(), *reg.parameters(), *cls.parameters()]},
        {"params": [log_var], "lr": 1e-2},
    ],
    lr=2e-3,
)
for i in range(40):
    x = torch.randn(32, 6)
    h = body(x)
    l1 = nn.functional.mse_loss(reg(h), x[:, :1])
    l2 = nn.functional.cross_entropy(cls(h), x[:, :3].argmax(1))
    loss = l1 * torch.exp(-log_var[0]) + l2 * torch.exp(-log_var[1]) + log_var.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(log_var.detach())
