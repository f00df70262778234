# expect: checkpoint-mismatch line 16, 17, 25
# A checkpointed block reads a counter that has moved on when it is computed again.

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 6)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.tanh(self.lin(x) * (1.0 + self.calls % 2))


torch.manual_seed(0)
block, head = Noisy(), nn.Linear(6, 1)
opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.05)
for i in range(12):
    x = torch.randn(16, 6)
    h = checkpoint(block, x, use_reentrant=False)
    loss = nn.functional.mse_loss(head(h), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
