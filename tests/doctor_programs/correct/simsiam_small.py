# expect: nothing
# SimSiam with stop-gradient.

import clew as torch
from clew import nn
import clew.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.BatchNorm1d(16)
)
pred = nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 16))
opt = torch.optim.SGD([*enc.parameters(), *pred.parameters()], lr=0.03, momentum=0.9)
for i in range(40):
    x = torch.randn(48, 8)
    z1, z2 = enc(x + 0.3 * torch.randn_like(x)), enc(x + 0.3 * torch.randn_like(x))
    p1, p2 = pred(z1), pred(z2)
    loss = (
        -(F.cosine_similarity(p1, z2.detach()).mean() + F.cosine_similarity(p2, z1.detach()).mean())
        / 2
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
