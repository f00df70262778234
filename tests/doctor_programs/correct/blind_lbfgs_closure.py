# expect: nothing
# LBFGS with a strong-Wolfe closure.

import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(40, 2)
y = x.prod(1, keepdim=True)
opt = torch.optim.LBFGS(m.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")
for _ in range(6):

    def closure():
        opt.zero_grad()
        l = nn.functional.mse_loss(m(x), y)
        l.backward()
        return l

    print(opt.step(closure).item())
