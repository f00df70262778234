# expect: param-not-in-optimizer line 12, 23, 24
# CLIP-like training: the logit scale lives in the criterion, the optimizer gets the towers only.

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class ContrastiveLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, a, b):
        logits = self.logit_scale.exp() * F.normalize(a, dim=1) @ F.normalize(b, dim=1).t()
        target = torch.arange(len(a))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


torch.manual_seed(0)
image = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
text = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 8))
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam([*image.parameters(), *text.parameters()], lr=1e-3)
for step in range(25):
    z = torch.randn(16, 4)
    a = torch.cat([z, z * 2, z.abs()], 1)
    b = torch.cat([z, z[:, :3] ** 2], 1)
    loss = criterion(image(a), text(b))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
