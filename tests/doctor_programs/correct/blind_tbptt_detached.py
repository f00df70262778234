# expect: nothing
# Truncated back-propagation: the LSTM's state is detached between chunks.

import clew as torch
from clew import nn

torch.manual_seed(0)
lstm, out = nn.LSTM(1, 12, batch_first=True), nn.Linear(12, 1)
opt = torch.optim.Adam([*lstm.parameters(), *out.parameters()], lr=5e-3)
wave = torch.sin(torch.arange(121) * 0.3).view(1, -1, 1)
for ep in range(3):
    state = None
    for i in range(0, 120, 20):
        o, state = lstm(wave[:, i : i + 20], state)
        state = tuple(s.detach() for s in state)
        l = nn.functional.mse_loss(out(o), wave[:, i + 1 : i + 21])
        opt.zero_grad()
        l.backward()
        opt.step()
print(l.item())
