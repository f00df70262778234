# expect: graph-leak line 16

import clew as torch
from clew import nn


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(8, 24)
        self.l2 = nn.Linear(24, 3)
        self.history = {"act": [], "norm": []}

    def forward(self, x):
        h = torch.relu(self.l1(x))
        self.history["act"].append(h.mean())
        return self.l2(h)


torch.manual_seed(0)
net = Probe()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for i in range(100):
    x = torch.randn(32, 8)
    y = x[:, :3].argmax(1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), sum(float(a) for a in net.history["act"]) / 100)
