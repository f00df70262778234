# expect: graph-leak line 18
# A global list collects the embeddings of every step with their graphs for a later plot.

import torch
import torch.nn.functional as F
from torch import nn

EMBEDDINGS = []


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        z = self.net(x)
        EMBEDDINGS.append(z)
        return z


torch.manual_seed(610)
model = Siamese()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    a = torch.randn(32, 8)
    b = a + 0.1 * torch.randn(32, 8)
    far = torch.randn(32, 8)
    za, zb, zf = model(a), model(b), model(far)
    loss = F.triplet_margin_loss(za, zb, zf)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
print("collected", len(EMBEDDINGS))
