# expect: param-unused line 11

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(20, 16)
        self.pos = nn.Embedding(10, 16)
        self.l = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.o = nn.Linear(16, 2)

    def forward(self, t):
        x = self.tok(t)
        return self.o(self.l(x).mean(1))


torch.manual_seed(0)
m = Net()
opt = torch.optim.Adam(m.parameters(), lr=2e-3)
for i in range(40):
    t = torch.randint(0, 20, (16, 10))
    loss = nn.functional.cross_entropy(m(t), (t[:, :3].sum(1) > 28).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
