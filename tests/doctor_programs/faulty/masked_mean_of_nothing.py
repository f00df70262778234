# expect: nan-origin line 13
# A sample whose mask is all zero divides 0 by 0 in the masked mean.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(94)


def masked_mean(values, mask):
    mask = mask.float().unsqueeze(-1)
    return (values * mask).sum(dim=1) / mask.sum(dim=1)


class BagClassifier(nn.Module):
    def __init__(self, dim=5, hidden=16):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.rho = nn.Linear(hidden, 2)

    def forward(self, bags, mask):
        return self.rho(masked_mean(self.phi(bags), mask))


bags = torch.randn(60, 6, 5)
lengths = torch.randint(1, 7, (60,))
lengths[53] = 0
mask = torch.arange(6) < lengths.unsqueeze(1)
labels = ((bags[..., 0] * mask).sum(1) > 0).long()

model = BagClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for i in range(0, 60, 15):
        sl = slice(i, i + 15)
        loss = F.cross_entropy(model(bags[sl], mask[sl]), labels[sl])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, i, loss.item())
