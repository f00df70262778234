# expect: nothing
# Gradients are clamped by tensor hooks while backward runs.

import torch
from torch import nn

torch.manual_seed(421)
rnn, out = nn.RNN(2, 20, batch_first=True), nn.Linear(20, 1)
params = [*rnn.parameters(), *out.parameters()]
for p in params:
    p.register_hook(lambda g: g.clamp(-0.1, 0.1))
optimizer = torch.optim.SGD(params, lr=0.1)
seq = torch.randn(60, 10, 2)
target = seq[:, -3:, :1].mean(dim=1)
losses = []
for _ in range(60):
    h, _ = rnn(seq)
    loss = nn.functional.mse_loss(out(h[:, -1]), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
