# expect: bad-learning-rate line 21
# The rate is 1e-12 after dividing twice by the number of steps.

import torch
from torch import nn


class Config:
    base_lr = 1e-3
    total_steps = 30000

    @property
    def lr(self):
        return self.base_lr / self.total_steps / self.total_steps


torch.manual_seed(914)
x = torch.randn(100, 5)
y = x[:, :1] * x[:, 1:2]
model = nn.Sequential(nn.Linear(5, 32), nn.GELU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=Config().lr, weight_decay=0.0)
for step in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
