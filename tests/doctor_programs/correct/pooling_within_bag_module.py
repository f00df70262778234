# expect: nothing
# Attention-based multiple-instance learning: one bag per step, softmax over its instances.

import clew as torch
from clew import nn


class Mil(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
        self.a, self.c = nn.Linear(16, 1), nn.Linear(16, 1)

    def forward(self, bag):
        h = self.f(bag)
        w = torch.softmax(self.a(h), dim=0)
        return self.c((w * h).sum(0))


torch.manual_seed(0)
mil = Mil()
opt = torch.optim.Adam(mil.parameters(), lr=2e-3)
for i in range(40):
    bag = torch.randn(int(torch.randint(3, 9, ())), 5)
    y = (bag[:, 0].max() > 1).float().view(1)
    loss = nn.functional.binary_cross_entropy_with_logits(mil(bag), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
