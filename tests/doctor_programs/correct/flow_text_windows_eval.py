# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
text = torch.randint(0, 30, (400,))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(30, 16)
        self.r = nn.GRU(16, 32, batch_first=True)
        self.o = nn.Linear(32, 30)

    def forward(self, t):
        return self.o(self.r(self.e(t))[0])


def batch(lo, hi, n=8, L=12):
    i = torch.randint(lo, hi - L - 1, (n,))
    w = torch.stack([text[k : k + L + 1] for k in i.tolist()])
    return w[:, :-1], w[:, 1:]


m = LM()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for i in range(60):
    x, y = batch(0, 300)
    loss = nn.functional.cross_entropy(m(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 9:
        m.eval()
        with torch.no_grad():
            tx, ty = batch(0, 300)
            vx, vy = batch(300, 400)
            print(
                nn.functional.cross_entropy(m(tx).flatten(0, 1), ty.flatten()).item(),
                nn.functional.cross_entropy(m(vx).flatten(0, 1), vy.flatten()).item(),
            )
        m.train()
