# expect: train-eval-mode line 14, 22

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.4), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.randn(160, 8)
Y = (X[:, 0] > 0).long()


def validate():
    net.train(False)
    with torch.inference_mode():
        return nn.functional.cross_entropy(net(X[120:]), Y[120:]).item()


for ep in range(5):
    for i in range(0, 120, 20):
        opt.zero_grad()
        nn.functional.cross_entropy(net(X[i : i + 20]), Y[i : i + 20]).backward()
        opt.step()
    print(validate())
