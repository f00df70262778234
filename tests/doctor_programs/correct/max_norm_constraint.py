# expect: nothing
# After each step the rows of the weight are renormalised in place under no_grad.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(507)
body, head = nn.Sequential(nn.Linear(7, 24), nn.ReLU()), nn.Linear(24, 3, bias=False)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(120, 7)
y = x[:, :3].argmax(1)
losses = []
for _ in range(40):
    loss = F.cross_entropy(head(body(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        head.weight.div_(head.weight.norm(dim=1, keepdim=True).clamp(min=2.0) / 2.0)
    losses.append(loss.item())
print(losses[0], losses[-1])
