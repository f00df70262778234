# expect: detached-graph line 15, 16
import torch
from torch import nn
import torch.nn.functional as F


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.paths = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        choice = self.gate(x).softmax(-1).argmax(-1)
        mask = F.one_hot(choice, 3).float()
        h = torch.stack([p(x) for p in self.paths], 1)
        return self.out((mask.unsqueeze(-1) * h).sum(1))


torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] * x[:, 1] > 0).long()
model = Gated()
before = model.gate.weight.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(40):
    rows = torch.randint(0, 200, (40,))
    loss = F.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("gate moved by", (model.gate.weight - before).abs().max().item())
