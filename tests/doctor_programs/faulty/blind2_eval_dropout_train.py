# expect: train-eval-mode line 32

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv1d(2, 8, 3, padding=1),
    nn.BatchNorm1d(8),
    nn.ReLU(),
    nn.Flatten(),
    nn.Dropout(0.5),
    nn.Linear(80, 2),
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def batch(n):
    x = torch.randn(n, 2, 10)
    return x, (x[:, 0].mean(1) > 0).long()


xt, yt = batch(100)
for ep in range(5):
    for _ in range(6):
        x, y = batch(32)
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = (net(xt).argmax(1) == yt).float().mean()
    print(ep, acc.item())
