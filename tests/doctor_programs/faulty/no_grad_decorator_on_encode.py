# expect: detached-graph line 18, 19, 20
# encode() is decorated with no_grad for inference, but training uses it as well.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(34)


class SiameseNet(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)
        self.project = nn.Linear(dim, dim)
        self.scale = nn.Parameter(torch.tensor(1.0))

    @torch.no_grad()
    def encode(self, tokens):
        pooled = self.table(tokens).mean(dim=1)
        return F.normalize(self.project(pooled), dim=1)

    def similarity(self, a, b):
        return self.scale * (self.encode(a) * self.encode(b)).sum(dim=1)


net = SiameseNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
left = torch.randint(0, 30, (64, 5))
same = torch.rand(64) > 0.5
right = torch.where(same.unsqueeze(1), left.flip(1), torch.randint(0, 30, (64, 5)))

for step in range(15):
    loss = F.mse_loss(net.similarity(left, right), same.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(f"{step:3d} {loss.item():.4f}")
