# expect: loss-broadcast line 23
# Mean and log-variance are (N, 1), the observations (N,): the likelihood is over all pairs.

import torch
from torch import nn

torch.manual_seed(133)


class Heteroscedastic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 32), nn.Tanh())
        self.mean = nn.Linear(32, 1)
        self.log_var = nn.Linear(32, 1)

    def forward(self, t):
        h = self.body(t)
        return self.mean(h), self.log_var(h)


def nll(mean, log_var, y):
    squared = (y - mean) ** 2
    return 0.5 * (log_var + squared / log_var.exp()).mean()


t = torch.linspace(-2, 2, 100)
y = torch.sin(2 * t) + 0.1 * t.abs() * torch.randn(100)
model = Heteroscedastic()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    mean, log_var = model(t.unsqueeze(1))
    loss = nll(mean, log_var, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
