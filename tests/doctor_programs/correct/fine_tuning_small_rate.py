# expect: nothing
# A pre-trained network is tuned with a small rate for the body and a larger one for the head.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(221)
x = torch.randn(200, 8)
coarse = (x[:, 0] > 0).long()
fine = coarse * 2 + (x[:, 1] > 0).long()
body = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh())
old_head, new_head = nn.Linear(16, 2), nn.Linear(16, 4)


def fit(head, labels, groups, epochs):
    optimizer = torch.optim.AdamW(groups)
    losses = []
    for _ in range(epochs):
        for xb, yb in zip(x.split(50), labels.split(50)):
            loss = F.cross_entropy(head(body(xb)), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


pre = fit(
    old_head,
    coarse,
    [{"params": [*body.parameters(), *old_head.parameters()], "lr": 1e-2}],
    epochs=8,
)
tuned = fit(
    new_head,
    fine,
    [
        {"params": body.parameters(), "lr": 1e-4},
        {"params": new_head.parameters(), "lr": 1e-2},
    ],
    epochs=10,
)
print("pre-training", pre[0], pre[-1])
print("fine-tuning", tuned[0], tuned[-1])
