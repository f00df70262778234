# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=10, line_search_fn="strong_wolfe")
x = torch.linspace(0, 3, 50).unsqueeze(1)
y = torch.sin(2 * x)


def closure():
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    return loss


for i in range(10):
    l = opt.step(closure)
    print(i, l.item())
