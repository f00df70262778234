# expect: nothing

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Linear(24, 3))

    def forward(self, x):
        return self.f(x)

    @torch.no_grad()
    def predict_proba(self, x):
        return torch.softmax(self(x), dim=1)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
X = torch.randn(240, 7)
y = X[:, :3].argmax(1)
for ep in range(10):
    for i in torch.randperm(200).split(25):
        logits = net(X[i])
        loss = nn.functional.cross_entropy(logits, y[i])
        probs = logits.softmax(1).detach()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(
        ep,
        loss.item(),
        probs.max(1).values.mean().item(),
        net.predict_proba(X[200:]).max(1)[0].mean().item(),
    )
