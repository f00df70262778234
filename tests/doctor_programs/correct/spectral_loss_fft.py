# expect: nothing
# A loss in the frequency domain computed with tensor operations.

import torch
from torch import nn

torch.manual_seed(440)
t = torch.linspace(0, 1, 32)
net = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv1d(8, 1, 5, padding=2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    phase = torch.rand(16, 1, 1) * 6.28
    clean = torch.sin(12 * t + phase)
    noisy = clean + 0.5 * torch.randn_like(clean)
    out = net(noisy)
    spectrum = torch.fft.rfft(out - clean, dim=-1).abs().pow(2).mean()
    loss = nn.functional.l1_loss(out, clean) + 0.01 * spectrum
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(sum(losses[:5]) / 5, sum(losses[-5:]) / 5)
