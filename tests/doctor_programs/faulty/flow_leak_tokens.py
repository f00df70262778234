# expect: data-leak line 11, 34

import torch
from torch import nn

torch.manual_seed(0)
V = 50
seqs = torch.randint(0, V, (240, 12))
labels = (seqs.float().mean(1) > V / 2).long()
train = torch.arange(0, 200)
test = torch.arange(150, 240)


class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(V, 16)
        self.o = nn.Linear(16, 2)

    def forward(self, t):
        return self.o(self.e(t))


m = Clf()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for ep in range(5):
    for idx in train[torch.randperm(200)].split(25):
        loss = nn.functional.cross_entropy(m(seqs[idx]), labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    m.eval()
    with torch.no_grad():
        acc = (m(seqs[test]).argmax(1) == labels[test]).float().mean()
    m.train()
    print(ep, acc.item())
