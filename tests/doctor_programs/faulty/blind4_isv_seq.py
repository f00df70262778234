# expect: inplace-saved-tensor line 26

import clew as torch
import clew.nn as nn


class Cell(nn.Module):
    def __init__(self, d_in, d_h):
        super().__init__()
        self.wx = nn.Linear(d_in, d_h)
        self.wh = nn.Linear(d_h, d_h)

    def forward(self, x, h):
        return torch.tanh(self.wx(x) + self.wh(h))


torch.manual_seed(0)
cell, head = Cell(3, 12), nn.Linear(12, 1)
opt = torch.optim.Adam(list(cell.parameters()) + list(head.parameters()), lr=5e-3)
for it in range(30):
    x = torch.randn(16, 6, 3)
    y = x[:, :, 0].sum(1, keepdim=True)
    states = torch.zeros(16, 12)
    for t in range(6):
        new = cell(x[:, t], states)
        states.copy_(new)
    loss = nn.functional.mse_loss(head(states), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
