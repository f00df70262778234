# expect: loss-activation-mismatch line 15, 26
# The model ends with a sigmoid and the loss is BCEWithLogits.

import torch
from torch import nn


class Spam(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(50, 8)
        self.o = nn.Linear(8, 1)

    def forward(self, t):
        return torch.sigmoid(self.o(self.e(t))).squeeze(1)


torch.manual_seed(0)
m = Spam()
opt = torch.optim.Adam(m.parameters(), 1e-2)
crit = nn.BCEWithLogitsLoss()
t = torch.randint(0, 50, (80, 6))
y = (t < 10).any(1).float()
for ep in range(10):
    opt.zero_grad()
    loss = crit(m(t), y)
    loss.backward()
    opt.step()
print(loss.item())
