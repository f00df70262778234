# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(80):
    x = torch.randn(32, 8)
    y = x[:, :1] + x[:, 1:2]
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
        loss = nn.functional.mse_loss(out.float(), y)
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
