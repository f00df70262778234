# expect: param-unused line 13, 18
# A projection is built and the forward pass uses the input in its place.

import torch
from torch import nn


class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.audio = nn.Linear(6, 8)
        self.video = nn.Linear(8, 8)
        self.fuse = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, a, v):
        h = torch.relu(self.audio(a)) + torch.relu(self.video(v))
        return self.head(h)


torch.manual_seed(0)
model = Fusion()
opt = torch.optim.Adam(model.parameters(), 1e-3)
for i in range(20):
    a, v = torch.randn(16, 6), torch.randn(16, 8)
    y = (a[:, 0] + v[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(model(a, v), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
