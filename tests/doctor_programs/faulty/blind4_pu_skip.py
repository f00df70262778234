# expect: param-unused line 12, 17

import torch
from torch import nn
import torch.nn.functional as F


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        y = F.relu(self.conv2(x))  # noqa: F841
        x = F.max_pool2d(x, 2)
        return self.fc(x.flatten(1))


torch.manual_seed(0)
m = ConvNet()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
x = torch.randn(96, 1, 8, 8)
t = torch.stack(
    [x[:, 0, :3].mean((1, 2)), x[:, 0, 3:5].mean((1, 2)), x[:, 0, 5:].mean((1, 2))], 1
).argmax(1)
for ep in range(5):
    for xb, tb in zip(x.split(16), t.split(16)):
        opt.zero_grad()
        loss = F.cross_entropy(m(xb), tb)
        loss.backward()
        opt.step()
    print(ep, loss.item())
