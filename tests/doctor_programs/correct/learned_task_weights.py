# expect: nothing
# The loss module's log-variances are given to the optimizer together with the model.

import torch
from torch import nn


class Weighted(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(n))

    def forward(self, losses):
        return (torch.exp(-self.log_var) * torch.stack(losses) + self.log_var).sum()


torch.manual_seed(438)
trunk, a, b = nn.Sequential(nn.Linear(5, 24), nn.ReLU()), nn.Linear(24, 1), nn.Linear(24, 2)
criterion = Weighted(2)
everything = nn.ModuleList([trunk, a, b, criterion])
optimizer = torch.optim.Adam(everything.parameters(), lr=5e-3)
x = torch.randn(100, 5)
ya, yb = x.norm(dim=1, keepdim=True), torch.tanh(x[:, :2])
losses = []
for _ in range(50):
    h = trunk(x)
    loss = criterion([nn.functional.mse_loss(a(h), ya), nn.functional.mse_loss(b(h), yb)])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
