# expect: dead-relu line 10, 11, 16, 22, 27

import torch
import torch.nn as nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 3)
        self.act = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(12, 2)

    def forward(self, x):
        return self.fc(self.pool(self.act(self.conv(x))).flatten(1))


def init_weights(m):
    if isinstance(m, nn.Conv2d):
        nn.init.xavier_uniform_(m.weight)
        nn.init.constant_(m.bias, -5.0)


torch.manual_seed(0)
net = Small()
net.apply(init_weights)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for s in range(60):
    x = torch.rand(16, 1, 8, 8)
    y = (x.mean((1, 2, 3)) > 0.5).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
