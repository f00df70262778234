# expect: nothing
# A recurrent network in checkpointed segments, with batch normalisation inside.

import clew as torch
from clew import nn
from clew.utils.checkpoint import checkpoint

torch.manual_seed(0)
cell = nn.GRUCell(3, 10)
norm = nn.BatchNorm1d(10)
out = nn.Linear(10, 1)
opt = torch.optim.Adam([*cell.parameters(), *norm.parameters(), *out.parameters()], lr=3e-3)


def segment(x, h):
    for t in range(x.shape[1]):
        h = cell(x[:, t], h)
    return norm(h)


for i in range(15):
    x = torch.randn(12, 8, 3)
    h = torch.zeros(12, 10)
    for part in x.split(4, dim=1):
        h = checkpoint(segment, part, h, use_reentrant=False)
    loss = nn.functional.mse_loss(out(h), x[:, -1, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
