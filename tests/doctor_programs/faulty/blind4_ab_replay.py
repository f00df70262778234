# expect: aliased-buffer line 15

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
state = torch.zeros(2)
buffer = []
for episode in range(6):
    state.normal_()
    for t in range(20):
        target = -0.5 * state[:1] - 0.2 * state[1:]
        buffer.append((state, target))
        state[0] += 0.1 * state[1]
        state[1] += 0.1 * torch.randn(1)[0]
    for _ in range(10):
        idx = torch.randint(0, len(buffer), (16,)).tolist()
        s = torch.stack([buffer[i][0] for i in idx])
        y = torch.stack([buffer[i][1] for i in idx])
        loss = nn.functional.mse_loss(policy(s), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(episode, loss.item())
