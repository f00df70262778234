# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
state = torch.zeros(2)
buf = []
for ep in range(6):
    state.normal_()
    for t in range(20):
        buf.append((state.clone(), (-0.5 * state[:1]).clone()))
        state[0] += 0.1 * state[1]
        state[1] += 0.1 * torch.randn(1)[0]
    for _ in range(10):
        k = torch.randint(0, len(buf), (16,)).tolist()
        s, y = torch.stack([buf[i][0] for i in k]), torch.stack([buf[i][1] for i in k])
        loss = nn.functional.mse_loss(net(s), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
