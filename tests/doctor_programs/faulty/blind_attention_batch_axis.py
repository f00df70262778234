# expect: batch-mixing line 15
# The attention pooling normalises over the samples of the batch.

import torch
from torch import nn


class AttnPool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.out = nn.Linear(d, 2)

    def forward(self, tokens):
        w = torch.softmax(self.score(tokens), dim=0)
        return self.out((w * tokens).sum(1))


torch.manual_seed(0)
net = AttnPool(6)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
data = torch.randn(64, 5, 6)
lab = (data.mean((1, 2)) > 0).long()
for epoch in range(5):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(net(data[i : i + 16]), lab[i : i + 16])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
