# expect: nothing

import torch
from torch import nn

# alternate: even steps update A, odd steps update B
torch.manual_seed(0)
A, B = nn.Linear(10, 4, bias=False), nn.Linear(4, 10, bias=False)
oa, ob = torch.optim.Adam(A.parameters(), lr=1e-2), torch.optim.Adam(B.parameters(), lr=1e-2)
X = torch.randn(256, 4) @ torch.randn(4, 10)
for it in range(200):
    xb = X[torch.randint(0, 256, (32,))]
    o = oa if it % 2 == 0 else ob
    oa.zero_grad()
    ob.zero_grad()
    loss = nn.functional.mse_loss(B(A(xb)), xb)
    loss.backward()
    o.step()
    if it % 50 == 0:
        print(it, loss.item())
