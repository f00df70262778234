# expect: train-eval-mode line 18, 26

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2)
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.randn(240, 8)
Y = (X[:, 0] > 0).long()
Xv = torch.randn(60, 8)
Yv = (Xv[:, 0] > 0).long()


def validate():
    net.eval()
    with torch.no_grad():
        return (net(Xv).argmax(1) == Yv).float().mean().item()


net.train()
for epoch in range(5):
    for i in range(0, 240, 40):
        loss = nn.functional.cross_entropy(net(X[i : i + 40]), Y[i : i + 40])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, validate())
