# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F


def fit(net, x, y, steps):
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(4)
x = torch.randn(700, 8)
y = (x[:, :4] * x[:, 4:]).argmax(1)
large = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
fit(large, x, y, 40)
large.requires_grad_(False).eval()
small = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 4))
optimizer = torch.optim.Adam(small.parameters(), lr=1e-2)
for epoch in range(6):
    for rows in torch.randperm(700).split(64):
        with torch.no_grad():
            wanted = large(x[rows]).softmax(1)
        loss = F.kl_div(small(x[rows]).log_softmax(1), wanted, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
