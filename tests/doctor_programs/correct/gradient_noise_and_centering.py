# expect: nothing
# Gradients are centred and disturbed in place between backward and step.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(403)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.5)
x = torch.randn(160, 8)
y = x[:, :4].argmax(1)
losses = []
for step in range(40):
    pick = torch.randint(0, 160, (40,))
    loss = F.cross_entropy(model(x[pick]), y[pick])
    optimizer.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.grad -= p.grad.mean(dim=1, keepdim=True)
            p.grad += 0.01 / (1 + step) ** 0.55 * torch.randn_like(p.grad)
    optimizer.step()
    losses.append(loss.item())
print(sum(losses[:4]) / 4, sum(losses[-4:]) / 4)
