# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
mk = lambda i, o: nn.Sequential(nn.Linear(i, 16), nn.ReLU(), nn.Linear(16, o))  # noqa: E731
AB, BA, DA, DB = mk(3, 3), mk(3, 3), mk(3, 1), mk(3, 1)
og = torch.optim.Adam([*AB.parameters(), *BA.parameters()], lr=1e-3)
od = torch.optim.Adam([*DA.parameters(), *DB.parameters()], lr=1e-3)
for i in range(25):
    a, b = torch.randn(16, 3), torch.randn(16, 3) + 2
    fb, fa = AB(a), BA(b)
    lg = (
        (DB(fb) - 1).pow(2).mean()
        + (DA(fa) - 1).pow(2).mean()
        + 5 * (nn.functional.l1_loss(BA(fb), a) + nn.functional.l1_loss(AB(fa), b))
    )
    og.zero_grad()
    lg.backward()
    og.step()
    ld = (
        (DB(b) - 1).pow(2).mean()
        + DB(fb.detach()).pow(2).mean()
        + (DA(a) - 1).pow(2).mean()
        + DA(fa.detach()).pow(2).mean()
    )
    od.zero_grad()
    ld.backward()
    od.step()
