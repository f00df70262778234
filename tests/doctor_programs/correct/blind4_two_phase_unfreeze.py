# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
head = nn.Linear(32, 4)
X = torch.randn(256, 12)
y = X[:, :4].argmax(1)


def run(params, lr, n):
    opt = torch.optim.Adam(params, lr=lr)
    for _ in range(n):
        i = torch.randint(0, 256, (32,))
        loss = nn.functional.cross_entropy(head(body(X[i])), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


body.requires_grad_(False)
print(run(head.parameters(), 1e-2, 40))
body.requires_grad_(True)
print(run(list(body.parameters()) + list(head.parameters()), 1e-3, 80))
