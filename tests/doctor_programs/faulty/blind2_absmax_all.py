# expect: batch-mixing line 9

import clew as torch
import clew.nn as nn


class Standardize(nn.Module):
    def forward(self, x):
        return (x - x.mean()) / x.abs().max()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), Standardize(), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 6)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
