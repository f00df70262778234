# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

# One network, trained in several honest ways.
torch.manual_seed(17)
x = torch.randn(192, 9)
y = (x[:, 0] * x[:, 1] > 0).long()


class Highway(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.inp = nn.Linear(9, d)
        self.h = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))
        self.t = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))
        for t in self.t:
            nn.init.constant_(t.bias, -1.0)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        for h, t in zip(self.h, self.t):
            g = torch.sigmoid(t(x))
            x = g * torch.relu(h(x)) + (1 - g) * x
        return self.out(x)


net = Highway(20, 6)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(10):
    if epoch == 5:
        opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for i in torch.randperm(192).split(192 if epoch < 0 else 64):
        loss = F.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()

print(loss.item())
