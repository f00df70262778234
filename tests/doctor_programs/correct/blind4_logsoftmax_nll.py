# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 3)
        self.drop = nn.Dropout2d(0.1)
        self.fc1, self.fc2 = nn.Linear(90, 32), nn.Linear(32, 4)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.drop(self.conv1(x)), 2))
        x = x.view(-1, 90)
        x = F.dropout(F.relu(self.fc1(x)), 0.1, training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)


torch.manual_seed(0)
x = torch.randn(256, 1, 8, 8)
y = (
    torch.stack([x[:, 0, :4, :4], x[:, 0, :4, 4:], x[:, 0, 4:, :4], x[:, 0, 4:, 4:]], 1)
    .mean((2, 3))
    .argmax(1)
)
net = M()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)


def test():
    net.eval()
    tl, ok = 0.0, 0
    with torch.no_grad():
        for xb, yb in zip(x[200:].split(28), y[200:].split(28)):
            o = net(xb)
            tl += F.nll_loss(o, yb, reduction="sum").item()
            ok += o.argmax(1).eq(yb).sum().item()
    print("test", tl / 56, ok / 56)


for ep in range(5):
    net.train()
    for xb, yb in zip(x[:200].split(20), y[:200].split(20)):
        opt.zero_grad()
        loss = F.nll_loss(net(xb), yb)
        loss.backward()
        opt.step()
    test()
