# expect: nothing

import clew as torch
import clew.nn as nn


class Cell(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.h = h
        self.g = nn.Conv2d(i + h, 4 * h, 3, padding=1)

    def forward(self, x, s):
        h, c = s
        i, f, o, g = self.g(torch.cat([x, h], 1)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


torch.manual_seed(0)
cell, out = Cell(1, 6), nn.Conv2d(6, 1, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=5e-3)
for it in range(25):
    base = torch.zeros(8, 5, 1, 6, 6)
    col = torch.randint(0, 2, (8,))
    for b in range(8):
        for t in range(5):
            base[b, t, 0, :, int(col[b]) + t] = 1.0 if int(col[b]) + t < 6 else 0.0
    s = (torch.zeros(8, 6, 6, 6), torch.zeros(8, 6, 6, 6))
    for t in range(4):
        s = cell(base[:, t], s)
    loss = nn.functional.mse_loss(out(s[0]), base[:, 4])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 5 == 0:
        print(it, loss.item())
