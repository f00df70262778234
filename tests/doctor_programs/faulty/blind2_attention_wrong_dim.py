# expect: batch-mixing line 14

import torch
import torch.nn as nn


class AttnPool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.fc = nn.Linear(d, 2)

    def forward(self, x):
        w = torch.softmax(self.score(x), dim=0)
        return self.fc((w * x).sum(1))


torch.manual_seed(0)
net = AttnPool(8)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(30):
    x = torch.randn(16, 10, 8)
    y = (x[:, :, 0].mean(1) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
