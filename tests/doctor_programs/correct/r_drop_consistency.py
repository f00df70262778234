# expect: nothing
# R-Drop: two stochastic passes are pulled together, both keep their gradients on purpose.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(500)
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(150, 8)
y = x[:, :3].argmax(1)
losses = []
for _ in range(12):
    for xb, yb in zip(x.split(50), y.split(50)):
        p, q = model(xb), model(xb)
        ce = 0.5 * (F.cross_entropy(p, yb) + F.cross_entropy(q, yb))
        log_p, log_q = F.log_softmax(p, dim=1), F.log_softmax(q, dim=1)
        kl = F.kl_div(log_p, log_q, log_target=True, reduction="batchmean")
        kl = kl + F.kl_div(log_q, log_p, log_target=True, reduction="batchmean")
        loss = ce + 0.25 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
