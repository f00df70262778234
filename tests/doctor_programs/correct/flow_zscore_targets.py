# expect: nothing

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.f = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.f((x - self.mean) / self.std)


torch.manual_seed(0)
X = torch.randn(200, 5) * 3 + 1
Y = X.sum(1, keepdim=True)
Y = (Y - Y.mean()) / Y.std()
net = Net(X.mean(0), X.std(0))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for ep in range(4):
    for i in torch.randperm(200).split(25):
        loss = (net(X[i]) - Y[i]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
