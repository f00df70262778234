# expect: batch-mixing line 15, 16

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv1d(5, 12, 3, padding=1)
        self.o = nn.Linear(12, 2)

    def forward(self, x):  # (B, T, F) -> conv wants (B, F, T)
        h = torch.relu(self.c(x.permute(0, 2, 1)))  # (B, 12, T)
        h = h.reshape(-1, 12)
        return self.o(h.view(10, -1, 12).mean(0))


torch.manual_seed(0)
m = Net()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
for i in range(50):
    x = torch.randn(16, 10, 5)
    y = (x[..., 0].mean(1) > 0).long()
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
