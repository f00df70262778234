# expect: nothing

import clew as torch
import copy
import clew.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
lr_in, lr_out = 0.05, 0.3
for it in range(40):
    deltas = [torch.zeros_like(p) for p in model.parameters()]
    for t in range(3):
        w = torch.randn(2, 1)
        fast = copy.deepcopy(model)
        inner = torch.optim.SGD(fast.parameters(), lr=lr_in)
        for k in range(4):
            x = torch.randn(16, 2)
            loss = nn.functional.mse_loss(fast(x), x @ w)
            inner.zero_grad()
            loss.backward()
            inner.step()
        with torch.no_grad():
            for d, p, q in zip(deltas, model.parameters(), fast.parameters()):
                d += (q - p) / 3
    with torch.no_grad():
        for p, d in zip(model.parameters(), deltas):
            p += lr_out * d
print(loss.item())
