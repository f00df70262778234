# expect: param-not-in-optimizer line 13, 35
# The loss module owns learnable task weights that no optimizer holds.

import torch
from torch import nn


class UncertaintyLoss(nn.Module):
    """Weights several task losses by learned log variances."""

    def __init__(self, n_tasks):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (torch.exp(-self.log_var) * losses + self.log_var).sum()


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 32), nn.ReLU())
        self.depth = nn.Linear(32, 1)
        self.normal = nn.Linear(32, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h), self.normal(h)


torch.manual_seed(50)
model = TwoHeads()
criterion = UncertaintyLoss(2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(100, 5)
depth = x.norm(dim=1, keepdim=True)
normal = torch.tanh(x[:, :3])

for step in range(30):
    d, n = model(x)
    loss = criterion([(d - depth).pow(2).mean(), (n - normal).pow(2).mean()])
    optimizer.zero_grad()
    criterion.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), criterion.log_var.tolist())
