# expect: nothing
# The state of a stateful GRU is detached with detach_() after every window.

import torch
from torch import nn

torch.manual_seed(424)
gru, out = nn.GRU(1, 24, batch_first=True), nn.Linear(24, 1)
optimizer = torch.optim.Adam([*gru.parameters(), *out.parameters()], lr=1e-2)
wave = torch.sin(torch.arange(321) * 0.3 + torch.arange(4).unsqueeze(1)).unsqueeze(-1)
losses = []
for _ in range(2):
    state = None
    for i in range(0, 320, 16):
        h, state = gru(wave[:, i : i + 16], state)
        loss = nn.functional.mse_loss(out(h), wave[:, i + 1 : i + 17])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state.detach_()
        losses.append(loss.item())
print(losses[0], losses[-1])
