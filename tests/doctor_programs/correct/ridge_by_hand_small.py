# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2)
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(200, 10), torch.randint(0, 2, (200,))
for step in range(40):
    loss = F.cross_entropy(model(x), y)
    ridge = sum(p.pow(2).sum() for p in model.parameters())
    total = loss + 1e-3 * ridge
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
